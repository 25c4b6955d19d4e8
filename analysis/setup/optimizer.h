/* setup/optimizer.h -- what an optimizer keeps for each parameter: torch.optim, bitsandbytes,
 * torchao, by the settings or the frames. */
#ifndef MT_SETUP_OPTIMIZER_H
#define MT_SETUP_OPTIMIZER_H

#include "analysis/setup/settings.h"

struct mt_optim {
    const char *name;    /* "Adam"; NULL = not known */
    const char *setting; /* as it was written, NULL = by the frames */
    const char *why;     /* why its state cannot be computed; NULL = it can */
    double tensors;      /* as large as the parameter and in its type */
    /* the same for the matrices of the layers, where that differs; else as `tensors` */
    double hidden;
    /* per parameter beside them, whatever its type: 8-bit states with their scales */
    double bytes;
    double kept32; /* bytes for each element of the embedding in place of `bytes`: transformers'
                      Trainer leaves it in 32 bits; 0 = as others */
    bool factored; /* one row and one column of each matrix */
    bool managed;  /* in CUDA managed memory, outside PyTorch's pools */
    bool at_most;
    const char *words; /* what is kept */
};
void mt_optim_make(struct mt_optim *o, const struct mt_trace *t, const struct mt_frameworks *fw,
                   const struct mt_runconf *conf);

#endif
