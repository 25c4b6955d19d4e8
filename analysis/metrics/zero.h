/* metrics/zero.h -- what DeepSpeed's ZeRO holds beside the model. */
#ifndef MT_METRICS_ZERO_H
#define MT_METRICS_ZERO_H

#include "analysis/facts/analysis.h"

/* Bytes at the focus of the buckets through which ZeRO reduces gradients, and of the failed request
 * where it was for one. Stages 1 and 2 make them in a function of their own; stage 3 makes them
 * first where it makes the rank's part of the gradients next, and moves them back last. *count: how
 * many they are. t may be NULL. */
double mt_zero_buckets(const struct mt_device_analysis *d, const struct mt_trace *t, double *count);

#endif
