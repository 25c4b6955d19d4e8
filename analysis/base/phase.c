#include "analysis/base/phase.h"

#include <string.h>

static const struct {
    const char *id, *words;
} phases[MT_PH_COUNT] = {
#define MT_PHASE(N, i, w, remedies, model, kinds) [MT_PH_##N] = {i, w},
#include "analysis/base/phases.def"
#undef MT_PHASE
};

const uint32_t mt_phase_kinds[MT_PH_COUNT] = {
#define MT_PHASE(N, id, words, remedies, model, kinds) [MT_PH_##N] = (kinds),
#include "analysis/base/phases.def"
#undef MT_PHASE
};

/* Names that other tools and older notes use for the same thing; accepted wherever a phase is named
 * by a person. */
static const struct {
    const char *name;
    enum mt_phase phase;
} aliases[] = {
    {"rollout", MT_PH_ROLLOUT_GENERATE},   {"generation", MT_PH_ROLLOUT_GENERATE},
    {"train_log_probs", MT_PH_LOGP_OLD},   {"update_weights", MT_PH_WEIGHT_SYNC},
    {"weight updates", MT_PH_WEIGHT_SYNC}, {"training", MT_PH_TRAIN},
    {"model initialization", MT_PH_INIT},  {"forward pass", MT_PH_FORWARD},
    {"backward pass", MT_PH_BACKWARD},     {"optimizer step", MT_PH_OPTIMIZER},
    {"NCCL communication", MT_PH_COMM},
};

const char *mt_phase_id(enum mt_phase p) { return (unsigned)p < MT_PH_COUNT ? phases[p].id : "?"; }
const char *mt_phase_words(enum mt_phase p)
{
    return (unsigned)p < MT_PH_COUNT ? phases[p].words : "?";
}

static bool same(const char *name, const char *id, size_t n)
{
    return n != 0 && name[0] == id[0] && strlen(name) == n && memcmp(name, id, n) == 0;
}

int mt_phase_find(const char *id, size_t n)
{
    for (int i = 0; i < MT_PH_COUNT; i++)
        if (same(phases[i].id, id, n))
            return i;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (same(aliases[i].name, id, n))
            return (int)aliases[i].phase;
    return -1;
}

const char *mt_conf_name(enum mt_conf c)
{
    static const char *const names[MT_CONF_COUNT] = {"none", "low", "carried", "inferred",
                                                     "marked"};
    return (unsigned)c < MT_CONF_COUNT ? names[c] : "?";
}
