/* metrics/leak.h -- the bytes that a leak holds, and an engine, for metrics and savings. */
#ifndef MT_METRICS_LEAK_H
#define MT_METRICS_LEAK_H

#include "analysis/facts/analysis.h"

/* What grew of a role from the first to the last compared step, of the stacks whose growth is
 * certain enough (docs/diagnosis.md, "Growth"). */
double mt_leak_grown(const struct mt_device_analysis *d, enum mt_role role);
/* Where the cause is a leak without growth from step to step: what its counter-factual frees. 0 =
 * it is none of that kind. */
double mt_leak_kept(const struct mt_device_analysis *d);
/* What the rounds of a phase kept one by one, or passes of their graphs, whether or not it is the
 * cause: cause/kept.c, cause/retained.c. */
double mt_kept_in_rounds(const struct mt_device_analysis *d);
/* Whether the failed request is as large as all of that, within an eighth: it joins them. */
bool mt_joins_kept(const struct mt_device_analysis *d);
/* At the focus, the largest block of the weight synchronisation that is no bucket: a whole
 * parameter; the failed request counts too. A bucket is known by its size: `bucket` as it is set,
 * in bytes or MiB (0 = not known), or a power of two. 0 = none. */
double mt_sync_tensor(const struct mt_device_analysis *d, double bucket);
/* KV cache and engine weights at the focus, less what cannot be on a card of this size; *least: the
 * cache of it that is there for certain. Private pools may be unmapped, which only the card's size
 * tells: without it *sure is false. */
double mt_engine_held(const struct mt_device_analysis *d, double *least, bool *sure);

#endif
