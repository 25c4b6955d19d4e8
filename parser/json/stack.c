/* json/stack.c -- stacks, which are nearly all of the text. A stack or frame that was read before
 * is recognised by the hash of its bytes. */
#include "parser/json/walk.h"

enum {
    NEW_IN_A_ROW = 64, /* after so many new stacks only one in TRY_ONE_IN is looked up as a whole */
    TRY_ONE_IN = 16,
    STACK_WINDOW = 4 << 20 /* a longer stack is read frame by frame, without being known again */
};

enum mt_json_known mt_json_open_stack(struct mt_json_walk *w, struct mt_json_level *l,
                                      enum mt_key key)
{
    struct mt_json *j = &w->j;
    struct mt_json_scan st = {0, 0, 1, w->lim->max_depth, false};
    const unsigned char *e = NULL;
    size_t at = 1;
    w->has_stack_hash = false;
    /* If no stack comes twice the search for known ones is wasted: after NEW_IN_A_ROW new stacks
     * only one in TRY_ONE_IN is looked up. If an end proved wrong, or lay megabytes away, no stack
     * is looked up any more: looking ahead must not cost more than reading. */
    w->looked_ahead = !w->stack_end_lies &&
                      (w->n_new_stacks < NEW_IN_A_ROW || (w->n_new_stacks & (TRY_ONE_IN - 1)) == 0);
    if (w->looked_ahead) {
        while ((e = j->simd->array_end(&st, j->p + at, j->end)) == NULL && !st.too_deep) {
            at = (size_t)(j->end - j->p);
            /* Cut off, damaged or huge: reading frame by frame finds out which. */
            if (at >= STACK_WINDOW || !mt_json_more(j, at + 1))
                break;
        }
        j->steps += (uint64_t)((e != NULL ? e : j->end) - j->p) / 64;
    }
    if (e != NULL) {
        struct mt_val v = {.type = MT_T_STACK};
        struct mt_json_hash h = j->simd->hash(j->p, (size_t)(e - j->p));
        if (mt_json_seen_get(&w->stacks, h, &v.id)) {
            mt_rec_set(&w->rec[l->role], key, v);
            l->n++;
            j->p = e;
            w->n_new_stacks = 0;
            return MT_JSON_KNOWN;
        }
        w->stack_hash = h;
        w->stack_end = mt_json_offset(j) + (uint64_t)(e - j->p);
        w->has_stack_hash = true;
    }
    w->n_new_stacks++;
    j->p++;
    return MT_JSON_NEW;
}

/* The '{' behind a comma and white space, or NULL. */
static const unsigned char *next_object(const unsigned char *p, const unsigned char *end)
{
    if (p == end || *p != ',')
        return NULL;
    for (p++; p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'); p++)
        ;
    return p < end && *p == '{' ? p : NULL;
}

static enum mt_json_known too_many(struct mt_json_walk *w)
{
    mt_json_stop(&w->j, MT_ELIMIT, "a stack has more than %u frames (raise --max-frames)",
                 (unsigned)w->lim->max_frames);
    return MT_JSON_FAILED;
}

static enum mt_json_known no_memory(struct mt_json_walk *w)
{
    mt_json_nomem(w);
    return MT_JSON_FAILED;
}

enum mt_json_known mt_json_open_frame(struct mt_json_walk *w, struct mt_json_level *l)
{
    struct mt_json *j = &w->j;
    for (;;) {
        const struct mt_json_frame *known;
        const unsigned char *e = NULL;
        j->steps++;
        if (w->frames.n >= w->lim->max_frames)
            return too_many(w);
        known = mt_json_frames_guess(&w->texts, j->p, j->end);
        if (known != NULL) {
            e = j->p + known->len;
        } else {
            struct mt_json_scan st = {0, 0, 1, w->lim->max_depth, false};
            e = j->simd->any_end(&st, j->p + 1, j->end);
            j->steps += (uint64_t)((e != NULL ? e : j->end) - j->p) / 64;
            w->has_frame_hash = e != NULL;
            if (e == NULL)
                break;
            w->frame_at = mt_json_offset(j);
            w->frame_len = (size_t)(e - j->p);
            w->frame_hash = j->simd->hash(j->p, w->frame_len);
            known = mt_json_frames_find(&w->texts, w->frame_hash);
            if (known == NULL)
                break;
        }
        if (w->frames.n == w->frames.cap && !mt_vec_grow((void **)&w->frames.p, &w->frames.cap,
                                                         w->frames.n + 1, sizeof *w->frames.p))
            return no_memory(w);
        w->frames.p[w->frames.n++] = known->id;
        l->n++;
        j->p = e;
        /* straight to the next frame; anything unusual goes the long way round */
        if ((e = next_object(e, j->end)) == NULL)
            return MT_JSON_KNOWN;
        j->p = e;
    }
    j->p++;
    return MT_JSON_NEW;
}
