/* lint.h -- settings that contradict each other, have no effect or do not exist, and circumstances
 * that no setting cures.
 *
 * What is looked for is data (analysis/rules/lint.json, docs/rules.md), and every fix rule whose
 * key was found wrong or without effect. A finding needs evidence: settings of the run, lines of
 * its logs, or what the trace holds; nothing follows from silence except where the whole
 * environment was recorded. */
#ifndef MT_LINT_H
#define MT_LINT_H

#include "analysis/ledger/driver.h"
#include "analysis/log/diagnose.h"
#include "analysis/setup/settings.h"

enum mt_lint_level { MT_LINT_ERROR, MT_LINT_WARNING, MT_LINT_NOTE };
const char *mt_lint_level_name(enum mt_lint_level l); /* "error" ... */

struct mt_lint_finding {
    enum mt_lint_level level;
    /* where: "run.yaml:12, --args"; "" = nowhere in particular */
    const char *id, *sentence, *where, *why, *remedy, *source;
};
struct mt_lint {
    struct mt_arena arena;
    MT_VEC(struct mt_lint_finding) findings; /* errors first, else in the order of the rules */
};

struct mt_lint_in {
    const struct mt_runconf *conf;             /* NULL = nothing is known */
    const struct mt_logs *logs;                /* NULL = none */
    const struct mt_logdiag *logdiag;          /* of them */
    const struct mt_analysis *const *analyses; /* with their traces, by rank */
    uint32_t n_analyses;
    const struct mt_driverdiag *driver; /* NULL = none */
    const struct mt_fix_rules *fixes;
};
enum mt_rc mt_lint_make(struct mt_lint **out, const struct mt_lint_in *in, struct mt_err *err);
/* Only what is of level error; rules: lint.json, as mt_rule_json() reads it. For asking often. */
struct cJSON;
enum mt_rc mt_lint_errors(struct mt_lint **out, const struct cJSON *rules,
                          const struct mt_lint_in *in, struct mt_err *err);
void mt_lint_free(struct mt_lint *l); /* NULL is fine */

/* Recorded processes, three or more of one size, that hold a context on a GPU and nothing else
 * there, at the moment that matters: how many, and their bytes; 0 = none. */
uint32_t mt_bare_contexts(const struct mt_ledger *l, uint64_t *all, uint64_t *largest);

#endif
