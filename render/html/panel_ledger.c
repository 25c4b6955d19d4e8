/* Who holds each GPU's memory, over time and at the moment that matters: the
 * sum is the device's own figure. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"
#include "render/svg/one_clock.h"
#include "render/svg/ledger.h"

enum { PICTURES = 16, TABLES = 16, NAME_MAX_BYTES = 200 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->ledgers.n != 0;
}

static void overview(struct mt_out *o, const struct mt_driverdiag *j)
{
    static const char *const heads[] = {
        "GPU",         "#Capacity", "#Most used", "#By recorded calls", "#Most unexplained",
        "Failed calls"};
    mt_h_table(o, "GPUs", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < j->ledgers.n; i++) {
        const struct mt_ledger *l = &j->ledgers.p[i];
        uint32_t lost = 0, kept = 0;
        for (uint32_t k = 0; k < j->ooms.n; k++) {
            lost += j->ooms.p[k].ledger == i && !j->ooms.p[k].survived;
            kept += j->ooms.p[k].ledger == i && j->ooms.p[k].survived;
        }
        mt_puts(o, i == 0 ? "<tr class=\"me\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
        mt_h_name(o, l->name, NAME_MAX_BYTES);
        mt_puts(o, "</th>");
        if (l->capacity != 0)
            mt_h_td_bytes(o, l->capacity);
        else
            mt_h_td_text(o, "-");
        if (l->checks.n != 0)
            mt_h_td_bytes(o, l->peak_used);
        else
            mt_h_td_text(o, "-");
        mt_h_td_bytes(o, l->peak_named);
        if (l->checks.n != 0)
            mt_h_td_bytes(o, l->max_unexplained);
        else
            mt_h_td_text(o, "-");
        if (lost != 0)
            mt_putf(o, "<td><strong class=\"oom\">%u not survived</strong>%s", (unsigned)lost,
                    kept != 0 ? ", " : "");
        else
            mt_puts(o, "<td>");
        if (kept != 0)
            mt_putf(o, "%u survived", (unsigned)kept);
        mt_puts(o, lost + kept == 0 ? "none</td></tr>\n" : "</td></tr>\n");
    }
    mt_h_table_end(o);
}

static void picture(const struct mt_page *p, struct mt_out *o, uint32_t i, bool small)
{
    struct mt_svg_ledger s = {p->r->diagnosis->driver, i, small};
    if (!small)
        mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                   "aria-label=\"Memory of a GPU over time\">\n");
    mt_svg_ledger(o, &s);
    if (!small) {
        mt_svg_one_clock(o, p->r, i);
        mt_puts(o, "</div>\n");
    }
}

/* The owners of the first GPU. Beside a picture that says each one's bytes, and with a snapshot
 * that says who holds PyTorch's, they wait folded. */
static void own_rows(const struct mt_page *p, struct mt_out *o, const struct mt_ledger *l)
{
    const bool folded = mt_svg_ledger_has(l) && mt_page_has_timeline(p);
    if (folded)
        mt_puts(o, "<details class=\"more\"><summary>Owners as a table: process, peak, site"
                   "</summary>\n");
    mt_h_ledger_rows(o, p, l);
    if (folded)
        mt_puts(o, "</details>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    const struct mt_ledger *l = &j->ledgers.p[0];
    unsigned drawn = 0;
    if (j->ledgers.n > 1)
        overview(o, j);
    mt_puts(o, "<h3>");
    mt_h_name(o, l->name, NAME_MAX_BYTES);
    mt_puts(o, "</h3>\n");
    if (mt_svg_ledger_has(l) && !mt_page_has_calls(p)) {
        picture(p, o, 0, false);
        mt_h_help(o, "Each column is one moment, the highest of its stretch. Stacked is what each "
                     "owner held by its recorded calls; the "
                     "line is what the device itself reported as used. Between the two: other "
                     "processes, and what no call explains. "
                     "The band above names the phase of the job. What it shows at a failure, or at "
                     "the peak, is never less than a few "
                     "pixels wide.");
    }
    if (mt_page_has_calls(p))
        mt_h_owners_at_cursor(p, o, "Owner");
    own_rows(p, o, l);
    for (uint32_t i = 1; i < j->ledgers.n && drawn < PICTURES; i++) {
        if (!mt_svg_ledger_has(&j->ledgers.p[i]))
            continue;
        mt_puts(o, drawn++ == 0 ? "<div class=\"multiples\">\n<figure><figcaption>"
                                : "<figure><figcaption>");
        mt_h_name(o, j->ledgers.p[i].name, NAME_MAX_BYTES);
        mt_puts(o, "</figcaption>\n");
        picture(p, o, i, true);
        mt_puts(o, "</figure>\n");
    }
    if (drawn != 0)
        mt_puts(o, "</div>\n");
    for (uint32_t i = 1; i < j->ledgers.n && i < TABLES; i++) {
        mt_puts(o, "<details class=\"more\"><summary>Owners of ");
        mt_h_name(o, j->ledgers.p[i].name, NAME_MAX_BYTES);
        mt_puts(o, "</summary>\n");
        mt_h_ledger_rows(o, p, &j->ledgers.p[i]);
        mt_puts(o, "</details>\n");
    }
}

const struct mt_panel mt_panel_ledger = {"ledger", "The device\xe2\x80\x99s memory by owner", has,
                                         draw};
