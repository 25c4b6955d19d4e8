/* fleet.h -- many ranks as an answer: which are alike, which stand out and by what, who failed
 * first.
 *
 * A row is one device of one rank, whether it was analysed here or is read back from a summary.
 * What is computed depends on the rows alone, never on the order in which they came. Sizes are
 * bytes, times nanoseconds since 1970. Thread-safety: a fleet belongs to one thread. */
#ifndef MT_FLEET_H
#define MT_FLEET_H

#include "analysis/base/roles.h"
#include "parser/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { MT_FLEET_MANY = 16, MT_FLEET_NO_GROUP = -1, MT_FLEET_STEPS = 8 };

struct mt_fleet_row {
    int32_t rank, device; /* -1 = not known */
    char *place;     /* "rank 3, device 0", or a file where no rank is known; owned, as below */
    char *source;    /* the summary that it was read from; NULL = analysed here */
    char *framework; /* NULL = none was seen */
    char *host;      /* the machine, where the input's name says it; NULL = not known */
    char *phase;     /* in words, where it failed; NULL = it did not */
    bool known;      /* live is */
    bool failed;
    bool told; /* a log or the driver says that it failed; nothing was recorded of its memory */
    uint64_t live, reserved; /* at the peak, or without a curve at the dump */
    uint64_t capacity;       /* 0 = not known */
    uint64_t failed_ns;      /* of its first failure; 0 = no clock */
    uint64_t request;        /* that failed; 0 = not known */
    uint64_t first_ns, last_ns;
    uint64_t settings;             /* a hash of the run's settings: equal where these are */
    uint64_t roles[MT_ROLE_COUNT]; /* at the moment that matters */
    /* ends of the last whole steps that were trained, in their order; those that are a guess are
     * not among them */
    uint64_t steps_ns[MT_FLEET_STEPS];
    uint32_t n_steps;
    int32_t group;         /* computed; MT_FLEET_NO_GROUP = its bytes are not known */
    uint32_t clock;        /* computed: the first row that has the same clock: that of its host */
    bool is_aligned;       /* computed: its clock was held against those of others, which it is */
    int64_t ahead_ns;      /* ahead of by this, 0 = as far as can be told by nothing, */
    uint64_t clock_within; /* give or take this */
};
/* By the clock that most rows have. 0 = no clock. */
static inline uint64_t mt_fleet_moment(const struct mt_fleet_row *r, uint64_t ns)
{
    return ns != 0 ? ns - (uint64_t)r->ahead_ns : 0;
}
/* Rows with the same settings whose peaks lie together. */
struct mt_fleet_group {
    uint32_t n;
    uint64_t low, high;
};
/* Farther from the median of the kind it is nearest to than the ranks of that kind are. A kind is
 * a part of the job that is no accident: two ranks and a sixteenth of all, or more, whose peaks
 * follow each other without a gap of 5 %. Stages of a pipeline are kinds, trainers and engines. */
struct mt_fleet_outlier {
    uint32_t row, median;
    int64_t more; /* than that median; negative = less */
    int role;     /* what makes the most of that; -1 = none stands out */
    int64_t role_more;
};
/* How a job divides its work, the ranks that are next to each other first. */
enum mt_fleet_dim {
    MT_FLEET_TENSOR,
    MT_FLEET_CONTEXT,
    MT_FLEET_DATA,
    MT_FLEET_PIPELINE,
    MT_FLEET_DIMS
};
const char *mt_fleet_dim_id(enum mt_fleet_dim dim); /* "tensor", "context", "data", "pipeline" */
/* The ranks that have the same part of one dimension. */
struct mt_fleet_part {
    enum mt_fleet_dim dim;
    uint32_t at, n;
    uint64_t low, median, high;
    uint64_t roles[MT_ROLE_COUNT]; /* a rank's, on average */
};
#define MT_FLEET_MISSING "Missing: " /* how that problem begins */
struct mt_fleet {
    MT_VEC(struct mt_fleet_row) rows;         /* by rank, device, name */
    MT_VEC(struct mt_fleet_group) groups;     /* largest first */
    MT_VEC(struct mt_fleet_outlier) outliers; /* farthest first */
    MT_VEC(uint32_t) failed;                  /* rows, by time; those without a clock last */
    MT_VEC(char *) problems;                  /* sentences; what is wrong with the inputs */
    uint32_t n_known, least, median, most;    /* rows; of no meaning where n_known is 0 */
    uint32_t n_kinds, n_ranks;                /* n_ranks: different numbers */
    uint32_t n_aligned;     /* rows whose clocks were held against others, or are one clock */
    uint64_t clocks_within; /* of those that agree, the least sure one */
    bool several;           /* a rank has several devices */
    uint32_t divided[MT_FLEET_DIMS]; /* by how much, as settings say; 0 = not known */
    bool is_unlike;                  /* they say different sizes */
    /* By dimension, then part; of those that divide anything. Empty where the sizes are not known,
     * or not all of those ranks are here. */
    MT_VEC(struct mt_fleet_part) parts;
};

/* A zeroed fleet is empty. A new row, zeroed but for unknown numbers; NULL = out of memory. */
struct mt_fleet_row *mt_fleet_add(struct mt_fleet *f);
/* A row of which a log or the driver alone tells: that this rank (-1 = it does not say) failed.
 * finish() hands it to the rank's own row where there is one. NULL = out of memory. */
struct mt_fleet_row *mt_fleet_told(struct mt_fleet *f, int32_t rank, int32_t device,
                                   const char *place);
/* Whether a failed before b, else whether it comes first: by rank, device, name. The order of
 * failures. */
bool mt_fleet_before(const struct mt_fleet_row *a, const struct mt_fleet_row *b);
/* A hash of settings: start with 0, add each that is set. */
uint64_t mt_fleet_setting(uint64_t hash, const char *name, const char *value);
/* What is said of a dimension's size, before finish; that of data is what is left, and not asked
 * for. */
void mt_fleet_divide(struct mt_fleet *f, enum mt_fleet_dim dim, uint64_t n);
/* The same by a setting's logical name and value, where it is one of those; NULLs are fine. */
void mt_fleet_divide_by(struct mt_fleet *f, const char *name, const char *value);
/* Once all rows are there. 0 = out of memory. */
int mt_fleet_finish(struct mt_fleet *f);
/* Whether the rows that were read from summaries are of one job, each rank once and none missing:
 * adds to problems. After finish. 0 = out of memory. */
int mt_fleet_check(struct mt_fleet *f);
void mt_fleet_done(struct mt_fleet *f);

/* ---- sort.c, outliers.c: for fleet.c ---- */

struct mt_fleet_keyed {
    uint64_t a, b;
    uint32_t row;
};
void mt_fleet_sort(struct mt_fleet_keyed *k, uint32_t n); /* by a, b, row */
/* live: the known rows' peaks, ascending, n_known of them. 0 = out of memory. */
int mt_fleet_find_outliers(struct mt_fleet *f, const struct mt_fleet_keyed *live);

int mt_fleet_align(struct mt_fleet *f);   /* clocks.c. 0 = out of memory */
int mt_fleet_lay_out(struct mt_fleet *f); /* layout.c: makes parts. 0 = out of memory */

/* ---- order.c, after finish: how sure the order of failures is ---- */

/* By how much two failures have to be apart for their order to be known. 0 = of one clock. */
uint64_t mt_fleet_doubt(const struct mt_fleet_row *a, const struct mt_fleet_row *b);
/* Whether a clock that is off is taken off between them. */
bool mt_fleet_is_moved(const struct mt_fleet_row *a, const struct mt_fleet_row *b);
enum mt_fleet_order {
    MT_FLEET_AS_IT_IS, /* the first by the clocks is the first */
    MT_FLEET_TURNED,   /* by the clocks another one is, and it is known that it was not */
    MT_FLEET_NOT_SURE  /* a clock is off, and the failures are closer than it is known by how far */
};
/* Of failures that all have a time, one or more. by_clock: the row that is first by its own. */
enum mt_fleet_order mt_fleet_order(const struct mt_fleet *f, uint32_t *by_clock);

/* ---- words.c ---- */

/* The answer line by line: what stands out, from where to where, the failures, the groups, the
 * outliers; at most `most` of either list. */
typedef void mt_fleet_line(void *arg, const char *words);
void mt_fleet_say(const struct mt_fleet *f, uint32_t most, mt_fleet_line *line, void *arg);
void mt_fleet_say_layout(const struct mt_fleet *f, mt_fleet_line *line, void *arg); /* layout.c */

/* ---- fleet_saved.c ---- */

struct cJSON;
/* The rows of a report that was read back: those of its `ranks`, else its devices. source: the file
 * it was in, NULL = leave that unsaid. 0 = out of memory. */
int mt_fleet_of_saved(struct mt_fleet *f, const struct cJSON *root, const char *source);

#endif
