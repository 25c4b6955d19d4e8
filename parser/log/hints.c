/* log/hints.c -- lines that state nothing of memory, and tell what held the host's where a process
 * was killed: weights that are being loaded, data that are being prepared, an optimizer or objects
 * that live there. */
#include "parser/log/match.h"

#include <string.h>

static const struct {
    enum mt_log_hint hint;
    const char *words, *and; /* and: stands in the line too; NULL = nothing more */
} lines[] = {
    /* transformers/modeling_utils.py, diffusers/pipelines/pipeline_utils.py */
    {MT_LH_LOAD, "Loading checkpoint shards", NULL},
    {MT_LH_LOAD, "Loading safetensors checkpoint shards", NULL},
    {MT_LH_LOAD, "Loading pipeline components", NULL},
    /* transformers/integrations/deepspeed.py, deepspeed/runtime/engine.py */
    {MT_LH_RESUME, "ttempting to resume from", NULL},
    {MT_LH_RESUME, "ZeRO state_dicts for rank", NULL},
    {MT_LH_RESUME, "esuming from ", "heckpoint"},
    /* datasets/arrow_dataset.py, builder.py */
    {MT_LH_DATA, "num_proc=", "%|"},
    {MT_LH_DATA, "Map:", "%|"},
    {MT_LH_DATA, "Tokenizing", "%|"},
    /* deepspeed/ops/op_builder/, csrc/adam/cpu_adam_impl.cpp */
    {MT_LH_OFFLOAD, "cpu_adam", NULL},
    {MT_LH_OFFLOAD, "cpu_adagrad", NULL},
    {MT_LH_OFFLOAD, "DeepSpeedCPUAdam", NULL},
    {MT_LH_OFFLOAD, "Adam Optimizer #", "is created with"},
    /* ray/src/ray/raylet/local_object_manager.cc, plasma */
    {MT_LH_SPILL, "Spilled ", " objects"},
    {MT_LH_SPILL, "object store memory usage", NULL},
    {MT_LH_SPILL, "put() in the object store", NULL},
    /* transformers/image_processing_utils.py, qwen_vl_utils/vision_process.py, verl/protocol.py */
    {MT_LH_IMAGES, "slow image processor", NULL},
    {MT_LH_IMAGES, "qwen_vl_utils", NULL},
    {MT_LH_IMAGES, "qwen-vl-utils", NULL},
    {MT_LH_IMAGES, "multi_modal_", NULL},
    {MT_LH_IMAGES, "pixel_values", NULL},
};

/* A row of ds_report's table, which names what could be built: "cpu_adam ..... [NO] .... [OKAY]".
 */
static bool is_inventory(const char *s)
{
    return strstr(s, "[OKAY]") != NULL || strstr(s, "[NO]") != NULL;
}

/* A bar that is full, of tqdm or of vLLM. */
static bool is_full(const char *s)
{
    return strstr(s, "100%|") != NULL || strstr(s, "100% Completed") != NULL;
}

/* Steps are taken: what was to be loaded or prepared before them is done. */
static bool trains(const char *s)
{
    return strstr(s, "Running training") != NULL || strstr(s, "{'loss': ") != NULL ||
           strstr(s, "lm loss: ") != NULL;
}

void mt_log_hint_line(struct mt_log *l, uint64_t number, const char *s)
{
    if (trains(s)) {
        l->hint[MT_LH_LOAD] = l->hint[MT_LH_RESUME] = l->hint[MT_LH_DATA] = 0;
        return;
    }
    if (is_inventory(s))
        return;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strstr(s, lines[i].words) == NULL ||
            (lines[i].and != NULL && strstr(s, lines[i].and) == NULL))
            continue;
        l->hint[lines[i].hint] = is_full(s) ? 0 : number;
        return;
    }
}
