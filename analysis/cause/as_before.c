/* What the pass at hand has beyond what earlier ones had when they came to the same request: a
 * longer sequence, a larger image, an expert that got most of the tokens. Those passes fitted, so
 * with as much as they had this one would have, too. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"

/* A quarter more, and a tenth of what is live: chosen by hand. It is a cause only where the request
 * would have fitted without. */
static bool is_more(const struct mt_moment *m)
{
    const struct mt_to_come *t = &m->to_come;
    return t->pass_before != 0 && t->pass_now / 5 >= t->pass_before / 4 &&
           t->pass_now - t->pass_before >= m->d->focus.live / 10;
}

static mt_frame_id site(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s)
{
    mt_frame_id frame = 0;
    return s != 0 && mt_stack_site(t, k, s, &frame) == MT_SITE_PYTHON ? frame : 0;
}

int mt_moment_as_before(struct mt_moment *m)
{
    const struct mt_replay *r = m->w->r;
    struct mt_to_come *t = &m->to_come;
    struct mt_file_kinds files;
    uint64_t *now, *before;
    int ok;
    if (!is_more(m))
        return 1;
    m->more = t->pass_now - t->pass_before;
    now = mt_calloc((size_t)r->t->frames.n + 1, sizeof *now);
    before = mt_calloc((size_t)r->t->frames.n + 1, sizeof *before);
    ok = now != NULL && before != NULL && mt_file_kinds_init(&files, r->t);
    for (uint32_t i = 0; ok && i < m->n_held; i++)
        if (m->held[i].event != UINT64_MAX && m->held[i].event >= t->now_first)
            now[site(r->t, &files, m->held[i].stack)] += m->held[i].size;
    for (uint64_t i = t->before_first; ok && i < t->before_at; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_ALLOC && m->w->fate[i].freed > t->before_at)
            before[site(r->t, &files, e->stack)] += e->size;
    }
    for (mt_frame_id f = 1; ok && f < r->t->frames.n; f++)
        if (now[f] > before[f] && now[f] - before[f] > m->more_now - m->more_before) {
            m->more_line = f;
            m->more_now = now[f];
            m->more_before = before[f];
        }
    if (ok)
        mt_file_kinds_done(&files);
    mt_free(now);
    mt_free(before);
    return ok;
}
