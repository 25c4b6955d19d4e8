/* fleet/check.c -- whether summaries that are merged belong together. */
#include "analysis/base/words.h"
#include "analysis/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#define HOUR (UINT64_C(3600) * 1000000000)
enum { NAMED = 8 };

static int keep(struct mt_fleet *f, const struct mt_sentence *s)
{
    char *words = mt_strndup(s->buf, s->n),
         **slot = words != NULL ? MT_VEC_PUSH(&f->problems) : NULL;
    if (slot == NULL)
        mt_free(words);
    else
        *slot = words;
    return slot != NULL;
}

/* A rank that two files have. Both are counted: which one is of this run, nobody can tell. */
static int twice(struct mt_fleet *f)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < f->rows.n; i++) {
        const struct mt_fleet_row *a = &f->rows.p[i - 1], *b = &f->rows.p[i];
        struct mt_sentence s = {"", 0};
        if (a->rank < 0 || b->told || a->rank != b->rank || a->device != b->device ||
            a->source == NULL || b->source == NULL || strcmp(a->source, b->source) == 0 ||
            n++ >= NAMED)
            continue;
        mt_words_add(&s,
                     "%s is in %.200s and again in %.200s; both are counted: name the one that "
                     "is of this run.",
                     a->place, a->source, b->source);
        if (!keep(f, &s))
            return 0;
    }
    if (n > NAMED) {
        struct mt_sentence s = {"", 0};
        mt_words_add(&s, "%u more ranks are in two files.", (unsigned)(n - NAMED));
        return keep(f, &s);
    }
    return 1;
}

static int missing(struct mt_fleet *f)
{
    struct mt_sentence s = {"", 0};
    int32_t next = 0;
    uint32_t runs = 0, have = 0, lack = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        if (r->rank < 0 || r->rank < next || r->told)
            continue;
        if (r->rank > next) {
            lack += (uint32_t)(r->rank - next);
            if (runs++ < NAMED)
                mt_words_add(&s, r->rank - 1 > next ? "%s%d-%d" : "%s%d", runs > 1 ? ", " : "",
                             (int)next, (int)(r->rank - 1));
        }
        have++;
        next = r->rank + 1;
    }
    if (lack == 0 || have < 2)
        return 1;
    mt_words_add(
        &s, "%s: no summary of %s is here, of ranks 0 to %d; the verdict is about the others.",
        runs > NAMED ? " and more" : "", lack == 1 ? "this rank" : "these ranks", (int)next - 1);
    {
        struct mt_sentence whole = {"", 0};
        mt_words_add(&whole, MT_FLEET_MISSING "rank%s %s", lack == 1 ? "" : "s", s.buf);
        return keep(f, &whole);
    }
}

static int by_start(const void *p, const void *q)
{
    const struct mt_fleet_row *const *x = p, *const *y = q;
    if ((*x)->first_ns != (*y)->first_ns)
        return (*x)->first_ns < (*y)->first_ns ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static const char *file_of(const struct mt_fleet_row *r)
{
    return r->source != NULL ? r->source : r->place != NULL ? r->place : "a snapshot";
}

/* Recordings of one job overlap, or end and begin within the hour in which ranks die. */
static int jobs(struct mt_fleet *f)
{
    const struct mt_fleet_row **at = mt_calloc(f->rows.n + 1, sizeof(const struct mt_fleet_row *));
    const struct mt_fleet_row *named = NULL, *end = NULL;
    struct mt_sentence s = {"", 0};
    uint32_t n = 0;
    if (at == NULL)
        return 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        if (r->framework != NULL && named == NULL)
            named = r;
        else if (r->framework != NULL && strcmp(r->framework, named->framework) != 0 && s.n == 0)
            mt_words_add(&s, "These files are not of one job: %.200s is of %.40s, %.200s of %.40s.",
                         file_of(named), named->framework, file_of(r), r->framework);
        if (r->first_ns != 0 && r->last_ns != 0)
            at[n++] = r;
    }
    if (n > 1)
        qsort(at, n, sizeof *at, by_start);
    for (uint32_t i = 0; i < n && s.n == 0; i++) {
        if (end != NULL && at[i]->first_ns > end->last_ns && at[i]->first_ns - end->last_ns > HOUR)
            mt_words_add(&s,
                         "These files are not of one job: %.200s had ended for %.1f h when "
                         "%.200s begins.",
                         file_of(end), (double)(at[i]->first_ns - end->last_ns) / (double)HOUR,
                         file_of(at[i]));
        if (end == NULL || at[i]->last_ns > end->last_ns)
            end = at[i];
    }
    mt_free(at);
    return s.n == 0 || keep(f, &s);
}

int mt_fleet_check(struct mt_fleet *f) { return jobs(f) && twice(f) && missing(f); }
