/* What a snapshot says of its process's segments, and which process of a driver trace that is. */
#include "analysis/ledger/impl.h"

#include <stdlib.h>

#define SLACK                                                                                      \
    UINT64_C(20000000) /* ns: PyTorch notes a segment after the driver has returned it, and by     \
                          another clock */

struct origin { /* of what is held now */
    uint64_t t0, pool[2];
    bool is_expandable;
};
struct pieces {
    struct mt_spanset held; /* ids: indexes of origins */
    MT_VEC(struct origin) origins;
    struct mt_claims *out;
    int32_t ordinal;
};

static int put(struct pieces *s, uint64_t addr, uint64_t end, const struct origin *of, uint64_t t0,
               uint64_t t1)
{
    struct mt_claim *c;
    if (end <= addr)
        return 1;
    c = MT_VEC_PUSH(&s->out->list);
    if (c == NULL)
        return 0;
    c->addr = addr;
    c->size = end - addr;
    c->t0_ns = t0;
    c->t1_ns = t1;
    c->ordinal = s->ordinal;
    if (of != NULL) {
        c->pool[0] = of->pool[0];
        c->pool[1] = of->pool[1];
        c->is_expandable = of->is_expandable;
    }
    return 1;
}

enum told { TELL, TELL_GAPS, SILENT };

/* [addr, end) is given back at t1. What of it nobody held had been held since before the trace,
 * with TELL_GAPS. */
static int cut(struct pieces *s, uint64_t addr, uint64_t end, uint64_t t1, enum told told)
{
    struct mt_spanset_at pos;
    struct mt_spanset_item *p = mt_spanset_find(&s->held, addr, &pos);
    uint64_t at = addr;
    while (p != NULL && p->addr < end) {
        const struct origin *of = &s->origins.p[p->id];
        if (told == TELL_GAPS && p->addr > at && !put(s, at, p->addr, NULL, 0, t1))
            return 0;
        if (told != SILENT &&
            !put(s, p->addr > addr ? p->addr : addr, p->end < end ? p->end : end, of, of->t0, t1))
            return 0;
        at = p->end;
        if (p->addr < addr) { /* the part before the cut stays, and the part behind it */
            p->end = addr;
            if (at > end)
                return mt_spanset_insert(&s->held, end, at, p->id);
            p = mt_spanset_next(&s->held, &pos);
        } else if (p->end > end) {
            p->addr = end;
            break;
        } else {
            p = mt_spanset_erase(&s->held, &pos);
        }
    }
    return told != TELL_GAPS || at >= end || put(s, at, end, NULL, 0, t1);
}

static int event(struct pieces *s, const struct mt_trace *t, const struct mt_event *e, uint64_t ns)
{
    const struct mt_lane *lane = &t->lanes.p[e->lane];
    uint64_t end = e->addr + e->size;
    struct origin *of;
    if (e->size == 0 || end < e->addr)
        return 1;
    switch ((unsigned)e->action) {
    case MT_ACT_SEGMENT_ALLOC:
    case MT_ACT_SEGMENT_MAP:
        if (!cut(s, e->addr, end, ns, TELL) || (of = MT_VEC_PUSH(&s->origins)) == NULL)
            return 0;
        *of = (struct origin){ns, {lane->pool[0], lane->pool[1]}, e->action == MT_ACT_SEGMENT_MAP};
        return mt_spanset_insert(&s->held, e->addr, end, s->origins.n - 1);
    case MT_ACT_SEGMENT_FREE:
    case MT_ACT_SEGMENT_UNMAP: return cut(s, e->addr, end, ns, TELL_GAPS);
    default: return 1;
    }
}

/* Adds the segments at the snapshot's end as held since before the trace, except for the parts
 * whose beginning the trace shows. */
static int end_state(struct pieces *s, const struct mt_trace *t)
{
    for (uint32_t i = t->segments.n; i-- > 0;) {
        const struct mt_segment *g = &t->segments.p[i];
        struct origin of = {.pool = {g->pool[0], g->pool[1]}, .is_expandable = g->is_expandable};
        uint64_t at = g->addr, end = g->addr + g->total;
        struct mt_spanset_at pos;
        struct mt_spanset_item *p;
        if (!mt_segment_is_on(g, s->ordinal, MT_DEV_CUDA) || end < at)
            continue;
        for (p = mt_spanset_find(&s->held, at, &pos); at < end;
             p = mt_spanset_next(&s->held, &pos)) {
            bool some = p != NULL && p->addr < end;
            uint64_t from = some && p->addr > at ? p->addr : some ? at : end;
            uint64_t to = some ? p->end < end ? p->end : end : end;
            if (!put(s, at, from, &of, 0, 0) ||
                (some && !put(s, from, to, &of, s->origins.p[p->id].t0, 0)))
                return 0;
            at = to;
        }
        if (g->total != 0 && !cut(s, g->addr, end, 0, SILENT)) /* not twice */
            return 0;
    }
    return 1;
}

/* Adds the segments that begin in the trace and are not in its end state: when they went is not
 * known. */
static int lost(struct pieces *s)
{
    struct mt_spanset_at pos;
    for (struct mt_spanset_item *p = mt_spanset_find(&s->held, 0, &pos); p != NULL;
         p = mt_spanset_next(&s->held, &pos)) {
        const struct origin *of = &s->origins.p[p->id];
        if (!put(s, p->addr, p->end, of, of->t0, of->t0 + 1))
            return 0;
    }
    return 1;
}

/* The events of one device, as far as they are of segments. */
static int note_events(struct mt_claims *out, uint32_t device)
{
    const struct mt_device *d = &out->trace->devices.p[device];
    uint64_t left = d->n_by_action[MT_ACT_SEGMENT_ALLOC] + d->n_by_action[MT_ACT_SEGMENT_MAP] +
                    d->n_by_action[MT_ACT_SEGMENT_FREE] + d->n_by_action[MT_ACT_SEGMENT_UNMAP];
    for (uint64_t k = 0; left != 0 && k < d->events.n; k++) {
        const struct mt_event *e = mt_event_at(d, k);
        struct mt_segment_event *to;
        if (!mt_action_is_segment(e->action))
            continue;
        left--;
        if ((to = MT_VEC_PUSH(&out->events)) == NULL)
            return 0;
        *to = (struct mt_segment_event){*e, mt_event_ns(d, k), device};
    }
    return 1;
}

static enum mt_rc no_memory(struct mt_claims *c, struct mt_err *err)
{
    mt_claims_done(c);
    return mt_fail(err, MT_ENOMEM, "out of memory while noting the segments of a snapshot");
}

enum mt_rc mt_claims_note(struct mt_claims *out, const struct mt_trace *t, struct mt_err *err)
{
    int ok = 1;
    memset(out, 0, sizeof *out);
    out->pid = t->meta.pid;
    out->uid = t->meta.uid;
    out->rank = t->meta.rank;
    out->trace = t;
    out->is_noted = true;
    if (t->meta.host != NULL) {
        out->host = mt_strndup(t->meta.host, strlen(t->meta.host));
        ok = out->host != NULL;
    }
    for (uint32_t i = 0; ok && i < t->devices.n; i++) {
        const struct mt_device *d = &t->devices.p[i];
        if (d->kind != MT_DEV_CUDA)
            continue;
        if (d->last_time_ns > out->dump_ns)
            out->dump_ns = d->last_time_ns;
        ok = note_events(out, i);
    }
    return ok ? MT_OK : no_memory(out, err);
}

enum mt_rc mt_claims_make(struct mt_claims *c, struct mt_err *err)
{
    const struct mt_trace *t = c->trace;
    struct pieces s = {.out = c};
    uint32_t at = 0;
    int ok = 1;
    for (uint32_t i = 0; ok && c->is_noted && i < t->devices.n; i++) {
        if (t->devices.p[i].kind != MT_DEV_CUDA)
            continue;
        s.ordinal = t->devices.p[i].ordinal;
        for (; ok && at < c->events.n && c->events.p[at].device == i; at++)
            ok = event(&s, t, &c->events.p[at].e, c->events.p[at].ns);
        ok = ok && end_state(&s, t) && lost(&s);
        mt_spanset_done(&s.held);
        s.origins.n = 0;
    }
    MT_VEC_DONE(&s.origins);
    MT_VEC_DONE(&c->events);
    c->is_noted = false;
    return ok ? MT_OK : no_memory(c, err);
}

void mt_claims_peak(struct mt_claims *c, const struct mt_analysis *a)
{
    const struct mt_device_analysis *d =
        a->verdict.device < a->devices.n ? &a->devices.p[a->verdict.device] : NULL;
    if (d == NULL || a->verdict.kind != MT_V_PEAK || d->kind != MT_DEV_CUDA || d->withheld != NULL)
        return;
    c->peak_ns = d->peak_ns;
    c->peak_ordinal = d->ordinal;
}

void mt_claims_done(struct mt_claims *c)
{
    MT_VEC_DONE(&c->events);
    MT_VEC_DONE(&c->list);
    mt_free(c->host);
    c->host = NULL;
}

/* ---- when it was taken ---- */

/* "1795276689.568267" at s, which ends before end: ns; 0 = it is no such number. */
static uint64_t seconds(const char *s, const char *end)
{
    uint64_t whole = 0, part = 0, scale = MT_SECOND;
    for (; s < end && *s >= '0' && *s <= '9' && whole < UINT64_C(1) << 33; s++)
        whole = whole * 10 + (uint64_t)(*s - '0');
    if (s < end && *s == '.')
        for (s++; s < end && *s >= '0' && *s <= '9' && scale > 1; s++) {
            scale /= 10;
            part += (uint64_t)(*s - '0') * scale;
        }
    return whole < UINT64_C(1) << 33 ? whole * MT_SECOND + part : 0;
}

/* First of the needle in [s, end), or NULL. */
static const char *find(const char *s, const char *end, const char *needle)
{
    size_t n = strlen(needle);
    for (; (size_t)(end - s) >= n; s++)
        if (memcmp(s, needle, n) == 0)
            return s;
    return NULL;
}

static uint64_t in_text(const char *s, const char *end, const char *name)
{
    uint64_t taken = 0;
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s)), *at;
        if (eol == NULL)
            eol = end;
        at = find(s, eol, " dumped ");
        if (at != NULL && find(at, eol, name) == at + 8 && at + 8 + strlen(name) < eol &&
            at[8 + strlen(name)] == ' ') {
            const char *begun = find(at, eol, " begun ");
            taken = seconds(begun != NULL ? begun + 7 : s, eol);
        }
        s = eol + 1;
    }
    return taken;
}

uint64_t mt_claims_taken(const struct mt_claims *c, const struct mt_trace *t)
{
    const struct mt_meta *m = &c->trace->meta;
    const char *name = m->member != NULL ? m->member : m->input,
               *slash = name != NULL ? strrchr(name, '/') : NULL;
    if (slash != NULL)
        name = slash + 1;
    for (uint32_t i = 0; name != NULL && name[0] != '\0' && i < t->driver->attachments.n; i++) {
        mt_str_id text = t->driver->attachments.p[i].text;
        uint64_t taken =
            text != 0 ? in_text(mt_str(t, text), mt_str(t, text) + mt_str_len(t, text), name) : 0;
        if (taken + MT_SECOND >= c->dump_ns &&
            taken != 0) /* never before the snapshot's own last event, as far as clocks agree */
            return taken;
    }
    return 0;
}

/* ---- which process ---- */

static bool in_time(const struct mt_claims *c, const struct mt_process *p)
{
    return c->dump_ns == 0 || p->first_ns == 0 ||
           (c->dump_ns + MT_SECOND >= p->first_ns && c->dump_ns <= p->last_ns + 10 * MT_SECOND);
}

uint32_t mt_claims_process(const struct mt_claims *c, const struct mt_trace *t)
{
    const struct mt_driver *d = t->driver;
    uint32_t by_pid = MT_NONE32, by_rank = MT_NONE32, only = MT_NONE32, n_pid = 0, n_rank = 0,
             n_cuda = 0;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        bool host = c->host == NULL || mt_str_len(t, p->host) == 0 ||
                    strcmp(c->host, mt_str(t, p->host)) == 0;
        if (c->uid != 0 && c->uid == p->uid)
            return i;
        if (!p->has_cuda || !host || !in_time(c, p))
            continue;
        n_cuda++;
        only = i;
        if (c->pid >= 0 && (uint64_t)c->pid == p->pid) {
            n_pid++;
            by_pid = i;
        }
        if (c->rank >= 0 && c->rank == p->rank) {
            n_rank++;
            by_rank = i;
        }
    }
    if (c->uid != 0)
        return MT_NONE32;
    if (n_pid == 1)
        return by_pid;
    if (c->pid < 0 && n_rank == 1)
        return by_rank;
    return c->pid < 0 && c->rank < 0 && n_cuda == 1 ? only : MT_NONE32;
}

/* ---- the sweep ---- */

static int by_t0(const void *pa, const void *pb)
{
    const struct mt_claim *a = *(const struct mt_claim *const *)pa,
                          *b = *(const struct mt_claim *const *)pb;
    if (a->t0_ns != b->t0_ns)
        return a->t0_ns < b->t0_ns ? -1 : 1;
    if (a->addr != b->addr)
        return a->addr < b->addr ? -1 : 1;
    return a->t1_ns < b->t1_ns ? -1 : a->t1_ns > b->t1_ns;
}

int mt_claim_sweep_add(struct mt_claim_sweep *s, const struct mt_claims *c)
{
    const struct mt_claim **grown;
    if (c->list.n == 0)
        return 1;
    grown = mt_realloc((void *)s->by_start, ((size_t)s->n + c->list.n) * sizeof *grown);
    if (grown == NULL)
        return 0;
    s->by_start = grown;
    for (uint32_t i = 0; i < c->list.n; i++)
        s->by_start[s->n++] = &c->list.p[i];
    s->sorted = false;
    return 1;
}

void mt_claim_sweep_rewind(struct mt_claim_sweep *s)
{
    s->at = 0;
    mt_spanset_done(&s->live);
}

/* Takes the place of whatever it overlaps. */
static int enter(struct mt_claim_sweep *s, uint32_t i)
{
    const struct mt_claim *c = s->by_start[i];
    struct mt_spanset_at pos;
    struct mt_spanset_item *p = mt_spanset_find(&s->live, c->addr, &pos);
    while (p != NULL && p->addr < c->addr + c->size)
        p = mt_spanset_erase(&s->live, &pos);
    return mt_spanset_insert(&s->live, c->addr, c->addr + c->size, i);
}

int mt_claim_sweep_has(struct mt_claim_sweep *s, uint64_t addr, uint64_t size, uint64_t now,
                       bool *yes)
{
    const struct mt_spanset_item *p;
    struct mt_spanset_at pos;
    if (!s->sorted && s->n > 1)
        qsort((void *)s->by_start, s->n, sizeof *s->by_start, by_t0);
    s->sorted = true;
    for (; s->at < s->n && s->by_start[s->at]->t0_ns <= now + SLACK; s->at++)
        if (!enter(s, s->at))
            return 0;
    p = mt_spanset_find(&s->live, addr, &pos);
    *yes = p != NULL && p->addr <= addr && addr + size <= p->end + (UINT64_C(1) << 21) &&
           (s->by_start[p->id]->t1_ns == 0 || s->by_start[p->id]->t1_ns >= now);
    return 1;
}

void mt_claim_sweep_done(struct mt_claim_sweep *s)
{
    mt_free((void *)s->by_start);
    mt_spanset_done(&s->live);
}
