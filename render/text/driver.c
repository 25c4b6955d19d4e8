/* What the driver saw, for a terminal. */
#include "analysis/base/words.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/text/impl.h"
#include "render/view/view.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 14, LEDGERS = 8, FAILURES = 12, SLEEPS = 12, PROCESSES = 24 };
#define PINNED (UINT64_C(1) << 30) /* less is what every job pins */

static void chart(struct mt_text *x, const struct mt_ledger *l)
{
    enum { HEIGHT = 8, MAX_W = 100 };
    static const char *const part[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    uint64_t high[MAX_W] = {0}, top = 0;
    uint32_t w = (uint32_t)(x->width > 40 ? x->width - 14 : 26);
    char b[32];
    if (w > MAX_W)
        w = MAX_W;
    if (l->n_columns < 2)
        return;
    if (w > l->n_columns)
        w = l->n_columns;
    for (uint32_t c = 0; c < l->n_columns; c++) {
        uint32_t k = (uint32_t)((uint64_t)c * w / l->n_columns);
        uint64_t v = l->used[c] > l->named[c] ? l->used[c] : l->named[c];
        if (v > high[k])
            high[k] = v;
        if (v > top)
            top = v;
    }
    if (top == 0)
        return;
    if (l->capacity > top && l->capacity / top < 3)
        top = l->capacity;
    for (int row = HEIGHT - 1; row >= 0; row--) {
        mt_putf(x->o, "%11s |", row == HEIGHT - 1 ? mt_fmt_bytes(b, top) : row == 0 ? "0" : "");
        for (uint32_t k = 0; k < w; k++) {
            uint64_t eighths = (uint64_t)((double)high[k] / (double)top * (HEIGHT * 8) + 0.5),
                     base = (uint64_t)row * 8;
            mt_puts(x->o, part[eighths <= base ? 0 : eighths - base >= 8 ? 8 : eighths - base]);
        }
        mt_putc(x->o, '\n');
    }
    mt_putf(x->o, "%11s  0 s%*s\n", "", (int)w - 3, mt_fmt_seconds(b, l->t1_ns - l->t0_ns));
}

static void ledger(struct mt_text *x, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    char a[40], b[40], who[MT_WHO], holder[MT_WHO], line[MT_WHO * 2 + 8];
    int64_t rest = 0;
    uint32_t more = 0;
    mt_putc(x->o, '\n');
    mt_text_style(x, "1");
    (void)mt_text_clipped(x, l->name, x->width);
    mt_text_style(x, "0");
    mt_putc(x->o, '\n');
    chart(x, l);
    mt_putf(x->o, "  Held %s, by owner:\n", mt_ledger_focus_words(l));
    for (uint32_t i = 0; i < l->rows.n; i++) {
        const struct mt_ledger_row *r = &l->rows.p[i];
        if (i >= ROWS && r->holder != MT_HOLD_UNEXPLAINED) {
            rest += r->bytes;
            more++;
            continue;
        }
        if (more != 0 && r->holder == MT_HOLD_UNEXPLAINED)
            mt_putf(x->o, "  %12s  %u smaller owners\n", mt_fmt_signed(a, rest), (unsigned)more);
        (void)mt_driver_holder(holder, r->holder, r->library);
        if (r->process != MT_NONE32)
            (void)snprintf(line, sizeof line, "%s (%s)", holder,
                           mt_driver_who(who, j, r->driver, r->process));
        else
            (void)snprintf(line, sizeof line, "%s", holder);
        mt_putf(x->o, "  %12s  ", mt_fmt_signed(a, r->bytes));
        (void)mt_text_clipped(x, line, x->width - 16);
        mt_putc(x->o, '\n');
        if (r->label[0] != '\0') {
            mt_puts(x->o, "                ");
            (void)mt_text_clipped(x, r->label, x->width - 16);
            mt_putc(x->o, '\n');
        }
        if (r->reserved_va != 0 && r->holder != MT_HOLD_TORCH)
            mt_putf(x->o,
                    "                %s more of address space is reserved and not "
                    "mapped\n",
                    mt_fmt_bytes(b, r->reserved_va));
    }
    if (more != 0 && l->focus_used == 0)
        mt_putf(x->o, "  %12s  %u smaller owners\n", mt_fmt_signed(a, rest), (unsigned)more);
    if (l->focus_used != 0)
        mt_putf(x->o, "  %12s  used on the device: the sum\n", mt_fmt_bytes(a, l->focus_used));
    else
        mt_putf(x->o,
                "  %12s  by recorded calls: the sum; the device's own figure was "
                "not sampled\n",
                mt_fmt_bytes(a, l->focus_named));
    if (l->capacity != 0)
        mt_putf(x->o, "  %12s  capacity\n", mt_fmt_bytes(a, l->capacity));
}

static void failures(struct mt_text *x, const struct mt_driverdiag *j)
{
    char a[40], b[40], who[MT_WHO], holder[MT_WHO], ph[128], when[40], line[1024];
    uint32_t shown = 0;
    if (j->ooms.n == 0)
        return;
    mt_text_heading(x, "Driver calls that failed for want of memory");
    for (unsigned pass = 0; pass < 2; pass++) { /* those that ended something first */
        for (uint32_t i = 0; i < j->ooms.n; i++) {
            const struct mt_driver_oom *o = &j->ooms.p[i];
            if (o->is_fatal != (pass == 0) || shown >= FAILURES)
                continue;
            shown++;
            (void)snprintf(
                line, sizeof line, "%s: %s in %s asked for %s%s%s%s%s%s%s: %s",
                mt_driver_moment(when, j, o->time_ns), mt_driver_holder(holder, o->who, o->library),
                mt_driver_who(who, j, o->driver, o->process), mt_fmt_bytes(a, o->request),
                o->is_host ? " of host memory" : "", o->free != 0 ? ", " : "",
                o->free != 0 ? mt_fmt_bytes(b, o->free) : "",
                o->free != 0 ? " free on the device" : "",
                o->phase != MT_PH_UNATTRIBUTED ? ", during " : "",
                o->phase != MT_PH_UNATTRIBUTED ? mt_words_phase(ph, sizeof ph, o->phase, o->sub)
                                               : "",
                o->survived   ? "survived"
                : o->is_fatal ? "not survived"
                              : "not survived, part of the same trouble");
            mt_text_wrap(x, "  - ", "    ", line);
        }
    }
    if (j->ooms.n > shown)
        mt_putf(x->o, "  and %u more (see --format json)\n", (unsigned)(j->ooms.n - shown));
}

static void sleeps(struct mt_text *x, const struct mt_driverdiag *j)
{
    char a[40], b[40], c[40], who[MT_WHO], line[512];
    if (j->sleeps.n == 0)
        return;
    mt_text_heading(x, "Sleep and wake: bursts of unmaps and maps");
    for (uint32_t i = 0; i < j->sleeps.n && i < SLEEPS; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        (void)mt_driver_moment(a, j, s->t0_ns);
        (void)snprintf(line, sizeof line, "%*s  %s%s: %s, %s held afterwards (%s)",
                       strstr(a, "\xc2") != NULL ? 10 : 9, a, mt_holder_words(s->who),
                       mt_driver_sleep_words(j, i), mt_fmt_bytes(b, s->bytes),
                       mt_fmt_bytes(c, s->left), mt_driver_who(who, j, s->driver, s->process));
        mt_text_wrap(x, "  ", "             ", line);
    }
    if (j->sleeps.n > SLEEPS)
        mt_putf(x->o, "  and %u more (see --format json)\n", (unsigned)(j->sleeps.n - SLEEPS));
}

static void reconciled(struct mt_text *x, const struct mt_driverdiag *j)
{
    char a[40], holder[MT_WHO], who[MT_WHO], line[512];
    if (j->reconciled.n == 0)
        return;
    mt_text_heading(x, "PyTorch's view against the driver's, at each snapshot");
    for (uint32_t i = 0; i < j->reconciled.n; i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        (void)snprintf(line, sizeof line, "%s, device %d",
                       mt_driver_who(who, j, r->driver, r->process), (int)r->ordinal);
        mt_text_wrap(x, "  ", "  ", line);
        mt_putf(x->o, "  %12s  PyTorch believes it holds\n", mt_fmt_bytes(a, r->torch_reserved));
        mt_putf(x->o, "  %12s    of it held: recorded at the same addresses\n",
                mt_fmt_bytes(a, r->matched));
        mt_putf(x->o, "  %12s    of it not held: unmapped, its pool sleeps\n",
                mt_fmt_bytes(a, r->unmapped));
        for (int k = 0; k < MT_MAX_GONE && r->gone[k].site != NULL; k++) {
            mt_putf(x->o, "  %12s      in use there: ", mt_fmt_bytes(a, r->gone[k].bytes));
            (void)mt_text_clipped(x, r->gone[k].site, x->width - 34);
            mt_putc(x->o, '\n');
        }
        mt_putf(x->o, "  %12s    of it without a recorded call: older, or lost\n",
                mt_fmt_bytes(a, r->unseen));
        mt_putf(x->o, "  %12s  the process holds by recorded calls\n",
                mt_fmt_bytes(a, r->driver_held));
        for (uint32_t k = 0; k < r->others.n; k++) {
            mt_putf(x->o, "  %12s    beside PyTorch: ", mt_fmt_signed(a, r->others.p[k].bytes));
            (void)mt_text_clipped(
                x, mt_driver_holder(holder, r->others.p[k].holder, r->others.p[k].library),
                x->width - 34);
            mt_putc(x->o, '\n');
        }
    }
}

static void phases(struct mt_text *x, const struct mt_driverdiag *j)
{
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = mt_driver_phase_sums(j, sum);
    char a[40], b[40], c[40];
    if (n == 0)
        return;
    mt_text_heading(x, "Phases of the job, by ranges and marks");
    mt_putf(x->o, "  %-34s %8s %12s %20s\n", "phase", "times", "together", "highest on a GPU");
    for (unsigned i = 0; i < n; i++) {
        mt_puts(x->o, "  ");
        mt_text_padded(x, mt_phase_words(sum[i].phase), 34);
        mt_putf(x->o, " %8s %12s %20s\n", mt_fmt_count(a, sum[i].n), mt_fmt_seconds(b, sum[i].ns),
                mt_fmt_bytes(c, sum[i].peak));
    }
}

static void processes(struct mt_text *x, const struct mt_driverdiag *j)
{
    char a[40], b[40], end[64], who[MT_WHO], line[MT_WHO + 192];
    if (j->processes.n == 0)
        return;
    mt_text_heading(x, "Processes");
    for (uint32_t i = 0; i < j->processes.n && i < PROCESSES; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        const struct mt_process *q = &j->drivers.p[p->driver]->driver->processes.p[p->process];
        (void)snprintf(line, sizeof line, "%s: %s%s, %s call%s, %s",
                       mt_driver_who(who, j, p->driver, p->process), q->has_cuda ? "peak " : "",
                       q->has_cuda ? mt_fmt_bytes(a, p->peak) : "no GPU",
                       mt_fmt_count(b, q->n_calls), q->n_calls == 1 ? "" : "s",
                       mt_driver_end(end, q));
        mt_text_wrap(x, "  - ", "    ", line);
        if (p->pinned_peak >= PINNED)
            mt_putf(x->o, "    pinned host memory: %s at most, %s at its end\n",
                    mt_fmt_bytes(a, p->pinned_peak), mt_fmt_bytes(b, p->pinned_end));
    }
    if (j->processes.n > PROCESSES)
        mt_putf(x->o, "  and %u more (see --format json)\n",
                (unsigned)(j->processes.n - PROCESSES));
}

void mt_text_job(struct mt_text *x, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    char a[40];
    for (uint32_t i = 0; i < j->ledgers.n && i < LEDGERS; i++)
        ledger(x, j, &j->ledgers.p[i]);
    for (uint32_t i = LEDGERS; i < j->ledgers.n; i++) {
        mt_puts(x->o, i == LEDGERS ? "\n  " : "  ");
        mt_text_padded(x, j->ledgers.p[i].name, 50);
        mt_putf(x->o, " peak %s by recorded calls\n", mt_fmt_bytes(a, j->ledgers.p[i].peak_named));
    }
    failures(x, j);
    sleeps(x, j);
    reconciled(x, j);
    phases(x, j);
    processes(x, j);
}
