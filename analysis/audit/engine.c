/* Audits of an engine that shares the card: sleep and wake, CUDA graphs, expandable segments beside
 * private pools. */
#include "analysis/audit/impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* What a change moves: by its phase; of a free also by its own frames, which tell who frees, unless
 * the recording gave it the frames of the allocation. */
static unsigned move_of_event(struct mt_pass *p, const struct mt_change *c,
                              const struct mt_event *e)
{
    unsigned m = MT_PH_NONE;
    if (!c->is_alloc && e->stack != 0) {
        uint8_t *known = &p->stack_move[e->stack];
        if (*known == 0)
            *known = (uint8_t)(mt_move_of(mt_phaser_stack(p->ph, e->stack)) + 1);
        m = *known - 1u;
        if (m != MT_PH_NONE && e->stack == mt_change_stack(p, c))
            m = MT_PH_NONE;
    }
    return m != MT_PH_NONE ? m : mt_move_of(p->r->attr[p->i]);
}

int mt_pass_move(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e)
{
    unsigned phase = move_of_event(p, c, e);
    struct mt_move *m = p->moving ? &p->moves.p[p->moves.n - 1] : NULL;
    if (m != NULL && phase != m->phase) {
        memcpy(m->after, p->role, sizeof m->after);
        p->moving = false;
        if (m->in + m->out < MIB) /* less than 1 MiB moved: no row */
            p->moves.n--;
        m = NULL;
    }
    if (phase == MT_PH_NONE) {
        p->overfull = false;
        return 1;
    }
    if (m == NULL) {
        if (p->moves.n >= MT_AUDIT_MAX) {
            p->moves_left_out += !p->overfull;
            p->overfull = true;
            return 1;
        }
        m = MT_VEC_PUSH(&p->moves);
        if (m == NULL)
            return 0;
        memset(m, 0, sizeof *m);
        m->first = p->i;
        m->phase = (uint8_t)phase;
        memcpy(m->before, p->role, sizeof m->before);
        p->moving = true;
    }
    m->last = p->i;
    if (c->is_alloc)
        m->in += c->size;
    else
        m->out += c->size;
    return 1;
}

/* Words the largest role that an engine or a trainer still holds after a move out. */
static void word_what_is_left(char *buf, size_t cap, const uint64_t role[MT_ROLE_COUNT])
{
    static const uint8_t of[] = {MT_ROLE_KV_CACHE,    MT_ROLE_ENGINE_WEIGHTS, MT_ROLE_GRAPH_POOL,
                                 MT_ROLE_OPTIM_STATE, MT_ROLE_GRAD,           MT_ROLE_PARAM};
    uint8_t best = of[0];
    for (size_t i = 1; i < sizeof of; i++)
        if (role[of[i]] > role[best])
            best = of[i];
    if (role[best] == 0)
        (void)snprintf(buf, cap, "nothing");
    else
        (void)snprintf(buf, cap, "%s, %s", mt_role_words((enum mt_role)best), MT_BYTES(role[best]));
}

struct residency {
    uint64_t engine, n_with, n_training; /* in training */
    uint64_t trainer, n_with_trainer, n_rollouts;
    uint64_t live; /* at the peak where `engine` is highest */
    int64_t engine_event, trainer_event;
};

static struct residency find_residency(const struct mt_role_facts *f)
{
    struct residency r = {0, 0, 0, 0, 0, 0, 0, MT_NO_LINK, MT_NO_LINK};
    for (uint32_t i = 0; i < f->occurrences.n; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        if (mt_occurrence_trains(o)) {
            uint64_t e = mt_engine_bytes(o->peak_roles);
            r.n_training++;
            r.n_with += e != 0;
            if (e > r.engine) {
                r.engine = e;
                r.live = o->peak;
                r.engine_event = mt_link_event(o->peak_event);
            }
        } else if (o->phase == MT_PH_ROLLOUT_GENERATE || o->phase == MT_PH_ROLLOUT_PREFILL ||
                   o->phase == MT_PH_ROLLOUT_DECODE) {
            uint64_t t = o->peak_roles[MT_ROLE_OPTIM_STATE] + o->peak_roles[MT_ROLE_GRAD];
            r.n_rollouts++;
            r.n_with_trainer += t != 0;
            if (t > r.trainer) {
                r.trainer = t;
                r.trainer_event = mt_link_event(o->peak_event);
            }
        }
    }
    return r;
}

/* By how much what a sleep leaves has risen from the first sleep to the last, where it rose each
 * time; *n: sleeps, *at: event of the last. */
static uint64_t find_rise(const struct mt_pass *p, uint64_t *n, int64_t *at)
{
    uint64_t first = 0, before = 0;
    *n = 0;
    for (uint32_t i = 0; i < p->moves.n; i++) {
        const struct mt_move *m = &p->moves.p[i];
        uint64_t now = mt_engine_bytes(m->after);
        if (m->phase != MT_PH_ROLLOUT_WAKE_SLEEP || m->out <= m->in)
            continue;
        if (*n == 0)
            first = now;
        else if (now <= before)
            return 0;
        before = now;
        *at = (int64_t)m->last;
        (*n)++;
    }
    return *n >= 3 ? before - first : 0;
}

int mt_audit_sleep(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"When",          "What",          "Moved in",
                                           "Moved out",     "Engine before", "Engine after",
                                           "Trainer after", "Most left is",  NULL};
    struct residency r = find_residency(p->f);
    int64_t last_sleep = MT_NO_LINK;
    uint64_t sleeps, up = find_rise(p, &sleeps, &last_sleep);
    bool is_private = mt_engine_is_private(p->f);
    struct mt_audit *a;
    char buf[128], step[32];
    if (p->moves.n == 0 && r.engine == 0 && r.trainer == 0)
        return 1;
    a = mt_audit_new(out, "sleep_wake", "Sleep and wake, onload and offload", headings);
    if (a == NULL)
        return 0;
    for (uint32_t i = 0; i < p->moves.n; i++) {
        const struct mt_move *m = &p->moves.p[i];
        word_what_is_left(buf, sizeof buf, m->after);
        if (!mt_audit_add(a, "ttbbbbbt", mt_step_words(step, mt_step_at(p->f, m->first)),
                          mt_phase_words((enum mt_phase)m->phase), m->in, m->out,
                          mt_engine_bytes(m->before), mt_engine_bytes(m->after),
                          mt_trainer_bytes(m->after), buf))
            return 0;
    }
    a->rows_left_out += p->moves_left_out;
    if (up != 0) {
        a->finding = true;
        a->bytes = up;
        a->event = last_sleep;
        return mt_audit_say(
            a, "What sleep leaves of the engine rose each time, by %s over %llu sleeps.",
            MT_BYTES(up), (unsigned long long)sleeps);
    }
    if (r.engine != 0) {
        a->bytes = r.engine;
        a->event = r.engine_event;
        a->finding = !is_private && r.engine >= r.live / 20;
        return mt_audit_say(
            a,
            "In %llu of %llu stretches of training, up to %s of KV cache and engine weights stand "
            "in PyTorch's books%s.",
            (unsigned long long)r.n_with, (unsigned long long)r.n_training, MT_BYTES(r.engine),
            is_private ? "; they lie in private pools, which an engine that sleeps unmaps without "
                         "telling PyTorch, "
                         "so only a recording of the job tells whether they were there"
                       : " and on the card");
    }
    if (r.trainer != 0) {
        a->bytes = r.trainer;
        a->event = r.trainer_event;
        return mt_audit_say(a,
                            "In %llu of %llu stretches of rollout, up to %s of optimizer state and "
                            "gradients are on the card.",
                            (unsigned long long)r.n_with_trainer, (unsigned long long)r.n_rollouts,
                            MT_BYTES(r.trainer));
    }
    return mt_audit_say(a, "No memory of the engine is on the card while training, and none of the "
                           "trainer's states in a rollout.");
}

int mt_pass_graph(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e)
{
    struct mt_graph_pool *g;
    uint16_t lane;
    uint32_t at, unused;
    bool had;
    lane = c->is_alloc || c->born == UINT64_MAX ? e->lane : mt_event_at(p->r->d, c->born)->lane;
    if (!mt_addrmap_get(&p->graph_of, (uint64_t)lane << 9, &at)) {
        if (!c->is_alloc)
            return 1;
        g = MT_VEC_PUSH(&p->graphs);
        if (g == NULL ||
            !mt_addrmap_put(&p->graph_of, (uint64_t)lane << 9, p->graphs.n - 1, &had, &unused))
            return 0;
        *g = (struct mt_graph_pool){.lane = lane,
                                    .pool_known = (e->flags & MT_EV_POOL_KNOWN) != 0,
                                    .first_event = p->i,
                                    .phase = p->r->attr[p->i].phase,
                                    .sub = p->r->attr[p->i].sub};
        at = p->graphs.n - 1;
    }
    g = &p->graphs.p[at];
    if (c->is_alloc) {
        g->blocks++;
        g->live += c->size;
        g->peak = g->live > g->peak ? g->live : g->peak;
    } else {
        g->live -= c->size < g->live ? c->size : g->live;
    }
    return 1;
}

static void pool_words(char *buf, size_t cap, const struct mt_lane *l, bool known)
{
    if (!known)
        (void)snprintf(buf, cap, "not recorded, stream %lld", (long long)l->stream);
    else if (l->pool[0] == 0 && l->pool[1] == 0)
        (void)snprintf(buf, cap, "default pool, stream %lld", (long long)l->stream);
    else
        (void)snprintf(buf, cap, "(%llu, %llu)", (unsigned long long)l->pool[0],
                       (unsigned long long)l->pool[1]);
}

int mt_audit_graphs(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"Pool",    "Captured in", "When", "Blocks",
                                           "Highest", "At the end",  NULL};
    uint64_t in_training = 0, live = 0, all = 0;
    int64_t training_event = MT_NO_LINK;
    struct mt_audit *a;
    char pool[96], step[32];
    if (p->graphs.n == 0)
        return 1;
    a = mt_audit_new(out, "cuda_graphs", "CUDA graphs", headings);
    if (a == NULL)
        return 0;
    for (uint32_t i = 0; i < p->f->occurrences.n; i++) {
        const struct mt_occurrence *o = &p->f->occurrences.p[i];
        if (mt_occurrence_trains(o) && o->peak_roles[MT_ROLE_GRAPH_POOL] > in_training) {
            in_training = o->peak_roles[MT_ROLE_GRAPH_POOL];
            live = o->peak;
            training_event = mt_link_event(o->peak_event);
        }
    }
    for (uint32_t i = 0; i < p->graphs.n; i++) {
        const struct mt_graph_pool *g = &p->graphs.p[i];
        all += g->live;
        pool_words(pool, sizeof pool, &p->r->t->lanes.p[g->lane], g->pool_known);
        if (!mt_audit_add(a, "tttcbb", pool, MT_PHASE_WORDS(g->phase, g->sub),
                          mt_step_words(step, mt_step_at(p->f, g->first_event)), g->blocks, g->peak,
                          g->live))
            return 0;
    }
    a->bytes = p->f->peak[MT_ROLE_GRAPH_POOL];
    a->event =
        in_training != 0 ? training_event : mt_link_event(p->f->peak_event[MT_ROLE_GRAPH_POOL]);
    a->finding = in_training >= live / 20 && in_training != 0;
    if (in_training != 0)
        return mt_audit_say(a,
                            "CUDA graphs hold up to %s, and %s of it is there at the peak of "
                            "training: a captured graph keeps its "
                            "addresses, so sleep cannot give it back.",
                            MT_BYTES(a->bytes), MT_BYTES(in_training));
    if (mt_graph_segments(p->d, NULL) != 0)
        return mt_audit_say(a,
                            "CUDA graphs hold up to %s, and %s at the end; their private pools "
                            "keep segments of %s, whatever is live in them. Another %s of theirs "
                            "lies beside them: segments of streams that only their capture ran on, "
                            "with what libraries keep for these streams, and blocks elsewhere.",
                            MT_BYTES(a->bytes), MT_BYTES(all),
                            MT_BYTES(mt_graph_segments(p->d, NULL)),
                            MT_BYTES(mt_graph_beside(p->d)));
    return mt_audit_say(a, "CUDA graphs hold up to %s, and %s at the end.", MT_BYTES(a->bytes),
                        MT_BYTES(all));
}

static bool expandable_is_set(const struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->settings.n; i++) {
        const char *key = mt_str(t, t->settings.p[i].key);
        const char *dot = strrchr(key, '.');
        if (strcmp(dot != NULL ? dot + 1 : key, "expandable_segments") == 0)
            return strcmp(mt_str(t, t->settings.p[i].value), "True") == 0;
    }
    return false;
}

int mt_audit_expandable(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"Pool",     "Filled by", "Expandable", "Segments",
                                           "Reserved", "Free",      NULL};
    bool is_set = expandable_is_set(p->r->t), any = is_set;
    uint64_t n_private = 0, n_both = 0, bytes = 0;
    struct mt_audit *a;
    char pool[96];
    for (uint32_t i = 0; i < p->d->pools.n; i++) {
        const struct mt_pool_row *row = &p->d->pools.p[i];
        bool is_private = row->pool_known && (row->pool[0] != 0 || row->pool[1] != 0);
        any = any || row->is_expandable;
        n_private += is_private;
        n_both += is_private && row->is_expandable;
        bytes += is_private && row->is_expandable ? row->reserved : 0;
    }
    if (!any || n_private == 0)
        return 1;
    a = mt_audit_new(out, "expandable_pools", "Expandable segments beside private pools", headings);
    if (a == NULL)
        return 0;
    for (uint32_t i = 0; i < p->d->pools.n; i++) {
        const struct mt_pool_row *row = &p->d->pools.p[i];
        struct mt_lane l = {row->stream, {row->pool[0], row->pool[1]}};
        pool_words(pool, sizeof pool, &l, row->pool_known);
        if (!mt_audit_add(a, "tttcbb", row->pool_known ? pool : "not recorded", row->label,
                          row->is_expandable ? "yes" : "no", row->n_segments, row->reserved,
                          row->free))
            return 0;
    }
    a->finding = n_both != 0;
    a->bytes = bytes;
    if (n_both != 0)
        return mt_audit_say(a,
                            "%llu private pool%s in expandable segments (%s): a pool with an "
                            "allocator of its own, as sleep mode "
                            "uses, cannot give such memory back.",
                            (unsigned long long)n_both, n_both == 1 ? " lies" : "s lie",
                            MT_BYTES(bytes));
    return mt_audit_say(a,
                        "Expandable segments are on, and of %llu private pool%s none is "
                        "expandable, as it should be.",
                        (unsigned long long)n_private, n_private == 1 ? "" : "s");
}
