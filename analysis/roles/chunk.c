/* The type of logits that a loss takes in chunks: a chunk in 32 bits may be as large as the whole
 * in 16. */
#include "analysis/roles/impl.h"

#include <string.h>

enum { LINES = 32 }; /* of one loss */

/* A line of the loss that makes whole rows of the vocabulary, by its Python frames: what CPython
 * itself has on the stack differs from the first call to the next. */
struct line {
    uint64_t key, rows; /* rows: bytes, one block each time the line is come to */
    uint32_t times;
};

struct loss {
    uint64_t head; /* bytes of the last block of whole rows before it; 0 = none */
    struct line line[LINES];
    unsigned n, last; /* last: index + 1 */
};

/* A caller's stack has a smaller id than the stacks of what it calls. */
static uint64_t *python_keys(const struct mt_trace *t)
{
    uint64_t *key = mt_calloc((size_t)t->stacks.n + 1, sizeof *key);
    for (uint32_t i = 1; key != NULL && i < t->stacks.n; i++) {
        const struct mt_stack_node *s = &t->stacks.p[i];
        const char *file = mt_str(t, t->frames.p[s->frame].file);
        uint64_t up = s->parent < i ? key[s->parent] : 0;
        key[i] = file[0] == '\0' || strcmp(file, "??") == 0
                     ? up
                     : (up ^ (s->frame + UINT64_C(1))) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    }
    return key;
}

static void note_line(struct loss *l, uint64_t key, uint64_t size)
{
    unsigned i = 0;
    while (i < l->n && l->line[i].key != key)
        i++;
    if (i == LINES)
        return;
    if (i == l->n)
        l->line[l->n++] = (struct line){key, 0, 0};
    if (l->last != i + 1) { /* else another operation of that line */
        l->line[i].rows += size;
        l->line[i].times++;
    }
    l->last = i + 1;
}

/* Every line that came more than once made twice the bytes of the head's output: so many rows in 32
 * bits, and the head's are in 16. */
static bool is_twice(const struct loss *l)
{
    bool twice = false;
    for (unsigned i = 0; i < l->n; i++) {
        if (l->line[i].times >= 2 && l->line[i].rows != l->head * 2)
            return false;
        twice = twice || l->line[i].times >= 2;
    }
    return twice;
}

int mt_head_in_16_bits(struct mt_rwork *k, uint64_t head, bool *yes)
{
    uint64_t *key = python_keys(k->r->t);
    struct loss l = {.head = 0};
    unsigned phase = MT_PH_COUNT;
    *yes = false;
    for (uint32_t i = 0, n = mt_n_events(k); key != NULL && !*yes && i <= n; i++) {
        const struct mt_event *e = i < n ? mt_event_at(k->r->d, i) : NULL;
        struct mt_attr a = e != NULL ? k->r->attr[i] : (struct mt_attr){.phase = MT_PH_COUNT};
        bool rows, of_loss;
        if (e != NULL && e->action != MT_ACT_ALLOC)
            continue;
        rows = e != NULL && e->size % k->logits_unit == 0 && e->size >= head / 64;
        of_loss = a.sub == MT_PH_LOGITS || a.sub == MT_PH_LOSS;
        if (e == NULL || a.phase != phase || mt_group_of(a.sub, MT_G_OTHER) != MT_G_FORWARD ||
            (rows && !of_loss)) {
            *yes = l.head == head && is_twice(&l); /* the end of a loss, where there was one */
            l.n = l.last = 0;
            l.head = rows && !of_loss ? e->size : 0;
        } else if (rows && l.head != 0) {
            note_line(&l, key[e->stack], e->size);
        }
        phase = a.phase;
    }
    mt_free(key);
    return key != NULL;
}
