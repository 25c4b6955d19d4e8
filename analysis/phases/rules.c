/* The phase rules: the built-in methods, then the rows of the embedded phases.json, then those of
 * an overlay. A rule file is read strictly: a misspelt field would otherwise be a rule that
 * silently never applies. */
#include "analysis/phases/impl.h"
#include "analysis/base/rule_read.h"

#include <string.h>

static const struct mt_phase_rule methods[MT_METHOD_COUNT] = {
    [MT_METHOD_NONE] = {"", "", '*', "-", "", "", 'G', "", "", ""},
    [MT_METHOD_ENGINE] =
        {"method.autograd_engine", "torch", '*', "backward", "", "", 'G',
         "a C++ frame of the autograd engine: the root of every stack of an autograd thread",
         "pytorch/pytorch, torch/csrc/autograd/engine.cpp", ""},
    [MT_METHOD_EMPTY_RUN] = {"method.empty_backward", "torch", '*', "backward", "", "", 'G',
                             "allocations without frames right after the root gradient was made: "
                             "the autograd thread has no Python frames",
                             "pytorch/pytorch, torch/autograd/__init__.py", ""},
    [MT_METHOD_EMPTY_WINDOW] = {"method.empty_window", "torch", '*', "backward", "", "", 'G',
                                "allocations without frames between two of the same training phase",
                                "pytorch/pytorch", ""},
    [MT_METHOD_NAME_FORWARD] = {"method.by_name_forward", "python", '*', "forward", "", "", 'U',
                                "a function outside PyTorch whose name speaks of forward, "
                                "attention, mlp, embedding, loss, softmax or logits",
                                "its name", ""},
    [MT_METHOD_NAME_BACKWARD] = {"method.by_name_backward", "python", '*', "backward", "", "", 'U',
                                 "a function outside PyTorch that is called backward", "its name",
                                 ""},
    [MT_METHOD_NO_GRAD] = {"method.no_grad", "torch", '*', "infer", "", "", 'G',
                           "a model is run in a function that PyTorch's wrapper calls without "
                           "gradients (no_grad, inference_mode)",
                           "pytorch/pytorch, torch/utils/_contextlib.py", ""},
    [MT_METHOD_LET_GO] = {"method.let_go", "torch", '*', "infer", "", "", 'G',
                          "after training, a call that no backward pass has followed lets go of "
                          "what the same lines kept when they were trained",
                          "the trace", ""},
    [MT_METHOD_FOR_NONE] = {"method.for_none", "torch", '*', "infer", "", "", 'G',
                            "nothing is trained in the trace, and calls of a model kept their "
                            "blocks together until they were over",
                            "the trace", ""},
    [MT_METHOD_UNTOLD] = {"method.untold", "torch", '*', "unattributed", "", "", 'G',
                          "behind training, memory runs out in the first blocks of a call whose "
                          "line no backward pass has ever followed: it may train or not",
                          "the trace", ""},
    [MT_METHOD_GOES_ON] = {"method.goes_on", "torch", '*', "infer", "", "", 'G',
                           "calls from one line let go of what they make as they go on, more of "
                           "them one after the other than training has, and no backward pass comes",
                           "the trace", ""},
    [MT_METHOD_OUTSIDE] =
        {"method.outside", "torch", '*', "-", "", "", 'G',
         "no pass was run yet and a model was brought to the card: set-up; or the "
         "function that all steps were made from has returned: unattributed",
         "the trace", ""},
    [MT_METHOD_CARRY] = {"method.carry", "any", '*', "-", "", "", 'G',
                         "nothing in the stack tells: the phase that held before goes on",
                         "neighbours in time", ""},
    [MT_METHOD_NO_STACK] = {"method.no_stack", "any", '*', "unattributed", "", "", 'G',
                            "no stack was recorded", "the trace", ""},
    [MT_METHOD_NO_SIGNATURE] = {"method.no_signature", "any", '*', "unattributed", "", "", 'G',
                                "no signature matches any frame of the stack", "the trace", ""},
};

/* A row, with what does not go into the rule as it stands. */
struct row {
    struct mt_phase_rule rule;
    int gradients, in_loss; /* index in their words; -1 = absent */
};
static const char *const gradient_words[] = {
    "none",    /* all below runs without them */
    "unasked", /* all below waits for no backward pass: nothing there asks for one, the job does so
                  elsewhere or not at all */
    "kept",    /* a pass below keeps what a backward would want, and no backward pass came yet */
    NULL};
enum { NONE, UNASKED, KEPT };
static const char *const loss_words[] = {"step", NULL}; /* the training step itself, not the loss */
#define AT(member) offsetof(struct row, member)
static const struct mt_rule_spec fields[] = {
    {"id", mt_get_text, .at = AT(rule.id), .is_needed = true},
    {"framework", mt_get_text, .at = AT(rule.framework), .is_needed = true},
    {"level", mt_get_letter, .at = AT(rule.level), .is_needed = true, .more = "CPSMKWONA"},
    {"phase", mt_get_text, .at = AT(rule.phase), .is_needed = true},
    {"file", mt_get_any_text, .at = AT(rule.file_suffix)},
    {"function", mt_get_text, .at = AT(rule.function), .is_needed = true},
    {"status", mt_get_letter, .at = AT(rule.status), .is_needed = true, .more = "GRDU"},
    {"note", mt_get_any_text, .at = AT(rule.note)},
    {"source", mt_get_any_text, .at = AT(rule.source)},
    {"gradients", mt_get_word, .at = AT(gradients), .more = gradient_words},
    {"last_call", mt_get_text, .at = AT(rule.last_call)},
    {"in_loss", mt_get_word, .at = AT(in_loss), .more = loss_words},
    {.name = NULL}};

/* The loader's own of a reader. */
struct file {
    struct mt_phase_rules *r;
    uint32_t first;  /* rules before this one are of an earlier file */
    uint16_t *slots; /* rules by their ids; 0 = none */
};
enum { SLOTS = 8192 };
_Static_assert(SLOTS > 2 * MT_MAX_PHASE_RULES, "half of them are free, whatever is added");

/* Not strspn(): that makes a table of the letters each time. */
static bool is_id(const char *s)
{
    const char *start = s;
    while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
           *s == '.' || *s == '_' || *s == '-')
        s++;
    return *s == '\0' && s - start <= 120;
}

static enum mt_rc check_file(const struct mt_rule_reader *r, const struct mt_phase_rule *rule)
{
    bool is_name = rule->level == 'A' || rule->level == 'N';
    if (is_name && rule->file_suffix[0] != '\0')
        return mt_rule_bad(r, "file", "%s",
                           rule->level == 'A'
                               ? "has no meaning at level A: annotations have a name and no file"
                               : "has no meaning at level N: a name in any file of the job's own "
                                 "code");
    if (!is_name && rule->file_suffix[0] == '\0')
        return mt_rule_bad(r, "file", "is missing or empty");
    if (strchr(rule->file_suffix, '\\') != NULL || rule->file_suffix[0] == '/')
        return mt_rule_bad(r, "file",
                           "has to be the end of a path, with '/' and without one in front");
    if (strlen(rule->file_suffix) > 4096)
        return mt_rule_bad(r, "file", "is longer than 4096 bytes");
    return MT_OK;
}

static enum mt_rc check_row(const struct mt_rule_reader *r, const struct row *row)
{
    const struct mt_phase_rule *rule = &row->rule;
    const char *only_c = row->gradients == NONE       ? "gradients"
                         : row->in_loss >= 0          ? "in_loss"
                         : rule->last_call[0] != '\0' ? "last_call"
                                                      : NULL;
    enum mt_rc rc;
    int phase;
    if (!is_id(rule->id))
        return mt_rule_bad(r, "id", "has to be 1 to 120 letters, digits, '.', '_' or '-'");
    if (strncmp(rule->id, "method.", 7) == 0)
        return mt_rule_bad(r, "id", "begins with \"method.\", which is kept for what is built in");
    if (only_c != NULL && rule->level != 'C')
        return mt_rule_bad(r, only_c, "has a meaning at level C only");
    if ((row->gradients == UNASKED || row->gradients == KEPT) && rule->level != 'N')
        return mt_rule_bad(r, "gradients", "is \"%s\" at level N only",
                           gradient_words[row->gradients]);
    rc = check_file(r, rule);
    if (rc != MT_OK || rule->level == 'M' || rule->level == 'K')
        return rc; /* names of containers and role markers are free */
    phase = mt_phase_find(rule->phase, strlen(rule->phase));
    if (phase < 0 || phase == MT_PH_NONE || phase == MT_PH_UNATTRIBUTED)
        return mt_rule_bad(r, "phase", "is no phase; docs/rules-phases.md lists them");
    if (strchr("CNP", rule->level) != NULL && !mt_phase_is((unsigned)phase, MT_COARSE))
        return mt_rule_bad(r, "phase",
                           "has to be a coarse phase at levels C, N and P, such as train_actor or "
                           "rollout.generate");
    if ((rule->level == 'W' || rule->level == 'O') && mt_phase_is((unsigned)phase, MT_COARSE))
        return mt_rule_bad(r, "phase",
                           "has to be a sub-phase at levels W and O, such as forward or backward");
    return MT_OK;
}

static uint32_t hash_id(const char *id)
{
    uint32_t h = 2166136261u;
    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char)*id) * 16777619u;
    return h;
}

static void compile(const struct mt_phase_rules *r, bool is_overlay,
                    const struct mt_phase_rule *rule, struct mt_rule_code *code)
{
    int phase = mt_phase_find(rule->phase, strlen(rule->phase));
    uint32_t traits = mt_framework_at(r->fw, mt_framework_find(r->fw, rule->framework))->traits;
    bool in_step =
        (traits & (phase != MT_PH_INIT ? MT_FWT_PASSES_IN_STEP : MT_FWT_SET_UP_IN_STEP)) != 0;
    code->phase = (uint8_t)(phase < 0 || rule->level == 'K' ? MT_PH_NONE : phase);
    code->file_len = (uint16_t)strlen(rule->file_suffix);
    code->flags = (uint8_t)((is_overlay ? MT_RF_OVERLAY : 0) |
                            ((traits & MT_FWT_LOG_PROBS) != 0 ? MT_RF_LOG_PROBS : 0) |
                            (in_step ? MT_RF_IN_STEP : 0));
}

/* Where a rule goes: over the one with its id, or behind the last. */
static enum mt_rc place(const struct mt_rule_reader *rd, const char *id, uint32_t *at)
{
    const struct file *f = rd->of;
    struct mt_phase_rules *r = f->r;
    uint32_t slot = hash_id(id) % SLOTS;
    for (; f->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        if (strcmp(r->rule.p[f->slots[slot]].id, id) != 0)
            continue;
        *at = f->slots[slot];
        return *at >= f->first || (r->code.p[*at].flags & MT_RF_OVERLAY) != 0
                   ? mt_rule_bad(rd, "id", "is there twice in this file")
                   : MT_OK;
    }
    if (r->rule.n > MT_MAX_PHASE_RULES)
        return mt_rule_bad(rd, NULL,
                           "there are more than 4095 phase rules, built-in ones and methods "
                           "included");
    *at = r->rule.n;
    f->slots[slot] = (uint16_t)*at;
    return MT_VEC_PUSH(&r->rule) != NULL && MT_VEC_PUSH(&r->code) != NULL ? MT_OK
                                                                          : mt_rule_nomem(rd);
}

static enum mt_rc read_cut(struct mt_rule_reader *rd, const cJSON *obj)
{
    return mt_cut_read(((struct file *)rd->of)->r, rd, obj);
}

static enum mt_rc read_row(struct mt_rule_reader *rd, const cJSON *obj)
{
    struct mt_phase_rules *r = ((struct file *)rd->of)->r;
    struct row row = {{.file_suffix = "", .note = "", .source = "", .last_call = ""}, -1, -1};
    uint32_t at = 0;
    enum mt_rc rc = mt_rule_fields(rd, obj, fields, &row);
    if (rc == MT_OK)
        rc = check_row(rd, &row);
    if (rc == MT_OK)
        rc = place(rd, row.rule.id, &at);
    if (rc != MT_OK)
        return rc;
    r->rule.p[at] = row.rule;
    compile(r, rd->is_overlay, &row.rule, &r->code.p[at]);
    r->code.p[at].flags |= (uint8_t)((row.gradients == NONE ? MT_RF_NO_GRAD : 0) |
                                     (row.gradients == UNASKED ? MT_RF_UNASKED : 0) |
                                     (row.gradients == KEPT ? MT_RF_KEPT : 0) |
                                     (row.rule.last_call[0] != '\0' ? MT_RF_LAST_CALL : 0) |
                                     (row.in_loss >= 0 ? MT_RF_IN_LOSS : 0));
    return MT_OK;
}

static enum mt_rc add_methods(const struct mt_rule_reader *rd, struct mt_phase_rules *r)
{
    for (int i = 0; i < MT_METHOD_COUNT; i++) {
        struct mt_phase_rule *rule = MT_VEC_PUSH(&r->rule);
        struct mt_rule_code *code = MT_VEC_PUSH(&r->code);
        if (rule == NULL || code == NULL)
            return mt_rule_nomem(rd);
        *rule = methods[i];
        compile(r, false, rule, code);
    }
    return MT_OK;
}

enum mt_rc mt_phase_rules_load(struct mt_phase_rules **out, const struct mt_framework_rules *fw,
                               const char *overlay, size_t overlay_len, const char *overlay_name,
                               struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"phases", "phase rule", "id", read_row},
                                                {"cut", "cut rule", "id", read_cut},
                                                {.name = NULL}};
    struct mt_phase_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {.r = r, .slots = mt_calloc(SLOTS, sizeof *f.slots)};
    struct mt_rule_reader rd = {.file = "phases.json", .err = err, .of = &f};
    enum mt_rc rc = MT_ENOMEM;
    *out = NULL;
    if (r == NULL || f.slots == NULL) {
        rc = mt_rule_nomem(&rd);
        goto out;
    }
    r->fw = fw;
    rd.arena = &r->arena;
    rc = add_methods(&rd, r);
    f.first = r->rule.n;
    if (rc == MT_OK)
        rc = mt_rule_builtin(&rd, "phases.json", lists);
    f.first = r->rule.n;
    if (rc == MT_OK)
        rc = mt_rule_overlay(&rd, overlay, overlay_len, overlay_name, lists);
    if (rc == MT_OK && !mt_cut_finish(r))
        rc = mt_rule_nomem(&rd);
out:
    mt_free(f.slots);
    if (rc < 0)
        mt_phase_rules_free(r);
    else
        *out = r;
    return rc;
}

void mt_phase_rules_free(struct mt_phase_rules *r)
{
    if (r == NULL)
        return;
    mt_arena_done(&r->arena);
    MT_VEC_DONE(&r->rule);
    MT_VEC_DONE(&r->code);
    MT_VEC_DONE(&r->cut);
    MT_VEC_DONE(&r->steps);
    mt_free(r);
}

const struct mt_framework_rules *mt_phase_rules_frameworks(const struct mt_phase_rules *r)
{
    return r->fw;
}

uint32_t mt_phase_rules_count(const struct mt_phase_rules *r) { return r->rule.n - 1; }

const struct mt_phase_rule *mt_phase_rule_at(const struct mt_phase_rules *r, uint32_t index)
{
    return index != 0 && index < r->rule.n ? &r->rule.p[index] : NULL;
}
