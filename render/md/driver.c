/* What the driver saw, to paste into a ticket. */
#include "render/md/impl.h"
#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/view/view.h"

#include <string.h>

enum { ROWS = 12, LEDGERS = 4, FAILURES = 8 };

static void md(struct mt_out *o, const char *s) { mt_md(o, s, strlen(s)); }

static void ledger(const struct mt_driverdiag *j, const struct mt_ledger *l, struct mt_out *o)
{
    char a[40], b[40], who[MT_WHO];
    int64_t rest = 0;
    uint32_t more = 0;
    mt_puts(o, "**");
    md(o, l->name);
    mt_putf(o, "**, %s\n\n| bytes | peak | owner | process |\n|---:|---:|---|---|\n",
            mt_ledger_focus_words(l));
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        if (i >= ROWS && r->holder != MT_HOLD_UNEXPLAINED) {
            rest += r->bytes;
            more++;
            continue;
        }
        mt_putf(o, "| %s | %s | ", mt_fmt_signed(a, r->bytes),
                r->process != MT_NONE32 ? mt_fmt_bytes(b, r->peak) : "");
        md(o, mt_driver_holder(who, r->holder, r->library));
        mt_puts(o, " | ");
        if (r->process != MT_NONE32)
            md(o, mt_driver_who(who, j, r->driver, r->process));
        mt_puts(o, " |\n");
    }
    if (more != 0)
        mt_putf(o, "| %s | | %u smaller owners | |\n", mt_fmt_signed(a, rest), (unsigned)more);
    mt_putf(o, "| **%s** | | **%s** | |\n\n",
            mt_fmt_bytes(a, l->focus_used != 0 ? l->focus_used : l->focus_named),
            l->focus_used != 0 ? "used on the device"
                               : "by recorded calls; the device was not sampled");
}

static void failures(const struct mt_driverdiag *j, struct mt_out *o)
{
    char a[40], b[40], who[MT_WHO], ph[128];
    uint32_t shown = 0;
    if (j->ooms.n == 0)
        return;
    mt_puts(o, "| failed call of | process | asked for | free | phase | "
               "|\n|---|---|---:|---:|---|---|\n");
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < j->ooms.n; i++) {
            const struct mt_driver_oom *f = &j->ooms.p[i];
            if (f->is_fatal != (pass == 0) || shown >= FAILURES)
                continue;
            shown++;
            mt_puts(o, "| ");
            md(o, mt_driver_holder(who, f->who, f->library));
            mt_puts(o, " | ");
            md(o, mt_driver_who(who, j, f->driver, f->process));
            mt_putf(o, " | %s | %s | ", mt_fmt_bytes(a, f->request),
                    f->free != 0 ? mt_fmt_bytes(b, f->free) : "-");
            if (f->phase != MT_PH_UNATTRIBUTED)
                md(o, mt_words_phase(ph, sizeof ph, f->phase, f->sub));
            mt_putf(o, " | %s |\n", f->survived ? "survived" : "not survived");
        }
    }
    mt_puts(o, "\n");
}

static void reconciled(const struct mt_driverdiag *j, struct mt_out *o)
{
    char a[40], b[40], c[40], d[40], e[40], who[MT_WHO];
    if (j->reconciled.n == 0)
        return;
    mt_puts(o, "| process | PyTorch believes | there | unmapped | not recorded | "
               "the driver's |\n|---|---:|---:|---:|---:|---:|\n");
    for (uint32_t i = 0; i < j->reconciled.n && i < 16; i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        mt_puts(o, "| ");
        md(o, mt_driver_who(who, j, r->driver, r->process));
        mt_putf(o, " | %s | %s | %s | %s | %s |\n", mt_fmt_bytes(a, r->torch_reserved),
                mt_fmt_bytes(b, r->matched), mt_fmt_bytes(c, r->unmapped),
                mt_fmt_bytes(d, r->unseen), mt_fmt_bytes(e, r->driver_held));
        for (int k = 0; k < MT_MAX_GONE && r->gone[k].site != NULL; k++) {
            mt_puts(o, "| in use there, unmapped: ");
            mt_md(o, r->gone[k].site, mt_utf8_cut(r->gone[k].site, strlen(r->gone[k].site), 160));
            mt_putf(o, " | | | %s | | |\n", mt_fmt_bytes(c, r->gone[k].bytes));
        }
    }
    mt_puts(o, "\n");
}

void mt_md_job(const struct mt_report *r, struct mt_out *o)
{
    for (uint32_t i = 0; i < r->diagnosis->driver->ledgers.n && i < LEDGERS; i++)
        ledger(r->diagnosis->driver, &r->diagnosis->driver->ledgers.p[i], o);
    failures(r->diagnosis->driver, o);
    reconciled(r->diagnosis->driver, o);
}
