/* Names of who holds device memory. */
#include "analysis/ledger/driver.h"

static const struct {
    const char *id, *words;
} holders[MT_HOLD_COUNT] = {
    [MT_HOLD_TORCH] = {"torch", "PyTorch"},
    [MT_HOLD_ENGINE] = {"engine", "engine pools"},
    [MT_HOLD_NCCL] = {"nccl", "NCCL"},
    [MT_HOLD_MATH] = {"math", "math libraries"},
    [MT_HOLD_GRAPHS] = {"graphs", "CUDA graphs"},
    [MT_HOLD_CONTEXT] = {"context", "contexts and modules"},
    [MT_HOLD_LIBRARY] = {"library", "other libraries"},
    [MT_HOLD_UNKNOWN] = {"unknown", "calls without a stack"},
    [MT_HOLD_OTHER] = {"other", "other processes"},
    [MT_HOLD_UNEXPLAINED] = {"unexplained", "unexplained"},
};
const char *mt_holder_id(enum mt_holder h)
{
    return (unsigned)h < MT_HOLD_COUNT ? holders[h].id : "?";
}
const char *mt_holder_words(enum mt_holder h)
{
    return (unsigned)h < MT_HOLD_COUNT ? holders[h].words : "?";
}
