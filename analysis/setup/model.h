/* setup/model.h -- the parameters of a decoder model, counted from its config.json or Megatron's
 * flags: dense layers, experts, latent attention, LoRA adapters, and which of them a pipeline stage
 * has. Shapes are those of transformers' models and Megatron-LM's arguments. */
#ifndef MT_SETUP_MODEL_H
#define MT_SETUP_MODEL_H

#include "analysis/setup/settings.h"

struct mt_model {
    bool known;        /* all parameters could be counted */
    bool but_vocab;    /* all but those of the vocabulary, whose size is not told */
    char missing[128]; /* else why not */
    /* ", of NAME as the model is called" where the shape is known by that alone; else "" */
    char named[96];
    double layers, hidden, vocab;
    double kv_width; /* 0 = not known, or layers of this model keep different amounts */
    /* values that latent attention (MLA) caches per token and layer; 0 = keys and values are cached
     */
    double latent;
    double embed, head; /* head: 0 when it is the embedding */
    double attention;   /* of a layer, its two norms included */
    double mlp;         /* of a dense layer */
    double shared;      /* of a layer with experts: router and shared experts */
    double experts;     /* of a layer with experts: all routed ones */
    /* so many layers come first and have no experts; all of them where the model has none */
    double first_dense;
    /* rows and columns of all matrices and elements of all vectors: what Adafactor keeps */
    double factors;
    /* layers that predict further tokens, Megatron's, on the last pipeline stage */
    double mtp;
    struct {
        const char *name;
        double in, out;
    } projection[5]; /* of the attention, as its linear layers are named */
    /* widths of the MLPs: dense, of one expert, of the shared ones */
    double inner, width, n_experts, shared_width;
    struct {
        /* of LoRA, in a layer's attention, a dense MLP, an MLP with experts */
        double attention, mlp, moe;
    } adapter;
    const char *no_adapters; /* why they are not known; NULL = they are */
    bool lora;
};
/* megatron: the layers are Megatron-Core's, whose adapters sit on fused projections. */
void mt_model_make(struct mt_model *m, const struct mt_runconf *conf,
                   const struct mt_framework *row, bool megatron);

/* What layers from..to (not included) have. */
struct mt_model_part {
    double dense, experts;
    double vectors;  /* of the dense ones: the layers' norms */
    double adapters; /* beside them: LoRA's */
};
struct mt_model_part mt_model_layers(const struct mt_model *m, double from, double to);
/* What all its MTP layers have: embedding and head are the model's. */
struct mt_model_part mt_model_mtp(const struct mt_model *m);

/* The layers of a pipeline stage: false = not known, and why. */
bool mt_model_stage(const struct mt_model *m, const struct mt_runconf *conf, double stages,
                    double stage, double *from, double *to, const char **why);

#endif
