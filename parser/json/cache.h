/* json/cache.h -- what was parsed before, by its raw bytes: stacks and frames by a 128-bit hash,
 * short strings by themselves. */
#ifndef MT_JSON_CACHE_H
#define MT_JSON_CACHE_H

#include "parser/json/scan.h"

#include <string.h>

enum { MT_JSON_SEEN_STEP = 8, MT_JSON_SEEN_MOST = 64 };

/* Hash -> id in buckets of four. Grows by doubling up to a bound, then entries are replaced: memory
 * is bounded however many different texts a file holds. An entry that was found again outlives one
 * that was not, so a flood of texts that come once does not push out the few that come always. */
struct mt_json_seen_slot {
    uint64_t lo, hi;
    uint32_t id, used; /* used: 0 = empty, 1 = stored, more = found since then, fading */
};
struct mt_json_seen {
    struct mt_json_seen_slot *slot;
    uint32_t n_slots, n, max_slots;
};

/* powers of two >= 4; 0 = out of memory */
int mt_json_seen_init(struct mt_json_seen *s, uint32_t n_slots, uint32_t max_slots);
void mt_json_seen_done(struct mt_json_seen *s);
void mt_json_seen_put(struct mt_json_seen *s, struct mt_json_hash h, uint32_t id);
static inline int mt_json_seen_get(const struct mt_json_seen *s, struct mt_json_hash h,
                                   uint32_t *id)
{
    struct mt_json_seen_slot *b = s->slot + (h.lo & (s->n_slots - 1) & ~UINT64_C(3));
    for (int i = 0; i < 4; i++) {
        if (b[i].lo == h.lo && b[i].hi == h.hi && b[i].used != 0) {
            b[i].used =
                b[i].used < MT_JSON_SEEN_MOST ? b[i].used + MT_JSON_SEEN_STEP : MT_JSON_SEEN_MOST;
            *id = b[i].id;
            return 1;
        }
    }
    return 0;
}

/* Frames by their text. When stacks differ, their frames do not: a frame is first guessed from the
 * three before it and compared byte by byte, which is several times cheaper than to find its end
 * and hash it; only then it is looked up by hash. */
enum { MT_JSON_FRAME_TEXT = 232, MT_JSON_FRAMES = 4096, MT_JSON_GUESSES = 1 << 16 };
struct mt_json_frame {
    uint64_t lo, hi;
    uint32_t id;
    uint8_t used; /* as in struct mt_json_seen_slot */
    uint8_t has_text;
    uint16_t len;
    unsigned char text[MT_JSON_FRAME_TEXT];
};
struct mt_json_frames {
    struct mt_json_frame *f; /* buckets of four */
    uint16_t *guess;         /* by the three frames before: index into f */
    uint32_t before[3];      /* index + 1; 0 = none, or one that was new and tells nothing */
};

int mt_json_frames_init(struct mt_json_frames *s);
void mt_json_frames_done(struct mt_json_frames *s);
/* The frame with this hash, or NULL. Either way the next guess is made for the frame behind it. */
const struct mt_json_frame *mt_json_frames_find(struct mt_json_frames *s, struct mt_json_hash h);
/* Stores a frame that was not found; text[0..n) is its object, copied when it is short enough. */
void mt_json_frames_put(struct mt_json_frames *s, struct mt_json_hash h, uint32_t id,
                        const unsigned char *text, size_t n);

static inline void mt_json_frames_begin(struct mt_json_frames *s)
{
    s->before[0] = s->before[1] = s->before[2] = 0;
}
static inline void mt_json_frames_passed(struct mt_json_frames *s, uint32_t index_plus_1)
{
    s->before[2] = s->before[1];
    s->before[1] = s->before[0];
    s->before[0] = index_plus_1;
}
static inline uint16_t *mt_json_frames_slot(const struct mt_json_frames *s)
{
    uint32_t h = s->before[0] * UINT32_C(0x9e3779b1) ^ s->before[1] * UINT32_C(0x85ebca77) ^
                 s->before[2] * UINT32_C(0xc2b2ae3d);
    return &s->guess[h >> 16];
}
/* The guessed frame when its text stands at p, else NULL. */
static inline const struct mt_json_frame *mt_json_frames_guess(struct mt_json_frames *s,
                                                               const unsigned char *p,
                                                               const unsigned char *end)
{
    uint32_t i = *mt_json_frames_slot(s);
    const struct mt_json_frame *f = &s->f[i];
    if (!f->has_text || end - p < f->len || memcmp(p, f->text, f->len) != 0)
        return NULL;
    mt_json_frames_passed(s, i + 1);
    return f;
}

/* Strings of up to 15 bytes (actions, states, keys), direct-mapped: the whole text is the tag, so a
 * hit is exact. */
enum { MT_JSON_SHORT = 15, MT_JSON_SHORT_SLOTS = 256 };
struct mt_json_short_slot {
    /* the text, zero-padded, its length in the last byte; length 0 is never stored */
    uint64_t w[2];
    uint32_t id;
};
struct mt_json_short {
    struct mt_json_short_slot slot[MT_JSON_SHORT_SLOTS];
};

/* The slot for s[0..n), 1 <= n <= 15, and whether it holds that text; on a miss the caller fills in
 * id. At least 16 bytes must be readable at s. */
static inline struct mt_json_short_slot *mt_json_short_find(struct mt_json_short *t,
                                                            const unsigned char *s, size_t n,
                                                            int *hit)
{
    uint64_t w[2];
    struct mt_json_short_slot *slot;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(w, s, sizeof w);
    if (n < 8) {
        w[0] &= (UINT64_C(1) << 8 * n) - 1;
        w[1] = 0;
    } else {
        w[1] &= (UINT64_C(1) << 8 * (n - 8)) - 1;
    }
    w[1] |= (uint64_t)n << 56;
#else
    unsigned char pad[16] = {0};
    memcpy(pad, s, n);
    pad[15] = (unsigned char)n;
    memcpy(w, pad, sizeof w);
#endif
    slot = &t->slot[((w[0] ^ w[1] * 3) * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
    *hit = slot->w[0] == w[0] && slot->w[1] == w[1];
    slot->w[0] = w[0];
    slot->w[1] = w[1];
    return slot;
}

#endif
