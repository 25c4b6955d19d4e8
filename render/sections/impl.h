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
/* NULL = the format has none there. */
void mt_heading(struct mt_sink *k, const char *text, const char *md);
/* "and 12 more", where n is not 0; in text. */
void mt_row_more(struct mt_sink *k, uint64_t n);
/* So many rows have room. */
static inline uint32_t mt_most(const struct mt_sink *k, uint32_t text, uint32_t md)
{
    return k->format == MT_IN_MD ? md : text;
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
