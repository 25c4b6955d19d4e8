/* log/diagnose.h -- the diagnosis that logs alone allow, and what they settle beside a snapshot.
 *
 * A log says how much was asked for and who held the card, as one process printed it; it does not
 * say which tensors, and it names the pools that were free only as a sum. So causes read from it
 * have a confidence of their own, and nothing is claimed that the line does not say. Sizes are
 * bytes; MT_LOG_NONE where a line does not have them. Thread-safety: const after mt_logdiag_make().
 */
#ifndef MT_LOG_DIAGNOSE_H
#define MT_LOG_DIAGNOSE_H

#include "analysis/facts/analysis.h"
#include "analysis/facts/cause.h"
#include "analysis/log/facts.h"
#include "parser/log/log.h"

struct mt_phase_rules;
struct mt_log_file {
    char *name;
    char *problem; /* why it ends early; NULL = it was read to its end */
    struct mt_log log;
};
struct mt_logs {
    const struct mt_framework_rules *rules; /* that they are read by; NULL = none is known */
    const struct mt_phase_rules *phases;    /* the same, for what a job says that it is at */
    MT_VEC(struct mt_log_file) files;       /* in the order they were given */
};
void mt_logs_done(struct mt_logs *l);
uint64_t mt_logs_facts(const struct mt_logs *l);
/* Size of the GPU, when every line that names one names the same (a few MiB apart, as rounded print
 * is); 0 = not said or different. gpu -1 = any. */
uint64_t mt_logs_capacity(const struct mt_logs *l, int32_t gpu);

uint64_t mt_logs_count(const struct mt_logs *l, enum mt_log_kind kind);
bool mt_logs_have(const struct mt_logs *l, enum mt_log_kind kind);
/* What the engine's share lacks for weights and trial run alone, before any KV cache: vLLM prints
 * it as a negative size. MT_LOG_NONE where no line says it. */
uint64_t mt_logs_kv_short(const struct mt_logs *l);
/* The newest PyTorch that it can be, as 100 x major + minor: by the newest version that a log
 * names, or by the form of its failures' lines. 0 = not told. */
uint32_t mt_logs_torch(const struct mt_logs *l);
/* Expandable segments do not exist here: PyTorch warns of it, or is older than 2.1. */
bool mt_logs_no_expandable(const struct mt_logs *l);
/* log/choose.c: a line says that the host ran out of memory: not of what it shares or pins, and no
 * kill alone. */
bool mt_logs_host_ran_out(const struct mt_logs *l);
/* What tells that another log is of another job than the log `of`: files of two frameworks of
 * reinforcement learning (slime and Relax count as one), or cards of two sizes. */
struct mt_logs_clash {
    uint32_t file;            /* the first such log */
    const char *here, *there; /* the frameworks; NULL = it is the sizes */
    uint64_t size_here, size_there;
};
bool mt_logs_other_job(const struct mt_logs *l, uint32_t of, struct mt_logs_clash *out);
/* The framework of reinforcement learning whose files the lines name most often; -1 = none. */
int mt_logs_framework(const struct mt_logs *l);
/* The engine whose files tracebacks name, whatever else runs; -1 = none. */
int mt_logs_engine(const struct mt_logs *l);
/* The program whose processes messages name, not prefixes: of Ray's table, of who died or was
 * killed. Forks keep such names, so settings say more. -1 = none. */
int mt_logs_named(const struct mt_logs *l);

/* log/told.c: the program that a text names in words; -1 = it names none. */
int mt_logs_told(const struct mt_logs *l);
/* Whether a text that somebody wrote has that word, in small letters, and does not deny it: for
 * mt_runconf.says, which is handed the logs. */
bool mt_logs_say(const void *logs, const char *word);
/* log/trials.c: somebody says of it that it is on already, was tried, or that the program refuses
 * it. pattern: in small letters, a blank for '_' and '-', '*' for any words of the same sentence.
 */
bool mt_logs_tried(const void *logs, const char *pattern);
/* The same, of what somebody says is to stay as it is, or refuses to help. */
bool mt_logs_kept(const void *logs, const char *pattern);

/* Whose memory an error of CUDA was about that says no more than "out of memory". */
enum mt_log_whose {
    MT_WHOSE_UNTOLD,
    MT_WHOSE_TENSOR, /* a tensor's: the line is of PyTorch before 1.0 */
    /* a tensor's in such a PyTorch, which nothing rules out: the line computes, or moves one to the
       card */
    MT_WHOSE_OLD_WORDS,
    MT_WHOSE_MOVED,
    MT_WHOSE_OTHERS /* this process had nothing on the card yet */
};

/* log/made_of.c: what the tensor is that did not fit. */
enum mt_log_made_of {
    MT_LOG_OF_NOTHING, /* nothing tells */
    MT_LOG_OF_BUCKET,  /* gradients, to be reduced */
    MT_LOG_OF_LOGITS,
    MT_LOG_OF_SCORES,    /* as large as what a loss is given, however large that is */
    MT_LOG_OF_ATTENTION, /* scores of an attention that writes them out: tokens x tokens */
    MT_LOG_OF_MATRIX,    /* one matrix of the model, or its gradient or state */
    MT_LOG_OF_SQUARE,    /* all pairs of what the length counts */
    MT_LOG_OF_PAIRS,     /* all pairs along a side of a matrix that the text names */
    MT_LOG_OF_TOKENS,    /* the MLP's width for each token of a pass */
    MT_LOG_OF_FLAT,      /* a flat copy of its weights, whole or this card's part */
    MT_LOG_OF_MODEL,     /* all its weights or gradients, as many as settings or its name tell */
    MT_LOG_OF_BLOCK      /* the same, where only its size in a backward tells */
};

/* What a training keeps on every card, as a product; bytes 0 = a factor is not known. And the
 * logits of its longest pass; batch 0 = not known. */
struct mt_logdiag_estimate {
    double params, whole, divided, cards, bytes;
    double cut;   /* Megatron: tensor times pipeline parallel; 0 = it is not that */
    double alone; /* bytes where how many cards there are is not told; 0 = it is */
    bool mixed;   /* they cannot all be in 16 bits */
    double each;  /* of every card that has all of it; 0 = what divides it is known, in bytes */
    double batch, length, vocab;
    double
        card; /* bytes of the card, by the line or by the name that the text has; 0 = not known */
};

/* What the model takes of a card where it only runs; 0 = not known, or it does not. */
struct mt_logdiag_served {
    double params, cards;
    double weights;        /* bytes on each card */
    double layers, width;  /* numbers that one token keeps in each layer, undivided */
    double token;          /* bytes of one token's keys and values on each card */
    bool may_be_wide;      /* nothing says that they are in 16 bits */
    double frozen;         /* bytes below adapters that are trained, on each card */
    double bits, parts;    /* of each of these weights; cards that divide them */
    double copy;           /* bytes of an engine's own weights on a card of the trainer's */
    double batch, answer;  /* sequences at once, and tokens of an answer */
    unsigned each;         /* bytes of a number of the weights that run, and of keys and values */
    double longest, share; /* of an engine: tokens of a sequence; its part of the card */
};

/* log/budget.c: what of a model lies on one card whatever the batch is, as a bound. */
struct mt_logdiag_budget {
    double params;   /* of the whole model; 0 = not known */
    double share;    /* of all of them, what is trained beside adapters; 0 = not told */
    bool about;      /* a name or a round number tells them */
    bool part;       /* they are those of the model's largest part: there are more */
    double each;     /* bytes of each of them that stay, at the most, undivided */
    double cards;    /* that divide them for certain; 1 = none do */
    double most;     /* bytes on one card; 0 = no bound is known */
    double gathered; /* of them: whole weights that stay gathered between the passes */
    double pass;     /* bytes that one pass makes at the most; 0 = not known */
    bool sized;      /* the text speaks of what a pass takes */
    bool trains, refers, adapters, moved; /* a reference model is in it; states are on the host */
    bool little; /* that is a third of the card at the most: a pass makes what fills it */
};

struct mt_logdiag {
    bool tried_batch, tried_length; /* a smaller batch, a smaller input were tried, or cannot be */
    bool growth_told;               /* somebody says that what grows is the cause */
    bool pieces_told;               /* somebody says that free memory in pieces is the cause */
    bool grows;                     /* nothing failed: somebody says that memory grows */
    enum mt_cause_kind cause; /* NONE = no failure in the logs; UNKNOWN = no line has its numbers */
    const char *confidence;   /* "high", "medium", "low", "none" */
    /* the line it is about; undefined when the cause is NONE and there is no fact */
    uint32_t file, fact;
    uint32_t other_file,
        /* has_other: the first line of the host's memory where this one is of the GPU's, or the
           reverse */
        other;
    bool has_other, both; /* both: and it did run out, no mere kill */
    char *sentence, *because;
    char *site; /* "models.py:181 update_nodes" of the failure's traceback; NULL = it has none */
    /* the script that ran: of the outermost frame, or of the line that started it; "" = not said */
    char program[48];
    bool serves;              /* the commands start an engine alone: a server */
    enum mt_phase phase, sub; /* of the failure, where its traceback or the lines before it tell */
    /* index + 1 of the line that begins what the failure was in, and which no line ends; 0 = none
     */
    uint32_t begun;
    /* the line in which the job says what it is at, where the phase is of that alone; 0 = it is not
     */
    uint64_t step;
    bool asks; /* nothing failed, and the advice is for what comes behind a short text's lines */
    uint64_t said; /* the line whose words alone tell the phase; 0 = it is not told so */
    bool said_job; /* and they say what the job does, not where it failed */
    /* what it came right after, by the words of that line; MT_PH_NONE = none say so */
    enum mt_phase after;
    uint64_t after_line;
    bool tells; /* where nothing failed: the sentence says who was on a card, or what was counted */
    bool cut; /* the phase is read from the inner end of a traceback, or from what stands for one */
    const char *by_name; /* the function whose name alone tells it; NULL = it is no such name */
    /* lines that say memory ran out, the same sentence printed again included */
    uint64_t n_failures;
    uint64_t n_distinct;  /* of them, not repeated */
    const char *engine;   /* the inference engine of the job, in words; NULL = none is told */
    bool engine_failed;   /* and the failure is in its own code */
    bool may_have_engine; /* an engine is seen or told of, or the program is one that has one */
    bool uncured;   /* the pieces are the cause, and nothing that keeps them together is offered */
    bool never_ran; /* a worker of Ray died before its actor ran */
    bool traced;    /* another one stands above it, without a traceback */
    bool passed_over; /* the line is PyTorch's; another library failed before it, and went on */
    /* From the sentence of PyTorch, as far as it goes. */
    uint64_t request, capacity, free, allocated, reserved, unallocated, private_pools, allowed;
    uint64_t this_process, outside; /* outside: of this process, outside PyTorch */
    /* no line has a number: those above are a person's words (log/amounts.c), and so is what was in
     * use of the card; is_rounded: the request is not as precise as PyTorch prints it */
    bool by_words, is_rounded;
    bool rest_by_words; /* the line has the request alone: the others are from lines beside it */
    uint64_t used;
    /* other processes that are named, or what remains when all else is taken off the capacity */
    uint64_t others;
    uint64_t kv_short; /* mt_logs_kv_short() */
    /* of the card, where processes are named: neither free nor theirs nor this one's */
    uint64_t unnamed;
    uint32_t n_others; /* processes that are named */
    /* PyTorch counts more than the card has, and: the driver keeps the rest in the host's memory;
     * or an engine's sleep unmapped it, which PyTorch does not see. Neither = not known. */
    bool is_spilled, is_asleep;
    bool others_named;
    uint32_t n_alike;  /* of them, those that hold about as much as this one */
    bool are_ranks;    /* and the log or the settings show several ranks: n_alike are such */
    bool are_siblings; /* their numbers follow each other: of one launch */
    bool own_guessed;  /* this process is one of several that it may be: nothing names it */
    /* FOREIGN, and the line does not tell others' memory from this process's own outside PyTorch */
    bool is_untold;
    int64_t mate; /* one of those that writes into the log as well: of the same job; 0 = none */
    enum mt_log_whose whose;
    bool no_expandable;    /* mt_logs_no_expandable() */
    bool hints_expandable; /* a failure advises to set expandable_segments */
    /* log/model.c: parameters of the model that the settings tell, and what each card has of it in
     * training, with gradients and the optimizer's state; 0 = not known */
    struct {
        double params, states;
        bool by_name;   /* params: nine tenths of what the model's name says */
        bool by_words;  /* params: as many billions as a person's text says */
        bool is_set;    /* settings are at hand: a person's words are not asked for the states */
        double on_card; /* weights of an engine on each of its cards */
        bool is_over_share; /* the engine holds more than its share: weights */
        double beyond;      /* the same of an engine on each of its cards, where one has less */
        bool in_float;      /* the engine is told to take them in 32 bits */
        double held;        /* of all models that are trained, where it is half of a card or more */
        struct mt_logdiag_estimate estimate;
        struct mt_logdiag_served served;
        struct mt_logdiag_budget budget;
    } model;
    double vocab;  /* of the logits that were asked for, whole; 0 = not known */
    bool in_float; /* what was asked for is their copy in 32 bits */
    struct {
        enum mt_log_made_of what;
        /* of them each has so many bytes; of logits: tokens; of a matrix: rows, and length is the
           columns; 0 = not known */
        double numbers;
        const char *rows, *columns; /* whose width that is */
        double vocab;
        double batch, heads, length; /* of attention; batch, length: of logits, 0 = not known */
        double parts;                /* of a flat copy: cards that divide it */
        double copies;               /* of it, held; 0 = that is not known */
        unsigned each;
        bool is_sure;
    } made_of;
};

struct mt_logdiag_opts {
    const struct mt_fix_rules *fixes;
    const struct mt_phase_rules *phases; /* for tracebacks; NULL = they are not looked at */
    int framework;                       /* that is known, -1 = not */
    const struct mt_runconf *conf;       /* for conditions about settings; NULL = not known */
};
/* logs must stay alive. advice: gets what may be advised on the failure. MT_OK or MT_ENOMEM. */
enum mt_rc mt_logdiag_make(struct mt_logdiag **out, const struct mt_logs *logs,
                           const struct mt_logdiag_opts *o, struct mt_advice_list *advice,
                           struct mt_err *err);
void mt_logdiag_free(struct mt_logdiag *d); /* NULL is fine */
/* The cause in a few words; of one that the line does not prove, what it does prove. */
const char *mt_logdiag_headline(const struct mt_logdiag *d);

/* ---- among log/diagnose.c, log/choose.c, log/sentence.c and log/advise.c ---- */

struct mt_metrics;
#define MT_LOG_ROUNDED                                                                             \
    (UINT64_C(32) << 20) /* sizes of one thing in two lines may differ by their printed decimals   \
                          */
static inline uint64_t mt_log_or_zero(uint64_t v) { return v == MT_LOG_NONE ? 0 : v; }
static inline uint64_t mt_log_minus(uint64_t a, uint64_t b)
{
    return a == MT_LOG_NONE || b == MT_LOG_NONE || b > a ? MT_LOG_NONE : a - b;
}
#define MT_LOG_MUCH_OUTSIDE (UINT64_C(2) << 30) /* beyond a context: worth a sentence */
#define MT_LOG_LARGE_BLOCK                                                                         \
    (UINT64_C(4) << 30) /* above it Intel's driver refuses unless told otherwise */
#define MT_LOG_GIANT (UINT64_C(64) << 30) /* in one piece: too much for a host, full or not */
/* The last memory line before fact `before` that names a place, of the same writer; NULL = none. */
const struct mt_log_fact *mt_logdiag_mark(const struct mt_log *log, uint32_t before);
/* Sets the line that d is about, and the other; n_failures stays 0 where there is none. */
void mt_logdiag_choose(struct mt_logdiag *d, const struct mt_logs *logs);
/* log/choose.c: the line by which a scheduler stopped the job that the kill f belongs to; NULL = f
 * is no kill, or none does. */
const struct mt_log_fact *mt_logdiag_stop(const struct mt_log *log, const struct mt_log_fact *f);
/* log/phase.c: d->phase and d->sub of the failure f; place: of its traceback, NULL = none; rules
 * for one that is cut, NULL = it tells nothing. */
struct mt_log_place;
void mt_logdiag_phase(struct mt_logdiag *d, const struct mt_log *log, const struct mt_log_fact *f,
                      const struct mt_log_place *place, const struct mt_phase_rules *rules);
/* log/traced.c: the same by frames, names and the line of code of a traceback whose program no rule
 * of whole stacks knows: what of d's phase and sub-phase is not known yet. */
void mt_logdiag_traced(struct mt_logdiag *d, const struct mt_log_stack *s,
                       const struct mt_phase_rules *rules);
/* The file is the program's, not of an installed package or of Python. */
bool mt_logdiag_is_own(const char *file);
/* The request was made outside of any pass of a model: on what one gave, or by a line of the job's
 * own that asks for much of the card at once, where nothing is trained, set up, saved or sent. */
enum { MT_LOG_LARGE = 10 }; /* of the card one such part: less is of any tensor */
bool mt_logdiag_outside(const struct mt_logdiag *d, const struct mt_log_stack *s);
bool mt_logdiag_steps_itself(const struct mt_logdiag *d, const struct mt_log_stack *s);
/* d's sub-phase, where its phase is known. */
void mt_logdiag_inside(struct mt_logdiag *d, const struct mt_log_stack *s,
                       const struct mt_phase_rules *rules);
/* d's sub-phase, where the innermost frame of the job's own works on what a model gave. */
void mt_logdiag_results(struct mt_logdiag *d, const struct mt_log_stack *s,
                        const struct mt_phase_rules *rules);
/* log/host.c: the line that shows what held the host's memory when d's process was killed; 0 = none
 * does, or it is no such failure. */
uint64_t mt_logdiag_hint(const struct mt_logdiag *d, const struct mt_log *log, enum mt_log_hint h);
struct mt_sentence;
/* log/told_phase.c: d->phase of the failure f by the heaviest of all statements in the text's
 * words, and d->said; or d->step, by what the job's own line step_line tells (step; NULL = there is
 * none). Also d->after. d->phase is unchanged where nothing weighs enough. */
struct mt_cut_phase;
void mt_logdiag_told_phase(struct mt_logdiag *d, const struct mt_log *log,
                           const struct mt_log_fact *f, const struct mt_cut_phase *step,
                           uint64_t step_line, const struct mt_phase_rules *rules);
/* log/told_cause.c: the text names fragmentation. */
/* The first cause that the i-th line of the prose names; NULL = none. t: the line. */
struct mt_spoken;
const char *mt_logdiag_told_cause(const struct mt_log *log, uint32_t i,
                                  const struct mt_phase_rules *rules, struct mt_spoken *t);
/* log/grows.c: somebody says that memory is kept from step to step. */
bool mt_logdiag_told_growth(const struct mt_log *log, const struct mt_phase_rules *rules);
bool mt_logdiag_told_pieces(const struct mt_log *log, const struct mt_phase_rules *rules);
/* log/contrast.c: what somebody says that the job runs without, and the line; 0 = nobody does. */
enum { MT_LOG_CONTRAST = 64 };
uint64_t mt_logdiag_contrast(char what[MT_LOG_CONTRAST], const struct mt_log *log);
/* log/runs.c: what somebody says that runs beside the run that fails. */
enum mt_log_runs {
    MT_LOG_RUNS_NONE,
    MT_LOG_RUNS_WITH,  /* the same job with another value: "with one engine it works" */
    MT_LOG_RUNS_OTHER, /* another one: "the sparse script runs" */
    MT_LOG_RUNS_FIRST  /* its beginning: "the first 200 steps" */
};
enum mt_log_runs mt_logdiag_runs(char what[MT_LOG_CONTRAST], uint64_t *line,
                                 const struct mt_log *log);
/* log/told_cause.c: the cause that the text names in words, what it says the failure came after,
 * and what it runs without. */
void mt_logdiag_say_told(struct mt_sentence *s, const struct mt_logdiag *d,
                         const struct mt_log *log, const struct mt_phase_rules *rules);
/* log/host.c: a worker of Ray is gone. Its actor never ran; whose it was; what may have been. */
bool mt_logdiag_never_ran(const struct mt_log *log);
void mt_logdiag_say_dead(struct mt_sentence *t, const struct mt_log_fact *f);
const char *mt_logdiag_dead_why(const struct mt_log_fact *f);
void mt_logdiag_say_hints(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_log *log);
/* log/cut.c. A traceback without its error may be of anything: log loses that fact unless checked
 * frames tell what ran, or its last line of code allocates. false = out of memory. */
/* log/grows.c: where nothing failed and somebody says that memory grows, a fact that is talk, of
 * platform MT_LOG_GROWS. false = out of memory. */
bool mt_logdiag_settle_grows(struct mt_log *log, const struct mt_logs *l);
bool mt_logdiag_settle_cut(struct mt_log *log, const struct mt_logs *l);
/* Whose traceback the log ends in, and where that is. */
void mt_logdiag_say_cut(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_log_fact *f);
/* log/ranks.c: d->are_ranks of the failure f. conf may be NULL. */
void mt_logdiag_tell_ranks(struct mt_logdiag *d, const struct mt_logs *logs,
                           const struct mt_log_fact *f, const struct mt_runconf *conf);
/* log/whose.c: of the failure f of log, as far as its line and its place tell. at may be NULL.
 */
enum mt_log_whose mt_logdiag_whose(const struct mt_logs *logs, const struct mt_log *log,
                                   const struct mt_log_fact *f, const struct mt_log_place *at);
/* log/place.c: d->vocab and d->in_float. */
void mt_logdiag_logits(struct mt_logdiag *d, const struct mt_log_place *place,
                       const struct mt_runconf *conf);
/* log/model.c: d->model. fw: of the job; place, conf may be NULL. false = out of memory. */
struct mt_logdiag_sizes;
bool mt_logdiag_model(struct mt_logdiag *d, const struct mt_log *log,
                      const struct mt_logdiag_sizes *told, const struct mt_frameworks *fw,
                      const struct mt_log_place *place, const struct mt_runconf *conf);
/* The model that an engine serves on one card, where words alone say all of that. */
void mt_logdiag_model_by_words(struct mt_logdiag *d, struct mt_metrics *m,
                               const struct mt_logdiag_sizes *told, const struct mt_framework *main,
                               const struct mt_runconf *conf);
/* log/sizes.c: of a person's words around the log. Numbers: 0 = not told, below 0 = in several
 * ways.
 */
struct mt_logdiag_sizes {
    double billions; /* of the model's parameters */
    double gpus;     /* of the training, where they are of one machine */
    bool nodes;      /* several machines */
    bool trains;
    bool runs;              /* a model is used, or generates */
    bool less;              /* adapters, fewer bits, offloading or frozen parts are spoken of */
    bool adapters, smaller; /* of these adapters; fewer bits or offloading */
    bool wide;              /* of weights of 32 bits */
    bool half;              /* of 16 bits are spoken of */
    bool fsdp, zero2, zero3;
    bool spread; /* a model that is laid over the cards, in another way than these, is spoken of */
    double card; /* bytes of the card that is named, or whose size is; 0 = none, or several */
    /* log/counts.c: parameters that a line counts, of the whole model and of what is trained */
    double counted, trained;
    bool peft;           /* in the words of PEFT or Unsloth, which mostly train adapters */
    double said;         /* of the largest part of a well-known model that is no language model */
    double bits;         /* of each weight, where they are told to be fewer than 16 */
    double visible;      /* cards that CUDA_VISIBLE_DEVICES leaves to the process that trains */
    double launched;     /* processes that a launcher is told to start, by a variable */
    bool method;         /* one is named that trains language models: SFT, DPO, PPO */
    bool refers;         /* a reference model beside the one that is trained is usual */
    bool values;         /* and a critic, as large as it */
    bool moved, hosted;  /* the optimizer's state is on the host; and the weights */
    bool colocated;      /* an engine is in the trainer's processes */
    bool full;           /* a training of all weights is spoken of */
    bool merges;         /* weights are joined or written anew */
    bool speaks_of_size; /* of what one pass takes */
    bool launches;       /* a launcher is spoken of: of how many processes is not told */
    bool mixed;          /* 16 bits beside weights of 32 */
    double side[4];      /* log/sides.c: of matrices that are named */
    uint32_t n_sides;
};
/* Adds the sides of matrices that a line names. */
void mt_logdiag_sides(struct mt_logdiag_sizes *t, const char *line);
/* The request is a matrix of all pairs along one of them: true, and d->made_of. */
bool mt_logdiag_is_of_pairs(struct mt_logdiag *d, const struct mt_logdiag_sizes *told);
/* How often PyTorch held as much as was asked for, where it is a whole number; else 0. */
double mt_logdiag_times_held(const struct mt_logdiag *d);
/* Adds what a line counts. */
void mt_logdiag_counts(struct mt_logdiag_sizes *t, const char *line);
void mt_logdiag_sizes(struct mt_logdiag_sizes *t, const struct mt_log *log);
/* Adds what rules of metrics.json read from settings and words. */
void mt_logdiag_sizes_by_rules(struct mt_logdiag_sizes *t, struct mt_metrics *m);
/* What they say of the run, as numbers for rules. */
void mt_logdiag_of_sizes(struct mt_metrics *m, const struct mt_logdiag_sizes *told,
                         const struct mt_runconf *conf);
/* log/amounts.c: of a card's memory, by a person's words near those about a failure; MT_LOG_NONE =
 * not told, or in two ways. */
struct mt_logdiag_amounts {
    uint64_t request, free, total, used, torch; /* torch: PyTorch has it */
    bool exact;                                 /* the request, as precise as PyTorch prints it */
};
/* true: more is told than the card's size. */
bool mt_logdiag_amounts(struct mt_logdiag_amounts *out, const struct mt_log *log);
/* log/card.c: bytes of the card that a person's text names, by the built-in rows; 0 = none, or
 * cards of several sizes. */
double mt_logdiag_card(const struct mt_log *log);
/* log/number.c: the number at p, at most one point in it; *end = what follows. */
double mt_logdiag_number_at(const char *p, const char **end);
/* log/estimate.c: d->model.estimate. params: as they are named; ranks: 0 = not among the settings.
 * And its words, for a failure whose line has no better ones. */
struct mt_run_shape;
void mt_logdiag_estimate(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                         const struct mt_run_shape *s, const struct mt_runconf *conf, double params,
                         double ranks);
void mt_logdiag_estimate_logits(struct mt_logdiag *d, const struct mt_run_shape *s,
                                const struct mt_runconf *conf);
void mt_logdiag_say_estimate(struct mt_sentence *t, const struct mt_logdiag *d);
/* What a training keeps on a card whatever the batch is, as far as it is told; 0 = it is not. */
double mt_logdiag_states(const struct mt_logdiag *d);
/* log/budget.c. d->model.estimate.card, of the failure's line or the text's words; told->card too.
 */
void mt_logdiag_card_size(struct mt_logdiag *d, struct mt_logdiag_sizes *told,
                          const struct mt_log *log);
/* d->model.budget.params and about, of the surest thing that tells: the model's
 * shape, a line that counts them, a name. by_name: what the settings' name of the model says, 0 =
 * nothing.
 */
void mt_logdiag_size(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                     const struct mt_run_shape *s, double by_name);
/* The rest of d->model.budget, where the estimate and what is served are known. */
void mt_logdiag_budget(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                       const struct mt_run_shape *s, const struct mt_runconf *conf);
/* What stays is little, and the text has neither numbers of the failure nor its place. */
bool mt_logdiag_fits_amply(const struct mt_logdiag *d);
/* And so is a pass as long as the settings allow. */
bool mt_logdiag_fits_with_pass(const struct mt_logdiag *d);
/* What stays is known, and the device, not another process or a library, ran full of the rest. */
bool mt_logdiag_is_of_pass(const struct mt_logdiag *d);
void mt_logdiag_say_budget(struct mt_sentence *t, const struct mt_logdiag *d);
/* log/served.c: d->model.served. kind: of the job's program; an engine serves, whatever the phase
 * is. And its words. */
void mt_logdiag_served(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                       const struct mt_run_shape *s, const struct mt_runconf *conf,
                       enum mt_fw_kind kind);
/* Weights that are only used, or lie below adapters, are more than the card. */
bool mt_logdiag_served_over(const struct mt_logdiag *d);
bool mt_logdiag_served_outside(const struct mt_logdiag *d);
void mt_logdiag_served_in_float(struct mt_logdiag *d); /* the engine is told to take 32 bits */
void mt_logdiag_say_served(struct mt_sentence *t, const struct mt_logdiag *d);
/* What rules may ask of that. */
void mt_logdiag_of_model(struct mt_metrics *m, const struct mt_logdiag *d);
/* log/ground.c: of the changes behind `first`, which stand first: those whose holder the text
 * shows.
 */
void mt_logdiag_ground(struct mt_advice_list *list, uint32_t first, struct mt_logdiag *d,
                       const struct mt_log_fact *f, const struct mt_framework_rules *rules,
                       const struct mt_runconf *conf);
/* The card was full when set-up asked for most of it, and this process is not known to have any. */
bool mt_logdiag_full_before(const struct mt_logdiag *d);
/* log/passes.c: of a pass that keeps nothing and asks in proportion to its tokens, the share of
 * them that what is free has room for, where that is less than half: token_ratio. */
void mt_logdiag_of_pass(struct mt_metrics *m, const struct mt_logdiag *d, enum mt_phase phase);
/* log/made_of.c: d->made_of of the failure f, and the metrics that follow from it. */
void mt_logdiag_made_of(struct mt_logdiag *d, struct mt_metrics *m, const struct mt_log_fact *f,
                        const struct mt_logdiag_sizes *told, bool engine);
/* log/matrix.c: the same for one matrix of the model, and for a square. */
bool mt_logdiag_is_matrix(struct mt_logdiag *d, struct mt_metrics *m, bool engine);
void mt_logdiag_say_matrix(struct mt_sentence *t, const struct mt_logdiag *d);
void mt_logdiag_say_made_of(struct mt_sentence *t, const struct mt_logdiag *d);
/* log/place.c: d->program, of its log and the traceback s; NULL = it has none; else the script that
 * the settings' command starts. */
void mt_logdiag_program(struct mt_logdiag *d, const struct mt_log *log,
                        const struct mt_log_stack *s, const struct mt_runconf *conf);
/* log/reason.c: why, as a sentence or two. */
void mt_logdiag_because(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_log_fact *f);
/* The share left no byte for the KV cache; not merely less than one sequence needs. */
bool mt_logdiag_kv_nothing(const struct mt_logdiag *d, const struct mt_log_fact *f);
/* PyTorch counts more than the process has of the card: an engine's sleep unmapped the rest, which
 * PyTorch does not see. */
bool mt_logdiag_unmapped(const struct mt_logdiag *d);
/* Of what this process holds outside PyTorch, what is more than its context takes and would have
 * served the request; 0 = the line does not say so. */
uint64_t mt_logdiag_own_outside(const struct mt_logdiag *d);
/* The segment that PyTorch asks the driver for where its own have no room. */
uint64_t mt_logdiag_segment(uint64_t request);
/* So much was free after the failure that its segment would have fitted; and a tenth of the card
 * more, at least 1 GiB: then it was not full. Less is what others, the driver or PyTorch itself
 * gave back between the failure and the message. On cards of 8 to 24 GiB several hundred MiB. */
bool mt_logdiag_had_room(const struct mt_logdiag *d);
bool mt_logdiag_had_much(const struct mt_logdiag *d);
/* What PyTorch holds by its own word: reserved, else allocated; MT_LOG_NONE. */
static inline uint64_t mt_logdiag_torch(const struct mt_logdiag *d)
{
    return d->reserved != MT_LOG_NONE ? d->reserved : d->allocated;
}
/* Reserved but unallocated, as far as it is on the card. */
uint64_t mt_logdiag_cached(const struct mt_logdiag *d);
/* Unallocated bytes alone would do for the request, and are more than crumbs. */
bool mt_logdiag_has_holes(const struct mt_logdiag *d);
/* log/budget.c: holders, as a saving's `from`, of what is there whatever runs and is more than the
 * card: less in one pass is no help. 0 = none. */
uint32_t mt_logdiag_too_much(const struct mt_logdiag *d);
/* What is to be loaded or decoded is not all there yet: bytes that would do for this request do not
 * for the next ones. */
bool mt_logdiag_more_to_come(const struct mt_logdiag *d);
/* log/trials.c: what a smaller batch that was tried leaves as the matter. */
void mt_logdiag_say_tried(struct mt_sentence *t, const struct mt_logdiag *d);
/* log/near.c: what was missing, where that was little and more of it is not known to come; else 0.
 */
uint64_t mt_logdiag_short(const struct mt_logdiag *d);
void mt_logdiag_say_short(struct mt_sentence *t, const struct mt_logdiag *d);
/* Neither the unused part of what PyTorch had reserved nor that and what was free would do. */
void mt_logdiag_say_no_pieces(struct mt_sentence *t, const struct mt_logdiag *d);
/* Free and unallocated bytes would do for the request, but only together. */
bool mt_logdiag_fits_joined(const struct mt_logdiag *d);
/* PyTorch uses more than the card has. */
bool mt_logdiag_overcounts(const struct mt_logdiag *d);
/* log/overcount.c: d->is_spilled and d->is_asleep of the failure f. */
void mt_logdiag_tell_overcount(struct mt_logdiag *d, const struct mt_logs *logs,
                               const struct mt_log_fact *f, const struct mt_log_place *place);
/* The paths of its lines are Windows'. */
bool mt_logdiag_on_windows(const struct mt_log *log);
/* Sentence and because of d. false = out of memory. */
bool mt_logdiag_say(struct mt_logdiag *d, const struct mt_logs *logs);

/* What a traceback tells: the phase, the frameworks, and itself as a trace without events. */
struct mt_log_place {
    struct mt_attr at;
    struct mt_frameworks fw;
    struct mt_trace *trace;
    const struct mt_log_stack *stack; /* it */
    mt_stack_id id;                   /* it, in that trace */
};
/* log/place.c. false = out of memory, and nothing to release. */
bool mt_logdiag_place(struct mt_log_place *out, const struct mt_framework_rules *fw,
                      const struct mt_log_stack *s, const struct mt_phase_rules *rules);
void mt_logdiag_place_done(struct mt_log_place *p);

/* log/advise.c: adds to list what may be advised on the failure `f`. place: of its traceback; NULL
 * = none. false = out of memory. */
bool mt_logdiag_advise(struct mt_advice_list *list, struct mt_logdiag *d,
                       const struct mt_logs *logs, const struct mt_logdiag_opts *o,
                       const struct mt_log_fact *f, const struct mt_log_place *place);

/* log/unfailed.c: where nothing failed in a short text whose lines, or settings, tell the program:
 * adds to list what would be changed first if memory ran out behind it, and sets d->asks. false =
 * out of memory. */
bool mt_logdiag_unfailed(struct mt_logdiag *d, const struct mt_logs *logs,
                         const struct mt_logdiag_opts *o, struct mt_advice_list *list);
/* The last line of use is one of an engine that starts: its phase; else MT_PH_UNATTRIBUTED. */
enum mt_phase mt_logdiag_engine_starts(const struct mt_log *log);

/* log/usage.c: who held the node's memory, by Ray's table below the kill f; what the highest of the
 * lines that say how memory was used is, and the largest growth from a "Before" to its "After". */
void mt_logdiag_say_table(struct mt_sentence *t, const struct mt_log *log,
                          const struct mt_log_fact *f);
void mt_logdiag_say_usage(struct mt_sentence *t, const struct mt_logs *logs);

/* log/cards.c: beside the failure d, what tools and the allocator's own counters say of its card;
 * where nothing failed the same as sentences of their own, t = what, b = what they cannot tell. */
void mt_logdiag_say_cards(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_logs *logs);
void mt_logdiag_say_readings(struct mt_sentence *t, struct mt_sentence *b,
                             const struct mt_logs *logs);

/* log/no_failure.c: t = that logs tell of no failure and what they tell instead, b = what that
 * means. */
void mt_logdiag_say_no_failure(struct mt_sentence *t, struct mt_sentence *b,
                               const struct mt_logdiag *d, const struct mt_logs *logs);

/* log/heap.c: what memray counted of the host's memory, and what such a count does not tell. False
 * where no log has one. */
bool mt_logdiag_say_heaps(struct mt_sentence *t, const struct mt_logs *logs);
extern const char mt_logdiag_heaps_lack[];

#endif
