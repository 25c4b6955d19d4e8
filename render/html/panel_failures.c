/* Driver calls that failed for want of memory, and what became of them. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/driver.h"

enum { SHOWN = 40 };

static bool has(const struct mt_page *p)
{
    return p->r->diagnosis->driver != NULL && p->r->diagnosis->driver->ooms.n != 0;
}

static void row(struct mt_out *o, const struct mt_driverdiag *j, const struct mt_driver_oom *f)
{
    const struct mt_call *c = &j->drivers.p[f->driver]->driver->calls.p[f->call];
    char who[MT_WHO], b[40];
    mt_h_td_text(o, mt_driver_moment(b, j, f->time_ns));
    mt_puts(o, "<th scope=\"row\">");
    mt_h_name(o, mt_driver_holder(who, f->who, f->library), 200);
    mt_puts(o, " <small>");
    mt_html_s(o, mt_driver_call_words((enum mt_wire_op)c->op));
    if (f->label != NULL && f->label[0] != '\0') {
        mt_puts(o, " in ");
        mt_h_name(o, f->label, 200);
    }
    mt_puts(o, "</small></th><td>");
    mt_h_name(o, mt_driver_who(who, j, f->driver, f->process), 200);
    if (f->is_host)
        mt_puts(o, " <small>pinned host memory</small>");
    else if (f->ledger < j->ledgers.n) {
        mt_puts(o, " <small>");
        mt_h_name(o, j->ledgers.p[f->ledger].name, 120);
        mt_puts(o, "</small>");
    }
    mt_puts(o, "</td>");
    mt_h_td_bytes(o, f->request);
    if (f->free != 0)
        mt_h_td_bytes(o, f->free);
    else
        mt_h_td_text(o, "-");
    mt_puts(o, "<td>");
    if (f->phase != MT_PH_UNATTRIBUTED || f->sub != MT_PH_NONE)
        mt_html_s(o, MT_PHASE_CELL(f->phase, f->sub));
    if (f->in_wake)
        mt_puts(o, " <small>while waking up</small>");
    mt_puts(o, f->survived   ? "</td><td>survived"
               : f->is_fatal ? "</td><td><strong class=\"oom\">not survived</strong>"
                             : "</td><td>not survived");
    mt_puts(o, "</td></tr>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"#At",        "Call of", "Process", "#Asked for",
                                        "#Free then", "Phase",   "Outcome"};
    const struct mt_driverdiag *j = p->r->diagnosis->driver;
    uint32_t shown = 0;
    mt_puts(o,
            "<p class=\"note\">Calls that returned CUDA error 2, out of memory. Survived: the same "
            "process asked again and got it, or went on without; PyTorch, for one, gives back its "
            "cache and tries again. Failures outside PyTorch leave no trace in a snapshot.</p>\n");
    mt_h_table(o, "Failed calls", heads, sizeof heads / sizeof *heads);
    for (unsigned pass = 0; pass < 3; pass++) { /* what ended a process, what else
                                                 was not survived, the rest */
        for (uint32_t i = 0; i < j->ooms.n && shown < SHOWN; i++) {
            const struct mt_driver_oom *f = &j->ooms.p[i];
            if ((f->is_fatal ? 0u : f->survived ? 2u : 1u) != pass)
                continue;
            shown++;
            mt_puts(o, f->is_fatal ? "<tr class=\"me\">" : "<tr>");
            row(o, j, f);
        }
    }
    mt_h_table_end(o);
    mt_h_more(o, j->ooms.n > shown ? j->ooms.n - shown : 0);
}

const struct mt_panel mt_panel_failures = {"failures", "Failed driver calls", has, draw};
