/* How far the numbers can be trusted, and why. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/html/page_plan.h"
#include "render/view/rows.h"

static bool has(const struct mt_page *p)
{
    return p->rank != NULL || p->r->diagnosis->driver != NULL;
}

static const char *conf_meaning(enum mt_conf c)
{
    switch (c) {
    case MT_CONF_MARKED: return "a checked frame signature, a certain C++ frame, or an annotation";
    case MT_CONF_INFERRED: return "follows from another fact";
    case MT_CONF_CARRIED: return "taken from the neighbours in time";
    case MT_CONF_LOW: return "a name that only looks like it";
    case MT_CONF_NONE: return "nothing is known";
    case MT_CONF_COUNT: break;
    }
    return "";
}

static void confidence(struct mt_out *o, const struct mt_device_analysis *d)
{
    static const char *const heads[] = {"Phase known by", "#Bytes", "#Share", "Meaning"};
    uint64_t sum = 0;
    for (int c = 0; c < MT_CONF_COUNT; c++)
        sum += d->by_conf[c];
    if (sum == 0)
        return;
    mt_h_table(o, "Attribution by confidence", heads, sizeof heads / sizeof *heads);
    for (int c = MT_CONF_COUNT - 1; c >= 0; c--) {
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_html_s(o, mt_conf_name((enum mt_conf)c));
        mt_puts(o, "</th>");
        mt_h_td_bytes(o, d->by_conf[c]);
        mt_h_td_share(o, d->by_conf[c], sum,
                      c == MT_CONF_NONE ? MT_COLOR_UNATTRIBUTED : MT_COLOR_FIRST);
        mt_putf(o, "<td>%s</td></tr>\n", conf_meaning((enum mt_conf)c));
    }
    mt_puts(o, "<tr class=\"sum\"><th scope=\"row\">without any phase</th>");
    mt_h_td_bytes(o, d->unattributed_bytes);
    mt_h_td_share(o, d->unattributed_bytes, sum, MT_COLOR_UNATTRIBUTED);
    mt_putf(o, "<td>of %s</td></tr>\n",
            d->alloc_bytes != 0 ? "what was allocated in the trace" : "the live blocks");
    mt_h_table_end(o);
}

static void births(struct mt_out *o, const struct mt_device_analysis *d)
{
    static const char *const heads[] = {"Blocks allocated", "#Blocks", "#Bytes"};
    if (d->end_state_only || d->withheld != NULL)
        return;
    mt_h_table(o, "Blocks by birth", heads, sizeof heads / sizeof *heads);
    for (int b = 0; b < MT_BIRTH_COUNT; b++) {
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_html_s(o, mt_birth_words((enum mt_birth)b));
        mt_puts(o, "</th>");
        mt_h_td_count(o, d->birth_blocks[b]);
        mt_h_td_bytes(o, d->birth_bytes[b]);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
}

static void facts(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_device_analysis *d = p->dev;
    const struct mt_device *v = &p->rank->trace->devices.p[d->device];
    char a[32], b[32], c[32];
    mt_puts(o, "<dl class=\"fields\">\n<dt>Trace entries</dt><dd>");
    mt_html_s(o, mt_fmt_count(a, v->events.n));
    if (v->ring_max_entries != 0)
        mt_putf(o, ", of at most %s kept", mt_fmt_count(a, v->ring_max_entries));
    mt_puts(o, v->ring_overflowed == 1   ? "; the ring buffer overflowed, earlier entries are lost"
               : v->ring_overflowed == 0 ? "; the ring buffer did not overflow"
                                         : "; whether the ring buffer overflowed is not recorded");
    mt_puts(o, "</dd>\n<dt>With a stack</dt><dd>");
    mt_html_s(o, mt_fmt_percent(a, v->n_with_stack, v->events.n));
    mt_puts(o, "</dd>\n<dt>With a time</dt><dd>");
    mt_html_s(o, mt_fmt_percent(a, v->n_with_time, v->events.n));
    mt_putf(o, "</dd>\n<dt>Frees without an allocation</dt><dd>%s</dd>\n",
            mt_fmt_count(b, d->n_unmatched_frees));
    mt_putf(o, "<dt>Allocations of a live address</dt><dd>%s</dd>\n</dl>\n",
            mt_fmt_count(c, d->n_double_allocs));
}

/* What the page's script does not get, device by device. */
static void left_out(const struct mt_page *p, struct mt_out *o)
{
    enum { SHOWN = 16 };
    uint32_t n = 0;
    char label[1024], count[32];
    for (uint32_t i = 0; i < p->plan->track.n; i++) {
        const struct mt_track_plan *t = &p->plan->track.p[i];
        const struct mt_rank *rank = &p->r->diagnosis->ranks.p[t->rank];
        if (mt_plan_left_out(t, 0) == NULL || ++n > SHOWN)
            continue;
        mt_puts(o, n == 1 ? "<p class=\"note\">The timeline leaves out what follows. A larger "
                            "--max-size brings exact events and "
                            "addresses back.</p>\n<ul class=\"caveats\">\n"
                          : "");
        mt_puts(o, "<li>");
        mt_html_s(o, mt_row_place(p->r, rank, &rank->analysis->devices.p[t->device], label,
                                  sizeof label));
        for (unsigned k = 0; mt_plan_left_out(t, k) != NULL; k++)
            mt_putf(o, "%s%s", k == 0 ? ": " : "; ", mt_plan_left_out(t, k));
        mt_puts(o, "</li>\n");
    }
    if (n > SHOWN)
        mt_putf(o, "<li>and the like of %s more devices</li>\n", mt_fmt_count(count, n - SHOWN));
    mt_puts(o, n > 0 ? "</ul>\n" : "");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_of_device(p, o);
    mt_h_rows(o, p, mt_section_caveats, p->dev);
    if (p->r->diagnosis->quality.caveats.n == 0)
        mt_puts(o, p->r->diagnosis->quality.damaged
                       ? "<p class=\"note\">What is <a href=\"#damage\">incomplete</a> stands at "
                         "the top; nothing else is known to be missing.</p>\n"
                       : "<p class=\"note\">Nothing is known to be missing.</p>\n");
    left_out(p, o);
    if (p->dev != NULL) {
        facts(p, o);
        confidence(o, p->dev);
        births(o, p->dev);
    }
}

const struct mt_panel mt_panel_quality = {"quality", "Data quality", has, draw};
