/* analysis.h -- what the analysis of one trace found: peak, OOM state, owners, segments, verdict,
 * advice. run/analyze.h makes it.
 *
 * Everything in struct mt_analysis is owned by it. It refers to the trace by id and never frees it;
 * strings of the trace must stay alive (mt_trace_drop_events() is fine). All sizes are bytes;
 * "live" is requested bytes, allocation to completed free. Thread-safety: const after mt_analyze().
 */
#ifndef MT_ANALYSIS_H
#define MT_ANALYSIS_H

#include "analysis/setup/framework.h"
#include "analysis/base/phase.h"
#include "analysis/facts/role_curve.h"
#include "analysis/facts/role_facts.h"
#include "parser/model/trace.h"

#define MT_MAX_OWNERS 256
#define MT_NO_EVENT INT64_MAX /* no such event; -1 = the state before the first event */
#define MT_NO_LINK                                                                                 \
    INT64_C(-1) /* of a finding: no event of its device is known that it is about                  \
                 */

/* The event that a finding is about. The state before the first event is none. */
static inline int64_t mt_link_event(int64_t event)
{
    return event >= 0 && event != MT_NO_EVENT ? event : MT_NO_LINK;
}

/* What is known of a live block's birth. */
enum mt_birth {
    MT_BIRTH_IN_TRACE,     /* its allocation is in the trace */
    MT_BIRTH_BEFORE_TRACE, /* freed in the trace, allocated before it began: live from the start */
    MT_BIRTH_GHOST,        /* live at the end, no allocation in the trace: live throughout */
    MT_BIRTH_COUNT
};
const char *mt_birth_name(enum mt_birth b); /* "in_trace", "before_trace", "ghost" */

/* Live bytes at one moment that share a readable stack and a phase of birth. Largest first. */
struct mt_owner {
    char *label; /* "models.py:174 update_nodes"; "(no stack recorded)" */
    uint64_t bytes, blocks, largest;
    mt_stack_id stack;    /* full stack of the largest block */
    mt_stack_id forward;  /* and of the forward pass behind it, of a block of the backward pass */
    bool is_named;        /* the label begins with the name that the job gave it */
    struct mt_attr attr;  /* phase of birth of the largest share */
    enum mt_birth birth;  /* of the largest share */
    uint64_t first_event; /* of its earliest block in the trace; UINT64_MAX when all are older */
};

/* What is live of one full stack: an owner is several of these. */
struct mt_stack_share {
    uint64_t bytes, blocks, largest;
    mt_stack_id stack;
    struct mt_attr attr; /* phase of birth of its first block */
};

/* One (phase, sub-phase) pair that occurs on a device. In order of first occurrence. */
struct mt_phase_row {
    enum mt_phase phase, sub;
    uint64_t n_allocs, alloc_bytes, n_occurrences;
    uint64_t first_event, last_event; /* of its allocations */
    uint64_t first_ns, last_ns;       /* 0 = no clock */
    uint64_t peak_inside;             /* highest live bytes of the device while this phase held */
    int64_t peak_inside_event;
    /* born here and still live at the end of its last occurrence */
    uint64_t retained;
    uint64_t at_focus;               /* born here and live at the moment that matters */
    uint64_t by_conf[MT_CONF_COUNT]; /* allocated bytes by confidence */
};

/* State of a device at one event. */
struct mt_state {
    int64_t event;    /* -1 = at the start, MT_NO_EVENT = none */
    uint64_t time_ns; /* 0 = unknown */
    uint64_t live, pending, reserved;
    uint64_t reserved_free;  /* reserved - live: rounding, unsplit rests and holes */
    bool holes_known;        /* the two below could be computed */
    uint64_t largest_free;   /* largest hole in any segment */
    uint64_t largest_usable; /* largest hole in segments of the request's stream and pool */
    uint64_t n_holes, n_segments, n_blocks;
    uint64_t free_usable; /* bytes of holes in segments of the request's stream and pool */
};

struct mt_oom {
    uint64_t event, time_ns;
    /* rounded request; 0 = the entry's size is none that a device could have */
    uint64_t request;
    /* cudaMemGetInfo at that moment, after the allocator had given back its cache */
    uint64_t device_free;
    struct mt_state at;
    mt_stack_id stack;
    mt_stack_id
        forward; /* of the forward pass behind a request of the backward pass; 0 = not said */
    struct mt_attr attr;
    int64_t stream;
    uint64_t n_allocs; /* allocations of the trace before it */
    char *label;       /* readable site of the failing request */
};
/* A program that allocates so often after a failure has gone on: more than an exception makes on
 * its way up. 20 changes none of 387 reports, 500 one. */
enum { MT_GOES_ON = 100 };
/* The i-th failure in the order of events. */
#define MT_OOM_BY_EVENT(d, i)                                                                      \
    (&(d)->ooms.p[(i) == (d)->oom_counts ? 0 : (i) < (d)->oom_counts ? (i) + 1 : (i)])
/* The failure that counts is the first of several. */
#define MT_FIRST_COUNTS(d) ((d)->oom_counts == 0)

/* Segments of one device that serve the same requests, in the end state. */
struct mt_pool_row {
    uint64_t pool[2];
    int64_t stream;
    bool pool_known, is_large, is_expandable;
    uint64_t n_segments, reserved, active, requested, free, largest_free, n_free_blocks;
    /* requested bytes of active blocks: active - this = rounding and unsplit rests */
    uint64_t active_requested;
    /* who fills it, by the majority of its blocks' stacks: "KV-cache allocation"; "" = unknown */
    char *label;
};
struct mt_pool_rows {
    struct mt_pool_row *p;
    uint32_t n, cap;
};

/* The curve, in columns. Each shows the state at the column's highest instant, so that no peak can
 * hide between two. */
#define MT_TL_COLUMNS 480
#define MT_TL_ROWS 64
struct mt_timeline {
    bool has_time;      /* x is time, else event number */
    uint64_t x0, x1;    /* ns or event numbers */
    uint32_t n_columns; /* <= MT_TL_COLUMNS */
    /* Rows of mt_device_analysis.phases by index, the last one the overflow when > 63: the most
     * bytes that a row holds in any column. */
    uint32_t n_rows;
    uint64_t high[MT_TL_ROWS];
    /* Live bytes by role, of the roles that some column holds: n_columns * n_roles. NULL where no
     * roles were made. */
    uint8_t n_roles, role[MT_ROLE_COUNT];
    uint64_t *live;
    uint32_t *at;       /* n_columns: the event after which it is highest */
    uint64_t *total;    /* n_columns: their sum = live at the highest instant */
    uint64_t *low;      /* n_columns: lowest live */
    uint64_t *reserved; /* n_columns: highest reserved */
    uint64_t *pending;  /* n_columns: pending-free bytes at the highest instant */
    uint64_t *events;   /* n_columns: events in the column */
    /* n_columns, of columns by event: ns of the first event of each, and of its last, which may be
     * that of the next one's first. NULL where not all have a time, or the clock goes back. */
    struct mt_column_time {
        uint64_t first, last;
    } * when;
    /* n_columns: index of the row that held most of the column's events; 255 = none */
    uint8_t *phase;
};

/* The first x that belongs to column col: ceil(col * span / n_columns). */
static inline uint64_t mt_column_start(const struct mt_timeline *tl, uint32_t col)
{
    uint64_t span = tl->x1 - tl->x0 + 1;
    uint64_t q = span / tl->n_columns, rest = span % tl->n_columns;
    return tl->x0 + q * col + (rest * col + tl->n_columns - 1) / tl->n_columns;
}

struct mt_cause;    /* cause.h */
struct mt_audits;   /* audit.h */
struct mt_expected; /* expected/expected.h */

struct mt_device_analysis {
    uint32_t device; /* index in mt_trace.devices */
    int32_t ordinal;
    enum mt_device_kind kind;
    /* what was reserved is a sum: no segment is known, nor what was free on the device */
    bool sums_only;
    uint64_t n_events;
    uint64_t first_ns, last_ns; /* 0 = no clock */
    /* why there is no curve (the start would be negative ...); NULL = there is one */
    char *withheld;
    uint64_t live_start, live_peak, live_end;
    int64_t peak_event; /* -1 = at the start */
    uint64_t peak_ns;
    uint64_t reserved_start, reserved_peak, reserved_end;
    uint64_t pending_start, pending_peak, pending_end;
    uint64_t birth_blocks[MT_BIRTH_COUNT], birth_bytes[MT_BIRTH_COUNT];
    uint64_t n_unmatched_frees;     /* frees whose allocation is not in the trace */
    uint64_t n_double_allocs;       /* allocations of an address that was still live: lost frees */
    uint64_t alloc_bytes, n_allocs; /* over the trace */
    /* allocated bytes (of the focus when nothing was allocated) by confidence */
    uint64_t by_conf[MT_CONF_COUNT];
    uint64_t unattributed_bytes; /* of those: neither phase nor sub-phase known */
    /* requests that failed: first the one that counts, the others in their order. That is the
     * first, or a later one where the program had gone on after those before */
    MT_VEC(struct mt_oom) ooms;
    uint32_t oom_counts; /* its place in the order of events */
    /* requests that failed inside an operation which did without: of a library's workspace */
    uint64_t n_tries, largest_try;
    struct mt_state focus;     /* the moment that matters: the failure that counts, else the peak */
    struct mt_attr focus_attr; /* of the event at the focus */
    bool focus_is_oom;
    /* at the focus: blocks, and what their sizes lack to whole steps of the allocator; the address
     * of the event, 0 = none */
    uint64_t n_at_focus, focus_rounded, focus_addr;
    mt_stack_id focus_stack; /* of its event; the events may be let go of before the verdict */
    /* at the end state: block sizes - requested, over active blocks */
    uint64_t rounding_loss;
    MT_VEC(struct mt_owner) owners;         /* at the focus: the MT_MAX_OWNERS largest */
    MT_VEC(struct mt_stack_share) by_stack; /* at the focus, of every stack */
    /* how many owners there are, and what those beyond the list hold */
    uint64_t n_owners_all, owners_rest_bytes;
    MT_VEC(struct mt_phase_row) phases;
    struct mt_pool_rows pools;    /* at the dump */
    struct mt_pool_rows pools_at; /* at the focus; empty where segments could not be laid out */
    struct mt_timeline timeline;
    /* the same with one step per event, where timeline is by time; else empty */
    struct mt_timeline by_event;
    uint64_t capacity;          /* bytes, 0 = unknown; never guessed */
    uint64_t not_capacity;      /* what was given as such and cannot be it; 0 = nothing */
    struct mt_role_curve curve; /* bytes by role over the trace */
    struct mt_role_facts roles; /* what the bytes are for, steps, growth */
    struct mt_cause *cause;     /* why memory ran out, or that nothing is wrong */
    struct mt_audits *audits;   /* checks of the subjects that occur */
    uint64_t
        one_unit; /* gathered at once where the whole model is one unit of FSDP; 0 = it is not */
    uint64_t kept_gathers; /* gathered parameters that stay when their layer is done; 0 = none do */
    struct mt_expected *expected; /* bytes of roles by shape and settings */
    /* no allocation in the trace: the numbers are of the state at the dump */
    bool end_state_only;
};

/* No curve, and no segment to tell the state at the dump: zeros are no numbers then. */
static inline bool mt_state_unknown(const struct mt_device_analysis *d)
{
    return d->withheld != NULL && d->live_end == 0 && d->reserved_end == 0;
}

/* The recording knows blocks and nothing of what holds them: of the host, of a timeline. */
static inline bool mt_reserved_unknown(const struct mt_device_analysis *d)
{
    return d->withheld == NULL && d->reserved_peak == 0 && d->live_peak != 0;
}

enum mt_verdict_kind {
    MT_V_OOM_CAPACITY,
    MT_V_OOM_FRAGMENTATION,
    MT_V_OOM_LIMIT, /* the device had room: a per-process memory fraction, or another limit */
    /* an OOM whose cause cannot be told: the curve is withheld, or the size of the request is not
       known */
    MT_V_OOM,
    MT_V_PEAK,      /* no OOM in the trace */
    MT_V_END_STATE, /* no history: the state at the dump */
    MT_V_EMPTY      /* nothing was live and nothing happened */
};
const char *mt_verdict_kind_name(enum mt_verdict_kind k); /* "oom_capacity" ... */
bool mt_verdict_is_oom(enum mt_verdict_kind k);

struct mt_verdict {
    enum mt_verdict_kind kind;
    uint32_t device; /* index in mt_analysis.devices */
    uint32_t oom;    /* index in that device's ooms when the kind is an OOM */
    enum mt_phase phase, sub;
    enum mt_conf conf;
    /* number of the event that it is about, on that device: the first OOM, else the peak;
     * MT_NO_LINK = none */
    int64_t event;
    char *sentence; /* one sentence, plain text; names inside it come from the input */
    /* one more: the numbers that decide fragmentation against capacity; "" when there is none */
    char *because;
};

/* How sure a saving is: rules state it, and what is computed without one. */
enum mt_fix_conf { MT_FIX_HIGH, MT_FIX_MEDIUM, MT_FIX_LOW };
const char *mt_fix_conf_name(enum mt_fix_conf c); /* "high" ... */

/* Bytes that a change takes off the moment that matters. */
struct mt_saving {
    bool known; /* false: cannot be computed from this trace, or by nature */
    enum mt_fix_conf conf;
    uint64_t bytes, low, high; /* of the need: live, the request, what was to come after it */
    uint64_t later;            /* of bytes, what had not been asked for when it failed */
    /* low, bytes, high at the focus itself, before another moment becomes the highest */
    double alone[3];
    double to_come; /* after the failed request, at most; below 0 = it does not bound that */
};

/* What to change: advice/rules.h. */
struct mt_fix_rule;
struct mt_fix_card;
struct mt_fix_saving;

/* A line of a card that has several numbers, with its own as it is to be typed. */
struct mt_typed {
    uint32_t line;
    char *key, *value, *text; /* key begins the memory of all three */
    double from, to;
    bool from_known, to_known;
};
struct mt_advice {
    const struct mt_fix_rule *rule;
    /* the rule's own card or the variant for this phase: title, why, lines to type, cost */
    const struct mt_fix_card *card;
    /* bit i: card->set[i] applies to this framework, phase and role */
    uint64_t lines;
    uint64_t cautions; /* bit i: card->set[i].caution is said */
    /* bit i: card->set[i] has evidence of its own and is on by default, so that it is no advice */
    uint64_t contradicted;
    bool is_top; /* one of the three settings to change first */
    bool in_row; /* stands in order.json for this class */
    struct mt_saving saving;
    const struct mt_fix_saving *saving_of; /* what computed it; NULL = nothing */
    const char *only_if; /* what that hangs on and nothing here tells, "the batch is ..."; NULL */
    /* "actor.mb_spec.max_tokens_per_mb: 16384 (run.yaml:7)"; NULL = not known */
    char *current;
    bool by_default; /* that is the framework's default, which the run does not set */
    /* a line with its computed number or its newer key, as it is typed; NULL = none */
    char *proposed;
    char *proposed_key, *proposed_value; /* of it, in the same memory */
    uint32_t proposed_line;              /* the line of card->set that it stands for */
    bool any_phase;                      /* the phase is not known: it holds in any */
    bool
        is_late; /* behind all else: all it types is the default, or it keeps few pieces together */
    /* said of any job, beside what the program itself has, or of memory that the text does not
     * show: not on top */
    bool is_filler;
    bool is_weak;           /* nothing proves it here: it helps most jobs */
    struct mt_typed *typed; /* of other lines */
    uint32_t n_typed;
    bool made_it;    /* its setting is what made the request that failed as large as it is */
    bool fits_known; /* below is known: a request failed and the saving has a figure */
    /* what that request, and what is known to have come after it, would lack with the low end of
     * this alone; 0 = enough, also without the holes that are smaller than the request */
    uint64_t lacking;
    uint32_t parts;   /* where that is not enough: into how many parts the work has to go; 0 = not
                         known */
    bool left_open;   /* more may have come after it, and nothing shows how much */
    bool is_probable; /* with its estimate it would not lack anything */
    bool is_narrow;   /* lacks something only if holes help nothing and the driver rounds up */
};

/* What would fit a failure or peak and is nothing to type: why. */
enum mt_settled_why {
    MT_SETTLED_NOT,
    MT_SETTLED_FLOOR,   /* the number cannot go further that way */
    MT_SETTLED_SET,     /* the run has it already */
    MT_SETTLED_FINDING, /* the run has it already, and the trace shows what it should prevent */
    MT_SETTLED_CLASH    /* the framework refuses it beside what is set */
};
struct mt_settled {
    const struct mt_fix_rule *rule;
    const struct mt_fix_card *card;
    enum mt_settled_why why;
    char *current; /* as in struct mt_advice; NULL = not known */
};

/* What is advised on one failure or peak, in the order to try. */
struct mt_settled_list {
    struct mt_settled *p;
    uint32_t n, cap;
};
struct mt_advice_list {
    struct mt_advice *p;
    uint32_t n, cap;
    struct mt_settled_list settled; /* of rules that stand first for the phase */
};
void mt_advice_done(struct mt_advice *a); /* frees its texts */
void mt_advice_list_done(struct mt_advice_list *list);

/* What the settings to change first do together; what two of them shrink is not counted twice. */
struct mt_combined {
    struct mt_saving saving;
    uint32_t n;            /* settings that were counted */
    bool fits_known, fits; /* whether the failed request would have fitted */
    uint64_t needed;       /* live at the moment that matters, and the failed request */
    char *sentence;        /* "" when nothing can be said; NULL before mt_advise() */
};

/* What one may tick, the settings to change first before others that have a figure, and what every
 * set of them does: with[s] is that of those i whose bit is in s. */
enum { MT_CHOICES = 4 };
struct mt_outcome {
    uint64_t low, bytes, high; /* saved at the moment that matters */
    uint64_t beside;           /* of bytes, what was not live: cache, memory of others */
    uint64_t lacking;          /* what the failed request would lack; 0 = it fits */
    bool fits_known, is_sure;  /* a request failed; it fits even if each frees the least it may */
};
struct mt_choices {
    uint32_t n, n_first, of[MT_CHOICES]; /* in mt_analysis.advice; the first ones are top */
    uint64_t needed;                     /* as in struct mt_combined */
    struct mt_outcome with[1u << MT_CHOICES];
};

struct mt_analysis {
    const struct mt_trace *trace;
    struct mt_frameworks fw;
    MT_VEC(struct mt_device_analysis) devices;
    struct mt_verdict verdict;
    struct mt_advice_list advice;
    struct mt_combined combined; /* of those that are top */
    struct mt_choices choices;
    uint64_t annotation_checked,
        /* allocations inside Optimizer.step ranges, and those that frames call optimizer */
        annotation_agreed;
    bool is_brief; /* most of it was given back: run/brief.h says what is left */
};

#endif
