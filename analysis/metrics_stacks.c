/* metrics_stacks.c -- what stacks and sizes tell beyond the roles of live blocks. */
#include "analysis/metrics_stacks.h"

#include "analysis/metrics.h"

#include <string.h>

/* Whether a stack goes through a function that computes the entropy. cross_entropy is a loss, and what computes both
 * ("gather_logprobs_entropy") does not tell. */
bool mt_computes_entropy(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const char *name = mt_str(t, t->frames.p[t->stacks.p[s].frame].name);
        if (strstr(name, "entropy") != NULL && strstr(name, "cross_entropy") == NULL && strstr(name, "logprob") == NULL &&
            strstr(name, "log_prob") == NULL)
            return true;
    }
    return false;
}

bool mt_is_loss_chunk(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        if (strcmp(mt_str(t, f->name), "_chunk") == 0 && strstr(mt_str(t, f->file), "trl/trainer/sft_trainer.py") != NULL)
            return true;
    }
    return false;
}

double mt_loss_chunk_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    double bytes = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++)
        bytes += mt_is_loss_chunk(t, d->owners.p[i].stack) ? (double)d->owners.p[i].bytes : 0;
    return bytes;
}

bool mt_is_logits_request(const struct mt_role_facts *f, uint64_t request, bool backward)
{
    enum { MIN_ROWS = 64, ROUNDED = 511 };
    uint64_t row = f->vocab_split != 0 ? f->vocab / f->vocab_split * 2 : f->vocab * 2, rows;
    if (row <= ROUNDED || request % row > ROUNDED)
        return false;
    rows = request / row;
    return rows >= MIN_ROWS && (!backward || rows == f->logits_tokens || rows == f->logits_tokens * 2);
}

bool mt_metric_arm_path(const char *path) { return strstr(path, "aarch64") != NULL || strstr(path, "torch_npu") != NULL; }

/* "C:\\x\\train.py" */
bool mt_metric_windows_path(const char *path)
{
    return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) && path[1] == ':' && path[2] == '\\';
}

bool mt_metric_arm(const struct mt_trace *t)
{
    for (uint32_t i = 0; t != NULL && i < t->functions.n; i++) {
        if (mt_metric_arm_path(mt_str(t, t->functions.p[i].file)))
            return true;
    }
    return false;
}
