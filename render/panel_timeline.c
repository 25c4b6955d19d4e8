/* Memory over time of the verdict's device. */
#include "render/html.h"
#include "render/rows.h"
#include "render/svg_timeline.h"

static bool has(const struct mt_page *p) { return p->dev != NULL && !p->dev->end_state_only && mt_svg_timeline_has(p->dev); }

static void draw(const struct mt_page *p, struct mt_out *o)
{
    char what[256];
    struct mt_svg s = {.dev = p->dev, .pal = &p->pal, .id = 0};
    s.what = mt_row_place(p->r, p->rank, p->dev, what, sizeof what);
    mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Memory over time\">\n");
    mt_svg_timeline(o, &s);
    mt_puts(o, "</div>\n");
}

const struct mt_panel mt_panel_timeline = {"timeline", "Memory over time", has, draw};
