/* log/made_of.c -- what the tensor is that did not fit, where its bytes are a product of numbers
 * that settings, the model's name or the line of code tell. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/metrics/metrics.h"
#include "analysis/phases/phases.h"

#define GIB (UINT64_C(1) << 30)
#define LARGE_PART 5          /* of the card: what layers pass on in a backward is rarely as much */
#define LARGE_BLOCK (8 * GIB) /* gradients of four billion parameters in 16 bits */

/* PyTorch rounds large blocks up to 2 MiB, and prints two decimals. */
static bool is_as_large(const struct mt_logdiag *d, double bytes)
{
    double printed = d->request >= GIB ? 0.006 * GIB : 0.01 * (1 << 20);
    return (double)d->request + printed >= bytes &&
           (double)d->request <= bytes + (2 << 20) + printed;
}

static bool fits(struct mt_logdiag *d, enum mt_log_made_of what, double numbers, double slack)
{
    for (unsigned each = 2; each <= 4 && numbers > 0; each += 2) {
        double ratio = (double)d->request / (numbers * each);
        if (slack > 0 ? ratio >= 1 - slack && ratio <= 1 + slack : is_as_large(d, numbers * each)) {
            d->made_of.what = what;
            d->made_of.numbers = numbers;
            d->made_of.each = each;
            return true;
        }
    }
    return false;
}

static bool is_bucket(struct mt_logdiag *d, struct mt_metrics *m)
{
    bool asks = mt_metric_above_0(m, "asks_bucket") > 0;
    if (!(asks || mt_metric_above_0(m, "reduces_in_buckets") > 0))
        return false;
    d->made_of.is_sure = asks;
    if (!fits(d, MT_LOG_OF_BUCKET, mt_metric_above_0(m, "bucket_numbers"), 0) && asks)
        d->made_of.what = MT_LOG_OF_BUCKET; /* how large it is set to is not known */
    return d->made_of.what != MT_LOG_OF_NOTHING;
}

/* Rows of the vocabulary, of as many tokens as the settings allow in one pass, and not of much
 * fewer: what layers pass on is far less for so many tokens. */
static bool is_logits(struct mt_logdiag *d, struct mt_metrics *m)
{
    double vocab = mt_metric_above_0(m, "setting.vocab"),
           most = mt_metric_above_0(m, "tokens_told");
    bool in_pass = mt_phase_is(d->sub, MT_IN_LOSS | MT_IN_BACKWARD);
    if (d->sub == MT_PH_LOGITS || !in_pass || mt_metric_above_0(m, "setting.tp") > 1 ||
        vocab < 16384 || d->request < GIB)
        return false;
    for (unsigned each = 4; each >= 2 && most > 0; each -= 2) {
        double rows = (double)d->request / (vocab * each);
        if (rows > 1.02 * most || rows < most / 4)
            continue;
        d->made_of.what = MT_LOG_OF_LOGITS;
        d->made_of.numbers = rows;
        d->made_of.each = each;
        d->made_of.vocab = vocab;
        return true;
    }
    return false;
}

/* The same where the phase is not told to be in a loss, and the request is such a product to three
 * parts in a thousand: two decimals are printed, and a shift takes one token. */
static bool is_product(struct mt_logdiag *d, struct mt_metrics *m)
{
    double vocab = mt_metric_above_0(m, "setting.vocab"),
           answer = mt_metric_above_0(m, "setting.max_response_len"),
           prompt = mt_metric_above_0(m, "setting.max_prompt_len"),
           batch = mt_metric_above_0(m, "setting.micro_batch");
    double lengths[] = {answer, prompt > 0 && answer > 0 ? prompt + answer : 0,
                        mt_metric_above_0(m, "setting.max_seq_len"),
                        mt_metric_above_0(m, "setting.script_length")};
    bool other = mt_phase_is(d->sub, MT_IN_OPTIMIZER) || d->sub == MT_PH_FORWARD ||
                 !(mt_phase_is(d->phase, MT_TRAINS | MT_LOGP) || d->phase == MT_PH_UNATTRIBUTED);
    batch = batch > 0 ? batch : mt_metric_above_0(m, "setting.script_batch");
    if (other || mt_metric_above_0(m, "setting.tp") > 1 || vocab < 16384 || d->request < GIB ||
        batch <= 0)
        return false;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (unsigned each = 4; each >= 2 && lengths[i] >= 256; each -= 2) {
            double ratio = (double)d->request / (batch * lengths[i] * vocab * each);
            if (ratio < 0.997 || ratio > 1.003)
                continue;
            d->made_of.what = MT_LOG_OF_LOGITS;
            d->made_of.numbers = batch * lengths[i];
            d->made_of.batch = batch;
            d->made_of.length = lengths[i];
            d->made_of.each = each;
            d->made_of.vocab = vocab;
            return true;
        }
    return false;
}

/* Of the loss itself PyTorch makes a tensor that is as large as what it is given. */
static bool is_scores(struct mt_logdiag *d, struct mt_metrics *m)
{
    bool in_loss = mt_metric_above_0(m, "asks_log_softmax") > 0 && d->sub == MT_PH_LOSS;
    if (!in_loss && !(mt_metric_above_0(m, "asks_shifted") > 0))
        return false;
    d->made_of.what = MT_LOG_OF_SCORES;
    d->made_of.vocab =
        mt_metric_above_0(m, "setting.tp") > 1 ? 0 : mt_metric_above_0(m, "setting.vocab");
    return true;
}

static bool has_several(struct mt_metrics *m, const struct mt_log_fact *f)
{
    return f->rank >= 0 || f->gpu > 0 || mt_metric_above_0(m, "runs_several") > 0 ||
           mt_metric_above_0(m, "setting.node_ranks") > 1;
}

/* Scores of all pairs of tokens, for each head: the heads that come out are a number of heads. */
static bool is_attention(struct mt_logdiag *d, struct mt_metrics *m)
{
    double batch = mt_metric_above_0(m, "setting.micro_batch"),
           length = mt_metric_above_0(m, "setting.max_seq_len"),
           told = mt_metric_above_0(m, "setting.heads");
    batch = batch > 0 ? batch : mt_metric_above_0(m, "setting.script_batch");
    length = length > 0 ? length : mt_metric_above_0(m, "setting.script_length");
    if (d->request < GIB || batch <= 0 || length < 1024 || mt_metric_above_0(m, "setting.tp") > 1 ||
        d->phase == MT_PH_INIT || mt_phase_is(d->sub, MT_IN_OPTIMIZER) ||
        mt_metric_above_0(m, "asks_fused") > 0 || mt_metric_above_0(m, "set.flash_attn_flag") > 0)
        return false;
    for (unsigned each = 4; each >= 2; each -= 2) {
        double heads = (double)d->request / (batch * length * length * each);
        double whole = (double)(uint64_t)(heads + 0.5),
               off = heads > whole ? heads - whole : whole - heads;
        bool even = (uint64_t)whole % 4 == 0;
        if (whole < 8 || whole > 128 || off > 0.0005 * whole ||
            (told > 0 ? told < whole || told > whole : !even))
            continue;
        d->made_of.what = MT_LOG_OF_ATTENTION;
        d->made_of.batch = batch;
        d->made_of.heads = whole;
        d->made_of.length = length;
        d->made_of.each = each;
        return true;
    }
    return false;
}

/* A flat copy of all weights in 32 bits, which an optimizer makes as it is set up; of a job that
 * divides it, this card's part. The logits of a small model are as large as its weights: there
 * nothing is said. */
static bool is_flat(struct mt_logdiag *d, struct mt_metrics *m, const struct mt_logdiag_sizes *told)
{
    double params = d->model.budget.params, gpus = mt_metric_above_0(m, "job_gpus");
    bool in_pass = mt_phase_is(d->sub, MT_IN_LOSS | MT_IN_BACKWARD) || d->sub == MT_PH_FORWARD;
    /* the settings have less than all of it trained, or its states on the host */
    if ((d->model.is_set && d->model.states <= 0) || mt_metric_above_0(m, "states_moved") > 0)
        return false;
    if (params < 3e9 || told->less || in_pass || d->sub == MT_PH_LOGITS || d->request < GIB ||
        !(told->trains || mt_phase_is(d->phase, MT_TRAINS) || d->phase == MT_PH_UNATTRIBUTED))
        return false;
    for (int divided = 0; divided < 2; divided++) {
        double parts = divided ? gpus : 1, ratio = (double)d->request * parts / (4 * params);
        if ((divided && gpus < 2) || ratio < 0.95 || ratio > 1.05)
            continue;
        d->made_of.what = MT_LOG_OF_FLAT;
        d->made_of.numbers = (double)d->request * parts / 4;
        d->made_of.parts = parts;
        d->made_of.each = 4;
        return true;
    }
    return false;
}

/* The same of a language model whose size nobody tells: blocks of one size are all that is held,
 * and one more is asked for, outside of a pass. Logits lie beside weights of another size. */
static bool is_flat_again(struct mt_logdiag *d, struct mt_metrics *m,
                          const struct mt_logdiag_sizes *told)
{
    const double least = 8 * GIB;
    bool in_pass = mt_phase_is(d->sub, MT_IN_LOSS | MT_IN_BACKWARD) || d->sub == MT_PH_FORWARD ||
                   d->sub == MT_PH_LOGITS;
    double times = mt_logdiag_times_held(d);
    if (d->model.budget.params > 0 || d->model.is_set || told->less || in_pass || times <= 0 ||
        (double)d->request < least ||
        !(told->method || mt_metric_above_0(m, "said_language") > 0) ||
        mt_metric_above_0(m, "said_pictures") > 0 || mt_metric_above_0(m, "states_moved") > 0 ||
        !(told->trains || mt_phase_is(d->phase, MT_TRAINS)))
        return false;
    d->made_of.what = MT_LOG_OF_FLAT;
    d->made_of.numbers = (double)d->request / 4;
    d->made_of.parts = 1;
    d->made_of.copies = times;
    d->made_of.each = 4;
    return true;
}

/* All weights of the model, or all their gradients, in one piece. */
static bool is_model(struct mt_logdiag *d, struct mt_metrics *m, const struct mt_log_fact *f)
{
    bool back = mt_phase_is(d->sub, MT_IN_BACKWARD);
    if (d->request < GIB || !(back || d->phase == MT_PH_INIT || d->sub == MT_PH_GRAD_REDUCE ||
                              mt_phase_is(d->sub, MT_IN_OPTIMIZER)))
        return false;
    if (d->model.budget.params > 0) /* names round */
        return fits(d, MT_LOG_OF_MODEL, d->model.budget.params, d->model.budget.about ? 0.1 : 0.02);
    if (!back || d->capacity == MT_LOG_NONE || d->request < d->capacity / LARGE_PART ||
        d->request < LARGE_BLOCK || !has_several(m, f))
        return false;
    d->made_of.what = MT_LOG_OF_BLOCK;
    d->made_of.numbers = (double)d->request / 2;
    d->made_of.each = 2;
    return true;
}

void mt_logdiag_made_of(struct mt_logdiag *d, struct mt_metrics *m, const struct mt_log_fact *f,
                        const struct mt_logdiag_sizes *told, bool engine)
{
    if (f->kind != MT_LOG_TORCH_OOM || d->request == MT_LOG_NONE || d->request == MT_LOG_EXA ||
        d->is_rounded)
        return;
    if (!is_bucket(d, m) && !is_product(d, m) && !is_logits(d, m) && !is_scores(d, m) &&
        !is_model(d, m, f) && !is_attention(d, m) && !mt_logdiag_is_of_pairs(d, told) &&
        !is_flat(d, m, told) && !is_flat_again(d, m, told) && !mt_logdiag_is_matrix(d, m, engine))
        return;
    if (d->made_of.what == MT_LOG_OF_BUCKET)
        mt_metrics_set(m, MT_METRIC_is_bucket, 1, MT_CONF_INFERRED);
    else if (d->made_of.what == MT_LOG_OF_ATTENTION)
        mt_metrics_set(m, MT_METRIC_is_attention, 1, MT_CONF_INFERRED);
    else if (d->made_of.what == MT_LOG_OF_FLAT)
        mt_metrics_set(m, MT_METRIC_is_flat, 1, MT_CONF_INFERRED);
    else if (d->made_of.what == MT_LOG_OF_PAIRS)
        mt_metrics_set(m, MT_METRIC_is_pairs, 1, MT_CONF_INFERRED);
    else if (d->made_of.what == MT_LOG_OF_LOGITS)
        mt_metrics_set(m, MT_METRIC_is_logits, 1, MT_CONF_INFERRED);
    else if (d->made_of.what >= MT_LOG_OF_MODEL && mt_phase_is(d->sub, MT_IN_BACKWARD) &&
             has_several(m, f))
        mt_metrics_set(m, MT_METRIC_whole_model, (double)d->request, MT_CONF_INFERRED);
}

void mt_logdiag_say_made_of(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const char *lead = t->n != 0 ? " " : "";
    bool back = mt_phase_is(d->sub, MT_IN_BACKWARD);
    switch (d->made_of.what) {
    case MT_LOG_OF_NOTHING: break;
    case MT_LOG_OF_BUCKET:
        mt_words_add(t, "%s%s the bucket through which gradients are reduced", lead,
                     d->made_of.is_sure ? "It is" : "It is as large as, and most likely is,");
        if (d->made_of.numbers > 0)
            mt_words_add(t, ", %.0f numbers of %u bytes", d->made_of.numbers, d->made_of.each);
        mt_words_add(t, ": it has that size whatever the batch is.");
        break;
    case MT_LOG_OF_LOGITS:
        if (d->made_of.batch > 0) {
            mt_words_add(t,
                         "%s%g x %g tokens x %g words of the vocabulary x %u bytes is the request: "
                         "most likely a copy of all logits%s.",
                         lead, d->made_of.batch, d->made_of.length, d->made_of.vocab,
                         d->made_of.each, back ? ", or their gradient" : "");
            break;
        }
        mt_words_add(t,
                     "%sWith a vocabulary of %.0f and %u bytes a number the request is about %.0f "
                     "tokens, which is within what one pass may have: most likely it is a copy of "
                     "all logits%s.",
                     lead, d->made_of.vocab, d->made_of.each, d->made_of.numbers,
                     back ? ", or their gradient" : "");
        break;
    case MT_LOG_OF_SCORES:
        mt_words_add(t,
                     "%sIt is as large as what the loss is taken of: scores of all classes, for a "
                     "text those of the whole vocabulary for each token",
                     lead);
        if (d->made_of.vocab > 0)
            mt_words_add(t, ", here of about %.0f tokens in 4 bytes or %.0f in 2",
                         (double)d->request / (4 * d->made_of.vocab),
                         (double)d->request / (2 * d->made_of.vocab));
        mt_words_add(t, ".");
        break;
    case MT_LOG_OF_ATTENTION:
        mt_words_add(t,
                     "%s%g x %g heads x %g x %g tokens x %u bytes is the request: most likely the "
                     "scores of an attention that writes them out, which a fused one "
                     "(FlashAttention, xFormers, PyTorch's own) never does.",
                     lead, d->made_of.batch, d->made_of.heads, d->made_of.length, d->made_of.length,
                     d->made_of.each);
        break;
    case MT_LOG_OF_MATRIX:
    case MT_LOG_OF_TOKENS:
    case MT_LOG_OF_SQUARE: mt_logdiag_say_matrix(t, d); break;
    case MT_LOG_OF_PAIRS:
        mt_words_add(t,
                     "%sAbout %.0f x %.0f x %u bytes is the request, a side of the matrix that the "
                     "text names squared: most likely a matrix of all pairs, which half the side "
                     "makes a quarter.",
                     lead, d->made_of.numbers, d->made_of.numbers, d->made_of.each);
        if (d->made_of.copies > 0)
            mt_words_add(t, " PyTorch held %.0f times as much: most likely %.0f more of that size.",
                         d->made_of.copies, d->made_of.copies);
        break;
    case MT_LOG_OF_FLAT:
        mt_words_add(t,
                     "%sIt is about as large as %s of %.2f billion weights in 32 bits%s: most "
                     "likely the flat "
                     "copy that an optimizer makes as it is set up, whatever the batch is. Adam's "
                     "two moments are as much again, each.",
                     lead, d->made_of.parts > 1 ? "one card's part" : "a copy",
                     d->made_of.numbers / 1e9,
                     d->made_of.parts > 1 ? ", divided over the GPUs" : "");
        if (d->made_of.copies > 0)
            mt_words_add(t, " PyTorch held %.0f times as much.", d->made_of.copies);
        break;
    case MT_LOG_OF_MODEL:
        mt_words_add(t,
                     "%sIt is about as large as all %s of the model, %.1f billion numbers of %u "
                     "bytes: %s one piece for the whole model.",
                     lead, back ? "gradients" : "weights", d->made_of.numbers / 1e9,
                     d->made_of.each, d->model.by_name ? "it may be" : "most likely");
        break;
    case MT_LOG_OF_BLOCK:
        mt_words_add(t,
                     "%sOne block of that size in a backward, %.1f billion numbers of %u bytes, "
                     "may be the gradients of a whole model in one piece; then neither the batch "
                     "nor recomputation changes it. Otherwise it grows with the batch.",
                     lead, d->made_of.numbers / 1e9, d->made_of.each);
        break;
    }
}
