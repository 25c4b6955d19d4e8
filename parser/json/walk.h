/* json/walk.h -- the state machine between JSON tokens and the snapshot builder. Only
 * json/reader.c, json/walk.c and json/stack.c include it. */
#ifndef MT_JSON_WALK_H
#define MT_JSON_WALK_H

#include "parser/json/cache.h"
#include "parser/json/text.h"

/* One open container. */
struct mt_json_level {
    uint8_t role; /* enum mt_schema_role */
    uint8_t list;
    uint8_t key; /* enum mt_key it is the value of; lists pass it on to nothing */
    /* inside allocator_settings: the dotted key of this container, 0 = the first level */
    mt_str_id path;
    uint64_t seen; /* of a dict: keys whose value was read as a stream and cannot be taken back */
    uint64_t n;    /* whole members so far */
};

/* The text between two values, as met last time at the same place of the same kind of dict: PyTorch
 * writes the keys of a record in one order, so that one memcmp() replaces comma, white space, key
 * and colon. */
enum { MT_JSON_GAP = 60, MT_JSON_GAPS = 12 };
struct mt_json_gap {
    uint8_t len, key;
    unsigned char text[MT_JSON_GAP];
};

enum {
    MT_JSON_ROLES = MT_R_TEXT + 1,
    MT_JSON_STACK_SLOTS = 1 << 18 /* 6 MiB: stacks known by their bytes */
};

struct mt_json_walk {
    struct mt_json j;
    struct mt_builder *b;
    struct mt_trace *t;
    const struct mt_limits *lim;
    MT_VEC(struct mt_json_level) lv;
    /* no role of a dict contains itself, so one record per role is enough */
    struct mt_rec rec[MT_JSON_ROLES];
    struct mt_json_gap gap[MT_JSON_ROLES][MT_JSON_GAPS];
    MT_VEC(mt_frame_id) frames; /* of the stack being read */
    MT_VEC(struct mt_val) text; /* parts of the MT_R_TEXT being read */
    struct mt_json_seen stacks;
    struct mt_json_frames texts;
    struct mt_json_hash stack_hash, frame_hash;
    bool has_stack_hash, has_frame_hash;
    bool looked_ahead; /* for the end of the stack being read */
    /* the end of a stack was not where its brackets said: damage, or made up to waste time */
    bool stack_end_lies;
    uint32_t n_new_stacks; /* in a row */
    /* offsets and length, so that only what was parsed to the same end is remembered */
    uint64_t stack_end;
    uint64_t frame_at;
    size_t frame_len;
    struct mt_json_short strings, keys;
    uint64_t pool[2];
    bool pool_ok, saw_bare_list;
    bool is_chrome_trace, is_notebook;
    uint32_t top_keys;    /* bit per known key of the first level that was met */
    char first_keys[160]; /* of the first object, for messages about what a file is */
    uint32_t n_first_keys;
    uint32_t ordinal; /* of the trace being read */
};

int mt_json_walk_init(struct mt_json_walk *w, struct mt_source *src, const struct mt_limits *lim,
                      struct mt_trace *t);
void mt_json_walk_done(struct mt_json_walk *w);
/* Reads one whole document. 1, or 0 with w->j.fail and w->j.why set; the levels still open are then
 * in w->lv. */
int mt_json_walk(struct mt_json_walk *w);

/* The whole reader with a count of its steps, for tests that bound it. */
enum mt_rc mt_json_read_steps(struct mt_source *src, const struct mt_limits *lim,
                              struct mt_trace *t, struct mt_err *err, uint64_t *steps);

static inline struct mt_json_level *mt_json_top(struct mt_json_walk *w)
{
    return &w->lv.p[w->lv.n - 1];
}
static inline int mt_json_nomem(struct mt_json_walk *w)
{
    return mt_json_stop(&w->j, MT_ENOMEM, "out of memory while reading JSON");
}

/* ---- json/stack.c: what was read before is not read again ---- */

enum mt_json_known {
    MT_JSON_FAILED, /* w->j.fail and w->j.why are set */
    MT_JSON_KNOWN,  /* was passed over; its value is set */
    MT_JSON_NEW     /* p is behind its bracket: to be read member by member */
};
/* p at the '[' of a list of frames. */
enum mt_json_known mt_json_open_stack(struct mt_json_walk *w, struct mt_json_level *l,
                                      enum mt_key key);
/* p at the '{' of a frame. Passes over all that are known; MT_JSON_NEW: the first that is not. */
enum mt_json_known mt_json_open_frame(struct mt_json_walk *w, struct mt_json_level *l);

#endif
