/* The phase rules: the built-in methods, then the rows of the embedded phases.json, then those of
 * an overlay. A rule file is read strictly: a misspelt field would otherwise be a rule that
 * silently never applies. */
#include "analysis/phases/impl.h"
#include "analysis/base/rule_json.h"

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
    [MT_METHOD_CARRY] = {"method.carry", "any", '*', "-", "", "", 'G',
                         "nothing in the stack tells: the phase that held before goes on",
                         "neighbours in time", ""},
    [MT_METHOD_NO_STACK] = {"method.no_stack", "any", '*', "unattributed", "", "", 'G',
                            "no stack was recorded", "the trace", ""},
    [MT_METHOD_NO_SIGNATURE] = {"method.no_signature", "any", '*', "unattributed", "", "", 'G',
                                "no signature matches any frame of the stack", "the trace", ""},
};

enum field {
    F_ID,
    F_FRAMEWORK,
    F_LEVEL,
    F_PHASE,
    F_FILE,
    F_FUNCTION,
    F_STATUS,
    F_NOTE,
    F_SOURCE,
    F_GRADIENTS,
    F_LAST_CALL,
    F_IN_LOSS,
    F_COUNT
};
static const char *const field_names[F_COUNT] = {"id",     "framework", "level",     "phase",
                                                 "file",   "function",  "status",    "note",
                                                 "source", "gradients", "last_call", "in_loss"};

/* One rule file being read. */
struct file {
    struct mt_phase_rules *r;
    const char *name;
    uint32_t first; /* rules before this one are of an earlier file */
    bool is_overlay;
    struct mt_err *err;
    uint16_t *slots; /* rules by their ids; 0 = none */
};
enum { SLOTS = 8192 };
_Static_assert(SLOTS > 2 * MT_MAX_PHASE_RULES, "half of them are free, whatever is added");

static enum mt_rc nomem(struct mt_err *err)
{
    return mt_fail(err, MT_ENOMEM, "out of memory while reading the phase rules");
}

static enum mt_rc refuse(const struct file *f, int index, const char *id, const char *what)
{
    char printable[160];
    if (id == NULL)
        return mt_fail(f->err, MT_EINPUT, "%s: rule %d of \"phases\": %s", f->name, index + 1,
                       what);
    mt_printable(printable, sizeof printable, id, strlen(id));
    return mt_fail(f->err, MT_EINPUT, "%s: rule %d of \"phases\" (\"%s\"): %s", f->name, index + 1,
                   printable, what);
}

static enum mt_rc refuse_field(const struct file *f, int index, const char *id, const char *field,
                               const char *what)
{
    char text[320], printable[96];
    mt_printable(printable, sizeof printable, field, strlen(field));
    strcpy(text, "field \"");
    strcat(text, printable);
    strcat(text, "\" ");
    strncat(text, what, sizeof text - strlen(text) - 1);
    return refuse(f, index, id, text);
}

static enum mt_rc read_fields(const struct file *f, int index, const cJSON *obj,
                              const char *v[F_COUNT])
{
    const cJSON *m;
    const char *id;
    int k = 0;
    if (!cJSON_IsObject(obj))
        return refuse(f, index, NULL, "is not an object");
    m = mt_rule_field(obj, "id");
    id = cJSON_IsString(m) ? m->valuestring : NULL;
    cJSON_ArrayForEach(m, obj)
    {
        int tried = 0;
        for (; tried < F_COUNT && !mt_rule_same(m->string, field_names[k]); tried++)
            k = (k + 1) % F_COUNT; /* most rules have their fields in this order */
        if (tried == F_COUNT)
            return refuse_field(f, index, id, m->string,
                                "is not known; there are id, framework, level, phase, file, "
                                "function, status, note, source, "
                                "gradients, last_call and in_loss");
        if (!cJSON_IsString(m))
            return refuse_field(f, index, id, field_names[k], "has to be a string");
        if (v[k] != NULL)
            return refuse_field(f, index, id, field_names[k], "is there twice");
        v[k] = m->valuestring;
        k = (k + 1) % F_COUNT;
    }
    return MT_OK;
}

/* Not strspn(): that makes a table of the letters each time. */
static bool is_id(const char *s)
{
    const char *start = s;
    while ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
           *s == '.' || *s == '_' || *s == '-')
        s++;
    return *s == '\0' && s - start <= 120;
}

static enum mt_rc check_fields(const struct file *f, int index, const char *v[F_COUNT])
{
    const char *id = v[F_ID];
    int phase;
    for (int k = F_ID; k <= F_STATUS; k++) {
        bool is_range = v[F_LEVEL] != NULL && strcmp(v[F_LEVEL], "A") == 0;
        bool is_name = v[F_LEVEL] != NULL && strcmp(v[F_LEVEL], "N") == 0;
        if (k == F_FILE && (is_range || is_name)) {
            if (v[k] != NULL && v[k][0] != '\0')
                return refuse_field(
                    f, index, id, field_names[k],
                    is_range
                        ? "has no meaning at level A: annotations have a name and no file"
                        : "has no meaning at level N: a name in any file of the job's own code");
            continue;
        }
        if (v[k] == NULL)
            return refuse_field(f, index, id, field_names[k], "is missing");
        if (v[k][0] == '\0')
            return refuse_field(f, index, id, field_names[k], "is empty");
    }
    if (!is_id(id))
        return refuse_field(f, index, id, "id",
                            "has to be 1 to 120 letters, digits, '.', '_' or '-'");
    if (strncmp(id, "method.", 7) == 0)
        return refuse_field(f, index, id, "id",
                            "begins with \"method.\", which is kept for what is built in");
    if (strlen(v[F_LEVEL]) != 1 || strchr("CPSMKWONA", v[F_LEVEL][0]) == NULL)
        return refuse_field(
            f, index, id, "level",
            "has to be one of C, P, S, M, K, W, O, N, A (see docs/rules-phases.md)");
    if (strlen(v[F_STATUS]) != 1 || strchr("GRDU", v[F_STATUS][0]) == NULL)
        return refuse_field(f, index, id, "status",
                            "has to be one of G, R, D, U (see docs/rules-phases.md)");
    if (v[F_GRADIENTS] != NULL && strcmp(v[F_GRADIENTS], "none") != 0)
        return refuse_field(
            f, index, id, "gradients",
            "has to be \"none\": all that runs below the function runs without them");
    if (v[F_GRADIENTS] != NULL && v[F_LEVEL][0] != 'C')
        return refuse_field(f, index, id, "gradients", "has a meaning at level C only");
    if (v[F_LAST_CALL] != NULL && (v[F_LAST_CALL][0] == '\0' || v[F_LEVEL][0] != 'C'))
        return refuse_field(
            f, index, id, "last_call",
            "has to be the name of a function that is called, and has a meaning at level C only");
    if (v[F_IN_LOSS] != NULL && (strcmp(v[F_IN_LOSS], "step") != 0 || v[F_LEVEL][0] != 'C'))
        return refuse_field(f, index, id, "in_loss",
                            "has to be \"step\": below a call of the loss it is the training step "
                            "itself; has a meaning at level C only");
    if (v[F_FILE] != NULL && (strchr(v[F_FILE], '\\') != NULL || v[F_FILE][0] == '/'))
        return refuse_field(f, index, id, "file",
                            "has to be the end of a path, with '/' and without one in front");
    if (v[F_FILE] != NULL && strlen(v[F_FILE]) > 4096)
        return refuse_field(f, index, id, "file", "is longer than 4096 bytes");
    if (strchr("MK", v[F_LEVEL][0]) != NULL)
        return MT_OK; /* names of containers and role markers are free */
    phase = mt_phase_find(v[F_PHASE], strlen(v[F_PHASE]));
    if (phase < 0 || phase == MT_PH_NONE || phase == MT_PH_UNATTRIBUTED)
        return refuse_field(f, index, id, "phase", "is no phase; docs/rules-phases.md lists them");
    if (strchr("CNP", v[F_LEVEL][0]) != NULL && !mt_phase_is((unsigned)phase, MT_COARSE))
        return refuse_field(f, index, id, "phase",
                            "has to be a coarse phase at levels C, N and P, such as train_actor or "
                            "rollout.generate");
    if ((v[F_LEVEL][0] == 'W' || v[F_LEVEL][0] == 'O') && mt_phase_is((unsigned)phase, MT_COARSE))
        return refuse_field(f, index, id, "phase",
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

static void compile(const struct file *f, const struct mt_phase_rule *rule,
                    struct mt_rule_code *code)
{
    int phase = mt_phase_find(rule->phase, strlen(rule->phase));
    uint32_t traits =
        mt_framework_at(f->r->fw, mt_framework_find(f->r->fw, rule->framework))->traits;
    bool in_step =
        (traits & (phase != MT_PH_INIT ? MT_FWT_PASSES_IN_STEP : MT_FWT_SET_UP_IN_STEP)) != 0;
    code->phase = (uint8_t)(phase < 0 || rule->level == 'K' ? MT_PH_NONE : phase);
    code->file_len = (uint16_t)strlen(rule->file_suffix);
    code->flags = (uint8_t)((f->is_overlay ? MT_RF_OVERLAY : 0) |
                            ((traits & MT_FWT_LOG_PROBS) != 0 ? MT_RF_LOG_PROBS : 0) |
                            (in_step ? MT_RF_IN_STEP : 0));
}

/* Where a rule goes: over the one with its id, or behind the last. */
static enum mt_rc place(const struct file *f, int index, const char *id, uint32_t *at)
{
    struct mt_phase_rules *r = f->r;
    uint32_t slot = hash_id(id) % SLOTS;
    for (; f->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        if (strcmp(r->rule.p[f->slots[slot]].id, id) != 0)
            continue;
        *at = f->slots[slot];
        return *at >= f->first ? refuse_field(f, index, id, "id", "is there twice in this file")
                               : MT_OK;
    }
    if (r->rule.n > MT_MAX_PHASE_RULES)
        return refuse(f, index, id,
                      "there are more than 4095 phase rules, built-in ones and methods included");
    *at = r->rule.n;
    f->slots[slot] = (uint16_t)*at;
    return MT_VEC_PUSH(&r->rule) != NULL && MT_VEC_PUSH(&r->code) != NULL ? MT_OK : nomem(f->err);
}

static enum mt_rc read_rule(const struct file *f, int index, const cJSON *obj)
{
    const char *v[F_COUNT] = {NULL};
    struct mt_phase_rules *r = f->r;
    struct mt_phase_rule rule = {.level = 0};
    const char *copy[F_COUNT];
    uint32_t at = 0;
    enum mt_rc rc = read_fields(f, index, obj, v);
    if (rc >= 0)
        rc = check_fields(f, index, v);
    if (rc < 0)
        return rc;
    for (int k = 0; k < F_COUNT; k++) {
        copy[k] = v[k] != NULL ? v[k] : "";
        if (f->is_overlay &&
            (copy[k] = mt_arena_strndup(&r->arena, copy[k], strlen(copy[k]))) == NULL)
            return nomem(f->err);
    }
    rule.id = copy[F_ID];
    rule.framework = copy[F_FRAMEWORK];
    rule.level = copy[F_LEVEL][0];
    rule.phase = copy[F_PHASE];
    rule.file_suffix = copy[F_FILE];
    rule.function = copy[F_FUNCTION];
    rule.status = copy[F_STATUS][0];
    rule.note = copy[F_NOTE];
    rule.source = copy[F_SOURCE];
    rule.last_call = copy[F_LAST_CALL];
    rc = place(f, index, rule.id, &at);
    if (rc < 0)
        return rc;
    r->rule.p[at] = rule;
    compile(f, &rule, &r->code.p[at]);
    if (v[F_GRADIENTS] != NULL)
        r->code.p[at].flags |= MT_RF_NO_GRAD;
    if (v[F_LAST_CALL] != NULL)
        r->code.p[at].flags |= MT_RF_LAST_CALL;
    if (v[F_IN_LOSS] != NULL)
        r->code.p[at].flags |= MT_RF_IN_LOSS;
    return MT_OK;
}

static enum mt_rc read_root(struct file *f, const cJSON *root)
{
    const cJSON *m, *list = NULL, *version = NULL;
    enum mt_rc rc = MT_OK;
    int index = 0;
    f->first = f->r->rule.n;
    if (!cJSON_IsObject(root))
        return mt_fail(f->err, MT_EINPUT,
                       "%s: a rule file is an object with \"schema_version\" and \"phases\"",
                       f->name);
    cJSON_ArrayForEach(m, root)
    {
        if (strcmp(m->string, "schema_version") == 0) {
            version = m;
        } else if (strcmp(m->string, "phases") == 0 && list == NULL) {
            list = m;
        } else if ((strcmp(m->string, "fixes") != 0 && strcmp(m->string, "libraries") != 0 &&
                    strcmp(m->string, "frameworks") != 0 && strcmp(m->string, "settings") != 0 &&
                    strcmp(m->string, "order") != 0 && strcmp(m->string, "roles") != 0 &&
                    strcmp(m->string, "vocabularies") != 0 && strcmp(m->string, "metrics") != 0) ||
                   !f->is_overlay) { /* the other rules of the same overlay are read elsewhere */
            char printable[96];
            return mt_fail(f->err, MT_EINPUT,
                           "%s: unknown or repeated key \"%s\"; a rule file has schema_version, "
                           "frameworks, phases, roles, vocabularies, settings, metrics, fixes, "
                           "order and libraries",
                           f->name,
                           mt_printable(printable, sizeof printable, m->string, strlen(m->string)));
        }
    }
    if (version == NULL || !cJSON_IsNumber(version) || version->valueint != 1)
        return mt_fail(f->err, MT_EINPUT, "%s: \"schema_version\" has to be 1", f->name);
    if (list == NULL && f->is_overlay)
        return MT_OK;
    if (!cJSON_IsArray(list))
        return mt_fail(f->err, MT_EINPUT, "%s: \"phases\" has to be an array of rules", f->name);
    cJSON_ArrayForEach(m, list)
    {
        rc = read_rule(f, index++, m);
        if (rc < 0)
            break;
    }
    return rc;
}

static enum mt_rc read_overlay(struct file *f, const char *text, size_t len)
{
    cJSON *root;
    enum mt_rc rc = mt_json_text(&root, text, len, f->name, f->err);
    if (rc >= 0)
        rc = read_root(f, root);
    cJSON_Delete(root);
    return rc;
}

static enum mt_rc read_builtin(struct file *f)
{
    cJSON *root;
    enum mt_rc rc = mt_rule_json("phases.json", &root, f->err);
    if (rc >= 0)
        rc = read_root(f, root);
    mt_free(root);
    return rc;
}

enum mt_rc mt_phase_rules_load(struct mt_phase_rules **out, const struct mt_framework_rules *fw,
                               const char *overlay, size_t overlay_len, const char *overlay_name,
                               struct mt_err *err)
{
    struct mt_phase_rules *r = mt_calloc(1, sizeof *r);
    struct file f = {r,   "the built-in phases.json",       0, false,
                     err, mt_calloc(SLOTS, sizeof *f.slots)};
    enum mt_rc rc = MT_OK;
    *out = NULL;
    if (r == NULL || f.slots == NULL) {
        rc = nomem(err);
        goto out;
    }
    r->fw = fw;
    for (int i = 0; i < MT_METHOD_COUNT; i++) {
        struct mt_phase_rule *rule = MT_VEC_PUSH(&r->rule);
        struct mt_rule_code *code = MT_VEC_PUSH(&r->code);
        if (rule == NULL || code == NULL) {
            rc = nomem(err);
            goto out;
        }
        *rule = methods[i];
        compile(&f, rule, code);
    }
    rc = read_builtin(&f);
    if (rc >= 0 && overlay != NULL) {
        f.name = overlay_name != NULL ? overlay_name : "the rule file";
        f.is_overlay = true;
        rc = read_overlay(&f, overlay, overlay_len);
    }
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
