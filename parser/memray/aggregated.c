/* memray/aggregated.c -- a recording that memray added up itself: what was live at the peak and at
 * the end, by stack, and the sum of all every few milliseconds. Between, nobody knows whose bytes
 * they were: then they are in one pile. */
#include "parser/memray/live.h"

struct place {
    mt_stack_id stack;
    uint32_t thread;
    uint8_t kind;
    uint64_t peak, end; /* bytes */
};
struct trace { /* a call of Python's and, in front of it in the file, the one around it */
    uint32_t parent, depth;
    mt_frame_id frame;
};
struct moment {
    int64_t ms;
    uint64_t heap, rss;
};

struct mt_mr_aggregated {
    MT_VEC(struct place) places;
    MT_VEC(struct trace) traces;
    MT_VEC(struct moment) moments;
    struct mt_pf_feed feed;
    mt_stack_id stack; /* of the pile */
    uint64_t pile, n_blocks_at_peak;
};

/* ---- reading ---- */

static int moment(struct mt_mr *m)
{
    uint64_t v[3];
    struct moment *to;
    if (!mt_mr_fixed64(m, v, sizeof v / sizeof *v))
        return 0;
    if ((to = MT_VEC_PUSH(&m->a->moments)) == NULL)
        return mt_mr_nomem(m);
    to->ms = v[0] < UINT64_C(1) << 43 ? (int64_t)v[0] : 0;
    to->rss = v[1];
    to->heap = v[2];
    mt_mr_rss(m, v[1]);
    return 1;
}

static int python_frame(struct mt_mr *m)
{
    uint64_t id, code;
    int64_t at;
    mt_str_id name, file;
    mt_frame_id frame;
    uint32_t line;
    uint8_t entry;
    if (m->version >= 12) {
        if (!mt_mr_varint(m, &id) || !mt_mr_varint(m, &code) || !mt_mr_signed(m, &at) ||
            !mt_mr_byte(m, &entry) || !mt_mr_frame_of_code(m, code, at, &frame))
            return 0;
        return mt_pf_map_put(&m->frame_by_id, id, frame) || mt_mr_nomem(m);
    }
    return mt_mr_fixed64(m, &id, 1) && mt_mr_string(m, &name) && mt_mr_string(m, &file) &&
           mt_mr_fixed32(m, &line) && mt_mr_byte(m, &entry) &&
           mt_mr_frame(m, id, name, file, (int32_t)line);
}

static int python_trace(struct mt_mr *m)
{
    struct mt_mr_aggregated *a = m->a;
    uint64_t frame = 0, parent = 0;
    struct trace *to;
    if (m->version >= 12 && (!mt_mr_varint(m, &frame) || !mt_mr_varint(m, &parent)))
        return 0;
    if (m->version < 12 && (!mt_mr_fixed64(m, &frame, 1) || !mt_mr_fixed64(m, &parent, 1)))
        return 0;
    if ((to = MT_VEC_PUSH(&a->traces)) == NULL)
        return mt_mr_nomem(m);
    to->parent = parent < a->traces.n ? (uint32_t)parent : 0;
    to->depth = to->parent != 0 ? a->traces.p[to->parent - 1].depth + 1 : 1;
    return mt_mr_frame_of_id(m, frame, &to->frame);
}

static int stack_of(struct mt_mr *m, uint32_t thread, uint64_t trace, uint64_t native,
                    enum mt_mr_kind kind, mt_stack_id *stack)
{
    const struct mt_mr_aggregated *a = m->a;
    uint64_t hidden = m->threads.p[thread - 1].tid == m->main_tid ? m->n_skipped : 0;
    uint64_t at = trace <= a->traces.n ? trace : 0;
    uint64_t depth = at != 0 ? a->traces.p[at - 1].depth : 0;
    m->ids.n = 0;
    if (native > m->natives.n)
        native = 0;
    m->n_with_native += native != 0;
    if ((kind == MT_MR_MMAP && !mt_mr_mmap_id(m)) ||
        (native != 0 && !mt_mr_native_ids(m, native, depth > hidden)))
        return 0;
    for (; depth > hidden && m->ids.n < m->lim->max_frames; depth--) {
        mt_frame_id *to = MT_VEC_PUSH(&m->ids);
        if (to == NULL)
            return mt_mr_nomem(m);
        *to = a->traces.p[at - 1].frame;
        at = a->traces.p[at - 1].parent;
    }
    return mt_mr_stack_of(m, thread, stack);
}

/* Written as memory has it: 8 bytes a member, of which the second uses one. */
static int place(struct mt_mr *m)
{
    enum { TID, ALLOCATOR, NATIVE, TRACE, GENERATION, N_PEAK, N_END, PEAK, END, MEMBERS };
    uint64_t v[MEMBERS];
    const struct mt_mr_allocator *a;
    struct place p, *to;
    if (!mt_mr_fixed64(m, v, sizeof v / sizeof *v))
        return 0;
    a = mt_mr_allocator(m, (unsigned)(v[ALLOCATOR] & 255));
    if (!a->known || a->frees)
        return mt_mr_broken(m, "an allocator that no version of memray has");
    if (v[PEAK] > UINT64_C(1) << 56 || v[END] > UINT64_C(1) << 56) {
        m->n_odd++;
        return 1;
    }
    p = (struct place){0, 0, (uint8_t)a->kind, v[PEAK], v[END]};
    m->a->n_blocks_at_peak += v[N_PEAK];
    if (!mt_mr_thread_of(m, v[TID], &p.thread) ||
        !stack_of(m, p.thread, v[TRACE], v[NATIVE], a->kind, &p.stack))
        return 0;
    if ((to = MT_VEC_PUSH(&m->a->places)) == NULL)
        return mt_mr_nomem(m);
    *to = p;
    return 1;
}

static int record(struct mt_mr *m, uint8_t type)
{
    uint64_t tid, object;
    switch (type) {
    case 1: return moment(m);
    case 2: return place(m);
    case 3: return python_trace(m);
    case 4: return python_frame(m);
    case 5: return mt_mr_native_index(m);
    case 6: return mt_mr_maps(m);
    case 7: return mt_mr_module(m);
    case 10: return mt_mr_thread_name(m);
    case 12: return mt_mr_fixed64(m, &tid, 1) && mt_mr_thread(m, tid);
    case 13: /* an object that was still there: of no interest */
        return mt_mr_varint(m, &object) && (!m->has_native || mt_mr_varint(m, &object));
    case 14: return mt_mr_code(m);
    case 15: m->end = MT_MR_TRAILER; return 0;
    default: return mt_mr_broken(m, "a record of a type that memray does not have");
    }
}

void mt_mr_aggregated(struct mt_mr *m)
{
    uint8_t type;
    if ((m->a = mt_calloc(1, sizeof *m->a)) == NULL) {
        (void)mt_mr_nomem(m);
        return;
    }
    for (;; m->n_records++) {
        m->record_at = mt_source_offset(m->src);
        if (!mt_mr_byte(m, &type) || !record(m, type))
            return;
    }
}

void mt_mr_aggregated_done(struct mt_mr *m)
{
    if (m->a == NULL)
        return;
    MT_VEC_DONE(&m->a->places);
    MT_VEC_DONE(&m->a->traces);
    MT_VEC_DONE(&m->a->moments);
    mt_pf_feed_done(&m->a->feed);
    mt_free(m->a);
}

bool mt_mr_aggregated_any(const struct mt_mr *m) { return m->a != NULL && m->a->places.n != 0; }

uint64_t mt_mr_live_end(const struct mt_mr *m)
{
    return m->a != NULL ? (uint64_t)m->a->feed.live : m->live;
}

/* ---- building ---- */

static int fed(struct mt_mr *m, int ok)
{
    return ok || (m->a->feed.nomem ? mt_mr_nomem(m) : mt_mr_refused(m));
}

static int pile(struct mt_mr *m, int64_t ms, uint64_t bytes)
{
    struct mt_mr_aggregated *a = m->a;
    int64_t by = (int64_t)(bytes - a->pile);
    a->pile = bytes;
    return by == 0 || fed(m, mt_pf_change(&a->feed, ms * 1000000, by, 0, a->stack));
}

/* The pile becomes the places, or they it, one after the other: the sum is never higher than it
 * was or will be. */
static int to_places(struct mt_mr *m, int64_t ms, bool at_end)
{
    struct mt_mr_aggregated *a = m->a;
    for (uint32_t i = 0; i < a->places.n; i++) {
        const struct place *p = &a->places.p[i];
        uint64_t bytes = at_end ? p->end : p->peak;
        if (bytes == 0)
            continue;
        if (!pile(m, ms, a->pile - (bytes < a->pile ? bytes : a->pile)) ||
            !fed(m, mt_pf_alloc(&a->feed, ms * 1000000, NULL, bytes, 0, p->stack)))
            return 0;
        if (!at_end)
            mt_mr_count(m, mt_mr_owner(p->thread, (enum mt_mr_kind)p->kind), (int64_t)bytes);
    }
    return pile(m, ms, 0);
}

static int from_places(struct mt_mr *m, int64_t ms, uint64_t heap)
{
    struct mt_mr_aggregated *a = m->a;
    for (uint32_t i = 0; i < a->places.n; i++) {
        const struct place *p = &a->places.p[i];
        uint64_t room = heap > a->pile ? heap - a->pile : 0;
        if (p->peak != 0 && (!fed(m, mt_pf_free(&a->feed, ms * 1000000, NULL, p->peak, 0, 0)) ||
                             !pile(m, ms, a->pile + (room < p->peak ? room : p->peak))))
            return 0;
    }
    return pile(m, ms, heap);
}

int mt_mr_aggregated_build(struct mt_mr *m)
{
    static const char none[] = "(by whom is told at the peak and at the end alone)";
    struct mt_mr_aggregated *a = m->a;
    uint64_t sum = 0;
    uint32_t top = 0;
    int64_t ms = m->start_ms;
    mt_str_id name;
    mt_frame_id frame;
    for (uint32_t i = 0; i < a->places.n; i++)
        sum += a->places.p[i].peak;
    for (uint32_t i = 0; i < a->moments.n; i++) {
        if (a->moments.p[i].heap > sum) /* between the two no block can be told */
            a->moments.p[i].heap = sum;
        if (a->moments.p[i].heap > a->moments.p[top].heap)
            top = i;
    }
    if (!mt_build_str(m->b, none, sizeof none - 1, &name) ||
        !mt_build_frame(m->b, name, 0, 0, &frame) || !mt_build_stack(m->b, &frame, 1, &a->stack))
        return mt_mr_refused(m);
    mt_pf_feed_init(&a->feed, m->b);
    for (uint32_t i = 0; i < top; i++)
        if (!pile(m, ms = a->moments.p[i].ms, a->moments.p[i].heap))
            return 0;
    if (a->moments.n != 0)
        ms = a->moments.p[top].ms;
    if (!to_places(m, ms, false))
        return 0;
    m->rss_at_peak = a->moments.n != 0 ? a->moments.p[top].rss : 0;
    for (uint32_t i = top + 1; i < a->moments.n; i++) {
        ms = a->moments.p[i].ms;
        if (!(i == top + 1 ? from_places(m, ms, a->moments.p[i].heap)
                           : pile(m, ms, a->moments.p[i].heap)))
            return 0;
    }
    if (top + 1 >= a->moments.n && !from_places(m, ms, sum))
        return 0;
    ms = m->end_ms > ms ? m->end_ms : ms;
    return to_places(m, ms, true);
}
