/* What the page of a diff has beyond the other formats. */
#include "render/saved/diff.h"

#include "parser/base/mem.h"
#include "parser/saved/report.h"
#include "render/base/escape.h"
#include "render/saved/flame.h"
#include "render/svg/two.h"

#include <errno.h>

enum { COLUMNS = 4096 };

/* From the first to the last, by clock or by events. */
static bool span_of(const struct cJSON *curve, bool by_time, uint64_t *first, uint64_t *last)
{
    return mt_value_number(curve, by_time ? "first_time_ns" : "first_event", first) &&
           mt_value_number(curve, by_time ? "last_time_ns" : "last_event", last) && *last >= *first;
}

/* The curve of a device; live is a new list, which the caller frees. */
static bool read_curve(struct mt_two_curve *k, uint64_t **live, const struct cJSON *device,
                       bool by_time)
{
    const struct cJSON *curve = mt_value_in(device, "curve"), *v, *oom;
    uint64_t first = 0, last = 0, n, at;
    if (!span_of(curve, by_time, &first, &last))
        return true;
    *live = mt_calloc(COLUMNS, sizeof **live);
    if (*live == NULL)
        return false;
    k->live = *live;
    k->span = last - first;
    for (v = mt_value_first(mt_value_in(curve, "live_bytes")); v != NULL && k->n < COLUMNS;
         v = mt_value_next(v)) {
        n = 0;
        (void)mt_value_count(v, &n);
        k->peak = n > k->peak ? n : k->peak;
        (*live)[k->n++] = n;
    }
    oom = mt_value_first(mt_value_in(device, "ooms"));
    k->has_oom = oom != NULL && mt_value_number(oom, by_time ? "time_ns" : "event", &at) &&
                 at >= first && at <= last;
    if (k->has_oom)
        k->oom = at - first;
    return true;
}

/* The shorter one would be a line of few pixels. */
static bool is_far(uint64_t a, uint64_t b)
{
    enum { TIMES = 8 };
    return a / TIMES > b || b / TIMES > a;
}

static void put_curves(const struct mt_diff_report *r, struct mt_out *o)
{
    const struct cJSON *device[2] = {r->diff->side[0].device, r->diff->side[1].device};
    struct mt_two two = {.by_time = true,
                         .what = "Live memory of both runs",
                         .which = {"first", "second"},
                         .x_from = "the beginning of each recording"};
    uint64_t *live[2] = {NULL, NULL}, a, b, capacity[2] = {0, 0};
    const char *name[2];
    bool ok = true;
    mt_diff_names(r, name);
    for (int i = 0; i < 2; i++) {
        const struct cJSON *curve = mt_value_in(device[i], "curve");
        two.by_time &= curve == NULL || span_of(curve, true, &a, &b);
        (void)mt_value_number(device[i], "capacity_bytes", &capacity[i]);
    }
    two.capacity = capacity[0] == capacity[1] ? capacity[0] : 0;
    for (int i = 0; i < 2; i++) {
        two.run[i].name = name[i];
        ok &= read_curve(&two.run[i], &live[i], device[i], two.by_time);
    }
    two.by_share =
        two.run[0].n != 0 && two.run[1].n != 0 && is_far(two.run[0].span, two.run[1].span);
    if (!ok && o->error == 0)
        o->error = ENOMEM;
    if (ok && (two.run[0].n != 0 || two.run[1].n != 0)) {
        mt_puts(o, "<h2>Live memory of both</h2>\n<div class=\"scroll\" tabindex=\"0\" "
                   "role=\"group\" aria-label=\"Live memory of both\">\n");
        mt_svg_two(o, &two);
        mt_puts(o, "</div>\n");
    }
    mt_free(live[0]);
    mt_free(live[1]);
}

static void put_flame(const struct mt_diff_report *r, struct mt_out *o)
{
    struct mt_out m;
    if (mt_out_mem(&m)) {
        mt_flame_put(r->diff, &m);
        if (mt_out_finish(&m) == 0 && m.used != 0) {
            mt_puts(o, "<h2>Who holds it, by stack</h2>\n<p class=\"note\">At the moment that "
                       "matters of each run. A box is a function, below it what it called; it is "
                       "as wide as the bytes of both runs together. Of code outside PyTorch alone, "
                       "without lines, which move.</p>\n<div class=\"scroll\" tabindex=\"0\" "
                       "role=\"group\" aria-label=\"Who holds it, by stack\">\n");
            mt_put(o, m.buf, m.used);
            mt_puts(o, "</div>\n");
        }
    }
    o->error = o->error != 0 ? o->error : m.error;
    mt_out_done(&m);
}

void mt_diff_pictures(const struct mt_diff_report *r, struct mt_out *o)
{
    put_curves(r, o);
    put_flame(r, o);
}
