/* The memory of CUDA graphs beside their private pools: on streams that only their capture ran on,
 * the libraries' workspaces and what is cached; on other streams, their blocks. */
#include "analysis/roles/impl.h"

struct stream {
    int64_t id;
    uint8_t phase; /* of its first allocation */
    bool used, alone;
    uint64_t kept; /* of graphs, live at the end, in no pool of theirs */
};

static struct stream *find(struct stream *of, uint32_t n, int64_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (of[i].id == id)
            return &of[i];
    return NULL;
}

static uint32_t captured_on(const struct mt_rwork *k, struct stream *of)
{
    uint32_t n = 0;
    for (uint64_t i = 0; i < k->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        int64_t id = k->r->t->lanes.p[e->lane].stream;
        if (e->action == MT_ACT_ALLOC && mt_pool_role_of(k, e, i) == MT_ROLE_GRAPH_POOL &&
            find(of, n, id) == NULL && n < MT_GRAPH_STREAMS)
            of[n++] = (struct stream){.id = id, .alone = true};
    }
    return n;
}

void mt_graph_places(struct mt_rwork *k)
{
    struct stream of[MT_GRAPH_STREAMS], *s;
    struct mt_role_facts *f = k->out;
    uint32_t n = 0, pools = 0;
    for (uint32_t i = 0; i < f->pools.n; i++)
        pools += f->pools.p[i].role == MT_ROLE_GRAPH_POOL;
    n = pools != 0 && k->r->attr != NULL ? captured_on(k, of) : 0;
    for (uint64_t i = 0; n != 0 && i < k->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        const struct mt_fate *fate = &k->w->fate[i];
        uint64_t kept = 0;
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (fate->freed == MT_NEVER && fate->role == MT_ROLE_GRAPH_POOL &&
            mt_pool_role_of(k, e, i) != MT_ROLE_GRAPH_POOL)
            kept = e->size;
        s = find(of, n, k->r->t->lanes.p[e->lane].stream);
        if (s == NULL) {
            f->graph_elsewhere += kept;
            continue;
        }
        if (!s->used)
            s->phase = k->r->attr[i].phase;
        s->used = true;
        s->alone = s->alone && k->r->attr[i].phase == s->phase;
        s->kept += kept;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (of[i].alone)
            f->graph_stream[f->n_graph_streams++] = of[i].id;
        else
            f->graph_elsewhere += of[i].kept;
    }
}

static bool is_of_graphs(const struct mt_role_facts *f, const struct mt_pool_row *row)
{
    for (uint32_t i = 0; i < f->pools.n; i++)
        if (f->pools.p[i].pool[0] == row->pool[0] && f->pools.p[i].pool[1] == row->pool[1])
            return f->pools.p[i].role == MT_ROLE_GRAPH_POOL;
    return false;
}

uint64_t mt_graph_segments(const struct mt_device_analysis *d, uint64_t *live)
{
    uint64_t bytes = 0, used = 0;
    for (uint32_t i = 0; i < d->pools.n; i++)
        if (is_of_graphs(&d->roles, &d->pools.p[i])) {
            bytes += d->pools.p[i].reserved;
            used += d->pools.p[i].active_requested;
        }
    if (live != NULL)
        *live = used;
    return bytes;
}

uint64_t mt_graph_beside(const struct mt_device_analysis *d)
{
    uint64_t bytes = d->roles.graph_elsewhere;
    for (uint32_t i = 0; i < d->pools.n; i++) {
        const struct mt_pool_row *row = &d->pools.p[i];
        for (uint32_t k = 0; k < d->roles.n_graph_streams; k++)
            if (row->stream == d->roles.graph_stream[k] && row->pool[0] == 0 && row->pool[1] == 0)
                bytes += row->reserved;
    }
    return bytes;
}

/* What is free in a pool stays its graph's: a replay writes there. */
uint64_t mt_graph_apart(const struct mt_device_analysis *d, uint32_t *n_alone)
{
    uint64_t sum = 0, largest = 0;
    *n_alone = 0;
    for (uint32_t i = 0; i < d->roles.pools.n; i++) {
        const struct mt_role_pool *p = &d->roles.pools.p[i];
        uint64_t reserved = 0, used = 0, unused;
        if (p->role != MT_ROLE_GRAPH_POOL || p->pool[0] == 0 || p->pool[1] != 0)
            continue; /* (0, number): one that graphs may share already */
        for (uint32_t j = 0; j < d->pools.n; j++)
            if (d->pools.p[j].pool[0] == p->pool[0] && d->pools.p[j].pool[1] == 0) {
                reserved += d->pools.p[j].reserved;
                used += d->pools.p[j].active_requested;
            }
        unused = reserved > used ? reserved - used : 0;
        *n_alone += reserved != 0;
        largest = unused > largest ? unused : largest;
        sum += unused;
    }
    return sum - largest;
}
