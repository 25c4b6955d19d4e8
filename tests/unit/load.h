/* load.h -- one call from a file to a sealed trace and its analysis, for tests. */
#ifndef MT_TEST_LOAD_H
#define MT_TEST_LOAD_H

#include "analysis/facts/analysis.h"
#include "analysis/run/rules.h"
#include "parser/input/input.h"
#include "analysis/advice/rules.h"
#include "analysis/phases/phases.h"
#include "analysis/run/analyze.h"
#include "frameworks.h"

#include <stdio.h>

static inline struct mt_trace *mt_load(const char *path, enum mt_rc *rc)
{
    struct mt_input_opts opts = {.limits = MT_LIMITS_DEFAULT};
    struct mt_input *in = NULL;
    struct mt_trace *t = NULL;
    struct mt_err err = {.rc = MT_OK};
    *rc = mt_input_open(&in, path, &opts, &err);
    if (*rc >= 0)
        *rc = mt_input_next(in, &t, &err);
    mt_input_close(in);
    if (t == NULL)
        printf("# %s: %s\n", path, err.msg);
    return t;
}

/* The built-in rules. */
static inline bool mt_load_rules(struct mt_rules *r)
{
    struct mt_err err = {.rc = MT_OK};
    if (mt_rules_load(r, NULL, 0, NULL, &err) >= 0)
        return true;
    printf("# rules: %s\n", err.msg);
    return false;
}

static inline struct mt_analysis *mt_analyze_all(const struct mt_trace *t, const struct mt_rules *r,
                                                 bool ignore_annotations)
{
    struct mt_analyze_opts o = {.phases = r->phases,
                                .fixes = r->fixes,
                                .only_device = -1,
                                .framework = -1,
                                .ignore_annotations = ignore_annotations};
    struct mt_analysis *a = NULL;
    struct mt_err err = {.rc = MT_OK};
    if (mt_analyze(&a, t, &o, &err) < 0)
        printf("# analysis: %s\n", err.msg);
    return a;
}

#endif
