/* Memory over time of the verdict's device. */
#include "render/assets.h"
#include "render/html.h"
#include "render/rows.h"
#include "render/svg_timeline.h"

static bool has(const struct mt_page *p) { return p->dev != NULL && !p->dev->end_state_only && mt_svg_timeline_has(p->dev); }

/* True when waiting takes so much of the time axis that the work is squeezed into a few columns: a second picture, one step per
 * event, then shows it. */
static bool is_squeezed(const struct mt_device_analysis *d)
{
    const struct mt_timeline *t = &d->timeline;
    uint32_t idle = 0;
    for (uint32_t c = 0; c < t->n_columns; c++)
        idle += t->events[c] == 0;
    return d->by_event.n_columns > 1 && idle * 2 > t->n_columns;
}

static void picture(const struct mt_page *p, struct mt_out *o, const struct mt_timeline *tl, unsigned id)
{
    char what[256];
    struct mt_svg s = {.dev = p->dev, .tl = tl, .pal = &p->pal, .id = id};
    s.what = mt_row_place(p->r, p->rank, p->dev, what, sizeof what);
    mt_putf(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Memory over %s\">\n",
            tl->has_time ? "time" : "events");
    mt_svg_timeline(o, &s);
    mt_puts(o, "</div>\n");
}

/* What the script puts around its picture, asleep until then: without it there is no dead control. */
static void put_controls(struct mt_out *o)
{
    const struct mt_asset *a = mt_template_find("report.timeline.html");
    if (a != NULL)
        mt_put(o, a->data, a->size);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    put_controls(o);
    if (is_squeezed(p->dev)) {
        mt_puts(o, "<p class=\"note\">One step per event: most of the time nothing was allocated, and on a time axis the work "
                   "takes a few pixels.</p>\n");
        picture(p, o, &p->dev->by_event, MT_SVG_BY_EVENT_ID);
        mt_puts(o, "<details class=\"more\"><summary>The same over time</summary>\n");
        picture(p, o, &p->dev->timeline, 0);
        mt_puts(o, "</details>\n");
    } else {
        picture(p, o, &p->dev->timeline, 0);
    }
    mt_h_help(
        o,
        "Each column is one moment, the highest of its stretch, so that no peak is lost between columns. Stacked are the bytes "
        "that were live, by colour: the phase in which they were allocated, or what the buttons above the picture choose. "
        "Dashed: what PyTorch had reserved from the driver; between the two lies memory that is held and not in use. The "
        "band below names the phase that ran. A triangle marks the peak; red marks a request that failed.");
}

const struct mt_panel mt_panel_timeline = {"timeline", "Memory over time", has, draw};
