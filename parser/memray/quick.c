/* memray/quick.c -- from version 12 on nearly all records are allocations, frees, calls and
 * returns: those that lie whole in the window are read here, with one look at its end for each. */
#include "parser/memray/live.h"
#include "parser/model/wire.h"

/* No such record is longer: its type, an address, an allocator, a native stack and a size. */
enum { LONGEST = 32 };

/* A number of up to 8 bytes, by all of them at once; NULL = it has more. The bytes behind it are in
 * the window. */
static inline const uint8_t *number(const uint8_t *p, uint64_t *v)
{
    const uint64_t go_on = UINT64_C(0x8080808080808080);
    uint64_t w, last;
    if (*p < 128) {
        *v = *p;
        return p + 1;
    }
    w = mt_get64(p);
    last = ~w & go_on;
    if (last == 0)
        return NULL;
    last &= 0 - last; /* the mark of the last byte */
    w &= (last | (last - 1)) & ~go_on;
    /* the second of each pair of bytes moves down by one bit, of each pair of those by two, by
     * four: less its half, its three quarters */
    w -= (w & UINT64_C(0x7f007f007f007f00)) >> 1;
    w -= ((w & UINT64_C(0x3fff00003fff0000)) >> 2) * 3;
    *v = (w & UINT64_C(0x0fffffff)) | (w & UINT64_C(0x0fffffff00000000)) >> 4;
    return p + (__builtin_ctzll(last) >> 3) + 1;
}

static inline int64_t with_sign(uint64_t u) { return (int64_t)(u >> 1 ^ (0 - (u & 1))); }

/* The stack of the calls that go on; 0 = not made yet. */
static inline mt_stack_id known_stack(const struct mt_mr *m)
{
    const struct mt_mr_thread *t;
    if (m->thread == 0)
        return 0;
    t = &m->threads.p[m->thread - 1];
    return m->nodes.p[t->calls.n != 0 ? t->calls.p[t->calls.n - 1] : t->root].stack[0];
}

/* A record of a block that begins with b, in front of p. 1 = done, 0 = m->end says why not, -1 =
 * nothing was changed: to be read another way. */
static inline int block(struct mt_mr *m, uint8_t b, const uint8_t *p)
{
    unsigned recent = b >> 3 & 15, id = b & 7;
    uint64_t addr, by = 0, size = 0;
    const struct mt_mr_allocator *a;
    mt_stack_id stack;
    if (recent < 15) {
        addr = m->recent[(m->n_recent - 1 - recent) % 16];
    } else {
        if ((p = number(p, &by)) == NULL)
            return -1;
        by = (uint64_t)with_sign(by);
        addr = (m->last_address + by) << 3;
    }
    if (id == 0)
        id = *p++;
    a = mt_mr_allocator(m, id);
    if (!a->known || a->kind == MT_MR_MMAP || (!a->frees && m->has_native) ||
        (!a->frees && (p = number(p, &size)) == NULL))
        return -1;
    m->src->cur = p;
    if (recent == 15) {
        m->last_address += by;
        m->recent[m->n_recent++ % 16] = addr;
    }
    if (a->frees)
        return mt_mr_free(m, addr);
    if ((stack = known_stack(m)) == 0 && !mt_mr_stack(m, 0, (enum mt_mr_kind)a->kind, &stack))
        return 0;
    return mt_mr_alloc(m, addr, size, (enum mt_mr_kind)a->kind, stack);
}

int mt_mr_quick(struct mt_mr *m)
{
    while (m->src->end - m->src->cur >= LONGEST) {
        const uint8_t *p = m->src->cur;
        uint8_t b = *p++;
        int rc = -1;
        if ((b & 128) != 0) {
            rc = block(m, b, p);
        } else if ((b & 64) != 0) {
            uint64_t code, at;
            if ((p = number(p, &code)) != NULL && (p = number(p, &at)) != NULL) {
                m->src->cur = p;
                rc = mt_mr_call(m, code, with_sign(at));
            }
        } else if ((b & 32) == 0 && (b & 16) != 0) {
            m->src->cur = p;
            mt_mr_pop(m, (b & 15) + 1u);
            rc = 1;
        }
        if (rc != 1)
            return rc != 0;
        m->n_records++;
    }
    return 1;
}
