#include "render/view/rows.h"

#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/view.h"

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
    (void)mt_words_device(dev, d->kind, d->ordinal);
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
