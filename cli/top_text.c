/* top_text.c -- the screen of `memtrace top`. */
#include "cli/top.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

/* "-1.20 GiB" */
static const char *bytes_of(char *buf, int64_t v)
{
    buf[0] = '-';
    (void)mt_fmt_bytes(buf + (v < 0), v < 0 ? (uint64_t)-v : (uint64_t)v);
    return buf;
}

static const char *device_words(const struct mt_top_device *d, char *buf, size_t cap)
{
    snprintf(buf, cap, "GPU %u of %.60s", (unsigned)d->index, d->host);
    return buf;
}

static void row(struct mt_out *o, const char *name, int64_t bytes, int64_t grown)
{
    char have[40], more[40];
    mt_puts(o, "    ");
    put(o, name);
    for (size_t n = strlen(name); n < 36; n++)
        mt_putc(o, ' ');
    mt_putf(o, " %12s", bytes_of(have, bytes));
    if (grown != 0)
        mt_putf(o, "  %s%s", grown > 0 ? "+" : "", bytes_of(more, grown));
    mt_putc(o, '\n');
}

static void device(const struct mt_top *t, struct mt_out *o, const struct mt_top_device *d)
{
    char words[96], used[40], total[32], name[MT_WHO];
    put(o, device_words(d, words, sizeof words));
    if (d->name[0] != '\0') {
        mt_puts(o, ", ");
        put(o, d->name);
    }
    if (d->sampled != 0)
        mt_putf(o, ": %s of %s used", bytes_of(used, mt_top_used(d)),
                mt_fmt_bytes(total, d->total));
    else
        mt_puts(o, ": no sample of the device");
    mt_putf(o, ", %u process%s", (unsigned)d->n_processes, d->n_processes == 1 ? "" : "es");
    if (d->phase != MT_PH_NONE)
        mt_putf(o, ", %s", mt_phase_words(d->phase));
    mt_putc(o, '\n');
    for (uint32_t i = 0; i < d->rows.n; i++)
        if (d->rows.p[i].bytes != 0 || d->rows.p[i].grown != 0)
            row(o, mt_top_owner_words(t, d->rows.p[i].owner, name), d->rows.p[i].bytes,
                d->rows.p[i].grown);
    if (d->other != 0)
        row(o, mt_holder_words(MT_HOLD_OTHER), d->other, 0);
    if (d->sampled != 0)
        row(o, "contexts, code, what no call says", mt_top_rest(d), 0);
}

static void what(const struct mt_top *t, struct mt_out *o, const struct mt_top_what *w)
{
    char words[MT_WHO], place[96];
    put(o, mt_top_owner_words(t, w->owner, words));
    if (w->device != NULL) {
        mt_puts(o, " on ");
        put(o, device_words(w->device, place, sizeof place));
    }
    mt_puts(o, ", ");
    put(o, mt_top_process_words(w->process, words));
}

static void failures(const struct mt_top *t, struct mt_out *o)
{
    char size[32];
    mt_putf(o, "failures: %llu", (unsigned long long)t->n_failures);
    if (t->failure.process != NULL) {
        uint64_t ago = t->now > t->failure.time_ns ? (t->now - t->failure.time_ns) / SECOND : 0;
        mt_putf(o, ", the last %llu s ago: %s asked for by ", (unsigned long long)ago,
                mt_fmt_bytes(size, (uint64_t)t->failure.bytes));
        what(t, o, &t->failure);
    }
    mt_putc(o, '\n');
}

static void growth(const struct mt_top *t, struct mt_out *o)
{
    char size[32];
    mt_puts(o, "steepest growth: ");
    if (t->growth.process == NULL) {
        mt_putf(o, "nothing grew within %d s\n", MT_TOP_WINDOW);
        return;
    }
    mt_putf(o, "+%s within %llu s, ", mt_fmt_bytes(size, (uint64_t)t->growth.bytes),
            (unsigned long long)(t->growth.span_ns / SECOND));
    what(t, o, &t->growth);
    mt_putc(o, '\n');
}

void mt_top_text(struct mt_top *t, struct mt_out *o, int rows)
{
    uint32_t shown = 0, lines = 5;
    mt_putf(o, "memtrace top: %u recorded process%s, growth within %d s\n",
            (unsigned)t->n_processes, t->n_processes == 1 ? "" : "es", MT_TOP_WINDOW);
    for (uint32_t i = 0; i < t->lives.n; i++, lines++) {
        mt_puts(o, "  ");
        put(o, t->lives.p[i]->dir);
        mt_puts(o, t->lives.p[i]->has_folder ? "\n" : " is over\n");
    }
    failures(t, o);
    growth(t, o);
    if (t->n_lost != 0)
        mt_putf(o, "%llu records are lost: what they said is missing here\n",
                (unsigned long long)t->n_lost);
    if (t->devices.n == 0)
        mt_puts(o, "no process has used a GPU yet\n");
    for (; shown < t->devices.n; shown++) {
        const struct mt_top_device *d = &t->devices.p[shown];
        lines += d->rows.n + 3;
        if (rows > 0 && shown > 0 && lines > (uint32_t)rows)
            break;
        device(t, o, d);
    }
    if (shown < t->devices.n)
        mt_putf(o, "and %u more GPUs; --json has all\n", (unsigned)(t->devices.n - shown));
}
