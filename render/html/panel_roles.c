/* What the memory is for, at the moment that matters: one bar, one table. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/svg/stack.h"

static bool has(const struct mt_page *p) { return mt_h_has_rows(p, mt_section_roles, NULL); }

static void bar(const struct mt_device_analysis *d, struct mt_out *o,
                const struct mt_role_palette *pal, const uint8_t *order, unsigned n)
{
    struct mt_stack_bar b;
    bool failed = d->focus_is_oom && d->ooms.n != 0 && d->ooms.p[0].request != 0;
    mt_stack_open(&b, o, mt_needed(d), 34,
                  "Live memory by what it is for; the table below has the numbers");
    mt_stack_roles(&b, d->roles.at_focus, order, n, pal);
    if (d->focus.reserved > d->focus.live)
        mt_stack_gap(&b, d->focus.reserved - d->focus.live, "reserved, not in use");
    if (failed)
        mt_stack_failed(&b, d->ooms.p[0].request, "the request that failed");
    mt_stack_close(&b);
    mt_puts(o, "<p class=\"note\">From the left: what was live, largest first");
    mt_puts(o, d->focus.reserved > d->focus.live ? "; pale: reserved and not in use" : "");
    mt_puts(o, failed ? "; red: the request that failed.</p>\n" : ".</p>\n");
}

static void pictures_and_rows(const struct mt_page *p, const struct mt_device_analysis *d,
                              struct mt_out *o)
{
    struct mt_role_palette pal;
    uint8_t order[MT_ROLE_COUNT];
    unsigned n = mt_role_order(d->roles.at_focus, order);
    mt_role_palette_build(&pal, &d->roles);
    if (d == p->dev)
        bar(d, o, &pal, order, n);
    mt_h_rows(o, p, mt_section_roles, d);
    if (d == p->dev && mt_svg_roles_has(d)) {
        mt_puts(
            o,
            "<h3>The same over the trace</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
            "aria-label=\"Roles over the trace\">\n");
        mt_svg_roles(o, d, &pal);
        mt_puts(o, "</div>\n");
        mt_h_help(o, "The same bytes as in the timeline, by what they are for. A role is decided "
                     "once for each allocation, when it is "
                     "made: by its frames, its size and how long it lives; the notes below say how "
                     "sure that is.");
    }
    mt_h_rows(o, p, mt_section_role_notes, d);
    mt_h_rows(o, p, mt_section_expected, d);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, mt_section_roles, pictures_and_rows, mt_device_words);
}

const struct mt_panel mt_panel_roles = {"roles", "What the memory is for", has, draw};
