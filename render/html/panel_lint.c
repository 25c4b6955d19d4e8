/* Settings that contradict each other, have no effect, or do not exist. */
#include "render/html/kit.h"

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->lint != NULL && p->r->diagnosis->lint->findings.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o) { mt_h_rows(o, p, mt_section_lint); }

const struct mt_panel mt_panel_lint = {"lint", "Check these", has, draw};
