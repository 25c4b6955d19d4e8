/* Who holds each GPU's memory, over time and at the moment that matters: the
 * sum is the device's own figure. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"
#include "render/svg/ledger.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 20, PICTURES = 16, TABLES = 16, NAME_MAX_BYTES = 200 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->ledgers.n != 0;
}

static void td_signed(struct mt_out *o, int64_t bytes)
{
    char b[40];
    mt_putf(o, "<td class=\"n\" title=\"%" PRId64 " bytes\">%s</td>", bytes,
            mt_fmt_signed(b, bytes));
}

static void row(struct mt_out *o, const struct mt_driverdiag *j, const struct mt_ledger *l,
                const struct mt_ledger_row *r)
{
    uint64_t whole = l->focus_used != 0 ? l->focus_used : l->focus_named;
    char who[MT_WHO], b[32];
    mt_puts(o, "<tr><th scope=\"row\">");
    mt_h_swatch(o, mt_holder_color(r->holder));
    mt_h_name(o, mt_driver_holder(who, r->holder, r->library), NAME_MAX_BYTES);
    if (r->label[0] != '\0') {
        mt_puts(o, " <small>");
        mt_h_name(o, r->label, NAME_MAX_BYTES);
        mt_puts(o, "</small>");
    }
    if (r->reserved_va != 0 &&
        r->holder !=
            MT_HOLD_TORCH) /* an expandable segment reserves a whole GPU: that says nothing */
        mt_putf(o, " <small>%s of address space reserved, not mapped</small>",
                mt_fmt_bytes(b, r->reserved_va));
    mt_puts(o, "</th><td>");
    if (r->process != MT_NONE32)
        mt_h_name(o, mt_driver_who(who, j, r->driver, r->process), NAME_MAX_BYTES);
    else
        mt_puts(o, r->holder == MT_HOLD_OTHER ? "not recorded, by NVML"
                   : l->focus_unexplained < 0 ? "counted beyond it"
                                              : "the rest");
    mt_puts(o, "</td>");
    td_signed(o, r->bytes);
    mt_h_td_share(o, r->bytes > 0 ? (uint64_t)r->bytes : 0, whole, mt_holder_color(r->holder));
    if (r->process != MT_NONE32) {
        mt_h_td_bytes(o, r->peak);
        mt_h_td_count(o, r->n_live);
    } else {
        mt_puts(o, "<td class=\"n\"></td><td class=\"n\"></td>");
    }
    mt_puts(o, "</tr>\n");
}

static void table(struct mt_out *o, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    static const char *const heads[] = {"Owner",  "Process",   "#Bytes",
                                        "#Share", "#Its peak", "#Live"};
    uint32_t more = 0;
    int64_t rest = 0;
    char b[40];
    mt_h_table(o, "Owners of the memory of a GPU", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        if (i >= SHOWN && r->holder != MT_HOLD_UNEXPLAINED) {
            more++;
            rest += r->bytes;
        }
    }
    /* the rest comes before what is unexplained, which is last */
    for (uint32_t i = 0; i < l->rows.n; i++) {
        bool last = l->rows.p[i].holder == MT_HOLD_UNEXPLAINED;
        if (more != 0 && (last || i == SHOWN)) {
            mt_putf(o, "<tr><th scope=\"row\">%u smaller owner%s</th><td></td>", (unsigned)more,
                    more == 1 ? "" : "s");
            td_signed(o, rest);
            mt_puts(o, "<td></td><td></td><td></td></tr>\n");
            more = 0;
        }
        if (i < SHOWN || last)
            row(o, j, l, &l->rows.p[i]);
    }
    mt_puts(o, "<tr class=\"sum\"><th scope=\"row\">");
    mt_puts(o, l->focus_used != 0 ? "Used on the device</th><td>the sum</td>"
                                  : "By recorded calls</th><td>the sum</td>");
    mt_h_td_bytes(o, l->focus_used != 0 ? l->focus_used : l->focus_named);
    mt_putf(
        o, "<td class=\"n\">%s%s</td><td></td><td></td></tr>\n",
        l->capacity != 0
            ? mt_fmt_percent(b, l->focus_used != 0 ? l->focus_used : l->focus_named, l->capacity)
            : "",
        l->capacity != 0 ? " of capacity" : "");
    mt_h_table_end(o);
}

static void notes(struct mt_out *o, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    char a[40], b[32];
    mt_putf(o, "<p class=\"note\">Held %s, %s after the beginning. ", mt_ledger_focus_words(l),
            mt_driver_moment(a, j, l->focus_ns));
    if (l->focus_used != 0)
        mt_puts(o, "The device\xe2\x80\x99s own figure is that of the last sample before, moved by "
                   "what was recorded since; \xe2\x80\x9cunexplained\xe2\x80\x9d is what it has "
                   "beyond recorded calls and other processes, less than zero where these say more "
                   "than the device does. ");
    else
        mt_puts(o, "The device\xe2\x80\x99s own figure was not sampled by then. ");
    if (l->checks.n != 0)
        mt_putf(o, "Over %s sample%s at most %s %s unexplained. ", mt_fmt_count(a, l->checks.n),
                l->checks.n == 1 ? "" : "s", mt_fmt_bytes(b, l->max_unexplained),
                l->max_unexplained == 0 ? "was" : "were");
    if (l->managed_focus != 0)
        mt_putf(o, "Beside this there were %s of managed memory. ",
                mt_fmt_bytes(b, l->managed_focus));
    mt_puts(o, "</p>\n");
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

static void picture(struct mt_out *o, const struct mt_driverdiag *j, uint32_t i, bool small)
{
    struct mt_svg_ledger s = {j, i, small};
    if (!small)
        mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                   "aria-label=\"Memory of a GPU over time\">\n");
    mt_svg_ledger(o, &s);
    if (!small)
        mt_puts(o, "</div>\n");
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
    if (mt_svg_ledger_has(l)) {
        picture(o, j, 0, false);
        mt_h_help(o, "Each column is one moment, the highest of its stretch. Stacked is what each "
                     "owner held by its recorded calls; the "
                     "line is what the device itself reported as used. Between the two: other "
                     "processes, and what no call explains. "
                     "The band above names the phase of the job. What it shows at a failure, or at "
                     "the peak, is never less than a few "
                     "pixels wide.");
    }
    table(o, j, l);
    notes(o, j, l);
    for (uint32_t i = 1; i < j->ledgers.n && drawn < PICTURES; i++) {
        if (!mt_svg_ledger_has(&j->ledgers.p[i]))
            continue;
        mt_puts(o, drawn++ == 0 ? "<div class=\"multiples\">\n<figure><figcaption>"
                                : "<figure><figcaption>");
        mt_h_name(o, j->ledgers.p[i].name, NAME_MAX_BYTES);
        mt_puts(o, "</figcaption>\n");
        picture(o, j, i, true);
        mt_puts(o, "</figure>\n");
    }
    if (drawn != 0)
        mt_puts(o, "</div>\n");
    for (uint32_t i = 1; i < j->ledgers.n && i < TABLES; i++) {
        mt_puts(o, "<details class=\"more\"><summary>Owners of ");
        mt_h_name(o, j->ledgers.p[i].name, NAME_MAX_BYTES);
        mt_puts(o, "</summary>\n");
        table(o, j, &j->ledgers.p[i]);
        notes(o, j, &j->ledgers.p[i]);
        mt_puts(o, "</details>\n");
    }
}

const struct mt_panel mt_panel_ledger = {"ledger", "The device\xe2\x80\x99s memory by owner", has,
                                         draw};
