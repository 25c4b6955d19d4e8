/* A row: its bytes, its formula in words, and what lies there where more is there than expected. */
#include "analysis/expected/impl.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes. What an expectation leaves out (workspaces, rounding to 2 MiB, buffers of communication)
 * is tens of MiB; chosen by hand. With less, such rests count as more than expected. */
#define MARGIN (UINT64_C(64) << 20)

/* ---- which bytes are more ---- */

/* The places that hold most of a role at an event: "12.00 GiB of models.py:3 f, 1.00 GiB of g.py:7
 * h". */
static int places(const struct mt_expect_work *k, unsigned role, int64_t at, struct mt_sentence *s)
{
    const struct mt_replay *r = k->w->r;
    uint64_t *sum = mt_calloc((size_t)r->t->stacks.n + 1, sizeof *sum);
    char label[256], other[256];
    if (sum == NULL)
        return 0;
    for (int64_t i = 0; i <= at && (uint64_t)i < r->d->events.n; i++) {
        const struct mt_fate *f = &k->w->fate[i];
        const struct mt_event *e = mt_event_at(r->d, (uint64_t)i);
        if (e->action == MT_ACT_ALLOC && f->role == role &&
            (f->freed == MT_NEVER || (int64_t)f->freed > at) && e->stack <= r->t->stacks.n)
            sum[e->stack] += e->size;
    }
    for (unsigned n = 0; n < 2; n++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i <= r->t->stacks.n; i++)
            best = sum[i] > sum[best] ? i : best;
        if (sum[best] == 0)
            break;
        (void)mt_stack_label(r->t, best, label, sizeof label);
        /* stacks of one name are one place: they differ further in */
        for (uint32_t i = 1; i <= r->t->stacks.n; i++) {
            if (i == best || sum[i] == 0)
                continue;
            (void)mt_stack_label(r->t, i, other, sizeof other);
            if (strcmp(label, other) == 0) {
                sum[best] += sum[i];
                sum[i] = 0;
            }
        }
        mt_words_add(s, "%s%s of %.160s", n == 0 ? "; of all, " : ", ", MT_BYTES(sum[best]), label);
        sum[best] = 0;
    }
    mt_free(sum);
    return 1;
}

static int which_are_more(const struct mt_expect_work *k, struct mt_expect *e)
{
    struct mt_sentence s = {"", 0};
    double times = e->bytes != 0 ? (double)e->measured / (double)e->bytes : 0;
    mt_words_add(&s, "%s more than expected", MT_BYTES(e->measured - e->bytes));
    if (e->role == MT_ROLE_GRAD && k->s.sharded && times >= 2.5)
        mt_words_add(&s, ": gradients that are not divided over the ranks yet are larger by the "
                         "number of ranks");
    else if ((e->role == MT_ROLE_GRAD || e->role == MT_ROLE_OPTIM_STATE) &&
             k->s.layout == MT_LAYOUT_SAME && times >= 1.8 && times <= 2.2)
        mt_words_add(&s, ": as much as in 32 bits with parameters in 16");
    else if (e->role == MT_ROLE_PARAM && times >= 1.8)
        mt_words_add(&s, ": as much as %.0f copies or models", times);
    else if (e->role == MT_ROLE_LOGITS)
        mt_words_add(
            &s, ": a loss that is written out step by step keeps more copies than PyTorch's own");
    if (!places(k, e->role, e->event, &s))
        return 0;
    mt_words_add(&s, ".");
    e->extra = mt_strndup(s.buf, s.n);
    return e->extra != NULL;
}

/* ---- rows ---- */

struct mt_expect *mt_expect_row(struct mt_expect_work *k, unsigned role, unsigned phase)
{
    struct mt_expect *e;
    if (!k->ok || phase >= MT_PH_COUNT || k->high[phase][role].bytes == 0)
        return NULL;
    e = MT_VEC_PUSH(&k->out->v);
    if (e == NULL) {
        k->ok = false;
        return NULL;
    }
    memset(e, 0, sizeof *e);
    e->role = (uint8_t)role;
    e->phase = (uint8_t)phase;
    e->measured = k->high[phase][role].bytes;
    e->event = k->high[phase][role].event;
    return e;
}

struct mt_expect_factor mt_expect_over(double n, const char *of)
{
    struct mt_expect_factor f = {""};
    if (n < 1 || n > 1)
        (void)snprintf(f.s, sizeof f.s, " / %.0f%s", n, of);
    return f;
}

struct mt_expect_factor mt_expect_times(double n)
{
    struct mt_expect_factor f = {""};
    if (n < 1 || n > 1)
        (void)snprintf(f.s, sizeof f.s, "%.3g x ", n);
    return f;
}

void mt_expect_say(struct mt_expect_work *k, struct mt_expect *e, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->text = mt_strndup(text, strlen(text));
    k->ok = k->ok && e->text != NULL;
}

/* mt_expect_say() has to follow. */
void mt_expect_set(struct mt_expect_work *k, struct mt_expect *e, double bytes, bool at_most)
{
    uint64_t margin;
    e->known = bytes >= 0 && bytes < MT_EXPECT_LIMIT;
    if (!e->known)
        return;
    e->bytes = (uint64_t)(bytes + 0.5);
    e->at_most = at_most;
    margin = e->bytes / 10 > MARGIN ? e->bytes / 10 : MARGIN;
    e->more = e->measured > e->bytes && e->measured - e->bytes > margin;
    if (e->more)
        k->ok = k->ok && which_are_more(k, e);
}
