/* The calls of the driver on one GPU, as a track. */
#include "render/pack/calls.h"

#include "render/base/escape.h"
#include "render/pack/notes.h"

#include <stdio.h>
#include <string.h>

enum { N_ROLES = MT_ROLE_COUNT + MT_HOLD_COUNT, NAMED = MT_HOLD_OTHER };
enum { C_FIRST, C_PHASE, C_SUB, C_STEP, C_NAME, C_TICK, C_TICKS, C_DEPTH, C_LENGTH, C_TEXT };
enum { N_PHASE_COLUMNS = C_TEXT + 1, N_KEY_COLUMNS = 11 };
_Static_assert(N_ROLES <= UINT8_MAX, "a site has a byte for it");
_Static_assert((int)NAMED <= (int)MT_PACK_GROUPS, "every holder by calls is a group");

struct walk {
    const struct mt_driverdiag *j;
    const struct mt_ledger *l;
    uint32_t ledger;
    struct mt_call_pack *out;
    struct mt_pack *p;
    struct mt_sites sites;
    MT_VEC(char *) words; /* of the lanes */
    struct mt_ovs overviews;
    struct mt_bytes col[N_OPERATION_COLUMNS], rest[N_SIZES], time[2], phase[N_PHASE_COLUMNS];
    struct mt_pack_strings strings;
    int64_t role[N_ROLES];
    uint64_t live, event, tick, next_block, last_stretch;
    struct mt_attr attr;
    uint32_t in_chunk, next_oom;
    bool has_rest;
};

static struct mt_ov_now now(const struct walk *w)
{
    return (struct mt_ov_now){w->live, 0, 0, w->role, w->event};
}

/* ---- who called ---- */

static const struct mt_call *call_of(const struct walk *w, uint32_t driver, uint32_t call)
{
    return call != MT_NONE32 ? &w->j->drivers.p[driver]->driver->calls.p[call] : NULL;
}

static int add_words(struct walk *w, const char *words)
{
    char **to = MT_VEC_PUSH(&w->words);
    if (to != NULL)
        *to = mt_strndup(words, strlen(words));
    return to != NULL && *to != NULL;
}

/* A lane for each kind of call of each process. UINT32_MAX = out of memory */
static uint32_t lane_of(struct walk *w, uint32_t driver, uint32_t process, unsigned op)
{
    static const uint64_t no_pool[2];
    char who[MT_WHO], words[MT_WHO + 64];
    int64_t key = (int64_t)((uint64_t)driver << 40 | (uint64_t)process << 8 | (op & 255));
    uint32_t lane = mt_sites_find_lane(&w->sites, key, no_pool, false);
    if (lane != w->words.n)
        return lane;
    (void)snprintf(words, sizeof words, "%s by %s", mt_driver_call_words((enum mt_wire_op)op, 0),
                   mt_driver_who(who, w->j, driver, process));
    return add_words(w, words) ? lane : UINT32_MAX;
}

static uint32_t site_of(struct walk *w, uint32_t driver, uint32_t process, uint32_t call,
                        unsigned holder)
{
    const struct mt_call *c = call_of(w, driver, call);
    struct mt_site_key k = {
        .role = (uint8_t)(MT_ROLE_COUNT + holder), .phase = w->attr.phase, .sub = w->attr.sub};
    /* the stacks of a page's track are those of one trace */
    k.stack = c != NULL && driver == w->l->driver ? c->stack : 0;
    k.lane = lane_of(w, driver, process, c != NULL ? c->op : MT_WO_OTHER);
    return k.lane != UINT32_MAX ? mt_sites_get(&w->sites, &k) : UINT32_MAX;
}

/* ---- chunks ---- */

static int begin_chunk(struct walk *w)
{
    struct mt_pack_chunk *c = MT_VEC_PUSH(&w->p->chunks);
    struct mt_bytes key[N_KEY_COLUMNS];
    int ok;
    if (c == NULL)
        return 0;
    c->first = w->event;
    c->wanted = true;
    w->in_chunk = 0;
    w->has_rest = false;
    if (w->event != 0)
        return 1;
    memset(key, 0, sizeof key);
    for (unsigned i = 0; i < 8; i++) /* nothing is held before the first call */
        mt_put_var(&key[0], 0);
    ok = mt_blob_make(&w->p->press, &c->key, key, N_KEY_COLUMNS);
    for (unsigned i = 0; i < N_KEY_COLUMNS; i++)
        mt_bytes_done(&key[i]);
    return ok;
}

static int end_chunk(struct walk *w)
{
    struct mt_pack_chunk *c = &w->p->chunks.p[w->p->chunks.n - 1];
    c->n = w->in_chunk;
    c->has_rest = w->has_rest;
    if (!mt_blob_make(&w->p->press, &c->events, w->col, N_OPERATION_COLUMNS) ||
        !mt_blob_make(&w->p->press, &c->times, w->time, 2) ||
        (w->has_rest && !mt_blob_make(&w->p->press, &c->rest, w->rest, N_SIZES)))
        return 0;
    for (unsigned i = 0; i < N_SIZES; i++)
        w->rest[i].n = 0;
    return 1;
}

static void put_op(struct walk *w, unsigned op, uint64_t tick)
{
    mt_put_wide(&w->col[OPS], op);
    if (!w->p->has_time)
        return;
    mt_put_byte(&w->time[0], tick - w->tick < 16 ? (unsigned)(tick - w->tick) : 255);
    if (tick - w->tick >= 16)
        mt_put_zig(&w->time[1], (int64_t)(tick - w->tick));
    w->tick = tick;
}

/* Where another phase begins. */
static void put_phase(struct walk *w, struct mt_attr a)
{
    if (w->event != 0 && a.phase == w->attr.phase && a.sub == w->attr.sub)
        return;
    mt_put_var(&w->phase[C_FIRST], w->event - w->last_stretch);
    mt_put_var(&w->phase[C_PHASE], a.phase);
    mt_put_var(&w->phase[C_SUB], a.sub != MT_PH_NONE ? a.sub + 1u : 0);
    w->last_stretch = w->event;
    w->attr = a;
}

static int begin_event(struct walk *w, uint64_t tick, bool falls, struct mt_attr a)
{
    struct mt_ov_now at = now(w);
    if ((w->event == 0 || w->in_chunk == MT_PACK_CHUNK) &&
        ((w->event != 0 && !end_chunk(w)) || !begin_chunk(w)))
        return 0;
    put_phase(w, a);
    mt_ovs_before(&w->overviews, w->event, tick, falls, &at);
    return 1;
}

static void end_event(struct walk *w)
{
    struct mt_ov_now at;
    w->event++;
    w->in_chunk++;
    at = now(w);
    mt_ovs_after(&w->overviews, &at, w->attr.phase);
}

/* ---- events ---- */

static int move(struct walk *w, const struct mt_ledger_move *m)
{
    uint64_t tick = mt_pack_tick(w->p, m->time_ns);
    uint32_t site;
    if (!begin_event(w, tick, !m->begins, (struct mt_attr){.phase = m->phase, .sub = m->sub}))
        return 0;
    if (m->begins) {
        site = site_of(w, m->driver, m->process, m->call, m->holder);
        if (site == UINT32_MAX)
            return 0;
        put_op(w, OP_ALLOC, tick);
        mt_put_wide(&w->col[SITES], site);
        mt_put_wide(&w->col[SIZES], m->size / 512);
        mt_put_wide(w->rest, m->size % 512);
        w->has_rest = w->has_rest || m->size % 512 != 0;
        w->next_block++;
        w->live += m->size;
        w->role[MT_ROLE_COUNT + m->holder] += (int64_t)m->size;
    } else {
        put_op(w, OP_SPECIAL, tick);
        mt_put_byte(&w->col[SPECIALS], S_COMPLETED);
        mt_put_var(&w->col[SPECIALS], w->next_block - m->block);
        w->live -= m->size;
        w->role[MT_ROLE_COUNT + m->holder] -= (int64_t)m->size;
    }
    if (w->live > w->out->peak_live) {
        w->out->peak_live = w->live;
        w->out->peak_event = (int64_t)w->event;
        w->p->peak_tick = tick;
    }
    end_event(w);
    return 1;
}

static int add_mark(struct walk *w, enum mt_mark_kind kind, uint64_t event, const char *text)
{
    struct mt_pack_mark *m = MT_VEC_PUSH(&w->p->marks);
    if (m == NULL)
        return 0;
    m->kind = kind;
    m->from = m->to = event;
    m->text = mt_strndup(text, strlen(text));
    return m->text != NULL;
}

static int mark_oom(struct walk *w, const struct mt_driver_oom *x)
{
    char text[512], who[MT_WHO], size[32], left[32];
    const struct mt_call *c = call_of(w, x->driver, x->call);
    uint64_t capacity = w->l->capacity;
    struct mt_call_asked *a;
    (void)snprintf(text, sizeof text, "%sout of memory", x->survived ? "survived: " : "");
    if (x->request != 0)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ": asked for %s",
                       mt_fmt_bytes(size, x->request));
    if (x->free != 0)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ", %s free on the device",
                       mt_fmt_bytes(left, x->free));
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), ", %s by %s",
                   mt_driver_call_words((enum mt_wire_op)c->op, c->cbid),
                   mt_driver_who(who, w->j, x->driver, x->process));
    if (!add_mark(w, MT_MARK_OOM, w->event, text) || (a = MT_VEC_PUSH(&w->out->asked)) == NULL)
        return 0;
    a->live = a->reserved = a->base = w->live;
    if (capacity > x->free + w->live && x->free != 0)
        a->base = capacity - x->free; /* others, and what no call explains */
    a->end = capacity != 0 ? capacity : a->base + x->request;
    a->top = a->room = a->base + x->request;
    return 1;
}

static int failed(struct walk *w, const struct mt_driver_oom *x)
{
    uint64_t tick = mt_pack_tick(w->p, x->time_ns);
    struct mt_attr a = {.phase = (uint8_t)x->phase, .sub = (uint8_t)x->sub};
    uint32_t site;
    if (!begin_event(w, tick, false, a) || !mark_oom(w, x))
        return 0;
    site = site_of(w, x->driver, x->process, x->call, x->who);
    if (site == UINT32_MAX)
        return 0;
    put_op(w, OP_SPECIAL, tick);
    mt_put_byte(&w->col[SPECIALS], S_OOM);
    mt_put_var(&w->col[SPECIALS], x->request);
    mt_put_var(&w->col[SPECIALS], x->free);
    mt_put_var(&w->col[SPECIALS], (uint64_t)site + 1);
    if (!x->survived && !w->out->focus_is_oom) {
        w->out->focus_is_oom = true;
        w->out->focus_event = (int64_t)w->event;
        w->out->focus_live = w->live;
    }
    end_event(w);
    return 1;
}

static bool is_here(const struct walk *w, const struct mt_driver_oom *x)
{
    return x->ledger == w->ledger && !x->is_host;
}

/* The failures of this GPU up to a time, from the next one on. */
static int fail_until(struct walk *w, uint64_t time_ns)
{
    for (; w->next_oom < w->j->ooms.n && w->j->ooms.p[w->next_oom].time_ns <= time_ns;
         w->next_oom++)
        if (is_here(w, &w->j->ooms.p[w->next_oom]) && !failed(w, &w->j->ooms.p[w->next_oom]))
            return 0;
    return 1;
}

/* ---- ranges ---- */

static bool is_on(const struct walk *w, uint32_t process)
{
    for (uint32_t i = 0; i < w->l->rows.n; i++)
        if (w->l->rows.p[i].driver == w->l->driver && w->l->rows.p[i].process == process)
            return true;
    return false;
}

static int add_notes(struct walk *w)
{
    const struct mt_trace *t = w->j->drivers.p[w->l->driver];
    MT_VEC(struct mt_pack_note) v = {NULL, 0, 0};
    int ok = 1;
    for (uint32_t i = 0; w->p->has_time && i < t->driver->ranges.n; i++) {
        const struct mt_nvtx *x = &t->driver->ranges.p[i];
        uint64_t t0 = mt_pack_tick(w->p, x->t0_ns),
                 t1 = x->t1_ns != 0 ? mt_pack_tick(w->p, x->t1_ns) : w->p->end;
        struct mt_pack_note *to;
        t1 = t1 < w->p->end ? t1 : w->p->end;
        if (x->is_mark || t0 >= t1 || !is_on(w, x->process))
            continue;
        if (v.n == MT_MAX_NOTES) {
            w->p->notes_left_out++;
            continue;
        }
        to = MT_VEC_PUSH(&v);
        if (to == NULL) {
            ok = 0;
            break;
        }
        *to = (struct mt_pack_note){t0, t1, x->name, i};
    }
    if (ok)
        mt_pack_notes(v.p, v.n, t, &w->strings, &w->phase[C_NAME]);
    MT_VEC_DONE(&v);
    return ok;
}

/* ---- the whole ---- */

/* What is there to be packed: how many events, and their times. */
static void measure(struct walk *w)
{
    uint64_t t0 = UINT64_MAX, t1 = 0, peak[MT_HOLD_COUNT] = {0};
    struct mt_pack *p = w->p;
    p->n_events = w->l->moves.n;
    p->n_allocs = w->l->n_blocks;
    for (uint32_t i = 0; i < w->l->moves.n; i++) {
        const struct mt_ledger_move *m = &w->l->moves.p[i];
        t0 = m->time_ns < t0 ? m->time_ns : t0;
        t1 = m->time_ns > t1 ? m->time_ns : t1;
        peak[m->holder] |= m->size;
    }
    for (uint32_t i = 0; i < w->j->ooms.n; i++) {
        const struct mt_driver_oom *x = &w->j->ooms.p[i];
        if (!is_here(w, x))
            continue;
        p->n_events++;
        t0 = x->time_ns < t0 ? x->time_ns : t0;
        t1 = x->time_ns > t1 ? x->time_ns : t1;
    }
    for (unsigned h = NAMED; h-- > 0;) /* what an engine and PyTorch do moves: they lie on top */
        if (peak[h] != 0)
            p->group[p->n_groups++] = (uint8_t)(MT_ROLE_COUNT + h);
    p->has_time = t1 > t0;
    p->time_step = 1;
    if (!p->has_time)
        return;
    p->t0_ns = t0;
    p->tick_ns = ((t1 - t0) / UINT32_MAX / 1000 + 1) * 1000;
    p->end = (t1 - t0) / p->tick_ns;
}

/* From where on the memory that was held at the failure was mostly got, and a little before. */
static void find_home(struct walk *w)
{
    enum { LEAST = 20, MOST = 300 };
    struct mt_call_pack *o = w->out;
    uint64_t focus = (uint64_t)o->focus_event, from = focus, live = o->focus_live, moves = focus;
    if (!o->focus_is_oom || w->p->n_events <= 2 * LEAST)
        return;
    moves = moves < w->l->moves.n ? moves : w->l->moves.n; /* failures before it are few */
    while (from > 0 && moves > 0 && focus - from < MOST &&
           (focus - from < LEAST || live > o->focus_live / 2)) {
        const struct mt_ledger_move *m = &w->l->moves.p[--moves];
        live = m->begins ? (live > m->size ? live - m->size : 0) : live + m->size;
        from--;
    }
    from = from > (focus - from) / 8 ? from - (focus - from) / 8 : 0;
    o->home[0] = from;
    o->home[1] = focus + (focus - from) / 12 + 1;
    if (o->home[1] > w->p->n_events)
        o->home[1] = w->p->n_events;
}

static int finish(struct walk *w)
{
    struct mt_ov_now at = now(w);
    char text[64], size[32];
    (void)snprintf(text, sizeof text, "peak %s", mt_fmt_bytes(size, w->out->peak_live));
    if (w->out->peak_event >= 0 && !add_mark(w, MT_MARK_PEAK, (uint64_t)w->out->peak_event, text))
        return 0;
    if (!w->out->focus_is_oom) {
        w->out->focus_event = w->out->peak_event;
        w->out->focus_live = w->out->peak_live;
    }
    find_home(w);
    w->sites.words = w->words.p;
    return end_chunk(w) && mt_ovs_end(&w->overviews, &at) &&
           mt_sites_blob(&w->sites, &w->p->press, NULL, &w->p->sites) && add_notes(w) &&
           mt_blob_make(&w->p->press, &w->p->phases, w->phase, N_PHASE_COLUMNS);
}

static int pack(struct walk *w)
{
    struct mt_ov_now at = now(w);
    measure(w);
    if (w->p->n_events == 0)
        return 1;
    if (!mt_sites_begin(&w->sites, w->j->drivers.p[w->l->driver]) || !add_words(w, "") ||
        !mt_ovs_begin(&w->overviews, w->p, &at))
        return 0;
    for (uint32_t i = 0; i < w->l->moves.n; i++)
        if (!fail_until(w, w->l->moves.p[i].time_ns) || !move(w, &w->l->moves.p[i]))
            return 0;
    return fail_until(w, UINT64_MAX) && finish(w);
}

int mt_call_pack_make(struct mt_call_pack *out, const struct mt_driverdiag *j, uint32_t ledger)
{
    struct walk *w;
    int ok;
    *out = (struct mt_call_pack){.ledger = ledger, .peak_event = -1, .focus_event = -1};
    if (j->ledgers.p[ledger].moves_left_out)
        return 1;
    w = mt_calloc(1, sizeof *w);
    out->pack = mt_calloc(1, sizeof *out->pack);
    if (w == NULL || out->pack == NULL) {
        mt_free(w);
        return 0;
    }
    w->j = j;
    w->l = &j->ledgers.p[ledger];
    w->ledger = ledger;
    w->out = out;
    w->p = out->pack;
    w->strings = (struct mt_pack_strings){.sizes = &w->phase[C_LENGTH], .text = &w->phase[C_TEXT]};
    ok = pack(w);
    for (unsigned i = 0; i < N_OPERATION_COLUMNS; i++)
        mt_bytes_done(&w->col[i]);
    for (unsigned i = 0; i < N_SIZES; i++)
        mt_bytes_done(&w->rest[i]);
    for (unsigned i = 0; i < N_PHASE_COLUMNS; i++)
        mt_bytes_done(&w->phase[i]);
    mt_bytes_done(&w->time[0]);
    mt_bytes_done(&w->time[1]);
    for (uint32_t i = 0; i < w->words.n; i++)
        mt_free(w->words.p[i]);
    MT_VEC_DONE(&w->words);
    mt_strpool_done(&w->strings.seen);
    mt_ovs_done(&w->overviews);
    mt_sites_done(&w->sites);
    mt_press_done(&w->p->press);
    mt_free(w);
    if (ok && out->pack->n_events == 0) {
        mt_pack_free(out->pack);
        out->pack = NULL;
    }
    return ok;
}

void mt_call_pack_done(struct mt_call_pack *p)
{
    mt_pack_free(p->pack);
    MT_VEC_DONE(&p->asked);
}
