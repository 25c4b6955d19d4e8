/* One pass over the events finds each role's highest bytes in each phase; then one expectation per
 * role and kind of phase. */
#include "analysis/expected/impl.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"

#include <string.h>

/* ---- what was measured ---- */

/* Keeps the highest live bytes. Where a trace contradicts itself the sum wraps below zero: more
 * than 2^63 is no size. */
static void note_high(struct mt_expect_high *h, uint64_t live, int64_t event)
{
    if (live <= INT64_MAX && live > h->bytes)
        *h = (struct mt_expect_high){live, event};
}

/* Inside a backward pass a layer's gradient is whole for a moment, before it is reduced and
 * divided. */
static bool is_between_backwards(unsigned sub)
{
    return sub == MT_PH_FORWARD || sub == MT_PH_LOSS || sub == MT_PH_LOGITS ||
           sub == MT_PH_OPTIMIZER || sub == MT_PH_OPTIM_STATE_INIT || sub == MT_PH_GRAD_CLIP;
}

static void measure_highs(struct mt_expect_work *k)
{
    const struct mt_replay *r = k->w->r;
    uint64_t live[MT_ROLE_COUNT] = {0};
    unsigned now = MT_PH_COUNT;
    uint32_t next_old = 0;
    for (uint32_t i = 0; i < r->old.n; i++)
        live[k->w->old_role[i]] += r->old.p[i].size;
    for (uint64_t i = 0; i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        const struct mt_fate *f = &k->w->fate[i];
        if (e->action == MT_ACT_ALLOC) {
            unsigned phase = r->attr[i].phase;
            live[f->role] += e->size;
            for (unsigned role = 0; phase != now && role < MT_ROLE_COUNT; role++)
                if (role != MT_ROLE_GRAD)
                    note_high(&k->high[phase][role], live[role], (int64_t)i);
            now = phase;
            k->seen[phase] = true;
            if (f->role != MT_ROLE_GRAD)
                note_high(&k->high[phase][f->role], live[f->role], (int64_t)i);
            if (is_between_backwards(r->attr[i].sub))
                note_high(&k->high[phase][MT_ROLE_GRAD], live[MT_ROLE_GRAD], (int64_t)i);
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            unsigned role = f->freed != MT_NEVER ? f->role : MT_ROLE_UNKNOWN;
            if (f->freed == MT_NEVER && next_old < r->old.n)
                role = k->w->old_role[next_old++];
            live[role] -= e->size;
        }
    }
}

static bool is_higher(const struct mt_expect_high *a, const struct mt_expect_high *b)
{
    return a->bytes > b->bytes || (a->bytes == b->bytes && a->event < b->event);
}

/* The phase of a kind in which the role is highest, the first of equal ones; MT_PH_COUNT = no phase
 * of that kind has the role. */
static unsigned highest(const struct mt_expect_work *k, unsigned kind, unsigned role)
{
    unsigned best = MT_PH_COUNT;
    for (unsigned p = 0; p < MT_PH_COUNT; p++)
        if (k->seen[p] && mt_phase_is(p, kind) &&
            (best == MT_PH_COUNT || is_higher(&k->high[p][role], &k->high[best][role])))
            best = p;
    return best;
}

/* ---- logits ---- */

/* Rows of the largest logits in a kind of phase, told by the vocabulary that was found in the
 * trace. */
static double tokens_of(const struct mt_expect_work *k, unsigned kind)
{
    const struct mt_role_facts *f = &k->d->roles;
    uint64_t most = 0, row_bytes, largest;
    if (f->vocab == 0 || f->logits_elem == 0)
        return 0;
    row_bytes = f->vocab / (f->vocab_split != 0 ? f->vocab_split : 1) * f->logits_elem;
    largest = f->logits_tokens <= INT64_MAX / (row_bytes + 1) ? f->logits_tokens * row_bytes : 0;
    for (uint32_t i = 0; i < f->micros.n; i++) {
        const struct mt_micro *m = &f->micros.p[i];
        if (mt_phase_is(m->phase, kind) && m->by_logits && m->tokens_bytes > most)
            most = m->tokens_bytes;
    }
    /* The failed request is the largest: a copy in 32 bits of logits that are there in 16. */
    if (f->logits_elem == 4 && largest == 2 * most && k->d->focus_is_oom && k->d->ooms.n != 0 &&
        mt_phase_is(k->d->ooms.p[0].attr.phase, kind) && k->d->ooms.p[0].request >= largest)
        return (double)f->logits_tokens;
    most = row_bytes != 0 ? most / row_bytes : 0; /* whole rows */
    return (double)most;
}

/* Whether the entropy of whole logits is computed in a kind of phase: frames that do it hold
 * logits; or, in training, the entropy's weight is set. */
static bool has_entropy(const struct mt_expect_work *k, unsigned kind)
{
    static const char *const names[] = {"entropy_from_logits", "vocab_parallel_entropy"};
    const struct mt_trace *t = k->w->r->t;
    if (kind == MT_TRAINS && mt_run_number(k->conf, "entropy_coeff") > 0)
        return true;
    for (uint32_t i = 0; i < k->d->owners.n; i++) {
        const struct mt_owner *o = &k->d->owners.p[i];
        for (mt_stack_id s = mt_phase_is(o->attr.phase, kind) ? o->stack : 0; s != 0;
             s = t->stacks.p[s].parent) {
            const char *name = mt_str(t, t->frames.p[t->stacks.p[s].frame].name);
            if (strcmp(name, names[0]) == 0 || strcmp(name, names[1]) == 0)
                return true;
        }
    }
    return false;
}

/* Whether logits of so many bytes occur as they are, beside copies of twice the size. */
static bool in_16_bits(const struct mt_expect_work *k, double bytes)
{
    const struct mt_replay *r = k->w->r;
    for (uint64_t i = 0; i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_ALLOC && k->w->fate[i].role == MT_ROLE_LOGITS &&
            (double)e->size >= bytes && (double)e->size < bytes + 512)
            return true;
    }
    return false;
}

/* Expects tokens x vocabulary x the copies that live together, in bytes of one element. A forward
 * alone has the logits, a copy in 32 bits and the log-softmax. Where a backward follows, the
 * log-softmax waits for it and meets two gradients: that of the picked values and its own; a copy
 * from 16 bits has gone by then. An entropy adds a softmax, and in evaluation a product. */
static void expect_logits(struct mt_expect_work *k, unsigned kind)
{
    static const struct {
        unsigned each;
        const char *sum, *what;
    } chains[2][2][2] = {
        {{{10, "2 + 4 + 4", "16-bit logits, 32-bit copy, log-softmax"},
          {14, "2 + 4 + 4 + 4", "16-bit logits, 32-bit copy, softmax and product of the entropy"}},
         {{14, "2 + 4 + 4 + 4", "16-bit logits, log-softmax, its gradient and that of the loss"},
          {18, "2 + 4 + 4 + 4 + 4",
           "16-bit logits, log-softmax, its gradient and that of the loss, softmax of the "
           "entropy"}}},
        {{{12, "4 + 4 + 4", "32-bit logits, their shifted copy, log-softmax"},
          {16, "4 + 4 + 4 + 4",
           "32-bit logits, their shifted copy, softmax and product of the entropy"}},
         {{16, "4 + 4 + 4 + 4", "32-bit logits, log-softmax, its gradient and that of the loss"},
          {20, "4 + 4 + 4 + 4 + 4",
           "32-bit logits, log-softmax, its gradient and that of the loss, softmax of the "
           "entropy"}}}};
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_LOGITS, highest(k, kind, MT_ROLE_LOGITS));
    const struct mt_role_facts *f = &k->d->roles;
    double tokens = tokens_of(k, kind), vocab = (double)f->vocab,
           split = (double)(f->vocab_split != 0 ? f->vocab_split : 1);
    const char *from = "as the largest of them has";
    bool wide, back = kind == MT_TRAINS, entropy;
    if (e == NULL)
        return;
    if (mt_run_number(k->conf, "fused_head") > 0) {
        mt_expect_say(
            k, e, "a fused output head makes them in pieces whose size is not among the settings");
        return;
    }
    wide = tokens > 0 && f->logits_elem == 4 && !in_16_bits(k, tokens * (vocab / split) * 2);
    if (tokens <= 0) {
        tokens = mt_run_number(k->conf, back ? "tokens_per_gpu" : "logp_tokens_per_gpu");
        vocab = k->s.vocab;
        split = k->s.tp > 0 ? k->s.tp : 0;
        from = "as the budget allows";
    }
    if (tokens <= 0 || vocab <= 0 || split <= 0) {
        mt_expect_say(k, e, "%s",
                      vocab <= 0    ? "the vocabulary is not known"
                      : tokens <= 0 ? "the number of tokens is not known"
                                    : "over how many ranks the vocabulary is divided is not known");
        return;
    }
    entropy = has_entropy(k, kind);
    mt_expect_set(k, e, tokens * (vocab / split) * chains[wide][back][entropy].each, true);
    mt_expect_say(k, e, "%.0f tokens (%s) x a vocabulary of %.0f%s x (%s) bytes (%s)", tokens, from,
                  vocab, MT_OVER(split, ""), chains[wide][back][entropy].sum,
                  chains[wide][back][entropy].what);
}

/* ---- engine ---- */

static void weights(struct mt_expect_work *k)
{
    struct mt_expect *e =
        mt_expect_row(k, MT_ROLE_ENGINE_WEIGHTS, highest(k, MT_OF_ENGINE, MT_ROLE_ENGINE_WEIGHTS));
    if (e == NULL)
        return;
    if (k->s.params <= 0 || k->s.rollout_tp <= 0) {
        mt_expect_say(k, e, "%s",
                      k->s.params <= 0
                          ? k->s.no_params
                          : "the engine's tensor-parallel size is not among the settings");
        return;
    }
    mt_expect_set(k, e, k->s.params * 2 / k->s.rollout_tp, false);
    mt_expect_say(k, e, "%.0f parameters%s x 2 bytes%s", k->s.params, k->s.model.named,
                  MT_OVER(k->s.rollout_tp, " (the engine's tensor parallel)"));
}

static void cache(struct mt_expect_work *k)
{
    unsigned phase = highest(k, MT_ROLLS_OUT, MT_ROLE_KV_CACHE);
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_KV_CACHE, phase);
    double bytes = mt_run_number(k->conf, "kv_cache_bytes"),
           tokens = mt_run_number(k->conf, "max_total_tokens"),
           share = mt_run_number(k->conf, "gpu_memory_utilization");
    if (e == NULL)
        return;
    if (bytes > 0) {
        mt_expect_set(k, e, bytes, false);
        mt_expect_say(k, e, "set in bytes: %s", MT_BYTES((uint64_t)bytes));
    } else if (tokens > 0 && k->s.layers > 0 && k->s.model.latent > 0) {
        mt_expect_set(k, e, tokens * k->s.layers * k->s.model.latent * 2, false);
        mt_expect_say(k, e, "%.0f tokens x %.0f layers x %.0f (latent attention) x 2 bytes%s",
                      tokens, k->s.layers, k->s.model.latent, k->s.model.named);
    } else if (tokens > 0 && k->s.layers > 0 && k->s.kv_width > 0 && k->s.rollout_tp > 0) {
        bytes = tokens * 2 * k->s.layers * k->s.kv_width / k->s.rollout_tp * 2;
        mt_expect_set(k, e, bytes, false);
        mt_expect_say(k, e,
                      "%.0f tokens x 2 x %.0f layers x %.0f (heads of keys and values x head "
                      "size)%s x 2 bytes%s",
                      tokens, k->s.layers, k->s.kv_width,
                      MT_OVER(k->s.rollout_tp, " (tensor parallel)"), k->s.model.named);
    } else if (share > 0 && share <= 1 && k->d->capacity != 0) {
        uint64_t held = k->high[phase][MT_ROLE_ENGINE_WEIGHTS].bytes;
        bytes = share * (double)k->d->capacity - (double)held;
        mt_expect_set(k, e, bytes > 0 ? bytes : 0, true);
        mt_expect_say(k, e, "the engine's share of the card, %.2f x %s, less its weights (%s)",
                      share, MT_BYTES(k->d->capacity), MT_BYTES(held));
    } else {
        mt_expect_say(
            k, e,
            share > 0 && share <= 1
                ? "the card's size is not known; --capacity names it"
                : "neither its size nor the engine's share of the card is among the settings");
    }
}

/* ---- between the phases ---- */

static void sync(struct mt_expect_work *k)
{
    struct mt_expect *e = mt_expect_row(k, MT_ROLE_WEIGHT_SYNC, MT_PH_WEIGHT_SYNC);
    double bucket = mt_run_number(k->conf, "weight_bucket"), largest = k->s.vocab * k->s.hidden * 2;
    if (e == NULL)
        return;
    if (bucket <= 0) {
        mt_expect_say(k, e, "the size of a bucket is not among the settings");
        return;
    }
    if (bucket < 1048576) /* verl counts MiB, the others bytes */
        bucket *= 1048576;
    if (largest > bucket && largest < MT_EXPECT_LIMIT)
        bucket = largest;
    mt_expect_set(k, e, 2 * bucket, true);
    mt_expect_say(k, e, "two buckets of %s, one that is filled and one under way%s",
                  MT_BYTES((uint64_t)bucket),
                  largest == bucket ? " (the largest tensor fills one alone)" : "");
}

/* Where a framework moves parameters and optimizer state out between its phases, a rollout should
 * have none of them. */
static void moved_out(struct mt_expect_work *k, const struct mt_frameworks *fw)
{
    static const struct {
        unsigned role;
        const char *setting;
    } moved[] = {{MT_ROLE_PARAM, "param_offload"}, {MT_ROLE_OPTIM_STATE, "optimizer_offload"}};
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        struct mt_expect *e;
        struct mt_runconf_hit hit;
        if ((mt_framework_at(fw->rules, fw->main)->traits & MT_FWT_OFFLOADS) == 0 ||
            k->conf == NULL || !mt_runconf_find(k->conf, moved[i].setting, &hit) ||
            hit.is_default || !mt_runconf_is_true(hit.value))
            continue;
        e = mt_expect_row(k, moved[i].role, highest(k, MT_ROLLS_OUT, moved[i].role));
        if (e == NULL)
            continue;
        mt_expect_set(k, e, 0, true);
        mt_expect_say(k, e, "none: %.100s is set, which moves them to the host between the phases",
                      hit.key != NULL ? hit.key->key : moved[i].setting);
    }
}

/* Whether anything is set beside what the snapshot itself says of the allocator. */
static bool is_configured(const struct mt_runconf *conf)
{
    return conf != NULL && conf->from.n != 0;
}

/* Whether the job is a script without settings: no config.json could be named for it. */
static void drop_unknown(struct mt_expected *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->v.n; i++) {
        struct mt_expect *e = &out->v.p[i];
        if (e->known) {
            out->v.p[kept++] = *e;
            continue;
        }
        mt_free(e->text);
        mt_free(e->extra);
    }
    out->v.n = kept;
}

enum mt_rc mt_expected_make(struct mt_expected *out, const struct mt_roles *w,
                            const struct mt_device_analysis *d, const struct mt_frameworks *fw,
                            const struct mt_runconf *conf)
{
    /* its models have a config.json */
    struct mt_expect_work k = {.out = out, .w = w, .d = d, .conf = conf, .ok = true};
    unsigned train;
    memset(out, 0, sizeof *out);
    if (!d->roles.made || d->end_state_only || d->kind != MT_DEV_CUDA || w->fate == NULL ||
        w->old_role == NULL)
        return MT_OK;
    k.high = mt_calloc(MT_PH_COUNT, sizeof *k.high);
    if (k.high == NULL)
        return MT_ENOMEM;
    mt_run_shape_make(&k.s, w->r->t, fw, conf);
    measure_highs(&k);
    train = highest(&k, MT_TRAINS, MT_ROLE_PARAM);
    mt_expect_params(&k, train != MT_PH_COUNT ? train : highest(&k, MT_LOGP, MT_ROLE_PARAM));
    train = highest(&k, MT_TRAINS, MT_ROLE_GRAD);
    mt_expect_gradients(&k, train);
    train = highest(&k, MT_TRAINS, MT_ROLE_OPTIM_STATE);
    mt_expect_optimizer(&k, train);
    expect_logits(&k, MT_TRAINS);
    expect_logits(&k, MT_LOGP);
    weights(&k);
    cache(&k);
    sync(&k);
    moved_out(&k, fw);
    if (fw->main == MT_FW_NONE && fw->engine == MT_FW_NONE && !is_configured(conf) &&
        !mt_trace_has_frame(w->r->t, "transformers/models/", ""))
        drop_unknown(out);
    mt_free(k.high);
    return k.ok ? MT_OK : MT_ENOMEM;
}

void mt_expected_done(struct mt_expected *e)
{
    for (uint32_t i = 0; i < e->v.n; i++) {
        mt_free(e->v.p[i].text);
        mt_free(e->v.p[i].extra);
    }
    MT_VEC_DONE(&e->v);
}
