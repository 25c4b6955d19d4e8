/* What proves the answer, below the picture: what else was found, and, where a bar of the card
 * stands for the sentences behind the headline, these. */
#include "render/base/escape.h"
#include "render/html/card.h"

static bool has(const struct mt_page *p)
{
    return mt_h_has_card(p) || mt_h_has_rows(p, mt_section_beside, NULL);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_puts(o, "<div id=\"evidence\" role=\"group\" aria-label=\"What proves it\">\n");
    mt_h_rows(o, p, mt_section_beside, NULL);
    if (mt_h_has_card(p)) {
        mt_h_rows(o, p, mt_section_because, NULL);
        mt_h_rows(o, p, mt_section_asked, NULL);
    }
    mt_puts(o, "</div>\n");
}

const struct mt_panel mt_panel_evidence = {"evidence", NULL, has, draw};
