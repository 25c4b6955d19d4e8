/* diff.h -- two reports beside each other, in the formats of `memtrace diff`. */
#ifndef MT_SAVED_DIFF_H
#define MT_SAVED_DIFF_H

#include "analysis/compare/diff.h"
#include "render/saved/table.h"

struct mt_diff_report {
    const struct mt_diff *diff;
    const char *name[2];  /* of the inputs */
    const char *version;  /* "0.1.0" */
    uint64_t thousandths; /* rows that changed by less of the first peak are folded */
};
void mt_diff_put(const struct mt_diff_report *r,
                 const struct mt_paper *k); /* also the body of a page */
/* Between them, of a page: both timelines on one axis, the difference by stack (pictures.c). */
void mt_diff_pictures(const struct mt_diff_report *r, struct mt_out *o);
/* "a.pickle beside b.pickle"; is_short: without folders. Returns buf. */
/* How the two are called in a page: as short as still tells them apart. */
void mt_diff_names(const struct mt_diff_report *r, const char *name[2]);
const char *mt_diff_title(const struct mt_diff_report *r, bool is_short, char *buf, size_t cap);
void mt_diff_page(const struct mt_diff_report *r, struct mt_out *o);
void mt_diff_json(const struct mt_diff_report *r, struct mt_out *o);

#endif
