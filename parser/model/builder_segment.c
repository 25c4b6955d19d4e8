/* Segments, their blocks and, for old files, the history of a block. */
#include "parser/model/builder_impl.h"

int mt_build_segment_begin(struct mt_builder *b)
{
    b->in_trace = false;
    b->in_segments = true;
    b->t->blocks.n = b->n_owned_blocks; /* blocks of a segment that never closed */
    b->n_history = 0;
    return 1;
}

int mt_build_history(struct mt_builder *b, const struct mt_rec *r)
{
    if (b->n_history++ == 0) { /* newest first: the first entry is the current or last allocation */
        b->history_stack = stack_of(r, MT_K_FRAMES);
        b->history_size = bytes_of(b, r, MT_K_REAL_SIZE);
    }
    b->t->meta.legacy_blocks = true;
    return 1;
}

int mt_build_block(struct mt_builder *b, const struct mt_rec *r)
{
    struct mt_block *k = MT_VEC_PUSH(&b->t->blocks);
    mt_str_id state = str_of(r, MT_K_STATE);
    if (k == NULL)
        return mt_b_nomem(b);
    k->size = bytes_of(b, r, MT_K_SIZE);
    k->addr = has(r, MT_K_ADDRESS) ? u64_of(r, MT_K_ADDRESS) : 0;
    k->state = state == b->state_id[0]                              ? MT_BLOCK_ACTIVE
               : state == b->state_id[1] || state == b->state_id[2] ? MT_BLOCK_PENDING_FREE
                                                                    : MT_BLOCK_INACTIVE;
    if (state != 0 && k->state == MT_BLOCK_INACTIVE && state != b->state_id[3])
        b->n_bad_values++;
    k->requested = has(r, MT_K_REQUESTED_SIZE) ? bytes_of(b, r, MT_K_REQUESTED_SIZE)
                   : b->n_history              ? b->history_size
                                               : k->size;
    k->stack = stack_of(r, MT_K_FRAMES);
    if (k->stack == 0 && b->n_history != 0)
        k->stack = b->history_stack;
    if (k->state == MT_BLOCK_INACTIVE)
        k->stack = 0;
    if (!has(r, MT_K_ADDRESS))
        b->t->meta.legacy_blocks = true;
    b->n_history = 0;
    b->history_stack = 0;
    b->history_size = 0;
    return 1;
}

static int close_segment(struct mt_builder *b, struct mt_segment *s)
{
    uint64_t at = s->addr;
    s->first_block = b->n_owned_blocks;
    s->n_blocks = b->t->blocks.n - b->n_owned_blocks;
    for (uint32_t i = s->first_block; i < b->t->blocks.n; i++) {
        struct mt_block *k = &b->t->blocks.p[i];
        if (k->addr == 0) /* before 2.1 blocks have no address: they lie one after the other */
            k->addr = at;
        at = k->addr + k->size;
    }
    b->n_owned_blocks = b->t->blocks.n;
    return 1;
}

int mt_build_segment(struct mt_builder *b, const struct mt_rec *r)
{
    struct mt_segment *s;
    int64_t dev = i64_of(r, MT_K_DEVICE);
    b->n_segment_records++;
    if (!has(r, MT_K_ADDRESS) || !has(r, MT_K_TOTAL_SIZE)) {
        b->t->blocks.n = b->n_owned_blocks;
        b->n_bad_records++;
        return 1;
    }
    if (b->t->segments.n >= b->lim.max_events) {
        mt_fail(&b->err, MT_ELIMIT, "more than %llu segments (raise --max-events)",
                (unsigned long long)b->lim.max_events);
        return 0;
    }
    s = MT_VEC_PUSH(&b->t->segments);
    if (s == NULL)
        return mt_b_nomem(b);
    s->addr = u64_of(r, MT_K_ADDRESS);
    s->total = bytes_of(b, r, MT_K_TOTAL_SIZE);
    s->allocated = bytes_of(b, r, MT_K_ALLOCATED_SIZE);
    s->active = bytes_of(b, r, MT_K_ACTIVE_SIZE);
    s->requested = bytes_of(b, r, MT_K_REQUESTED_SIZE);
    s->stream = i64_of(r, MT_K_STREAM);
    s->pool_known = (uint8_t)pair_of(b, r, MT_K_SEGMENT_POOL_ID, s->pool);
    s->is_large = has(r, MT_K_SEGMENT_TYPE) ? str_of(r, MT_K_SEGMENT_TYPE) == b->large_id
                                            : s->total > (UINT64_C(2) << 20);
    s->is_expandable = (uint8_t)truth_of(r, MT_K_IS_EXPANDABLE);
    s->stack = stack_of(r, MT_K_FRAMES);
    s->device = dev >= 0 && dev < MAX_ORDINAL ? (int32_t)dev : 0;
    b->n_bad_values += dev < 0 || dev >= MAX_ORDINAL;
    b->n_valid_segments++;
    return close_segment(b, s);
}

int mt_build_host_segment(struct mt_builder *b, const struct mt_rec *r)
{
    struct mt_segment *s = MT_VEC_PUSH(&b->t->segments);
    struct mt_block *k;
    b->t->blocks.n = b->n_owned_blocks;
    if (s == NULL)
        return mt_b_nomem(b);
    s->addr = u64_of(r, MT_K_ADDRESS);
    s->total = bytes_of(b, r, has(r, MT_K_TOTAL_SIZE) ? MT_K_TOTAL_SIZE : MT_K_SIZE);
    s->pool_known = (uint8_t)(pair_of(b, r, MT_K_SEGMENT_POOL_ID, s->pool) ||
                              pair_of(b, r, MT_K_OWNER_PRIVATE_POOL_ID, s->pool));
    s->stack = stack_of(r, has(r, MT_K_FRAMES) ? MT_K_FRAMES : MT_K_CONTEXT);
    s->is_host = 1;
    s->is_large = 1;
    k = MT_VEC_PUSH(&b->t->blocks);
    if (k == NULL)
        return mt_b_nomem(b);
    k->addr = s->addr;
    k->size = k->requested = s->total;
    k->state = truth_of(r, MT_K_ALLOCATED) ? MT_BLOCK_ACTIVE
               : truth_of(r, MT_K_ACTIVE)  ? MT_BLOCK_PENDING_FREE
                                           : MT_BLOCK_INACTIVE;
    k->stack = k->state == MT_BLOCK_INACTIVE ? 0 : s->stack;
    s->allocated = k->state == MT_BLOCK_ACTIVE ? s->total : 0;
    s->active = s->requested = k->state != MT_BLOCK_INACTIVE ? s->total : 0;
    b->t->meta.has_host = true;
    return close_segment(b, s);
}
