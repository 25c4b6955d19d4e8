/* metrics/work.c -- numbers of the work at hand: tokens, sequences, micro-batches, layers. */
#include "analysis/metrics/impl.h"
#include "analysis/facts/cause.h"
#include "analysis/metrics/leak.h"
#include "analysis/metrics/stacks.h"
#include "analysis/roles/roles.h"

/* A pass over tokens, with or without gradients. */
static bool in_pass(const struct mt_metrics *m)
{
    return !in(m, MT_METRIC_in_optimizer) &&
           (in(m, MT_METRIC_in_forward) || in(m, MT_METRIC_in_backward) ||
            in(m, MT_METRIC_in_logp));
}

/* Code that no phase is known of, in a round that has more than those before it, and whose request
 * is larger than theirs in the same place: both go by what runs through it. */
static bool grew_with_round(const struct mt_metrics *m, enum mt_phase phase, enum mt_phase sub)
{
    return phase == MT_PH_UNATTRIBUTED && sub == MT_PH_NONE && m->d->cause != NULL &&
           m->d->cause->pass_more != 0 && has(m, MT_METRIC_before_ratio) &&
           get(m, MT_METRIC_before_ratio) >= 1.5;
}

/* What the pass had added by then grew as the request did, within an eighth, and by half or more:
 * all of it follows the batch, or the length, temporaries too. */
static bool grew_as_one(const struct mt_metrics *m)
{
    double ratio = has(m, MT_METRIC_before_ratio) ? get(m, MT_METRIC_before_ratio) : 0,
           pass = m->d->cause != NULL ? m->d->cause->pass_ratio : 0;
    return !in(m, MT_METRIC_in_optimizer) && ratio >= 1.5 && pass >= ratio * 7 / 8 &&
           pass <= ratio * 9 / 8;
}

/* What the failed request was for, as far as where and how large it was tell. */
static void request_metrics(struct mt_metrics *m, enum mt_phase phase, enum mt_phase sub)
{
    const struct mt_role_facts *f = &m->d->roles;
    double request = has(m, MT_METRIC_request) ? get(m, MT_METRIC_request) : 0;
    bool logits = in(m, MT_METRIC_in_loss), passes = in_pass(m) || grew_with_round(m, phase, sub);
    logits =
        logits || (m->d->ooms.n != 0 && request > 0 &&
                   mt_is_logits_request(f, m->d->ooms.p[0].request, in(m, MT_METRIC_in_backward)));
    if (sub == MT_PH_GRAD_REDUCE || sub == MT_PH_FSDP_UNSHARD ||
        sub == MT_PH_COMM) /* as large as the model or a bucket makes it */
        passes = logits = false;
    if (f->request_role == MT_ROLE_GRAD || mt_joins_kept(m->d) ||
        (m->d->cause != NULL && m->d->cause->asks_copy)) /* as the weight, or the rounds */
        passes = logits = false;
    passes = passes || (in(m, MT_METRIC_in_rollout) && phase != MT_PH_ROLLOUT_KV_ALLOC &&
                        phase != MT_PH_ROLLOUT_GRAPH);
    set(m, MT_METRIC_token_request, passes ? request : 0, MT_CONF_INFERRED);
    set(m, MT_METRIC_logits_request, passes && logits ? request : 0, MT_CONF_INFERRED);
    set(m, MT_METRIC_optim_request,
        in(m, MT_METRIC_in_optimizer) && sub != MT_PH_OPTIM_STATE_INIT ? request : 0,
        MT_CONF_INFERRED);
    set(m, MT_METRIC_grad_request, f->request_role == MT_ROLE_GRAD ? request : 0, MT_CONF_MARKED);
    set(m, MT_METRIC_state_request, f->request_role == MT_ROLE_OPTIM_STATE ? request : 0,
        MT_CONF_MARKED);
    set(m, MT_METRIC_graph_request, phase == MT_PH_ROLLOUT_GRAPH ? request : 0, MT_CONF_INFERRED);
}

static void entropy_metrics(struct mt_metrics *m, const struct mt_trace *t)
{
    const struct mt_device_analysis *d = m->d;
    uint64_t bytes = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if (mt_phase_is(o->attr.phase, MT_TRAINS) && mt_computes_entropy(t, o->stack))
            bytes += o->bytes;
    }
    if (t != NULL && d->focus_is_oom && d->ooms.n != 0 &&
        mt_phase_is(d->ooms.p[0].attr.phase, MT_TRAINS) &&
        mt_computes_entropy(t, d->ooms.p[0].stack))
        bytes += d->ooms.p[0].request;
    set(m, MT_METRIC_entropy_bytes, (double)bytes, MT_CONF_MARKED);
}

/* The activations of the pass at hand are no more than those of one before it. */
static bool keeps_as_before(const struct mt_role_facts *f, int64_t focus)
{
    uint32_t i = focus >= 0 ? mt_micro_at(f, (uint64_t)focus) : UINT32_MAX;
    return i != UINT32_MAX && focus <= (int64_t)f->micros.p[i].last &&
           f->peak_event[MT_ROLE_ACTIVATION] < (int64_t)f->micros.p[i].first;
}

static void grown_apart(struct mt_metrics *m)
{
    double apart = m->d->cause != NULL ? (double)m->d->cause->apart : 0;
    bool grown = has(m, MT_METRIC_before_ratio) && get(m, MT_METRIC_before_ratio) >= 2 &&
                 keeps_as_before(&m->d->roles, m->d->focus.event);
    if (grown)
        apart = get(m, MT_METRIC_token_request) + (in_pass(m) ? role(m, MT_ROLE_TEMP) : 0);
    else if (apart > 0 && has(m, MT_METRIC_before_ratio) && get(m, MT_METRIC_before_ratio) >= 1.5)
        apart += get(m, MT_METRIC_token_request);
    set(m, MT_METRIC_grown_apart, apart, MT_CONF_INFERRED);
}

/* Copies of weights among what a pass holds: as large whatever the batch. */
static double of_weights(const struct mt_metrics *m)
{
    const struct mt_cause *c = m->d->cause;
    return c == NULL ? 0 : (double)c->copies_kept + (in_pass(m) ? (double)c->copies_temp : 0);
}

static void token_metrics(struct mt_metrics *m)
{
    const struct mt_role_facts *f = &m->d->roles;
    double bytes =
               role(m, MT_ROLE_ACTIVATION) + role(m, MT_ROLE_RECOMPUTE) + role(m, MT_ROLE_LOGITS),
           ratio = 0.5;
    if (in_pass(m) || grew_as_one(m))
        bytes += role(m, MT_ROLE_TEMP);
    if (f->largest_activation != 0)
        set(m, MT_METRIC_kept_blocks, role(m, MT_ROLE_ACTIVATION) / (double)f->largest_activation,
            MT_CONF_INFERRED);
    bytes -= mt_metric_get(m, "loss_chunk", 10).v;
    bytes -= mt_kept_in_rounds(m->d); /* with a smaller batch there are more of them */
    bytes -= of_weights(m);
    bytes = bytes > 0 ? bytes : 0;
    if (mt_metric_get(m, "asks_loss_chunk", 15).v > 0)
        set(m, MT_METRIC_token_request, 0, MT_CONF_MARKED);
    set(m, MT_METRIC_token_bytes, bytes, MT_CONF_MARKED);
    set(m, MT_METRIC_left_bytes, m->d->cause != NULL ? (double)m->d->cause->left : 0,
        MT_CONF_INFERRED);
    set(m, MT_METRIC_between_calls, m->d->cause != NULL ? (double)m->d->cause->between_calls : 0,
        MT_CONF_INFERRED);
    set(m, MT_METRIC_named, m->d->cause != NULL ? (double)m->d->cause->named : 0, MT_CONF_INFERRED);
    grown_apart(m);
    if (has(m, MT_METRIC_shortfall)) {
        double request = get(m, MT_METRIC_token_request);
        double more = get(m, MT_METRIC_pass_to_come);
        double lacks = get(m, MT_METRIC_shortfall) + more + 0.05 * get(m, MT_METRIC_live);
        request += more;
        ratio = bytes + request > 0 ? 1 - lacks / (bytes + request) : 0.25;
        ratio = ratio < 0.25 ? 0.25 : ratio > 0.9 ? 0.9 : ratio;
    }
    set(m, MT_METRIC_token_ratio, ratio, MT_CONF_INFERRED);
    if (f->vocab != 0 && f->logits_tokens != 0) {
        double one = (double)f->logits_tokens * (double)f->vocab /
                     (double)(f->vocab_split != 0 ? f->vocab_split : 1);
        measured(m, MT_METRIC_vocab, f->vocab);
        measured(m, MT_METRIC_vocab_split, f->vocab_split != 0 ? f->vocab_split : 1);
        measured(m, MT_METRIC_logits_tokens, f->logits_tokens);
        set(m, MT_METRIC_logits_bytes, one * (double)f->logits_elem, MT_CONF_MARKED);
        set(m, MT_METRIC_logits_fp32, one * 4, MT_CONF_MARKED);
        set(m, MT_METRIC_expected_logits, one * 10, MT_CONF_INFERRED);
        measured(m, MT_METRIC_tokens, f->logits_tokens);
        set(m, MT_METRIC_bytes_per_token, bytes / (double)f->logits_tokens, MT_CONF_INFERRED);
    }
}

/* Sequences that the trace shows one by one. A bound that is set may be less than what the job then
 * has: a conversation of several turns. */
static void sequence_metrics(struct mt_metrics *m)
{
    const struct mt_sequences *s = &m->d->roles.sequences;
    struct mt_value set_to = mt_metric_of_run(m->conf, "longest", 7);
    if (s->longest != 0)
        measured(m, MT_METRIC_longest, s->longest);
    if (set_to.known && (s->longest == 0 || set_to.v > (double)s->longest))
        m->value[MT_METRIC_longest] = set_to;
    if (s->in_micro != 0)
        measured(m, MT_METRIC_sequences, s->in_micro);
    yes(m, MT_METRIC_packed, s->packed);
}

/* A line through (tokens, peak - live before) of training micro-batches, when their sizes differ.
 */
static void fit_metrics(struct mt_metrics *m)
{
    const struct mt_role_facts *f = &m->d->roles;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, least = 0, most = 0, den;
    for (uint32_t i = 0; i < f->micros.n; i++) {
        const struct mt_micro *b = &f->micros.p[i];
        double x = (double)b->tokens_bytes, y;
        if (!b->has_backward || b->tokens_bytes == 0 || b->peak < b->live_begin)
            continue;
        y = (double)(b->peak - b->live_begin);
        least = n == 0 || x < least ? x : least;
        most = x > most ? x : most;
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    set(m, MT_METRIC_micro_batches, n, MT_CONF_INFERRED);
    if (n < 2 || least <= 0)
        return;
    set(m, MT_METRIC_batch_spread, most / least, MT_CONF_INFERRED);
    den = n * sxx - sx * sx;
    if (n < 3 || most < 1.1 * least || den <= 0)
        return;
    den = (n * sxy - sx * sy) / den;
    if (den <= 0)
        return;
    set(m, MT_METRIC_fit_slope, den, MT_CONF_INFERRED);
    set(m, MT_METRIC_fit_bytes, den * most, MT_CONF_INFERRED);
}

/* How often the stacks of most activation bytes repeat: once per layer. */
static void layer_metrics(struct mt_metrics *m)
{
    const struct mt_device_analysis *d = m->d;
    struct mt_value layers = asked(m, "layers"), hidden = asked(m, "hidden");
    double kept = role(m, MT_ROLE_ACTIVATION) / 17;
    uint64_t best = 0, best_bytes = 0;

    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        uint64_t bytes = 0;
        if (o->blocks < 4 || o->attr.sub != MT_PH_FORWARD)
            continue;
        for (uint32_t k = 0; k < d->owners.n; k++) {
            if (d->owners.p[k].blocks == o->blocks && d->owners.p[k].attr.sub == o->attr.sub)
                bytes += d->owners.p[k].bytes;
        }
        if (bytes > best_bytes)
            best = o->blocks, best_bytes = bytes;
    }
    if ((double)best_bytes * 4 <= role(m, MT_ROLE_ACTIVATION))
        best = 0;
    if (best != 0 && in(m, MT_METRIC_oom) && in(m, MT_METRIC_in_forward))
        set(m, MT_METRIC_layers_done, (double)best, MT_CONF_LOW);
    if (layers.known)
        m->value[MT_METRIC_layers] = layers;
    else if (best != 0)
        set(m, MT_METRIC_layers, (double)best, MT_CONF_LOW);
    if (hidden.known)
        m->value[MT_METRIC_hidden] = hidden;
    if (layers.known && hidden.known && has(m, MT_METRIC_tokens)) {
        double done = has(m, MT_METRIC_layers_done) && get(m, MT_METRIC_layers_done) < layers.v
                          ? get(m, MT_METRIC_layers_done)
                          : layers.v;
        kept = 2 * done * hidden.v * get(m, MT_METRIC_tokens);
    }
    set(m, MT_METRIC_layer_inputs, kept,
        layers.known && hidden.known ? MT_CONF_INFERRED : MT_CONF_LOW);
}

void mt_metrics_of_work(struct mt_metrics *m, const struct mt_trace *t, enum mt_phase phase,
                        enum mt_phase sub)
{
    request_metrics(m, phase, sub);
    token_metrics(m);
    entropy_metrics(m, t);
    sequence_metrics(m);
    fit_metrics(m);
    layer_metrics(m);
}
