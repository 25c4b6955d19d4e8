/* memray/head.c -- what stands before the records, in versions 7 (memray 1.1, May 2022) to 13
 * (1.20, August 2026). */
#include "parser/memray/impl.h"

static int paths(struct mt_mr *m)
{
    for (;;) {
        /* The empty one is the last; where the stream ends, reading the string says so. */
        bool is_last = mt_source_need(m->src, 1) > 0 && m->src->cur[0] == 0;
        if (!mt_mr_string(m, NULL))
            return 0;
        if (is_last)
            return 1;
    }
}

int mt_mr_head(struct mt_mr *m)
{
    uint8_t magic[7], native = 0, format = 0, traces = 0;
    uint64_t stats[4];
    uint32_t wide, pid;
    if (!mt_mr_fixed(m, magic, 7) || !mt_mr_fixed32(m, &m->version))
        return 0;
    if (m->version < 7 || m->version > 13)
        return 0;
    if ((m->version >= 12 && !mt_mr_fixed32(m, &m->python)) || !mt_mr_byte(m, &native) ||
        (m->version >= 10 && !mt_mr_byte(m, &format)) || !mt_mr_fixed64(m, stats, 4) ||
        !mt_mr_string(m, NULL) || !mt_mr_fixed32(m, &pid))
        return 0;
    if (m->version >= 9 &&
        (!mt_mr_fixed64(m, &m->main_tid, 1) || !mt_mr_fixed64(m, &m->n_skipped, 1)))
        return 0;
    if (m->version == 7) {
        if (!mt_mr_fixed32(m, &wide))
            return 0;
        m->allocator = (uint8_t)wide;
    } else if (!mt_mr_byte(m, &m->allocator)) {
        return 0;
    }
    if (m->version >= 11 && !mt_mr_byte(m, &traces))
        return 0;
    m->traces_python = traces != 0;
    if (m->version >= 12 && !mt_mr_byte(m, &traces)) /* of lifetimes of objects */
        return 0;
    if (m->version >= 13 && (!mt_mr_string(m, NULL) || !paths(m) || !paths(m)))
        return 0;
    if (format > 1)
        return mt_mr_broken(m, "neither all allocations nor aggregated ones");
    m->allocators = mt_mr_allocators(m->version);
    m->has_native = native != 0;
    m->is_aggregated = format == 1;
    m->n_told = stats[0];
    /* what no clock shows is none */
    m->start_ms = stats[2] < UINT64_C(1) << 43 ? (int64_t)stats[2] : 0;
    m->end_ms = stats[3] < UINT64_C(1) << 43 ? (int64_t)stats[3] : 0;
    m->pid = (int32_t)pid;
    mt_mr_now(m, m->start_ms);
    return 1;
}
