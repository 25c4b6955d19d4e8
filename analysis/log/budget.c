/* log/budget.c -- how many parameters the job's model has, what of it lies on one card whatever the
 * batch is, and whether that is the matter. Bounds: what nothing tells is counted at its most. */
#include "analysis/log/diagnose.h"
#include "analysis/advice/advice.h"
#include "analysis/base/words.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

#include <math.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)
/* Of a model, adapters are less: of a matrix of 4,096 x 4,096 a thirty-second at a rank of 64,
 * which few go beyond. The vocabulary's two matrices are more of models of up to 8 B. */
#define FEW 0.1
/* Bytes of a parameter where all of it is trained with Adam (log/estimate.c). */
enum { ALL = 16 };
/* Parts of the card: what stays is little where it is a third of it at the most; a job fits amply
 * where that and its pass are half of it. */
enum { LITTLE = 3, AMPLE = 2 };
/* Bytes that one token keeps in a layer, with 16-bit activations and nothing recomputed: of each
 * number of the hidden state (norms, attention, both residuals), of each of the MLP's width (gate,
 * up, their product and its derivative). And copies of the logits, of 4 bytes. Counted on the
 * modules of transformers' Llama; a fused attention has no scores. */
enum { PER_HIDDEN = 30, PER_INNER = 12, LOGITS = 3 };

/* ---- the card, and how many parameters ---- */

void mt_logdiag_card_size(struct mt_logdiag *d, struct mt_logdiag_sizes *told,
                          const struct mt_log *log)
{
    struct mt_logdiag_amounts amounts;
    bool of_line = d->capacity != MT_LOG_NONE && d->capacity != 0;
    (void)mt_logdiag_amounts(&amounts, log);
    if (told->card <= 0 && amounts.total != MT_LOG_NONE)
        told->card = (double)amounts.total;
    if (d->by_words && told->card > 0) /* 80 GB are not 80 GiB */
        of_line = false;
    d->model.estimate.card = of_line ? (double)d->capacity : told->card;
}

/* "7 billion" has one digit that counts, "6,742,609,920" all. */
static bool is_round(double n)
{
    double unit = pow(10, floor(log10(n)) - 1);
    return fmod(n, unit) <= 0;
}

void mt_logdiag_size(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                     const struct mt_run_shape *s, double by_name)
{
    struct mt_logdiag_budget *b = &d->model.budget;
    double named = s->params > 0        ? s->params
                   : s->but_vocab > 0   ? s->but_vocab
                   : by_name > 0        ? by_name
                   : told->billions > 0 ? told->billions * 1e9
                                        : 0,
           counted = told->counted > 0                                            ? told->counted
                     : told->counted == 0 && told->trained > 0 && !told->adapters ? told->trained
                                                                                  : 0;
    if (told->peft && told->trained > told->counted * FEW && told->trained < told->counted / 2)
        b->share = told->trained / told->counted;
    b->part = named <= 0 && counted <= 0 && told->said > 0;
    b->params = b->part ? told->said : named;
    b->about = s->params <= 0;
    /* a line may count a part, a tower or an adapter, or another model */
    if (s->params <= 0 && counted > 0 &&
        (named <= 0 || (counted > named / 2 && counted < named * 2))) {
        b->params = counted;
        b->about = is_round(counted);
    }
}

/* ---- what stays ---- */

static bool is_word(const struct mt_runconf *conf, const char *name, const char *is)
{
    const char *v = mt_run_word(conf, name);
    return v != NULL && strcmp(v, is) == 0;
}

/* The optimizer's state is on the host. */
static bool is_moved(const struct mt_run_shape *s, const struct mt_logdiag_sizes *told,
                     const struct mt_runconf *conf)
{
    return told->moved || (s->kept >= 0 && s->kept < 0.5) ||
           mt_run_is_set(conf, "optimizer_offload");
}

/* Bytes of a weight, at the most. */
static double widest(const struct mt_logdiag_sizes *told, const struct mt_runconf *conf)
{
    bool half =
        !told->wide && (told->half || mt_run_is_set(conf, "bf16") || mt_run_is_set(conf, "fp16"));
    return half ? 2 : 4;
}

static double each_of(const struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                      const struct mt_runconf *conf)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    double weight = widest(told, conf), bits = d->model.served.bits;
    /* adapters are a twentieth at the most, and the base without them is their reference; scales,
     * and matrices that are not quantised, make 4 bits 6 */
    if (b->adapters)
        return (bits > 0 && bits < 16 ? bits / 8 * 1.5 : weight) +
               (b->share > 0 ? ALL * b->share : ALL / 20.0);
    if (!b->trains)
        return weight;
    return (b->moved ? 2 * weight : ALL) + (b->refers ? weight : 0);
}

/* What one pass makes, at the most, by its tokens and the model's shape. */
static double of_pass(const struct mt_run_shape *s, const struct mt_runconf *conf)
{
    double layer, kept, length = mt_run_number(conf, "max_seq_len"),
                        batch = mt_run_number(conf, "micro_batch"),
                        answer = mt_run_number(conf, "max_response_len"),
                        prompt = mt_run_number(conf, "max_prompt_len");
    if (prompt + answer > length)
        length = prompt + answer;
    if (length <= 0 || batch <= 0 || s->layers <= 0 || s->hidden <= 0 || s->model.inner <= 0)
        return 0;
    if (is_word(conf, "rl_type", "dpo"))
        batch *= 2; /* the chosen and the rejected answer */
    layer = s->hidden * PER_HIDDEN + s->model.inner * PER_INNER;
    kept = mt_runconf_is_true(mt_run_word(conf, "grad_ckpt")) ? layer + s->layers * s->hidden * 2
                                                              : s->layers * layer;
    return batch * length * (kept + s->vocab * 4 * LOGITS);
}

/* Over how many cards ZeRO-3 or FSDP divides all of it, for certain; 1 = nothing tells. */
static double divided_by(const struct mt_logdiag *d, const struct mt_run_shape *s,
                         const struct mt_logdiag_sizes *told, const struct mt_runconf *conf)
{
    bool divided = s->sharded || told->fsdp || (told->zero3 && !told->zero2);
    double ranks = mt_run_ranks(conf), n = s->sharded && s->shards >= 1 ? s->shards
                                           : ranks > 0                  ? ranks
                                                                        : told->gpus;
    if (d->model.served.bits > 0 && d->model.served.bits < 16 && d->model.served.parts <= 1)
        return 1; /* log/served.c: packed weights are whole on each card */
    return divided && n > 1 ? n : 1;
}

/* Each model of the job has cards of its own, and these are the actor's. */
static bool is_apart(const struct mt_runconf *conf)
{
    return mt_run_number(conf, "critic_gpus") >= 1 && !mt_run_is_set(conf, "colocate_all");
}

static bool is_of_training(const struct mt_logdiag *d, const struct mt_logdiag_sizes *told)
{
    return mt_phase_is(d->phase, MT_TRAINS) ||
           ((d->phase == MT_PH_UNATTRIBUTED || d->phase == MT_PH_INIT) && told->trains &&
            !told->runs);
}

void mt_logdiag_budget(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                       const struct mt_run_shape *s, const struct mt_runconf *conf)
{
    struct mt_logdiag_budget *b = &d->model.budget;
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    double card = e->card;
    bool apart = is_apart(conf);
    if (b->params <= 0 || b->part || (told->values && !apart) || !is_of_training(d, told))
        return; /* a part is no bound, nor is one of two models */
    b->trains = true;
    b->adapters = (told->adapters || s->lora) && !told->full;
    b->refers = told->refers && (!apart || mt_run_is_set(conf, "actor_with_reference"));
    b->moved = is_moved(s, told, conf);
    b->each = each_of(d, told, conf);
    b->cards = divided_by(d, s, told, conf);
    b->most = b->params * b->each / b->cards;
    if (mt_runconf_is_false(mt_run_word(conf, "reshard"))) { /* whole from forward to backward */
        b->gathered = b->params * widest(told, conf);
        b->most += b->gathered;
    }
    b->pass = of_pass(s, conf);
    b->sized = told->speaks_of_size;
    if (b->most > 0 && card > 0 && b->most * LITTLE <= card)
        b->little = true;
}

/* ---- in words ---- */

static void say_params(struct mt_sentence *t, const struct mt_logdiag_budget *b)
{
    mt_words_add(t, "%s%.4g %s parameters", b->about ? "about " : "",
                 b->params / (b->params < 1e9 ? 1e6 : 1e9), b->params < 1e9 ? "M" : "B");
}

bool mt_logdiag_fits_amply(const struct mt_logdiag *d)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    return b->little && d->request == MT_LOG_NONE && d->allocated == MT_LOG_NONE &&
           d->site == NULL && (b->pass > 0 || !b->sized) && d->cause == MT_CAUSE_UNKNOWN &&
           !d->grows;
}

bool mt_logdiag_fits_with_pass(const struct mt_logdiag *d)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    return mt_logdiag_fits_amply(d) && b->pass > 0 &&
           (b->most + b->pass) * AMPLE <= d->model.estimate.card;
}

bool mt_logdiag_is_of_pass(const struct mt_logdiag *d)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    bool full = d->cause == MT_CAUSE_CAPACITY || d->cause == MT_CAUSE_REQUEST;
    return b->most > 0 && full && d->phase != MT_PH_INIT &&
           (b->little || d->allocated != MT_LOG_NONE) && !mt_phase_is(d->sub, MT_IN_OPTIMIZER) &&
           (d->allocated == MT_LOG_NONE || b->most * 2 <= (double)d->allocated);
}

/* "What the model keeps on a card whatever the batch is, 25.83 M parameters x 16 bytes (weights,
 * gradients, Adam's states), is 394.1 MiB at the most, of 14.58 GiB" */
static void say_product(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    char a[32];
    mt_words_add(t, "%sWhat the model keeps on a card whatever the batch is, ",
                 t->n != 0 ? " " : "");
    say_params(t, b);
    mt_words_add(t, " x %.3g bytes", b->each);
    if (b->cards > 1)
        mt_words_add(t, " / %g GPUs", b->cards);
    mt_words_add(t, " (weights%s%s%s), is %s at the most, of %s",
                 b->adapters ? " and adapters" : ", gradients",
                 b->adapters ? ""
                 : b->moved  ? ", the states on the host"
                             : ", Adam's states",
                 b->refers && !b->adapters ? ", a reference model" : "",
                 mt_words_bytes(a, (uint64_t)b->most), MT_BYTES((uint64_t)d->model.estimate.card));
}

void mt_logdiag_say_budget(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const struct mt_logdiag_budget *b = &d->model.budget;
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    char a[32];
    if (!mt_logdiag_fits_amply(d) && !mt_logdiag_is_of_pass(d))
        return;
    if (e->bytes + e->each >= GIB && mt_logdiag_fits_amply(d)) /* the estimate has the product */
        mt_words_add(t, "%sWhat stays%s is %s at the most of the card's %s", t->n != 0 ? " " : "",
                     b->refers ? ", with a reference model," : "",
                     mt_words_bytes(a, (uint64_t)b->most), MT_BYTES((uint64_t)e->card));
    else
        say_product(t, d);
    if (b->gathered > 0)
        mt_words_add(t, ", with all weights gathered");
    if (mt_logdiag_is_of_pass(d)) {
        mt_words_add(
            t, ": the rest is of what a pass makes, which follows the batch and the length%s.",
            d->may_have_engine ? ", or of an engine in the same process" : "");
        return;
    }
    if (mt_logdiag_fits_with_pass(d))
        mt_words_add(t,
                     ", and a pass as long as the settings allow fits beside it: no size that the "
                     "text tells explains a failure. The error's own line");
    else
        mt_words_add(t, ": that is not what fills it. The error's own line");
    mt_words_add(t, ", with its traceback, would say what was asked for and who held the card.");
}

uint32_t mt_logdiag_too_much(const struct mt_logdiag *d)
{
    const struct mt_logdiag_estimate *e = &d->model.estimate;
    const struct mt_logdiag_served *v = &d->model.served;
    uint32_t must = 0;
    if (d->model.beyond > 0 || d->model.is_over_share || (e->card > 0 && v->weights > e->card))
        must |= MT_FIX_ENGINE | 1u << MT_ROLE_PARAM;
    if (e->card > 0 && v->frozen > e->card)
        must |= MT_FIX_STATES | 1u << MT_ROLE_UNSHARDED;
    if (e->card > 0 && (d->model.held > e->card || e->bytes > e->card || e->alone > e->card ||
                        (e->cut > 0 && e->each > e->card)))
        must |= MT_FIX_STATES;
    return must;
}
