#include "render/view/rows.h"

#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

char *mt_report_title(const struct mt_report *r, char *buf, size_t cap)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_trace *t = r->diagnosis->driver != NULL && r->diagnosis->driver->drivers.n != 0
                                   ? r->diagnosis->driver->drivers.p[0]
                               : k != NULL ? k->trace
                                           : NULL;
    const struct mt_meta *m = t != NULL ? &t->meta : NULL;
    const char *input = m == NULL && r->diagnosis->logs != NULL && r->diagnosis->logs->files.n != 0
                            ? base_name(r->diagnosis->logs->files.p[0].name)
                        : m == NULL                                      ? "memory report"
                        : m->input == NULL || strcmp(m->input, "-") == 0 ? "standard input"
                                                                         : base_name(m->input);
    if (r->title != NULL)
        (void)snprintf(buf, cap, "%s", r->title);
    else if (m != NULL && m->member != NULL && r->diagnosis->ranks.n == 1)
        (void)snprintf(buf, cap, "%s: %s", input, base_name(m->member));
    else
        (void)snprintf(buf, cap, "%s", input);
    return buf;
}

uint32_t mt_row_count(const struct mt_report *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        n += r->diagnosis->ranks.p[i].analysis->devices.n;
    return n;
}

bool mt_row_has_peak(const struct mt_device_analysis *d)
{
    return d->withheld == NULL && !d->end_state_only;
}

static char *known(char *buf, const struct mt_device_analysis *d, uint64_t bytes)
{
    if (!mt_state_unknown(d))
        return mt_fmt_bytes(buf, bytes);
    (void)snprintf(buf, 40, "not known");
    return buf;
}

char *mt_row_live(char *buf, const struct mt_device_analysis *d)
{
    return known(buf, d, mt_row_has_peak(d) ? d->live_peak : d->live_end);
}

char *mt_row_reserved(char *buf, const struct mt_device_analysis *d)
{
    return known(buf, d, mt_row_has_peak(d) ? d->reserved_peak : d->reserved_end);
}

const struct mt_device_analysis *mt_row_pinned(const struct mt_rank *k,
                                               const struct mt_device_analysis *d)
{
    for (uint32_t i = 0; d->kind == MT_DEV_CUDA && i < k->analysis->devices.n; i++) {
        const struct mt_device_analysis *h = &k->analysis->devices.p[i];
        if (h->kind == MT_DEV_HOST &&
            (h->live_peak != 0 || h->live_end != 0 || h->reserved_end != 0))
            return h;
    }
    return NULL;
}

char *mt_row_request(char *buf, const struct mt_oom *o)
{
    if (o->request != 0)
        return mt_fmt_bytes(buf, o->request);
    (void)snprintf(buf, 40, "a size that is not known");
    return buf;
}

/* Ranks lie in their order, so those of one number beside each other. */
static bool is_rank_of(const struct mt_report *r, size_t i, const struct mt_rank *k)
{
    return i < r->diagnosis->ranks.n &&
           r->diagnosis->ranks.p[i].trace->meta.rank == k->trace->meta.rank;
}

static const char *file_of(const struct mt_rank *k)
{
    const struct mt_meta *m = &k->trace->meta;
    return m->member != NULL ? m->member : m->input != NULL ? m->input : "-";
}

/* What tells a file from others of its rank: its name, or all of its path where the names are the
 * same too. */
static const char *told_by(const struct mt_report *r, const struct mt_rank *k)
{
    size_t i = (size_t)(k - r->diagnosis->ranks.p);
    bool before = i > 0 && is_rank_of(r, i - 1, k), after = is_rank_of(r, i + 1, k);
    const char *name = base_name(file_of(k));
    if (k->trace->meta.rank < 0 || (!before && !after))
        return NULL;
    if ((before && strcmp(base_name(file_of(k - 1)), name) == 0) ||
        (after && strcmp(base_name(file_of(k + 1)), name) == 0))
        return k->trace->meta.member != NULL &&
                       strcmp(file_of(before ? k - 1 : k + 1), k->trace->meta.member) == 0
                   ? k->trace->meta.input
                   : file_of(k);
    return name;
}

/* Files without a rank that are named alike in their folders: beside each other, as they were read.
 */
static bool is_name_again(const struct mt_report *r, const struct mt_rank *k)
{
    size_t i = (size_t)(k - r->diagnosis->ranks.p);
    return (i > 0 && strcmp(base_name(file_of(k - 1)), base_name(file_of(k))) == 0) ||
           (i + 1 < r->diagnosis->ranks.n &&
            strcmp(base_name(file_of(k + 1)), base_name(file_of(k))) == 0);
}

char *mt_row_place(const struct mt_report *r, const struct mt_rank *k,
                   const struct mt_device_analysis *d, char *buf, size_t cap)
{
    const struct mt_meta *m = &k->trace->meta;
    const char *name = file_of(k), *told = told_by(r, k);
    char dev[40];
    (void)snprintf(dev, sizeof dev, d->kind == MT_DEV_HOST ? "pinned host memory" : "device %d",
                   d->ordinal);
    if (told != NULL)
        (void)snprintf(buf, cap, "rank %d (%.*s), %s", m->rank, (int)(cap > 160 ? cap - 80 : 80),
                       told, dev);
    else if (m->rank >= 0)
        (void)snprintf(buf, cap, "rank %d, %s", m->rank, dev);
    else if (r->diagnosis->ranks.n > 1)
        (void)snprintf(buf, cap, "%.*s, %s", (int)(cap > 160 ? cap - 80 : 80),
                       is_name_again(r, k) ? name : base_name(name), dev);
    else
        (void)snprintf(buf, cap, "%s", dev);
    return buf;
}

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static void
fact(struct mt_fact *out, unsigned *n, const char *name, const char *fmt, ...);

static void fact(struct mt_fact *out, unsigned *n, const char *name, const char *fmt, ...)
{
    va_list ap;
    out[*n].name = name;
    va_start(ap, fmt);
    (void)vsnprintf(out[*n].value, sizeof out[*n].value, fmt, ap);
    va_end(ap);
    (*n)++;
}

unsigned mt_facts(const struct mt_rank *k, const struct mt_device_analysis *d, struct mt_fact *out,
                  unsigned max)
{
    char a[40], b[40], c[40], e[40];
    unsigned n = 0;
    const struct mt_device_analysis *pinned = mt_row_pinned(k, d);
    if (max < 15)
        return 0;
    if (d->ooms.n != 0) {
        const struct mt_oom *o = &d->ooms.p[0];
        fact(out, &n, "request that failed", "%s at event %s of %s", mt_row_request(a, o),
             mt_fmt_count(b, o->event), mt_fmt_count(c, d->n_events));
        fact(out, &n, "free on the device", "%s", mt_fmt_bytes(a, o->device_free));
        if (d->withheld == NULL) {
            fact(out, &n, "reserved / live then", "%s / %s", mt_fmt_bytes(a, o->at.reserved),
                 mt_fmt_bytes(b, o->at.live));
            fact(out, &n, "reserved but free then", "%s", mt_fmt_bytes(a, o->at.reserved_free));
        }
        if (o->at.holes_known && o->at.n_holes == 0)
            fact(out, &n, "largest usable hole", "none");
        else if (o->at.holes_known)
            fact(out, &n, "largest usable hole", "%s of %s in %s hole%s",
                 mt_fmt_bytes(a, o->at.largest_usable), mt_fmt_bytes(b, o->at.free_usable),
                 mt_fmt_count(c, o->at.n_holes), o->at.n_holes == 1 ? "" : "s");
        if (d->ooms.n > 1)
            fact(out, &n, "out-of-memory events", "%u; this report is about the first", d->ooms.n);
    }
    if (d->withheld == NULL && !d->end_state_only) {
        if (d->peak_event < 0)
            fact(out, &n, "peak live", "%s before the first event", mt_fmt_bytes(a, d->live_peak));
        else
            fact(out, &n, "peak live", "%s at event %s of %s", mt_fmt_bytes(a, d->live_peak),
                 mt_fmt_count(b, (uint64_t)d->peak_event), mt_fmt_count(c, d->n_events));
        fact(out, &n, "peak reserved", "%s", mt_fmt_bytes(a, d->reserved_peak));
        fact(out, &n, "live at start / end", "%s / %s", mt_fmt_bytes(a, d->live_start),
             mt_fmt_bytes(b, d->live_end));
        if (d->pending_peak != 0)
            fact(out, &n, "waiting to be freed", "%s at most, %s at the end",
                 mt_fmt_bytes(a, d->pending_peak), mt_fmt_bytes(b, d->pending_end));
    } else if (mt_state_unknown(d)) {
        fact(out, &n, "live, reserved", "not known: the snapshot lists no segments of this device");
    } else {
        fact(out, &n, "live", "%s", mt_fmt_bytes(a, d->live_end));
        if (d->pending_end != 0)
            fact(out, &n, "waiting to be freed", "%s", mt_fmt_bytes(a, d->pending_end));
    }
    if (!mt_state_unknown(d))
        fact(out, &n, "reserved at the end", "%s", mt_fmt_bytes(a, d->reserved_end));
    if (d->rounding_loss != 0)
        fact(out, &n, "rounding at the end", "%s", mt_fmt_bytes(a, d->rounding_loss));
    if (pinned != NULL)
        fact(out, &n, "pinned host memory", "%s live, %s reserved%s", mt_row_live(a, pinned),
             mt_row_reserved(b, pinned),
             mt_row_has_peak(pinned) ? " at its highest" : " at the dump");
    if (d->capacity != 0)
        fact(out, &n, "capacity", "%s", mt_fmt_bytes(a, d->capacity));
    else if (d->kind == MT_DEV_CUDA)
        fact(out, &n, "capacity", "unknown (name it with --capacity 80GiB)");
    if (d->first_ns != 0 && d->last_ns > d->first_ns)
        fact(out, &n, "time", "%s from %s", mt_fmt_seconds(e, d->last_ns - d->first_ns),
             mt_fmt_utc(a, d->first_ns));
    return n;
}
