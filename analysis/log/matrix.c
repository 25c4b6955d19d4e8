/* log/matrix.c -- a request that is as large as one matrix of the model, or as a square of a length
 * that is told: by the sizes that settings or the model's name give. Where two products fit, none
 * is said. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"
#include "analysis/metrics/metrics.h"
#include "analysis/phases/phases.h"

#define MIB (1 << 20)
#define GIB (1024.0 * MIB)
/* Below it PyTorch asks for other sizes than it was asked for (c10/cuda/CUDACachingAllocator.cpp:
 * 20 MiB for up to 10), and many tensors of a job have the same size. */
#define LEAST (24.0 * MIB)
enum { SEGMENT = 2 * MIB, SIDE = 4096 /* a square of less is a tensor among many */ };

/* What PyTorch asks the driver for, and prints: whole segments, with two decimals. */
static bool is_printed_as(const struct mt_logdiag *d, double bytes)
{
    uint64_t segments = ((uint64_t)bytes + SEGMENT - 1) / SEGMENT;
    double whole = (double)(segments * SEGMENT),
           printed = (double)d->request >= GIB ? 0.0051 * GIB : 0.0051 * MIB,
           off =
               (double)d->request > whole ? (double)d->request - whole : whole - (double)d->request;
    return off <= printed;
}

struct match {
    const char *rows, *columns;
    double n[2];
    unsigned each;
    unsigned products; /* of different numbers that fit */
};

static void try_one(struct match *f, const struct mt_logdiag *d, const char *rows, double n,
                    const char *columns, double k, unsigned each)
{
    if (n <= 0 || k <= 0 || !is_printed_as(d, n * k * each))
        return;
    f->products++;
    f->rows = rows;
    f->columns = columns;
    f->n[0] = n;
    f->n[1] = k;
    f->each = each;
}

/* Matrices as modules have them: an engine joins gate and up, and queries with keys and values; it
 * keeps them in 16 bits. A trainer may have 32 bits, and states of that. */
static void try_matrices(struct match *f, const struct mt_logdiag *d, struct mt_metrics *m,
                         bool engine)
{
    double hidden = mt_metric_above_0(m, "setting.hidden"),
           inner = mt_metric_above_0(m, "setting.intermediate_size"),
           heads = mt_metric_above_0(m, "setting.heads"),
           kv = mt_metric_above_0(m, "setting.kv_heads"),
           head = mt_metric_above_0(m, "setting.head_dim"),
           vocab = mt_metric_above_0(m, "setting.vocab"),
           tp = engine ? mt_metric_above_0(m, "setting.rollout_tp")
                       : mt_metric_above_0(m, "setting.tp");
    head = head > 0 ? head : heads > 0 ? hidden / heads : 0;
    tp = tp >= 1 ? tp : 1;
    for (unsigned each = 2; each <= (engine ? 2 : 4); each += 2) {
        try_one(f, d, "the vocabulary's", vocab / tp, "the hidden state's", hidden, each);
        if (engine) {
            try_one(f, d, "twice the MLP's", 2 * inner / tp, "the hidden state's", hidden, each);
            try_one(f, d, "the MLP's", inner / tp, "the hidden state's", hidden, each);
            try_one(f, d, "all heads'", (heads + 2 * kv) * head / tp, "the hidden state's", hidden,
                    each);
        } else {
            try_one(f, d, "the MLP's", inner / tp, "the hidden state's", hidden, each);
            try_one(f, d, "the heads'", heads * head / tp, "the hidden state's", hidden, each);
        }
    }
}

/* A mask or a matrix of all pairs, of tokens or of what the script takes at once. */
static void try_squares(struct match *f, const struct mt_logdiag *d, struct mt_metrics *m)
{
    static const struct {
        const char *setting, *words;
    } lengths[] = {{"setting.max_seq_len", "tokens"},
                   {"setting.script_length", "tokens"},
                   {"setting.script_many", "items"}};
    double before = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        double n = mt_metric_above_0(m, lengths[i].setting);
        bool same = before > 0 && n <= before && n >= before;
        before = n;
        for (unsigned each = 1; each <= 8 && n >= SIDE && !same; each *= 2)
            try_one(f, d, lengths[i].words, n, lengths[i].words, n, each);
    }
}

/* Tokens of a pass that are a sign: powers of two, as people set lengths and batches. Any whole
 * thousand would fit one request in ten by chance. */
enum { LEAST_TOKENS = 1 << 11, MOST_TOKENS = 1 << 18 };

/* A width that is a power of two divides half of all round requests. */
static bool is_odd_enough(double width)
{
    uint64_t n = (uint64_t)width;
    while (n != 0 && n % 2 == 0)
        n /= 2;
    return n >= 3;
}

/* What the MLP makes of a pass: its width for each token. The width is the model's, the tokens are
 * not told; as many as the hidden state is wide, or twice as many, are a weight. */
static bool is_of_tokens(struct mt_logdiag *d, struct mt_metrics *m)
{
    double hidden = mt_metric_above_0(m, "setting.hidden"),
           inner = mt_metric_above_0(m, "setting.intermediate_size"),
           tp = mt_metric_above_0(m, "setting.tp");
    inner /= tp >= 1 ? tp : 1;
    if (hidden <= 0 || !is_odd_enough(inner))
        return false;
    for (unsigned tokens = LEAST_TOKENS; tokens <= MOST_TOKENS; tokens *= 2)
        if (is_printed_as(d, 2 * inner * tokens) && tokens != (unsigned)hidden &&
            tokens != 2 * (unsigned)hidden) {
            d->made_of.what = MT_LOG_OF_TOKENS;
            d->made_of.numbers = inner;
            d->made_of.length = tokens;
            d->made_of.each = 2;
            return true;
        }
    return false;
}

bool mt_logdiag_is_matrix(struct mt_logdiag *d, struct mt_metrics *m, bool engine)
{
    struct match f = {.products = 0};
    bool in_pass = d->sub == MT_PH_FORWARD || d->sub == MT_PH_LOGITS ||
                   mt_phase_is(d->sub, MT_IN_LOSS) || mt_phase_is(d->phase, MT_LOGP);
    if ((double)d->request < LEAST)
        return false;
    if (!in_pass) /* there a tensor of so many tokens may be as large */
        try_matrices(&f, d, m, engine);
    try_squares(&f, d, m);
    if (f.products == 0)
        return is_of_tokens(d, m);
    if (f.products != 1)
        return false;
    d->made_of.what = f.rows == f.columns ? MT_LOG_OF_SQUARE : MT_LOG_OF_MATRIX;
    d->made_of.rows = f.rows;
    d->made_of.columns = f.columns;
    d->made_of.numbers = f.n[0];
    d->made_of.length = f.n[1];
    d->made_of.each = f.each;
    d->made_of.is_sure = engine && d->phase == MT_PH_UNATTRIBUTED; /* what it loads first */
    return true;
}

/* What that is, where the phase tells. */
static const char *meaning(const struct mt_logdiag *d)
{
    bool sets_up =
        d->phase == MT_PH_INIT || d->phase == MT_PH_ROLLOUT_INIT || d->phase == MT_PH_ROLLOUT_LOAD;
    if (d->model.served.bits > 0 && d->model.served.bits < 16)
        return "a weight that is widened while it is used";
    if (mt_phase_is(d->sub, MT_IN_OPTIMIZER))
        return "a state of the optimizer, whole: nothing divides it";
    if (mt_phase_is(d->sub, MT_IN_BACKWARD))
        return "its gradient, whole: neither the batch nor the length changes it";
    if (sets_up || d->made_of.is_sure)
        return "its weights: it was still being built or loaded, and the rest was to come";
    return "a weight, its gradient or a state of it, whatever the batch is";
}

void mt_logdiag_say_matrix(struct mt_sentence *t, const struct mt_logdiag *d)
{
    const char *lead = t->n != 0 ? " " : "";
    if (d->made_of.what == MT_LOG_OF_SQUARE)
        mt_words_add(
            t,
            "%s%.0f x %.0f %s x %u bytes is the request: most likely a matrix of all pairs, "
            "which half the length makes a quarter.",
            lead, d->made_of.numbers, d->made_of.length, d->made_of.rows, d->made_of.each);
    else if (d->made_of.what == MT_LOG_OF_TOKENS)
        mt_words_add(t,
                     "%s%.0f tokens x %.0f (the MLP's width) x 2 bytes is the request (or half as "
                     "many tokens in 4): most likely what a layer makes of one pass, which half "
                     "the tokens make half as large.",
                     lead, d->made_of.length, d->made_of.numbers);
    else
        mt_words_add(t,
                     "%s%.0f x %.0f (%s width x %s) x %u bytes is the request: one matrix of the "
                     "model, most "
                     "likely %s.",
                     lead, d->made_of.numbers, d->made_of.length, d->made_of.rows,
                     d->made_of.columns, d->made_of.each, meaning(d));
}
