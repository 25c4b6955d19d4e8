/* What the first report promised and what was measured of it in the second run. */
#include "analysis/base/key.h"
#include "analysis/compare/diff.h"
#include "parser/saved/report.h"

#include <string.h>

static bool same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* A report calls a setting as its table does, "--max-num-seqs", and types it as the run does. */
static bool same_key(const char *a, const char *b)
{
    return a != NULL && b != NULL && mt_same_key(a, b);
}

/* ---- for settings ---- */

/* What the first report says of this setting: tried with that very value, else advised. */
static bool promise_of(const struct cJSON *root, const struct mt_diff_setting *s,
                       struct mt_diff_promise *out)
{
    const struct cJSON *t = mt_value_first(mt_value_in(mt_value_in(root, "tried"), "settings"));
    const struct cJSON *a = mt_value_first(mt_value_in(root, "advice")), *line;
    const struct cJSON *from = NULL;
    for (; t != NULL && from == NULL; t = mt_value_next(t))
        if (same_key(mt_value_words(t, "key"), s->key) &&
            same(mt_value_words(t, "value"), s->value[1]) &&
            mt_value_number(t, "saving_bytes", &out->bytes)) {
            from = t;
            out->value = s->value[1];
        }
    for (; a != NULL && from == NULL; a = mt_value_next(a))
        for (line = mt_value_first(mt_value_in(a, "set")); line != NULL; line = mt_value_next(line))
            if (same_key(mt_value_words(line, "key"), s->key) &&
                mt_value_number(a, "saving_bytes", &out->bytes)) {
                from = a;
                out->value = mt_value_words(line, "value");
            }
    if (from == NULL)
        return false;
    out->key = s->key;
    out->now = s->value[1];
    out->low = out->high = out->bytes;
    (void)mt_value_number(from, "saving_low_bytes", &out->low);
    (void)mt_value_number(from, "saving_high_bytes", &out->high);
    return true;
}

static int for_settings(struct mt_diff *d)
{
    for (uint32_t i = 0; i < d->settings.n; i++) {
        struct mt_diff_promise p, *slot;
        memset(&p, 0, sizeof p);
        if (!d->settings.p[i].in[1] || !promise_of(d->side[0].root, &d->settings.p[i], &p))
            continue;
        slot = MT_VEC_PUSH(&d->promises);
        if (slot == NULL)
            return 0;
        *slot = p;
    }
    return 1;
}

/* ---- measured ---- */

/* The phase of the first report's moment, in the second run: what it needed at its highest. A phase
 * in which the second run allocates nothing has no highest; what the run as a whole takes less is
 * then a part of what was freed. */
static void measure(struct mt_diff *d)
{
    const struct mt_diff_side *a = &d->side[0], *b = &d->side[1];
    const struct cJSON *was = mt_value_in(a->root, "verdict"),
                       *is = mt_value_in(b->root, "verdict");
    const char *phase = mt_value_words(was, "phase");
    const struct cJSON *p = mt_value_first(mt_value_in(b->root, "phases"));
    uint64_t highest = 0, n, most[2], needed = 0;
    bool is_known = false, has_phases = p != NULL;
    for (; p != NULL; p = mt_value_next(p))
        if (same(mt_value_words(p, "phase"), phase) && mt_saved_is_of(p, b->device) &&
            mt_value_number(p, "peak_inside_bytes", &n)) {
            is_known = true;
            highest = n > highest ? n : highest;
        }
    d->is_gone = !is_known && has_phases && b->has_peak && b->ran_out == 0 && !d->is_other_program;
    if ((same(mt_value_words(is, "phase"), phase) || d->is_gone) && b->has_peak &&
        b->peak + b->request > highest)
        highest = b->peak + b->request;
    d->is_measured = (is_known || d->is_gone) && a->has_peak && phase != NULL;
    d->is_gone = d->is_gone && d->is_measured;
    /* A pass that failed early would have gone on: what it needed is more than it had. */
    if (a->ran_out == 0 ||
        !mt_value_number(mt_value_in(a->root, "after"), "needed_bytes", &needed) ||
        needed < a->peak + a->request)
        needed = a->peak + a->request;
    d->measured = d->is_measured ? (int64_t)(needed - highest) : 0;
    d->measured_in = mt_value_words(was, "phase_name");
    if (mt_value_number(a->device, "reserved_peak_bytes", &most[0]) &&
        mt_value_number(b->device, "reserved_peak_bytes", &most[1]))
        d->reserved = (int64_t)(most[0] - most[1]);
}

/* ---- where no setting tells what was changed ---- */

static bool still_advised(const struct cJSON *root, const char *id)
{
    const struct cJSON *a = mt_value_first(mt_value_in(root, "advice"));
    for (; a != NULL; a = mt_value_next(a))
        if (same(mt_value_words(a, "id"), id))
            return true;
    return false;
}

static bool is_within(int64_t n, const struct mt_diff_fit *f)
{
    return n > 0 && (uint64_t)n >= f->low && (uint64_t)n <= f->high;
}

/* What the run takes less as a whole is not more than what the change freed in a phase that is
 * gone. */
static bool fits(const struct mt_diff *d, struct mt_diff_fit *f)
{
    if (d->is_measured && (is_within(d->measured, f) ||
                           (d->is_gone && d->measured > 0 && (uint64_t)d->measured >= f->low / 4 &&
                            (uint64_t)d->measured < f->high)))
        return true;
    f->is_reserved = true;
    return is_within(d->reserved, f);
}

static int find_fits(struct mt_diff *d)
{
    const struct cJSON *a = mt_value_first(mt_value_in(d->side[0].root, "advice"));
    if (d->promises.n != 0 || d->settings.n != 0 || d->is_other_program)
        return 1; /* a setting tells what was changed */
    for (; a != NULL && d->fits.n < MT_COMPARE_ROWS; a = mt_value_next(a)) {
        struct mt_diff_fit f, *slot;
        memset(&f, 0, sizeof f);
        f.id = mt_value_words(a, "id");
        f.title = mt_value_words(a, "title");
        f.text = mt_value_words(mt_value_first(mt_value_in(a, "set")), "text");
        if (f.id == NULL || f.title == NULL || !mt_value_number(a, "saving_bytes", &f.bytes))
            continue;
        f.low = f.high = f.bytes;
        (void)mt_value_number(a, "saving_low_bytes", &f.low);
        (void)mt_value_number(a, "saving_high_bytes", &f.high);
        if (!fits(d, &f) || still_advised(d->side[1].root, f.id))
            continue;
        slot = MT_VEC_PUSH(&d->fits);
        if (slot == NULL)
            return 0;
        *slot = f;
    }
    return 1;
}

int mt_diff_promises(struct mt_diff *d)
{
    if (!for_settings(d))
        return 0;
    measure(d);
    return find_fits(d);
}
