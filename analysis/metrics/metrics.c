/* metrics.c -- every number is computed once per device; asking for one is a lookup by name. */
#include "analysis/metrics/impl.h"

#include "analysis/facts/cause.h"
#include "analysis/metrics/leak.h"
#include "analysis/metrics/stacks.h"
#include "analysis/metrics/zero.h"
#include "parser/base/text.h"

/* Bytes of an element of the parameters; 0 = not known. */
static double param_bytes(const struct mt_metrics *m)
{
    static const struct {
        const char *word;
        double bytes;
    } types[] = {{"fp32", 4},     {"float32", 4}, {"float", 4},   {"bf16", 2},
                 {"bfloat16", 2}, {"fp16", 2},    {"float16", 2}, {"half", 2}};
    struct mt_runconf_hit hit;
    if (m->conf == NULL || !mt_runconf_find(m->conf, "dtype", &hit) || hit.value == NULL)
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (mt_same_word(hit.value, types[i].word))
            return types[i].bytes;
    }
    return 0;
}

/* ---- the moment that matters ---- */

static void phase_metrics(struct mt_metrics *m, enum mt_phase phase, enum mt_phase sub)
{
    for (int i = 0; i < (int)MT_METRIC_COUNT; i++) {
        int is = mt_metric_of_phase((enum mt_metric)i, phase, sub);
        if (is >= 0)
            yes(m, (enum mt_metric)i, is == 1);
    }
    yes(m, MT_METRIC_engine_failed, false);
    yes(m, MT_METRIC_margin_refused, false);
    yes(m, MT_METRIC_host_shared, false);
    yes(m, MT_METRIC_host_refused, false);
    yes(m, MT_METRIC_own_outside, false);
    yes(m, MT_METRIC_in_float, false);
    yes(m, MT_METRIC_host_pinned, false);
    yes(m, MT_METRIC_host_mapped, false);
    yes(m, MT_METRIC_host_only, false);
    yes(m, MT_METRIC_in_loader, false);
}

static void state_metrics(struct mt_metrics *m, const struct mt_verdict *v)
{
    const struct mt_device_analysis *d = m->d;
    const struct mt_state *f = &d->focus;
    const struct mt_oom *o = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;

    measured(m, MT_METRIC_live, f->live);
    measured(m, MT_METRIC_reserved, f->reserved);
    measured(m, MT_METRIC_reserved_free, f->reserved > f->live ? f->reserved - f->live : 0);
    measured(m, MT_METRIC_pending, f->pending);
    if (d->withheld == NULL)
        measured(m, MT_METRIC_live_peak, d->live_peak);
    if (f->holes_known && o != NULL)
        measured(m, MT_METRIC_free_usable, f->free_usable);
    if (f->holes_known)
        measured(m, MT_METRIC_largest_free, o != NULL ? f->largest_usable : f->largest_free);
    yes(m, MT_METRIC_oom, o != NULL);
    yes(m, MT_METRIC_torch_refused, o != NULL);
    yes(m, MT_METRIC_beyond_card, false);
    yes(m, MT_METRIC_fragmented, v->kind == MT_V_OOM_FRAGMENTATION);
    yes(m, MT_METRIC_named_phase, v->conf == MT_CONF_LOW);
    if (d->capacity != 0)
        measured(m, MT_METRIC_capacity, d->capacity);
    if (o == NULL)
        return;
    if (o->request != 0)
        measured(m, MT_METRIC_request, o->request);
    measured(m, MT_METRIC_state_to_come, d->cause != NULL ? d->cause->state_to_come : 0);
    measured(m, MT_METRIC_pass_to_come, d->cause != NULL ? d->cause->pass_to_come : 0);
    yes(m, MT_METRIC_fits_only_here, d->cause != NULL && d->cause->fits_only_here);
    yes(m, MT_METRIC_left_open, d->cause != NULL && d->cause->left_open);
    yes(m, MT_METRIC_leaps, d->cause != NULL && d->cause->leaps);
    measured(m, MT_METRIC_pass_more, d->cause != NULL ? d->cause->pass_more : 0);
    if (d->cause != NULL && d->cause->before_rest != 0)
        measured(m, MT_METRIC_before_rest, d->cause->before_rest);
    if (d->cause != NULL && d->cause->before_most != 0)
        set(m, MT_METRIC_before_ratio, (double)o->request / (double)d->cause->before_most,
            MT_CONF_MARKED);
    if (d->capacity != 0)
        yes(m, MT_METRIC_beyond_card, o->request > d->capacity);
    if (d->sums_only)
        return;
    if (d->capacity == 0) /* even if others held as much as this process could have had */
        yes(m, MT_METRIC_beyond_card, o->request / 2 > o->device_free + f->reserved);
    measured(m, MT_METRIC_free, o->device_free);
    if (f->holes_known && o->request != 0) {
        uint64_t there = o->device_free + f->free_usable,
                 asked = o->request + (d->cause != NULL ? d->cause->state_to_come : 0);
        measured(m, MT_METRIC_shortfall, asked > there ? asked - there : 0);
    }
    if (d->capacity >= f->reserved && d->capacity - f->reserved >= o->device_free)
        measured(m, MT_METRIC_foreign, d->capacity - f->reserved - o->device_free);
}

/* What the distinct functions of the trace tell. */
static void function_metrics(struct mt_metrics *m, const struct mt_trace *t)
{
    bool cpp = false, npu = false, xpu = false, windows = false;
    yes(m, MT_METRIC_recorded, true);
    if (t == NULL)
        return;
    npu = t->meta.is_npu_table;
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const char *name = mt_str(t, t->functions.p[i].name);
        cpp = cpp || strstr(name, "::") != NULL;
        windows = windows || mt_metric_windows_path(mt_str(t, t->functions.p[i].file));
        npu = npu || strstr(mt_str(t, t->functions.p[i].file), "torch_npu/") != NULL;
        xpu = xpu || strstr(name, "::xpu::") != NULL ||
              strstr(mt_str(t, t->functions.p[i].file), "torch/xpu/") != NULL;
    }
    yes(m, MT_METRIC_arm, mt_metric_arm(t));
    yes(m, MT_METRIC_windows, windows);
    yes(m, MT_METRIC_npu, npu);
    yes(m, MT_METRIC_hip, false);
    yes(m, MT_METRIC_xpu, xpu);
    yes(m, MT_METRIC_jax, false);
    yes(m, MT_METRIC_tensorflow, false);
    yes(m, MT_METRIC_ggml, false);
    yes(m, MT_METRIC_kv_short, false);
    yes(m, MT_METRIC_in_collect, false);
    yes(m, MT_METRIC_host_killed, false);
    yes(m, MT_METRIC_has_cpp_frames, cpp);
}

static bool uses(const struct mt_frameworks *fw, const char *id)
{
    int f = mt_framework_find(fw->rules, id);
    return f > MT_FW_NONE && (fw->engine == f || fw->frames[f] != 0);
}

/* What the bytes at the focus were born in. */
static void birth_metrics(struct mt_metrics *m)
{
    const struct mt_device_analysis *d = m->d;
    uint64_t forward = 0, backward = 0, made = 0;
    bool trains = false;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *r = &d->phases.p[i];
        if (r->sub == MT_PH_BACKWARD || r->sub == MT_PH_GRAD_REDUCE)
            backward += r->at_focus;
        else if (r->sub == MT_PH_FORWARD || r->sub == MT_PH_LOSS || r->sub == MT_PH_LOGITS ||
                 r->sub == MT_PH_RECOMPUTE)
            forward += r->at_focus, made += r->alloc_bytes;
        trains = trains || mt_phase_is(r->phase, MT_TRAINS) || mt_phase_is(r->sub, MT_TRAINS);
    }
    yes(m, MT_METRIC_gradients_dominate, backward > forward);
    /* A job that fails in its first forward has trained nothing yet. Only activations that went
     * without a backward tell. */
    yes(m, MT_METRIC_inference_only,
        !trains && ((!d->focus_is_oom && !d->end_state_only) || made / 4 > forward));
}

static void program_metrics(struct mt_metrics *m, const struct mt_analysis *a)
{
    const struct mt_frameworks *fw = m->fw;
    bool trains = false, sleeps = false;
    measured(m, MT_METRIC_unmatched_frees, m->d->n_unmatched_frees);
    birth_metrics(m);
    for (uint32_t i = 0; i < m->d->phases.n; i++) {
        const struct mt_phase_row *r = &m->d->phases.p[i];
        sleeps = sleeps || r->phase == MT_PH_ROLLOUT_WAKE_SLEEP;
        trains = trains || mt_phase_is(r->sub, MT_TRAINS);
    }
    yes(m, MT_METRIC_uses_fsdp1, (fw->parts & MT_PART_FSDP1) != 0);
    yes(m, MT_METRIC_uses_fsdp2, (fw->parts & MT_PART_FSDP2) != 0);
    yes(m, MT_METRIC_uses_megatron, mt_frameworks_have(fw, MT_PART_CORE));
    yes(m, MT_METRIC_uses_vllm, uses(fw, "vllm"));
    yes(m, MT_METRIC_uses_sglang, uses(fw, "sglang"));
    yes(m, MT_METRIC_first_state,
        m->d->roles.made && m->d->roles.state_before == 0 &&
            m->d->roles.alloc_bytes[MT_ROLE_OPTIM_STATE] != 0);
    yes(m, MT_METRIC_several_gpus, mt_has_several_gpus(a, m->conf));
    yes(m, MT_METRIC_recomputes, (fw->parts & MT_PART_CHECKPOINTING) != 0);
    yes(m, MT_METRIC_trains, trains);
    yes(m, MT_METRIC_untold_pass,
        m->d->focus_is_oom && m->d->ooms.n != 0 && mt_phase_untold(m->d->ooms.p[0].attr));
    yes(m, MT_METRIC_steps_itself, mt_steps_itself(m->d, a->trace));
    yes(m, MT_METRIC_sleeps, sleeps);
}

/* ---- roles ---- */

/* The layout of the model states in each framework (docs/diagnosis.md, "Expected bytes"). */
static void state_layout(struct mt_metrics *m)
{
    double bytes = role(m, MT_ROLE_PARAM) - (double)m->d->roles.second_model,
           optim = role(m, MT_ROLE_OPTIM_STATE), elem = param_bytes(m);
    struct mt_value dp = asked(m, "dp");
    bool megatron = get(m, MT_METRIC_uses_megatron) > 0;
    if (bytes <= 0)
        return;
    set(m, MT_METRIC_optimizer_per_param_byte, optim / bytes, MT_CONF_INFERRED);
    if (elem > 0) {
        set(m, MT_METRIC_params, bytes / elem, MT_CONF_INFERRED);
        set(m, MT_METRIC_optimizer_bytes_per_param, optim * elem / bytes, MT_CONF_INFERRED);
    }
    if (!in(m, MT_METRIC_trains))
        return;
    if (!megatron) { /* gradients and both moments in the type of the parameters */
        set(m, MT_METRIC_expected_grad, bytes, MT_CONF_INFERRED);
        set(m, MT_METRIC_expected_optim, 2 * bytes, MT_CONF_INFERRED);
    } else { /* 16-bit parameters, 32-bit gradients; 32-bit parameters and moments divided over the
                data-parallel ranks */
        set(m, MT_METRIC_expected_grad, 2 * bytes, MT_CONF_INFERRED);
        if (dp.known && dp.v >= 1)
            set(m, MT_METRIC_expected_optim, 6 * bytes / dp.v, MT_CONF_INFERRED);
    }
}

/* What is there more than once. */
static void copy_metrics(struct mt_metrics *m, const struct mt_cause *c)
{
    measured(m, MT_METRIC_weight_copies, c->weight_copies);
    measured(m, MT_METRIC_optim_history, c->history);
    measured(m, MT_METRIC_history_one, c->history_one);
    measured(m, MT_METRIC_made_weights, c->made_weights);
    measured(m, MT_METRIC_weight_terms, c->weight_terms);
    measured(m, MT_METRIC_copies_beside, c->copies_beside);
    measured(m, MT_METRIC_old_state, c->old_state);
    measured(m, MT_METRIC_remade, c->remade);
    measured(m, MT_METRIC_alike, c->alike);
    measured(m, MT_METRIC_regrown, c->regrown);
    measured(m, MT_METRIC_outlived, c->outlived);
    measured(m, MT_METRIC_idle_cache, c->idle_cache);
    measured(m, MT_METRIC_loop_graph, c->maker.loop);
    measured(m, MT_METRIC_loop_rounds, c->maker.rounds);
}

static void use_metrics(struct mt_metrics *m)
{
    const struct mt_role_facts *f = &m->d->roles;
    double engine =
        role(m, MT_ROLE_KV_CACHE) + role(m, MT_ROLE_ENGINE_WEIGHTS) + role(m, MT_ROLE_GRAPH_POOL);
    double training = 0, rollout = 0, slope = 0, grown = 0, graphs = role(m, MT_ROLE_GRAPH_POOL),
           held, least, weights;
    uint64_t segments, in_segments;
    uint32_t n_alone;
    unsigned phase = in(m, MT_METRIC_in_training) ? MT_PH_TRAIN : m->phase;
    bool sure;
    struct mt_value bucket = asked(m, "weight_bucket");
    set(m, MT_METRIC_sync_tensor, mt_sync_tensor(m->d, bucket.known ? bucket.v : 0),
        MT_CONF_MARKED);
    /* models and copies that come anew from step to step are no second model that is used */
    weights = mt_leak_grown(m->d, MT_ROLE_PARAM);
    set(m, MT_METRIC_second_model,
        (double)f->second_model > weights ? (double)f->second_model - weights : 0,
        MT_CONF_INFERRED);
    weights += mt_leak_grown(m->d, MT_ROLE_OPTIM_STATE);
    measured(m, MT_METRIC_earlier_model, f->earlier_model);
    measured(m, MT_METRIC_idle_grads, f->idle_grads);
    measured(m, MT_METRIC_spent_grads, f->spent_grads);
    measured(m, MT_METRIC_lone_state, f->lone_state);
    measured(m, MT_METRIC_recorded_backward, f->recorded);
    measured(m, MT_METRIC_model_copies, f->model_copies);
    measured(m, MT_METRIC_one_copy, f->one_copy);
    set(m, MT_METRIC_grown_cache, (double)f->grown_cache, MT_CONF_INFERRED);
    set(m, MT_METRIC_pass_cache, (double)f->pass_cache, MT_CONF_INFERRED);
    set(m, MT_METRIC_kept_cache, (double)f->kept_cache, MT_CONF_INFERRED);
    set(m, MT_METRIC_ckpt_tensor, (double)f->largest_copy, MT_CONF_MARKED);
    set(m, MT_METRIC_engine, engine, MT_CONF_MARKED);
    segments = mt_graph_segments(m->d, &in_segments);
    if (segments != 0 && f->made)
        graphs = (double)segments + (double)mt_graph_beside(m->d);
    else if (segments != 0)
        graphs =
            (double)segments + (graphs > (double)in_segments ? graphs - (double)in_segments : 0);
    set(m, MT_METRIC_graph_held, graphs, MT_CONF_MARKED);
    measured(m, MT_METRIC_graph_free, segments > in_segments ? segments - in_segments : 0);
    measured(m, MT_METRIC_graphs_apart, mt_graph_apart(m->d, &n_alone));
    measured(m, MT_METRIC_graphs_alone, n_alone);
    measured(m, MT_METRIC_one_unit, m->d->one_unit);
    measured(m, MT_METRIC_kept_gathers, m->d->kept_gathers);
    set(m, MT_METRIC_gathered,
        role(m, MT_ROLE_UNSHARDED) - (double)f->pending_at_focus[MT_ROLE_UNSHARDED],
        MT_CONF_MARKED);
    if (mt_phase_is(phase, MT_OF_ENGINE | MT_NEEDS_NO_ENGINE))
        measured(m, MT_METRIC_useless, mt_useless(phase, f->at_focus));
    for (uint32_t i = 0; i < f->occurrences.n; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        if (mt_phase_is(o->phase, MT_TRAINS) && (double)o->useless > training)
            training = (double)o->useless;
        if (mt_phase_is(o->phase, MT_OF_ENGINE) && (double)o->useless > rollout)
            rollout = (double)o->useless;
    }
    for (uint32_t i = 0; i < f->occurrences.n; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        if (m->d->focus.event >= 0 && o->first <= (uint64_t)m->d->focus.event &&
            (uint64_t)m->d->focus.event <= o->last && o->live_end <= m->d->focus.live)
            measured(m, MT_METRIC_phase_excess, m->d->focus.live - o->live_end);
    }
    for (uint32_t i = 0; i < f->growth.n; i++)
        slope += f->growth.p[i].slope > 0 ? f->growth.p[i].slope : 0;
    if (f->made) {
        set(m, MT_METRIC_useless_training, training, MT_CONF_MARKED);
        set(m, MT_METRIC_useless_rollout, rollout, MT_CONF_MARKED);
        set(m, MT_METRIC_growth, slope, MT_CONF_INFERRED);
        measured(m, MT_METRIC_steps, f->steps.n);
        yes(m, MT_METRIC_steps_guessed, f->steps_are_guessed);
        yes(m, MT_METRIC_keeps_results, m->d->cause != NULL && m->d->cause->keeps_results);
        measured(m, MT_METRIC_last_result, m->d->cause != NULL ? m->d->cause->last_result : 0);
        measured(m, MT_METRIC_rounds_kept, m->d->cause != NULL ? m->d->cause->rounds : 0);
        measured(m, MT_METRIC_rounds_grads, m->d->cause != NULL ? m->d->cause->rounds_grads : 0);
        if (m->d->cause != NULL)
            copy_metrics(m, m->d->cause);
        if (m->d->cause != NULL && m->d->cause->pieces.known) {
            set(m, MT_METRIC_pieces_free, (double)m->d->cause->pieces.frees, MT_CONF_INFERRED);
            set(m, MT_METRIC_pieces_inputs, (double)m->d->cause->pieces.inputs, MT_CONF_INFERRED);
        }
        if (m->d->cause != NULL && m->d->cause->pieces.seen)
            set(m, MT_METRIC_pieces_least, (double)m->d->cause->pieces.least, MT_CONF_INFERRED);
        measured(m, MT_METRIC_held_ahead, m->d->cause != NULL ? m->d->cause->hoard : 0);
        set(m, MT_METRIC_kept_rounds, mt_kept_in_rounds(m->d), MT_CONF_MARKED);
        measured(m, MT_METRIC_kept_casts, m->d->cause != NULL ? m->d->cause->kept_casts : 0);
        measured(m, MT_METRIC_unused_graph, m->d->cause != NULL ? m->d->cause->unused_graph : 0);
        measured(m, MT_METRIC_graph_of_none, m->d->cause != NULL ? m->d->cause->graph_of_none : 0);
        measured(m, MT_METRIC_kept_open, m->d->cause != NULL ? m->d->cause->kept_open : 0);
        measured(m, MT_METRIC_bypassed_graph,
                 m->d->cause != NULL ? m->d->cause->bypassed_graph : 0);
        measured(m, MT_METRIC_retained_graph,
                 m->d->cause != NULL ? m->d->cause->retained_graph : 0);
        measured(m, MT_METRIC_unused_now, m->d->cause != NULL ? m->d->cause->unused_now : 0);
        measured(m, MT_METRIC_skew, m->d->cause != NULL ? m->d->cause->skew : 0);
        yes(m, MT_METRIC_skew_on_first, m->d->cause != NULL && m->d->cause->skew_first);
        measured(m, MT_METRIC_strays, m->d->cause != NULL ? m->d->cause->strays : 0);
        set(m, MT_METRIC_kept, mt_leak_kept(m->d), MT_CONF_MARKED);
        held = mt_engine_held(m->d, &least, &sure);
        set(m, MT_METRIC_engine_held, held, sure ? MT_CONF_MARKED : MT_CONF_LOW);
        set(m, MT_METRIC_engine_least, least, MT_CONF_MARKED);
        for (int r = 0; r < MT_ROLE_COUNT; r++)
            grown += mt_leak_grown(m->d, (enum mt_role)r);
        set(m, MT_METRIC_grown, grown, MT_CONF_MARKED);
        set(m, MT_METRIC_grown_weights, weights, MT_CONF_MARKED);
    }
    if (bucket.known && bucket.v > 0) /* verl counts MiB, the others bytes */
        set(m, MT_METRIC_expected_sync, bucket.v < 1048576 ? bucket.v * 1048576 : bucket.v * 2,
            MT_CONF_INFERRED);
}

enum mt_rc mt_metrics_make(struct mt_metrics **out, const struct mt_analysis *a,
                           const struct mt_device_analysis *d, const struct mt_metric_rules *rules,
                           const struct mt_runconf *conf)
{
    struct mt_metrics *m = mt_calloc(1, sizeof *m + mt_metric_rules_count(rules) * sizeof *m->row);
    uint64_t sum = 0;
    double buckets, scores;
    bool by_kernel;
    *out = m;
    if (m == NULL)
        return MT_ENOMEM;
    m->conf = conf;
    m->rules = rules;
    m->t = a->trace;
    m->d = d;
    m->fw = &a->fw;
    m->phase = (uint8_t)a->verdict.phase;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        sum += d->roles.at_focus[r];
    m->roles = d->roles.made || sum != 0;
    state_metrics(m, &a->verdict);
    phase_metrics(m, a->verdict.phase, a->verdict.sub);
    program_metrics(m, a);
    function_metrics(m, a->trace);
    if (m->roles) {
        mt_metrics_of_work(m, a->trace, a->verdict.phase, a->verdict.sub);
        scores = mt_attention_scores(d, a->trace, &by_kernel);
        set(m, MT_METRIC_attention_scores, by_kernel ? 0 : scores, MT_CONF_INFERRED);
        set(m, MT_METRIC_kernel_scores, by_kernel ? scores : 0, MT_CONF_MARKED);
        set(m, MT_METRIC_grad_bucket, mt_zero_buckets(m->d, a->trace, &buckets), MT_CONF_MARKED);
        set(m, MT_METRIC_grad_buckets, buckets, MT_CONF_MARKED);
        set(m, MT_METRIC_loaded_tensor, mt_loaded_tensor(m->d), MT_CONF_MARKED);
        yes(m, MT_METRIC_rows_statistic, mt_rows_statistic(m->d, a->trace));
        set(m, MT_METRIC_set_up_series, mt_set_up_series(m->d, a->trace), MT_CONF_MARKED);
        set(m, MT_METRIC_stage_outputs, mt_stage_outputs_bytes(m->d, a->trace), MT_CONF_MARKED);
        state_layout(m);
        use_metrics(m);
    }
    return MT_OK;
}

void mt_metrics_free(struct mt_metrics *m) { mt_free(m); }

bool mt_metrics_have_roles(const struct mt_metrics *m) { return m->roles; }

double mt_metrics_grown(const struct mt_metrics *m, enum mt_role role)
{
    return m->roles ? mt_leak_grown(m->d, role) : 0;
}

double mt_metrics_pending(const struct mt_metrics *m, enum mt_role role)
{
    return m->roles ? (double)m->d->roles.pending_at_focus[role] : 0;
}

/* Another moment of the phase may become the highest. At a failed request only that moment counts.
 */
double mt_metrics_peak_saving(const struct mt_metrics *m, const double left[MT_ROLE_COUNT],
                              double saving)
{
    double before, after, all[MT_ROLE_COUNT];
    if (get(m, MT_METRIC_oom) > 0 || m->d->curve.n == 0)
        return saving;
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        all[r] = 1;
    before = mt_role_curve_peak(&m->d->curve, m->phase, all);
    after = mt_role_curve_peak(&m->d->curve, m->phase, left);
    return before - after < saving ? before - after : saving;
}

double mt_metrics_to_come(const struct mt_metrics *m, const double left[MT_ROLE_COUNT])
{
    double sum = 0;
    for (int r = 0; m->d->cause != NULL && r < MT_ROLE_COUNT; r++)
        sum += (double)m->d->cause->to_come[r] * left[r];
    return get(m, MT_METRIC_oom) > 0 ? sum : 0;
}

void mt_metrics_rule(struct mt_metrics *m, struct mt_value current, struct mt_value proposed)
{
    m->value[MT_METRIC_current] = current;
    m->value[MT_METRIC_proposed] = proposed;
}
