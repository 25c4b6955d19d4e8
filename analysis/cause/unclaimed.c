/* The line with most of the live bytes that no role is known of, or that are data of the job's own.
 * A sentence that names the largest role alone would leave the largest holder out. */
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
    struct mt_unclaimed out = {.bytes = 0};
    for (uint32_t i = 0, end; i < n; i = end) {
        struct mt_unclaimed sum = {.stack = v[i].of.stack};
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
        v[*n] = (struct line){mt_strndup(label, strlen(label)), {.stack = s, .bytes = sum[s]}};
        if (v[*n].label == NULL)
            return 0;
        ++*n;
    }
    return 1;
}

static bool is_unclaimed(unsigned role) { return role == MT_ROLE_UNKNOWN || role == MT_ROLE_DATA; }

static uint64_t largest_role(const struct mt_moment *m)
{
    uint64_t most = 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        if (!is_unclaimed(r) && r != MT_ROLE_BEFORE && m->role[r] > most)
            most = m->role[r];
    return most;
}

/* Whether most of what a line made, by its stack, is data. */
static bool is_data(const struct mt_moment *m, mt_stack_id stack)
{
    uint64_t data = 0, all = 0;
    for (uint32_t i = 0; i < m->n_held; i++)
        if (m->held[i].stack == stack && is_unclaimed(m->held[i].role)) {
            all += m->held[i].size;
            data += m->held[i].role == MT_ROLE_DATA ? m->held[i].size : 0;
        }
    return data > all / 2;
}

int mt_moment_unclaimed(struct mt_moment *m)
{
    uint32_t n_stacks = m->w->r->t->stacks.n, n = 0;
    uint64_t *sum;
    struct line *v;
    int ok;
    if (m->role[MT_ROLE_UNKNOWN] + m->role[MT_ROLE_DATA] == 0)
        return 1;
    sum = mt_calloc((size_t)n_stacks + 1, sizeof *sum);
    v = mt_calloc((size_t)n_stacks + 1, sizeof *v);
    ok = sum != NULL && v != NULL;
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        if (is_unclaimed(m->held[i].role) && m->held[i].stack < n_stacks)
            sum[m->held[i].stack] += m->held[i].size;
    ok = ok && collect(m, sum, v, &n);
    if (ok && n != 0) {
        qsort(v, n, sizeof *v, by_label);
        m->unclaimed = largest(v, n);
        m->unclaimed.is_data = is_data(m, m->unclaimed.stack);
        if (largest_role(m) >= m->unclaimed.bytes)
            m->unclaimed = (struct mt_unclaimed){.bytes = 0};
    }
    for (uint32_t i = 0; v != NULL && i < n; i++)
        mt_free(v[i].label);
    mt_free(sum);
    mt_free(v);
    return ok;
}
