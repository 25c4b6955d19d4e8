/* Which live blocks keep segments with much free memory from being given back. */
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/html/kit.h"

static bool has(const struct mt_page *p)
{
    return p->dev != NULL && p->dev->cause != NULL && p->dev->cause->pins.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Held by",      "For",           "Born in",
                                        "#Segments",    "#Free in them", "#Largest hole",
                                        "#Live in them"};
    const struct mt_cause *c = p->dev->cause;
    struct mt_pin_group g[MT_PIN_GROUPS];
    unsigned n = mt_pin_groups(c, g);
    char a[32], b[32];
    mt_putf(o,
            "<p class=\"note\">%s is free in %s segment%s that live blocks hold%s. A segment goes "
            "back to the device only when "
            "nothing in it is live.</p>\n",
            mt_fmt_bytes(a, c->pinned_free), mt_fmt_count(b, c->n_pins_all),
            c->n_pins_all == 1 ? "" : "s",
            c->n_pins_all > c->pins.n ? "; those with the most are listed" : "");
    mt_h_table(o, "Segments that are held", heads, 7);
    for (unsigned i = 0; i < n; i++) {
        const struct mt_pin *s = g[i].first;
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_h_name(o, s->label, 200);
        mt_puts(o, "</th><td>");
        mt_html_s(o, mt_role_words((enum mt_role)s->role));
        mt_puts(o, "</td><td>");
        mt_html_s(o, MT_PHASE_CELL(s->attr.phase, s->attr.sub));
        mt_h_when(o, p, ", ", s->event, s->event);
        mt_puts(o, "</td>");
        mt_h_td_count(o, g[i].n);
        mt_h_td_bytes(o, g[i].free);
        mt_h_td_bytes(o, g[i].largest_free);
        mt_h_td_bytes(o, g[i].block_bytes);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_pins = {"pins", "What holds segments", has, draw};
