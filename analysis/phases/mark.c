/* From frames to marks: which rules a single frame matches, by function and end of path, and what
 * its name alone suggests. */
#include "analysis/base/frames.h"
#include "analysis/phases/mark.h"
#include "parser/base/find.h"
#include "parser/model/intern.h"
#include "parser/base/text.h"

#include <string.h>

static bool has(const char *s, uint32_t n, const char *word)
{
    return mt_find(s, n, word, strlen(word)) != NULL;
}

/* SomethingBackward0::apply, SomethingBackward1_copy::apply */
static bool is_backward_node(const char *s, uint32_t n)
{
    const char *end = s + n, *p = s;
    while ((p = mt_find(p, (size_t)(end - p), "Backward", 8)) != NULL) {
        const char *q = p += 8;
        while (q < end && *q >= '0' && *q <= '9')
            q++;
        if (end - q >= 5 && memcmp(q, "_copy", 5) == 0)
            q += 5;
        if (end - q >= 7 && memcmp(q, "::apply", 7) == 0)
            return true;
    }
    return false;
}

/* The root of every stack of an autograd thread. torch::autograd:: alone is in every forward stack
 * (VariableType). */
static bool is_engine(const char *s, uint32_t n)
{
    int len;
    if (has(s, n, "torch::autograd::") && (has(s, n, "torch::autograd::Engine::") ||
                                           has(s, n, "torch::autograd::python::PythonEngine::") ||
                                           has(s, n, "torch::autograd::Node::operator()")))
        return true;
    if (mt_backward_op(s, n, &len) != NULL)
        return true;
    return has(s, n, "::apply") && (has(s, n, "AccumulateGrad::apply") || is_backward_node(s, n));
}

static unsigned name_flags(const char *s, uint32_t n)
{
    static const char *const anywhere[] = {"loss",   "cross_entropy", "softmax",
                                           "logits", "logp",          "log_prob"};
    static const char *const words[] = {"forward", "attention", "mlp", "embedding"};
    if (n == 8 && memcmp(s, "backward", 8) == 0)
        return MK_NAME_BACKWARD;
    if (has(s, n, "forward_backward") ||
        has(s, n, "backward_forward")) /* both passes, or a question about them */
        return 0;
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        if (has(s, n, anywhere[i]))
            return MK_NAME_FORWARD;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = s;
        while ((p = mt_find(p, (size_t)(s + n - p), words[i], strlen(words[i]))) != NULL) {
            if (p == s || p[-1] == '_')
                return MK_NAME_FORWARD;
            p++;
        }
    }
    return 0;
}

/* Rules by the string id of their function name, so that a frame costs one look-up and hashes
 * nothing. */
struct names {
    struct {
        mt_str_id name;
        uint16_t head; /* rule, 0 = empty */
    } * slot;
    uint32_t mask;
    uint16_t *next; /* by rule */
};

static uint32_t name_slot(const struct names *t, mt_str_id name)
{
    uint32_t i = (name * 2654435761u >> 7) & t->mask;
    while (t->slot[i].head != 0 && t->slot[i].name != name)
        i = (i + 1) & t->mask;
    return i;
}

static int names_build(struct names *t, const struct mt_phaser *p)
{
    uint32_t n = 64;
    while (n < p->rules->rule.n * 2)
        n *= 2;
    t->mask = n - 1;
    t->slot = mt_calloc(n, sizeof *t->slot);
    t->next = mt_calloc(p->rules->rule.n, sizeof *t->next);
    if (t->slot == NULL || t->next == NULL)
        return 0;
    for (uint32_t i = MT_METHOD_COUNT; i < p->rules->rule.n; i++) {
        const struct mt_phase_rule *r = &p->rules->rule.p[i];
        mt_str_id name;
        uint32_t at;
        if (r->level == 'A')
            continue; /* names of ranges, not of functions */
        name = mt_strpool_find(&p->t->str, r->function, strlen(r->function));
        if (name == MT_STR_FAIL)
            continue; /* no frame of this trace has that name */
        at = name_slot(t, name);
        t->next[i] = t->slot[at].head;
        t->slot[at].name = name;
        t->slot[at].head = (uint16_t)i;
    }
    return 1;
}

/* The longer file suffix wins, then an overlay, then the earlier rule. */
static bool better(const struct mt_phase_rules *r, uint32_t a, uint32_t b)
{
    const struct mt_rule_code *ca = &r->code.p[a], *cb = &r->code.p[b];
    if (b == 0 || ca->file_len != cb->file_len)
        return b == 0 || ca->file_len > cb->file_len;
    if ((ca->flags & MT_RF_OVERLAY) != (cb->flags & MT_RF_OVERLAY))
        return (ca->flags & MT_RF_OVERLAY) != 0;
    return a < b;
}

static uint16_t *slot_of(struct mt_marks *m, char level, enum mt_phase phase)
{
    switch (level) {
    case 'C': return &m->c;
    case 'S': return &m->s;
    case 'M': return phase != MT_PH_NONE ? &m->m : &m->role;
    case 'W': return &m->w;
    case 'O': return &m->o;
    case 'N': return &m->n;
    case 'P': return &m->p;
    default: return &m->k;
    }
}

/* Nobody's package: a name in it is the job's own word. */
static bool is_own_code(const char *s, uint32_t n)
{
    return !mt_file_is_packaged(s) && !mt_file_is_torch(s, n) &&
           !(n >= 7 && (memcmp(s, "<frozen", 7) == 0 || memcmp(s, "<string", 7) == 0));
}

/* What PyTorch's own frames say of gradients. */
static unsigned grad_flags(const char *name, const char *file, uint32_t file_n)
{
    bool is_wrapper =
        strcmp(name, "decorate_context") == 0 || strcmp(name, "generator_context") == 0;
    if (is_wrapper && (mt_path_ends(file, file_n, "torch/utils/_contextlib.py", 26) ||
                       mt_path_ends(file, file_n, "torch/autograd/grad_mode.py", 27)))
        return MK_NO_GRAD;
    if ((strcmp(name, "backward") == 0 &&
         (mt_path_ends(file, file_n, "torch/_tensor.py", 16) ||
          mt_path_ends(file, file_n, "torch/autograd/__init__.py", 26))) ||
        (strcmp(name, "grad") == 0 && mt_path_ends(file, file_n, "torch/autograd/__init__.py", 26)))
        return MK_BACKWARD_CALL;
    return 0;
}

static void mark_frame(const struct mt_phaser *p, const struct names *t, const struct mt_frame *f,
                       struct mt_marks *m)
{
    const char *name = mt_str(p->t, f->name), *file = mt_str(p->t, f->file);
    uint32_t n = mt_str_len(p->t, f->name), file_n = mt_str_len(p->t, f->file);
    memset(m, 0, sizeof *m);
    if (!mt_file_is_python(file, file_n)) {
        m->flags = is_engine(name, n) ? MK_ENGINE : 0;
        return;
    }
    m->flags = MK_PYTHON;
    for (uint32_t i = t->slot[name_slot(t, f->name)].head; i != 0; i = t->next[i]) {
        const struct mt_phase_rule *r = &p->rules->rule.p[i];
        uint16_t *at = slot_of(m, r->level, mt_rule_phase(p->rules, i));
        bool fits = r->level == 'N'
                        ? is_own_code(file, file_n)
                        : mt_path_ends(file, file_n, r->file_suffix, p->rules->code.p[i].file_len);
        /* of one line: phases/lines.c */
        fits = fits && !(p->rules->code.p[i].flags & MT_RF_LAST_CALL);
        if (fits && better(p->rules, i, *at))
            *at = (uint16_t)i;
    }
    if (!(m->c || m->s || m->m || m->role || m->w || m->o || m->k || m->p) &&
        !mt_file_is_torch(file, file_n)) /* what is known needs no guess */
        m->flags |= (uint16_t)name_flags(name, n);
    m->flags |= (uint16_t)grad_flags(name, file, file_n);
    if (strcmp(name, "_make_grads") == 0 &&
        mt_path_ends(file, file_n, "torch/autograd/__init__.py", 26))
        m->flags |= MK_MAKE_GRADS | MK_BACKWARD_CALL;
    if (strcmp(name, "compute_loss") == 0 || strcmp(name, "_compute_loss") == 0)
        m->flags |= MK_LOSS_CALL;
}

int mt_mark_frames(const struct mt_phaser *p, struct mt_pool *marks, uint16_t *of_frame)
{
    /* Rules look at name and file only: a trace may have a million frames of a thousand functions.
     */
    const struct mt_trace *t = p->t;
    struct names names = {NULL, 0, NULL};
    uint32_t *function = mt_malloc((size_t)t->frames.n * sizeof *function);
    uint16_t *mark = mt_malloc(((size_t)t->functions.n + 1) * sizeof *mark);
    int ok = function != NULL && mark != NULL && names_build(&names, p) &&
             mt_functions_of_frames(t, function);
    /* the last one stands for frame 0, "none" */
    for (uint32_t i = 0; ok && i <= t->functions.n; i++) {
        struct mt_frame f = {0, 0, 0};
        struct mt_marks m;
        uint32_t index;
        if (i < t->functions.n) {
            f.name = t->functions.p[i].name;
            f.file = t->functions.p[i].file;
        }
        mark_frame(p, &names, &f, &m);
        ok = mt_pool_add(marks, &m, &index) && index <= UINT16_MAX;
        if (ok)
            mark[i] = (uint16_t)index;
    }
    for (uint32_t i = 0; ok && i < t->frames.n; i++)
        of_frame[i] = mark[i == 0 ? t->functions.n : function[i]];
    ok = ok && mt_mark_lines(p, marks, of_frame);
    mt_free(function);
    mt_free(mark);
    mt_free(names.slot);
    mt_free(names.next);
    return ok;
}
