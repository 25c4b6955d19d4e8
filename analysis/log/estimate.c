/* log/estimate.c -- how much a training keeps on every card, and how large its logits are, worked
 * out of the factors that settings and a person's words tell. With one factor unknown nothing is
 * said. */
#include "analysis/base/words.h"
#include "analysis/log/diagnose.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

#include <string.h>

/* Bytes of a parameter in mixed precision with Adam: 16-bit parameter and gradient, 32-bit
 * parameter and two moments (deepspeed/runtime/zero); in 32 bits throughout it is as many. */
enum { ALL = 16, MOMENTS = 12 };

/* How many bytes of a parameter each card has whole, and how many of it are divided. */
static void split(struct mt_logdiag_estimate *e, unsigned zero, bool fsdp)
{
    e->divided = fsdp || zero == 3 ? ALL : zero == 2 ? ALL - 2 : zero == 1 ? MOMENTS : 0;
    e->whole = ALL - e->divided;
}

static unsigned stage(const struct mt_run_shape *s, const struct mt_logdiag_sizes *told)
{
    if (s->layout == MT_LAYOUT_ZERO)
        return s->zero;
    return told->zero3 == told->zero2 ? 0 : told->zero3 ? 3 : 2;
}

/* An optimizer with other states than Adam's two, or one that is not on the card. */
static bool is_other_state(const struct mt_run_shape *s, const struct mt_runconf *conf)
{
    static const char *const elsewhere[] = {"optimizer_offload", "param_offload", "offload_policy"};
    for (size_t i = 0; conf != NULL && i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (mt_run_is_set(conf, elsewhere[i]))
            return true;
    return s->lora || s->params_on_host || (s->kept >= 0 && s->kept < 1) ||
           (conf != NULL && mt_run_word(conf, "optimizer") != NULL &&
            (s->optim.why != NULL || s->optim.tensors < 2 || s->optim.tensors > 2));
}

/* On how many cards it runs, or is divided; 0 = not known. */
static double cards_of(const struct mt_logdiag_sizes *told, const struct mt_run_shape *s,
                       double ranks, bool divided)
{
    double cards = ranks > 0 ? ranks : told->gpus;
    if (divided && (s->sharded || s->layout == MT_LAYOUT_ZERO) && s->shards >= 1)
        return s->shards;
    return cards < 1 ? 0 : cards;
}

/* Megatron: 16-bit parameters and 32-bit gradients, 6 bytes; 32-bit parameters and two moments, 12,
 * which its distributed optimizer divides over the data-parallel ranks (its optimizer).
 */
static void of_core(struct mt_logdiag_estimate *e, const struct mt_run_shape *s,
                    const struct mt_runconf *conf, double gpus)
{
    double cut = s->tp * s->pp, ranks = cut >= 1 && gpus >= cut ? gpus / cut : 0;
    if (cut < 1 || s->ep > 1)
        return;
    e->cut = cut;
    e->whole = 6 / cut;
    e->divided = 12 / cut;
    e->cards = ranks;
    e->each = e->params * 18 / cut;
    if (mt_run_is_set(conf, "distributed_optimizer") && ranks >= 1) {
        e->bytes = e->params * (e->whole + e->divided / ranks);
        e->each = 0;
    }
}

void mt_logdiag_estimate(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                         const struct mt_run_shape *s, const struct mt_runconf *conf, double params,
                         double ranks)
{
    struct mt_logdiag_estimate *e = &d->model.estimate;
    unsigned zero = stage(s, told);
    bool fsdp = s->sharded || told->fsdp;
    double cards = cards_of(told, s, ranks, fsdp || zero != 0);
    if (told->less || is_other_state(s, conf) || params <= 0 ||
        (d->phase != MT_PH_UNATTRIBUTED && !mt_phase_is(d->phase, MT_TRAINS)))
        return;
    e->params = params;
    if (s->layout != MT_LAYOUT_UNKNOWN && s->layout != MT_LAYOUT_SAME &&
        s->layout != MT_LAYOUT_ZERO) {
        of_core(e, s, conf, cards);
        return;
    }
    if (cards < 1) { /* on how many, nobody says */
        /* beside an error's numbers only where pure 16 bits do not fit either: it may have run */
        bool sure = d->request == MT_LOG_NONE ||
                    (!told->launches && params * ALL / (told->mixed ? 1 : 2) > e->card);
        if (sure && !fsdp && zero == 0 && told->gpus >= 0 && !told->spread && !told->nodes)
            e->alone = params * ALL;
        e->mixed = told->mixed;
        return;
    }
    e->cards = cards;
    if (!fsdp && zero == 0 && cards > 1) { /* whether something divides it is not told */
        e->each = told->spread ? 0 : params * ALL;
        return;
    }
    split(e, zero, fsdp);
    if (s->layout == MT_LAYOUT_SAME && s->elem > 0 && s->elem < 4 && fsdp)
        e->divided = 4 * s->elem, e->whole = 0;
    e->bytes = params * (e->whole + e->divided / cards);
}

/* "2 x 32,768 tokens x 151,936 words x 4 bytes". A head that a fused loss takes in pieces, or one
 * that is divided, has no such tensor. */
void mt_logdiag_estimate_logits(struct mt_logdiag *d, const struct mt_run_shape *s,
                                const struct mt_runconf *conf)
{
    struct mt_logdiag_estimate *e = &d->model.estimate;
    double length = mt_run_number(conf, "max_seq_len"), batch = mt_run_number(conf, "micro_batch"),
           answer = mt_run_number(conf, "max_response_len"),
           prompt = mt_run_number(conf, "max_prompt_len");
    if (length <= 0 && prompt > 0 && answer > 0)
        length = prompt + answer;
    if (s->tp > 1 || mt_run_is_set(conf, "fused_head") || mt_run_is_set(conf, "liger") ||
        mt_run_is_set(conf, "entropy_chunking") || s->vocab <= 0 || length <= 0 || batch <= 0)
        return;
    if (strcmp(mt_run_word(conf, "rl_type") != NULL ? mt_run_word(conf, "rl_type") : "", "dpo") ==
        0)
        batch *= 2; /* the chosen and the rejected answer */
    e->batch = batch;
    e->length = length;
    e->vocab = s->vocab;
}

static void say_states(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    mt_words_add(
        t,
        "%sTraining all of it with Adam, and nothing of it on the host, keeps %.3g B parameters x ",
        t->n != 0 ? " " : "", e->params / 1e9);
    if (e->cards <= 1)
        mt_words_add(t, "%g bytes", e->whole + e->divided);
    else if (e->whole <= 0)
        mt_words_add(t, "%g bytes / %g GPUs", e->divided, e->cards);
    else
        mt_words_add(t, "(%g + %g / %g GPUs) bytes", e->whole, e->divided, e->cards);
    mt_words_add(t,
                 " = %s of parameters, gradients and optimizer's state on every card, whatever "
                 "the batch is",
                 MT_BYTES((uint64_t)e->bytes));
    if (e->card > 0 && e->bytes > e->card && e->cards <= 1 && e->bytes / 2 < e->card)
        mt_words_add(t,
                     ", and the card has %s%s: that fits only where all of it is in 16 bits, which "
                     "is half; else the state on the host, more GPUs or adapters can",
                     MT_BYTES((uint64_t)e->card), d->capacity == MT_LOG_NONE ? " by its name" : "");
    else if (e->card > 0 && e->bytes > e->card)
        mt_words_add(t,
                     ", and the card has %s%s: a smaller batch cannot make that fit; more GPUs, "
                     "the state on the host or adapters can",
                     MT_BYTES((uint64_t)e->card), d->capacity == MT_LOG_NONE ? " by the text" : "");
    mt_words_add(t, ".");
}

/* Several cards, and no word of what divides the job: both cases. */
static void say_either(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    char part[32];
    mt_words_add(t,
                 "%sTraining all of it with Adam, and nothing of it on the host, keeps %.3g B "
                 "parameters x %d bytes = %s of parameters, gradients and optimizer's state on "
                 "every card where each has all of it (DDP), and %s where ZeRO-3 or FSDP divides "
                 "it over %g GPUs",
                 t->n != 0 ? " " : "", e->params / 1e9, ALL, MT_BYTES((uint64_t)e->each),
                 mt_words_bytes(part, (uint64_t)(e->each / e->cards)), e->cards);
    if (e->card > 0 && e->each > e->card) {
        bool neither = e->each / e->cards > e->card;
        mt_words_add(t, ", and the card has %s%s: %s", MT_BYTES((uint64_t)e->card),
                     d->capacity == MT_LOG_NONE ? " by the text" : "",
                     neither ? "neither fits, whatever the batch is; more GPUs, the state on the "
                               "host or adapters can"
                             : "undivided it cannot fit, whatever the batch is");
    }
    mt_words_add(t, ".");
}

static void say_alone(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    mt_words_add(
        t,
        "%sTraining all of it with Adam, and nothing of it on the host, keeps %.3g B "
        "parameters x %d bytes = %s of parameters, gradients and optimizer's state%s, and a "
        "card has %s%s: whatever the batch is, it "
        "takes ZeRO-3 or FSDP over %.0f such GPUs or more, the states on the host, or "
        "adapters.",
        t->n != 0 ? " " : "", e->params / 1e9, ALL, MT_BYTES((uint64_t)e->alone),
        e->mixed ? "" : " (half of it where all are in 16 bits)", MT_BYTES((uint64_t)e->card),
        d->capacity == MT_LOG_NONE ? " by the text" : "",
        (double)(uint64_t)(e->alone / e->card) + 1);
}

static void say_core(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    char part[32];
    double divided = e->cards >= 1 ? e->params * (e->whole + e->divided / e->cards) : 0;
    mt_words_add(t,
                 "%sTraining all of it with Adam keeps %.3g B parameters x 18 bytes / %g (tensor x "
                 "pipeline parallel) = %s of parameters, gradients and optimizer's state on every "
                 "card",
                 t->n != 0 ? " " : "", e->params / 1e9, e->cut, MT_BYTES((uint64_t)e->each));
    if (divided > 0)
        mt_words_add(t, ", and %s with --use-distributed-optimizer over %g data-parallel ranks",
                     mt_words_bytes(part, (uint64_t)divided), e->cards);
    if (e->card > 0 && e->each > e->card)
        mt_words_add(t, ", and the card has %s%s: %s", MT_BYTES((uint64_t)e->card),
                     d->capacity == MT_LOG_NONE ? " by the text" : "",
                     divided > e->card
                         ? "neither fits, whatever the batch is; more tensor or pipeline parallel "
                           "can"
                         : "without it that cannot fit, whatever the batch is");
    mt_words_add(t, ".");
}

static void say_logits(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    char tokens[32], vocab[32];
    mt_words_add(
        t,
        "%sWhere one pass is as long as the settings allow, %g x %s tokens x %s words of the "
        "vocabulary x 4 bytes = %s of logits in 32 bits, unless the loss takes them in pieces.",
        t->n != 0 ? " " : "", e->batch, mt_words_count(tokens, (uint64_t)e->length),
        mt_words_count(vocab, (uint64_t)e->vocab),
        MT_BYTES((uint64_t)(e->batch * e->length * e->vocab * 4)));
}

void mt_logdiag_say_estimate(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    const double much = 1024.0 * 1024 * 1024;
    bool no_numbers = d->capacity == MT_LOG_NONE && d->request == MT_LOG_NONE;
    /* what is there from the start does not grow, and steps went by with it */
    if (d->grows || d->growth_told)
        return;
    if (e->bytes >= much && (no_numbers || (e->card > 0 && e->bytes > e->card)))
        say_states(t, d);
    if (e->alone >= much && e->card > 0 && e->alone > e->card)
        say_alone(t, d);
    if (e->cut >= 1 && e->each >= much && (no_numbers || (e->card > 0 && e->each > e->card)))
        say_core(t, d);
    else if (e->each >= much && (no_numbers || (e->card > 0 && e->each > e->card)))
        say_either(t, d);
    if (no_numbers && e->batch * e->length * e->vocab * 4 >= 2 * much)
        say_logits(t, d);
}

double mt_logdiag_states(const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    return d->model.states > 0 ? d->model.states
           : e->bytes > 0      ? e->bytes
           : e->each > 0       ? e->each
                               : e->alone;
}

void mt_logdiag_of_model(struct mt_metrics *m, const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    double states = mt_logdiag_states(d);
    if (d->model.params > 0)
        mt_metrics_set(m, MT_METRIC_model_params, d->model.params, MT_CONF_CARRIED);
    if (d->model.states > 0)
        mt_metrics_set(m, MT_METRIC_model_states, d->model.states, MT_CONF_CARRIED);
    else if (!d->model.is_set && e->bytes > 0) /* by a person's words */
        mt_metrics_set(m, MT_METRIC_model_states, e->bytes, MT_CONF_CARRIED);
    else if (e->alone > 0)
        mt_metrics_set(m, MT_METRIC_model_states, e->alone, MT_CONF_CARRIED);
    if (states > 0 && e->card > 0)
        mt_metrics_set(m, MT_METRIC_states_share, states / e->card, MT_CONF_CARRIED);
    if (d->model.served.weights > 0 && e->card > 0)
        mt_metrics_set(m, MT_METRIC_weights_share, d->model.served.weights / e->card,
                       MT_CONF_CARRIED);
    if (d->model.served.frozen > 0 && e->card > 0 && d->model.served.bits < 16)
        mt_metrics_set(m, MT_METRIC_quantised_share, d->model.served.frozen / e->card,
                       MT_CONF_CARRIED);
    else if (d->model.served.frozen > 0 && e->card > 0)
        mt_metrics_set(m, MT_METRIC_frozen_share, d->model.served.frozen / e->card,
                       MT_CONF_CARRIED);
    if (d->model.served.copy > 0)
        mt_metrics_set(m, MT_METRIC_engine_copy, d->model.served.copy, MT_CONF_CARRIED);
    mt_metrics_set(m, MT_METRIC_frozen_whole,
                   d->model.served.frozen > 0 && d->model.served.parts <= 1, MT_CONF_CARRIED);
    if (d->model.budget.share > 0)
        mt_metrics_set(m, MT_METRIC_trained_share, d->model.budget.share, MT_CONF_CARRIED);
    mt_metrics_set(m, MT_METRIC_fits_amply, mt_logdiag_fits_amply(d), MT_CONF_CARRIED);
    mt_metrics_set(m, MT_METRIC_undivided, d->model.states <= 0 && e->each > 0 && e->cut <= 0,
                   MT_CONF_CARRIED);
}
