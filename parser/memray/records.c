/* memray/records.c -- a recording of all allocations, in both of its encodings: to version 11 a
 * record's type has four bits, from 12 on the frequent types have fewer. */
#include "parser/memray/live.h"

#include <string.h>

static int play(struct mt_mr *m, const struct mt_mr_allocator *a, uint64_t addr, uint64_t size,
                uint64_t native)
{
    mt_stack_id stack;
    if (a->frees)
        return a->kind == MT_MR_MMAP ? mt_mr_unmap(m, addr, size) : mt_mr_free(m, addr);
    if (!mt_mr_stack(m, native, (enum mt_mr_kind)a->kind, &stack))
        return 0;
    return a->kind == MT_MR_MMAP ? mt_mr_map(m, addr, size, stack)
                                 : mt_mr_alloc(m, addr, size, (enum mt_mr_kind)a->kind, stack);
}

static int unknown_allocator(struct mt_mr *m)
{
    return mt_mr_broken(m, "an allocator that no version of memray has");
}

/* ---- from version 12 on ---- */

/* An address is one of the last 15, or told apart from the last; it is a multiple of 8. */
static int address(struct mt_mr *m, unsigned recent, uint64_t *addr)
{
    if (recent < 15) {
        *addr = m->recent[(m->n_recent - 1 - recent) % 16];
        return 1;
    }
    if (!mt_mr_delta(m, &m->last_address))
        return 0;
    *addr = m->last_address << 3;
    m->recent[m->n_recent++ % 16] = *addr;
    return 1;
}

static int allocation(struct mt_mr *m, uint8_t flags)
{
    const struct mt_mr_allocator *a;
    uint64_t addr, size = 0, native = 0;
    uint8_t id = flags & 7;
    bool has_size;
    if (!address(m, flags >> 3 & 15, &addr) || (id == 0 && !mt_mr_byte(m, &id)))
        return 0;
    a = mt_mr_allocator(m, id);
    if (!a->known)
        return unknown_allocator(m);
    has_size = !a->frees || a->kind == MT_MR_MMAP;
    if (has_size && m->has_native) {
        if (!mt_mr_delta(m, &m->last_native))
            return 0;
        native = m->last_native;
    }
    if (has_size && !mt_mr_varint(m, &size))
        return 0;
    return play(m, a, addr, size, native);
}

static int push(struct mt_mr *m)
{
    uint64_t code;
    int64_t at;
    return mt_mr_varint(m, &code) && mt_mr_signed(m, &at) && mt_mr_call(m, code, at);
}

/* An object of Python's was made or went: of no interest, but what follows is told apart from it.
 */
static int object(struct mt_mr *m, uint8_t flags)
{
    uint64_t addr;
    return address(m, flags >> 1 & 15, &addr) &&
           (!m->has_native || (flags & 1) == 0 || mt_mr_delta(m, &m->last_native));
}

/* ---- to version 11 ---- */

static int allocation_7(struct mt_mr *m, unsigned id, bool has_native)
{
    const struct mt_mr_allocator *a = mt_mr_allocator(m, id);
    uint64_t size = 0, native = 0;
    if (!a->known)
        return unknown_allocator(m);
    if (!mt_mr_delta(m, &m->last_address))
        return 0;
    if ((has_native || !a->frees || a->kind == MT_MR_MMAP) && !mt_mr_varint(m, &size))
        return 0;
    if (has_native) {
        if (!mt_mr_delta(m, &m->last_native))
            return 0;
        native = m->last_native;
    }
    return play(m, a, m->last_address, size, native);
}

static int frame_7(struct mt_mr *m)
{
    mt_str_id name, file;
    return mt_mr_delta(m, &m->last_frame) && mt_mr_string(m, &name) && mt_mr_string(m, &file) &&
           mt_mr_delta(m, &m->last_line) &&
           mt_mr_frame(m, m->last_frame, name, file, (int32_t)m->last_line);
}

static int push_7(struct mt_mr *m)
{
    return mt_mr_delta(m, &m->last_frame) && mt_mr_call(m, m->last_frame, 0);
}

/* ---- both ---- */

static int memory(struct mt_mr *m)
{
    uint64_t rss, ms;
    if (!mt_mr_varint(m, &rss) || !mt_mr_varint(m, &ms))
        return 0;
    if (ms < UINT64_C(1) << 43)
        mt_mr_now(m, m->start_ms + (int64_t)ms);
    mt_mr_rss(m, rss);
    return 1;
}

static int to_thread(struct mt_mr *m)
{
    uint64_t tid;
    return mt_mr_fixed64(m, &tid, 1) && mt_mr_thread(m, tid);
}

/* A file grows by pieces of zeros that are then written over: whoever kills the process leaves
 * them. */
static int zeros(struct mt_mr *m)
{
    for (size_t n; (n = mt_source_need(m->src, 1)) != 0; m->src->cur += n)
        for (size_t i = 0; i < n; i++)
            if (m->src->cur[i] != 0)
                return mt_mr_broken(m, "zeros where a record has to begin");
    m->end = m->src->status != MT_OK ? MT_MR_CUT
             : m->version == 7       ? MT_MR_TRAILER /* it writes none */
                                     : MT_MR_KILLED;
    return 0;
}

static int trailer(struct mt_mr *m)
{
    m->end = MT_MR_TRAILER;
    return 0;
}

static int no_record(struct mt_mr *m)
{
    return mt_mr_broken(m, "a record of a type that memray does not have");
}

static int record_12(struct mt_mr *m, uint8_t b)
{
    if ((b & 128) != 0)
        return allocation(m, b);
    if ((b & 64) != 0)
        return push(m);
    if ((b & 32) != 0)
        return object(m, b);
    if ((b & 16) != 0) {
        mt_mr_pop(m, (b & 15) + 1u);
        return 1;
    }
    switch (b) {
    case 0: return zeros(m);
    case 1: return trailer(m);
    case 2: return memory(m);
    case 5: return mt_mr_native_index(m);
    case 6: return mt_mr_maps(m);
    case 7: return mt_mr_module(m);
    case 10: return mt_mr_thread_name(m);
    case 12: return to_thread(m);
    case 14: return mt_mr_code(m);
    default: return no_record(m);
    }
}

static int record_7(struct mt_mr *m, uint8_t b)
{
    switch (b & 15) {
    case 0: return b == 0 ? zeros(m) : b >> 4 == 1 && m->version >= 8 ? trailer(m) : no_record(m);
    case 1: return allocation_7(m, b >> 4, false);
    case 2: return allocation_7(m, b >> 4, true);
    case 3: return frame_7(m);
    case 4: return push_7(m);
    case 5: return mt_mr_native_index(m);
    case 6: return mt_mr_maps(m);
    case 7: return mt_mr_module(m);
    case 9: mt_mr_pop(m, (b >> 4) + 1u); return 1;
    case 10: return mt_mr_thread_name(m);
    case 11: return memory(m);
    case 12: return to_thread(m);
    default: return no_record(m);
    }
}

void mt_mr_records(struct mt_mr *m)
{
    int (*record)(struct mt_mr *, uint8_t) = m->version >= 12 ? record_12 : record_7;
    uint8_t b;
    for (;; m->n_records++) {
        if (m->version >= 12 && !mt_mr_quick(m))
            return;
        m->record_at = mt_source_offset(m->src);
        if (!mt_mr_byte(m, &b)) {
            /* version 7 writes nothing at its end */
            if (m->version == 7 && m->end == MT_MR_CUT && m->src->status == MT_OK)
                m->end = MT_MR_TRAILER;
            return;
        }
        if (!record(m, b))
            return;
    }
}
