/* The roles of all bytes of a device: the passes in their order, the account of bytes by role, the
 * self-check. */
#include "analysis/roles/roles.h"
#include "analysis/roles/impl.h"

#include <string.h>

/* ---- the account ---- */

/* Bytes by role. Signed: a damaged trace may free more than it allocated. */
struct account {
    int64_t role[MT_ROLE_COUNT];
    int64_t total;
    int64_t unowned;   /* part of UNKNOWN that no known block accounts for */
    uint32_t next_old; /* next of r->old to be freed: it is in the order of the frees */
    bool contradicts;  /* a free of another size than its allocation */
};

static inline void add_to(int64_t *total, uint64_t bytes)
{
    *total = (int64_t)((uint64_t)*total + bytes);
}

static void begin_account(struct account *a, const struct mt_roles *w)
{
    uint64_t sum = 0;
    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < w->r->old.n; i++) {
        add_to(&a->role[w->old_role[i]], w->r->old.p[i].size);
        sum += w->r->old.p[i].size;
    }
    a->total = w->r->start_live;
    /* Where frees were lost, blocks never end and may sum to more than the anchored start holds.
     * The difference is unowned. */
    a->contradicts = sum != (uint64_t)a->total;
    a->unowned = (int64_t)((uint64_t)a->total - sum);
    add_to(&a->role[MT_ROLE_UNKNOWN], (uint64_t)a->unowned);
}

static inline void apply_event(struct account *a, const struct mt_roles *w,
                               const struct mt_event *e, uint32_t i)
{
    const struct mt_fate *f = &w->fate[i];
    if (e->action == MT_ACT_ALLOC) {
        add_to(&a->role[f->role], e->size);
        add_to(&a->total, e->size);
    } else if (e->action == MT_ACT_FREE_COMPLETED) {
        unsigned role = MT_ROLE_UNKNOWN;
        if (f->freed != MT_NEVER)
            role = f->role;
        else if (a->next_old < w->r->old.n)
            role = w->old_role[a->next_old++];
        add_to(&a->role[role], 0 - e->size);
        add_to(&a->total, 0 - e->size);
    }
}

/* Makes every share 0 or more. A contradictory trace leaves a share negative; the other shares lose
 * what it lacks, so that the sum stays the live bytes. */
static void settle_negative_shares(const int64_t *in, uint64_t *out, unsigned n)
{
    uint64_t lack = 0;
    for (unsigned i = 0; i < n; i++) {
        out[i] = in[i] > 0 ? (uint64_t)in[i] : 0;
        lack += in[i] < 0 ? 0 - (uint64_t)in[i] : 0;
    }
    for (unsigned i = n; i-- > 0 && lack != 0;) {
        uint64_t take = out[i] < lack ? out[i] : lack;
        out[i] -= take;
        lack -= take;
    }
}

/* ---- the end state, where there is no curve ---- */

static int classify_end(struct mt_rwork *k)
{
    struct mt_live_set live = {NULL, 0, 0};
    struct mt_role_facts *f = k->out;
    int ok = mt_replay_live_end(k->r, k->ph, &live);
    for (uint32_t i = 0; ok && i < live.n; i++) {
        const struct mt_live *l = &live.p[i];
        uint8_t why;
        unsigned role = mt_role_of_held(k, l->addr, UINT64_MAX, l->stack, l->attr, &why);
        unsigned named = mt_role_by_name(k, UINT64_MAX, l->addr);
        if (named != MT_ROLE_COUNT) {
            role = named;
            why = MT_WHY_NAME;
        } else if (l->stack == 0 && why == MT_WHY_NONE) {
            role = MT_ROLE_BEFORE;
            why = MT_WHY_BEFORE;
        }
        f->at_focus[role] += l->size;
        f->why_at_focus[why] += l->size;
        f->life_at_focus[MT_LIFE_UNKNOWN] += l->size;
        if (role == MT_ROLE_UNKNOWN)
            f->unknown_reasons[mt_attr_conf(l->attr)] += l->size;
    }
    mt_free(live.p);
    for (unsigned role = 0; role < MT_ROLE_COUNT; role++)
        f->peak_event[role] = MT_NO_EVENT;
    return ok;
}

/* ---- bytes that wait for other streams ---- */

struct waiting {
    struct mt_addrmap at; /* address -> index */
    MT_VEC(struct mt_size_use) v;
};

static int add_waiting(struct waiting *p, uint64_t addr, uint64_t size)
{
    struct mt_size_use *u = MT_VEC_PUSH(&p->v);
    uint32_t old;
    bool had;
    if (u == NULL)
        return 0;
    u->size = size;
    return mt_addrmap_put(&p->at, addr, p->v.n - 1, &had, &old);
}

/* Collects the frees that were requested and not completed after event `at`. A request whose
 * completion is the next event is skipped: most are. */
static int collect_waiting(const struct mt_roles *w, int64_t at, struct waiting *p)
{
    const struct mt_device *d = w->r->d;
    uint32_t index;
    for (int64_t i = 0; i <= at; i++) {
        const struct mt_event *e = mt_event_at(d, (uint64_t)i);
        if (e->action == MT_ACT_FREE_REQUESTED) {
            const struct mt_event *next = i < at ? mt_event_at(d, (uint64_t)i + 1) : NULL;
            if (next != NULL && next->action == MT_ACT_FREE_COMPLETED && next->addr == e->addr)
                i++;
            else if (!add_waiting(p, e->addr, e->size))
                return 0;
        } else if (e->action == MT_ACT_FREE_COMPLETED && p->at.n != 0) {
            (void)mt_addrmap_take(&p->at, e->addr, &index);
        }
    }
    return 1;
}

/* Collects the blocks whose free was requested before recording began: those that the trace
 * completes, and those that still wait at its end. */
static int collect_waiting_from_start(const struct mt_roles *w, int64_t at, struct waiting *p)
{
    const struct mt_trace *t = w->r->t;
    struct mt_addrmap requested = {NULL, 0, 0};
    uint32_t unused;
    bool had;
    int ok = 1;
    for (uint64_t i = 0; ok && i < w->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(w->r->d, i);
        if (e->action == MT_ACT_FREE_REQUESTED)
            ok = mt_addrmap_put(&requested, e->addr, 0, &had, &unused);
    }
    for (uint32_t i = 0; ok && i < w->r->old.n; i++) {
        const struct mt_old *b = &w->r->old.p[i];
        if (b->gone_at != UINT64_MAX && (at < 0 || b->gone_at > (uint64_t)at) &&
            !mt_addrmap_get(&requested, b->addr, &unused))
            ok = add_waiting(p, b->addr, b->size);
    }
    for (uint32_t i = 0; ok && i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (!mt_segment_is_on(s, w->r->d->ordinal, w->r->d->kind))
            continue;
        for (uint32_t b = s->first_block; ok && b < s->first_block + s->n_blocks; b++)
            if (t->blocks.p[b].state == MT_BLOCK_PENDING_FREE &&
                !mt_addrmap_get(&requested, t->blocks.p[b].addr, &unused))
                ok = add_waiting(p, t->blocks.p[b].addr, t->blocks.p[b].requested);
    }
    mt_addrmap_done(&requested);
    return ok;
}

/* Adds the waiting bytes to the roles of their blocks: of the last allocation at the address, else
 * of a block that was there before recording. */
static int pending_at(const struct mt_roles *w, int64_t at, uint64_t pending[MT_ROLE_COUNT])
{
    const struct mt_device_analysis *o = w->r->out;
    struct waiting p = {.at = {NULL, 0, 0}};
    uint32_t index;
    if ((o->ooms.n != 0 ? o->ooms.p[0].at.pending : o->focus.pending) == 0)
        return 1;
    int ok = collect_waiting(w, at, &p) &&
             (w->r->start_pending == 0 || collect_waiting_from_start(w, at, &p));
    for (int64_t i = at; ok && i >= 0 && p.at.n != 0; i--) {
        const struct mt_event *e = mt_event_at(w->r->d, (uint64_t)i);
        if (e->action == MT_ACT_ALLOC && mt_addrmap_take(&p.at, e->addr, &index))
            pending[w->fate[i].role] += e->size;
    }
    for (uint32_t i = 0; ok && i < w->r->old.n && p.at.n != 0; i++) {
        const struct mt_old *b = &w->r->old.p[i];
        if ((b->gone_at == UINT64_MAX || at < 0 || b->gone_at > (uint64_t)at) &&
            mt_addrmap_take(&p.at, b->addr, &index))
            pending[w->old_role[i]] += b->size;
    }
    mt_addrmap_done(&p.at);
    MT_VEC_DONE(&p.v);
    return ok;
}

/* ---- the pass that adds up ---- */

/* Splits the live bytes of the focus `at` by lifetime, by reason and, of the unknown ones, by
 * confidence. In a contradictory trace the difference goes to "unknown" and "nothing", so that
 * every split has the same sum. */
static void split_focus(const struct mt_rwork *k, struct mt_role_facts *f, const struct account *a,
                        int64_t at)
{
    int64_t life[MT_LIFE_COUNT] = {0}, why[MT_WHY_COUNT] = {0}, unknown[MT_CONF_COUNT] = {0};
    const struct mt_replay *r = k->r;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->old.n; i++) {
        const struct mt_old *b = &r->old.p[i];
        if (b->gone_at != UINT64_MAX && at >= 0 && b->gone_at <= (uint64_t)at)
            continue;
        add_to(&life[k->w->old_life[i]], b->size);
        add_to(&why[k->w->old_why[i]], b->size);
        sum += b->size;
        if (k->w->old_role[i] == MT_ROLE_UNKNOWN)
            add_to(&unknown[MT_CONF_NONE], b->size);
    }
    for (uint32_t i = 0; i < k->w->there.n; i++) {
        const struct mt_fate *fate = &k->w->fate[k->w->there.p[i]];
        const struct mt_event *e = mt_event_at(r->d, k->w->there.p[i]);
        add_to(&life[fate->life], e->size);
        add_to(&why[fate->why], e->size);
        sum += e->size;
        if (fate->role == MT_ROLE_ACTIVATION && e->size > f->largest_activation)
            f->largest_activation = e->size;
        if (fate->role == MT_ROLE_CHECKPOINT && e->size > f->largest_copy)
            f->largest_copy = e->size;
        if (fate->role == MT_ROLE_UNKNOWN)
            add_to(&unknown[fate->conf], e->size);
    }
    add_to(&life[MT_LIFE_UNKNOWN], (uint64_t)a->total - sum);
    add_to(&why[MT_WHY_NONE], (uint64_t)a->total - sum);
    settle_negative_shares(a->role, f->at_focus, MT_ROLE_COUNT);
    settle_negative_shares(life, f->life_at_focus, MT_LIFE_COUNT);
    settle_negative_shares(why, f->why_at_focus, MT_WHY_COUNT);
    settle_negative_shares(unknown, f->unknown_reasons, MT_CONF_COUNT);
}

/* Keeps the bytes by role of every occurrence whose highest instant is this event. */
static void note_high_points(struct mt_role_facts *f, const struct account *a, int64_t event,
                             uint32_t *high)
{
    for (; *high < f->occurrences.n && f->occurrences.p[*high].peak_event == event; ++*high) {
        struct mt_occurrence *o = &f->occurrences.p[*high];
        settle_negative_shares(a->role, o->peak_roles, MT_ROLE_COUNT);
        o->useless = mt_useless(o->phase, o->peak_roles);
    }
}

/* Adds an allocation to the occurrence that it was made in: what is born there, and what outlives
 * it. */
static inline void note_birth(struct mt_role_facts *f, const struct mt_fate *fate, uint64_t size,
                              uint32_t i, uint32_t *at)
{
    struct mt_occurrence *o;
    while (*at < f->occurrences.n && f->occurrences.p[*at].last < i)
        ++*at;
    if (*at == f->occurrences.n || (o = &f->occurrences.p[*at])->first > i)
        return;
    o->n_allocs++;
    o->alloc_bytes += size;
    if (fate->freed > o->last) {
        o->retained += size;
        o->retained_roles[fate->role] += size;
    }
}

static inline void note_micro(struct mt_role_facts *f, const struct mt_fate *fate, uint64_t size,
                              uint32_t i, uint32_t *at)
{
    struct mt_micro *m;
    bool better;
    if (fate->role != MT_ROLE_LOGITS && fate->role != MT_ROLE_ACTIVATION)
        return;
    while (*at < f->micros.n && f->micros.p[*at].last < i)
        ++*at;
    if (*at == f->micros.n || (m = &f->micros.p[*at])->first > i)
        return;
    better = fate->role == MT_ROLE_LOGITS && !m->by_logits;
    if (better || ((fate->role == MT_ROLE_LOGITS) == m->by_logits && size > m->tokens_bytes))
        m->tokens_bytes = size;
    m->by_logits = m->by_logits || better;
}

static bool adds_up(const struct account *a)
{
    uint64_t role = 0;
    for (unsigned i = 0; i < MT_ROLE_COUNT; i++) {
        role += (uint64_t)a->role[i];
        if (!a->contradicts && a->role[i] < 0)
            return false;
    }
    return role == (uint64_t)a->total;
}

/* Checks that the roles add up to the live bytes, and these to the replay's own peak and end, which
 * know no roles. */
static void check_totals(const struct mt_rwork *k, struct account *a, const struct mt_event *e,
                         int64_t event)
{
    struct mt_role_facts *f = k->out;
    const struct mt_device_analysis *o = k->r->out;
    uint64_t total = (uint64_t)a->total;
    bool ok;
    if (e != NULL && e->action == MT_ACT_FREE_COMPLETED && k->w->fate[event].freed != MT_NEVER)
        a->contradicts =
            a->contradicts || mt_event_at(k->r->d, k->w->fate[event].freed)->size != e->size;
    ok = adds_up(a) && total <= o->live_peak && (event != o->peak_event || total == o->live_peak) &&
         (event + 1 != (int64_t)k->r->d->events.n || total == o->live_end);
    f->verified_events++;
    if (f->first_bad_event == MT_NO_EVENT && !ok)
        f->first_bad_event = event;
}

/* The next event after which something is looked at. */
static uint32_t next_mark(const struct mt_role_facts *f, const struct mt_role_columns columns[2],
                          uint32_t high, int64_t focus, bool verify)
{
    uint32_t mark = focus >= 0 ? (uint32_t)focus : UINT32_MAX;
    for (unsigned t = 0; t < 2; t++)
        if (mt_columns_mark(columns + t) < mark)
            mark = mt_columns_mark(columns + t);
    if (high < f->occurrences.n && f->occurrences.p[high].peak_event < (int64_t)mark)
        mark = (uint32_t)f->occurrences.p[high].peak_event;
    return verify ? 0 : mark;
}

static inline int64_t bytes_of_blocks(const struct account *a)
{
    return (int64_t)((uint64_t)a->total - (uint64_t)a->unowned);
}

/* The live bytes without the unowned ones: the curve is of blocks alone. */
static void curve_point(const struct mt_rwork *k, struct mt_role_curve_run *run, struct account *a,
                        uint32_t i)
{
    add_to(&a->role[MT_ROLE_UNKNOWN], 0 - (uint64_t)a->unowned);
    mt_role_curve_point(run, i, a->role, bytes_of_blocks(a), k->r->attr[i].phase);
    add_to(&a->role[MT_ROLE_UNKNOWN], (uint64_t)a->unowned);
}

static int add_up(struct mt_rwork *k, int64_t focus, bool verify)
{
    struct mt_role_facts *f = k->out;
    struct mt_role_curve_run run;
    struct mt_role_columns columns[2];
    struct account a;
    uint32_t occurrence = 0, high = 0, m = 0;
    if (!mt_role_curve_begin(&run, &k->w->curve, mt_n_events(k)) ||
        !mt_columns_begin(&columns[0], &k->r->out->timeline) ||
        !mt_columns_begin(&columns[1], &k->r->out->by_event))
        return 0;
    begin_account(&a, k->w);
    f->state_before = a.role[MT_ROLE_OPTIM_STATE] > 0 ? (uint64_t)a.role[MT_ROLE_OPTIM_STATE] : 0;
    for (unsigned role = 0; role < MT_ROLE_COUNT; role++) {
        f->peak[role] = a.role[role] > 0 ? (uint64_t)a.role[role] : 0;
        f->peak_event[role] = -1;
    }
    if (focus < 0)
        split_focus(k, f, &a, -1);
    if (verify)
        check_totals(k, &a, NULL, -1);
    note_high_points(f, &a, -1, &high);
    for (uint32_t i = 0, n = mt_n_events(k), mark = next_mark(f, columns, high, focus, verify);
         i < n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        apply_event(&a, k->w, e, i);
        if (e->action == MT_ACT_ALLOC) {
            const struct mt_fate *fate = &k->w->fate[i];
            f->alloc_bytes[fate->role] += e->size;
            if (a.role[fate->role] > (int64_t)f->peak[fate->role]) {
                f->peak[fate->role] = (uint64_t)a.role[fate->role];
                f->peak_event[fate->role] = i;
            }
            note_micro(f, fate, e->size, i, &m);
            note_birth(f, fate, e->size, i, &occurrence);
        }
        if (i >= run.end || bytes_of_blocks(&a) > run.best)
            curve_point(k, &run, &a, i);
        if (i < mark)
            continue;
        note_high_points(f, &a, i, &high);
        for (unsigned t = 0; t < 2; t++)
            mt_columns_note(&columns[t], i, a.role);
        if ((int64_t)i == focus) {
            split_focus(k, f, &a, i);
            focus = -1;
        }
        if (verify)
            check_totals(k, &a, e, i);
        mark = next_mark(f, columns, high, focus, verify);
    }
    for (unsigned t = 0; t < 2; t++)
        mt_columns_end(&columns[t]);
    return 1;
}

/* ---- the passes in their order ---- */

/* The role that frames give the failed request, which is no block of the trace. */
static unsigned request_role(const struct mt_roles *w)
{
    const struct mt_device_analysis *o = w->r->out;
    uint16_t role = o->ooms.n != 0 && o->ooms.p[0].stack != 0 ? w->stack_role[o->ooms.p[0].stack]
                                                              : MT_NO_STACK_ROLE;
    return role != MT_NO_STACK_ROLE ? role & 0xffu : MT_ROLE_UNKNOWN;
}

/* A request of a backward pass, where nothing else says what it is for, that is as large as a
 * weight and as nothing of the forward pass: the gradient of that weight. So is one as large as two
 * gradients or more that are there, as of copies of all of them in one piece. */
static void request_by_size(struct mt_rwork *k)
{
    const struct mt_device_analysis *o = k->r->out;
    const struct mt_oom *q = o->ooms.n != 0 ? &o->ooms.p[0] : NULL;
    const struct mt_size_use *u;
    if (q == NULL || q->attr.sub != MT_PH_BACKWARD || k->out->request_role != MT_ROLE_UNKNOWN)
        return;
    u = mt_size_use(k, q->request, false);
    if (u != NULL && (u->param || u->grads + u->cut >= 2) && !u->activation)
        k->out->request_role = MT_ROLE_GRAD;
}

int mt_roles_begin(struct mt_roles *w, struct mt_replay *r)
{
    uint64_t n = r->d->events.n;
    w->r = r;
    if (n == 0 || n >= MT_NEVER || r->out->withheld != NULL)
        return 1;
    w->fate = mt_malloc_big((size_t)n * sizeof *w->fate);
    if (w->fate == NULL)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        w->fate[i] = (struct mt_fate){.freed = MT_NEVER};
    r->fate = w->fate;
    return 1;
}

/* What sizes, passes and lifetimes tell of a model, before blocks have their roles, and after. */
static int before_fates(struct mt_rwork *k)
{
    return mt_casts_find(k) && mt_built_find(k) && mt_cast_stacks_find(k);
}

static int after_fates(struct mt_rwork *k)
{
    return mt_replaced_find(k) && mt_weights_count(k) && mt_rebuilt_find(k);
}

static int with_curve(struct mt_rwork *k, bool verify)
{
    const struct mt_device_analysis *o = k->r->out;
    const int64_t focus = o->ooms.n != 0 ? (int64_t)o->ooms.p[0].event : o->peak_event;
    size_t n = (size_t)k->r->old.n + 1;
    bool tensors = mt_is_of_tensors(k->r->t);
    k->focus = focus;
    k->w->old_role = mt_calloc(n, 1);
    k->w->old_life = mt_calloc(n, 1);
    k->w->old_why = mt_calloc(n, 1);
    if (k->w->old_role == NULL || k->w->old_life == NULL || k->w->old_why == NULL ||
        !mt_regions_make(k))
        return 0;
    if (tensors && (!mt_vocab_find(k) || !mt_sequences_find(k->r->t, k->r->d, &k->out->sequences)))
        return 0;
    if (!mt_steps_make(k) || (tensors && !before_fates(k)) || !mt_fates_decide(k) ||
        (tensors && !after_fates(k)) || !mt_old_roles(k))
        return 0;
    if (tensors && (!mt_weights_by_layers(k) || !mt_stays_find(k) || !mt_copies_find(k, focus) ||
                    !mt_loaded_find(k, focus) || !mt_layered_find(k) || !mt_lasting_find(k) ||
                    !mt_data_find(k, focus)))
        return 0;
    if (tensors)
        mt_recorded_find(k, focus);
    if (!add_up(k, focus, verify))
        return 0;
    if (tensors && (!mt_readers_find(k) || !mt_unweighted_find(k) || !mt_twins_find(k, focus) ||
                    !mt_idle_find(k, focus)))
        return 0;
    request_by_size(k);
    if (tensors) {
        mt_lone_find(k, focus);
        mt_graph_places(k);
        if (!mt_grown_sum(k, focus))
            return 0;
    }
    k->out->made = true;
    return pending_at(k->w, focus, k->out->pending_at_focus) && mt_growth_make(k);
}

enum mt_rc mt_roles_make(struct mt_roles *w, struct mt_role_facts *out, struct mt_replay *r,
                         struct mt_phaser *ph, const struct mt_role_rules *rules, bool verify)
{
    struct mt_rwork k = {.w = w, .out = out, .r = r, .ph = ph, .rules = rules};
    bool curve = r->out->withheld == NULL && (w->fate != NULL || r->d->events.n == 0);
    int ok;
    out->first_bad_event = MT_NO_EVENT;
    out->steps_from = "";
    w->r = r;
    w->stack_role = mt_malloc(((size_t)r->t->stacks.n + 1) * sizeof *w->stack_role);
    w->freed_role = mt_malloc((size_t)r->t->stacks.n + 1);
    ok = w->stack_role != NULL && w->freed_role != NULL &&
         mt_role_stacks(rules, r->t, w->stack_role, w->freed_role) && mt_pool_roles(&k);
    /* the first is of no stack, and tells nothing */
    k.frees_tell = ok && r->t->stacks.n > 1 &&
                   memcmp(w->freed_role, w->freed_role + 1, r->t->stacks.n - 1) != 0;
    out->request_role = MT_ROLE_UNKNOWN;
    if (ok) {
        out->request_role = (uint8_t)request_role(w);
        ok = curve ? with_curve(&k, verify) : classify_end(&k);
    }
    MT_VEC_DONE(&k.regions);
    MT_VEC_DONE(&k.sizes);
    MT_VEC_DONE(&k.casts);
    MT_VEC_DONE(&k.pools);
    MT_VEC_DONE(&k.spans);
    MT_VEC_DONE(&k.step_marks);
    mt_free(k.counted);
    mt_addrmap_done(&k.size_at);
    mt_addrmap_done(&k.named);
    mt_addrmap_done(&k.fared);
    return ok ? MT_OK : MT_ENOMEM;
}

void mt_roles_done(struct mt_roles *w)
{
    mt_free(w->fate);
    mt_free(w->old_role);
    mt_free(w->old_life);
    mt_free(w->old_why);
    mt_free(w->stack_role);
    mt_free(w->freed_role);
    mt_free(w->grown);
    MT_VEC_DONE(&w->there);
    mt_role_curve_done(&w->curve);
    memset(w, 0, sizeof *w);
}

void mt_role_facts_done(struct mt_role_facts *f)
{
    for (uint32_t i = 0; i < f->growth.n; i++)
        mt_free(f->growth.p[i].label);
    MT_VEC_DONE(&f->steps);
    MT_VEC_DONE(&f->micros);
    MT_VEC_DONE(&f->occurrences);
    MT_VEC_DONE(&f->growth);
    MT_VEC_DONE(&f->laps);
    MT_VEC_DONE(&f->pools);
    MT_VEC_DONE(&f->logits_by);
    MT_VEC_DONE(&f->unweighted);
}
