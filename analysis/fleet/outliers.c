/* fleet/outliers.c -- which ranks stand out, of a job whose parts need not be alike. */
#include "analysis/fleet/fleet.h"

/* Six times the median deviation is four standard deviations of what is spread normally. */
enum { DEVIATIONS = 6, GAP = 20, LEAST_ROWS = 4, LEAST_KIND = 2, SHARE = 16 };

struct kind {
    uint32_t first, n; /* of the peaks in their order */
    uint32_t median;   /* row */
    uint64_t middle, apart;
    bool has_roles;
    uint64_t roles[MT_ROLE_COUNT]; /* medians */
};
/* There are at most SHARE, since each has its share of all. */
struct kinds {
    struct kind of[SHARE];
    uint32_t n;
};

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* spare: room for n_known. */
static void add_kind(struct mt_fleet *f, struct kinds *ks, const struct mt_fleet_keyed *live,
                     uint32_t first, uint32_t n, struct mt_fleet_keyed *spare)
{
    struct kind *k = &ks->of[ks->n++];
    *k = (struct kind){.first = first, .n = n, .median = live[first + (n - 1) / 2].row};
    k->middle = f->rows.p[k->median].live;
    for (uint32_t i = 0; i < n; i++)
        spare[i] = (struct mt_fleet_keyed){distance(live[first + i].a, k->middle), 0, i};
    mt_fleet_sort(spare, n);
    k->apart = spare[(n - 1) / 2].a * DEVIATIONS;
    k->apart = k->apart > k->middle / GAP ? k->apart : k->middle / GAP;
}

static void find_kinds(struct mt_fleet *f, struct kinds *ks, const struct mt_fleet_keyed *live,
                       struct mt_fleet_keyed *spare)
{
    uint32_t n = f->n_known, first = 0;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t size = i - first;
        if (i < n && live[i].a - live[i - 1].a <= live[i - 1].a / GAP)
            continue;
        if (size >= LEAST_KIND && (uint64_t)size * SHARE >= n)
            add_kind(f, ks, live, first, size, spare);
        first = i;
    }
    if (ks->n == 0) /* all are spread: one kind */
        add_kind(f, ks, live, 0, n, spare);
    f->n_kinds = ks->n;
}

static void median_roles(const struct mt_fleet *f, struct kind *k,
                         const struct mt_fleet_keyed *live, struct mt_fleet_keyed *spare)
{
    for (int role = 0; role < MT_ROLE_COUNT && !k->has_roles; role++) {
        for (uint32_t i = 0; i < k->n; i++)
            spare[i] = (struct mt_fleet_keyed){f->rows.p[live[k->first + i].row].roles[role], 0, i};
        mt_fleet_sort(spare, k->n);
        k->roles[role] = spare[(k->n - 1) / 2].a;
    }
    k->has_roles = true;
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

/* The farthest first, of equal ones the lowest rank. Three lists of n_known rows are compared. */
static int name_all(struct mt_fleet *f, struct kinds *ks, const struct mt_fleet_keyed *live,
                    struct mt_fleet_keyed *far, struct mt_fleet_keyed *spare)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_known; i++) {
        uint64_t here = live[i].a;
        uint32_t at = 0;
        for (uint32_t j = 1; j < ks->n; j++)
            if (distance(here, ks->of[j].middle) < distance(here, ks->of[at].middle))
                at = j;
        if (distance(here, ks->of[at].middle) > ks->of[at].apart)
            far[n++] = (struct mt_fleet_keyed){UINT64_MAX - distance(here, ks->of[at].middle),
                                               live[i].row, at};
    }
    mt_fleet_sort(far, n);
    for (uint32_t i = 0; i < n; i++) {
        struct kind *k = &ks->of[far[i].row];
        struct mt_fleet_outlier *o = MT_VEC_PUSH(&f->outliers);
        const struct mt_fleet_row *r = &f->rows.p[far[i].b];
        if (o == NULL)
            return 0;
        *o = (struct mt_fleet_outlier){(uint32_t)far[i].b, k->median,
                                       (int64_t)(r->live - k->middle), -1, 0};
        median_roles(f, k, live, spare);
        name_role(o, r, k->roles);
    }
    return 1;
}

int mt_fleet_find_outliers(struct mt_fleet *f, const struct mt_fleet_keyed *live)
{
    struct kinds ks = {.n = 0};
    struct mt_fleet_keyed *spare, *far;
    int ok;
    if (f->n_known < LEAST_ROWS)
        return 1;
    spare = mt_calloc(f->n_known, sizeof *spare);
    far = mt_calloc(f->n_known, sizeof *far);
    ok = spare != NULL && far != NULL;
    if (ok) {
        find_kinds(f, &ks, live, spare);
        ok = name_all(f, &ks, live, far, spare);
    }
    mt_free(spare);
    mt_free(far);
    return ok;
}
