/* What stays of a line that goes on: large tensors that are there still, while the same line made
 * as large ones again and again since, and those went. Each round of a loop binds a name anew and
 * lets go of the old value; what stayed is held by something else, as the state of an earlier run
 * by a list. */
#include "analysis/base/frames.h"
#include "analysis/base/words.h"
#include "analysis/cause/impl.h"

/* Chosen by hand: so many others went; a part of what is live that a tensor has, or all of them
 * together. MOST: no more fit into it. */
enum { MIN_GONE = 8, OF_LIVE = 20, WORTH = 10, MOST = 20 };

/* The large ones that are there, by stack and size. */
static uint32_t candidates(const struct mt_moment *m, struct mt_outlived of[MOST])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        uint32_t k = 0;
        if (h->event == UINT64_MAX || h->stack == 0 || h->pending ||
            h->size < m->d->focus.live / OF_LIVE || !mt_is_of_work(h) ||
            mt_phase_is(h->attr.sub, MT_IN_FORWARD | MT_IN_BACKWARD | MT_IN_OPTIMIZER))
            continue;
        while (k < n && (of[k].stack != h->stack || of[k].size != h->size))
            k++;
        if (k == n && n < MOST)
            of[n++] = (struct mt_outlived){.stack = h->stack, .size = h->size};
    }
    return n;
}

void mt_moment_outlived(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    struct mt_outlived of[MOST];
    uint32_t n;
    uint64_t focus = (uint64_t)m->d->focus.event;
    if (m->w->fate == NULL || m->d->focus.event < 0 || m->kept.n != 0 || m->rounds.bytes != 0 ||
        m->hoard.n != 0 || m->result.bytes != 0)
        return;
    n = candidates(m, of);
    for (uint64_t i = focus < r->d->events.n ? focus + 1 : r->d->events.n; n != 0 && i-- > 0;) {
        const struct mt_event *e = mt_event_at(r->d, i);
        for (uint32_t k = 0; e->action == MT_ACT_ALLOC && k < n; k++) {
            if (of[k].stack != e->stack || of[k].size != e->size)
                continue;
            if (m->w->fate[i].freed <= focus)
                of[k].gone++;
            else if (of[k].gone >= MIN_GONE)
                of[k].n++;
        }
    }
    for (uint32_t k = 0; k < n; k++)
        if (of[k].n * of[k].size >= m->d->focus.live / WORTH &&
            of[k].n * of[k].size > m->outlived.n * m->outlived.size)
            m->outlived = of[k];
}

void mt_outlived_words(const struct mt_moment *m, struct mt_sentence *out)
{
    const struct mt_outlived *k = &m->outlived;
    char label[MT_LABEL], buf[MT_LABEL], count[32];
    if (k->n == 0)
        return;
    (void)mt_stack_label(m->w->r->t, k->stack, label, sizeof label);
    mt_words_add(out,
                 "%s%u tensor%s of %s%s from %s stayed while that line made %s others as large, "
                 "which went: something keeps %s, as a list does or the object of an earlier run.",
                 out->n != 0 ? " " : "", (unsigned)k->n, k->n == 1 ? "" : "s", MT_BYTES(k->size),
                 k->n == 1 ? "" : " each", mt_words_label(buf, label),
                 mt_words_count(count, k->gone), k->n == 1 ? "it" : "them");
}
