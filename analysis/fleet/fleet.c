#include "analysis/fleet/fleet.h"

#include "analysis/base/words.h"

#include <stdlib.h>
#include <string.h>

/* Peaks lie together while none is more than 1 % above the one before it, and all within 5 %. */
enum { STEP = 100, SPREAD = 20 };

uint64_t mt_fleet_setting(uint64_t hash, const char *name, const char *value)
{
    const char *words[] = {name, value};
    hash = hash != 0 ? hash : UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (int i = 0; i < 2; i++) {
        for (const char *w = words[i]; w != NULL && *w != '\0'; w++)
            hash = (hash ^ (unsigned char)*w) * UINT64_C(0x100000001b3);
        hash = (hash ^ 0xff) * UINT64_C(0x100000001b3);
    }
    return hash;
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
    if (x->told != y->told)
        return x->told ? 1 : -1; /* behind the rank's own rows */
    if (dx != dy)
        return dx < dy ? -1 : 1;
    c = compare_words(x->place, y->place);
    if (c == 0)
        c = compare_words(x->source, y->source);
    if (c == 0 && x->live != y->live)
        c = x->live < y->live ? -1 : 1;
    return c;
}

bool mt_fleet_before(const struct mt_fleet_row *a, const struct mt_fleet_row *b)
{
    uint64_t x = a->failed_ns - 1, y = b->failed_ns - 1; /* 0 comes last */
    return a->failed != b->failed ? a->failed : x != y ? x < y : by_rank(a, b) < 0;
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

struct mt_fleet_row *mt_fleet_told(struct mt_fleet *f, int32_t rank, int32_t device,
                                   const char *place)
{
    struct mt_fleet_row *r = mt_fleet_add(f);
    if (r == NULL)
        return NULL;
    r->rank = rank;
    r->device = device;
    r->failed = r->told = true;
    r->place = mt_strndup(place, strlen(place));
    return r->place != NULL ? r : NULL;
}

static void row_done(struct mt_fleet_row *r)
{
    mt_free(r->place);
    mt_free(r->source);
    mt_free(r->framework);
    mt_free(r->host);
    mt_free(r->phase);
}

/* What is told of a rank belongs to its own row: that of the device, else its first one, since a
 * log counts the GPUs of the node and PyTorch those that its process sees. */
static void join_told(struct mt_fleet *f)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct mt_fleet_row r = f->rows.p[i], *own = NULL;
        for (uint32_t j = kept; r.told && r.rank >= 0 && j > 0; j--) {
            if (f->rows.p[j - 1].rank != r.rank)
                break;
            own = &f->rows.p[j - 1];
            if (own->device == r.device)
                break;
        }
        if (own == NULL) {
            f->rows.p[kept++] = r;
            continue;
        }
        if (!own->failed) {
            own->request = r.request;
            own->failed_ns = r.failed_ns;
        }
        own->failed = true;
        row_done(&r);
    }
    f->rows.n = kept;
}

static void count_ranks(struct mt_fleet *f)
{
    f->n_ranks = 0;
    f->several = false;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        const struct mt_fleet_row *r = &f->rows.p[i];
        bool next = i > 0 && r->rank == r[-1].rank;
        f->n_ranks += r->rank >= 0 && !next;
        f->several |= r->rank >= 0 && next && r->device != r[-1].device;
    }
}

/* k: the known rows by settings and live. */
static int make_groups(struct mt_fleet *f, struct mt_fleet_keyed *k)
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
        k[g] = (struct mt_fleet_keyed){UINT64_MAX - f->groups.p[g].n, f->groups.p[g].low, g};
        sorted[g] = f->groups.p[g];
    }
    mt_fleet_sort(k, n_groups); /* the largest first */
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

static int find_failures(struct mt_fleet *f, struct mt_fleet_keyed *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].failed)
            k[n++] = (struct mt_fleet_keyed){
                mt_fleet_moment(&f->rows.p[i], f->rows.p[i].failed_ns) - 1, 0, i}; /* 0: last */
    mt_fleet_sort(k, n);
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
    struct mt_fleet_keyed *k = mt_calloc(f->rows.n + 1, sizeof *k);
    int ok;
    uint32_t n = 0;
    if (k == NULL)
        return 0;
    if (f->rows.n > 1)
        qsort(f->rows.p, f->rows.n, sizeof *f->rows.p, by_rank);
    join_told(f);
    count_ranks(f);
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.p[i].known)
            k[n++] = (struct mt_fleet_keyed){f->rows.p[i].live, 0, i};
    f->n_known = n;
    if (n != 0) {
        mt_fleet_sort(k, n);
        f->least = k[0].row;
        f->median = k[(n - 1) / 2].row;
        f->most = k[n - 1].row;
        for (uint32_t i = n - 1; i > 0 && k[i - 1].a == k[n - 1].a; i--)
            f->most = k[i - 1].row; /* the first rank that has as much */
    }
    ok = mt_fleet_find_outliers(f, k);
    for (uint32_t i = 0; i < n; i++)
        k[i] = (struct mt_fleet_keyed){f->rows.p[k[i].row].settings, k[i].a, k[i].row};
    mt_fleet_sort(k, n);
    ok = ok && make_groups(f, k) && mt_fleet_align(f) && find_failures(f, k) && mt_fleet_lay_out(f);
    mt_free(k);
    return ok;
}

void mt_fleet_done(struct mt_fleet *f)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        row_done(&f->rows.p[i]);
    for (uint32_t i = 0; i < f->problems.n; i++)
        mt_free(f->problems.p[i]);
    MT_VEC_DONE(&f->rows);
    MT_VEC_DONE(&f->groups);
    MT_VEC_DONE(&f->outliers);
    MT_VEC_DONE(&f->failed);
    MT_VEC_DONE(&f->parts);
    MT_VEC_DONE(&f->problems);
}
