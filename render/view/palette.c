#include "render/view/palette.h"
#include "render/view/view.h"

#include <string.h>

const char *const mt_color_oom = "#e5484d";

/* Chosen by simulating protanopia, deuteranopia and tritanopia (Machado 2009) and keeping the
 * smallest Lab distance of any pair large, with a contrast of at least 1.75 to white and 2.2 to the
 * dark page. */
static const struct {
    const char *hex, *ink;
} colors[MT_COLOR_ALL] = {
    {"#c9ced6", "#000000"}, /* other */
    {"#9aa3ad", "#000000"}, /* unattributed */
    {"#2e44b3", "#ffffff"},
    {"#ff9f41", "#000000"},
    {"#398a5b", "#ffffff"},
    {"#6cb2ff", "#000000"},
    {"#9359fa", "#ffffff"},
    {"#d5c27c", "#000000"},
    {"#704f19", "#ffffff"},
    {"#b263b8", "#000000"},
    {"#584974", "#ffffff"},
    /* for roles alone, each as far from all before it as it can be, and from the red */
    {"#86800c", "#ffffff"},
    {"#883955", "#ffffff"},
    {"#45d7a3", "#000000"},
    {"#6902e3", "#ffffff"},
    {"#bc9ed4", "#000000"},
    {"#7c7fe9", "#000000"},
    {"#c50a91", "#ffffff"},
    {"#b6884e", "#000000"},
    {"#d7618a", "#000000"},
    {"#f1b80e", "#000000"},
    {"#7a9a3a", "#000000"},
    {"#1f66c1", "#ffffff"},
    {"#0e7c86", "#ffffff"},
};

const char *mt_color_hex(unsigned color) { return colors[color < MT_COLOR_ALL ? color : 0].hex; }
const char *mt_color_ink(unsigned color) { return colors[color < MT_COLOR_ALL ? color : 0].ink; }

unsigned mt_role_color(unsigned role)
{
    static const unsigned char color[MT_ROLE_COUNT] = {
        [MT_ROLE_PARAM] = 6,
        [MT_ROLE_GRAD] = 3,
        [MT_ROLE_OPTIM_STATE] = 4,
        [MT_ROLE_ACTIVATION] = 5,
        [MT_ROLE_LOGITS] = 7,
        [MT_ROLE_KV_CACHE] = 2,
        [MT_ROLE_WEIGHT_SYNC] = 8,
        [MT_ROLE_CHECKPOINT] = 9,
        [MT_ROLE_ENGINE_WEIGHTS] = 10,
        [MT_ROLE_TEMP] = 11,
        [MT_ROLE_UNSHARDED] = 12,
        [MT_ROLE_PARAM_CAST] = 13,
        [MT_ROLE_OPTIM_TEMP] = 14,
        [MT_ROLE_GRAD_REDUCE] = 15,
        [MT_ROLE_RECOMPUTE] = 16,
        [MT_ROLE_COMM] = 17,
        [MT_ROLE_WORKSPACE] = 18,
        [MT_ROLE_GRAPH_POOL] = 19,
        [MT_ROLE_OFFLOAD] = 20,
        [MT_ROLE_SHARED] = 21,
        [MT_ROLE_PINNED] = 22,
        [MT_ROLE_DATA] = 23,
        [MT_ROLE_BEFORE] = MT_COLOR_OTHER,
        [MT_ROLE_UNKNOWN] = MT_COLOR_UNATTRIBUTED,
    };
    return role < MT_ROLE_COUNT ? color[role] : MT_COLOR_OTHER;
}

/* Where a phase likes to be: the same colour in every report, as long as nobody heavier has taken
 * it. */
static unsigned preferred(enum mt_phase phase, enum mt_phase sub)
{
    static const struct {
        enum mt_phase phase;
        unsigned char color;
    } table[] = {
        {MT_PH_FORWARD, 5},
        {MT_PH_BACKWARD, 3},
        {MT_PH_OPTIMIZER, 4},
        {MT_PH_RECOMPUTE, 9},
        {MT_PH_LOSS, 7},
        {MT_PH_LOGITS, 7},
        {MT_PH_FSDP_UNSHARD, 10},
        {MT_PH_OPTIM_STATE_INIT, 4},
        {MT_PH_GRAD_REDUCE, 8},
        {MT_PH_INIT, 8},
        {MT_PH_ROLLOUT_LOAD, 10},
        {MT_PH_ROLLOUT_KV_ALLOC, 2},
        {MT_PH_ROLLOUT_GENERATE, 6},
        {MT_PH_ROLLOUT_PREFILL, 6},
        {MT_PH_ROLLOUT_DECODE, 6},
        {MT_PH_LOGP_OLD, 7},
        {MT_PH_LOGP_REF, 9},
        {MT_PH_LOGP, 7},
        {MT_PH_TRAIN, 5},
        {MT_PH_TRAIN_ACTOR, 5},
        {MT_PH_WEIGHT_SYNC, 8},
        {MT_PH_INFER, 6},
    };
    enum mt_phase key = sub != MT_PH_NONE ? sub : phase;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].phase == key)
            return table[i].color;
    return MT_COLOR_OTHER;
}

/* How much of the picture a phase is. */
static uint64_t weight(const struct mt_device_analysis *d, uint32_t row)
{
    const struct mt_timeline *tl = &d->timeline;
    uint64_t w = d->phases.p[row].at_focus;
    return row < tl->n_rows && tl->high[row] > w ? tl->high[row] : w;
}

/* MT_COLOR_OTHER when all are taken. */
static unsigned first_free(const bool taken[MT_COLOR_COUNT])
{
    for (unsigned color = MT_COLOR_FIRST; color < MT_COLOR_COUNT; color++)
        if (!taken[color])
            return color;
    return MT_COLOR_OTHER;
}

static void add_device(struct mt_palette *p, const struct mt_device_analysis *d,
                       bool taken[MT_COLOR_COUNT])
{
    for (unsigned round = 0; round < MT_COLOR_COUNT; round++) {
        uint64_t best_weight = 0;
        const struct mt_phase_row *best = NULL;
        unsigned color;
        for (uint32_t i = 0; i < d->phases.n; i++) {
            const struct mt_phase_row *row = &d->phases.p[i];
            uint64_t w;
            if (p->of[row->phase][row->sub] != MT_COLOR_OTHER)
                continue;
            w = weight(d, i);
            if (w > best_weight) {
                best_weight = w;
                best = row;
            }
        }
        if (best == NULL)
            return;
        color = preferred(best->phase, best->sub);
        if (color == MT_COLOR_OTHER || taken[color])
            color = first_free(taken);
        if (color == MT_COLOR_OTHER)
            return;
        taken[color] = true;
        p->of[best->phase][best->sub] = (uint8_t)color;
    }
}

void mt_palette_build(struct mt_palette *p, const struct mt_report *r)
{
    bool taken[MT_COLOR_COUNT] = {true, true};
    const struct mt_device_analysis *first = mt_diagnosis_device(r->diagnosis);
    memset(p, 0, sizeof *p);
    p->of[MT_PH_UNATTRIBUTED][MT_PH_NONE] = MT_COLOR_UNATTRIBUTED;
    if (first != NULL)
        add_device(p, first, taken);
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t k = 0; !r->diagnosis->ranks.p[i].analysis->is_brief &&
                             k < r->diagnosis->ranks.p[i].analysis->devices.n;
             k++)
            add_device(p, &r->diagnosis->ranks.p[i].analysis->devices.p[k], taken);
}
