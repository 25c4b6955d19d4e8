/* rows.h -- bytes of two reports side by side, by what they are of. */
#ifndef MT_COMPARE_ROWS_H
#define MT_COMPARE_ROWS_H

#include "parser/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

struct mt_compare_row {
    const char *label; /* of the second report where it has the row; lives as long as both */
    const char *was;   /* in the first, where the same function stands in another line; else NULL */
    bool in[2];
    uint64_t bytes[2];
};
struct mt_compare_rows {
    MT_VEC(struct mt_compare_row) list;
    uint32_t left_out[2]; /* of each side, beyond MT_COMPARE_ROWS */
};
enum { MT_COMPARE_ROWS = 4096 };

/* Adds n to the row of that label, which has to live as long as r (is_sum: added up; else the
 * highest counts). 0 = out of memory. */
int mt_compare_put(struct mt_compare_rows *r, int side, const char *label, uint64_t n, bool is_sum);
/* Adds the rows of list that are of the device (NULL = all) to side 0 or 1: label and bytes stand
 * under these keys, rows of one label are one row (is_sum: added up; else the highest). 0 = out of
 * memory. */
int mt_compare_add(struct mt_compare_rows *r, int side, const struct cJSON *list,
                   const struct cJSON *device, const char *label, const char *bytes, bool is_sum);
/* Owners that only one side has, of one function in other lines ("file:line function"), become one
 * row: the first line with the first and so on, where each side has as many of them. */
void mt_compare_moved(struct mt_compare_rows *r);
/* Largest change first. */
void mt_compare_sort(struct mt_compare_rows *r);
void mt_compare_rows_done(struct mt_compare_rows *r);
static inline uint32_t mt_compare_left_out(const struct mt_compare_rows *r)
{
    return r->left_out[r->left_out[1] > r->left_out[0]];
}
static inline int64_t mt_compare_change(const struct mt_compare_row *r)
{
    return (int64_t)(r->bytes[1] - r->bytes[0]);
}

#endif
