/* phases/mark.h -- what single frames say. Inside the phase engine only. */
#ifndef MT_PHASES_MARK_H
#define MT_PHASES_MARK_H

#include "analysis/phases/impl.h"
#include "analysis/phases/pool.h"

/* What one frame marks: a rule per level, 0 = none. */
struct mt_marks {
    uint16_t c, s, m, role, w, o, k, n, p;
    uint16_t flags;
};
enum {
    MK_PYTHON = 1,
    MK_ENGINE = 2,       /* C++ frame of the autograd engine */
    MK_NAME_FORWARD = 4, /* by its name only, outside PyTorch */
    MK_NAME_BACKWARD = 8,
    MK_MAKE_GRADS = 16,
    MK_LOSS_CALL = 32, /* compute_loss: what it calls belongs to the training step */
    /* PyTorch's wrapper of a function with @no_grad, @inference_mode; of @enable_grad too */
    MK_NO_GRAD = 64,
    MK_BACKWARD_CALL = 128 /* asks for gradients */
};

/* Marks of every frame of the trace: of_frame[i] is an index into `marks`. 1, or 0 = out of memory.
 */
int mt_mark_frames(const struct mt_phaser *p, struct mt_pool *marks, uint16_t *of_frame);
/* phases/lines.c: the same of rules that hold for one line of a function alone. */
int mt_mark_lines(const struct mt_phaser *p, struct mt_pool *marks, uint16_t *of_frame);

#endif
