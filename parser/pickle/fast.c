/* The fast path for trace entries. Nearly all of a large snapshot is dicts with keys from the memo,
 * small numbers, and lists of frames from the memo. This file writes them into the record without
 * the value stack. Any other form is left untouched to the machine of pickle/run.c, so the result
 * is the same with and without this file. */
#include "parser/pickle/impl.h"

#include <string.h>

#define FRAME_ENTRY ((uint32_t)MT_T_FRAME << PK_ID_BITS)

/* Gets of frames into ids[k..room); stops at the first byte that is none. Needs 8 readable bytes at
 * p. */
static const unsigned char *take_gets(const struct pk *m, mt_frame_id *ids, uint32_t *k,
                                      uint32_t room, const unsigned char *p,
                                      const unsigned char *end)
{
    const uint32_t *memo = m->memo;
    uint32_t n = *k, n_memo = m->n_memo, i, id;
    const unsigned char *stop = end - p >= 8 ? end - 7 : p;
    for (;;) {
        /* nearly all: the first 256 entries are taken by keys and segments */
        while (n < room && p < stop && *p == 'j') {
            i = mt_pk_le32(p + 1);
            if (i >= n_memo || (id = memo[i] - FRAME_ENTRY) > PK_ID_MASK)
                goto out;
            ids[n++] = id;
            p += 5;
        }
        if (n == room || p >= stop || *p != 'h')
            break;
        if (p[1] >= n_memo || (id = memo[p[1]] - FRAME_ENTRY) > PK_ID_MASK)
            break;
        ids[n++] = id;
        p += 2;
    }
out:
    *k = n;
    return p;
}

int mt_pk_frame_gets(struct pk *m, uint32_t node, const unsigned char **at,
                     const unsigned char *end)
{
    struct pk_node *n = &m->nodes.p[node];
    uint32_t k = n->n_ids;
    for (;;) {
        uint32_t room = n->cap_ids < m->lim->max_frames ? n->cap_ids : m->lim->max_frames;
        *at = take_gets(m, n->ids, &k, room, *at, end);
        if (k < room || k >= m->lim->max_frames)
            break;
        if (!mt_vec_grow((void **)&n->ids, &n->cap_ids, k + 1, sizeof *n->ids))
            return mt_pk_nomem(m);
    }
    m->steps += k - n->n_ids;
    n->n += k - n->n_ids;
    n->filled = n->filled || k != n->n_ids;
    n->n_ids = k;
    return 1;
}

/* Whatever one pair can hold besides its frames fits into this many bytes, the key behind it
 * included. */
enum { PAIR_BYTES = 64, TAIL_BYTES = 16, TEXT_BYTES = 32 };
/* A plain pair: a key of 5 bytes and a value of 9, which the next key or the end follows. */
enum { PLAIN_BYTES = 14 };

static inline bool has_shape(const struct pk_shape *s, const unsigned char *p)
{
    return (mt_pk_le64(p) & s->mask) == s->bits;
}

/* The key at place i of an entry: most often that of the entry before. NULL: none that is known. */
static inline struct pk_shape *key_at(struct pk *m, const unsigned char *p, uint32_t i)
{
    struct pk_shape *s = &m->shape[i < PK_SHAPES ? i : PK_SHAPES - 1];
    uint32_t found;
    if (has_shape(s, p))
        return s;
    if ((found = mt_pk_known_key(m, p)) == 0)
        return NULL;
    s->mask = (UINT64_C(1) << (found & 255) * 8) - 1;
    s->bits = mt_pk_le64(p) & s->mask;
    s->key = (uint8_t)(found >> 8);
    s->bit = UINT64_C(1) << s->key;
    s->wide = (uint8_t)(found & 255);
    return s;
}

/* A number of up to 64 bits at p: its width, 0 when it is none. */
static inline uint32_t number(struct pk *m, const unsigned char *p, struct mt_val *v)
{
    unsigned bits;
    uint64_t sign;
    v->type = MT_T_INT;
    switch (*p) {
    case 'K': v->i = p[1]; return 2;
    case 'M': v->i = p[1] | p[2] << 8; return 3;
    case 'J': v->i = (int32_t)mt_pk_le32(p + 1); return 5;
    case 0x8a: /* LONG1: two's complement, little-endian */
        bits = p[1] * 8u;
        if (bits - 1 >= 64)
            return 0;
        sign = UINT64_C(1) << (bits - 1);
        v->u = ((mt_pk_le64(p + 2) & (sign | (sign - 1))) ^ sign) - sign;
        /* CPython writes the fewest bytes */
        m->jit = m->jit || (bits == 64 && (v->u + (UINT64_C(1) << 55)) >> 56 == 0);
        return 2u + p[1];
    default: return 0;
    }
}

/* EMPTY_LIST [MEMOIZE] MARK get get ... APPENDS as a stack, when it is exactly that. Returns what
 * follows, NULL when it is not. */
static const unsigned char *frame_list(struct pk *m, const unsigned char *p,
                                       const unsigned char *end, struct mt_val *v, bool *memoize)
{
    uint32_t k = 0, room = sizeof m->scratch / sizeof *m->scratch;
    const uint64_t counted = m->t->n_distinct_stacks;
    const unsigned char *from;
    mt_stack_id id;
    p++;
    *memoize = *p == 0x94;
    p += *memoize;
    if (*p != '(')
        return NULL;
    if (room > m->lim->max_frames)
        room = m->lim->max_frames;
    v->type = MT_T_STACK;
    from = p + 1;
    p = mt_pk_stack_find(m, from, end - TAIL_BYTES, &id, &k);
    if (p != NULL && k < room) {
        m->steps += k;
        v->id = id;
        return p;
    }
    k = 0;
    p = take_gets(m, m->scratch, &k, room, from, end);
    if (k == room || end - p < 1 + TAIL_BYTES || *p != 'e')
        return NULL;
    if (!mt_build_stack(m->b, m->scratch, k, &id)) {
        mt_pk_builder_failed(m);
        return NULL;
    }
    m->n_new_stacks += (uint32_t)(m->t->n_distinct_stacks - counted);
    m->t->n_distinct_stacks = counted;
    if (!mt_pk_stack_note(m, from, p + 1, id, k))
        return NULL;
    v->id = id;
    m->steps += k;
    return p + 1;
}

/* A short text written out at p: PyTorch makes that of compile_context anew for every event. The
 * last one of each length is kept by its bytes. */
static const unsigned char *short_text(struct pk *m, const unsigned char *p, struct mt_val *v,
                                       bool *memoize)
{
    const unsigned op = *p;
    const uint32_t head = op == 0x8c ? 2 : 5, n = op == 0x8c ? p[1] : mt_pk_le32(p + 1);
    struct pk_text *t = &m->text[n & (PK_TEXTS - 1)];
    uint64_t bits;
    if (n > TEXT_BYTES || n > m->lim->max_string)
        return NULL;
    m->op = p;
    p += head;
    bits = n < PK_TEXTS ? mt_pk_le64(p) & ((UINT64_C(1) << n * 8) - 1) : 0;
    v->type = MT_T_STR;
    if (n < PK_TEXTS && t->known && t->bits == bits) {
        v->id = t->id;
    } else {
        if (!mt_pk_str(m, p, n, &v->id))
            return NULL;
        if (n < PK_TEXTS)
            *t = (struct pk_text){.bits = bits, .id = v->id, .known = true};
    }
    p += n;
    *memoize = *p == 0x94;
    m->min_protocol |= 1u << mt_pk_ops[op].protocol;
    if (*memoize)
        m->min_protocol |= 1u << mt_pk_ops[0x94].protocol;
    return p + *memoize;
}

/* The value at p: what follows it, NULL when the machine has to look at it (or has failed). */
static const unsigned char *value(struct pk *m, enum mt_key key, const unsigned char *p,
                                  const unsigned char *end, struct mt_val *v, bool *memoize)
{
    struct mt_val second = {.type = MT_T_INT, .i = 0};
    uint32_t wide, i, e, pair;
    *memoize = false;
    if (*p == 'h' || *p == 'j') {
        i = *p == 'h' ? p[1] : mt_pk_le32(p + 1);
        e = i < m->n_memo ? m->memo[i] : 0;
        if (e >> PK_ID_BITS < MT_T_STR || e >> PK_ID_BITS > MT_T_PAIR)
            return NULL;
        v->type = (enum mt_type)(e >> PK_ID_BITS);
        v->id = e & PK_ID_MASK;
        return p + (*p == 'h' ? 2 : 5);
    }
    if (*p == ']')
        return key == MT_K_FRAMES ? frame_list(m, p, end, v, memoize) : NULL;
    if (*p == 0x8c || *p == 'X')
        return short_text(m, p, v, memoize);
    if ((wide = number(m, p, v)) == 0)
        return NULL;
    p += wide;
    if (*p == 'h' || *p == 'j' || *p == 'u' || (wide = number(m, p, &second)) == 0)
        return p;
    p += wide; /* a pair: a pool id */
    if (*p != 0x86)
        return NULL;
    *memoize = p[1] == 0x94;
    v->type = MT_T_PAIR;
    if (!mt_build_pair(m->b, v->u, second.u, &pair)) {
        mt_pk_builder_failed(m);
        return NULL;
    }
    v->id = pair;
    return p + 1 + *memoize;
}

/* The text that stood here before, once more: what follows it. NULL: another. */
static inline const unsigned char *text_again(const struct pk_shape *s, const unsigned char *p,
                                              struct mt_val *v)
{
    v->type = MT_T_STR;
    v->u = s->text;
    return (mt_pk_le64(p) & s->text_mask) == s->text_bits ? p + s->text_wide : NULL;
}

/* A text of compile_context: what was read once is known by its bytes. at: the opcode of the text;
 * end: behind the one that stores it. */
static void note_text(struct pk_shape *s, const unsigned char *at, const unsigned char *end,
                      mt_str_id id)
{
    const size_t wide = (size_t)(end - at);
    if (wide > sizeof s->text_bits)
        return;
    s->text_mask = UINT64_MAX >> (sizeof s->text_bits - wide) * 8;
    s->text_bits = mt_pk_le64(at) & s->text_mask;
    s->text_wide = (uint8_t)wide;
    s->text = id;
}

/* Pairs of plain values, as long as keys come in the order of the entry before. Returns how many
 * there are with the n before them. The last shape is like nothing: it ends the walk. */
static uint32_t take_plain(struct pk *m, struct mt_rec *rec, uint32_t n, const unsigned char **at,
                           const unsigned char *end)
{
    const struct pk_shape *s = m->shape + (n < PK_SHAPES ? n : PK_SHAPES);
    const unsigned char *p = *at;
    uint64_t have = rec->have;
    if (end - p < PK_SHAPES * PLAIN_BYTES + TAIL_BYTES || !has_shape(s, p))
        return n;
    for (bool more = true; more; s++) {
        struct mt_val v;
        const unsigned char *from = p + s->wide, *q = mt_pk_plain(m, from, &v);
        const bool is_text = q == NULL;
        if (is_text && (q = text_again(s, from, &v)) == NULL)
            break;
        more = has_shape(s + 1, q);
        if (!more && *q != 'u')
            break;
        if (is_text) {
            m->op = q - 1;
            if (!mt_pk_put_id(m, m->n_stored, v))
                break;
        }
        /* member by member, as in mt_rec_set() */
        rec->v[s->key].type = v.type;
        rec->v[s->key].u = v.u;
        have |= s->bit;
        p = q;
    }
    rec->have = have;
    *at = p;
    return (uint32_t)(s - m->shape);
}

/* A pair is taken when a key or the end of the dict follows its value; only then can the value not
 * be part of a tuple. 1: taken, *at behind it; 0: the machine has to look at it (or has failed). */
static int take_pair(struct pk *m, struct mt_rec *rec, uint32_t n, const unsigned char **at,
                     const unsigned char *end)
{
    const unsigned char *p = *at, *q, *store, *from;
    struct pk_shape *s = key_at(m, p, n);
    const enum mt_key key = s != NULL ? (enum mt_key)s->key : MT_K_UNKNOWN;
    uint32_t put = m->n_stored;
    struct mt_val v;
    bool memoize;
    if (s == NULL)
        return 0;
    m->op = p;
    from = p + s->wide; /* the next key may take the place of this one */
    q = value(m, key, from, end, &v, &memoize);
    if (q == NULL)
        return 0;
    store = q - memoize;
    if (v.type >= MT_T_STR && v.type <= MT_T_PAIR && v.type != MT_T_FRAME && !memoize &&
        (*q == 'q' || *q == 'r')) {
        /* torch::jit::Pickler stores what it will share when it is complete */
        put = *q == 'q' ? q[1] : mt_pk_le32(q + 1);
        q += *q == 'q' ? 2 : 5;
        memoize = true;
    }
    if (*q != 'u' && key_at(m, q, n + 1) == NULL)
        return 0;
    if (memoize) {
        m->op = store;
        if (!mt_pk_put_id(m, put, v))
            return 0;
        if (*from == 0x8c && *store == 0x94)
            note_text(s, from, q, v.id);
    }
    mt_rec_set(rec, key, v);
    *at = q;
    return 1;
}

/* Counts the pairs in *count. */
static int take_pairs(struct pk *m, struct mt_rec *rec, uint64_t *count, const unsigned char **at,
                      const unsigned char *end)
{
    const unsigned char *last;
    uint32_t n = 0;
    if (end - *at < PAIR_BYTES)
        return m->stop == PK_RUNNING;
    last = end - PAIR_BYTES;
    do {
        n = take_plain(m, rec, n, at, end);
    } while (m->stop == PK_RUNNING && *at <= last && **at != 'u' && take_pair(m, rec, n, at, end) &&
             ++n != 0);
    m->steps += n;
    *count += n;
    return m->stop == PK_RUNNING;
}

int mt_pk_record_pairs(struct pk *m, uint32_t node, const unsigned char **at,
                       const unsigned char *end)
{
    struct pk_node *n = &m->nodes.p[node];
    uint64_t before = n->n;
    int ok = take_pairs(m, n->rec, &n->n, at, end);
    n->filled = n->filled || n->n != before;
    n->n_new_stacks += m->n_new_stacks;
    m->n_new_stacks = 0;
    return ok;
}

/* The machine goes on inside an entry of which `count` pairs were taken; it is stored under `put`
 * when not PK_NONE. */
static int hand_over(struct pk *m, const struct mt_rec *rec, uint64_t count, uint32_t put)
{
    struct pk_node *n;
    uint32_t index;
    if (!mt_pk_open(m, true) || !mt_pk_mark(m))
        return 0;
    index = m->mark->node;
    n = &m->nodes.p[index];
    *n->rec = *rec;
    n->n = count;
    n->filled = count != 0;
    n->n_new_stacks = m->n_new_stacks;
    m->n_new_stacks = 0;
    if (put != PK_NONE) {
        m->memo[put] = (uint32_t)PK_T_NODE << PK_ID_BITS | index;
        n->memo = put + 1;
    }
    return 1;
}

int mt_pk_entries(struct pk *m, const unsigned char **at, const unsigned char *end)
{
    const struct mt_val done = {.type = MT_T_OTHER, .id = 0};
    const unsigned memoized = 1u << mt_pk_ops[0x94].protocol;
    const uint32_t node = m->mark->node;
    struct mt_rec rec;
    if (m->mark->item != MT_R_EVENT || m->marks.n > m->lim->max_depth ||
        (m->sp != m->mark->base && mt_pk_is_list(m, &m->stack[m->sp - 1])))
        return mt_pk_open(m, true);
    if (m->sp != m->mark->base) { /* as mt_pk_open() does: what waited is whole */
        if (!mt_pk_deliver(m, node, m->mark->base, m->sp))
            return 0;
        m->sp = m->mark->base;
    }
    /* as '}', which came already */
    m->min_protocol |= 1u << mt_pk_ops['('].protocol | 1u << mt_pk_ops['u'].protocol;
    for (;;) {
        const unsigned char *const first = *at, *p = first, *q;
        uint32_t put = PK_NONE;
        uint64_t count = 0;
        struct pk_node *list;
        bool is_known;
        if ((q = mt_pk_like_take(m, p, end, &is_known)) != NULL) {
            list = &m->nodes.p[node];
            list->n++;
            list->filled = true;
            *at = q;
            continue;
        }
        if (m->stop != PK_RUNNING)
            return 0;
        if (end - p < 2 + PAIR_BYTES || p[*p == 0x94] != '(')
            return mt_pk_open(m, true);
        if (*p == 0x94) {
            m->op = p++;
            put = m->n_stored;
            if (!mt_pk_put_id(m, put, done))
                return 0;
            m->min_protocol |= memoized;
            m->steps++;
        }
        p++;
        m->steps++;
        mt_rec_reset(&rec);
        if (!take_pairs(m, &rec, &count, &p, end))
            return 0;
        *at = p;
        if (end - p < 2 || p[0] != 'u' || p[1] != '}') { /* it may still change */
            m->op = p;
            return hand_over(m, &rec, count, put);
        }
        list = &m->nodes.p[node];
        list->n++;
        list->filled = true;
        m->op = p + 1;
        m->steps += 3; /* both opcodes and the item */
        m->t->n_distinct_stacks += m->n_new_stacks;
        m->n_new_stacks = 0;
        if (!mt_build_event(m->b, &rec))
            return mt_pk_builder_failed(m);
        if (!is_known)
            mt_pk_like_learn(m, &rec, first, p + 2);
        *at = p + 2;
    }
}
