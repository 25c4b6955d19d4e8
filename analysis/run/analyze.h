/* run/analyze.h -- from a sealed trace to a diagnosis: replay, phases, roles, peak, OOM state,
 * owners, segments, verdict, cause, audits, advice. */
#ifndef MT_ANALYZE_H
#define MT_ANALYZE_H

#include "analysis/facts/analysis.h"

struct mt_fix_rules;   /* advice/rules.h */
struct mt_phase_rules; /* phases/phases.h */
struct mt_phaser;
struct mt_role_rules; /* roles/rules.h */
struct mt_roles;      /* roles/roles.h */
struct mt_runconf;    /* setup/settings.h */

/* Called for each device at the end of its analysis, while the fate of every block is still there
 * (roles.h; w->fate is NULL where the curve is withheld). attr: per event. 1, or 0 = give up:
 * mt_analyze() then fails with what err says, or as out of memory. */
struct mt_detail_hook {
    int (*f)(void *arg, const struct mt_roles *w, const struct mt_attr *attr, struct mt_phaser *ph,
             const struct mt_device_analysis *o, struct mt_err *err);
    void *arg;
};

/* Told from time to time how many of the events of a device have been worked through. */
struct mt_progress_hook {
    void (*f)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

struct mt_analyze_opts {
    const struct mt_runconf *conf; /* what the run was set to; NULL = not known */
    const struct mt_phase_rules *phases;
    const struct mt_fix_rules *fixes;
    int32_t only_device; /* --device N; -1 = all */
    int framework;       /* forced, -1 = detect */
    uint64_t capacity;   /* --capacity, 0 = unknown */
    bool ignore_annotations;
    const struct mt_role_rules *roles; /* roles/rules.h; NULL = the built-in ones */
    /* after every event: do the bytes of the roles add up to the live bytes? */
    bool verify;
    struct mt_detail_hook detail;     /* f NULL = not wanted */
    struct mt_progress_hook progress; /* likewise */
};

enum mt_rc mt_analyze(struct mt_analysis **out, const struct mt_trace *t,
                      const struct mt_analyze_opts *o, struct mt_err *err);
void mt_analysis_free(struct mt_analysis *a);
/* Frees what it owns, which is empty then; numbers stay. */
void mt_device_analysis_done(struct mt_device_analysis *o);

#endif
