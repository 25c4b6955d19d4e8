/* Stacks, sites and lanes: what the blocks refer to by number. */
#include "parser/base/secret.h"
#include "render/base/escape.h"
#include "render/pack/impl.h"
#include "analysis/base/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_MAX = 240,
    NO_LANE = 0,
    MOST_LANES = 1024 /* no job has so many: a forged trace is not searched further */
};

static uint32_t add_lane(struct mt_sites *s, int64_t stream, const uint64_t pool[2],
                         enum mt_lane_known known)
{
    struct mt_site_lane *l = MT_VEC_PUSH(&s->lane);
    if (l == NULL)
        return UINT32_MAX;
    *l = (struct mt_site_lane){stream, {pool[0], pool[1]}, known};
    return s->lane.n - 1;
}

int mt_sites_begin(struct mt_sites *s, const struct mt_trace *t)
{
    static const uint64_t no_pool[2];
    memset(s, 0, sizeof *s);
    s->t = t;
    s->n_slots = 1024;
    s->slot = mt_calloc(s->n_slots, sizeof *s->slot);
    s->lane_of = mt_calloc(2 * (size_t)t->lanes.n + 1, sizeof *s->lane_of);
    return s->slot != NULL && s->lane_of != NULL &&
           add_lane(s, 0, no_pool, MT_LANE_NOTHING) == NO_LANE;
}

void mt_sites_done(struct mt_sites *s)
{
    MT_VEC_DONE(&s->site);
    MT_VEC_DONE(&s->lane);
    mt_free(s->slot);
    mt_free(s->lane_of);
}

uint32_t mt_sites_lane(struct mt_sites *s, uint32_t lane, bool pool_known)
{
    uint32_t key = lane << 1 | (uint32_t)pool_known, at;
    if (lane >= s->t->lanes.n)
        return NO_LANE;
    if (s->lane_of[key] == 0) {
        const struct mt_lane *l = &s->t->lanes.p[lane];
        at = mt_sites_find_lane(s, l->stream, l->pool, pool_known);
        if (at == UINT32_MAX)
            return UINT32_MAX;
        s->lane_of[key] = at + 1;
    }
    return s->lane_of[key] - 1;
}

uint32_t mt_sites_find_lane(struct mt_sites *s, int64_t stream, const uint64_t pool[2],
                            bool pool_known)
{
    enum mt_lane_known known = pool_known ? MT_LANE_POOL : MT_LANE_STREAM;
    for (uint32_t i = 0; i < s->lane.n; i++) {
        const struct mt_site_lane *l = &s->lane.p[i];
        if (l->known == known && l->stream == stream &&
            (!pool_known || (l->pool[0] == pool[0] && l->pool[1] == pool[1])))
            return i;
    }
    return s->lane.n < MOST_LANES ? add_lane(s, stream, pool, known) : NO_LANE;
}

static bool same(const struct mt_site_key *a, const struct mt_site_key *b)
{
    return a->stack == b->stack && a->lane == b->lane && a->role == b->role &&
           a->phase == b->phase && a->sub == b->sub;
}

static uint32_t place(const struct mt_sites *s, const struct mt_site_key *k)
{
    uint64_t h = mt_hash_pair((uint64_t)k->stack << 32 | k->lane,
                              (uint64_t)k->role << 16 | (uint64_t)k->phase << 8 | k->sub);
    return (uint32_t)h & (s->n_slots - 1);
}

static int grow(struct mt_sites *s)
{
    uint32_t n = s->n_slots * 2, *slot = n != 0 ? mt_calloc(n, sizeof *slot) : NULL;
    if (slot == NULL)
        return 0;
    mt_free(s->slot);
    s->slot = slot;
    s->n_slots = n;
    for (uint32_t i = 0; i < s->site.n; i++) {
        uint32_t at = place(s, &s->site.p[i]);
        while (slot[at] != 0)
            at = (at + 1) & (n - 1);
        slot[at] = i + 1;
    }
    return 1;
}

uint32_t mt_sites_get(struct mt_sites *s, const struct mt_site_key *k)
{
    uint32_t at = place(s, k);
    struct mt_site_key *site;
    for (; s->slot[at] != 0; at = (at + 1) & (s->n_slots - 1))
        if (same(&s->site.p[s->slot[at] - 1], k))
            return s->slot[at] - 1;
    site = MT_VEC_PUSH(&s->site);
    if (site == NULL)
        return UINT32_MAX;
    *site = *k;
    s->slot[at] = s->site.n;
    if (s->site.n * 2 > s->n_slots && !grow(s))
        return UINT32_MAX;
    return s->site.n - 1;
}

static int put_text(void *ctx, const void *p, size_t n)
{
    mt_put_bytes(ctx, p, n);
    return 0;
}

/* What reads the same is the same: the page groups by these numbers. */
uint32_t mt_pack_string(struct mt_pack_strings *s, const char *text, size_t n)
{
    unsigned char buf[64];
    struct mt_out o = {.write = put_text, .ctx = s->text, .buf = buf, .cap = sizeof buf};
    size_t from = s->text->n;
    mt_str_id id = MT_STR_FAIL;
    if (s->seen.slot == NULL) {
        if (!mt_strpool_init(&s->seen))
            s->sizes->failed = true;
        mt_put_var(s->sizes, 0);
    }
    mt_seen(&o, text, mt_utf8_cut(text, n, NAME_MAX));
    (void)mt_out_finish(&o);
    if (!s->sizes->failed && !s->text->failed) {
        uint32_t known = s->seen.ref.n;
        id = o.n > 0 ? mt_strpool_add(&s->seen, s->text->p + from, s->text->n - from) : 0;
        if (id == MT_STR_FAIL)
            s->sizes->failed = true;
        else if (id < known)
            s->text->n = from;
        else
            mt_put_var(s->sizes, s->text->n - from);
    }
    return id != MT_STR_FAIL ? id : 0;
}

/* ---- the block ---- */

enum column {
    C_LENGTH,
    C_TEXT,
    C_NAME,
    C_FILE,
    C_LINE,
    C_KIND,
    C_FRAME,
    C_PARENT,
    C_STACK,
    C_ROLE,
    C_PHASE,
    C_SUB,
    C_LANE,
    C_LABEL,
    C_LANE_WORDS,
    N_COLUMNS
};
struct writer {
    struct mt_sites *s;
    struct mt_pack_strings strings;
    struct mt_bytes col[N_COLUMNS];
    uint32_t *stack; /* of the trace -> of the block; 0 = not in it */
    uint32_t *frame; /* + 1 */
    uint32_t *label; /* by stack of the trace, + 1 */
    /* by frame, + 1: of stacks whose label is that frame's; 0 = not made yet, or not that alone */
    uint32_t *frame_label;
    struct mt_file_kinds kinds;
    uint32_t n_frames;
};

static uint32_t add_frame(struct writer *w, mt_frame_id id)
{
    struct mt_frame_view v;
    if (w->frame[id] != 0)
        return w->frame[id] - 1;
    mt_frame_describe(w->s->t, id, &v);
    mt_put_var(&w->col[C_NAME], mt_pack_string(&w->strings, v.name, strlen(v.name)));
    mt_put_var(&w->col[C_FILE], mt_pack_string(&w->strings, v.file, strlen(v.file)));
    mt_put_var(&w->col[C_LINE], v.line);
    mt_put_var(&w->col[C_KIND], (v.is_python ? 1u : 0u) | (v.is_internal ? 2u : 0u));
    w->frame[id] = ++w->n_frames;
    return w->n_frames - 1;
}

/* A caller has a smaller id than what it calls; what does not is cut there rather than followed in
 * a circle. */
static bool has_parent(const struct mt_trace *t, mt_stack_id s)
{
    return t->stacks.p[s].parent != 0 && t->stacks.p[s].parent < s;
}

static void add_stacks(struct writer *w)
{
    const struct mt_trace *t = w->s->t;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->s->site.n; i++) {
        mt_stack_id s = w->s->site.p[i].stack;
        while (s != 0 && s < t->stacks.n && w->stack[s] == 0) {
            w->stack[s] = 1;
            s = has_parent(t, s) ? t->stacks.p[s].parent : 0;
        }
    }
    for (mt_stack_id s = 1; s < t->stacks.n; s++) {
        uint32_t parent;
        if (w->stack[s] == 0)
            continue;
        parent = has_parent(t, s) ? w->stack[t->stacks.p[s].parent] : 0;
        w->stack[s] = ++n;
        mt_put_var(&w->col[C_FRAME], add_frame(w, t->stacks.p[s].frame));
        mt_put_var(&w->col[C_PARENT], n - parent);
    }
}

/* Most stacks are called by the frame of Python's that is theirs, whatever stands around it, unless
 * it has no name of its own, as <lambda>. */
static uint32_t make_label(struct writer *w, mt_stack_id s)
{
    const struct mt_trace *t = w->s->t;
    char buf[512];
    struct mt_frame_view v;
    mt_frame_id frame;
    bool by_frame = mt_stack_site(t, &w->kinds, s, &frame) == MT_SITE_PYTHON;
    uint32_t id;
    if (by_frame && w->frame_label[frame] != 0)
        return w->frame_label[frame];
    mt_stack_label(t, s, buf, sizeof buf);
    id = mt_pack_string(&w->strings, buf, strlen(buf)) + 1;
    if (by_frame) {
        mt_frame_describe(t, frame, &v);
        w->frame_label[frame] = v.name[0] != '<' ? id : 0;
    }
    return id;
}

static uint32_t label(struct writer *w, mt_stack_id s, uint32_t empty)
{
    if (s == 0 || s >= w->s->t->stacks.n)
        return empty;
    if (w->label[s] == 0)
        w->label[s] = make_label(w, s);
    return w->label[s] - 1;
}

/* What most of the pool is for; "" where that is not known. */
static const char *pool_label(const struct mt_site_lane *l, const struct mt_device_analysis *o)
{
    for (uint32_t k = 0; o != NULL && l->known == MT_LANE_POOL && k < o->pools.n; k++) {
        const struct mt_pool_row *p = &o->pools.p[k];
        if (p->pool_known && p->pool[0] == l->pool[0] && p->pool[1] == l->pool[1] &&
            p->stream == l->stream && p->label != NULL && p->label[0] != '\0')
            return p->label;
    }
    return "";
}

static void add_lanes(struct writer *w, const struct mt_device_analysis *o)
{
    for (uint32_t i = 0; i < w->s->lane.n; i++) {
        const struct mt_site_lane *l = &w->s->lane.p[i];
        const char *mostly = pool_label(l, o);
        char pool[80] = "pool not recorded", stream[32] = "stream not recorded", words[512];
        if (l->known == MT_LANE_POOL && (l->pool[0] != 0 || l->pool[1] != 0))
            (void)snprintf(pool, sizeof pool, "private pool (%" PRIu64 ", %" PRIu64 ")", l->pool[0],
                           l->pool[1]);
        else if (l->known == MT_LANE_POOL)
            (void)snprintf(pool, sizeof pool, "default pool");
        else if (l->known != MT_LANE_NOTHING) /* as the table of pools calls it */
            (void)snprintf(pool, sizeof pool, "default pool (not recorded)");
        if (l->known != MT_LANE_NOTHING && l->stream != 0)
            (void)snprintf(stream, sizeof stream, "stream %#" PRIx64, (uint64_t)l->stream);
        else if (l->known != MT_LANE_NOTHING)
            (void)snprintf(stream, sizeof stream, "default stream");
        (void)snprintf(words, sizeof words, "%s, %s%s%s", pool, stream,
                       mostly[0] != '\0' ? ", mostly " : "", mostly);
        if (w->s->words != NULL)
            (void)snprintf(words, sizeof words, "%s", w->s->words[i]);
        mt_put_var(&w->col[C_LANE_WORDS], mt_pack_string(&w->strings, words, strlen(words)));
    }
}

int mt_sites_blob(struct mt_sites *s, struct mt_press *press, const struct mt_device_analysis *o,
                  struct mt_blob *out)
{
    struct writer *w = mt_calloc(1, sizeof *w);
    uint32_t empty;
    int rc = 0;
    if (w == NULL)
        return 0;
    w->s = s;
    w->strings.sizes = &w->col[C_LENGTH];
    w->strings.text = &w->col[C_TEXT];
    w->stack = mt_calloc((size_t)s->t->stacks.n + 1, sizeof *w->stack);
    w->frame = mt_calloc((size_t)s->t->frames.n + 1, sizeof *w->frame);
    w->label = mt_calloc((size_t)s->t->stacks.n + 1, sizeof *w->label);
    w->frame_label = mt_calloc((size_t)s->t->frames.n + 1, sizeof *w->frame_label);
    if (!mt_file_kinds_init(&w->kinds, s->t) || w->stack == NULL || w->frame == NULL ||
        w->label == NULL || w->frame_label == NULL)
        goto out;
    empty = mt_pack_string(&w->strings, "", 0);
    add_stacks(w);
    for (uint32_t i = 0; i < s->site.n; i++) {
        const struct mt_site_key *k = &s->site.p[i];
        mt_put_var(&w->col[C_STACK], k->stack < s->t->stacks.n ? w->stack[k->stack] : 0);
        mt_put_var(&w->col[C_ROLE], k->role);
        mt_put_var(&w->col[C_PHASE], k->phase);
        mt_put_var(&w->col[C_SUB], k->sub != MT_PH_NONE ? k->sub + 1u : 0);
        mt_put_var(&w->col[C_LANE], k->lane);
        mt_put_var(&w->col[C_LABEL], label(w, k->stack, empty));
    }
    add_lanes(w, o);
    rc = mt_blob_make(press, out, w->col, N_COLUMNS);
out:
    for (int i = 0; i < N_COLUMNS; i++)
        mt_bytes_done(&w->col[i]);
    mt_strpool_done(&w->strings.seen);
    mt_free(w->stack);
    mt_free(w->frame);
    mt_free(w->label);
    mt_free(w->frame_label);
    mt_file_kinds_done(&w->kinds);
    mt_free(w);
    return rc;
}
