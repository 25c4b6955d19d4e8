/* run/rank_names.c -- names that end in a number: of a job's ranks, or of sequence lengths, steps
 * and whatever else is tried one after the other.
 *
 * It is the rank where the framework that runs the job names its snapshots so, and where the
 * names that differ in nothing else count from 0 without a gap and were recorded at one time. */
#include "analysis/cause/verdict.h"
#include "analysis/run/diagnose.h"

#include <string.h>

static bool named_by_framework(const struct mt_rank *k)
{
    const struct mt_frameworks *fw = &k->analysis->fw;
    return (mt_framework_at(fw->rules, fw->main)->traits & MT_FWT_RANK_ENDS) != 0;
}

static const char *name_of(const struct mt_rank *k)
{
    const struct mt_meta *m = &k->trace->meta;
    return m->member != NULL ? m->member : m->input != NULL ? m->input : "";
}

/* Bytes of the name before its number, which is behind the last '_' with a digit after it. */
static size_t before_number(const char *name)
{
    size_t n = strlen(name);
    while (n > 1 && (name[n - 1] != '_' || name[n] < '0' || name[n] > '9'))
        n--;
    return n;
}

/* Names that differ in their numbers alone. */
static bool is_alike(const struct mt_rank *a, const struct mt_rank *b)
{
    const char *p = name_of(a), *q = name_of(b);
    size_t n = before_number(p), m = before_number(q);
    if (b->trace->meta.name_number < 0 || n != m || memcmp(p, q, n) != 0)
        return false;
    p += n + strspn(p + n, "0123456789");
    q += m + strspn(q + m, "0123456789");
    return strcmp(p, q) == 0 &&
           (a->trace->meta.member == NULL) == (b->trace->meta.member == NULL) &&
           (a->trace->meta.member == NULL ||
            strcmp(a->trace->meta.input, b->trace->meta.input) == 0);
}

static void recorded(const struct mt_rank *k, uint64_t *first, uint64_t *last)
{
    *first = *last = 0;
    for (uint32_t i = 0; i < k->analysis->devices.n; i++) {
        const struct mt_device_analysis *d = &k->analysis->devices.p[i];
        if (d->first_ns != 0 && (*first == 0 || d->first_ns < *first))
            *first = d->first_ns;
        *last = d->last_ns > *last ? d->last_ns : *last;
    }
}

static bool at_one_time(const struct mt_rank *a, const struct mt_rank *b)
{
    uint64_t a0, a1, b0, b1;
    recorded(a, &a0, &a1);
    recorded(b, &b0, &b1);
    return a0 == 0 || b0 == 0 || (a0 <= b1 && b0 <= a1);
}

/* All names like that of k are 0 to n - 1, each once; there are two or more. */
static bool counts_from_0(const struct mt_rank *ranks, uint32_t n, const struct mt_rank *k)
{
    uint32_t alike = 0;
    int32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_alike(k, &ranks[i]))
            continue;
        if (!at_one_time(k, &ranks[i]) ||
            (&ranks[i] != k && ranks[i].trace->meta.name_number == k->trace->meta.name_number))
            return false;
        alike++;
        most = ranks[i].trace->meta.name_number > most ? ranks[i].trace->meta.name_number : most;
    }
    return alike > 1 && (uint32_t)most == alike - 1;
}

int mt_ranks_by_name(struct mt_rank *ranks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct mt_rank *k = &ranks[i];
        struct mt_meta *m = &k->trace->meta;
        if (m->name_number < 0 || m->rank >= 0 ||
            (!named_by_framework(k) && !counts_from_0(ranks, n, k)))
            continue;
        m->rank = k->claims.rank = m->name_number;
        if (k->analysis->is_brief) /* it has no sentence */
            continue;
        mt_free(k->analysis->verdict.sentence);
        mt_free(k->analysis->verdict.because);
        if (!mt_verdict_make(k->analysis))
            return 0;
    }
    return 1;
}
