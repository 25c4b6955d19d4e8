/* facts/cause.h -- why memory ran out, with the numbers that say so, and what would have happened
 * otherwise.
 *
 * One cause per report: of the failed request, or, where nothing failed, of what stands next to the
 * limit at the peak. A cause is only named on evidence; without it the kind is NONE (healthy, or
 * cannot be told: `known` says which). Sizes are bytes. */
#ifndef MT_CAUSE_H
#define MT_CAUSE_H

#include "analysis/facts/analysis.h"

enum mt_cause_kind {
    /* nothing failed and nothing is unusual; or an OOM whose cause cannot be told */
    MT_CAUSE_NONE,
    MT_CAUSE_CAPACITY,      /* what was live filled the card */
    MT_CAUSE_FRAGMENTATION, /* free bytes enough, no hole large enough */
    /* the request alone is out of proportion: tokens x vocabulary and the like */
    MT_CAUSE_GIANT_TENSOR,
    /* rollout memory held in training, or training memory held in the rollout */
    MT_CAUSE_STALE_ENGINE,
    MT_CAUSE_LEAK,          /* grows step by step */
    MT_CAUSE_PENDING_FREES, /* freed by the program, not yet by the stream */
    MT_CAUSE_FOREIGN,       /* other processes, NCCL, contexts */
    MT_CAUSE_SKEW,          /* the other ranks, or devices, have much less to do */
    MT_CAUSE_LIMIT,         /* a limit below the card's size */
    MT_CAUSE_HOST,          /* host memory */
    /* What only a log tells apart. */
    MT_CAUSE_OUTSIDE, /* an allocation outside PyTorch failed: NCCL, an engine's own, cuBLAS */
    /* the engine's share does not fit: too large at start, or too small for its KV cache */
    MT_CAUSE_ENGINE_SHARE,
    MT_CAUSE_SETTING, /* a setting that excludes another one */
    MT_CAUSE_KILLED,  /* killed by somebody; memory is only the usual reason */
    MT_CAUSE_REQUEST, /* what was asked for is more than the card has */
    MT_CAUSE_UNKNOWN, /* GPU memory ran out; nothing decides */
    MT_CAUSE_UNTOLD,  /* a log ends before it says what failed */
    MT_CAUSE_COUNT
};
/* "giant_tensor". What only a log tells apart has the id of the cause that it is a kind of: one of
 * those above it. */
const char *mt_cause_id(enum mt_cause_kind k);
const char *mt_cause_words(enum mt_cause_kind k); /* "one giant tensor"; of the same cause */
/* The cause that it is a kind of; the others are their own. */
enum mt_cause_kind mt_cause_main(enum mt_cause_kind k);
/* In the diagnosis of a log: its id ("other_processes") and headline ("Out of memory:
 * fragmentation"). */
const char *mt_cause_log_id(enum mt_cause_kind k);
const char *mt_cause_log_words(enum mt_cause_kind k);

/* A number that speaks for the cause. */
struct mt_evidence {
    char *text;     /* one sentence with its numbers */
    uint64_t bytes; /* 0 = the sentence has no single number */
    /* number of the event of the cause's device that it is about; MT_NO_LINK = none known */
    int64_t event;
    /* first event of the stretch that ends there; = event when it is about one moment */
    int64_t since;
};

/* "Would the request have fitted ..." */
struct mt_what_if {
    /* "no_fragmentation", "engine_asleep", "half_temporaries", "no_last_result", "no_foreign" */
    const char *id;
    char *text;     /* one sentence, answer included */
    bool fits;      /* the answer */
    uint64_t freed; /* bytes that it frees at that moment: of blocks, or holes */
    /* what the device would still lack for the segment that the request needs; 0 when it fits */
    uint64_t short_by;
};

/* A segment that cannot be given back or merged because of few live bytes. */
struct mt_pin {
    uint64_t segment, total, free, largest_free; /* address; bytes */
    uint64_t block_bytes;                        /* live bytes in it */
    char *label;                                 /* who: readable site of its largest block */
    mt_stack_id stack;                           /* of that block */
    uint8_t role;
    struct mt_attr attr; /* phase of its birth */
    int64_t event;       /* number of the event of its birth; MT_NO_LINK = before the trace */
};

/* Where nothing failed: what would be the first to. Made wherever there is a history; a cause
 * follows only from `tight`. */
struct mt_forecast {
    bool made;
    bool tight;          /* the card was all but full: docs/diagnosis.md has the limits */
    bool headroom_known; /* the card's size is, and it is not less than PyTorch's books hold */
    struct mt_attr attr; /* phase of the peak */
    uint8_t role;        /* with most bytes there */
    uint64_t role_bytes, live, reserved, capacity;
    uint64_t headroom;   /* capacity - live: at most so much was left */
    uint64_t steps_left; /* until growth from step to step has filled it; 0 = none, or not known */
    char *sentence;
};

/* What a line made, as sizes prove it; whether its operation does such things a row of
 * metrics.json says. The failed request counts. */
#define MT_MADE 8
enum mt_made_how {
    /* of much smaller tensors (cause/spread.c); bytes: all that is there of its shape */
    MT_MADE_SPREAD,
    MT_MADE_JOINED, /* what is still there adds up to it (cause/parts.c); bytes: of the stack */
    MT_MADE_WIDENED /* two or four times what was made before it and is still there; likewise */
};
struct mt_made {
    mt_stack_id stack;
    uint8_t how; /* enum mt_made_how */
    uint64_t size, bytes;
    /* SPREAD: n of n x n numbers where n numbers of that width were there; else n of n x n numbers,
     * no power of two. 0 = neither */
    uint64_t rows, square;
    uint64_t event; /* SPREAD: that made it */
};

/* The line that made most of what is neither a model's nor an optimizer's. n 0 = no line has so
 * much. */
struct mt_maker {
    bool asks;         /* the request is of that line, too */
    mt_stack_id stack; /* of most of it */
    uint32_t n;        /* blocks that are there */
    uint64_t bytes;    /* of these */
    uint64_t size;     /* of the largest */
    uint32_t rounds;   /* of a loop, that went through it more often than a model has layers */
    uint64_t loop;     /* what the graph holds of that loop, all of its lines */
};

/* What recomputing frees of the activations at the focus, piece by piece (cause/pieces.c). */
struct mt_pieces {
    bool seen;             /* stacks name lines; where they do not tell the calls, the least is 0 */
    bool known;            /* and they tell them */
    uint64_t frees, least; /* least: where loops may lie inside a piece, and inputs are large */
    uint64_t inputs;       /* that stay, of `frees`: the last block of the piece before each */
    uint32_t n, lines;     /* pieces, and lines that call them */
    mt_frame_id line;      /* with most of them; 0 = none is worth it */
};

struct mt_cause {
    enum mt_cause_kind kind;
    bool known;       /* false: there was an OOM and nothing decides */
    uint8_t conf;     /* enum mt_conf */
    const char *by;   /* id of the what-if that decided; "" = none did */
    char *sentence;   /* one sentence; "" when kind is NONE and nothing failed */
    uint64_t request; /* of the failed request; 0 = none */
    /* the smallest change by the numbers, a sentence or two; NULL = they tell none */
    char *least;
    /* what was still to come after it, at least: of the pass that it was made in, or of the state
     * that the first optimizer step makes */
    uint64_t pass_to_come, state_to_come;
    /* of both, by what it is for; left_open: more may come, and nothing says how much */
    uint64_t to_come[MT_ROLE_COUNT];
    bool left_open;
    /* each pass without gradients asked for half as much again as the one before: the next may */
    bool leaps;
    /* joined pieces would have served the request, and nothing shows that the card is enough for
     * what comes after it: capacity */
    bool fits_only_here;
    /* what a forward pass, a set-up or a generation that was not over had added; 0 = it was none */
    uint64_t pass_so_far;
    /* the most that the same place had asked for in earlier passes, and in how many of them */
    uint64_t before_most;
    uint32_t before_passes;
    /* what this pass had beyond the earlier ones when they came so far, where without it the
     * request would have fitted */
    uint64_t pass_more;
    double pass_ratio; /* what it had by then, by the most of an earlier one; 0 = there was none */
    /* what lines of this pass have that grew by half or more, where others have what they had: it
     * does not follow the batch; 0 = none */
    uint64_t apart;
    uint64_t named; /* activations that names of functions at work may hold, at most */
    /* what had come after the same request in an earlier pass, in that pass's own sizes; 0 = there
     * was none */
    uint64_t before_rest;
    /* number of the event of its device that it is about: the first OOM, else the peak; MT_NO_LINK
     * = none */
    int64_t event;
    MT_VEC(struct mt_evidence) evidence;
    MT_VEC(struct mt_what_if) what_ifs;
    /* the largest free bytes first, at most 16; only when fragmentation is part of it */
    MT_VEC(struct mt_pin) pins;
    uint64_t n_pins_all, pinned_free; /* how many there are, and the free bytes in all of them */
    /* what one line outside of any pass made block by block and keeps, most of what is live; 0 =
     * there is no such */
    uint64_t hoard;
    /* where the moment trains: keys and values that passes without gradients made */
    uint64_t idle_cache;
    /* what one line made before many others of its size came and went; 0 = there is no such */
    uint64_t outlived;
    /* what lines outside of the passes keep of each round: all of it, many times what the last
     * round added; 0 = there is no such */
    uint64_t rounds;
    uint64_t rounds_grads; /* of it gradients, without those of the last round */
    /* copies of the weights or of their gradients that the job's own code keeps; the same that an
     * optimizer keeps as flat tensors; weights that a forward pass makes and keeps for its backward
     */
    uint64_t weight_copies, history, made_weights;
    /* what terms of a loss over the weights keep for one backward pass, but for one set of them */
    uint64_t weight_terms;
    /* of all these, by role: activations, of them such as no model's call made, and temporaries */
    uint64_t copies_kept, copies_beside, copies_temp;
    uint64_t left; /* where nothing failed, at the peak: what passes before the last one left at the
                      line that has most of it */
    /* made between a model's calls, once for three or more, or in sizes of its own: no batch of one
     * call makes it less; the request among it */
    uint64_t between_calls;
    bool asks_copy;       /* the request is for one more of them */
    uint64_t history_one; /* one tensor of the history */
    uint64_t old_state;   /* of optimizers that were replaced; 0 = none */
    uint64_t remade;      /* one block that the request would take the place of; 0 = none */
    struct mt_made made[MT_MADE];
    uint32_t n_made;
    struct mt_maker maker;
    uint64_t alike;      /* of what is no model's or optimizer's, what has the request's own size */
    uint64_t regrown;    /* one tensor to which the request would join something; 0 = none */
    uint64_t kept_open;  /* what rounds kept, if no backward pass behind them all is to come */
    uint64_t kept_casts; /* of the blocks that rounds kept: copies of weights, by autocast */
    /* the result of the pass before, that is live still, and the line that makes it and lets go of
     * it: "train.py:63 main"; 0 and NULL = there is none */
    uint64_t last_result;
    char *last_result_line;
    bool keeps_results; /* it is of all earlier passes: a hook or a list has them */
    uint64_t skew;      /* what it would have had less, had the work been divided evenly */
    bool skew_first;    /* it is the first of the process's devices that do that work */
    uint64_t strays;    /* of other ranks on its device */
    /* activations of earlier passes that no backward pass followed, and the line that called the
     * model */
    uint64_t unused_graph, unused_now; /* now: of the pass at hand */
    /* the same of earlier passes that a backward pass followed: something keeps their graph */
    uint64_t retained_graph;
    uint64_t bypassed_graph; /* of it, where it was other passes' backward that came after */
    char *unused_graph_line; /* of either */
    /* nothing is trained in the whole recording, and each pass kept what a backward would want
     * until it ended: what the one at hand has kept so far */
    uint64_t graph_of_none;
    /* of a giant tensor: */
    uint64_t tokens, vocab, vocab_split, elem; /* 0 = not a logits shape */
    bool vocab_is_guess;
    struct mt_pieces pieces;
    struct mt_forecast next;
};

/* What a process has on the card beside PyTorch's segments without anybody else there: its context,
 * its libraries. 300 to 600 MiB are usual. */
#define MT_OWN_CONTEXT (UINT64_C(600) << 20)

#endif
