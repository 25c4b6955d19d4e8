/* Entries that are like one before them. A trace has few kinds of entries: of one kind all bytes
 * are the same but those of address, size, time and stack. An entry that pickle/fast.c has read is
 * kept as the pieces between these, and one that has all its pieces needs no record: it is the same
 * event with other numbers. Whatever is unlike every kind is left untouched to pickle/fast.c, so
 * the result is the same with and without this file. */
#include "parser/pickle/impl.h"

#include <string.h>

enum { TAIL = 16, LONGEST_TEXT = 32 };

/* ---- an entry as a kind ---- */

/* n bytes more for the last piece; false: it is too long. */
static bool add(struct pk_like *k, const unsigned char *p, size_t n)
{
    struct pk_piece *x = &k->piece[k->n_pieces];

    if (n > sizeof x->bits - x->n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const unsigned at = (unsigned)(x->n + i);
        x->bits[at / 8] |= (uint64_t)p[i] << at % 8 * 8;
        x->mask[at / 8] |= UINT64_C(255) << at % 8 * 8;
    }
    x->n = (uint8_t)(x->n + n);
    return true;
}

/* Ends the piece: what differs from entry to entry comes next. */
static bool hole(struct pk_like *k, enum pk_hole what)
{
    for (unsigned i = 0; i < k->n_pieces; i++)
        if (k->piece[i].hole == (uint8_t)what)
            return false;
    if (k->n_pieces + 1 == PK_PIECES)
        return false;
    k->piece[k->n_pieces++].hole = (uint8_t)what;
    return true;
}

static bool put(struct pk_like *k, uint32_t entry)
{
    if (k->n_puts == PK_PUTS)
        return false;
    k->put[k->n_puts++] = entry;
    return true;
}

static bool puts_value(struct pk_like *k, struct mt_val v)
{
    return v.id <= PK_ID_MASK && put(k, (uint32_t)v.type << PK_ID_BITS | v.id);
}

/* A stack that the memo has at p: what follows it, or NULL. */
static inline const unsigned char *known_stack(const struct pk *m, const unsigned char *p,
                                               mt_stack_id *id)
{
    const uint32_t at = *p == 'h' ? p[1] : mt_pk_le32(p + 1), e = at < m->n_memo ? m->memo[at] : 0;
    if ((*p != 'h' && *p != 'j') || e >> PK_ID_BITS != MT_T_STACK)
        return NULL;
    *id = e & PK_ID_MASK;
    return p + (*p == 'h' ? 2 : 5);
}

/* A list of frames that was read just now. What follows it, or NULL. */
static const unsigned char *add_frames(const struct pk *m, struct pk_like *k,
                                       const unsigned char *p, const unsigned char *end)
{
    const size_t n = p[1] == 0x94 ? 3 : 2;
    mt_stack_id id;
    uint32_t count;
    if (p[n - 1] != '(' || !add(k, p, n) || (n == 3 && !put(k, PK_PUT_STACK)) ||
        !hole(k, PK_HOLE_FRAMES))
        return NULL;
    return mt_pk_stack_find(m, p + n, end, &id, &count);
}

/* A value that all entries of the kind share. What follows it, or NULL. */
static const unsigned char *add_fixed(const struct pk *m, struct pk_like *k, const unsigned char *p,
                                      struct mt_val v)
{
    const unsigned char *q;
    if (*p == 0x8c && p[1] <= LONGEST_TEXT) {
        q = p + 2 + p[1];
        if (*q == 0x94 && (v.type != MT_T_STR || !puts_value(k, v)))
            return NULL;
        q += *q == 0x94;
    } else if ((q = mt_pk_plain(m, p, &v)) == NULL) {
        return NULL;
    }
    return add(k, p, (size_t)(q - p)) ? q : NULL;
}

static const unsigned char *add_pair(struct pk *m, struct pk_like *k, const struct mt_rec *rec,
                                     const unsigned char *p, const unsigned char *end)
{
    const uint32_t found = mt_pk_known_key(m, p), wide = found & 255;
    const enum mt_key key = (enum mt_key)(found >> 8);
    enum pk_hole number;
    struct mt_val v;
    if (found == 0 || !add(k, p, wide))
        return NULL;
    p += wide;
    if (key == MT_K_FRAMES && *p == ']')
        return add_frames(m, k, p, end);
    number = key == MT_K_ADDR      ? PK_HOLE_ADDR
             : key == MT_K_SIZE    ? PK_HOLE_SIZE
             : key == MT_K_TIME_US ? PK_HOLE_TIME
             : key == MT_K_FRAMES  ? PK_HOLE_STACK
                                   : PK_HOLE_NONE;
    if (number == PK_HOLE_NONE)
        return add_fixed(m, k, p, rec->v[key]);
    if (!hole(k, number))
        return NULL;
    return number == PK_HOLE_STACK ? known_stack(m, p, &v.id) : mt_pk_plain_number(p, &v);
}

/* p: behind the '}' of the entry; stop: behind that of the next. */
static bool make(struct pk *m, struct pk_like *k, const struct mt_rec *rec, const unsigned char *p,
                 const unsigned char *stop)
{
    const size_t head = *p == 0x94 ? 2 : 1;
    *k = (struct pk_like){.n_steps = (uint32_t)head + 3};
    if (!mt_build_repeats(m->b, rec, &k->kind) || !add(k, p, head) ||
        (head == 2 && !put(k, (uint32_t)MT_T_OTHER << PK_ID_BITS)))
        return false;
    for (p += head; p != NULL && p < stop && *p != 'u'; k->n_steps++)
        p = add_pair(m, k, rec, p, stop);
    return p != NULL && p + 2 == stop && add(k, p, 2);
}

void mt_pk_like_learn(struct pk *m, const struct mt_rec *rec, const unsigned char *p,
                      const unsigned char *stop)
{
    struct pk_like k;
    if (!make(m, &k, rec, p, stop))
        return;
    m->like[m->next_like] = k;
    if (m->n_like <= m->next_like)
        m->n_like = m->next_like + 1;
    /* as many bytes as all kinds begin with */
    for (unsigned i = 0; i < 2; i++)
        m->head_mask[i] =
            m->n_like == 1 ? k.piece[0].mask[i] : m->head_mask[i] & k.piece[0].mask[i];
    m->next_like = (m->next_like + 1) % PK_LIKES;
}

/* ---- an entry by its kind ---- */

static inline uint64_t differs(const struct pk_piece *x, const unsigned char *p, unsigned word)
{
    return (mt_pk_le64(p + word * 8) ^ x->bits[word]) & x->mask[word];
}

/* Written out, as a loop over one to seven words costs more than the words. */
static inline bool has_piece(const struct pk_piece *x, const unsigned char *p)
{
    uint64_t d = differs(x, p, 0);
    if (x->n > 8)
        d |= differs(x, p, 1) | differs(x, p, 2) | differs(x, p, 3);
    if (x->n > 32)
        d |= differs(x, p, 4) | differs(x, p, 5) | differs(x, p, 6);
    return d == 0;
}

/* What an entry has between its pieces. */
struct numbers {
    uint64_t of[PK_HOLES];
    mt_stack_id stack;
    uint32_t n_frames;
};

enum fits { FITS, OTHER_KIND, NOT_PLAIN };

/* Whether the entry at *at is of this kind; then *at is behind it. */
static inline enum fits fits(const struct pk *m, const struct pk_like *k, struct numbers *x,
                             const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;
    struct mt_val v;
    for (const struct pk_piece *piece = k->piece; has_piece(piece, p); piece++) {
        p += piece->n;
        if (piece->hole == PK_HOLE_NONE) {
            *at = p;
            return FITS;
        }
        if (piece->hole == PK_HOLE_FRAMES)
            p = mt_pk_stack_find(m, p, end - TAIL, &x->stack, &x->n_frames);
        else if (piece->hole == PK_HOLE_STACK)
            p = known_stack(m, p, &x->stack);
        else if ((p = mt_pk_plain_number(p, &v)) != NULL)
            x->of[piece->hole] = v.u;
        if (p == NULL || end - p < PK_PIECE_BYTES + TAIL)
            return NOT_PLAIN;
    }
    return OTHER_KIND;
}

/* Where the kinds that begin with the bytes at p have their place. */
static inline uint8_t *place(struct pk *m, const unsigned char *p)
{
    const uint64_t head = (mt_pk_le64(p) & m->head_mask[0]) * UINT64_C(0x9e3779b97f4a7c15) ^
                          (mt_pk_le64(p + 8) & m->head_mask[1]);
    return &m->like_at[head * UINT64_C(0xff51afd7ed558ccd) >> (64 - PK_LIKE_BITS)];
}

/* The kind of the entry at *at, or PK_LIKES; then *is_known tells whether one fits all but what is
 * not plain. */
static inline uint32_t kind_of(struct pk *m, struct numbers *x, const unsigned char **at,
                               const unsigned char *end, bool *is_known)
{
    uint8_t *guess = place(m, *at);
    enum fits f = fits(m, &m->like[*guess], x, at, end);
    if (f == FITS)
        return *guess;
    for (uint32_t i = 0; f == OTHER_KIND && i < m->n_like; i++)
        if (i != *guess && (f = fits(m, &m->like[i], x, at, end)) == FITS) {
            *guess = (uint8_t)i;
            return i;
        }
    *is_known = f == NOT_PLAIN;
    return PK_LIKES;
}

const unsigned char *mt_pk_like_take(struct pk *m, const unsigned char *p, const unsigned char *end,
                                     bool *is_known)
{
    const uint32_t most = m->lim->max_frames < PK_SCRATCH ? m->lim->max_frames : PK_SCRATCH;
    const struct pk_like *k;
    uint32_t i, n = m->n_stored, n_puts, *memo = m->memo;
    struct numbers x; /* not all cleared: that would take longer than to fill it */
    uint64_t us;
    x.of[PK_HOLE_TIME] = x.of[PK_HOLE_ADDR] = x.of[PK_HOLE_SIZE] = 0;
    x.stack = x.n_frames = 0;
    *is_known = true; /* or not to be told here */
    if (end - p < PK_PIECE_BYTES + TAIL)
        return NULL;
    *is_known = m->n_like != 0;
    i = *is_known ? kind_of(m, &x, &p, end, is_known) : PK_LIKES;
    if (i == PK_LIKES)
        return NULL;
    k = &m->like[i];
    n_puts = k->n_puts;
    if (n + n_puts > m->cap_memo || (n_puts != 0 && n != m->n_memo) || x.n_frames >= most ||
        x.stack > PK_ID_MASK)
        return NULL;
    for (uint32_t put = 0; put < n_puts; put++) {
        const uint32_t e = k->put[put];
        memo[n + put] = e == PK_PUT_STACK ? (uint32_t)MT_T_STACK << PK_ID_BITS | x.stack : e;
    }
    if (n_puts != 0)
        m->n_memo = m->n_stored = n + n_puts;
    m->steps += k->n_steps + x.n_frames;
    m->op = p - 1;
    us = x.of[PK_HOLE_TIME];
    if (!mt_build_plain_event(m->b, k->kind, x.of[PK_HOLE_ADDR], x.of[PK_HOLE_SIZE],
                              us < UINT64_MAX / 1000 ? us * 1000 : 0, x.stack)) {
        mt_pk_builder_failed(m);
        return NULL;
    }
    return p;
}
