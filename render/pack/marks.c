/* The findings as moments of the track, and the chunks that have to stay exact because of them. */
#include "render/view/asked.h"
#include "render/base/escape.h"
#include "render/pack/impl.h"
#include "render/view/rows.h"

#include "analysis/cause/cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OOMS = 256, MAX_GROWTH = 5, TEXT = 448, LABEL = 160 };

static int add(struct mt_pack *p, enum mt_mark_kind kind, uint64_t from, uint64_t to,
               const char *text)
{
    struct mt_pack_mark *m = MT_VEC_PUSH(&p->marks);
    if (m == NULL)
        return 0;
    m->kind = kind;
    m->from = from < p->n_events ? from : p->n_events - 1;
    m->to = to < p->n_events ? to : p->n_events - 1;
    m->text = mt_strndup(text, strlen(text));
    return m->text != NULL;
}

static int label_len(const char *s)
{
    return s != NULL ? (int)mt_utf8_cut(s, strlen(s), LABEL) : 0;
}

static int add_ooms(const struct mt_pack_in *in)
{
    char text[TEXT], size[40], left[32], parts[MT_ASKED_WORDS];
    struct mt_asked a;
    _Static_assert(TEXT >= 64 + sizeof size + sizeof left + sizeof parts + LABEL,
                   "no character of a label is cut in two");
    for (uint32_t i = 0; i < in->o->ooms.n && i < MAX_OOMS; i++) {
        const struct mt_oom *m = &in->o->ooms.p[i];
        (void)mt_asked_of(&a, in->o, m);
        (void)snprintf(text, sizeof text,
                       "out of memory: asked for %s, %s free on the device, %s%s%.*s",
                       mt_row_request(size, m), mt_fmt_bytes(left, m->device_free),
                       mt_asked_words(parts, &a), label_len(m->label) != 0 ? ", by " : "",
                       label_len(m->label), m->label != NULL ? m->label : "");
        if (!add(in->pack, MT_MARK_OOM, m->event, m->event, text))
            return 0;
    }
    return 1;
}

/* The largest; the page has a table of all. */
static int add_growth(const struct mt_pack_in *in)
{
    const struct mt_role_facts *f = &in->o->roles;
    char text[TEXT], a[32], b[32];
    for (uint32_t i = 0; i < f->growth.n && i < MAX_GROWTH && f->steps.n != 0; i++) {
        const struct mt_growth *g = &f->growth.p[i];
        (void)snprintf(text, sizeof text, "grows from step to step, from %s to %s: %.*s",
                       mt_fmt_bytes(a, g->first), mt_fmt_bytes(b, g->last), label_len(g->label),
                       g->label != NULL ? g->label : "");
        if (!add(in->pack, MT_MARK_GROWTH, f->steps.p[0].first, f->steps.p[f->steps.n - 1].last,
                 text))
            return 0;
    }
    return 1;
}

static int add_pins(const struct mt_pack_in *in)
{
    const struct mt_cause *c = in->o->cause;
    char text[TEXT], size[32], count[32];
    if (c == NULL || c->n_pins_all == 0 || in->o->focus.event < 0 ||
        in->o->focus.event == MT_NO_EVENT)
        return 1;
    (void)snprintf(text, sizeof text, "%s free in %s segments that few live bytes keep",
                   mt_fmt_bytes(size, c->pinned_free), mt_fmt_count(count, c->n_pins_all));
    return add(in->pack, MT_MARK_PIN, (uint64_t)in->o->focus.event, (uint64_t)in->o->focus.event,
               text);
}

static int by_moment(const void *pa, const void *pb)
{
    const struct mt_pack_mark *a = pa, *b = pb;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->text, b->text);
}

static void want(struct mt_pack *p, uint64_t from, uint64_t to, uint64_t before, uint64_t after)
{
    uint64_t lo = from > before ? from - before : 0,
             hi = to < p->n_events - 1 - (after < p->n_events ? after : p->n_events - 1)
                      ? to + after
                      : p->n_events - 1;
    for (uint64_t c = lo / MT_PACK_CHUNK; c <= hi / MT_PACK_CHUNK; c++)
        p->wanted[c] = true;
}

/* A step is wanted whole where it is no longer than a few chunks; else its two ends. */
static void want_step(struct mt_pack *p, const struct mt_step *s)
{
    if (s->last - s->first <= 4 * (uint64_t)MT_PACK_CHUNK) {
        want(p, s->first, s->last, 0, 0);
        return;
    }
    want(p, s->first, s->first, MT_PACK_AROUND, MT_PACK_AROUND);
    want(p, s->last, s->last, MT_PACK_AROUND, MT_PACK_AROUND);
    if (s->peak_event >= 0 && s->peak_event != MT_NO_EVENT)
        want(p, (uint64_t)s->peak_event, (uint64_t)s->peak_event, MT_PACK_AROUND, MT_PACK_AROUND);
}

int mt_pack_marks(const struct mt_pack_in *in)
{
    struct mt_pack *p = in->pack;
    const struct mt_role_facts *f = &in->o->roles;
    char text[TEXT], size[32];
    p->wanted = mt_calloc(p->n_events / MT_PACK_CHUNK + 1, sizeof *p->wanted);
    if (p->wanted == NULL || !add_ooms(in) || !add_growth(in) || !add_pins(in))
        return 0;
    (void)snprintf(text, sizeof text, "peak %s", mt_fmt_bytes(size, in->o->live_peak));
    if (in->o->live_peak > 0 && in->o->peak_event != MT_NO_EVENT &&
        !add(p, MT_MARK_PEAK, in->o->peak_event > 0 ? (uint64_t)in->o->peak_event : 0,
             in->o->peak_event > 0 ? (uint64_t)in->o->peak_event : 0, text))
        return 0;
    if (p->marks.n > 1) /* none: the trace of a snapshot that holds its state only */
        qsort(p->marks.p, p->marks.n, sizeof *p->marks.p, by_moment);
    for (uint32_t i = 0; i < p->marks.n; i++) {
        const struct mt_pack_mark *m = &p->marks.p[i];
        uint64_t before = m->kind == MT_MARK_OOM ? MT_PACK_BEFORE_OOM : MT_PACK_AROUND;
        want(p, m->from, m->from, before, MT_PACK_AROUND);
        want(p, m->to, m->to, before, MT_PACK_AROUND);
    }
    if (f->steps.n != 0) {
        want_step(p, &f->steps.p[0]);
        want_step(p, &f->steps.p[f->steps.n - 1]);
    }
    return 1;
}
