/* metrics/impl.h -- what the files that compute a device's numbers share. */
#ifndef MT_METRICS_IMPL_H
#define MT_METRICS_IMPL_H

#include "analysis/metrics/metrics.h"
#include "analysis/metrics/phase.h"
#include "analysis/metrics/rules.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/settings.h"

#include <string.h>

/* A number that the program measures, or a row. */
struct mt_metric_name {
    const char *name;
    uint32_t n;
    int metric, row; /* -1 = it is the other */
};
struct mt_metric_rules {
    struct mt_arena arena;
    MT_VEC(struct mt_metric_row) row;
    MT_VEC(struct mt_metric_name) by_name; /* sorted, once all rows are read */
    MT_VEC(struct mt_expr *) exprs;        /* of the rows, replaced ones too */
};

struct mt_row_value {
    struct mt_value v;
    bool made;
};
struct mt_metrics {
    const struct mt_metric_rules *rules;
    const struct mt_trace *t; /* NULL = not at hand */
    const struct mt_runconf *conf;
    const struct mt_device_analysis *d; /* NULL = its numbers were told */
    const struct mt_frameworks *fw;
    bool roles;
    bool of_failure;  /* of mt_metrics_told(): d is NULL */
    const char *code; /* of a failure: the innermost line of code; NULL = not known */
    uint8_t phase;    /* coarse, of the verdict */
    uint8_t sub;      /* of mt_metrics_told() */
    struct mt_value value[MT_METRIC_COUNT];
    struct mt_row_value row[]; /* by row of `rules` */
};

static inline void set(struct mt_metrics *m, enum mt_metric which, double v, enum mt_conf conf)
{
    m->value[which] = (struct mt_value){v, true, (unsigned char)conf};
}
static inline void measured(struct mt_metrics *m, enum mt_metric which, uint64_t v)
{
    set(m, which, (double)v, MT_CONF_MARKED);
}
static inline void yes(struct mt_metrics *m, enum mt_metric which, bool v)
{
    set(m, which, v, MT_CONF_MARKED);
}
static inline bool has(const struct mt_metrics *m, enum mt_metric which)
{
    return m->value[which].known;
}
static inline double get(const struct mt_metrics *m, enum mt_metric which)
{
    return m->value[which].v;
}

static inline struct mt_value asked(const struct mt_metrics *m, const char *name)
{
    return mt_metric_setting(m->conf, name, strlen(name));
}
static inline bool in(const struct mt_metrics *m, enum mt_metric which)
{
    return get(m, which) > 0;
}
static inline double role(const struct mt_metrics *m, enum mt_role r)
{
    return (double)m->d->roles.at_focus[r];
}
/* enum mt_metric of a name, -1 = none. */
int mt_metric_find(const char *name, size_t n);
/* What a name is, in a step for each half; rules: as loaded. */
struct mt_metric_name mt_metric_named(const struct mt_metric_rules *rules, const char *name,
                                      size_t n);
/* When all rows are read. false = out of memory. */
bool mt_metric_sort(struct mt_metric_rules *rules);
/* A name of that family: "role.", "setting." ... with something behind it. */
bool mt_metric_begins(const char *name, size_t n, const char *family);

/* What a pass over tokens takes: the request that failed, activations and logits by token,
 * sequences, micro-batches, layers. After the numbers of the moment and of the phase. t may be
 * NULL. */
void mt_metrics_of_work(struct mt_metrics *m, const struct mt_trace *t, enum mt_phase phase,
                        enum mt_phase sub);

#endif
