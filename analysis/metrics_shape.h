/* metrics_shape.h -- the model and its division over ranks, as far as the run's settings and the frames of the trace tell: what the expected bytes
 * of docs/diagnosis.md are computed from. Layouts are those of the frameworks' code (FSDP, Megatron-LM's distributed optimizer). */
#ifndef MT_METRICS_SHAPE_H
#define MT_METRICS_SHAPE_H

#include "analysis/framework.h"
#include "analysis/runconf.h"

enum mt_layout {
    MT_LAYOUT_UNKNOWN,
    MT_LAYOUT_SAME,    /* gradients and moments in the type of the parameters (plain PyTorch, DDP, FSDP) */
    MT_LAYOUT_MEGATRON /* 16-bit parameters, 32-bit gradients; 32-bit parameters and moments over the data-parallel ranks */
};

struct mt_run_shape {
    enum mt_layout layout;
    const char *no_layout; /* why it is unknown */
    double elem;           /* bytes of a parameter as it is trained; 0 = not known */
    double params;         /* of the whole model; 0 = not known */
    char no_params[128];   /* why they could not be counted */
    double layers, kv_width, vocab, hidden;
    double tp, pp, rollout_tp;
    double shards; /* over which FSDP, or Megatron's distributed optimizer, divides; 0 = not known */
    bool sharded;  /* FSDP divides the parameters and gradients too */
    double states; /* tensors of state for each parameter, in its type (MT_LAYOUT_SAME); 0 = not known */
    const char *no_states;
    bool lora, on_host; /* only adapters are trained; states stay on the host while training */
};
/* conf may be NULL. */
void mt_run_shape_make(struct mt_run_shape *s, const struct mt_trace *t, const struct mt_frameworks *fw,
                       const struct mt_runconf *conf);
/* A setting as a number, with the framework's default; 0 = not known. */
double mt_run_number(const struct mt_runconf *conf, const char *name);

#endif
