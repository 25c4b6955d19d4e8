/* Memory over time of the verdict's device; a bar of its parts where there is no history. */
#include "render/escape.h"
#include "render/html.h"
#include "render/rows.h"
#include "render/svg_timeline.h"


static bool has(const struct mt_page *p)
{
    return p->dev != NULL && (mt_svg_timeline_has(p->dev) || p->dev->focus.reserved != 0 || p->dev->withheld != NULL);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    char what[256];
    struct mt_svg s = { .dev = p->dev, .pal = &p->pal, .id = 0 };
    s.what = mt_row_place(p->r, p->rank, p->dev, what, sizeof what);
    if (p->dev->withheld != NULL) {
        mt_puts(o, "<p class=\"note\">No curve is drawn: ");
        mt_h_text(o, p->dev->withheld, 1000);
        mt_puts(o, ".</p>\n");
    } else if (p->dev->end_state_only) {
        mt_puts(o, "<p class=\"note\">The snapshot holds no history of allocations, only the state at the dump. Record one with "
                   "<code>torch.cuda.memory._record_memory_history()</code> to see how it came about.</p>\n");
    }
    mt_puts(o, "<div class=\"scroll figure\" tabindex=\"0\" role=\"region\" aria-label=\"Memory over time\">\n");
    if (mt_svg_timeline_has(p->dev) && !p->dev->end_state_only)
        mt_svg_timeline(o, &s);
    else
        mt_svg_composition(o, &s);
    mt_puts(o, "</div>\n");
}

const struct mt_panel mt_panel_timeline = { "timeline", "Memory over time", has, draw };
