/* What a line made before many others of its size, which came and went one by one: the state of a
 * policy, of a filter, of a search that is made anew in each round. What goes with the next one is
 * held by a name; what has outlived them, by a list, a dict or an attribute that keeps what is
 * over. A line that collects its results keeps most of what it makes, and is told by others. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"

/* Chosen by hand: a twentieth of what is live is one tensor worth a word; eight rounds are no
 * layers of a pass; a line most of whose tensors stay is one that collects. Where one has outlived
 * so many, another that has outlived two is kept likewise: the moment may be early in a run. */
enum { OF_LIVE = 20, CAME = 8, FEW = 2, MAX = 64, ALL_OF_LIVE = 10 };

struct candidate {
    uint64_t size;
    uint32_t born, came;
    mt_frame_id line;
    mt_stack_id stack;
};

static bool may_be_of(const struct mt_moment *m, uint32_t born, uint64_t size)
{
    uint8_t role = m->w->fate[born].role;
    return size >= m->d->focus.live / OF_LIVE &&
           (role == MT_ROLE_TEMP || role == MT_ROLE_UNKNOWN || role == MT_ROLE_DATA);
}

/* Of the line of `of`: those that many have come after. */
static struct mt_outlived of_line(const struct candidate *c, uint32_t n, uint32_t of)
{
    struct mt_outlived out = {.stack = c[of].stack};
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].line != c[of].line || c[i].size != c[of].size || c[i].came < FEW)
            continue;
        out.n++;
        out.bytes += c[i].size;
        out.came = c[i].came > out.came ? c[i].came : out.came;
    }
    return out.came >= CAME && out.came / CAME >= out.n ? out : (struct mt_outlived){.n = 0};
}

int mt_moment_outlived(struct mt_moment *m)
{
    const struct mt_device *d = m->w->r->d;
    struct candidate c[MAX];
    uint32_t n = 0, *known;
    uint64_t end;
    if (m->w->fate == NULL || m->d->focus.event < 0 || m->d->focus.live == 0)
        return 1;
    if ((known = mt_calloc((size_t)m->w->r->t->stacks.n + 1, sizeof *known)) == NULL)
        return 0;
    for (uint32_t i = 0; i < m->w->there.n && n < MAX; i++) {
        uint32_t born = m->w->there.p[i];
        const struct mt_event *e = mt_event_at(d, born);
        mt_frame_id line;
        if (may_be_of(m, born, e->size) && (line = mt_moment_line(m, e->stack, known)) != 0)
            c[n++] = (struct candidate){e->size, born, 0, line, e->stack};
    }
    /* behind a failure its exception lets go of much; behind a peak the job goes on */
    end = m->oom != NULL ? (uint64_t)m->d->focus.event : d->events.n;
    for (uint64_t i = 0; n > 1 && i < end; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        uint32_t freed = m->w->fate[i].freed;
        if (e->action != MT_ACT_ALLOC || e->size < m->d->focus.live / OF_LIVE || freed >= end)
            continue;
        for (uint32_t k = 0; k < n; k++)
            c[k].came += c[k].size == e->size && c[k].born < i &&
                         freed < m->w->fate[c[k].born].freed &&
                         mt_moment_line(m, e->stack, known) == c[k].line;
    }
    for (uint32_t k = 0; k < n; k++) {
        struct mt_outlived now = of_line(c, n, k);
        if (now.bytes > m->outlived.bytes && now.bytes >= m->d->focus.live / ALL_OF_LIVE)
            m->outlived = now;
    }
    mt_free(known);
    return 1;
}
