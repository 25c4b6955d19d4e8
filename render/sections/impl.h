/* sections/impl.h -- how a section puts its rows. */
#ifndef MT_SECTIONS_IMPL_H
#define MT_SECTIONS_IMPL_H

#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/sections/sections.h"
#include "render/view/view.h"

/* The forms of one row; NULL = the format does not have it. */
struct mt_forms {
    const char *text, *md, *html;
};
/* One row: its forms, its cells (NULL = empty). */
#define MT_ROW3(k, text, md, html, ...)                                                            \
    mt_row((k), &(const struct mt_forms){(text), (md), (html)},                                    \
           (const char *const[]){__VA_ARGS__},                                                     \
           (unsigned)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))
/* The same where the page has a table or a picture of its own. */
#define MT_ROW(k, text, md, ...) MT_ROW3(k, text, md, NULL, __VA_ARGS__)
/* The same without cells. */
#define MT_ROW0(k, text, md) mt_row((k), &(const struct mt_forms){(text), (md), NULL}, NULL, 0)
void mt_row(struct mt_sink *k, const struct mt_forms *forms, const char *const *cell, unsigned n);
/* Cells of which the page shows more than words. */
#define MT_DATA(k, text, md, html, ...)                                                            \
    mt_row_data(                                                                                   \
        (k), &(const struct mt_forms){(text), (md), (html)},                                       \
        (const struct mt_datum[]){__VA_ARGS__},                                                    \
        (unsigned)(sizeof((const struct mt_datum[]){__VA_ARGS__}) / sizeof(struct mt_datum)))
enum { MT_MAX_CELLS = 20 };
void mt_row_data(struct mt_sink *k, const struct mt_forms *forms, const struct mt_datum *datum,
                 unsigned n);
/* Markup of memtrace's own in the page alone. */
#define MT_NOTE(k, html) mt_row((k), &(const struct mt_forms){NULL, NULL, (html)}, NULL, 0)
/* The page's table with these heads; mt_sink.end closes it. */
#define MT_TABLE(k, label, ...)                                                                    \
    mt_table((k), (label), (const char *const[]){__VA_ARGS__},                                     \
             (unsigned)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))
void mt_table(struct mt_sink *k, const char *label, const char *const *heads, unsigned n);
/* NULL = the format has none there. */
void mt_heading(struct mt_sink *k, const char *text, const char *md);
/* "and 12 more", where n is not 0; not in Markdown. */
void mt_row_more(struct mt_sink *k, uint64_t n);
/* So many rows have room: few of them on one screen. */
static inline uint32_t mt_most(const struct mt_sink *k, uint32_t text, uint32_t md)
{
    enum { ON_SCREEN = 5 };
    uint32_t most = k->format == MT_IN_MD ? md : text;
    return k->is_screen && most > ON_SCREEN ? ON_SCREEN : most;
}
static inline uint32_t mt_most3(const struct mt_sink *k, uint32_t text, uint32_t md, uint32_t html)
{
    return k->format == MT_IN_HTML ? html : mt_most(k, text, md);
}
/* The device that a section is about; NULL where there is none. */
static inline const struct mt_device_analysis *mt_sink_device(const struct mt_sink *k,
                                                              const struct mt_report *r)
{
    return k->dev != NULL ? k->dev : mt_diagnosis_device(r->diagnosis);
}

/* What a cell says. */
static inline struct mt_datum mt_as(enum mt_datum_kind kind, const char *words, uint64_t n,
                                    uint64_t of)
{
    return (struct mt_datum){kind, words, n, of, MT_NO_EVENT, MT_NO_EVENT, NULL};
}
static inline struct mt_datum mt_as_words(const char *s) { return mt_as(MT_D_WORDS, s, 0, 0); }
static inline struct mt_datum mt_as_bytes(uint64_t n) { return mt_as(MT_D_BYTES, NULL, n, 0); }
static inline struct mt_datum mt_as_signed(int64_t n)
{
    return mt_as(MT_D_SIGNED, NULL, (uint64_t)n, 0);
}
static inline struct mt_datum mt_as_count(uint64_t n) { return mt_as(MT_D_COUNT, NULL, n, 0); }
static inline struct mt_datum mt_as_share(uint64_t part, uint64_t whole)
{
    return mt_as(MT_D_SHARE, NULL, part, whole);
}
static inline struct mt_datum mt_as_phase(unsigned phase, unsigned sub)
{
    return mt_as(MT_D_PHASE, NULL, phase, sub);
}
static inline struct mt_datum mt_as_role(unsigned role) { return mt_as(MT_D_ROLE, NULL, role, 0); }
/* words: what the form says of it */
static inline struct mt_datum mt_as_holder(unsigned holder, const char *words)
{
    return mt_as(MT_D_HOLDER, words, holder, 0);
}
/* The datum, or where that is not so the words. */
static inline struct mt_datum mt_known(bool is_known, struct mt_datum d, const char *other)
{
    return is_known ? d : mt_as_words(other);
}
/* The datum of a moment. */
static inline struct mt_datum mt_at(struct mt_datum d, int64_t event)
{
    d.since = d.event = event;
    return d;
}

/* Words for a cell: they live until the end of the full expression. */
struct mt_cell_text {
    char s[MT_WORDS];
};
struct mt_cell_text mt_cell_count(uint64_t n);
struct mt_cell_text mt_cell_share(uint64_t part, uint64_t whole);
struct mt_cell_text mt_cell_seconds(uint64_t ns);
struct mt_cell_text mt_cell_or(bool is_known, uint64_t bytes, const char *other);
#define MT_COUNT(n) (mt_cell_count(n).s)
#define MT_SHARE(part, whole) (mt_cell_share((part), (whole)).s)
#define MT_SECONDS(ns) (mt_cell_seconds(ns).s)
#define MT_BYTES_OR(is_known, n, other) (mt_cell_or((is_known), (n), (other)).s)
static inline const char *mt_plural(uint64_t n) { return n == 1 ? "" : "s"; }

#endif
