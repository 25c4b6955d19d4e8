/* fleet/clocks.c -- clocks of nodes held against each other, by the ends of the steps that their
 * ranks trained.
 *
 * Not everything that trains apart has another clock. Rows of one host have one, so where the steps
 * of these differ it is the work that does (workers that do not wait for each other, a recording of
 * another moment), and then nothing that is seen of that host's steps tells of its clock. Of a row
 * without a host nobody knows whose clock it has: it stands for one of its own. */
#include "analysis/fleet/impl.h"

#include <stdlib.h>
#include <string.h>

/* With how many rows the others are compared before the best of these has to do: each costs a pass
 * over all rows. */
enum { TRIES = 64 };

/* What the rows of one clock say of it. */
struct clock {
    int64_t least, most; /* how far their steps are behind those they were compared with */
    uint64_t within;
    uint32_t n; /* rows that could be compared */
};

/* Something is known of it, and its rows agree as far as each of them can tell. */
static bool is_one(const struct clock *c)
{
    return c->n != 0 && (uint64_t)c->most - (uint64_t)c->least <= c->within;
}

static int64_t middle(const struct clock *c) { return c->least + (c->most - c->least) / 2; }

static int by_host(const void *p, const void *q)
{
    const struct mt_fleet_row *const *x = p, *const *y = q;
    int c = strcmp((*x)->host, (*y)->host);
    return c != 0 ? c : *x < *y ? -1 : *x > *y;
}

/* Which rows have one clock. Their number; 0 = out of memory. */
static uint32_t number_clocks(struct mt_fleet *f)
{
    struct mt_fleet_row **at = mt_calloc(f->rows.n + 1, sizeof(struct mt_fleet_row *));
    uint32_t n = 0, n_clocks = 0;
    if (at == NULL)
        return 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        f->rows.p[i].clock = i;
        if (f->rows.p[i].host != NULL)
            at[n++] = &f->rows.p[i];
        else
            n_clocks++;
    }
    if (n > 1)
        qsort(at, n, sizeof *at, by_host);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(at[i]->host, at[i - 1]->host) == 0)
            at[i]->clock = at[i - 1]->clock;
        else
            n_clocks++;
    }
    mt_free(at);
    return n_clocks;
}

/* Compares all rows with one. How many of them have a clock that is one then. */
static uint32_t hear(struct mt_fleet *f, uint32_t with, struct clock *c)
{
    uint64_t step = mt_fleet_period(&f->rows.p[with]);
    uint32_t n = 0;
    memset(c, 0, f->rows.n * sizeof *c);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct mt_fleet_row *r = &f->rows.p[i];
        struct mt_fleet_apart d = {0, 0};
        struct clock *of = &c[r->clock];
        r->is_aligned = mt_fleet_compare(r, &f->rows.p[with], &d);
        if (!r->is_aligned)
            continue;
        of->least = of->n == 0 || d.by < of->least ? d.by : of->least;
        of->most = of->n == 0 || d.by > of->most ? d.by : of->most;
        of->within = step + d.varies / 2 > of->within ? step + d.varies / 2 : of->within;
        of->n++;
    }
    for (uint32_t i = 0; i < f->rows.n; i++)
        n += f->rows.p[i].is_aligned && is_one(&c[f->rows.p[i].clock]);
    return n;
}

/* A row that compares with more rows than the others do, half of all being enough. Rows that
 * compare with one that was tried are not tried themselves: they compare with about the same. */
static uint32_t find_first(struct mt_fleet *f, struct clock *c, bool *tried)
{
    uint32_t with_steps = 0, best = 0, most = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        with_steps += f->rows.p[i].n_steps >= MT_FLEET_LEAST;
    for (uint32_t i = 0, n_tried = 0; i < f->rows.n && n_tried < TRIES; i++) {
        uint32_t n;
        if (tried[i] || f->rows.p[i].n_steps < MT_FLEET_LEAST)
            continue;
        n = hear(f, i, c);
        n_tried++;
        if (n > most) {
            most = n;
            best = i;
        }
        if (most > with_steps / 2)
            break;
        for (uint32_t k = i; k < f->rows.n; k++)
            tried[k] |= f->rows.p[k].is_aligned;
    }
    return best;
}

/* The clock that most have: a row of the one in the middle, by how far each is from the first. */
static uint32_t find_usual(struct mt_fleet *f, uint32_t first, struct clock *c,
                           struct mt_fleet_keyed *k)
{
    uint32_t n = 0;
    (void)hear(f, first, c);
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        if (r->is_aligned && is_one(&c[r->clock]))
            k[n++] = (struct mt_fleet_keyed){
                (uint64_t)(middle(&c[r->clock]) + (int64_t)MT_FLEET_HOUR), r->clock, i};
    }
    mt_fleet_sort(k, n);
    return n != 0 ? k[(n - 1) / 2].row : first;
}

/* Every row has what is known of its clock. */
static void set(struct mt_fleet *f, const struct clock *c, uint32_t n_clocks)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        known += is_one(&c[i]);
    f->n_aligned = 0;
    f->clocks_within = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct mt_fleet_row *r = &f->rows.p[i];
        const struct clock *of = &c[r->clock];
        r->ahead_ns = 0;
        r->clock_within = 0;
        r->is_aligned = n_clocks == 1 || (known > 1 && is_one(of));
        f->n_aligned += r->is_aligned;
        if (!r->is_aligned || n_clocks == 1)
            continue;
        r->clock_within = of->within;
        if (mt_fleet_size_of(middle(of)) > MT_FLEET_SECOND &&
            mt_fleet_size_of(middle(of)) > 2 * of->within)
            r->ahead_ns = middle(of);
        else if (of->within > f->clocks_within)
            f->clocks_within = of->within;
    }
}

int mt_fleet_align(struct mt_fleet *f)
{
    struct mt_fleet_keyed *k = mt_calloc(f->rows.n + 1, sizeof *k);
    struct clock *c = mt_calloc(f->rows.n + 1, sizeof *c);
    bool *tried = mt_calloc(f->rows.n + 1, sizeof *tried);
    uint32_t n_clocks = number_clocks(f);
    int ok = k != NULL && c != NULL && tried != NULL && (n_clocks != 0 || f->rows.n == 0);
    if (ok && f->rows.n != 0) {
        if (n_clocks > 1)
            (void)hear(f, find_usual(f, find_first(f, c, tried), c, k), c);
        set(f, c, f->rows.n > 1 ? n_clocks : 0);
    }
    mt_free(tried);
    mt_free(c);
    mt_free(k);
    return ok;
}
