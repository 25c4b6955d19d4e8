/* metrics/stacks.h -- what stacks and sizes tell beyond the roles of live blocks. */
#ifndef MT_METRICS_STACKS_H
#define MT_METRICS_STACKS_H

#include "analysis/facts/analysis.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/settings.h"

/* The job has more than one GPU: several in the snapshot, a rank in the file's name, a world size,
 * or frames of what spreads a job over them. Evidence only: a job that shows none of it may have
 * more all the same. */
bool mt_has_several_gpus(const struct mt_analysis *a, const struct mt_runconf *conf);

/* The optimizer's step is code of the job's own or of a library, not PyTorch's: by the innermost
 * Python frames of what it made and the request that failed in it. */
bool mt_steps_itself(const struct mt_device_analysis *d, const struct mt_trace *t);

/* The stack goes through a function that computes the entropy. */
bool mt_computes_entropy(const struct mt_trace *t, mt_stack_id s);

/* At the focus, what an attention that is written out keeps of tokens x tokens: blocks of a
 * function named attention that are as large as those of a softmax in it, half or twice that, and
 * their gradients; a failed request of that kind too. 0 = none, or no trace. by_kernel: PyTorch's
 * scaled_dot_product_attention writes them out. */
double mt_attention_scores(const struct mt_device_analysis *d, const struct mt_trace *t,
                           bool *by_kernel);

/* At the failure, tensors as large as the request that the constructor which asks has made and
 * keeps, four or more: a mask for each block, a cache for each layer. 0 = there are none, or a pass
 * asked. */
double mt_set_up_series(const struct mt_device_analysis *d, const struct mt_trace *t);

/* A function that holds a largest tensor at the focus, the request included, computes one result of
 * all rows: what it holds is the data less their mean, and it makes a product; or it takes a
 * covariance. Half of the rows have another one. */
bool mt_rows_statistic(const struct mt_device_analysis *d, const struct mt_trace *t);

/* At the focus, the largest block from an engine's loading of weights. */
double mt_loaded_tensor(const struct mt_device_analysis *d);

/* Logits of earlier micro-batches that the last stage of torch.distributed.pipelining keeps for
 * whoever asked it for outputs, at the focus, and what they are joined into; with the request that
 * failed there. 0 without the trace. */
double mt_stage_outputs_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* A failed request that is whole rows of the vocabulary, in PyTorch's steps of 512 bytes. A
 * gradient of the head or of the embedding is that too, as many rows as a token has numbers: in a
 * backward pass only as many as the logits have count. So it is for a vocabulary with small factors
 * only, less the token of each sequence that a shift costs: a layer's request is whole rows of it
 * too. */
bool mt_is_logits_request(const struct mt_role_facts *f, uint64_t request, bool backward);

#endif
