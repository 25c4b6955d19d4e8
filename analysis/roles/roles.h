/* roles.h -- what every byte is for, how long it lives, and which steps and micro-batches the trace
 * consists of.
 *
 * Every block that is live at any moment has exactly one role, decided once, at its birth, from:
 * pool, frames, exact size, lifetime (docs/diagnosis.md). So the bytes of the roles add up to the
 * live bytes after every event (`report --verify` checks it). Sizes are requested bytes.
 * Thread-safety: const after mt_roles_make(). */
#ifndef MT_ROLES_H
#define MT_ROLES_H

#include "analysis/replay/replay.h"
#include "analysis/facts/role_curve.h"
#include "analysis/facts/role_facts.h"

enum { MT_GROWN = 1, MT_GROWN_CACHE = 2 };

/* Working set of a device while it is analysed; freed before mt_analyze() returns. */
struct mt_roles {
    struct mt_replay *r;
    /* By event, of allocations; of a free_completed `freed` is the event of the allocation
     * (UINT32_MAX = before the trace) and `role` its role. NULL: no events or withheld. */
    struct mt_fate *fate;
    uint8_t *old_role, *old_life, *old_why; /* by index of r->old */
    /* by stack id: what frames alone say (role | why << 8), 0xffff = nothing */
    uint16_t *stack_role;
    uint8_t *freed_role; /* by stack id: of what it lets go; MT_ROLE_COUNT = nothing */
    /* by stack id: what each pass makes anew, longer: MT_GROWN, as keys and values MT_GROWN_CACHE;
     * may be NULL */
    uint8_t *grown;
    /* Allocations whose blocks are there at the focus, by event: few of all, so whoever asks for
     * these need not walk over the events. The focus is the failure, else the highest instant. */
    MT_VEC(uint32_t) there;
    struct mt_role_curve curve; /* until mt_role_curve_take() */
};

/* The memory for fates, before mt_replay_run() fills in which free belongs to which allocation. 1,
 * or 0 = out of memory. */
int mt_roles_begin(struct mt_roles *w, struct mt_replay *r);
/* After mt_replay_run() (or a withheld one). Fills w and *out; with verify the sums are compared
 * after every event, see out->first_bad_event. MT_OK or MT_ENOMEM. */
struct mt_role_rules; /* roles/rules.h */
enum mt_rc mt_roles_make(struct mt_roles *w, struct mt_role_facts *out, struct mt_replay *r,
                         struct mt_phaser *ph, const struct mt_role_rules *rules, bool verify);
void mt_roles_done(struct mt_roles *w);
void mt_role_facts_done(struct mt_role_facts *f);

/* Whether a size is that of several weights, of three sizes or more, that were made one after the
 * other: a flat copy of them. weights: n sizes in the order of births. */
bool mt_is_sum_of_weights(uint64_t size, const uint64_t *weights, uint32_t n);

/* The step that an event is in: index, UINT32_MAX = none. */
uint32_t mt_step_at(const struct mt_role_facts *f, uint64_t event);
/* The micro-batch that an event is in or after; UINT32_MAX = none. */
uint32_t mt_micro_at(const struct mt_role_facts *f, uint64_t event);

/* Segments at the end of the private pools that CUDA graphs were captured into: theirs as long as
 * the graphs are, whatever is live in them; that in *live, unless NULL. */
uint64_t mt_graph_segments(const struct mt_device_analysis *d, uint64_t *live);
/* *n_alone: graphs that have a private pool for themselves. Returns the bytes that are not in use
 * in those pools at the end, but for the largest: what one pool for all of them would not hold. */
uint64_t mt_graph_apart(const struct mt_device_analysis *d, uint32_t *n_alone);
/* What CUDA graphs with private pools hold beside them: segments at the end on streams that only
 * their capture ran on, blocks elsewhere. */
uint64_t mt_graph_beside(const struct mt_device_analysis *d);

/* Bytes, of these by role, that a phase never touches: the trainer's in the phases of an engine,
 * the engine's in those that need none. 0 for a phase of neither kind. */
uint64_t mt_useless(unsigned phase, const uint64_t roles[MT_ROLE_COUNT]);

#endif
