/* memray/bytes.c -- numbers and strings, and how reading them fails. */
#include "parser/memray/impl.h"
#include "parser/model/wire.h"

#include <string.h>

int mt_mr_nomem(struct mt_mr *m)
{
    m->end = MT_MR_FATAL;
    mt_fail(&m->why, MT_ENOMEM,
            "out of memory after %llu MiB (a limit can be raised with --max-memory)",
            (unsigned long long)(mt_mem_used() >> 20));
    return 0;
}

int mt_mr_refused(struct mt_mr *m)
{
    m->end = MT_MR_FATAL;
    m->why = *mt_builder_err(m->b);
    return 0;
}

int mt_mr_broken(struct mt_mr *m, const char *what)
{
    m->end = MT_MR_BROKEN;
    mt_fail_at(&m->why, MT_EINPUT, m->record_at, "%s", what);
    return 0;
}

static int ended(struct mt_mr *m)
{
    m->end = MT_MR_CUT;
    return 0;
}

int mt_mr_fixed(struct mt_mr *m, void *to, size_t n)
{
    if (mt_source_need(m->src, n) < n)
        return ended(m);
    memcpy(to, m->src->cur, n);
    m->src->cur += n;
    return 1;
}

int mt_mr_fixed32(struct mt_mr *m, uint32_t *to)
{
    unsigned char bytes[4];
    if (!mt_mr_fixed(m, bytes, sizeof bytes))
        return 0;
    *to = mt_get32(bytes);
    return 1;
}

int mt_mr_fixed64(struct mt_mr *m, uint64_t *to, unsigned n)
{
    unsigned char bytes[8];
    for (; n > 0; n--) {
        if (!mt_mr_fixed(m, bytes, sizeof bytes))
            return 0;
        *to++ = mt_get64(bytes);
    }
    return 1;
}

int mt_mr_long_varint(struct mt_mr *m, uint64_t *v)
{
    uint8_t b;
    *v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!mt_mr_byte(m, &b))
            return 0;
        *v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return 1;
    }
    return mt_mr_broken(m, "a number of more than 64 bits");
}

int mt_mr_string(struct mt_mr *m, mt_str_id *id)
{
    const unsigned char *nul = NULL;
    for (size_t seen = 0, have; nul == NULL; seen = have) {
        have = mt_source_need(m->src, seen + 1);
        if (have <= seen)
            return ended(m);
        nul = memchr(m->src->cur + seen, 0, have - seen);
        if (nul == NULL && have > m->lim->max_string)
            return mt_mr_broken(m, "a string that is longer than --max-string");
    }
    if (id != NULL && !mt_build_str(m->b, m->src->cur, (size_t)(nul - m->src->cur), id))
        return mt_mr_refused(m);
    m->src->cur = nul + 1;
    return 1;
}
