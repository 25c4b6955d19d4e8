/* cli.h -- the program around the libraries: options, commands, messages, exit statuses.
 *
 * Only this folder prints, exits, reads the environment and handles signals. Memory comes from
 * parser/base/mem.h as everywhere. */
#ifndef MT_CLI_H
#define MT_CLI_H

#include "parser/base/limits.h"
#include "render/base/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_exit {
    MT_EXIT_OK = 0,
    MT_EXIT_FAILED = 1, /* nothing was written */
    MT_EXIT_USAGE = 2,
    MT_EXIT_DAMAGED = 3, /* written, from an input of which something is missing */
    /* a limit of check is passed or not known, or one of report --fail-on is passed; what is
     * written is whole */
    MT_EXIT_OVER = 4,
    MT_EXIT_LATE = 5, /* snap: asked, and nothing came in time */
    MT_EXIT_NOT_STARTED =
        125 /* capture: the command was not started; else its own exit status is passed on */
};

#define MT_SHARE_UNSAID UINT64_MAX

enum mt_frames_choice { MT_FRAMES_USER, MT_FRAMES_ALL };

struct mt_budget;      /* parser/input/budget.h */
struct mt_preferences; /* cli/preferences.h */

/* The values of an option that may be given several times. */
struct mt_strings {
    const char *p[64];
    int n;
};

/* Everything that can be said on the command line. The option table writes into it by offset. */
struct mt_cli {
    const struct mt_command *command;
    char **inputs; /* the operands */
    int n_inputs;
    int argc;
    char **argv;
    bool help, version;
    const char *output, *title, *rules_file, *phase;
    struct mt_strings logs, configs, args, tries;
    int format;            /* index in mt_report_formats */
    const char *framework; /* NULL = detect; known is what the rules know */
    int32_t device;
    const char *capacity; /* a size, or the name of a card: mt_cli_rules.capacity has its bytes */
    uint64_t max_size;    /* of the report; 0 = MT_MAX_SIZE_DEFAULT */
    bool gzip, any_size, no_auto, full, no_pager;
    int frames; /* enum mt_frames_choice */
    bool force, sha256, verify, quiet, json, all, meta;
    bool redact, open, detail;
    const char *redact_key;
    bool no_config;
    /* memtrace.toml; NULL = it is not read yet. redact_by: the line that redacts, where no option
     * does */
    const struct mt_preferences *preferences;
    const char *redact_by;
    uint32_t jobs; /* 0 = as many as there are cores */
    int fail_on;   /* of a report: 0 = never, 1 = memory ran out */
    /* diff, check */
    uint64_t threshold, tolerance; /* thousandths */
    struct mt_strings maxima, limit_files;
    const char *baseline;
    int check_format;
    int to;         /* enum mt_export_to */
    const char *at; /* of an export: a moment */
    int32_t rank;
    /* capture, collect */
    bool no_torch, no_stacks, memory2, take_over, keep_spool, no_symbols, remove, from, ray,
        summarize;
    bool keep_all;
    const char *spool, *last;
    uint64_t max_mb, keep_bytes;
    uint32_t flush_ms;
    uint32_t timeout;  /* snap, attach: seconds; 0 = not said */
    bool yes, detach;  /* attach */
    bool once;         /* top */
    uint32_t interval; /* top: seconds; 0 = not said */
    struct mt_limits limits;
    struct mt_budget *budget; /* of the whole run */
    /* as memtrace was started: what it changes for itself is put back for a command that it runs */
    bool sigpipe_default, sigxfsz_default;
    unsigned closed_fds; /* bit per descriptor 0 to 2 */
};
#define MT_CLI_DEFAULTS                                                                            \
    {                                                                                              \
        .device = -1, .rank = -1, .threshold = 10, .tolerance = MT_SHARE_UNSAID,                   \
        .limits = MT_LIMITS_DEFAULT                                                                \
    }

/* A page that can be attached where tickets are written: the largest file that is taken there, and
 * what is meant to be looked at. */
#define MT_MAX_SIZE_DEFAULT UINT64_C(10000000)
#define MT_MAX_SIZE_MOST UINT64_C(25000000)

struct mt_exit_text {
    int status;
    const char *text;
};
struct mt_command {
    const char *name;
    unsigned bit;         /* for mt_option.commands */
    const char *operands; /* "INPUT..." */
    int min_operands, max_operands;
    const char *summary;  /* one line */
    const char *text;     /* paragraphs for --help and the man page, parted by an empty line */
    const char *examples; /* "what it does\ncommand line\n..." in pairs */
    enum mt_exit (*run)(const struct mt_cli *c);
    /* the first operand ends the options: it and all after it are a command */
    bool runs_command;
    const struct mt_exit_text *exits; /* NULL = mt_exit_texts */
};
extern const struct mt_command mt_commands[];               /* ends with name == NULL */
const struct mt_command *mt_command_find(const char *name); /* NULL when unknown */
#define MT_CMD_REPORT 1u
#define MT_CMD_INFO 2u
#define MT_CMD_DUMP 4u
#define MT_CMD_RULES 8u
#define MT_CMD_NONE 16u /* memtrace itself */
#define MT_CMD_CAPTURE 32u
#define MT_CMD_COLLECT 64u
#define MT_CMD_DOCTOR 128u
#define MT_CMD_EXPORT 256u
#define MT_CMD_SCHEMA 512u
#define MT_CMD_DIFF 1024u
#define MT_CMD_CHECK 2048u
#define MT_CMD_TICKET 4096u
#define MT_CMD_HOWTO 8192u
#define MT_CMD_SUMMARIZE 16384u
#define MT_CMD_SNAP 32768u
#define MT_CMD_TOP 65536u
#define MT_CMD_ATTACH 131072u
/* those that begin a recording */
#define MT_CMD_RECORD (MT_CMD_CAPTURE | MT_CMD_ATTACH)
#define MT_CMD_COMPARE (MT_CMD_DIFF | MT_CMD_CHECK)
/* those that diagnose what they read */
#define MT_CMD_DIAGNOSE (MT_CMD_REPORT | MT_CMD_TICKET | MT_CMD_COMPARE | MT_CMD_SUMMARIZE)
#define MT_CMD_READERS (MT_CMD_DIAGNOSE | MT_CMD_INFO | MT_CMD_DUMP | MT_CMD_EXPORT)
/* those that memtrace.toml has something for */
#define MT_CMD_PREFERS (MT_CMD_READERS | MT_CMD_RULES)

enum mt_exit mt_cmd_report(const struct mt_cli *c);
enum mt_exit mt_cmd_info(const struct mt_cli *c);
enum mt_exit mt_cmd_dump(const struct mt_cli *c);
enum mt_exit mt_cmd_export(const struct mt_cli *c);
enum mt_exit mt_cmd_rules(const struct mt_cli *c);
enum mt_exit mt_cmd_capture(const struct mt_cli *c);
enum mt_exit mt_cmd_collect(const struct mt_cli *c);
enum mt_exit mt_cmd_doctor(const struct mt_cli *c);
enum mt_exit mt_cmd_diff(const struct mt_cli *c);
enum mt_exit mt_cmd_check(const struct mt_cli *c);
enum mt_exit mt_cmd_schema(const struct mt_cli *c);
enum mt_exit mt_cmd_ticket(const struct mt_cli *c);
enum mt_exit mt_cmd_summarize(const struct mt_cli *c);
enum mt_exit mt_cmd_howto(const struct mt_cli *c);
enum mt_exit mt_cmd_attach(const struct mt_cli *c);
enum mt_exit mt_cmd_snap(const struct mt_cli *c);
enum mt_exit mt_cmd_top(const struct mt_cli *c);

/* message.c -- standard error. Every message is one line that starts with "memtrace: ", its control
 * characters made visible. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void mt_say(const char *fmt, ...);
/* The same without "memtrace: ", for what is no complaint. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void mt_tell(const char *fmt, ...);
/* "memtrace: NAME: message (offset N)" and the lines of context. A message that holds the name is
 * not named twice; NULL = no name. */
void mt_say_err(const char *name, const struct mt_err *err);
/* " (offset 4096)" into buf, or "" when the message says so itself; returns buf. */
char *mt_offset_text(char *buf, size_t cap, uint64_t offset, const char *msg);
/* Parts an error of the input layer into "folder/rank1.pickle" and what is wrong with it. 1 on
 * success; the caller frees both. */
int mt_err_split(const char *path, const struct mt_err *err, char **name, char **message);

/* version.c */
void mt_print_version(struct mt_out *o);
/* Where issues and releases are; "" = nobody chose it (MEMTRACE_HOME of CMake), and nothing says
 * so. */
extern const char *mt_home;

/* help.c, man.c, complete.c -- all from the two tables */
void mt_help_overview(struct mt_out *o);
void mt_help_command(struct mt_out *o, const struct mt_command *c);
void mt_man_page(struct mt_out *o);
void mt_complete_bash(struct mt_out *o);
void mt_complete_zsh(struct mt_out *o);
void mt_complete_fish(struct mt_out *o);
extern const struct mt_exit_text mt_exit_texts[]; /* ends with text == NULL */
struct mt_name_text {
    const char *name, *text;
};
extern const struct mt_name_text mt_environment[]; /* ends with name == NULL */
/* One example as the tables hold them: a line on what it does, unless NULL, and the command. Moves
 * *s on; 0 at the end. */
struct mt_example {
    const char *what, *command;
    size_t n_what, n_command;
};
int mt_next_example(const char **s, struct mt_example *e);

/* Runs print over standard output; MT_EXIT_FAILED with a message when it cannot be written. */
enum mt_exit mt_print_stdout(void (*print)(struct mt_out *o));

#endif
