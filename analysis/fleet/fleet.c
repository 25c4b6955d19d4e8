#include "analysis/fleet/fleet.h"

#include "analysis/base/words.h"

#include <stdlib.h>
#include <string.h>

/* Peaks lie together while none is more than 1 % above the one before it, and all within 5 %. */
enum { STEP = 100, SPREAD = 20 };
/* Six times the median deviation is four standard deviations of what is spread normally. */
enum { DEVIATIONS = 6, LEAST_ROWS = 4 };

struct keyed {
    uint64_t a, b;
    uint32_t row;
};

static int by_key(const void *p, const void *q)
{
    const struct keyed *x = p, *y = q;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int compare_words(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int by_rank(const void *p, const void *q)
{
    const struct mt_fleet_row *x = p, *y = q;
    uint32_t rx = (uint32_t)x->rank, ry = (uint32_t)y->rank; /* -1 comes last */
    uint32_t dx = (uint32_t)x->device, dy = (uint32_t)y->device;
    int c;
    if (rx != ry)
        return rx < ry ? -1 : 1;
    if (dx != dy)
        return dx < dy ? -1 : 1;
    c = compare_words(x->place, y->place);
    if (c == 0)
        c = compare_words(x->source, y->source);
    if (c == 0 && x->live != y->live)
        c = x->live < y->live ? -1 : 1;
    return c;
}

struct mt_fleet_row *mt_fleet_add(struct mt_fleet *f)
{
    struct mt_fleet_row *r = MT_VEC_PUSH(&f->rows);
    if (r != NULL) {
        memset(r, 0, sizeof *r);
        r->rank = r->device = -1;
        r->group = MT_FLEET_NO_GROUP;
    }
    return r;
}

static int largest_first(const void *p, const void *q)
{
    const struct keyed *x = p, *y = q;
    return x->a != y->a ? (x->a > y->a ? -1 : 1) : by_key(p, q);
}

/* k: the known rows by settings and live. */
static int make_groups(struct mt_fleet *f, struct keyed *k)
{
    struct mt_fleet_group *sorted;
    uint32_t n = f->n_known, n_groups;
    for (uint32_t i = 0; i < n; i++) {
        struct mt_fleet_group *g = f->groups.n != 0 ? &f->groups.p[f->groups.n - 1] : NULL;
        if (g == NULL || k[i].a != k[i - 1].a || k[i].b - g->high > g->high / STEP ||
            k[i].b - g->low > g->low / SPREAD) {
            g = MT_VEC_PUSH(&f->groups);
            if (g == NULL)
                return 0;
            *g = (struct mt_fleet_group){0, k[i].b, k[i].b};
        }
        g->n++;
        g->high = k[i].b;
        f->rows.p[k[i].row].group = (int32_t)(f->groups.n - 1);
    }
    n_groups = f->groups.n;
    sorted = mt_calloc(n_groups + 1, sizeof *sorted);
    if (sorted == NULL)
        return 0;
    for (uint32_t g = 0; g < n_groups; g++) { /* k is long enough: a group has a row */
        k[g] = (struct keyed){f->groups.p[g].n, f->groups.p[g].low, g};
        sorted[g] = f->groups.p[g];
    }
    qsort(k, n_groups, sizeof *k, largest_first);
    for (uint32_t g = 0; g < n_groups; g++) {
        f->groups.p[g] = sorted[k[g].row];
        sorted[k[g].row].n = g; /* where it went */
    }
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].group >= 0)
            f->rows.p[i].group = (int32_t)sorted[f->rows.p[i].group].n;
    mt_free(sorted);
    return 1;
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static void median_roles(const struct mt_fleet *f, struct keyed *k, uint64_t out[MT_ROLE_COUNT])
{
    for (int role = 0; role < MT_ROLE_COUNT; role++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < f->rows.n; i++)
            if (f->rows.p[i].known)
                k[n++] = (struct keyed){f->rows.p[i].roles[role], 0, i};
        qsort(k, n, sizeof *k, by_key);
        out[role] = n != 0 ? k[(n - 1) / 2].a : 0;
    }
}

static void name_role(struct mt_fleet_outlier *o, const struct mt_fleet_row *r,
                      const uint64_t median[MT_ROLE_COUNT])
{
    o->role = -1;
    for (int role = 0; role < MT_ROLE_COUNT; role++) {
        int64_t more = (int64_t)(r->roles[role] - median[role]);
        if (o->more > 0 ? more > o->role_more : more < o->role_more) {
            o->role = role;
            o->role_more = more;
        }
    }
}

static int find_outliers(struct mt_fleet *f, struct keyed *k)
{
    uint64_t middle, apart, roles[MT_ROLE_COUNT];
    uint32_t n = 0;
    if (f->n_known < LEAST_ROWS)
        return 1;
    middle = f->rows.p[f->median].live;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].known)
            k[n++] = (struct keyed){distance(f->rows.p[i].live, middle), 0, i};
    qsort(k, n, sizeof *k, by_key);
    apart = k[(n - 1) / 2].a * DEVIATIONS;
    apart = apart > middle / SPREAD ? apart : middle / SPREAD;
    for (uint32_t i = 0; i < n; i++)
        k[i].a = UINT64_MAX - k[i].a;
    qsort(k, n, sizeof *k, by_key); /* farthest first, of equal ones the lowest rank */
    for (uint32_t i = 0; i < n && UINT64_MAX - k[i].a > apart; i++) {
        struct mt_fleet_outlier *o = MT_VEC_PUSH(&f->outliers);
        if (o == NULL)
            return 0;
        *o = (struct mt_fleet_outlier){k[i].row, (int64_t)(f->rows.p[k[i].row].live - middle), -1,
                                       0};
    }
    if (f->outliers.n != 0)
        median_roles(f, k, roles);
    for (uint32_t i = 0; i < f->outliers.n; i++)
        name_role(&f->outliers.p[i], &f->rows.p[f->outliers.p[i].row], roles);
    return 1;
}

static int find_failures(struct mt_fleet *f, struct keyed *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].failed)
            k[n++] = (struct keyed){f->rows.p[i].failed_ns - 1, 0, i}; /* 0 comes last */
    qsort(k, n, sizeof *k, by_key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *at = MT_VEC_PUSH(&f->failed);
        if (at == NULL)
            return 0;
        *at = k[i].row;
    }
    return 1;
}

int mt_fleet_finish(struct mt_fleet *f)
{
    struct keyed *k = mt_calloc(f->rows.n + 1, sizeof *k);
    int ok;
    uint32_t n = 0;
    if (k == NULL)
        return 0;
    if (f->rows.n > 1)
        qsort(f->rows.p, f->rows.n, sizeof *f->rows.p, by_rank);
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].known)
            k[n++] = (struct keyed){f->rows.p[i].live, 0, i};
    f->n_known = n;
    if (n != 0) {
        qsort(k, n, sizeof *k, by_key);
        f->least = k[0].row;
        f->median = k[(n - 1) / 2].row;
        f->most = k[n - 1].row;
        for (uint32_t i = n - 1; i > 0 && k[i - 1].a == k[n - 1].a; i--)
            f->most = k[i - 1].row; /* the first rank that has as much */
    }
    for (uint32_t i = 0; i < n; i++)
        k[i] = (struct keyed){f->rows.p[k[i].row].settings, k[i].a, k[i].row};
    qsort(k, n, sizeof *k, by_key);
    ok = make_groups(f, k) && find_outliers(f, k) && find_failures(f, k);
    mt_free(k);
    return ok;
}

void mt_fleet_done(struct mt_fleet *f)
{
    for (uint32_t i = 0; i < f->rows.n; i++) {
        mt_free(f->rows.p[i].place);
        mt_free(f->rows.p[i].source);
        mt_free(f->rows.p[i].framework);
        mt_free(f->rows.p[i].phase);
    }
    for (uint32_t i = 0; i < f->problems.n; i++)
        mt_free(f->problems.p[i]);
    MT_VEC_DONE(&f->rows);
    MT_VEC_DONE(&f->groups);
    MT_VEC_DONE(&f->outliers);
    MT_VEC_DONE(&f->failed);
    MT_VEC_DONE(&f->problems);
}
