/* setup/layout.h -- the model and its division over ranks, as far as the run's settings and the
 * frames of the trace tell: what the expected bytes of docs/diagnosis.md are computed from. Layouts
 * are those of the frameworks' code: FSDP, Megatron-LM's distributed optimizer
 * (distrib_optimizer.py), DeepSpeed's ZeRO (zero/stage_1_and_2.py, stage3.py). */
#ifndef MT_SETUP_LAYOUT_H
#define MT_SETUP_LAYOUT_H

#include "analysis/setup/model.h"
#include "analysis/setup/optimizer.h"

enum mt_layout {
    MT_LAYOUT_UNKNOWN,
    /* gradients and moments in the type of the parameters (plain PyTorch, DDP, FSDP) */
    MT_LAYOUT_SAME,
    /* 16-bit parameters, 32-bit gradients; 32-bit parameters and moments over the data-parallel
       ranks */
    MT_LAYOUT_MEGATRON,
    MT_LAYOUT_ZERO /* DeepSpeed: 32-bit parameters and states divided; from stage 2 on gradients, in
                      stage 3 parameters too */
};

struct mt_run_shape {
    enum mt_layout layout;
    const char *no_layout; /* why it is unknown */
    double elem;           /* bytes of a parameter as it is trained; 0 = not known */
    double params;         /* of the whole model; 0 = not known */
    double but_vocab;      /* all but those of the vocabulary, where its size is not told; else 0 */
    char no_params[128];   /* why they could not be counted */
    double layers, kv_width, vocab, hidden;
    struct mt_model model;
    struct mt_optim optim;
    double tp, pp, ep, etp, rollout_tp;
    /* over which FSDP, ZeRO, or Megatron's distributed optimizer, divides; 0 = not known */
    double shards;
    double expert_shards; /* the same for routed experts under Megatron */
    bool sharded;         /* the parameters too: FSDP, ZeRO 3 */
    unsigned zero;        /* stage of ZeRO, 0 to 3 */
    double mine,
        /* parameters of this rank by tensor, pipeline and expert parallel, not by shards; 0 = not
           known */
        mine_experts;
    /* of `mine` the matrices of the layers; beside it LoRA's adapters */
    double mine_matrices, mine_adapters;
    const char *no_mine;
    bool has_stage; /* the layers are those of this rank's pipeline stage: */
    double stage, from, to;
    double grad_bytes, state_bytes; /* per parameter: Megatron, ZeRO */
    const char *no_states;          /* why the bytes of the state are not known, beside `optim` */
    /* share of the optimizer that stays on the card while training, 0 to 1; below 0 = not known */
    double kept;
    bool lora; /* only adapters are trained */
    bool params_on_host;
    bool dealt; /* Muon under Megatron: whole tensors are dealt out over the data-parallel ranks */
};
/* conf may be NULL. */
void mt_run_shape_make(struct mt_run_shape *s, const struct mt_trace *t,
                       const struct mt_frameworks *fw, const struct mt_runconf *conf);
/* Ranks of the job; 0 = not among the settings. conf may be NULL. */
double mt_run_world(const struct mt_runconf *conf);
/* The same, also as a launcher was told them. */
double mt_run_ranks(const struct mt_runconf *conf);

#endif
