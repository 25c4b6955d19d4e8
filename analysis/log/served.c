/* log/served.c -- what a model takes of a card where it only runs: its weights, and the keys and
 * values of each token; and what stays of it where adapters alone are trained. Worked out of the
 * model's shape; with a factor unknown nothing is said. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

#define GIB (1024.0 * 1024 * 1024)
enum { HALF = 2 }; /* bytes of a number in 16 bits, as models are published and served */

/* On how many cards of its own the model is; 0 = not known. */
static double cards(const struct mt_run_shape *s, const struct mt_logdiag_sizes *told, bool engine)
{
    if (s->rollout_tp >= 1)
        return s->rollout_tp;
    if (told->spread && !engine && told->gpus > 1) /* its layers over all of them */
        return told->gpus;
    return told->spread || (engine && told->gpus != 0 && told->gpus != 1) ? 0 : 1;
}

static bool sets_up(const struct mt_logdiag *d)
{
    return d->phase == MT_PH_INIT || d->phase == MT_PH_ROLLOUT_INIT;
}

/* By its shape, by a name of the settings, which rounds, or by the one size that a text has in
 * words; 0 = not known. */
static double parameters(const struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                         const struct mt_run_shape *s, bool engine)
{
    if (s->params > 0)
        return s->params;
    if (engine) /* model_by_words() has these */
        return 0;
    return d->model.params > 0  ? d->model.params / 0.9
           : told->billions > 0 ? told->billions * 1e9
                                : 0;
}

static bool runs_only(const struct mt_logdiag *d, const struct mt_logdiag_sizes *told, bool engine)
{
    bool other = mt_phase_is(d->phase, MT_TRAINS | MT_SWITCHES | MT_INTERRUPTS);
    bool forward = mt_phase_is(d->phase, MT_ROLLS_OUT | MT_FORWARD_ONLY) ||
                   d->phase == MT_PH_EVAL ||
                   ((d->phase == MT_PH_UNATTRIBUTED || sets_up(d)) && told->runs);
    return !other && !told->trains && (forward || engine);
}

/* They would fit, and less is allocated than they take: what is there is not as it is named. */
static bool is_elsewhere(const struct mt_logdiag *d, double weights)
{
    return !sets_up(d) && d->allocated != MT_LOG_NONE && (double)d->allocated < 0.9 * weights &&
           weights < d->model.estimate.card;
}

void mt_logdiag_served(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                       const struct mt_run_shape *s, const struct mt_runconf *conf,
                       enum mt_fw_kind kind)
{
    struct mt_logdiag_served *v = &d->model.served;
    bool divided = told->fsdp || told->zero3 || s->sharded, engine = kind == MT_FWK_ENGINE;
    /* beside an engine of such a job the trainer has its part of the card */
    double params = parameters(d, told, s, engine);
    double n = kind != MT_FWK_RL && runs_only(d, told, engine) ? cards(s, told, engine) : 0;
    if (params <= 0 || told->smaller || mt_run_is_set(conf, "quantization"))
        return;
    if (told->adapters && told->trains && !divided && !told->spread && !told->wide) {
        v->frozen = params * HALF;
        v->params = params;
    }
    if (n <= 0 || told->wide || is_elsewhere(d, params * HALF / n))
        return;
    v->params = params;
    v->cards = n;
    v->each = HALF;
    /* Transformers before 5 loads 32 bits where nothing is said of the type (modeling_utils.py) */
    v->may_be_wide = !engine && !told->half;
    v->weights = params * HALF / n;
    v->layers = s->layers;
    v->batch = engine ? 0 : mt_run_number(conf, "script_batch");
    v->answer = mt_run_number(conf, "script_answer_length");
    v->longest = engine ? mt_run_number(conf, "max_model_len") : 0;
    v->share = engine ? mt_run_number(conf, "gpu_memory_utilization") : 0;
    if (v->share > 1)
        v->share = 0;
    if (mt_run_is_set(conf, "kv_cache_dtype"))
        return;                /* keys and values have another type than the weights */
    if (s->model.latent > 0) { /* every card of a tensor-parallel group has all of it */
        v->width = s->model.latent;
        v->token = s->layers * s->model.latent * HALF;
    } else if (s->kv_width > 0) {
        v->width = 2 * s->kv_width;
        v->token = s->layers * 2 * s->kv_width * HALF / n;
    }
}

void mt_logdiag_served_in_float(struct mt_logdiag *d)
{
    struct mt_logdiag_served *v = &d->model.served;
    v->each *= 2;
    v->weights *= 2;
    v->token *= 2;
}

/* Bytes of the card, or of the engine's share of it, that the weights leave. */
static double room(const struct mt_logdiag *d)
{
    const struct mt_logdiag_served *v = &d->model.served;
    return d->model.estimate.card * (v->share > 0 ? v->share : 1) - v->weights;
}

static void say_tokens(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_served *v = &d->model.served;
    double tokens = room(d) / v->token;
    char a[32];
    mt_words_add(
        t, " Each token of each sequence keeps %s of keys and values (%g layers x %g x %u bytes%s)",
        MT_BYTES((uint64_t)v->token), v->layers, v->width, v->each,
        v->cards > 1 && v->token < v->layers * v->width * v->each ? ", divided" : "");
    if (d->model.estimate.card > 0 && tokens >= 1) {
        mt_words_add(t,
                     ": beside the weights %s has room for %s tokens at the most, of all sequences "
                     "together",
                     v->share > 0 ? "the engine's share of the card" : "the card",
                     mt_words_count(a, (uint64_t)tokens));
        if (v->longest > tokens)
            mt_words_add(t, ", less than one of %s", mt_words_count(a, (uint64_t)v->longest));
        else if (v->longest > 0)
            mt_words_add(t, ", %.0f of %s", (double)(uint64_t)(tokens / v->longest),
                         mt_words_count(a, (uint64_t)v->longest));
    }
    mt_words_add(t, ".");
    if (v->batch >= 1 && v->answer >= 1)
        mt_words_add(t, " %g x %s tokens of answers alone are %s of them.", v->batch,
                     mt_words_count(a, (uint64_t)v->answer),
                     MT_BYTES((uint64_t)(v->batch * v->answer * v->token)));
}

void mt_logdiag_say_served(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_served *v = &d->model.served;
    const char *lead = t->n != 0 ? " " : "";
    double card = d->model.estimate.card;
    if (v->frozen >= GIB) {
        mt_words_add(t,
                     "%sUnder the adapters %.3g B parameters stay in 16 bits: %s on every card, "
                     "whatever the batch is; in 4 bits a quarter of it",
                     lead, v->params / 1e9, MT_BYTES((uint64_t)v->frozen));
        if (v->frozen > card && card > 0)
            mt_words_add(t, ". The card has %s: in 16 bits they do not fit on it",
                         MT_BYTES((uint64_t)card));
        mt_words_add(t, ".");
    }
    if (v->weights < GIB || d->model.is_over_share)
        return;
    mt_words_add(t, "%sThe weights are %.3g B parameters x %u bytes%s = %s on a card%s", lead,
                 v->params / 1e9, v->each, v->cards > 1 ? ", divided" : "",
                 MT_BYTES((uint64_t)v->weights),
                 v->may_be_wide ? " (twice that where they are loaded in 32 bits)" : "");
    if (card > 0 && v->weights > card) {
        mt_words_add(t,
                     ", which has %s: in %u bits they do not fit on it, whatever the batch is; "
                     "more cards or weights of fewer bits can.",
                     MT_BYTES((uint64_t)card), 8 * v->each);
        return;
    }
    mt_words_add(t, ".");
    if (v->token > 0)
        say_tokens(t, d);
}
