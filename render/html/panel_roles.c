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
    mt_h_rows(o, p, mt_section_role_notes, d);
    mt_h_rows(o, p, mt_section_expected, d);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, mt_section_roles, pictures_and_rows, mt_device_words);
}

const struct mt_panel mt_panel_roles = {"roles", "What the memory is for", has, draw};
