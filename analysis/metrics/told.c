/* metrics/told.c -- numbers of a failure without the bytes of a snapshot: what a log, a driver
 * trace or a bare snapshot tells is set, the rest follows from settings, phase and traceback, or is
 * not known. */
#include "analysis/metrics/impl.h"

enum mt_rc mt_metrics_told(struct mt_metrics **out, const struct mt_metric_rules *rules,
                           const struct mt_runconf *conf, const struct mt_trace *t, bool of_failure)
{
    static const enum mt_metric no[] = {MT_METRIC_windows,       MT_METRIC_system_untold,
                                        MT_METRIC_npu,           MT_METRIC_hip,
                                        MT_METRIC_xpu,           MT_METRIC_too_little,
                                        MT_METRIC_host_full,     MT_METRIC_beyond_card,
                                        MT_METRIC_engine_failed, MT_METRIC_host_shared,
                                        MT_METRIC_host_refused,  MT_METRIC_host_pinned,
                                        MT_METRIC_host_mapped,   MT_METRIC_host_only,
                                        MT_METRIC_in_loader,     MT_METRIC_margin_refused,
                                        MT_METRIC_kv_short,      MT_METRIC_in_collect,
                                        MT_METRIC_jax,           MT_METRIC_tensorflow,
                                        MT_METRIC_host_killed,   MT_METRIC_own_outside,
                                        MT_METRIC_in_float,      MT_METRIC_ranks_here,
                                        MT_METRIC_ggml,          MT_METRIC_host_loads,
                                        MT_METRIC_host_data,     MT_METRIC_host_optimizer,
                                        MT_METRIC_host_store,    MT_METRIC_host_images,
                                        MT_METRIC_host_resumes,  MT_METRIC_few_pieces,
                                        MT_METRIC_is_bucket,     MT_METRIC_is_logits,
                                        MT_METRIC_is_attention,  MT_METRIC_is_flat,
                                        MT_METRIC_whole_model,   MT_METRIC_kv_nothing,
                                        MT_METRIC_over_share,    MT_METRIC_host_request,
                                        MT_METRIC_torch_refused, MT_METRIC_is_pairs};
    struct mt_metrics *m = mt_calloc(1, sizeof *m + mt_metric_rules_count(rules) * sizeof *m->row);
    *out = m;
    if (m == NULL)
        return MT_ENOMEM;
    m->rules = rules;
    m->conf = conf;
    m->t = t;
    m->of_failure = of_failure;
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        yes(m, no[i], false);
    yes(m, MT_METRIC_arm, mt_metric_arm(t));
    yes(m, MT_METRIC_recorded, t != NULL && !of_failure);
    set(m, MT_METRIC_token_ratio, 0.5, MT_CONF_INFERRED); /* half of what is set is the next step */
    mt_metrics_place(m, MT_PH_UNATTRIBUTED, MT_PH_NONE);
    return MT_OK;
}

void mt_metrics_place(struct mt_metrics *m, enum mt_phase phase, enum mt_phase sub)
{
    static const enum mt_metric of_coarse[] = {MT_METRIC_in_load, MT_METRIC_in_save,
                                               MT_METRIC_in_resume};
    m->phase = (uint8_t)phase;
    m->sub = (uint8_t)sub;
    for (size_t i = 0; i < sizeof of_coarse / sizeof *of_coarse; i++)
        m->value[of_coarse[i]] =
            (struct mt_value){mt_metric_of_phase(of_coarse[i], phase, sub) == 1,
                              phase != MT_PH_UNATTRIBUTED, MT_CONF_INFERRED};
    for (uint32_t i = 0; i < mt_metric_rules_count(m->rules); i++)
        m->row[i].made = false;
}

void mt_metrics_code(struct mt_metrics *m, const char *code) { m->code = code; }

void mt_metrics_set(struct mt_metrics *m, enum mt_metric which, double v, enum mt_conf conf)
{
    set(m, which, v, conf);
}
