/* Sizes that say what a block is: tokens x vocabulary, gradients as large as a parameter. */
#include "analysis/base/operation.h"
#include "analysis/roles/impl.h"

enum {
    MIN_TOKENS = 8,
    MAX_PARTS = 64,
    /* odd part of a vocabulary that proves something where frames speak of logits */
    PROOF = 5,
    /* Logits are no vocabulary's where forward passes compute blocks so many times as large: the
       classes of a picture. Chosen by hand. */
    TRIFLE = 256,
    /* where they do not. 11 changes no role in 387 reports, 1000 in 8: the vocabulary is missed */
    STRONG_PROOF = 97
};

static bool may_hold_logits(unsigned phase)
{
    return !mt_phase_is(phase, MT_OF_ENGINE) || mt_phase_is(phase, MT_GENERATES);
}

static uint64_t odd_part(uint64_t v)
{
    while (v != 0 && (v & 1) == 0)
        v >>= 1;
    return v;
}

/* What pictures, batches and layers are made of as well: 32000 has nothing else, 151936 has 1187.
 */
static bool is_smooth(uint64_t v)
{
    for (uint64_t p = 2; p <= 7; p++)
        while (v != 0 && v % p == 0)
            v /= p;
    return v <= 1;
}

/* Bytes of the seen blocks that hold whole rows of `unit` bytes, if the largest does; 0 otherwise.
 */
static uint64_t explained(const struct mt_rwork *k, uint64_t unit, uint64_t largest)
{
    uint64_t sum = 0;
    if (largest % unit != 0 || largest / unit < MIN_TOKENS)
        return 0;
    for (uint32_t i = 0; i < k->n_seen; i++)
        if (k->seen[i].size % unit == 0)
            sum += k->seen[i].bytes < UINT64_MAX - sum ? k->seen[i].bytes : 0;
    return sum;
}

/* Live blocks that may be a head or an embedding of that vocabulary, where no vectors tell how wide
 * layers are: rows of it, in 2 or 4 bytes. */
static uint32_t heads_of(const struct mt_rwork *k, uint64_t unit)
{
    enum { LANES = 64, WIDEST = 1 << 15 }; /* every public model is a multiple of 64 wide */
    const struct mt_trace *t = k->r->t;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *g = &t->segments.p[i];
        if (!mt_segment_is_on(g, k->r->d->ordinal, k->r->d->kind))
            continue;
        for (uint32_t b = g->first_block; b < g->first_block + g->n_blocks; b++) {
            uint64_t size = t->blocks.p[b].requested;
            n += t->blocks.p[b].state == MT_BLOCK_ACTIVE && size != 0 &&
                 size % (unit * LANES) == 0 && size / unit <= 2 * WIDEST &&
                 !mt_is_candidate(k, size);
        }
    }
    return n;
}

struct named {
    uint64_t sum, odd;
    uint32_t heads, maybe;
};

/* What speaks more for a vocabulary: heads of its length and the model's width, the bytes that it
 * explains, blocks that may be heads, the larger odd part. */
static bool says_more(const struct named *a, const struct named *b)
{
    if (a->heads != b->heads)
        return a->heads > b->heads;
    if (a->sum != b->sum)
        return a->sum > b->sum;
    return a->maybe != b->maybe ? a->maybe > b->maybe : a->odd > b->odd;
}

/* The vocabulary of a head that no table knows, where the logits that frames speak of are whole
 * rows of it: the one with most pairs of head and vector, then the longest. */
static bool named_by_head(struct mt_rwork *k, const struct mt_heads *h, uint64_t largest,
                          uint64_t all, struct named *best)
{
    const struct mt_head *of = NULL;
    for (uint32_t i = 0; i < h->head.n; i++) {
        const struct mt_head *now = &h->head.p[i];
        if ((of == NULL || now->pairs >= of->pairs) && odd_part(now->rows) >= STRONG_PROOF &&
            odd_part(now->rows) > best->odd && explained(k, now->rows * 2, largest) >= all / 2)
            of = now;
    }
    if (of == NULL)
        return false;
    *best = (struct named){explained(k, of->rows * 2, largest), odd_part(of->rows), 1, 0};
    k->out->vocab = of->rows;
    k->out->vocab_split = 1;
    k->logits_unit = of->rows * 2;
    return true;
}

/* A vocabulary that is a power of two divides every other power of two: such a size proves nothing,
 * so it is never named. Where no frames speak of logits (`proof`), a head has to be there: images
 * and films are whole rows of many a vocabulary. */
static bool name_vocab(struct mt_rwork *k, const struct mt_heads *h, uint64_t largest,
                       uint64_t proof)
{
    struct named best = {0, 0, 0, 0};
    uint64_t all = 0;
    for (uint32_t i = 0; i < k->n_seen; i++)
        all += k->seen[i].bytes < UINT64_MAX - all ? k->seen[i].bytes : 0;
    if (largest < MT_MIN_LOGITS)
        return false;
    for (uint32_t i = 0; i < mt_vocabs_count(k->rules); i++) {
        uint64_t v = mt_vocab_at(k->rules, i)->size;
        for (uint64_t split = 1; split <= 32 && v % split == 0 && v / split >= 1000; split *= 2) {
            uint64_t unit = v / split * 2;
            struct named now = {explained(k, unit, largest), odd_part(v), 0, 0};
            if (now.odd < proof || (proof == STRONG_PROOF && is_smooth(v)) ||
                (split > 1 && largest % (unit * 2) == 0) || now.sum * 2 < all)
                continue; /* the larger share of the vocabulary fits as well */
            now.heads = mt_heads_of(h, v / split);
            now.maybe = now.odd >= STRONG_PROOF ? heads_of(k, unit) : 0;
            if (!says_more(&now, &best) ||
                (proof == STRONG_PROOF && (h->n != 0 ? now.heads : now.maybe) == 0))
                continue;
            best = now;
            k->out->vocab = v;
            k->out->vocab_split = split;
            k->logits_unit = unit;
        }
    }
    if (best.heads == 0 && proof != STRONG_PROOF && named_by_head(k, h, largest, all, &best))
        best.heads = 1;
    if (best.sum == 0)
        return false;
    k->out->vocab_is_guess = best.heads == 0 && h->n != 0;
    /* fp32 when the rows fit: a loss is mostly taken in fp32, and half-size blocks beside the
     * largest prove it */
    k->out->logits_elem = largest % (k->logits_unit * 2) == 0 ? 4 : 2;
    k->out->logits_tokens = largest / (k->logits_unit / 2 * k->out->logits_elem);
    return true;
}

static uint64_t largest_seen(const struct mt_rwork *k)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < k->n_seen; i++)
        if (k->seen[i].size > largest)
            largest = k->seen[i].size;
    return largest;
}

/* Whether a pass that computes blocks of that size has some of half of it beside them; larger ones
 * may be there as well. */
static bool has_halves(const struct mt_rwork *k, uint64_t size)
{
    for (uint32_t g = 0; g < k->regions.n; g++) {
        const struct mt_region *r = &k->regions.p[g];
        /* the largest may be a request that failed */
        bool whole = r->computed == size, half = false;
        for (uint32_t i = r->first; r->computed >= size && i <= r->last_alloc && !(whole && half);
             i++) {
            const struct mt_event *e = mt_event_at(k->r->d, i);
            whole |= e->action == MT_ACT_ALLOC && e->size == size;
            half |= e->action == MT_ACT_ALLOC && e->size * 2 == size;
        }
        if (whole && half)
            return true;
    }
    return false;
}

/* Of larger logits than those that prove the vocabulary: in 16 bits where their pass has no copies
 * of half the size, but the other one has. What is twice as large there is what its loss made in 32
 * bits. */
static void count_tokens(struct mt_rwork *k, uint64_t most)
{
    bool halves = has_halves(k, most);
    if (most % (k->logits_unit * 2) != 0 || (!halves && has_halves(k, k->logits_max)))
        k->out->logits_elem = 2;
    else if (halves)
        k->out->logits_elem = 4;
    k->out->logits_tokens = most / (k->logits_unit / 2 * k->out->logits_elem);
}

/* Functions of the loss may take their logits in chunks: what the pass made last before them, whole
 * rows as well, are all of them. A weight in that size (gathered, or cast) lies before the product
 * that it is for. */
static void see_unchunked(struct mt_rwork *k)
{
    uint64_t last = 0, most = k->logits_max;
    unsigned phase = MT_PH_COUNT;
    for (uint32_t i = 0; i < mt_n_events(k) && k->logits_unit != 0; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        struct mt_attr a = k->r->attr[i];
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (a.phase != phase || mt_group_of(a.sub, MT_G_OTHER) != MT_G_FORWARD)
            last = 0;
        phase = a.phase;
        if (a.sub == MT_PH_LOGITS) {
            if (mt_is_layer_size(k, last)) /* what the norm before the head made */
                last = 0;
            if (last > most && last / k->logits_max <= 64)
                most = last;
            last = 0;
        } else if (a.sub == MT_PH_FORWARD && k->w->stack_role[e->stack] == MT_NO_STACK_ROLE &&
                   e->size >= k->logits_max / 64 && e->size % k->logits_unit == 0) {
            last = e->size;
        }
    }
    if (most == k->logits_max || k->logits_unit == 0)
        return;
    count_tokens(k, most);
    k->logits_max = most;
}

/* Whether a parameter or its state is so large, in that type or another: a copy of the head in the
 * type of the pass is whole rows too. */
static bool is_weight_size(const struct mt_rwork *k, uint64_t size)
{
    const struct mt_replay *r = k->r;
    for (uint32_t i = 0; i < r->old.n; i++)
        if (r->old.p[i].size == size || r->old.p[i].size == size * 2 ||
            r->old.p[i].size * 2 == size)
            return true;
    for (uint32_t i = 0, n = mt_n_events(k); i < n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        struct mt_attr a = r->attr[i];
        if (e->action == MT_ACT_ALLOC &&
            (e->size == size || e->size == size * 2 || e->size * 2 == size) &&
            (a.phase == MT_PH_INIT || a.sub == MT_PH_FSDP_UNSHARD ||
             mt_group_of(a.sub, MT_G_OTHER) == MT_G_OPTIMIZER))
            return true;
    }
    return false;
}

/* The largest block of whole rows that a forward pass computes, below `bound`; 0 = none is larger
 * than the logits that are known. */
static uint64_t largest_rows(const struct mt_rwork *k, uint64_t bound)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < k->regions.n; i++) {
        const struct mt_region *g = &k->regions.p[i];
        if (g->group == MT_G_FORWARD && may_hold_logits(g->phase) &&
            g->phase != MT_PH_TRAIN_CRITIC && g->phase != MT_PH_VALUES &&
            g->phase != MT_PH_REWARD && g->computed > k->logits_max && g->computed > most &&
            g->computed < bound && g->computed % k->logits_unit == 0)
            most = g->computed;
    }
    return most;
}

/* A pass with larger micro-batches whose loss has no frames that speak of logits: the largest block
 * that it computes, if it is whole rows of the vocabulary that the other pass proves. */
static void vocab_in_other_passes(struct mt_rwork *k)
{
    enum { WEIGHTS = 8 }; /* each costs a look at all events, and a job has few sizes of heads */
    uint64_t most = UINT64_MAX;
    k->logits_most = k->logits_max;
    if (k->logits_unit == 0 || odd_part(k->out->vocab) < STRONG_PROOF)
        return;
    for (unsigned n = 0; n < WEIGHTS && (most = largest_rows(k, most)) != 0; n++) {
        if (mt_is_layer_size(k, most) || is_weight_size(k, most))
            continue;
        k->logits_most = most;
        count_tokens(k, most);
        return;
    }
}

static int by_chunks(struct mt_rwork *k)
{
    bool in_16_bits;
    if (k->logits_unit == 0 || k->out->logits_elem != 4)
        return 1;
    if (!mt_head_in_16_bits(k, k->logits_most, &in_16_bits))
        return 0;
    if (in_16_bits) {
        k->out->logits_elem = 2;
        k->out->logits_tokens = k->logits_most / k->logits_unit;
    }
    return 1;
}

/* Where nothing of half the size is beside the logits, 16 and 32 bits look alike: the tokens
 * themselves tell, which the job's own code brings to the card in 8 bytes each. */
static void by_ids(struct mt_rwork *k)
{
    enum { ID = 8, WIDEST = 4 };
    uint64_t tokens = k->out->logits_tokens;
    bool twice = false;
    if (k->logits_unit == 0 || k->out->logits_elem != WIDEST || has_halves(k, k->logits_most))
        return;
    for (uint32_t i = 0; i < mt_n_events(k); i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (e->action != MT_ACT_ALLOC || e->stack == 0 || k->r->attr[i].sub != MT_PH_NONE)
            continue;
        if (e->size == tokens * ID)
            return;
        twice = twice || e->size == tokens * 2 * ID;
    }
    if (twice) {
        k->out->logits_elem = 2;
        k->out->logits_tokens = tokens * 2;
    }
}

static bool is_trifle(const struct mt_rwork *k, uint64_t size)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < k->regions.n; i++)
        if (k->regions.p[i].group == MT_G_FORWARD && k->regions.p[i].computed > most)
            most = k->regions.p[i].computed;
    return size < most / TRIFLE;
}

static void forget_vocab(struct mt_rwork *k)
{
    k->out->vocab = k->out->vocab_split = k->out->logits_tokens = k->logits_unit = 0;
    k->out->logits_elem = 0;
    k->out->vocab_is_guess = false;
}

/* First by what frames say of logits and the loss. Where no vocabulary fits that, or there are no
 * such frames, the largest block of each forward pass is looked at: nothing else in one is as large
 * as the logits, unless the vocabulary is small. */
static int find_vocab(struct mt_rwork *k, const struct mt_heads *h)
{
    uint64_t largest = k->logits_max != 0 ? k->logits_max : largest_seen(k);
    k->logits_most = k->logits_max;
    if (is_trifle(k, largest) || !name_vocab(k, h, largest, PROOF)) {
        k->n_seen = 0;
        for (uint32_t i = 0; i < k->regions.n; i++)
            if (k->regions.p[i].group == MT_G_FORWARD && may_hold_logits(k->regions.p[i].phase))
                mt_vocab_see(k, k->regions.p[i].largest, false);
        largest = largest_seen(k);
        if (largest < k->logits_max || !name_vocab(k, h, largest, STRONG_PROOF))
            return 1;
        if (!mt_layer_sizes_find(k))
            return 0;
        if (mt_is_layer_size(k, largest)) { /* logits come once in a pass, not once a layer */
            forget_vocab(k);
            return 1;
        }
        k->logits_max = largest;
    }
    if (k->logits_max == 0)
        k->logits_max = largest;
    k->out->vocab_is_smooth = k->logits_unit != 0 && is_smooth(k->out->vocab);
    if (k->out->vocab_is_smooth && !mt_layer_sizes_find(k))
        return 0;
    see_unchunked(k);
    vocab_in_other_passes(k);
    if (!by_chunks(k))
        return 0;
    by_ids(k);
    return 1;
}

int mt_vocab_find(struct mt_rwork *k)
{
    struct mt_heads h = {.n = 0};
    int ok = mt_heads_make(k, &h) && find_vocab(k, &h);
    MT_VEC_DONE(&h.large);
    MT_VEC_DONE(&h.made);
    MT_VEC_DONE(&h.head);
    return ok;
}

bool mt_is_logits_size(const struct mt_rwork *k, uint64_t size)
{
    if (k->logits_max == 0 || size < MT_MIN_LOGITS || size > k->logits_most * 2)
        return false;
    if (k->logits_unit != 0)
        return size % k->logits_unit == 0 && size >= k->logits_max / 64;
    return size == k->logits_max || size * 2 == k->logits_max || size == k->logits_max * 2;
}

/* As many rows as the largest logits have, or an even part of them, give or take the one that a
 * shift by a token costs: a chunk, a copy in another type. A layer's block may be whole rows by
 * chance, where the count of tokens shares factors with the vocabulary. */
bool mt_is_logits_share(const struct mt_rwork *k, uint64_t size)
{
    uint64_t rows = k->logits_unit != 0 ? size / k->logits_unit : 0;
    for (unsigned i = 0; i < 6 && rows != 0; i++) {
        uint64_t all = (i < 3 ? k->logits_max : k->logits_most) / k->logits_unit;
        uint64_t of = (all << i % 3) / 2, parts = (of + rows / 2) / rows, sum = rows * parts;
        if (parts >= 1 && parts <= MAX_PARTS && (sum > of ? sum - of : of - sum) <= 2 * parts)
            return true;
    }
    return false;
}

bool mt_is_logits(struct mt_rwork *k, const struct mt_event *e, unsigned sub, uint64_t largest,
                  bool overlapped)
{
    uint64_t size = e->size;
    if (!mt_is_logits_size(k, size) || /* a mask for each word is no product of a head */
        (sub == MT_PH_NONE && mt_stack_fills(k->r->t, e->stack)))
        return false;
    if (sub == MT_PH_LOSS || sub == MT_PH_LOGITS)
        return k->logits_unit != 0 || size * 8 >= k->logits_max;
    if (k->logits_unit == 0)
        return size * 2 >= largest;
    if (mt_is_layer_size(k, size))
        return false;
    /* Whole rows of the vocabulary may be chance. They are not where the block is half as large as
     * the largest of its pass and no other layer keeps one like it. */
    return size * 8 >= k->logits_max &&
           (mt_is_logits_share(k, size) || (size * 2 >= largest && !overlapped));
}

/* Rows of the vocabulary, and more of them than the largest logits have: the embedding or the head.
 */
bool mt_is_vocab_weight(struct mt_rwork *k, uint64_t size)
{
    return k->logits_unit != 0 && size > k->logits_most && size % k->logits_unit == 0 &&
           odd_part(k->out->vocab) >= STRONG_PROOF && !mt_is_layer_size(k, size);
}
