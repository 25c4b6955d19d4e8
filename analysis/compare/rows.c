#include "analysis/compare/rows.h"

#include "parser/saved/report.h"

#include <stdlib.h>
#include <string.h>

static struct mt_compare_row *find(struct mt_compare_rows *r, const char *label)
{
    for (uint32_t i = 0; i < r->list.n; i++)
        if (strcmp(r->list.p[i].label, label) == 0)
            return &r->list.p[i];
    return NULL;
}

int mt_compare_put(struct mt_compare_rows *r, int side, const char *label, uint64_t n, bool is_sum)
{
    struct mt_compare_row *row = find(r, label);
    if (row == NULL && r->list.n >= MT_COMPARE_ROWS) {
        r->left_out[side]++;
        return 1;
    }
    if (row == NULL) {
        row = MT_VEC_PUSH(&r->list);
        if (row == NULL)
            return 0;
    }
    row->label = label;
    row->in[side] = true;
    if (is_sum)
        row->bytes[side] += n;
    else if (n > row->bytes[side])
        row->bytes[side] = n;
    return 1;
}

int mt_compare_add(struct mt_compare_rows *r, int side, const struct cJSON *list,
                   const struct cJSON *device, const char *label, const char *bytes, bool is_sum)
{
    for (const struct cJSON *v = mt_value_first(list); v != NULL; v = mt_value_next(v)) {
        const char *name = mt_value_words(v, label);
        uint64_t n;
        if (name == NULL || !mt_value_number(v, bytes, &n) || !mt_saved_is_of(v, device))
            continue;
        if (!mt_compare_put(r, side, name, n, is_sum))
            return 0;
    }
    return 1;
}

/* Where the line number of "actor/train.py:36 step" stands; *n: its length; NULL = there is none.
 */
static const char *line_of(const char *label, size_t *n)
{
    for (const char *p = strchr(label, ':'); p != NULL; p = strchr(p + 1, ':')) {
        *n = strspn(p + 1, "0123456789");
        if (*n != 0 && p[1 + *n] == ' ')
            return p + 1;
    }
    return NULL;
}

static bool same_function(const char *a, const char *b)
{
    size_t n_a = 0, n_b = 0;
    const char *line_a = line_of(a, &n_a), *line_b = line_of(b, &n_b);
    return line_a != NULL && line_b != NULL && line_a - a == line_b - b &&
           memcmp(a, b, (size_t)(line_a - a)) == 0 && strcmp(line_a + n_a, line_b + n_b) == 0;
}

static unsigned long line_number(const char *label)
{
    size_t n = 0;
    const char *line = line_of(label, &n);
    return line != NULL ? strtoul(line, NULL, 10) : 0;
}

/* Of the rows that this side alone has, with a label of the same function, the one with the lowest
 * line; *n: how many there are. */
static struct mt_compare_row *alone(struct mt_compare_rows *r, int side, const char *label,
                                    uint32_t *n)
{
    struct mt_compare_row *lowest = NULL;
    *n = 0;
    for (uint32_t i = 0; i < r->list.n; i++) {
        struct mt_compare_row *row = &r->list.p[i];
        if (!row->in[side] || row->in[!side] || !same_function(row->label, label))
            continue;
        ++*n;
        if (lowest == NULL || line_number(row->label) < line_number(lowest->label))
            lowest = row;
    }
    return lowest;
}

void mt_compare_moved(struct mt_compare_rows *r)
{
    enum { MOST = 1024 }; /* a report has 256 owners of a device; more are nobody's report */
    for (uint32_t i = 0; i < r->list.n && r->list.n <= MOST; i++) {
        struct mt_compare_row *b = &r->list.p[i], *a;
        uint32_t n_a, n_b;
        if (!b->in[1] || b->in[0])
            continue;
        a = alone(r, 0, b->label, &n_a);
        if (a == NULL || alone(r, 1, b->label, &n_b) != b || n_a != n_b)
            continue;
        b->was = a->label;
        b->in[0] = true;
        b->bytes[0] = a->bytes[0];
        *a = r->list.p[--r->list.n];
        i = UINT32_MAX; /* rows have moved: from the first again */
    }
}

static uint64_t size_of_change(const struct mt_compare_row *r)
{
    return r->bytes[0] > r->bytes[1] ? r->bytes[0] - r->bytes[1] : r->bytes[1] - r->bytes[0];
}

static int by_change(const void *a, const void *b)
{
    const struct mt_compare_row *x = a, *y = b;
    uint64_t n = size_of_change(x), m = size_of_change(y);
    return n != m ? (n < m ? 1 : -1) : strcmp(x->label, y->label);
}

void mt_compare_sort(struct mt_compare_rows *r)
{
    if (r->list.n > 1)
        qsort(r->list.p, r->list.n, sizeof *r->list.p, by_change);
}

void mt_compare_rows_done(struct mt_compare_rows *r) { MT_VEC_DONE(&r->list); }
