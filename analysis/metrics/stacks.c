/* metrics/stacks.c -- what stacks and sizes tell beyond the roles of live blocks. */
#include "analysis/metrics/stacks.h"

#include "analysis/base/frames.h"
#include "analysis/base/glob.h"
#include "analysis/base/operation.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/layout.h"
#include "parser/base/mem.h"

#include <string.h>
#include <strings.h>

#define USED (UINT64_C(1) << 20) /* a device with less than this was only touched */

bool mt_has_several_gpus(const struct mt_analysis *a, const struct mt_runconf *conf)
{
    const struct mt_frameworks *fw = &a->fw;
    uint32_t used = 0;
    for (uint32_t i = 0; i < a->devices.n; i++)
        used += a->devices.p[i].kind == MT_DEV_CUDA && a->devices.p[i].live_peak >= USED;
    return used > 1 ||
           (fw->parts &
            (MT_PART_DDP | MT_PART_FSDP1 | MT_PART_FSDP2 | MT_PART_ZERO | MT_PART_CORE)) != 0 ||
           mt_run_world(conf) > 1 ||
           (a->trace != NULL &&
            (a->trace->meta.rank >= 0 || mt_trace_has_frame(a->trace, "torch/distributed/", "") ||
             mt_trace_has_frame(a->trace, "torch/nn/parallel/", "")));
}

/* The innermost Python frame; NULL = there is none. */
static const struct mt_frame *in_python(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        if (mt_file_is_python(mt_str(t, f->file), mt_str_len(t, f->file)))
            return f;
    }
    return NULL;
}

bool mt_steps_itself(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    const struct mt_oom *oom = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    uint64_t bytes[2] = {0, 0};
    for (uint32_t i = 0; t != NULL && i <= d->by_stack.n; i++) {
        bool failed = i == d->by_stack.n;
        const struct mt_stack_share *s = failed ? NULL : &d->by_stack.p[i];
        mt_stack_id stack = !failed ? s->stack : oom != NULL ? oom->stack : 0;
        unsigned sub = !failed ? s->attr.sub : oom != NULL ? oom->attr.sub : MT_PH_NONE;
        const struct mt_frame *f = stack < t->stacks.n ? in_python(t, stack) : NULL;
        /* a step() of a class that is no Optimizer of PyTorch's is no phase */
        if (f != NULL && (sub == MT_PH_OPTIMIZER || sub == MT_PH_OPTIM_STATE_INIT ||
                          strcmp(mt_str(t, f->name), "step") == 0))
            bytes[mt_file_is_internal(mt_str(t, f->file), mt_str_len(t, f->file))] +=
                !failed ? s->bytes : oom->request;
    }
    return bytes[0] > bytes[1];
}

/* Whether a stack goes through a function that computes the entropy. cross_entropy is a loss, and
 * what computes both
 * ("gather_logprobs_entropy") does not tell. */
bool mt_computes_entropy(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const char *name = mt_str(t, t->frames.p[t->stacks.p[s].frame].name);
        if (strstr(name, "entropy") != NULL && strstr(name, "cross_entropy") == NULL &&
            strstr(name, "logprob") == NULL && strstr(name, "log_prob") == NULL)
            return true;
    }
    return false;
}

enum {
    IN_ATTENTION = 1,
    IN_SOFTMAX = 2,
    IN_KERNEL = 4,
    KNOWN = 128,
    SCORES = IN_ATTENTION | IN_SOFTMAX
};

/* word: in small letters. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (; *name != 0; name++)
        if ((*name | 32) == *word && strncasecmp(name, word, n) == 0)
            return true;
    return false;
}

/* What a frame stands for, by the name of a Python function; and PyTorch's own attention, by the
 * C++ function that writes its scores out, whatever Python calls it. */
static unsigned scores_by_name(const struct mt_trace *t, const struct mt_frame *f)
{
    const char *name = mt_str(t, f->name);
    if (!mt_file_is_python(mt_str(t, f->file), mt_str_len(t, f->file))) {
        if (has_word(name, "attention_math"))
            return IN_KERNEL | SCORES;
        return has_word(name, "softmax") && !has_word(name, "log_softmax") &&
                       !has_word(name, "backward")
                   ? IN_SOFTMAX
                   : 0;
    }
    if (has_word(name, "attention") || has_word(name, "attn"))
        return IN_ATTENTION;
    return has_word(name, "softmax") && !has_word(name, "log_softmax") ? IN_SOFTMAX : 0;
}

/* What a stack goes through. known: by frame, what it stands for and KNOWN; stacks share their
 * frames. NULL where there is no memory for it. */
static unsigned scores_of(const struct mt_trace *t, uint8_t *known, mt_stack_id s)
{
    unsigned in = 0;
    for (; s != 0; s = t->stacks.p[s].parent) {
        const mt_frame_id id = t->stacks.p[s].frame;
        if (known == NULL) {
            in |= scores_by_name(t, &t->frames.p[id]);
            continue;
        }
        if (known[id] == 0)
            known[id] = (uint8_t)(KNOWN | scores_by_name(t, &t->frames.p[id]));
        in |= known[id];
    }
    return in & ~(unsigned)KNOWN;
}

/* The job's function that a stack lies in: its innermost Python frame outside of PyTorch. */
static const struct mt_frame *own_function(const struct mt_trace *t, mt_stack_id s)
{
    mt_frame_id frame = 0;
    return mt_stack_site(t, NULL, s, &frame) == MT_SITE_PYTHON ? &t->frames.p[frame] : NULL;
}

static bool is_in(const struct mt_trace *t, mt_stack_id s, const struct mt_frame *function)
{
    const struct mt_frame *f = function != NULL ? own_function(t, s) : NULL;
    return f != NULL && f->file == function->file && f->name == function->name;
}

/* An attention by its operations, whatever it is called: a function that takes a softmax and makes
 * products of batches of matrices, by the names of C++ frames. A router's softmax is of one
 * product. NULL = the stack lies in none, or in one that weighs no values. */
static const struct mt_frame *attends(const struct mt_device_analysis *d, const struct mt_trace *t,
                                      mt_stack_id s)
{
    const struct mt_frame *f = own_function(t, s);
    for (uint32_t i = 0; f != NULL && i < d->roles.unweighted.n; i++) {
        const struct mt_frame *u = &t->frames.p[d->roles.unweighted.p[i]];
        if (u->file == f->file && u->name == f->name)
            return NULL;
    }
    for (mt_stack_id i = 1; f != NULL && i < t->stacks.n; i++) {
        const struct mt_frame *op = &t->frames.p[t->stacks.p[i].frame];
        if (!mt_file_is_python(mt_str(t, op->file), mt_str_len(t, op->file)) &&
            has_word(mt_str(t, op->name), "bmm") && is_in(t, i, f))
            return f;
    }
    return NULL;
}

/* As large, but for the rounding of older snapshots. */
static bool is_as_large(uint64_t a, uint64_t b) { return a <= b + 511 && b <= a + 511; }

static double attention_scores(const struct mt_device_analysis *d, const struct mt_trace *t,
                               uint8_t *known, bool *by_kernel)
{
    const struct mt_oom *o = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    unsigned in = o != NULL ? scores_of(t, known, o->stack) : 0;
    const struct mt_frame *own = in == IN_SOFTMAX ? attends(d, t, o->stack) : NULL;
    uint64_t scores = o != NULL && ((in & SCORES) == SCORES || own != NULL) ? o->request : 0;
    double bytes = 0;
    *by_kernel = scores != 0 && (in & IN_KERNEL);
    for (uint32_t i = 0; i < d->by_stack.n; i++) {
        const struct mt_stack_share *w = &d->by_stack.p[i];
        unsigned at = w->largest > scores ? scores_of(t, known, w->stack) : 0;
        const struct mt_frame *f = at == IN_SOFTMAX ? attends(d, t, w->stack) : NULL;
        if ((at & SCORES) != SCORES && f == NULL)
            continue;
        own = f;
        scores = w->largest;
        *by_kernel = (at & IN_KERNEL) != 0;
    }
    for (uint32_t i = 0; i < d->by_stack.n && scores != 0; i++) {
        const struct mt_stack_share *w = &d->by_stack.p[i];
        if ((is_as_large(w->largest, scores) || is_as_large(w->largest * 2, scores) ||
             is_as_large(w->largest, scores * 2)) &&
            ((scores_of(t, known, w->stack) & IN_ATTENTION) != 0 || is_in(t, w->stack, own) ||
             w->attr.sub == MT_PH_BACKWARD)) /* their gradients */
            bytes += (double)w->bytes;
    }
    if (o != NULL && scores != 0 && o->request >= scores / 2 && o->request <= scores * 2 + 511 &&
        ((in & IN_ATTENTION) != 0 || is_in(t, o->stack, own) || o->attr.sub == MT_PH_BACKWARD))
        bytes += (double)o->request;
    return bytes;
}

double mt_attention_scores(const struct mt_device_analysis *d, const struct mt_trace *t,
                           bool *by_kernel)
{
    uint8_t *known;
    double bytes;
    *by_kernel = false;
    if (t == NULL)
        return 0;
    known = mt_calloc(t->frames.n, sizeof *known);
    bytes = attention_scores(d, t, known, by_kernel);
    mt_free(known);
    return bytes;
}

double mt_stage_outputs_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    static const char stage[] = "torch/distributed/pipelining/stage.py",
                      chunks[] = "torch/distributed/pipelining/microbatch.py";
    double kept = 0, joined = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++) {
        const struct mt_owner *w = &d->owners.p[i];
        if (mt_stack_goes_through(t, w->stack, chunks, "merge_chunks"))
            joined += (double)w->largest;
        else if (mt_stack_goes_through(t, w->stack, stage, "forward_one_chunk") &&
                 mt_is_logits_request(&d->roles, w->largest, false))
            kept += (double)(w->bytes - w->largest); /* the micro-batch at work needs its own */
    }
    if (t != NULL && d->focus_is_oom && d->ooms.n != 0 &&
        mt_stack_goes_through(t, d->ooms.p[0].stack, chunks, "merge_chunks"))
        joined += (double)d->ooms.p[0].request;
    return kept + joined;
}

double mt_set_up_series(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    enum { MANY = 4 }; /* chosen by hand: two or three of one size are weights of a layer */
    const struct mt_oom *o = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    const struct mt_frame *f = t != NULL && o != NULL ? own_function(t, o->stack) : NULL;
    uint64_t n = 0;
    if (f == NULL || strcmp(mt_str(t, f->name), "__init__") != 0 ||
        mt_phase_is(o->attr.sub, MT_IN_FORWARD | MT_IN_BACKWARD | MT_IN_OPTIMIZER))
        return 0;
    for (uint32_t i = 0; i < d->by_stack.n; i++) {
        const struct mt_stack_share *w = &d->by_stack.p[i];
        if (w->largest == o->request && w->bytes == w->blocks * w->largest && is_in(t, w->stack, f))
            n += w->blocks;
    }
    return n >= MANY ? (double)(n * o->request) : 0;
}

static bool is_one_of(const struct mt_trace *t, mt_stack_id s, const char *const *names, unsigned n)
{
    char by[64];
    if (!mt_stack_operation(t, s, by, sizeof by))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (mt_glob(names[i], by, strlen(by)))
            return true;
    return false;
}

/* Some frame is of an operation that is such a statistic as a whole: few traces have one. */
static bool has_whole(const struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->frames.n; i++) {
        const char *name = mt_str(t, t->frames.p[i].name);
        if (strstr(name, "::cov") != NULL || strstr(name, "corrcoef") != NULL ||
            strstr(name, "pca_lowrank") != NULL)
            return true;
    }
    return false;
}

/* Whether the function that this stack lies in does so with what the stack makes. has: has_whole().
 * All stacks are looked at only where that or the operation gives a reason. */
static bool is_statistic(const struct mt_trace *t, mt_stack_id s, bool has)
{
    static const char *const less[] = {"sub", "sub_", "rsub"},
                             *const mean[] = {"mean", "mean_*", "var_mean*"},
                             *const product[] = {"matmul", "mm", "einsum"},
                             *const whole[] = {"cov", "corrcoef", "pca_lowrank"};
    bool centred = is_one_of(t, s, less, sizeof less / sizeof *less), means = false,
         multiplied = false;
    const struct mt_frame *f = centred || has ? own_function(t, s) : NULL;
    for (mt_stack_id i = 1; f != NULL && i < t->stacks.n; i++) {
        if (!is_in(t, i, f))
            continue;
        if (is_one_of(t, i, whole, sizeof whole / sizeof *whole))
            return true;
        means = means || (centred && is_one_of(t, i, mean, sizeof mean / sizeof *mean));
        multiplied =
            multiplied || (centred && is_one_of(t, i, product, sizeof product / sizeof *product));
    }
    return means && multiplied;
}

bool mt_rows_statistic(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    /* PART: of the largest, the data and what is made of them are alike */
    enum { PART = 2, MOST = 16 };
    const struct mt_oom *o = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    uint64_t most = o != NULL ? o->request : 0;
    uint32_t n = 0; /* of those looked at: more than MOST are no few tensors of a statistic */
    bool has = t != NULL && has_whole(t);
    for (uint32_t i = 0; i < d->by_stack.n; i++)
        most = d->by_stack.p[i].largest > most ? d->by_stack.p[i].largest : most;
    if (t != NULL && o != NULL && o->request >= most / PART && is_statistic(t, o->stack, has))
        return true;
    for (uint32_t i = 0; t != NULL && i < d->by_stack.n && n < MOST; i++)
        if (d->by_stack.p[i].largest >= most / PART) {
            if (is_statistic(t, d->by_stack.p[i].stack, has))
                return true;
            n++;
        }
    return false;
}

double mt_loaded_tensor(const struct mt_device_analysis *d)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->owners.n; i++)
        if (d->owners.p[i].attr.phase == MT_PH_ROLLOUT_LOAD && d->owners.p[i].largest > most)
            most = d->owners.p[i].largest;
    return (double)most;
}

bool mt_is_logits_request(const struct mt_role_facts *f, uint64_t request, bool backward)
{
    enum { MIN_ROWS = 64, ROUNDED = 511, SHIFTED = 50 };
    uint64_t row = f->vocab_split != 0 ? f->vocab / f->vocab_split * 2 : f->vocab * 2, rows;
    if (row <= ROUNDED || request % row > ROUNDED)
        return false;
    rows = request / row;
    if (rows < MIN_ROWS)
        return false;
    if (backward)
        return rows == f->logits_tokens || rows == f->logits_tokens * 2;
    if (!f->vocab_is_smooth)
        return true;
    /* the copy that shifts labels lacks a token of each sequence */
    for (unsigned wide = 1; wide <= 2; wide++) {
        uint64_t of = f->logits_tokens * wide;
        if (rows <= of && of - rows <= of / SHIFTED)
            return true;
    }
    return false;
}

bool mt_metric_arm_path(const char *path)
{
    return strstr(path, "aarch64") != NULL || strstr(path, "torch_npu") != NULL;
}

/* "C:\\x\\train.py" */
bool mt_metric_windows_path(const char *path)
{
    return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) &&
           path[1] == ':' && path[2] == '\\';
}

bool mt_metric_arm(const struct mt_trace *t)
{
    for (uint32_t i = 0; t != NULL && i < t->functions.n; i++) {
        if (mt_metric_arm_path(mt_str(t, t->functions.p[i].file)))
            return true;
    }
    return false;
}
