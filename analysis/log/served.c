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

/* 0 = not known. The engine of a text that names a size in words alone: model_by_words() has it. */
static double parameters(const struct mt_logdiag *d, bool engine)
{
    return engine && d->model.params <= 0 ? 0 : d->model.budget.params;
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
    /* an engine may take them from the driver itself */
    uint64_t held = d->this_process != MT_LOG_NONE ? d->this_process : d->allocated;
    return !sets_up(d) && held != MT_LOG_NONE && (double)held < 0.9 * weights &&
           weights < d->model.estimate.card;
}

/* Bits of a weight that is not trained: as settings or words tell; 0 = told in two ways. */
static double bits(const struct mt_logdiag_sizes *told, const struct mt_runconf *conf)
{
    double set = mt_run_number(conf, "frozen_bits");
    if (set >= 2 && set <= 16)
        return set;
    if (mt_run_is_set(conf, "frozen_bits")) /* load_in_4bit and its like */
        return 4;
    return told->bits != 0 ? (told->bits > 0 ? told->bits : 0) : told->smaller ? 0 : 16;
}

/* What stays where adapters alone are trained: of a job that divides it, this card's part. */
static void below_adapters(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                           const struct mt_run_shape *s, const struct mt_runconf *conf,
                           enum mt_fw_kind kind)
{
    struct mt_logdiag_served *v = &d->model.served;
    bool untold = told->zero3 && told->zero2 && !s->sharded,
         divided = told->fsdp || told->zero3 || s->sharded,
         /* of language models, who speaks of adapters trains them or says otherwise */
        trains = told->trains || (!told->runs && !d->model.budget.part);
    double n = bits(told, conf), ranks = mt_run_ranks(conf), cards = ranks > 0 ? ranks : told->gpus;
    if (n > 0 && n < 16 && s->layout == MT_LAYOUT_ZERO && !told->fsdp)
        divided = false; /* ZeRO-3 leaves packed weights whole on each card */
    if (!(told->adapters || s->lora || (d->model.budget.part && told->trains)) || !trains ||
        n <= 0 || told->spread || told->wide || untold || (divided && (cards < 2 || n < 16)) ||
        kind == MT_FWK_ENGINE || told->hosted || told->full || told->merges)
        return;
    v->params = d->model.budget.params;
    v->bits = n;
    v->parts = divided ? cards : 1;
    v->frozen = v->params * n / 8 / v->parts;
}

void mt_logdiag_served(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                       const struct mt_run_shape *s, const struct mt_runconf *conf,
                       enum mt_fw_kind kind)
{
    struct mt_logdiag_served *v = &d->model.served;
    bool engine = kind == MT_FWK_ENGINE;
    /* beside an engine of such a job the trainer has its part of the card */
    double params = parameters(d, engine);
    double n = kind != MT_FWK_RL && runs_only(d, told, engine) ? cards(s, told, engine) : 0;
    if (params <= 0 || mt_run_is_set(conf, "quantization"))
        return;
    below_adapters(d, told, s, conf, kind);
    if (kind == MT_FWK_RL && s->rollout_tp <= 1 && told->colocated) /* each has one of its own */
        v->copy = params * HALF;
    if (told->smaller)
        return;
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

bool mt_logdiag_served_over(const struct mt_logdiag *d)
{
    const struct mt_logdiag_served *v = &d->model.served;
    double card = d->model.estimate.card;
    return card > 0 && (v->frozen > card || v->weights > card);
}

/* What the process has outside PyTorch are the weights: PyTorch has next to none of them, and the
 * rest is as large. */
bool mt_logdiag_served_outside(const struct mt_logdiag *d)
{
    double weights = d->model.served.weights;
    return d->cause == MT_CAUSE_OUTSIDE && weights >= GIB && d->outside != MT_LOG_NONE &&
           (double)mt_logdiag_torch(d) < weights / 8 && (double)d->outside > 0.8 * weights &&
           (double)d->outside < 1.3 * weights;
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
    if (d->model.budget.share > 0) {
        mt_words_add(t,
                     "%s%.0f %% of the parameters are trained, where adapters alone are a few in a "
                     "hundred unless their rank is very high: most likely the embeddings and the "
                     "output matrix are trained whole, and each has a copy, a gradient and an "
                     "optimizer's states.",
                     lead, d->model.budget.share * 100);
        lead = " ";
    }
    if (v->frozen >= GIB) {
        mt_words_add(t, "%s%s %s%.3g B parameters stay in %g bits", lead,
                     d->model.budget.part ? "Of its transformer" : "Under the adapters",
                     d->model.budget.about ? "about " : "", v->params / 1e9, v->bits);
        if (v->parts > 1)
            mt_words_add(t, ", divided over %g GPUs", v->parts);
        mt_words_add(t, ": %s on every card, whatever the batch is%s",
                     MT_BYTES((uint64_t)v->frozen),
                     v->bits < 16   ? ", and the scales and what is not quantised beside it"
                     : v->parts > 1 ? ""
                                    : "; in 4 bits a quarter of it");
        if (v->frozen > card && card > 0)
            mt_words_add(t, ". The card has %s: in %g bits they do not fit on it",
                         MT_BYTES((uint64_t)card), v->bits);
        mt_words_add(t, ".");
    }
    if (v->copy >= GIB)
        mt_words_add(
            t,
            "%sThe engine in each process has a whole copy, %s%.3g B parameters x %d bytes = "
            "%s, beside what the trainer has on that card: nothing is set that divides it.",
            t->n != 0 ? " " : "", d->model.budget.about ? "about " : "",
            d->model.budget.params / 1e9, HALF, MT_BYTES((uint64_t)v->copy));
    if (v->weights < GIB || d->model.is_over_share)
        return;
    mt_words_add(t, "%sThe weights are %s%.3g B parameters x %u bytes%s = %s on a card%s", lead,
                 d->model.budget.about ? "about " : "", v->params / 1e9, v->each,
                 v->cards > 1 ? ", divided" : "", MT_BYTES((uint64_t)v->weights),
                 v->may_be_wide ? " (twice that where they are loaded in 32 bits)" : "");
    if (card > 0 && v->weights > card) {
        mt_words_add(t,
                     ", which has %s: in %u bits they do not fit on it, whatever the batch is; "
                     "more cards or weights of fewer bits can.",
                     MT_BYTES((uint64_t)card), 8 * v->each);
        return;
    }
    if (mt_logdiag_served_outside(d)) {
        mt_words_add(
            t,
            ", which has %s: they are most of the %s that the process has outside PyTorch, "
            "for this engine takes them from the driver itself. More cards, weights of fewer "
            "bits or a smaller model make room; the cache comes after them.",
            MT_BYTES((uint64_t)card), MT_BYTES(d->outside));
        return;
    }
    if (card > 0 && v->share <= 0 && v->weights * 4 < card && d->allocated != MT_LOG_NONE &&
        (double)d->allocated > 2 * v->weights)
        mt_words_add(t, ", a small part of it: the rest is what a pass makes of its input");
    mt_words_add(t, ".");
    if (v->token > 0)
        say_tokens(t, d);
}
