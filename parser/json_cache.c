#include "parser/json_cache.h"

#include "parser/base/mem.h"

int mt_json_seen_init(struct mt_json_seen *s, uint32_t n_slots, uint32_t max_slots)
{
    memset(s, 0, sizeof *s);
    s->slot = mt_calloc(n_slots, sizeof *s->slot);
    s->n_slots = n_slots;
    s->max_slots = max_slots;
    return s->slot != NULL;
}

void mt_json_seen_done(struct mt_json_seen *s)
{
    mt_free(s->slot);
    memset(s, 0, sizeof *s);
}

static void place(struct mt_json_seen *s, const struct mt_json_seen_slot *e)
{
    struct mt_json_seen_slot *b = s->slot + (e->lo & (s->n_slots - 1) & ~UINT64_C(3)), *victim = b;
    for (int i = 0; i < 4; i++) {
        if (b[i].used == 0) {
            b[i] = *e;
            s->n++;
            return;
        }
        if (b[i].used < victim->used)
            victim = &b[i];
    }
    for (int i = 0; i < 4; i++)
        b[i].used -= b[i].used > 1; /* what is not found any more ages */
    *victim = *e;
}

void mt_json_seen_put(struct mt_json_seen *s, struct mt_json_hash h, uint32_t id)
{
    const struct mt_json_seen_slot e = { h.lo, h.hi, id, 1 };
    if (s->n >= s->n_slots / 2 && s->n_slots < s->max_slots) {
        struct mt_json_seen fresh;
        /* Without memory for a larger table the old one serves on, replacing. */
        if (mt_json_seen_init(&fresh, s->n_slots * 2, s->max_slots)) {
            for (uint32_t i = 0; i < s->n_slots; i++)
                if (s->slot[i].used)
                    place(&fresh, &s->slot[i]);
            mt_json_seen_done(s);
            *s = fresh;
        } else {
            s->max_slots = s->n_slots;
        }
    }
    place(s, &e);
}
