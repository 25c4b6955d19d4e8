/* Recognises stacks by their bytes. A snapshot gets the same frames from the memo in the same order
 * thousands of times, so a list that was read once is not decoded again. A match is exact: equal
 * bytes up to the closing opcode are equal opcodes, and a number of the memo keeps its meaning. If
 * a file stores a number twice, which no pickler does, all known stacks are forgotten. */
#include "parser/base/secret.h"
#include "parser/pickle/impl.h"

#include <string.h>

enum {
    SLOTS = 16384,
    MAX_LISTS = SLOTS / 2,
    MAX_BYTES = 1 << 20, /* of all lists; then it begins anew */
    LONGEST = 2560,      /* of one list: 512 frames */
    MAX_ENDS = 4 /* candidates for the end of a list: the byte 'e' may also be part of a number */
};

struct pk_known {
    uint64_t hash;
    uint32_t at;    /* its bytes, in pk_stacks.bytes */
    uint16_t len;   /* of them, the closing opcode included; 0 = empty */
    uint16_t count; /* frames */
    mt_stack_id id;
};

struct pk_stacks {
    struct pk_known *slot;
    unsigned char *bytes;
    uint32_t n, n_bytes;
};

static void forget(struct pk_stacks *s)
{
    if (s->n != 0)
        memset(s->slot, 0, SLOTS * sizeof *s->slot);
    s->n = s->n_bytes = 0;
}

void mt_pk_shapes_begin(struct pk *m)
{
    for (unsigned i = 0; i <= PK_SHAPES; i++)
        m->shape[i] = (struct pk_shape){.bits = 1, .text_bits = 1};
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
            memcmp(s->bytes + s->slot[i].at, p, len) == 0)
            break;
    return &s->slot[i];
}

/* What may follow a list in a dict: a key, a store, the end. */
static bool may_follow(unsigned char op)
{
    return op == 'h' || op == 'j' || op == 'u' || op == 'q' || op == 'r';
}

const unsigned char *mt_pk_stack_find(const struct pk *m, const unsigned char *p,
                                      const unsigned char *end, mt_stack_id *id, uint32_t *count)
{
    const unsigned char *e = p;
    const struct pk_known *k;
    if (m->stacks == NULL)
        return NULL;
    if (end - p > LONGEST)
        end = p + LONGEST;
    for (int tries = 0; tries < MAX_ENDS && e < end; tries++) {
        size_t len;
        e = memchr(e, 'e', (size_t)(end - e));
        if (e == NULL || ++e == end)
            return NULL;
        if (!may_follow(*e))
            continue;
        len = (size_t)(e - p);
        k = find(m->stacks, p, len, mt_hash_bytes(p, len));
        if (k->len != 0) {
            *id = k->id;
            *count = k->count;
            return e;
        }
    }
    return NULL;
}

int mt_pk_stack_note(struct pk *m, const unsigned char *p, const unsigned char *end, mt_stack_id id,
                     uint32_t count)
{
    struct pk_stacks *s = m->stacks;
    size_t len = (size_t)(end - p);
    struct pk_known *k;
    uint64_t hash;
    if (len > LONGEST)
        return 1;
    if (s == NULL) {
        if ((m->stacks = s = mt_calloc(1, sizeof *s)) == NULL ||
            (s->slot = mt_calloc(SLOTS, sizeof *s->slot)) == NULL ||
            (s->bytes = mt_malloc(MAX_BYTES)) == NULL)
            return mt_pk_nomem(m);
    }
    if (s->n == MAX_LISTS || len > MAX_BYTES - s->n_bytes)
        forget(s);
    hash = mt_hash_bytes(p, len);
    k = find(s, p, len, hash);
    if (k->len != 0)
        return 1;
    memcpy(s->bytes + s->n_bytes, p, len);
    *k = (struct pk_known){hash, s->n_bytes, (uint16_t)len, (uint16_t)count, id};
    s->n_bytes += (uint32_t)len;
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
