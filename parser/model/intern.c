#include "parser/model/intern.h"

#include "parser/base/secret.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    MAX_SEEN_SLOTS = 1 << 16,
    OUTER_SLOTS = 1 << 13,
    WHOLE_WORDS = 1 << 10 /* of 65,536 stacks: growing beside the stacks would move these */
};

/* While a table has fewer entries than this, the high byte of a slot holds the high byte of the
 * entry's hash. A slot of another entry is then skipped without a look at the entry, which is a
 * cache miss in a trace whose stacks all differ. */
#ifndef MT_INTERN_TAGGED
#define MT_INTERN_TAGGED (UINT32_C(1) << 24)
#endif
#define ID_MASK UINT32_C(0x00ffffff)

static uint32_t tagged(uint32_t id, uint32_t hash, bool tags)
{
    return tags ? id | (hash & ~ID_MASK) : id;
}
static bool may_be(uint32_t slot, uint32_t hash, bool tags)
{
    return !tags || ((slot ^ hash) & ~ID_MASK) == 0;
}
static uint32_t id_of(uint32_t slot, bool tags) { return tags ? slot & ID_MASK : slot; }

static const uint8_t cuts[] = {2, 6, 14, 30}; /* frames left out at the inner end */

static XXH128_hash_t hash_ids(const mt_frame_id *ids, uint32_t n)
{
    return XXH3_128bits_withSecret(ids, (size_t)n * sizeof *ids, mt_secret.bytes,
                                   sizeof mt_secret.bytes);
}

static uint32_t frame_hash(const struct mt_frame *f)
{
    return mt_hash_pair((uint64_t)f->name << 32 | f->file, f->line);
}

static uint32_t node_hash(const struct mt_stack_node *n)
{
    return mt_hash_one((uint64_t)n->parent << 32 | n->frame);
}

int mt_intern_init(struct mt_intern *in, struct mt_trace *t)
{
    memset(in, 0, sizeof *in);
    in->t = t;
    in->n_frame_slots = in->n_node_slots = 1024;
    in->n_seen_slots = 1024;
    in->frame_slot = mt_calloc(in->n_frame_slots, sizeof *in->frame_slot);
    in->node_slot = mt_calloc(in->n_node_slots, sizeof *in->node_slot);
    in->frame_tags = in->node_tags = true;
    in->seen = mt_calloc(in->n_seen_slots, sizeof *in->seen);
    in->outer = mt_calloc(OUTER_SLOTS, sizeof *in->outer);
    in->n_whole = WHOLE_WORDS;
    in->whole = mt_calloc(in->n_whole, sizeof *in->whole);
    return in->outer != NULL && in->frame_slot != NULL && in->node_slot != NULL &&
           in->seen != NULL && in->whole != NULL;
}

void mt_intern_done(struct mt_intern *in)
{
    mt_free(in->frame_slot);
    mt_free(in->node_slot);
    mt_free(in->seen);
    mt_free(in->outer);
    mt_free(in->whole);
    memset(in, 0, sizeof *in);
}

static bool is_full(uint32_t n, uint32_t n_slots, bool tags)
{
    return (uint64_t)n * 3 > (uint64_t)n_slots * 2 || (tags && n >= MT_INTERN_TAGGED);
}

static int grow_frames(struct mt_intern *in)
{
    uint32_t n = in->n_frame_slots * 2, *slot = mt_calloc(n, sizeof *slot);
    if (slot == NULL)
        return 0;
    in->frame_tags = in->t->frames.n < MT_INTERN_TAGGED;
    for (uint32_t id = 1; id < in->t->frames.n; id++) {
        uint32_t hash = frame_hash(&in->t->frames.p[id]), i = hash & (n - 1);
        while (slot[i] != 0)
            i = (i + 1) & (n - 1);
        slot[i] = tagged(id, hash, in->frame_tags);
    }
    mt_free(in->frame_slot);
    in->frame_slot = slot;
    in->n_frame_slots = n;
    return 1;
}

static int grow_nodes(struct mt_intern *in)
{
    uint32_t n = in->n_node_slots * 2, *slot = mt_calloc(n, sizeof *slot);
    if (slot == NULL)
        return 0;
    in->node_tags = in->t->stacks.n < MT_INTERN_TAGGED;
    for (uint32_t id = 1; id < in->t->stacks.n; id++) {
        uint32_t hash = node_hash(&in->t->stacks.p[id]), i = hash & (n - 1);
        while (slot[i] != 0)
            i = (i + 1) & (n - 1);
        slot[i] = tagged(id, hash, in->node_tags);
    }
    mt_free(in->node_slot);
    in->node_slot = slot;
    in->n_node_slots = n;
    return 1;
}

int mt_intern_frame(struct mt_intern *in, mt_str_id name, mt_str_id file, uint32_t line,
                    mt_frame_id *id)
{
    struct mt_frame f = {name, file, line}, *slot;
    uint32_t i, mask, hash = frame_hash(&f);
    if (is_full(in->t->frames.n, in->n_frame_slots, in->frame_tags) && !grow_frames(in))
        return 0;
    mask = in->n_frame_slots - 1;
    for (i = hash & mask; in->frame_slot[i] != 0; i = (i + 1) & mask) {
        const struct mt_frame *g = &in->t->frames.p[id_of(in->frame_slot[i], in->frame_tags)];
        if (may_be(in->frame_slot[i], hash, in->frame_tags) && g->name == name && g->file == file &&
            g->line == line) {
            *id = id_of(in->frame_slot[i], in->frame_tags);
            return 1;
        }
    }
    slot = MT_VEC_PUSH(&in->t->frames);
    if (slot == NULL)
        return 0;
    *slot = f;
    *id = in->t->frames.n - 1;
    in->frame_slot[i] = tagged(*id, hash, in->frame_tags);
    return 1;
}

static int intern_node(struct mt_intern *in, mt_frame_id frame, mt_stack_id parent, mt_stack_id *id)
{
    struct mt_stack_node n = {frame, parent}, *slot;
    uint32_t i, mask, hash = node_hash(&n);
    if (is_full(in->t->stacks.n, in->n_node_slots, in->node_tags) && !grow_nodes(in))
        return 0;
    mask = in->n_node_slots - 1;
    for (i = hash & mask; in->node_slot[i] != 0; i = (i + 1) & mask) {
        const struct mt_stack_node *m = &in->t->stacks.p[id_of(in->node_slot[i], in->node_tags)];
        if (may_be(in->node_slot[i], hash, in->node_tags) && m->frame == frame &&
            m->parent == parent) {
            *id = id_of(in->node_slot[i], in->node_tags);
            return 1;
        }
    }
    slot = MT_VEC_PUSH(&in->t->stacks);
    if (slot == NULL)
        return 0;
    *slot = n;
    *id = in->t->stacks.n - 1;
    in->node_slot[i] = tagged(*id, hash, in->node_tags);
    return 1;
}

static int grow_seen(struct mt_intern *in)
{
    uint32_t n = in->n_seen_slots * 2;
    struct mt_stack_slot *s = mt_calloc(n, sizeof *s);
    if (s == NULL)
        return 0;
    for (uint32_t k = 0; k < in->n_seen_slots; k++) {
        if (in->seen[k].id != 0) {
            uint32_t i = (uint32_t)in->seen[k].lo & (n - 1);
            while (s[i].id != 0)
                i = (i + 1) & (n - 1);
            s[i] = in->seen[k];
        }
    }
    mt_free(in->seen);
    in->seen = s;
    in->n_seen_slots = n;
    return 1;
}

static mt_stack_id find_outer(struct mt_intern *in, XXH128_hash_t h)
{
    struct mt_outer_slot *s = &in->outer[h.low64 & (OUTER_SLOTS - 1)];
    if (s->id == 0 || s->lo != h.low64 || s->hi != h.high64)
        return 0;
    s->used = s->used < 28 ? s->used + 4 : 32;
    return s->id;
}

static void put_outer(struct mt_intern *in, XXH128_hash_t h, mt_stack_id id)
{
    struct mt_outer_slot *s = &in->outer[h.low64 & (OUTER_SLOTS - 1)];
    if (s->used != 0)
        s->used--;
    else
        *s = (struct mt_outer_slot){h.low64, h.high64, id, 1};
}

/* Interns ids[0..n) from the outermost on, so that callers are shared. */
static int intern_nodes(struct mt_intern *in, const mt_frame_id *ids, uint32_t n, mt_stack_id *id)
{
    XXH128_hash_t h[sizeof cuts];
    unsigned n_missed = 0;
    mt_stack_id at = 0;
    uint32_t k = n;
    while (n_missed < sizeof cuts && cuts[n_missed] < n) {
        h[n_missed] = hash_ids(ids + cuts[n_missed], n - cuts[n_missed]);
        at = find_outer(in, h[n_missed]);
        if (at != 0) {
            k = cuts[n_missed];
            break;
        }
        n_missed++;
    }
    while (k-- > 0) {
        if (!intern_node(in, ids[k], at, &at))
            return 0;
        if (n_missed > 0 && k == cuts[n_missed - 1])
            put_outer(in, h[--n_missed], at);
    }
    *id = at;
    return 1;
}

/* Counts a whole stack the first time: in->seen may have forgotten it, and what that forgets hangs
 * on a hash of its own for each run. */
static int count_whole(struct mt_intern *in, mt_stack_id at)
{
    const uint64_t bit = UINT64_C(1) << (at & 63);
    if (at / 64 >= in->n_whole) {
        const uint32_t before = in->n_whole;
        if (!mt_vec_grow((void **)&in->whole, &in->n_whole, at / 64 + 1, sizeof *in->whole))
            return 0;
        memset(in->whole + before, 0, (in->n_whole - before) * sizeof *in->whole);
    }
    in->t->n_distinct_stacks += (in->whole[at / 64] & bit) == 0;
    in->whole[at / 64] |= bit;
    return 1;
}

int mt_intern_stack(struct mt_intern *in, const mt_frame_id *ids, uint32_t n, mt_stack_id *id)
{
    XXH128_hash_t h;
    uint32_t i, mask, tries = 0;
    mt_stack_id at = 0;
    if (n == 0) {
        *id = 0;
        return 1;
    }
    h = hash_ids(ids, n);
    mask = in->n_seen_slots - 1;
    for (i = (uint32_t)h.low64 & mask; in->seen[i].id != 0 && tries < 16;
         i = (i + 1) & mask, tries++) {
        if (in->seen[i].lo == h.low64 && in->seen[i].hi == h.high64) {
            *id = in->seen[i].id;
            return 1;
        }
    }
    if (!intern_nodes(in, ids, n, &at) || !count_whole(in, at))
        return 0;
    *id = at;
    if (in->seen[i].id == 0)
        in->n_seen++;
    else
        i = (uint32_t)h.low64 & mask; /* a full neighbourhood: replace the first */
    in->seen[i] = (struct mt_stack_slot){h.low64, h.high64, at};
    if (in->n_seen * 2 > in->n_seen_slots && in->n_seen_slots < MAX_SEEN_SLOTS)
        return grow_seen(in);
    return 1;
}

struct function_table {
    uint32_t *slot, n_slots; /* index + 1 */
};

static int function_table(struct function_table *f, const struct mt_trace *t, uint32_t n_slots)
{
    f->n_slots = n_slots;
    f->slot = mt_calloc(n_slots, sizeof *f->slot);
    if (f->slot == NULL)
        return 0;
    for (uint32_t k = 0; k < t->functions.n; k++) {
        uint32_t i = mt_hash_pair(t->functions.p[k].name, t->functions.p[k].file) & (n_slots - 1);
        while (f->slot[i] != 0)
            i = (i + 1) & (n_slots - 1);
        f->slot[i] = k + 1;
    }
    return 1;
}

/* The slot of a frame's function: its own, or the empty one where it belongs. */
static uint32_t *function_slot(const struct function_table *f, const struct mt_trace *t,
                               const struct mt_frame *fr)
{
    uint32_t i = mt_hash_pair(fr->name, fr->file) & (f->n_slots - 1);
    while (f->slot[i] != 0 && (t->functions.p[f->slot[i] - 1].name != fr->name ||
                               t->functions.p[f->slot[i] - 1].file != fr->file))
        i = (i + 1) & (f->n_slots - 1);
    return &f->slot[i];
}

static int files_of_functions(struct mt_trace *t)
{
    unsigned char *seen = mt_calloc(t->str.ref.n / 8 + 1, 1);
    int ok = seen != NULL;
    t->files.n = 0;
    for (uint32_t i = 0; ok && i < t->functions.n; i++) {
        mt_str_id file = t->functions.p[i].file, *slot;
        if ((seen[file / 8] >> file % 8 & 1) != 0)
            continue;
        seen[file / 8] |= (unsigned char)(1u << file % 8);
        if ((slot = MT_VEC_PUSH(&t->files)) != NULL)
            *slot = file;
        ok = slot != NULL;
    }
    mt_free(seen);
    return ok;
}

int mt_intern_functions(struct mt_trace *t)
{
    struct function_table f = {NULL, 0};
    int ok;
    t->functions.n = 0;
    ok = function_table(&f, t, 1024);
    for (uint32_t k = 1; ok && k < t->frames.n; k++) {
        const struct mt_frame *fr = &t->frames.p[k];
        uint32_t *slot = function_slot(&f, t, fr);
        if (*slot == 0) {
            struct mt_function *fn = MT_VEC_PUSH(&t->functions);
            if (fn == NULL) {
                ok = 0;
                break;
            }
            fn->name = fr->name;
            fn->file = fr->file;
            *slot = t->functions.n;
        }
        t->functions.p[*slot - 1].n_frames++;
        if (t->functions.n * 2 > f.n_slots) {
            mt_free(f.slot);
            ok = function_table(&f, t, f.n_slots * 4);
        }
    }
    mt_free(f.slot);
    return ok && files_of_functions(t);
}

int mt_functions_of_frames(const struct mt_trace *t, uint32_t *of_frame)
{
    struct function_table f = {NULL, 0};
    uint32_t n_slots = 1024;
    while (n_slots < t->functions.n * 2)
        n_slots *= 2;
    if (!function_table(&f, t, n_slots))
        return 0;
    for (uint32_t k = 1; k < t->frames.n; k++)
        of_frame[k] = *function_slot(&f, t, &t->frames.p[k]) - 1;
    mt_free(f.slot);
    return 1;
}
