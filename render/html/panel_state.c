/* What the memory consists of where there is no history to draw, and why there is none. */
#include "render/html/kit.h"
#include "render/view/rows.h"
#include "render/svg/timeline.h"

static bool has(const struct mt_page *p)
{
    return p->dev != NULL && (p->dev->end_state_only || !mt_svg_timeline_has(p->dev)) &&
           (p->dev->focus.reserved != 0 || p->dev->withheld != NULL);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    char what[256];
    struct mt_svg s = {.dev = p->dev, .id = 0};
    s.what = mt_row_place(p->r, p->rank, p->dev, what, sizeof what);
    mt_puts(o, "<p class=\"note\">");
    if (p->dev->withheld != NULL) {
        mt_puts(o, "No curve over time is drawn: ");
        mt_h_text(o, p->dev->withheld, 1000);
        mt_puts(o, ".</p>\n");
    } else {
        mt_puts(o, "The snapshot holds no history of allocations, only the state at the dump. "
                   "Record one with "
                   "<code>torch.cuda.memory._record_memory_history()</code> to see how it came "
                   "about.</p>\n");
    }
    if (p->dev->focus.reserved == 0)
        return;
    mt_puts(
        o,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Memory at the dump\">\n");
    mt_svg_composition(o, &s);
    mt_puts(o, "</div>\n");
}

const struct mt_panel mt_panel_state = {"state", "Memory at the dump", has, draw};
