/* sections.h -- the report as a list of rows, which text, Markdown and panels of the page print:
 * each fact is worded and computed once, beside the form that a format gives its row.
 *
 * A row is an array of cells, raw strings. A form is a string of the program that says where they
 * stand:
 *   {2}       cell 2, escaped for the format
 *   [, {2}]   only where the cells inside are not empty; "[[" is a bracket
 *   {2:...}   how the cell is shown: '.80' cut at 80 bytes, '=' as it is (the words are memtrace's
 *             own); in text '<8' and '>8' fill to 8 columns, the former also cuts to them;
 *             in Markdown '`' and '`80' are code; in HTML 'n80' is a name or key, 'w80' words of
 *             which long ones may break, both cut at 80 bytes. Of a datum in HTML: 't' is a whole
 *             cell of a table, 'b' that with a link to its event, 'c' its colour and words, 'cn80'
 *             that with a name, 'o' an owner, 'a' its words as a link to its event,
 * 'h...|...' where in the timeline that is, between these, 'v' its events as attributes A line of
 * which all cells are empty is not written (of a broken one: all behind the bar). Of text, each
 * line of the form is one of the report, with these marks:
 *
 *   "  - |{0}"    broken at spaces to the width; what follows stands below the bar
 *   "  >4|{0}"    the same, below column 4
 *   "~{0}"        cut at the width ("~4": 4 columns before it); other lines are left as they are
 *   "!" "*" "$" "%"  before all else: a warning, bold, a command, faint
 *
 * Markdown's forms have their line ends in them. */
#ifndef MT_SECTIONS_H
#define MT_SECTIONS_H

#include "render/view/report.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    MT_IN_TEXT = 1,
    MT_IN_MD = 2,
    MT_IN_HTML = 4,
    /* of text what one screen has: forms are those of text; what has this has MT_IN_TEXT too */
    MT_IN_SCREEN = 8
};

/* A curve as text can draw it: the higher of a and b (b may be NULL) in n columns. */
struct mt_curve {
    const uint64_t *a, *b;
    uint32_t n;
    uint64_t top, x; /* of the axes; x in ns, or in events */
    bool by_time;
};

/* What a cell says, where the page shows more than its words: the exact number, a bar, a colour, a
 * link to a moment. Text and Markdown have the words alone. */
enum mt_datum_kind {
    MT_D_WORDS,
    MT_D_BYTES,
    MT_D_SIGNED, /* n is an int64_t */
    MT_D_COUNT,
    MT_D_SHARE,  /* n of `of`; its bar has the colour of the row's phase, role or holder */
    MT_D_PHASE,  /* n with `of` inside; words as in a cell */
    MT_D_ROLE,   /* n */
    MT_D_HOLDER, /* n */
    MT_D_ROLES,  /* bytes of each role, in a bar of which `of` is the whole width */
    MT_D_PEAKS,  /* of phase n, time by time; `of` is the whole height */
    MT_D_OWNER   /* the verdict's device's n-th; of != 0: with its stack */
};
struct mt_datum {
    enum mt_datum_kind kind;
    const char *words; /* instead of those that n has; NULL of MT_D_WORDS = empty */
    uint64_t n, of;
    int64_t since, event;  /* of the page's device; MT_NO_EVENT = none */
    const uint64_t *bytes; /* of MT_D_ROLES */
};

/* Where the rows of a report go: the format's printer. */
struct mt_sink {
    struct mt_out *o;
    unsigned format; /* MT_IN_..., not MT_IN_SCREEN */
    bool is_screen;  /* of text: the sections of MT_IN_SCREEN alone, and few rows of each */
    /* n cells in a form of the sink's format; datum: what they say, NULL = their words alone */
    void (*row)(struct mt_sink *k, const char *form, const char *const *cell,
                const struct mt_datum *datum, unsigned n);
    void (*heading)(struct mt_sink *k, const char *words); /* not called for HTML */
    /* NULL = its forms have the table; "#" before a head: a column of numbers */
    void (*table)(struct mt_sink *k, const char *label, const char *const *heads, unsigned n);
    void (*end)(struct mt_sink *k);                             /* of a list or a table */
    void (*curve)(struct mt_sink *k, const struct mt_curve *c); /* NULL = cannot draw */
    /* NULL = the verdict's; else in short what is of this one */
    const struct mt_device_analysis *dev;
    const struct mt_ledger *ledger; /* NULL = of all GPUs; else of this one */
    const struct mt_advice *advice; /* what mt_section_card() is about */
};
/* All sections that the sink's format has, in their order. Errors are those of k->o. */
void mt_sections(struct mt_sink *k, const struct mt_report *r);
/* All but mt_section_footer(), for whom has something to say before it. */
void mt_sections_but_last(struct mt_sink *k, const struct mt_report *r);
/* One of them: the page's panels stand in their own order. */
typedef void mt_section(struct mt_sink *k, const struct mt_report *r);
#define MT_SECTION(name, formats) mt_section mt_section_##name;
#include "render/sections/sections.def"

/* What there is to be said of k->advice; the page draws its title and its lines to type itself. */
mt_section mt_section_card, mt_section_first_card;

/* A device of a rank, and its bytes at the peak or, without a curve, at the dump. */
struct mt_place {
    const struct mt_rank *rank;
    const struct mt_device_analysis *dev;
    uint64_t live;
    uint32_t order; /* in the input */
};
/* All of them in the order of their table: what failed, then what held the most. The caller frees
 * it with mt_free(); NULL = out of memory. */
struct mt_place *mt_places(const struct mt_report *r, uint32_t *n);

/* ---- for those who print forms ---- */

/* False where there are cells in the n bytes of a form and all of them are empty. */
bool mt_form_says(const char *form, size_t n, const char *const *cell, unsigned n_cells);
/* Writes n bytes of a form; put writes cell i as its spec, what stands behind the colon, says. */
typedef void mt_put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i,
                         void *ctx);
void mt_form_put(struct mt_out *o, const char *form, size_t n, const char *const *cell,
                 unsigned n_cells, mt_put_cell *put, void *ctx);
/* Bytes of s up to the '.80' or '`80' of a spec, which begins behind its mark. */
size_t mt_form_cut(const char *s, const char *spec);

#endif
