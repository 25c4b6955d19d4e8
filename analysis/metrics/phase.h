/* metrics/phase.h -- metrics that follow from a phase alone. */
#ifndef MT_METRICS_PHASE_H
#define MT_METRICS_PHASE_H

#include "analysis/metrics/metrics.h"

/* 1 or 0 for the metrics in_*; -1 for any other. */
int mt_metric_of_phase(enum mt_metric m, enum mt_phase phase, enum mt_phase sub);
/* The same by name, of a log's failure, where phase and sub may not be known: then most of them are
 * not either. */
struct mt_value mt_metric_of_place(const char *name, size_t n, enum mt_phase phase,
                                   enum mt_phase sub);

#endif
