/* What the memory is for, at the moment that matters: one bar, one table. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/svg/stack.h"

#include <stdio.h>

static bool has(const struct mt_page *p) { return p->dev != NULL && mt_has_roles(p->dev); }

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

static void row(const struct mt_device_analysis *d, struct mt_out *o,
                const struct mt_role_palette *pal, unsigned role, bool pending)
{
    const struct mt_role_facts *f = &d->roles;
    bool past = mt_roles_have_past(d);
    mt_puts(o, "<tr><th scope=\"row\">");
    mt_h_swatch(o, pal->of[role]);
    mt_html_s(o, mt_role_words((enum mt_role)role));
    mt_puts(o, "</th>");
    mt_h_td_bytes(o, f->at_focus[role]);
    mt_h_td_share(o, f->at_focus[role], d->focus.live, pal->of[role]);
    if (pending)
        mt_h_td_bytes(o, f->pending_at_focus[role]);
    if (past) {
        mt_h_td_bytes(o, f->peak[role]);
        mt_h_td_bytes(o, f->alloc_bytes[role]);
    }
    mt_puts(o, "</tr>\n");
}

static void expected(const struct mt_device_analysis *d, struct mt_out *o)
{
    static const char *const heads[] = {"Role",      "Phase",  "#Measured",
                                        "#Expected", "Answer", "How it is computed"};
    char a[48];
    mt_puts(o, "<h3>Expected beside measured</h3>\n<p class=\"note\">The highest of a role in a "
               "phase, and what the model and the "
               "settings of the run ask for.</p>\n");
    mt_h_table(o, "Expected beside measured", heads, 6);
    for (uint32_t i = 0; i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_html_s(o, mt_role_words((enum mt_role)e->role));
        mt_puts(o, "</th><td>");
        mt_html_s(o, MT_PHASE_CELL(e->phase, MT_PH_NONE));
        mt_puts(o, "</td>");
        mt_h_td_bytes(o, e->measured);
        mt_h_td_text(o, mt_expect_bytes(a, e));
        mt_puts(o, e->more ? "<td><span class=\"flag\">" : "<td>");
        mt_html_s(o, mt_expect_answer(a, e));
        mt_puts(o, e->more ? "</span></td><td>" : "</td><td>");
        mt_h_words(o, e->text, 600);
        if (e->extra != NULL) {
            mt_puts(o, "<br>");
            mt_h_words(o, e->extra, 600);
        }
        mt_puts(o, "</td></tr>\n");
    }
    mt_h_table_end(o);
}

static void device(const struct mt_page *p, const struct mt_device_analysis *d, struct mt_out *o,
                   bool full)
{
    (void)p;
    const struct mt_role_facts *f = &d->roles;
    bool past = mt_roles_have_past(d);
    struct mt_role_palette pal;
    uint8_t order[MT_ROLE_COUNT];
    unsigned n = mt_role_order(f->at_focus, order);
    char at[64], notes[MT_ROLE_NOTES][MT_ROLE_NOTE], b[32];
    const char *heads[] = {"Role", at, "#Share", "#Highest in the trace", "#Allocated in all",
                           NULL};
    uint64_t sum = 0, pending = 0;
    (void)snprintf(at, sizeof at, "#Live %s", mt_focus_words(d));
    mt_role_palette_build(&pal, f);
    for (unsigned i = 0; i < n; i++) {
        sum += f->at_focus[order[i]];
        pending += f->pending_at_focus[order[i]];
    }
    if (pending != 0) {
        heads[3] = "#Waiting to be freed";
        heads[4] = "#Highest in the trace";
        heads[5] = "#Allocated in all";
    }
    if (full)
        bar(d, o, &pal, order, n);
    mt_h_table(o, "Roles", heads, (past ? 5u : 3u) + (pending != 0 ? 1u : 0u));
    for (unsigned i = 0; i < n; i++)
        row(d, o, &pal, order[i], pending != 0);
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++)
        if (past && f->at_focus[i] == 0 && f->peak[i] != 0)
            row(d, o, &pal, i, pending != 0);
    mt_puts(o, "<tr class=\"sum\"><th scope=\"row\">all</th>");
    mt_h_td_bytes(o, sum);
    mt_h_td_text(o, mt_fmt_percent(b, sum, d->focus.live));
    if (pending != 0)
        mt_h_td_bytes(o, pending);
    mt_puts(o, past ? "<td></td><td></td></tr>\n" : "</tr>\n");
    mt_h_table_end(o);
    if (full && mt_svg_roles_has(d)) {
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
    n = full ? mt_role_notes(notes, d) : 0;
    if (n != 0)
        mt_puts(o, "<ul class=\"evidence\">\n");
    for (unsigned i = 0; i < n; i++) {
        mt_puts(o, "<li>");
        mt_h_words(o, notes[i], SIZE_MAX);
        mt_puts(o, "</li>\n");
    }
    if (n != 0)
        mt_puts(o, "</ul>\n");
    if (mt_has_expected(d))
        expected(d, o);
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, mt_has_roles, device, mt_device_words);
}

const struct mt_panel mt_panel_roles = {"roles", "What the memory is for", has, draw};
