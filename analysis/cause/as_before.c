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

/* 0: it has no Python frame of the job's own. */
static mt_frame_id site(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s)
{
    mt_frame_id frame = 0;
    if (s == 0 || mt_stack_site(t, k, s, &frame) != MT_SITE_PYTHON)
        return 0;
    return (mt_file_kind(k, t, t->frames.p[frame].file) & MT_FILE_INTERNAL) != 0 ? 0 : frame;
}

/* Bytes by line that each of the two passes had then. What has no Python frames of the job's is
 * autograd's: of the line that called it, the last one before. */
static void add_up(const struct mt_moment *m, struct mt_file_kinds *files, uint64_t *now,
                   uint64_t *before)
{
    const struct mt_replay *r = m->w->r;
    const struct mt_to_come *t = &m->to_come;
    uint64_t at = m->oom->event;
    mt_frame_id line = 0;
    for (uint64_t i = t->before_first; i < at && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        uint32_t freed = m->w->fate[i].freed;
        mt_frame_id own;
        if (e->action != MT_ACT_ALLOC)
            continue;
        own = site(r->t, files, e->stack);
        line = own != 0 ? own : line;
        if (i >= t->now_first && freed > at)
            now[line] += e->size;
        if (i < t->before_at && freed > t->before_at)
            before[line] += e->size;
    }
}

/* Bytes of lines that grew by half or more, where as many lines as make a pass have what they had
 * before: what grew is no batch, which all of them would have followed. Lines with little are of
 * weights and norms. */
static uint64_t apart(const struct mt_moment *m, const uint64_t *now, const uint64_t *before)
{
    enum { MIN_LINES = 3, ALIKE = 16, OF_PASS = 4000 };
    uint64_t grown = 0;
    uint32_t same = 0;
    for (mt_frame_id f = 1; f < m->w->r->t->frames.n; f++) {
        uint64_t less = now[f] < before[f] ? now[f] : before[f], more = now[f] + before[f] - less;
        if (before[f] == 0)
            continue;
        if (now[f] / 3 >= before[f] / 2 && now[f] > before[f])
            grown += now[f];
        else if (more - less <= more / ALIKE && less >= m->to_come.pass_now / OF_PASS)
            same++;
    }
    return same >= MIN_LINES ? grown : 0;
}

/* Where no pass is known, as of a server that only decodes: what its earlier calls of the model
 * from that line asked for at this one, whoever called it, often and always less than a quarter, as
 * the call at hand never did. Stages of one network differ within a call. The numbers were chosen
 * by hand. */
static void by_calls(struct mt_moment *m, struct mt_file_kinds *files)
{
    enum { OFTEN = 8, LESS = 4 };
    const struct mt_replay *r = m->w->r;
    mt_frame_id call = m->call_of != NULL ? m->call_of[m->oom->stack] : 0,
                line = site(r->t, files, m->oom->stack);
    uint64_t most = 0, begun = call != 0 && line != 0 ? m->call_began[call] : 0;
    uint32_t n = 0;
    for (uint64_t i = 0; begun != 0 && i < m->oom->event && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action != MT_ACT_ALLOC || m->call_of[e->stack] != call ||
            site(r->t, files, e->stack) != line)
            continue;
        if (i + 1 >= begun) {
            if (e->size != m->oom->request)
                return;
            continue;
        }
        n++;
        most = e->size > most ? e->size : most;
    }
    if (n < OFTEN || m->oom->request / LESS < most)
        return;
    m->to_come.before_most = most;
    m->to_come.passes = 0;
}

bool mt_asks_far_more(const struct mt_moment *m)
{
    enum { FAR = 4, OF_CARD = 8 }; /* chosen by hand; one of many small ones is not what fills it */
    uint64_t most = m->to_come.before_most;
    return most != 0 && m->oom->request / FAR >= most && m->oom->request >= m->visible / OF_CARD &&
           (mt_moment_need(m, most) <= m->oom->device_free ||
            (m->oom->at.holes_known && most <= m->oom->at.largest_usable));
}

int mt_moment_as_before(struct mt_moment *m)
{
    enum { MOST = 4 }; /* a line with less of the difference explains nothing; chosen by hand */
    const struct mt_replay *r = m->w->r;
    struct mt_to_come *t = &m->to_come;
    struct mt_file_kinds files;
    uint64_t *now, *before;
    int ok;
    if (m->oom == NULL)
        return 1;
    if (t->passes == 0 || t->before_most >= m->oom->request) { /* a layer before it asked for it */
        if (!mt_file_kinds_init(&files, r->t))
            return 0;
        by_calls(m, &files);
        mt_file_kinds_done(&files);
    }
    if (!is_more(m))
        return 1;
    m->more = t->pass_now - t->pass_before;
    now = mt_calloc((size_t)r->t->frames.n + 1, sizeof *now);
    before = mt_calloc((size_t)r->t->frames.n + 1, sizeof *before);
    ok = now != NULL && before != NULL && mt_file_kinds_init(&files, r->t);
    if (ok) {
        add_up(m, &files, now, before);
        mt_file_kinds_done(&files);
    }
    m->apart = ok ? apart(m, now, before) : 0;
    for (mt_frame_id f = 1; ok && f < r->t->frames.n; f++)
        if (now[f] > before[f] && now[f] - before[f] > m->more_now - m->more_before &&
            now[f] - before[f] >= m->more / MOST) {
            m->more_line = f;
            m->more_now = now[f];
            m->more_before = before[f];
        }
    mt_free(now);
    mt_free(before);
    return ok;
}
