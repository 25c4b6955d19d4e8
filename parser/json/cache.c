#include "parser/json/cache.h"

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
    const struct mt_json_seen_slot e = {h.lo, h.hi, id, 1};
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

int mt_json_frames_init(struct mt_json_frames *s)
{
    memset(s, 0, sizeof *s);
    s->f = mt_calloc(MT_JSON_FRAMES, sizeof *s->f);
    s->guess = mt_calloc(MT_JSON_GUESSES, sizeof *s->guess);
    return s->f != NULL && s->guess != NULL;
}

void mt_json_frames_done(struct mt_json_frames *s)
{
    mt_free(s->f);
    mt_free(s->guess);
    memset(s, 0, sizeof *s);
}

static struct mt_json_frame *frame_bucket(struct mt_json_frames *s, struct mt_json_hash h)
{
    return s->f + (h.lo & (MT_JSON_FRAMES - 1) & ~UINT64_C(3));
}

const struct mt_json_frame *mt_json_frames_find(struct mt_json_frames *s, struct mt_json_hash h)
{
    struct mt_json_frame *b = frame_bucket(s, h);
    for (int i = 0; i < 4; i++) {
        if (b[i].lo == h.lo && b[i].hi == h.hi && b[i].used != 0) {
            uint32_t at = (uint32_t)(b + i - s->f);
            b[i].used = (uint8_t)(b[i].used < MT_JSON_SEEN_MOST ? b[i].used + MT_JSON_SEEN_STEP
                                                                : MT_JSON_SEEN_MOST);
            *mt_json_frames_slot(s) = (uint16_t)at;
            mt_json_frames_passed(s, at + 1);
            return &b[i];
        }
    }
    mt_json_frames_passed(s, 0);
    return NULL;
}

void mt_json_frames_put(struct mt_json_frames *s, struct mt_json_hash h, uint32_t id,
                        const unsigned char *text, size_t n)
{
    struct mt_json_frame *b = frame_bucket(s, h), *victim = b;
    for (int i = 1; i < 4; i++)
        if (b[i].used < victim->used)
            victim = &b[i];
    for (int i = 0; i < 4; i++)
        b[i].used = (uint8_t)(b[i].used - (b[i].used > 1));
    victim->lo = h.lo;
    victim->hi = h.hi;
    victim->id = id;
    victim->used = 1;
    victim->has_text = n <= MT_JSON_FRAME_TEXT;
    victim->len = victim->has_text ? (uint16_t)n : 0;
    memcpy(victim->text, text, victim->len);
}
