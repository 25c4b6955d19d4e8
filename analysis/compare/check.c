#include "analysis/compare/check.h"

#include "analysis/base/phase.h"
#include "analysis/base/roles.h"
#include "parser/saved/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A change below this is no change: two runs of one job differ by blocks of that size. */
#define NOISE (UINT64_C(2) << 20)

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

enum mt_rc mt_limit_name(struct mt_limit *l, const char *name, size_t n, struct mt_err *err)
{
    static const char left[] = ".left";
    const char *colon = memchr(name, ':', n);
    size_t n_id = colon != NULL ? n - (size_t)(colon + 1 - name) : 0;
    char shown[80];
    memset(l, 0, sizeof *l);
    mt_printable(shown, sizeof shown, name, n);
    if (n < sizeof l->name && n_id < sizeof l->id) {
        memcpy(l->name, name, n);
        memcpy(l->id, colon != NULL ? colon + 1 : "", n_id);
        l->of = same(l->name, "peak")                ? MT_LIMIT_PEAK
                : same(l->name, "reserved")          ? MT_LIMIT_RESERVED
                : strncmp(l->name, "role:", 5) == 0  ? MT_LIMIT_ROLE
                : strncmp(l->name, "phase:", 6) == 0 ? MT_LIMIT_PHASE
                                                     : MT_LIMIT_OOM;
        if (l->of == MT_LIMIT_PHASE && n_id > sizeof left - 1 &&
            strcmp(l->id + n_id - (sizeof left - 1), left) == 0) {
            l->of = MT_LIMIT_LEFT;
            l->id[n_id - (sizeof left - 1)] = '\0';
        }
        if ((l->of == MT_LIMIT_ROLE && mt_role_find(l->id, strlen(l->id)) < 0) ||
            ((l->of == MT_LIMIT_PHASE || l->of == MT_LIMIT_LEFT) &&
             mt_phase_find(l->id, strlen(l->id)) < 0))
            return mt_fail(err, MT_EINPUT,
                           "there is no %s '%s'; docs/json.md lists them, and a report names those "
                           "of a run",
                           l->of == MT_LIMIT_ROLE ? "role" : "phase", l->id);
        if (l->of != MT_LIMIT_OOM)
            return MT_OK;
    }
    return mt_fail(err, MT_EINPUT,
                   "'%s' is no limit: peak, reserved, role:ID, phase:ID and phase:ID.left are",
                   shown);
}

/* ---- what a limit is held against ---- */

static void take(struct mt_checked *k, const struct cJSON *row, const struct cJSON *place,
                 const char *key)
{
    uint64_t n;
    if (!mt_value_number(row, key, &n) || (k->occurs && n <= k->bytes))
        return;
    k->occurs = true;
    k->bytes = n;
    mt_saved_place(k->device, place);
    k->phase = mt_value_words(row, "phase_name");
}

/* Of ranks that were merged only the one that speaks has its devices; the others have a row. */
static const struct cJSON *merged_rows(const struct cJSON *root)
{
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices"));
    const struct cJSON *row = mt_value_first(mt_value_in(mt_value_in(root, "ranks"), "rows")), *r;
    for (r = row; d != NULL && r != NULL; r = mt_value_next(r))
        d = mt_value_next(d);
    return r != NULL ? row : NULL;
}

static void look(struct mt_checked *k, const struct cJSON *root)
{
    const struct mt_limit *l = &k->limit;
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices")), *r;
    const struct cJSON *p = mt_value_first(mt_value_in(root, "phases"));
    for (; d != NULL && l->of <= MT_LIMIT_ROLE; d = mt_value_next(d)) {
        if (l->of != MT_LIMIT_ROLE)
            take(k, d, d, l->of == MT_LIMIT_PEAK ? "live_peak_bytes" : "reserved_peak_bytes");
        else
            for (r = mt_value_first(mt_value_in(d, "roles")); r != NULL; r = mt_value_next(r))
                if (same(mt_value_words(r, "role"), l->id))
                    take(k, r, d, "peak_bytes");
    }
    for (d = merged_rows(root); d != NULL && l->of < MT_LIMIT_ROLE; d = mt_value_next(d))
        take(k, d, d, l->of == MT_LIMIT_PEAK ? "live_peak_bytes" : "reserved_peak_bytes");
    for (; p != NULL && (l->of == MT_LIMIT_PHASE || l->of == MT_LIMIT_LEFT); p = mt_value_next(p))
        if (same(mt_value_words(p, "phase"), l->id) || same(mt_value_words(p, "sub_phase"), l->id))
            take(k, p, p, l->of == MT_LIMIT_LEFT ? "retained_bytes" : "peak_inside_bytes");
}

/* A role or phase that a snapshot would have shown does not occur; without one nobody knows. */
static bool is_unknown(const struct mt_checked *k, const struct cJSON *root)
{
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices"));
    uint64_t n;
    if (k->limit.of == MT_LIMIT_OOM)
        return mt_saved_ran_out(root) < 0;
    if (k->limit.of >= MT_LIMIT_ROLE && merged_rows(root) != NULL)
        return true; /* of the other ranks neither roles over time nor phases are here */
    if (k->limit.of == MT_LIMIT_PHASE || k->limit.of == MT_LIMIT_LEFT)
        return !k->occurs && mt_value_first(mt_value_in(root, "phases")) == NULL;
    for (; k->limit.of == MT_LIMIT_ROLE && d != NULL; d = mt_value_next(d))
        if (mt_value_number(d, "live_peak_bytes", &n))
            return false;
    return !k->occurs;
}

/* ---- where ---- */

/* Of the owners of that device the one with most bytes; "(rest)" is no line. */
static const char *largest_owner(const struct cJSON *root, const char *device)
{
    const struct cJSON *o = mt_value_first(mt_value_in(root, "owners"));
    const char *best = NULL;
    uint64_t most = 0, n;
    for (; o != NULL; o = mt_value_next(o)) {
        char place[MT_SAVED_PLACE];
        if (!mt_value_number(o, "bytes", &n) || n <= most ||
            strcmp(mt_saved_place(place, o), device) != 0 || mt_value_words(o, "label") == NULL)
            continue;
        most = n;
        best = mt_value_words(o, "label");
    }
    return best;
}

/* The owners of a report are those of its focus, which may be a failure below the peak. */
static bool is_at_failure(const struct cJSON *root, const char *device)
{
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices"));
    for (; d != NULL; d = mt_value_next(d)) {
        const struct cJSON *focus = mt_value_in(d, "focus");
        char place[MT_SAVED_PLACE];
        if (strcmp(mt_saved_place(place, d), device) == 0 && mt_value_words(focus, "is") != NULL)
            return strcmp(mt_value_words(focus, "is"), "oom") == 0;
    }
    return false;
}

/* The diff compares owners of one device: of another they say nothing. */
static bool is_of_diff(const struct mt_check *c, const struct mt_checked *k)
{
    char place[MT_SAVED_PLACE];
    const struct cJSON *device = c->against.side[1].device;
    return device != NULL && strcmp(mt_saved_place(place, device), k->device) == 0;
}

/* Of a role no line is named: owners do not say of what role they are. */
static void find_place(const struct mt_check *c, struct mt_checked *k, const struct cJSON *root)
{
    const struct cJSON *verdict = mt_value_in(root, "verdict");
    const struct mt_compare_rows *owners = &c->against.owners;
    if (k->limit.of == MT_LIMIT_OOM) {
        k->site = mt_value_words(verdict, "site");
        k->why_site = "asked for at";
    } else if (c->has_baseline && k->limit.of != MT_LIMIT_ROLE && is_of_diff(c, k)) {
        for (uint32_t i = 0; i < owners->list.n && k->site == NULL; i++)
            if (mt_compare_change(&owners->list.p[i]) > (int64_t)NOISE) { /* largest first */
                k->site = owners->list.p[i].label;
                k->why_site = "grown most at";
            }
    }
    if (k->site == NULL && (k->limit.of == MT_LIMIT_PEAK || k->limit.of == MT_LIMIT_RESERVED)) {
        k->site = largest_owner(root, k->device);
        k->why_site =
            is_at_failure(root, k->device) ? "largest holder at the failure:" : "largest holder at";
    }
}

bool mt_site_place(const char *site, char *file, size_t cap, unsigned long *line)
{
    for (const char *p = strchr(site, ':'); p != NULL; p = strchr(p + 1, ':')) {
        char *end;
        *line = strtoul(p + 1, &end, 10);
        if (end != p + 1 && p[1] >= '0' && p[1] <= '9' && (*end == ' ' || *end == '\0') &&
            (size_t)(p - site) < cap) {
            memcpy(file, site, (size_t)(p - site));
            file[p - site] = '\0';
            return true;
        }
    }
    return false;
}

/* ---- limits of a baseline ---- */

static int add(struct mt_check *c, const struct mt_limit *l)
{
    struct mt_checked *k = MT_VEC_PUSH(&c->rows);
    if (k != NULL)
        k->limit = *l;
    return k != NULL;
}

static uint64_t sum_of(uint64_t a, uint64_t b) { return a < UINT64_MAX - b ? a + b : UINT64_MAX; }

static int add_base(struct mt_check *c, const struct cJSON *baseline, const char *name,
                    uint64_t thousandths)
{
    struct mt_checked base;
    struct mt_limit l;
    memset(&base, 0, sizeof base);
    if (mt_limit_name(&l, name, strlen(name), NULL) != MT_OK)
        return 1; /* a role or phase that this version does not know */
    base.limit = l;
    look(&base, baseline);
    if (!base.occurs)
        return 1;
    l.has_base = true;
    l.base = base.bytes;
    l.max = sum_of(base.bytes, mt_words_ratio(base.bytes, 1000, thousandths));
    if (thousandths != 0 && l.max < sum_of(base.bytes, NOISE))
        l.max = sum_of(base.bytes, NOISE);
    return add(c, &l);
}

/* Each name once, however often the baseline has it. */
static int add_baseline(struct mt_check *c, const struct cJSON *baseline, uint64_t thousandths)
{
    bool has_role[MT_ROLE_COUNT] = {false}, has_phase[MT_PH_COUNT] = {false};
    const struct cJSON *d = mt_value_first(mt_value_in(baseline, "devices")), *v;
    char name[96];
    int ok = add_base(c, baseline, "peak", thousandths) &&
             add_base(c, baseline, "reserved", thousandths);
    for (; d != NULL && ok; d = mt_value_next(d))
        for (v = mt_value_first(mt_value_in(d, "roles")); v != NULL && ok; v = mt_value_next(v)) {
            const char *id = mt_value_words(v, "role");
            int role = id != NULL ? mt_role_find(id, strlen(id)) : -1;
            if (role < 0 || has_role[role])
                continue;
            has_role[role] = true;
            (void)snprintf(name, sizeof name, "role:%s", id);
            ok = add_base(c, baseline, name, thousandths);
        }
    v = mt_value_first(mt_value_in(baseline, "phases"));
    for (; v != NULL && ok; v = mt_value_next(v)) {
        const char *id = mt_value_words(v, "phase");
        int phase = id != NULL ? mt_phase_find(id, strlen(id)) : -1;
        if (phase < 0 || has_phase[phase])
            continue;
        has_phase[phase] = true;
        (void)snprintf(name, sizeof name, "phase:%s", id);
        ok = add_base(c, baseline, name, thousandths);
    }
    return ok;
}

static int rank_of(const struct mt_checked *k) { return k->is_over ? 0 : k->is_unknown ? 1 : 2; }

/* Those that are over first, then those not known, each kind in its order. */
static int sort(struct mt_check *c)
{
    struct mt_checked *p = mt_calloc((size_t)c->rows.n + 1, sizeof *p);
    uint32_t n = 0;
    if (p == NULL)
        return 0;
    for (int rank = 0; rank <= 2; rank++)
        for (uint32_t i = 0; i < c->rows.n; i++)
            if (rank_of(&c->rows.p[i]) == rank)
                p[n++] = c->rows.p[i];
    if (n != 0)
        memcpy(c->rows.p, p, n * sizeof *p);
    mt_free(p);
    return 1;
}

enum mt_rc mt_check_make(struct mt_check *c, const struct mt_saved *report,
                         const struct mt_limit *limits, uint32_t n, const struct mt_saved *baseline,
                         uint64_t thousandths, struct mt_err *err)
{
    static const struct mt_limit ran_out = {.of = MT_LIMIT_OOM, .name = "oom"};
    int ok;
    memset(c, 0, sizeof *c);
    ok = add(c, &ran_out);
    for (uint32_t i = 0; i < n && ok; i++)
        ok = add(c, &limits[i]);
    if (ok && baseline != NULL) {
        c->has_baseline = true;
        if (mt_diff_make(&c->against, baseline, report, err) != MT_OK)
            return MT_ENOMEM;
        n = c->rows.n;
        ok = add_baseline(c, baseline->root, thousandths);
        if (ok && n == c->rows.n)
            return mt_fail(err, MT_EINPUT,
                           "the baseline has no peak, no role and no phase to hold a run against: "
                           "name a report that was made from a snapshot");
    }
    for (uint32_t i = 0; i < c->rows.n && ok; i++) {
        struct mt_checked *k = &c->rows.p[i];
        if (k->limit.of == MT_LIMIT_OOM) {
            k->occurs = k->is_over = mt_saved_ran_out(report->root) == 1;
            (void)mt_value_number(mt_value_in(report->root, "verdict"), "request_bytes", &k->bytes);
            k->phase = mt_value_words(mt_value_in(report->root, "verdict"), "phase_name");
            mt_saved_place(k->device, mt_value_in(report->root, "verdict"));
        } else {
            look(k, report->root);
            k->is_over = k->occurs && k->bytes > k->limit.max;
        }
        k->is_unknown = is_unknown(k, report->root);
        c->n_over += k->is_over;
        c->n_unknown += k->is_unknown;
        find_place(c, k, report->root);
    }
    return ok && sort(c) ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory; raise --max-memory");
}

void mt_check_done(struct mt_check *c)
{
    MT_VEC_DONE(&c->rows);
    if (c->has_baseline)
        mt_diff_done(&c->against);
}

static void add_finding(const struct mt_checked *k, struct mt_sentence *out)
{
    const struct mt_limit *l = &k->limit;
    mt_words_add(out, "%s: ", l->name);
    if (k->is_unknown && l->of == MT_LIMIT_OOM) {
        mt_words_add(out, "not known: nothing in the input tells whether memory ran out");
        return;
    }
    if (l->of == MT_LIMIT_OOM && !k->is_over) {
        mt_words_add(out, "memory did not run out");
        return;
    }
    if (l->of == MT_LIMIT_OOM)
        mt_words_add(out, "memory ran out%s%s", k->bytes != 0 ? ", asking for " : "",
                     k->bytes != 0 ? MT_BYTES(k->bytes) : "");
    else if (k->is_unknown)
        mt_words_add(out, "not known: no snapshot was analysed that tells it (limit %s)",
                     MT_BYTES(l->max));
    else if (!k->occurs)
        mt_words_add(out, "does not occur (limit %s)", MT_BYTES(l->max));
    else if (k->is_over)
        mt_words_add(out, "%s, %s over the limit of %s", MT_BYTES(k->bytes),
                     MT_BYTES(k->bytes - l->max), MT_BYTES(l->max));
    else
        mt_words_add(out, "%s of %s, %s left", MT_BYTES(k->bytes), MT_BYTES(l->max),
                     MT_BYTES(l->max - k->bytes));
    if (l->has_base)
        mt_words_add(out, " (baseline %s)", MT_BYTES(l->base));
    if (!k->is_over)
        return;
    if (k->device[0] != '\0')
        mt_words_add(out, "; %s", k->device);
    if (k->phase != NULL)
        mt_words_add(out, ", in %s", k->phase);
    if (k->site != NULL)
        mt_words_add(out, "; %s %s", k->why_site, k->site);
}

void mt_checked_words(const struct mt_checked *k, struct mt_sentence *out)
{
    add_finding(k, out);
    if (strchr(k->limit.set_in, ':') != NULL) /* a line of a file; "--max" is none */
        mt_words_add(out, "; limit set in %s", k->limit.set_in);
}
