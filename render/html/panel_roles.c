/* What the memory is for, at the moment that matters: one table; the card of the verdict is its
 * picture. */
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/svg/stack.h"

static bool has(const struct mt_page *p) { return mt_h_has_rows(p, mt_section_roles, NULL); }

static void pictures_and_rows(const struct mt_page *p, const struct mt_device_analysis *d,
                              struct mt_out *o)
{
    mt_h_rows(o, p, mt_section_roles, d);
    if (d == p->dev && mt_svg_roles_has(d)) {
        mt_puts(o, "<details class=\"more\"><summary>The same over the trace</summary>\n<div "
                   "class=\"scroll\" tabindex=\"0\" role=\"group\" "
                   "aria-label=\"Roles over the trace\">\n");
        mt_svg_roles(o, d);
        mt_puts(o, "</div>\n");
        mt_h_help(o, "The same bytes as in the timeline, by what they are for. A role is decided "
                     "once for each allocation, when it is "
                     "made: by its frames, its size and how long it lives; the notes below say how "
                     "sure that is.");
        mt_puts(o, "</details>\n");
    }
    mt_h_rows(o, p, mt_section_role_notes, d);
    mt_h_rows(o, p, mt_section_expected, d);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, mt_section_roles, pictures_and_rows, mt_device_words);
}

const struct mt_panel mt_panel_roles = {"roles", "What the memory is for", has, draw};
