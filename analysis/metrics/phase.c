/* metrics/phase.c -- what a phase says by itself. */
#include "analysis/metrics/phase.h"

#include <string.h>

int mt_metric_of_phase(enum mt_metric m, enum mt_phase phase, enum mt_phase sub)
{
    switch ((int)m) {
    case MT_METRIC_in_init: return mt_phase_is(phase, MT_SETS_UP);
    case MT_METRIC_in_load: return phase == MT_PH_ROLLOUT_LOAD;
    case MT_METRIC_in_save: return phase == MT_PH_CKPT_SAVE;
    case MT_METRIC_in_resume: return phase == MT_PH_CKPT_LOAD;
    case MT_METRIC_in_rollout: return mt_phase_is(phase, MT_ROLLS_OUT);
    case MT_METRIC_in_logp: return mt_phase_is(phase, MT_FORWARD_ONLY);
    case MT_METRIC_in_infer: return phase == MT_PH_INFER;
    case MT_METRIC_in_training:
        return mt_phase_is(phase, MT_TRAINS) ||
               (phase == MT_PH_UNATTRIBUTED &&
                (mt_phase_is(sub, MT_TRAINS | MT_IN_LOSS) || sub == MT_PH_FORWARD));
    case MT_METRIC_in_weight_sync: return phase == MT_PH_WEIGHT_SYNC;
    case MT_METRIC_in_switch:
        return mt_phase_is(phase, MT_SWITCHES) || mt_phase_is(sub, MT_SWITCHES);
    case MT_METRIC_in_comm: return sub == MT_PH_COMM;
    case MT_METRIC_in_checkpoint: return phase == MT_PH_CKPT_SAVE || phase == MT_PH_EVAL;
    case MT_METRIC_in_kv_alloc: return phase == MT_PH_ROLLOUT_KV_ALLOC;
    case MT_METRIC_in_prefill: return phase == MT_PH_ROLLOUT_PREFILL;
    case MT_METRIC_in_trial: return phase == MT_PH_ROLLOUT_PROFILE;
    case MT_METRIC_in_sampling: return sub == MT_PH_ROLLOUT_SAMPLE;
    case MT_METRIC_in_decode: return phase == MT_PH_ROLLOUT_DECODE;
    case MT_METRIC_in_forward: return mt_phase_is(sub, MT_IN_FORWARD);
    case MT_METRIC_in_loss: return mt_phase_is(sub, MT_IN_LOSS);
    case MT_METRIC_in_backward: return mt_phase_is(sub, MT_IN_BACKWARD);
    case MT_METRIC_in_optimizer: return mt_phase_is(sub, MT_IN_OPTIMIZER);
    default: return -1;
    }
}

/* Of what happens inside a phase. */
static bool asks_inside(enum mt_metric m)
{
    return m == MT_METRIC_in_comm || m == MT_METRIC_in_sampling || m == MT_METRIC_in_forward ||
           m == MT_METRIC_in_loss || m == MT_METRIC_in_backward || m == MT_METRIC_in_optimizer;
}

struct mt_value mt_metric_of_place(const char *name, size_t n, enum mt_phase phase,
                                   enum mt_phase sub)
{
    struct mt_value v = {0, false, MT_CONF_NONE};
    for (int i = 0; i < (int)MT_METRIC_COUNT; i++) {
        const char *known = mt_metric_name((enum mt_metric)i);
        int yes;
        if (strlen(known) != n || memcmp(known, name, n) != 0)
            continue;
        yes = mt_metric_of_phase((enum mt_metric)i, phase, sub);
        /* A traceback tells the phase; that something does not stand in it proves little where it
         * names nothing inside the phase. */
        if (yes == 1 ||
            (yes == 0 &&
             (asks_inside((enum mt_metric)i) ? sub != MT_PH_NONE : phase != MT_PH_UNATTRIBUTED)))
            v = (struct mt_value){yes, true, MT_CONF_INFERRED};
        break;
    }
    return v;
}
