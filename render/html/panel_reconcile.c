/* A snapshot's view beside the driver's: two totals that meet. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"

#include <stdio.h>

enum { SHOWN = 32 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->reconciled.n != 0;
}

static void line(struct mt_out *o, const char *what, uint64_t bytes, uint64_t whole, bool sum)
{
    char b[32];
    mt_puts(o, sum ? "<tr class=\"me\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
    mt_h_name(o, what, 200);
    mt_puts(o, "</th>");
    mt_h_td_bytes(o, bytes);
    mt_h_td_text(o, sum ? "" : mt_fmt_percent(b, bytes, whole));
    mt_puts(o, "</tr>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"At the snapshot", "#Bytes", "#Share"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    char who[MT_WHO], when[40], what[240];
    mt_puts(o, "<p class=\"note\">Segments of the snapshot against driver calls "
               "at the same addresses at that time. What is unmapped is "
               "address space of pools that sleep: PyTorch counts it, the device "
               "does not hold it.</p>\n");
    for (uint32_t i = 0; i < j->reconciled.n && i < SHOWN; i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        mt_puts(o, "<h3>");
        mt_h_name(o, mt_driver_who(who, j, r->driver, r->process), 200);
        mt_putf(o, ", device %d <small>%s after the beginning</small></h3>\n", (int)r->ordinal,
                mt_driver_moment(when, j, r->at_ns));
        mt_h_table(o, "A snapshot against the driver", heads, sizeof heads / sizeof *heads);
        line(o, "PyTorch believes it holds", r->torch_reserved, r->torch_reserved, true);
        line(o, "held: recorded at the same addresses", r->matched, r->torch_reserved, false);
        line(o, "not held: unmapped, its pool sleeps", r->unmapped, r->torch_reserved, false);
        for (int k = 0; k < MT_MAX_GONE && r->gone[k].site != NULL; k++) {
            (void)snprintf(what, sizeof what,
                           "of that in use by PyTorch\xe2\x80\x99s books: %.160s", r->gone[k].site);
            line(o, what, r->gone[k].bytes, r->torch_reserved, false);
        }
        line(o, "no recorded call: older than the recording, or lost", r->unseen, r->torch_reserved,
             false);
        line(o, "The process holds, by recorded calls", r->driver_held, r->driver_held, true);
        line(o, "known to PyTorch: the same as held above", r->matched, r->driver_held, false);
        for (uint32_t k = 0; k < r->others.n; k++)
            line(o, mt_driver_holder(who, r->others.p[k].holder, r->others.p[k].library),
                 r->others.p[k].bytes > 0 ? (uint64_t)r->others.p[k].bytes : 0, r->driver_held,
                 false);
        mt_h_table_end(o);
        mt_puts(o, r->adds_up ? "<p class=\"note\">Both columns add up to the byte.</p>\n"
                              : "<p class=\"note\"><strong>These figures do not add "
                                "up.</strong></p>\n");
    }
    mt_h_more(o, j->reconciled.n > SHOWN ? j->reconciled.n - SHOWN : 0);
}

const struct mt_panel mt_panel_reconcile = {
    "reconcile", "PyTorch\xe2\x80\x99s view and the driver\xe2\x80\x99s", has, draw};
