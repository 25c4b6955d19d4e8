/* Recognises stacks by their bytes. A snapshot gets the same frames from the memo in the same order
 * thousands of times, so a list that was read once is not decoded again. A match is exact: equal
 * bytes up to the closing opcode are equal opcodes, and a number of the memo keeps its meaning. If
 * a file stores a number twice, which no pickler does, all known stacks are forgotten. */
#include "parser/base/secret.h"
#include "parser/pickle/impl.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    SLOTS = 16384,
    MAX_LISTS = SLOTS / 2,
    MAX_BYTES = 1 << 20, /* of all lists; then it begins anew */
    LONGEST = 2560,      /* of one list: 512 frames */
    /* Candidates for the end of a list: the byte 'e' may also be part of a number. Behind the end
     * of a list that is new come those of the lists after it, and each is hashed. */
    MAX_ENDS = 2,
    GUESS_BITS = 13,
    HEAD = 32 /* bytes of a list, and of what follows it, by which it is guessed */
};

struct pk_known {
    uint64_t hash;
    uint32_t at;  /* its pk_list, in pk_stacks.bytes */
    uint16_t len; /* bytes, the closing opcode included; 0 = empty */
};

/* What is known of a list: its bytes follow, so that one look at memory brings both. */
struct pk_list {
    mt_stack_id id;
    uint16_t len, count; /* bytes; frames */
};

struct pk_stacks {
    struct pk_known *slot;
    unsigned char *bytes;
    uint32_t guess[1 << GUESS_BITS]; /* at + 1 of the last list with such a head; 0 = none */
    uint32_t n, n_bytes;
};

static void forget(struct pk_stacks *s)
{
    if (s->n != 0) {
        memset(s->slot, 0, SLOTS * sizeof *s->slot);
        memset(s->guess, 0, sizeof s->guess);
    }
    s->n = s->n_bytes = 0;
}

void mt_pk_shapes_begin(struct pk *m)
{
    for (unsigned i = 0; i <= PK_SHAPES; i++)
        m->shape[i] = (struct pk_shape){.bits = 1, .text_bits = 1};
    if (m->n_like != 0)
        memset(m->like_at, 0, sizeof m->like_at);
    m->n_like = m->next_like = 0;
}

void mt_pk_forget(struct pk *m)
{
    mt_pk_shapes_begin(m);
    if (m->stacks != NULL)
        forget(m->stacks);
}

static struct pk_known *find(const struct pk_stacks *s, const unsigned char *p, size_t len,
                             uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (SLOTS - 1);
    for (; s->slot[i].len != 0; i = (i + 1) & (SLOTS - 1))
        if (s->slot[i].hash == hash && s->slot[i].len == len &&
            memcmp(s->bytes + s->slot[i].at + sizeof(struct pk_list), p, len) == 0)
            break;
    return &s->slot[i];
}

/* What may follow a list in a dict: a key, a store, the end. */
static bool may_follow(unsigned char op)
{
    return op == 'h' || op == 'j' || op == 'u' || op == 'q' || op == 'r';
}

/* Where the last list with such a head has its place. */
static inline uint32_t *guess_of(struct pk_stacks *s, const unsigned char *p)
{
    uint64_t h = mt_pk_le64(p);
    for (unsigned i = 8; i < HEAD; i += 8)
        h = (h ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15) + mt_pk_le64(p + i);
    return &s->guess[(h ^ h >> 29) * UINT64_C(0xff51afd7ed558ccd) >> (64 - GUESS_BITS)];
}

/* The first 'e' in [p, end) that may close a list: what follows it, or NULL. What comes after the
 * list waits for this alone, so it is found by 64 bytes at a time and not by what is known of the
 * list. */
static inline const unsigned char *end_of_list(const unsigned char *p, const unsigned char *end)
{
#if defined(__SSE2__)
    const __m128i e = _mm_set1_epi8('e');
    for (; end - p > 64; p += 64) {
        uint64_t found = 0;
        for (unsigned i = 0; i < 4; i++) {
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + i * 16));
            found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, e)) << i * 16;
        }
        for (; found != 0; found &= found - 1) {
            const unsigned char *at = p + __builtin_ctzll(found) + 1;
            if (may_follow(*at))
                return at;
        }
    }
#endif
    while (p < end && (p = memchr(p, 'e', (size_t)(end - p))) != NULL && ++p < end)
        if (may_follow(*p))
            return p;
    return NULL;
}

static inline bool is_list(const struct pk_stacks *s, uint32_t at, const unsigned char *p,
                           size_t len, struct pk_list *list)
{
    memcpy(list, s->bytes + at, sizeof *list);
    return list->len == len && memcmp(s->bytes + at + sizeof *list, p, len) == 0;
}

/* A list by all of its bytes: what follows it, or NULL. */
static const unsigned char *search(const struct pk_stacks *s, const unsigned char *p,
                                   const unsigned char *end, const struct pk_known **k)
{
    const unsigned char *e = p;
    for (int tries = 0; tries < MAX_ENDS && e < end; tries++) {
        size_t len;
        e = memchr(e, 'e', (size_t)(end - e));
        if (e == NULL || ++e == end)
            return NULL;
        if (!may_follow(*e))
            continue;
        len = (size_t)(e - p);
        *k = find(s, p, len, mt_hash_bytes(p, len));
        if ((*k)->len != 0)
            return e;
    }
    return NULL;
}

const unsigned char *mt_pk_stack_find(const struct pk *m, const unsigned char *p,
                                      const unsigned char *end, mt_stack_id *id, uint32_t *count)
{
    struct pk_stacks *s = m->stacks;
    const unsigned char *e = NULL;
    const struct pk_known *k;
    struct pk_list list;
    uint32_t *guess = NULL;
    if (s == NULL)
        return NULL;
    if (end - p > LONGEST)
        end = p + LONGEST;
    if (end - p > HEAD && (e = end_of_list(p, end)) != NULL) {
        /* By its head, which waits for nothing. Layers of one model may share it: then not all of
         * it is hashed in vain, but a hash of all made every other list wait (7 % of reading). */
        guess = guess_of(s, p);
        if (*guess == 0 || !is_list(s, *guess - 1, p, (size_t)(e - p), &list))
            e = NULL;
    }
    if (e == NULL) {
        if ((e = search(s, p, end, &k)) == NULL)
            return NULL;
        memcpy(&list, s->bytes + k->at, sizeof list);
        if (guess != NULL)
            *guess = k->at + 1;
    }
    *id = list.id;
    *count = list.count;
    return e;
}

int mt_pk_stack_note(struct pk *m, const unsigned char *p, const unsigned char *end, mt_stack_id id,
                     uint32_t count)
{
    struct pk_stacks *s = m->stacks;
    size_t len = (size_t)(end - p);
    struct pk_known *k;
    struct pk_list list;
    uint64_t hash;
    if (len > LONGEST)
        return 1;
    if (s == NULL) {
        if ((m->stacks = s = mt_calloc(1, sizeof *s)) == NULL ||
            (s->slot = mt_calloc(SLOTS, sizeof *s->slot)) == NULL ||
            (s->bytes = mt_malloc(MAX_BYTES)) == NULL)
            return mt_pk_nomem(m);
    }
    if (s->n == MAX_LISTS || sizeof list + len > MAX_BYTES - s->n_bytes)
        forget(s);
    hash = mt_hash_bytes(p, len);
    k = find(s, p, len, hash);
    if (k->len != 0)
        return 1;
    list = (struct pk_list){id, (uint16_t)len, (uint16_t)count};
    memcpy(s->bytes + s->n_bytes, &list, sizeof list);
    memcpy(s->bytes + s->n_bytes + sizeof list, p, len);
    *k = (struct pk_known){hash, s->n_bytes, (uint16_t)len};
    s->n_bytes += (uint32_t)(sizeof list + len);
    s->n++;
    return 1;
}

void mt_pk_stacks_done(struct pk *m)
{
    if (m->stacks != NULL) {
        mt_free(m->stacks->slot);
        mt_free(m->stacks->bytes);
    }
    mt_free(m->stacks);
    m->stacks = NULL;
}
