/* diff.h -- two reports: what the second run takes more or less than the first, and what the first
 * promised of that. All of it is computed from what the reports say (docs/json.md), so that pages
 * and JSON files serve as well as snapshots.
 *
 * The moment that is compared is each report's own: its first failure, else its peak, on the device
 * of its verdict. */
#ifndef MT_COMPARE_DIFF_H
#define MT_COMPARE_DIFF_H

#include "analysis/base/words.h"
#include "analysis/compare/rows.h"
#include "parser/saved/saved.h"

/* One of the two. */
struct mt_diff_side {
    const struct cJSON *root, *device; /* device: NULL = no snapshot is behind its verdict */
    bool has_peak;
    uint64_t peak;    /* live bytes at that moment */
    uint64_t request; /* what was asked for then and not given; 0 = nothing */
    int ran_out;      /* 1, 0, -1 = not known */
    uint32_t n_devices, n_ranks;
};
struct mt_diff_setting {
    const char *name, *key;
    bool in[2];
    const char *value[2]; /* NULL = not known */
};
struct mt_diff_lint {
    const char *id, *level, *sentence;
    bool is_new; /* else gone */
};
/* A setting that was changed and that the first report had a figure for. */
struct mt_diff_promise {
    const char *key, *value; /* as advised, or as tried */
    const char *now;         /* as the second run has it */
    uint64_t bytes, low, high;
};
/* What the first report advised, the second no longer does, and the measured bytes would be: where
 * no setting tells what was changed, as in a script of one's own. */
struct mt_diff_fit {
    const char *id, *title;
    const char *text; /* the first line to type; NULL = there is none */
    uint64_t bytes, low, high;
    bool is_reserved; /* it is the reserved bytes that became less by that */
};
struct mt_diff {
    struct mt_diff_side side[2];
    struct mt_compare_rows roles, phases, owners, ranks;
    struct mt_compare_rows log; /* what the logs say of the failure: keys of log_diagnosis */
    MT_VEC(struct mt_diff_setting) settings;
    MT_VEC(struct mt_diff_lint) lints;
    MT_VEC(struct mt_diff_promise) promises;
    MT_VEC(struct mt_diff_fit) fits; /* only where there are no promises; in the order to try */
    /* what the phase of the first report's moment takes less in the second run; where that
     * allocates nothing in it (is_gone), what the highest of the whole run is less */
    bool is_measured, is_gone;
    int64_t measured;
    int64_t reserved;        /* what the most reserved bytes are less; 0 = not known */
    const char *measured_in; /* the phase */
    MT_VEC(char *) other;    /* what makes it another job: a sentence each */
    bool is_other_program;   /* among it: the framework or the engine */
    bool is_equal;           /* nothing differs */
    struct mt_sentence sentence;
    struct mt_arena strings;
};

/* Both have to outlive d. MT_ENOMEM, else MT_OK; done() in any case. */
enum mt_rc mt_diff_make(struct mt_diff *d, const struct mt_saved *first,
                        const struct mt_saved *second, struct mt_err *err);
void mt_diff_done(struct mt_diff *d);

/* Figures of log_diagnosis that are compared; ends with key NULL. */
extern const struct mt_diff_figure {
    const char *key, *words;
} mt_diff_figures[];

/* What was promised, and what was measured: called by mt_diff_make(), when the settings are known.
 * 0: out of memory. */
int mt_diff_promises(struct mt_diff *d);

/* ---- diff_words.c ---- */

/* Words of a role's id, "KV cache"; the id where it is not known. */
const char *mt_diff_role_words(const char *id);
/* Words of a key of `log`: "free on the device". */
const char *mt_diff_log_words(const char *key);
/* Whether these rows are figures of which one that is missing is not 0: not told. */
static inline bool mt_diff_is_figure(const struct mt_diff *d, const struct mt_compare_rows *r)
{
    return r == &d->log || r == &d->ranks;
}
/* Whether a change is one of `share` thousandths of the first peak, or more. */
bool mt_diff_counts(const struct mt_diff *d, const struct mt_compare_row *r, uint64_t share);
void mt_diff_sentence(struct mt_diff *d);
/* The sentence about what was promised and measured; "" = nothing was. */
void mt_diff_promised(const struct mt_diff *d, struct mt_sentence *out);

#endif
