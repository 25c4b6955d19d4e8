/* audit/impl.h -- what the audits share: one pass over the events that feeds them all, and tables.
 */
#ifndef MT_AUDIT_IMPL_H
#define MT_AUDIT_IMPL_H

#include "analysis/audit/audit.h"

#define MT_AUDIT_MAX 4096u /* stretches, syncs and sites that are kept before a table is cut */

/* A stretch of events in which memory moves in or out: sleep, wake, onload, offload. */
struct mt_move {
    uint64_t first, last;
    uint8_t phase; /* MT_PH_ROLLOUT_WAKE_SLEEP or MT_PH_ONLOAD_OFFLOAD */
    uint64_t in, out;
    uint64_t before[MT_ROLE_COUNT], after[MT_ROLE_COUNT];
};

/* One weight sync: an occurrence of that phase. */
struct mt_sync {
    uint32_t occurrence;
    uint64_t buckets, largest, bytes;      /* blocks of the sync's own buffers */
    uint64_t alive, alive_bytes;           /* now */
    uint64_t alive_peak, alive_peak_bytes; /* together */
    uint64_t alive_event, born_event;      /* at which they were */
    uint64_t born, born_peak;              /* bytes of all that was allocated in it */
    uint64_t born_blocks, born_peak_blocks;
};

/* Blocks by stack: gathers, and delayed frees. */
struct mt_site {
    mt_stack_id stack;
    uint64_t blocks, bytes, largest;
    uint64_t alive_bytes, alive_peak; /* gathers */
    uint64_t longest;                 /* delayed frees: ns, or events without a clock */
    double byte_time;
};
struct mt_sites {
    MT_VEC(struct mt_site) v;
    struct mt_addrmap at;
    uint64_t left_out;
};

/* The gathers between two moments at which none is alive. */
struct mt_window {
    uint64_t alive, alive_blocks, blocks, bytes, largest, peak, peak_blocks;
    uint64_t peak_event;
    /* groups: gathers with no other allocation between them, the parameters of one layer */
    uint64_t groups;
};

/* Gathers of a pass over the model, each a unit of FSDP. */
struct mt_units {
    uint32_t pass, gathers;      /* at hand */
    uint64_t group, least, most; /* bytes of the gather at hand; of those of the pass */
    uint64_t last;               /* event of the last one */
    uint32_t whole, parted;      /* passes of one unit, and of several */
};

struct mt_graph_pool {
    uint16_t lane;
    bool pool_known;
    uint64_t blocks, live, peak, first_event;
    uint8_t phase, sub;
};

struct mt_pass {
    const struct mt_roles *w;
    const struct mt_role_facts *f;
    const struct mt_device_analysis *d;
    struct mt_phaser *ph;
    const struct mt_replay *r;
    uint64_t i;                   /* event */
    uint64_t role[MT_ROLE_COUNT]; /* live */
    uint64_t live;
    uint32_t old_at; /* next of r->old that is freed */
    uint32_t occ;    /* index of the occurrence that the event lies in, or of the next one */
    bool in_sync;    /* the event lies in a weight sync */
    uint64_t occ_end, steps_end; /* events: the next occurrence, the end of the first two steps */
    uint8_t *stack_move;         /* by stack: what its frames move, + 1; 0 = not asked yet */
    MT_VEC(struct mt_move) moves;
    uint64_t moves_left_out;
    bool moving, overfull; /* overfull: in a stretch that is not kept */
    MT_VEC(struct mt_sync) syncs;
    struct mt_sites gathers, delayed;
    bool in_group;
    /* kept: the largest window in which gathers stayed; peak 0 = none */
    struct mt_window window, kept;
    struct mt_units unit;
    uint64_t gathers_peak, gathers_peak_blocks, gathers_largest, gathers_event;
    struct mt_addrmap asked; /* free requested: address -> event */
    bool at_once;            /* the event before requested this free */
    uint64_t pending;        /* of the delayed ones */
    uint64_t delayed_peak, delayed_event;
    MT_VEC(struct mt_graph_pool) graphs;
    struct mt_addrmap graph_of; /* lane */
    uint64_t state_base, state_now, before_state,
        /* base: of state, and of what is older than the trace, before the first */
        second_peak;
    uint64_t state_event; /* of the first of that state */
    bool state_seen, state_older, second_done;
    uint64_t param_peak;
};

/* What an event did: an allocation or a completed free of a block with a known role. */
struct mt_change {
    bool is_alloc;
    uint64_t size, born; /* event of its allocation; UINT64_MAX = before the trace */
    uint8_t role;
};
static inline unsigned mt_move_of(struct mt_attr a)
{
    if (a.phase == MT_PH_ROLLOUT_WAKE_SLEEP || a.sub == MT_PH_ROLLOUT_WAKE_SLEEP)
        return MT_PH_ROLLOUT_WAKE_SLEEP;
    return a.phase == MT_PH_ONLOAD_OFFLOAD || a.sub == MT_PH_ONLOAD_OFFLOAD ? MT_PH_ONLOAD_OFFLOAD
                                                                            : MT_PH_NONE;
}
/* Whether an event may belong to a move or end one: most do not. */
static inline bool mt_may_move(const struct mt_pass *p, const struct mt_event *e)
{
    return p->moving || p->overfull || mt_move_of(p->r->attr[p->i]) != MT_PH_NONE ||
           (e->action != MT_ACT_ALLOC && e->stack != 0 &&
            p->stack_move[e->stack] != MT_PH_NONE + 1);
}
/* The stack of the allocation; 0 = unknown. A look-up far away in memory, so only where it is
 * needed. */
static inline mt_stack_id mt_change_stack(const struct mt_pass *p, const struct mt_change *c)
{
    return c->born != UINT64_MAX ? mt_event_at(p->r->d, c->born)->stack : 0;
}

/* All return 1, or 0 = out of memory. */
int mt_pass_move(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e);
int mt_pass_sync(struct mt_pass *p, const struct mt_change *c);
int mt_pass_graph(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e);
int mt_pass_gather(struct mt_pass *p, const struct mt_change *c);
void mt_window_end(struct mt_pass *p);
void mt_pass_unit(struct mt_pass *p, uint64_t size); /* a gather, before mt_pass_gather() */
int mt_pass_asked(struct mt_pass *p, const struct mt_event *e);
int mt_pass_waited(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e);
/* A free is delayed when anything happened between its request and its completion: most are not. */
static inline int mt_pass_delayed(struct mt_pass *p, const struct mt_change *c,
                                  const struct mt_event *e)
{
    if (c->is_alloc) { /* a free that completes at once has done so by now */
        if (p->pending > p->delayed_peak) {
            p->delayed_peak = p->pending;
            p->delayed_event = p->i;
        }
        return 1;
    }
    if (!p->at_once)
        return p->asked.n == 0 || mt_pass_waited(p, c, e);
    p->pending -= c->size < p->pending ? c->size : p->pending;
    p->at_once = false;
    return 1;
}
void mt_pass_step(struct mt_pass *p, const struct mt_change *c);

int mt_audit_sleep(struct mt_audits *out, struct mt_pass *p);
int mt_audit_sync(struct mt_audits *out, struct mt_pass *p);
int mt_audit_graphs(struct mt_audits *out, struct mt_pass *p);
int mt_audit_expandable(struct mt_audits *out, struct mt_pass *p);
int mt_audit_first_step(struct mt_audits *out, struct mt_pass *p);
int mt_audit_gathers(struct mt_audits *out, struct mt_pass *p);
int mt_audit_unit(struct mt_audits *out, struct mt_pass *p);
int mt_audit_delayed(struct mt_audits *out, struct mt_pass *p);

/* The site of a stack; NULL with *ok = true when there are too many, with *ok = false when out of
 * memory. */
struct mt_site *mt_site_of(struct mt_sites *s, mt_stack_id stack, bool *ok);
void mt_sites_sort(struct mt_sites *s); /* most bytes first; ends look-ups */

/* A new table; headings end with NULL. NULL = out of memory. */
struct mt_audit *mt_audit_new(struct mt_audits *out, const char *id, const char *title,
                              const char *const *headings);
/* One row: t = const char *, b = uint64_t bytes, c = uint64_t count, - = nothing (no argument). */
int mt_audit_add(struct mt_audit *a, const char *cells, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int mt_audit_say(struct mt_audit *a, const char *fmt, ...);
/* "step 3", "before the first" */
char *mt_step_words(char buf[32], uint32_t step);
static inline uint64_t mt_engine_bytes(const uint64_t role[MT_ROLE_COUNT])
{
    return role[MT_ROLE_KV_CACHE] + role[MT_ROLE_ENGINE_WEIGHTS];
}
static inline uint64_t mt_trainer_bytes(const uint64_t role[MT_ROLE_COUNT])
{
    return role[MT_ROLE_PARAM] + role[MT_ROLE_GRAD] + role[MT_ROLE_OPTIM_STATE];
}
static inline bool mt_occurrence_trains(const struct mt_occurrence *o)
{
    return o->phase == MT_PH_TRAIN || o->phase == MT_PH_TRAIN_ACTOR ||
           o->phase == MT_PH_TRAIN_CRITIC;
}

#endif
