/* memray/lines.c -- Python's tables of lines: which line an instruction belongs to. Since version
 * 12 a recording has them in place of lines. */
#include "parser/memray/impl.h"

struct table {
    const uint8_t *p, *end;
};

static unsigned next(struct table *t) { return t->p < t->end ? *t->p++ : 0; }

/* Groups of 6 bits, the lowest first. */
static uint32_t varint(struct table *t)
{
    unsigned b = next(t), shift = 0;
    uint32_t v = b & 63;
    while ((b & 64) != 0 && shift < 24) {
        b = next(t);
        shift += 6;
        v |= (uint32_t)(b & 63) << shift;
    }
    return v;
}

/* Python 3.11 and newer: entries of a code (4 bits), a length (3 bits) and what the code asks for.
 */
static uint32_t line_311(struct table t, int64_t line, uint64_t at)
{
    uint64_t from = 0;
    at /= 2; /* bytes to instructions */
    while (t.p < t.end && *t.p != 0) {
        unsigned first = next(&t), code = first >> 3 & 15;
        uint64_t to = from + (first & 7) + 1;
        uint32_t v;
        if (code == 13 || code == 14) {
            v = varint(&t);
            line += (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
            for (int i = 0; code == 14 && i < 3; i++)
                (void)varint(&t);
        } else if (code >= 10 && code <= 12) {
            line += code - 10;
            (void)next(&t);
            (void)next(&t);
        } else if (code < 10) {
            (void)next(&t);
        }
        if (at < to)
            return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
        from = to;
    }
    return 0;
}

/* Pairs of a number of bytes of code, and how many lines further. 3.10: the bytes have that line;
 * older: those that follow have it. */
static uint32_t line_pairs(struct table t, int64_t line, uint64_t at, bool before)
{
    uint64_t code = 0;
    while (t.end - t.p >= 2) {
        unsigned bytes = next(&t);
        int by = (int)next(&t);
        by -= by > 127 ? 256 : 0;
        code += bytes;
        if (before && code > at)
            break;
        if (by != -128 || before)
            line += by;
        if (code > at)
            break;
    }
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

uint32_t mt_mr_line(uint32_t python, const uint8_t *table, size_t n, int64_t first, int64_t at)
{
    struct table t = {table, table + n};
    if (at < 0 || n == 0)
        return 0;
    if (python >= 0x030b0000)
        return line_311(t, first, (uint64_t)at);
    if (python >= 0x030a0000)
        return line_pairs(t, first, (uint64_t)at * 2, false);
    return line_pairs(t, first, (uint64_t)at, true);
}
