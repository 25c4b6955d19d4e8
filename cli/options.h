/* options.h -- one table of options drives parsing, --help, the man page and the completions. */
#ifndef MT_OPTIONS_H
#define MT_OPTIONS_H

#include "cli/cli.h"

enum mt_option_type {
    MT_OPT_FLAG,      /* bool */
    MT_OPT_TEXT,      /* const char * */
    MT_OPT_FILE,      /* const char *, completed as a file name */
    MT_OPT_FILES,     /* struct mt_strings: may be given several times */
    MT_OPT_TEXTS,     /* the same, no file names */
    MT_OPT_CHOICE,    /* int: index into choices */
    MT_OPT_FRAMEWORK, /* const char *: an id, checked when the rules are known */
    MT_OPT_CARD,      /* const char *: "80GiB" or a card's name, checked when the rules are known */
    MT_OPT_ORDINAL,   /* int32_t, 0 or more */
    MT_OPT_SHARE,     /* uint64_t, thousandths: "2%", "0.5%", at most 100% */
    MT_OPT_BYTES,     /* uint64_t: "80GiB" */
    MT_OPT_COUNT,     /* uint64_t: "250M" */
    MT_OPT_COUNT32    /* uint32_t */
};

struct mt_option {
    const char *name; /* without the dashes */
    char letter;      /* 0 = none */
    enum mt_option_type type;
    unsigned commands; /* MT_CMD_* that take it */
    size_t offset;     /* in struct mt_cli */
    const char *metavar;
    const char *help;
    const char *const *choices; /* MT_OPT_CHOICE; ends with NULL */
    /* has no say in what is written, only where and how loudly: left out of the report's command
     * line */
    bool not_content;
};
extern const struct mt_option mt_options[]; /* ends with name == NULL */

/* Fills c from argv[first..). Operands are moved to c->inputs in their order. Returns 1, or 0 with
 * the complaint in err->msg. */
int mt_options_parse(struct mt_cli *c, int argc, char **argv, int first, struct mt_err *err);

/* The command line for the report, quoted for a shell: the output path and the like left out. ""
 * when out of memory. */
char *mt_command_line(const struct mt_cli *c);
/* The same with the last parts of the inputs' and files' paths alone. mt_free() each. */
char *mt_command_line_short(const struct mt_cli *c);

/* num.c: 1 on success. Sizes: 80GiB, 80G (both 2^30), 80GB (10^9), 79.6GiB, 1234. Counts: 1234,
 * 250k, 250M. */
int mt_parse_bytes(const char *s, uint64_t *out);
int mt_parse_count(const char *s, uint64_t *out);
int mt_parse_share(const char *s, uint64_t *out); /* "2.5%" is 25 thousandths */

/* nearest.c: the candidate closest to word, or NULL when none is close enough. */
struct mt_nearest {
    const char *word, *best;
    unsigned distance;
};
void mt_nearest_offer(struct mt_nearest *n, const char *candidate);

#endif
