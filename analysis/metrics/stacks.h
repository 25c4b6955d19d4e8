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

/* The stack goes through a function that computes the entropy. */
bool mt_computes_entropy(const struct mt_trace *t, mt_stack_id s);

/* A loss that takes so many tokens at a time, however many there are: smaller batches or shorter
 * sequences take nothing off a piece. */
bool mt_is_loss_chunk(const struct mt_trace *t, mt_stack_id s);

/* Bytes of such pieces at the focus; 0 without the trace. */
double mt_loss_chunk_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* At the focus, what an attention that is written out keeps of tokens x tokens: blocks of a
 * function named attention that are as large as those of a softmax in it, half or twice that, and
 * their gradients; a failed request of that kind too. 0 = none, or no trace. */
double mt_attention_scores(const struct mt_device_analysis *d, const struct mt_trace *t);

/* SGLang's ReqToTokenPool at the focus: one block that a constructor of its memory pools makes by
 * itself. The caches of the layers have a function of their own, or are several. 0 without the
 * trace. */
double mt_request_table_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* Logits of the tokens of prompts, in vLLM's functions for their log-probabilities: at the focus,
 * with the request that failed there. 0 without the trace. */
double mt_prompt_logits_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* Buffers of vLLM's packed weight transfer at the focus, with the request that failed there;
 * *largest is the largest of them. 0 without the trace. */
double mt_packed_sync_bytes(const struct mt_device_analysis *d, const struct mt_trace *t,
                            double *largest);

/* vLLM's workspace for experts and attention at the focus. 0 without the trace. */
double mt_engine_workspace_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* Of speculative decoding at the focus, by its frames. 0 without the trace. */
double mt_draft_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* At the focus, the largest block from an engine's loading of weights. */
double mt_loaded_tensor(const struct mt_device_analysis *d);

/* Logits of earlier micro-batches that the last stage of torch.distributed.pipelining keeps for
 * whoever asked it for outputs, at the focus, and what they are joined into; with the request that
 * failed there. 0 without the trace. */
double mt_stage_outputs_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* What the Trainer of Transformers joined of an evaluation's outputs so far, at the focus, with the
 * request for the next join that failed there. 0 without the trace. */
double mt_eval_kept_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* What the sampler of vLLM's newer model runner keeps for each sequence that may run, at the focus.
 * 0 without the trace. */
double mt_sampler_state_bytes(const struct mt_device_analysis *d, const struct mt_trace *t);

/* What vLLM's functions take at their highest where a request failed in its sampling or its
 * log-probabilities of prompts, for the rows of logits that they had; else 0. */
double mt_sampler_peak(const struct mt_device_analysis *d, const struct mt_trace *t);

/* A failed request that is whole rows of the vocabulary, in PyTorch's steps of 512 bytes. A
 * gradient of the head or of the embedding is that too, as many rows as a token has numbers: in a
 * backward pass only as many as the logits have count. So it is for a vocabulary with small factors
 * only, less the token of each sequence that a shift costs: a layer's request is whole rows of it
 * too. */
bool mt_is_logits_request(const struct mt_role_facts *f, uint64_t request, bool backward);

/* The program that this metric is about has a frame in the trace: runs_sft ... megatron_fp32. */
bool mt_stack_runs(const struct mt_trace *t, enum mt_metric m);

/* The same by name, for the traceback of a log: what is not in it may run all the same, but for
 * what excludes it. t NULL = not known. */
struct mt_value mt_metric_of_stack(const struct mt_trace *t, const char *name, size_t n);

#endif
