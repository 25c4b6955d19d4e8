/* What a snapshot says of its process's segments, and which process of a driver
 * trace that is. */
#include "analysis/job_impl.h"

#include <stdlib.h>

#define SLACK                                                                                                                  \
    UINT64_C(20000000) /* PyTorch notes a segment after the driver has returned  \
                        it, by another clock */

struct piece { /* held now */
    uint64_t addr, end, t0, pool[2];
    bool is_expandable;
};
struct pieces {
    MT_VEC(struct piece) v; /* by address, never overlapping */
    struct mt_claims *out;
    int32_t ordinal;
};

static int put(struct pieces *s, uint64_t addr, uint64_t end, const struct piece *of, uint64_t t0, uint64_t t1)
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

static uint32_t first_after(const struct pieces *s, uint64_t addr) /* first piece that ends behind addr */
{
    uint32_t lo = 0, hi = s->v.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->v.p[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static int insert(struct pieces *s, uint32_t at, const struct piece *p)
{
    if (MT_VEC_PUSH(&s->v) == NULL)
        return 0;
    memmove(s->v.p + at + 1, s->v.p + at, (s->v.n - 1 - at) * sizeof *s->v.p);
    s->v.p[at] = *p;
    return 1;
}

static void erase(struct pieces *s, uint32_t from, uint32_t to)
{
    if (to > from) {
        memmove(s->v.p + from, s->v.p + to, (s->v.n - to) * sizeof *s->v.p);
        s->v.n -= to - from;
    }
}

/* [addr, end) is given back at t1. What of it nobody held had been held since
 * before the trace, when `gaps`. */
static int cut(struct pieces *s, uint64_t addr, uint64_t end, uint64_t t1, bool gaps)
{
    uint32_t i = first_after(s, addr), from = i;
    uint64_t at = addr;
    while (i < s->v.n && s->v.p[i].addr < end) {
        struct piece p = s->v.p[i], rest = p;
        if (gaps && p.addr > at && !put(s, at, p.addr, NULL, 0, t1))
            return 0;
        if (!put(s, p.addr > addr ? p.addr : addr, p.end < end ? p.end : end, &p, p.t0, t1))
            return 0;
        at = p.end;
        if (p.addr < addr) { /* what lies before stays; so may what lies behind */
            s->v.p[i].end = addr;
            from = ++i;
            if (p.end > end) {
                rest.addr = end;
                return insert(s, i, &rest);
            }
        } else if (p.end > end) {
            s->v.p[i].addr = end;
            break;
        } else {
            i++;
        }
    }
    if (gaps && at < end && !put(s, at, end, NULL, 0, t1))
        return 0;
    erase(s, from, i);
    return 1;
}

static int event(struct pieces *s, const struct mt_trace *t, const struct mt_event *e)
{
    struct piece p = {.addr = e->addr, .end = e->addr + e->size, .t0 = e->time_ns};
    const struct mt_lane *lane = &t->lanes.p[e->lane];
    if (e->size == 0 || p.end < p.addr)
        return 1;
    switch ((unsigned)e->action) {
    case MT_ACT_SEGMENT_ALLOC:
    case MT_ACT_SEGMENT_MAP:
        p.pool[0] = lane->pool[0];
        p.pool[1] = lane->pool[1];
        p.is_expandable = e->action == MT_ACT_SEGMENT_MAP;
        return cut(s, p.addr, p.end, e->time_ns, false) && insert(s, first_after(s, p.addr), &p);
    case MT_ACT_SEGMENT_FREE:
    case MT_ACT_SEGMENT_UNMAP: return cut(s, p.addr, p.end, e->time_ns, true);
    default: return 1;
    }
}

/* What the snapshot lists at its end is what PyTorch holds then: parts of it
 * whose beginning was seen keep that. */
static int end_state(struct pieces *s, const struct mt_trace *t)
{
    for (uint32_t i = t->segments.n; i-- > 0;) { /* from the highest address down: then little is moved when a piece goes */
        const struct mt_segment *g = &t->segments.p[i];
        struct piece of = {.pool = {g->pool[0], g->pool[1]}, .is_expandable = g->is_expandable};
        uint64_t at = g->addr, end = g->addr + g->total;
        if (!mt_segment_is_on(g, s->ordinal, MT_DEV_CUDA) || end < at)
            continue;
        for (uint32_t k = first_after(s, at); at < end; k++) {
            bool some = k < s->v.n && s->v.p[k].addr < end;
            uint64_t from = some && s->v.p[k].addr > at ? s->v.p[k].addr : some ? at : end;
            uint64_t to = some ? s->v.p[k].end < end ? s->v.p[k].end : end : end;
            if (!put(s, at, from, &of, 0, 0) || (some && !put(s, from, to, &of, s->v.p[k].t0, 0)))
                return 0;
            at = to;
        }
        if (g->total != 0 && !cut(s, g->addr, end, 1, false)) /* told: not twice */
            return 0;
    }
    return 1;
}

enum mt_rc mt_claims_make(struct mt_claims *out, const struct mt_trace *t, struct mt_err *err)
{
    struct pieces s = {.out = out};
    int ok = 1;
    memset(out, 0, sizeof *out);
    out->pid = t->meta.pid;
    out->uid = t->meta.uid;
    out->rank = t->meta.rank;
    out->trace = t;
    if (t->meta.host != NULL) {
        out->host = mt_strndup(t->meta.host, strlen(t->meta.host));
        ok = out->host != NULL;
    }
    for (uint32_t i = 0; ok && i < t->devices.n; i++) {
        const struct mt_device *d = &t->devices.p[i];
        uint32_t told;
        if (d->kind != MT_DEV_CUDA)
            continue;
        s.ordinal = d->ordinal;
        s.v.n = 0;
        for (uint64_t k = 0; ok && k < d->events.n; k++) {
            const struct mt_event *e = mt_event_at(d, k);
            if (e->time_ns > out->dump_ns)
                out->dump_ns = e->time_ns;
            ok = event(&s, t, e);
        }
        /* cutting away what the end state has tells it a second time: those are
     * taken back */
        told = out->list.n;
        if (ok)
            ok = end_state(&s, t);
        for (uint32_t k = told, to = told; ok && k <= out->list.n; k++) {
            if (k == out->list.n) {
                out->list.n = to;
                break;
            }
            if (out->list.p[k].t1_ns != 1)
                out->list.p[to++] = out->list.p[k];
        }
        for (uint32_t k = 0; ok && k < s.v.n; k++) /* seen to begin, not there at the end: the trace does not say
                 when it went */
            ok = put(&s, s.v.p[k].addr, s.v.p[k].end, &s.v.p[k], s.v.p[k].t0, s.v.p[k].t0 + 1);
    }
    MT_VEC_DONE(&s.v);
    if (!ok) {
        mt_claims_done(out);
        return mt_fail(err, MT_ENOMEM, "out of memory while noting the segments of a snapshot");
    }
    return MT_OK;
}

void mt_claims_done(struct mt_claims *c)
{
    MT_VEC_DONE(&c->list);
    mt_free(c->host);
    c->host = NULL;
}

/* ---- when it was taken
 * ---------------------------------------------------------------------------------------------------------
 */

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
        if (at != NULL && find(at, eol, name) == at + 8 && at + 8 + strlen(name) < eol && at[8 + strlen(name)] == ' ') {
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
    const char *name = m->member != NULL ? m->member : m->input, *slash = name != NULL ? strrchr(name, '/') : NULL;
    if (slash != NULL)
        name = slash + 1;
    for (uint32_t i = 0; name != NULL && name[0] != '\0' && i < t->driver->attachments.n; i++) {
        mt_str_id text = t->driver->attachments.p[i].text;
        uint64_t taken = text != 0 ? in_text(mt_str(t, text), mt_str(t, text) + mt_str_len(t, text), name) : 0;
        if (taken + MT_SECOND >= c->dump_ns && taken != 0) /* not before its own last event, as far as clocks agree */
            return taken;
    }
    return 0;
}

/* ---- which process
 * --------------------------------------------------------------------------------------------------------------
 */

static bool in_time(const struct mt_claims *c, const struct mt_process *p)
{
    return c->dump_ns == 0 || p->first_ns == 0 ||
           (c->dump_ns + MT_SECOND >= p->first_ns && c->dump_ns <= p->last_ns + 10 * MT_SECOND);
}

uint32_t mt_claims_process(const struct mt_claims *c, const struct mt_trace *t)
{
    const struct mt_driver *d = t->driver;
    uint32_t by_pid = MT_NONE32, by_rank = MT_NONE32, only = MT_NONE32, n_pid = 0, n_rank = 0, n_cuda = 0;
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        bool host = c->host == NULL || mt_str_len(t, p->host) == 0 || strcmp(c->host, mt_str(t, p->host)) == 0;
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

/* ---- the sweep
 * --------------------------------------------------------------------------------------------------------------------
 */

static int by_t0(const void *pa, const void *pb)
{
    const struct mt_claim *a = *(const struct mt_claim *const *)pa, *b = *(const struct mt_claim *const *)pb;
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
    qsort((void *)s->by_start, s->n, sizeof *s->by_start, by_t0);
    return 1;
}

void mt_claim_sweep_rewind(struct mt_claim_sweep *s)
{
    s->at = 0;
    s->live.n = 0;
}

static uint32_t live_after(const struct mt_claim_sweep *s, uint64_t addr)
{
    uint32_t lo = 0, hi = s->live.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->live.p[mid].end > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Takes the place of whatever it overlaps. */
static int enter(struct mt_claim_sweep *s, const struct mt_claim *c)
{
    struct mt_claim_live l = {c->addr, c->addr + c->size, c->t1_ns != 0 ? c->t1_ns : UINT64_MAX};
    uint32_t from = live_after(s, l.addr), to = from;
    while (to < s->live.n && s->live.p[to].addr < l.end)
        to++;
    if (to == from) {
        if (MT_VEC_PUSH(&s->live) == NULL)
            return 0;
        memmove(s->live.p + from + 1, s->live.p + from, (s->live.n - 1 - from) * sizeof *s->live.p);
    } else {
        memmove(s->live.p + from + 1, s->live.p + to, (s->live.n - to) * sizeof *s->live.p);
        s->live.n -= to - from - 1;
    }
    s->live.p[from] = l;
    return 1;
}

int mt_claim_sweep_has(struct mt_claim_sweep *s, uint64_t addr, uint64_t size, uint64_t now, bool *yes)
{
    uint32_t i;
    for (; s->at < s->n && s->by_start[s->at]->t0_ns <= now + SLACK; s->at++)
        if (!enter(s, s->by_start[s->at]))
            return 0;
    i = live_after(s, addr);
    *yes = i < s->live.n && s->live.p[i].addr <= addr && s->live.p[i].t1 >= now &&
           addr + size <= s->live.p[i].end + (UINT64_C(1) << 21);
    return 1;
}

void mt_claim_sweep_done(struct mt_claim_sweep *s)
{
    mt_free((void *)s->by_start);
    MT_VEC_DONE(&s->live);
}
