/* The line with most of the live bytes that no role is known of. A sentence that names the largest
 * role alone would leave the largest holder out. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"

#include <stdlib.h>
#include <string.h>

struct line {
    char *label;
    struct mt_unclaimed of;
};

static int by_label(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;
    int c = strcmp(a->label, b->label);
    return c != 0 ? c : a->of.stack < b->of.stack ? -1 : a->of.stack > b->of.stack;
}

/* Joins the stacks of one line, which lie side by side; returns the line with most. */
static struct mt_unclaimed largest(struct line *v, uint32_t n)
{
    struct mt_unclaimed out = {0, 0};
    for (uint32_t i = 0, end; i < n; i = end) {
        struct mt_unclaimed sum = {v[i].of.stack, 0};
        uint64_t most = 0;
        for (end = i; end < n && strcmp(v[end].label, v[i].label) == 0; end++) {
            sum.bytes += v[end].of.bytes;
            if (v[end].of.bytes > most) {
                most = v[end].of.bytes;
                sum.stack = v[end].of.stack;
            }
        }
        out = sum.bytes > out.bytes ? sum : out;
    }
    return out;
}

/* The stacks that have such bytes, with their labels; 0 = out of memory. */
static int collect(const struct mt_moment *m, const uint64_t *sum, struct line *v, uint32_t *n)
{
    char label[512];
    *n = 0;
    for (uint32_t s = 1; s < m->w->r->t->stacks.n; s++) {
        if (sum[s] == 0)
            continue;
        (void)mt_stack_label(m->w->r->t, s, label, sizeof label);
        v[*n] = (struct line){mt_strndup(label, strlen(label)), {s, sum[s]}};
        if (v[*n].label == NULL)
            return 0;
        ++*n;
    }
    return 1;
}

int mt_moment_unclaimed(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n, n = 0;
    uint8_t by[MT_ROLE_COUNT];
    uint64_t *sum;
    struct line *v;
    int ok;
    if (m->role[MT_ROLE_UNKNOWN] == 0)
        return 1;
    sum = mt_calloc((size_t)n_stacks + 1, sizeof *sum);
    v = mt_calloc((size_t)n_stacks + 1, sizeof *v);
    ok = sum != NULL && v != NULL;
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        if (m->held[i].role == MT_ROLE_UNKNOWN && m->held[i].stack < n_stacks)
            sum[m->held[i].stack] += m->held[i].size;
    ok = ok && collect(m, sum, v, &n);
    if (ok && n != 0) {
        qsort(v, n, sizeof *v, by_label);
        m->unclaimed = largest(v, n);
        if (mt_role_order(m->role, by) != 0 && m->role[by[0]] >= m->unclaimed.bytes &&
            by[0] != MT_ROLE_UNKNOWN)
            m->unclaimed = (struct mt_unclaimed){0, 0};
    }
    for (uint32_t i = 0; v != NULL && i < n; i++)
        mt_free(v[i].label);
    mt_free(sum);
    mt_free(v);
    return ok;
}
