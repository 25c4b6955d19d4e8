/* The processes of the job: what each held, how much was recorded, how it
 * ended. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"

enum { SHOWN = 128 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->processes.n != 0;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Process", "Host",   "#Peak",   "GPU",
                                        "#Pinned", "#Calls", "#Failed", "End"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    char who[MT_WHO], end[64];
    if (j->unrecorded != NULL) {
        mt_puts(o, "<p class=\"note\"><strong>Not everything was recorded.</strong> ");
        mt_h_text(o, j->unrecorded, 1000);
        mt_puts(o, "</p>\n");
    }
    mt_h_table(o, "Processes", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < j->processes.n && i < SHOWN; i++) {
        const struct mt_driver_process *s = &j->processes.p[i];
        const struct mt_trace *t = j->drivers.p[s->driver];
        const struct mt_process *q = &t->driver->processes.p[s->process];
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_h_name(o, mt_driver_who(who, j, s->driver, s->process), 200);
        if (mt_str_len(t, q->command) != 0) {
            mt_puts(o, " <small>");
            mt_h_name(o, mt_str(t, q->command), 160);
            mt_puts(o, "</small>");
        }
        mt_puts(o, "</th><td>");
        mt_h_name(o, mt_str(t, q->host), 100);
        mt_puts(o, "</td>");
        if (q->has_cuda)
            mt_h_td_bytes(o, s->peak);
        else
            mt_h_td_text(o, "no GPU");
        mt_puts(o, "<td>");
        if (s->ledger < j->ledgers.n)
            mt_h_name(o, j->ledgers.p[s->ledger].name, 120);
        mt_puts(o, "</td>");
        mt_h_td_bytes(o, s->pinned_peak);
        mt_h_td_count(o, q->n_calls);
        mt_h_td_count(o, s->n_failed);
        mt_putf(o, "<td>%s</td></tr>\n", mt_driver_end(end, q));
    }
    mt_h_table_end(o);
    if (j->processes.n > SHOWN)
        mt_putf(o, "<p class=\"note\">%u more are in the JSON report.</p>\n",
                (unsigned)(j->processes.n - SHOWN));
}

const struct mt_panel mt_panel_processes = {"processes", "Processes", has, draw};
