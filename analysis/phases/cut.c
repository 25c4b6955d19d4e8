/* phases/cut.c -- the phase by the inner end of a traceback, where the outer functions that tell it
 * were cut off: rows "cut" of phases.json, one frame, one name of a function in whatever file,
 * one method of a worker, one line of code or one program's file each. For logs alone: a snapshot's
 * stack is whole. */
#include "analysis/phases/impl.h"
#include "analysis/base/rule_read.h"

#include <string.h>

#define AT(member) offsetof(struct mt_cut_rule, member)
static const struct mt_rule_spec fields[] = {
    {"id", mt_get_text, .at = AT(id), .is_needed = true},
    {"framework", mt_get_text, .at = AT(framework), .is_needed = true},
    {"phase", mt_get_text, .at = AT(phase_id)},
    {"sub", mt_get_text, .at = AT(sub_id)},
    {"file", mt_get_text, .at = AT(file)},
    {"functions", mt_get_texts, .at = AT(functions)},
    {"codes", mt_get_texts, .at = AT(codes)},
    {"methods", mt_get_texts, .at = AT(methods)},
    {"scripts", mt_get_texts, .at = AT(scripts)},
    {"lines", mt_get_texts, .at = AT(lines)},
    {"said", mt_get_texts, .at = AT(said)},
    {"told", mt_get_texts, .at = AT(told)},
    {"cause", mt_get_text, .at = AT(cause)},
    {"with", mt_get_texts, .at = AT(with)},
    {"calls", mt_get_texts, .at = AT(calls)},
    {"launchers", mt_get_texts, .at = AT(launchers)},
    {"unless_in", mt_get_texts, .at = AT(unless_in)},
    {"source", mt_get_any_text, .at = AT(source)},
    {.name = NULL}};

static enum mt_rc phase_of(const struct mt_rule_reader *rd, const char *field, const char *id,
                           bool coarse, enum mt_phase *out)
{
    int phase = id != NULL ? mt_phase_find(id, strlen(id)) : MT_PH_NONE;
    if (phase < 0 || (id != NULL && phase == MT_PH_UNATTRIBUTED) ||
        (id != NULL && mt_phase_is((unsigned)phase, MT_COARSE) != coarse))
        return mt_rule_bad(rd, field, "is no %s; docs/rules-phases.md lists them",
                           coarse ? "coarse phase" : "sub-phase");
    *out = (enum mt_phase)phase;
    return MT_OK;
}

/* Bytes of the longest part without a hole or a blank: by four of them such lines are found. */
static size_t plain_run(const char *pattern)
{
    size_t most = 0, n;
    for (const char *p = pattern; *p != '\0'; p += n) {
        if (*p == '%' && p[1] != '\0') {
            n = 2;
            continue;
        }
        n = *p == ' ' || *p == '%' ? 1 : strcspn(p, " %");
        most = n > most ? n : most;
    }
    return most;
}

enum mt_rc mt_cut_read(struct mt_phase_rules *r, const struct mt_rule_reader *rd, const cJSON *obj)
{
    struct mt_cut_rule row = {.source = ""}, *at;
    enum mt_rc rc = mt_rule_fields(rd, obj, fields, &row);
    if (rc == MT_OK)
        rc = phase_of(rd, "phase", row.phase_id, true, &row.phase);
    if (rc == MT_OK)
        rc = phase_of(rd, "sub", row.sub_id, false, &row.sub);
    if (rc != MT_OK)
        return rc;
    if (row.phase_id == NULL && row.sub_id == NULL && row.launchers == NULL && row.cause == NULL)
        return mt_rule_bad(rd, "phase", "is missing, and so is \"sub\"");
    if (row.cause != NULL && (row.told == NULL || row.phase_id != NULL || row.sub_id != NULL))
        return mt_rule_bad(rd, "cause", "has to stand beside \"told\", without a phase");
    if (row.with != NULL && row.cause == NULL)
        return mt_rule_bad(rd, "with", "has to stand beside \"cause\"");
    if (row.unless_in != NULL && row.functions == NULL)
        return mt_rule_bad(rd, "unless_in", "has to stand beside \"functions\"");
    if ((row.file != NULL || (row.functions != NULL && row.codes == NULL && row.scripts == NULL)) +
            (row.codes != NULL) + (row.methods != NULL) + (row.scripts != NULL) +
            (row.lines != NULL) + (row.said != NULL) + (row.told != NULL) + (row.calls != NULL) +
            (row.launchers != NULL) !=
        1)
        return mt_rule_bad(rd, "file",
                           "has to stand there, or \"functions\", \"codes\", \"methods\", "
                           "\"scripts\", \"lines\", \"said\", \"told\", \"calls\" or "
                           "\"launchers\": one of them, and "
                           "\"functions\" alone beside a file, codes or scripts");
    for (const char *const *p = row.lines; p != NULL && *p != NULL; p++)
        if (strlen(*p) >= MT_PHASE_LINE || (*p)[0] == '%' || (*p)[0] == ' ' || plain_run(*p) < 4)
            return mt_rule_bad(rd, "lines",
                               "has a pattern that is longer than 63 bytes, begins with a hole or "
                               "a blank, or has no four plain bytes in a row: \"%s\"",
                               *p);
    at = MT_VEC_PUSH(&r->cut);
    if (at == NULL)
        return mt_rule_nomem(rd);
    *at = row;
    return MT_OK;
}

bool mt_cut_finish(struct mt_phase_rules *r)
{
    const char **end;
    for (uint32_t i = 0; i < r->cut.n; i++)
        for (const char *const *p = r->cut.p[i].lines; p != NULL && *p != NULL; p++) {
            const char **at = MT_VEC_PUSH(&r->steps);
            if (at == NULL)
                return false;
            *at = *p;
        }
    end = MT_VEC_PUSH(&r->steps);
    if (end != NULL)
        *end = NULL;
    return end != NULL;
}

const char *const *mt_phase_log_steps(const struct mt_phase_rules *r)
{
    return r != NULL ? (const char *const *)r->steps.p : NULL;
}

/* "x/" is a folder of the path, anything else its end. */
static bool is_in(const char *path, const char *file)
{
    size_t n = strlen(path), k = strlen(file);
    if (k != 0 && file[k - 1] == '/') {
        for (const char *p = path; (p = strstr(p, file)) != NULL; p++)
            if (p == path || p[-1] == '/')
                return true;
        return false;
    }
    return n >= k && strcmp(path + n - k, file) == 0 && (n == k || path[n - k - 1] == '/');
}

bool mt_phase_is_one_of(const char *name, const char *const *functions)
{
    for (; *functions != NULL; functions++)
        if ((*functions)[0] == '*' ? strstr(name, *functions + 1) != NULL
                                   : strcmp(name, *functions) == 0)
            return true;
    return false;
}

/* A word may begin at p of the text: "eval" is no part of "retrieval", "train" none of
 * "per_device_train_batch_size"; but a name that has "_" itself may be the end of a longer one. */
static bool begins_at(const char *text, const char *p, const char *word)
{
    char c = p == text ? ' ' : p[-1];
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
           (c != '_' || strchr(word, '_') != NULL);
}

/* Where the first of the words stands; NULL = none does. */
static const char *said_at(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        const char *word = *words + ((*words)[0] == '*');
        for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
            if (begins_at(text, p, word))
                return p;
    }
    return NULL;
}

static bool says_one_of(const char *text, const char *const *words)
{
    return said_at(text, words) != NULL;
}

static bool has_one_of(const char *line, const char *const *codes)
{
    for (; *codes != NULL; codes++)
        if (strstr(line, *codes) != NULL)
            return true;
    return false;
}

/* One of the words stands in the sentence that `at` is in, of the text. */
static bool is_beside(const char *text, const char *at, const char *const *words)
{
    char sentence[1024];
    const char *from = at;
    size_t n;
    while (from > text && !(from[-1] == ' ' && from - text > 1 && strchr(".!?", from[-2]) != NULL))
        from--;
    for (n = 0; n < sizeof sentence - 1 && from[n] != '\0'; n++)
        if (strchr(".!?", from[n]) != NULL && from[n + 1] == ' ')
            break;
    memcpy(sentence, from, n);
    sentence[n] = '\0';
    return has_one_of(sentence, words);
}

const char *mt_phase_told_cause(const struct mt_phase_rules *r, uint32_t row, const char *text,
                                const char **cause)
{
    const struct mt_cut_rule *c = &r->cut.p[row];
    const char *at = c->cause != NULL ? said_at(text, c->told) : NULL;
    *cause = c->cause;
    return at != NULL && (c->with == NULL || is_beside(text, at, c->with)) ? at : NULL;
}

uint32_t mt_phase_cut_rows(const struct mt_phase_rules *r) { return r != NULL ? r->cut.n : 0; }

/* A method, also behind the role of the worker that has it: "actor_rollout_init_model". */
static bool is_method(const char *name, const char *const *methods)
{
    for (const char *const *m = methods; *m != NULL; m++) {
        size_t n = strlen(name), k = strlen(*m);
        if (n > k + 1 && name[n - k - 1] == '_' && strcmp(name + n - k, *m) == 0)
            return true;
    }
    return mt_phase_is_one_of(name, methods);
}

/* The word stands in the name by itself: "train" in "my_train-2.py", not in "pretrained.py". */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = name; (p = strstr(p, word)) != NULL; p++) {
        char end = p[n];
        if ((p == name || strchr("_-.", p[-1]) != NULL) &&
            (end == '\0' || strchr("_-.", end) != NULL || (end >= '0' && end <= '9')))
            return true;
    }
    return false;
}

/* "*train" is any name with that word in it, "gradio/" a folder of the path, "/loss.py" a file
 * wherever it is called. */
static bool is_script(const char *path, const char *name, const char *const *scripts,
                      bool is_folder)
{
    for (; *scripts != NULL; scripts++) {
        if ((strchr(*scripts, '/') != NULL) != is_folder)
            continue;
        if (is_folder              ? is_in(path, *scripts + (**scripts == '/'))
            : (*scripts)[0] == '*' ? has_word(name, *scripts + 1)
                                   : strcmp(name, *scripts) == 0)
            return true;
    }
    return false;
}

/* "__validate" is a private "validate"; a row may also name the underscores. */
static bool is_name(const char *name, const char *const *functions)
{
    return mt_phase_is_one_of(name, functions) ||
           mt_phase_is_one_of(name + strspn(name, "_"), functions);
}

bool mt_phase_is_launcher(const struct mt_phase_rules *r, const char *file)
{
    for (uint32_t i = 0; r != NULL && i < r->cut.n; i++)
        for (const char *const *p = r->cut.p[i].launchers; p != NULL && *p != NULL; p++)
            if (is_in(file, *p))
                return true;
    return false;
}

bool mt_phase_of_cut(const struct mt_phase_rules *r, enum mt_cut_kind kind, const char *file,
                     const char *name, struct mt_cut_phase *out)
{
    uint32_t row = 0;
    return mt_phase_next_cut(r, kind, file, name, &row, out);
}

/* A function by its name and by what its file is called: step() of my_lion.py. */
static bool is_in_script(const char *file, const char *function, const struct mt_cut_rule *c)
{
    const char *name = strrchr(file, '/');
    return is_name(function, c->functions) &&
           (is_script(file, name != NULL ? name + 1 : file, c->scripts, false) ||
            is_script(file, "", c->scripts, true));
}

bool mt_phase_next_cut(const struct mt_phase_rules *r, enum mt_cut_kind kind, const char *file,
                       const char *name, uint32_t *row, struct mt_cut_phase *out)
{
    while (*row < r->cut.n) {
        const struct mt_cut_rule *c = &r->cut.p[(*row)++];
        bool fits =
            kind == MT_CUT_SCRIPT || kind == MT_CUT_FOLDER
                ? c->scripts != NULL && c->functions == NULL &&
                      is_script(file, name, c->scripts, kind == MT_CUT_FOLDER)
            : kind == MT_CUT_LINE ? c->lines != NULL && mt_phase_is_one_of(name, c->lines)
            : kind == MT_CUT_SAID ? c->said != NULL && says_one_of(name, c->said)
            : kind == MT_CUT_TOLD
                ? c->told != NULL && c->cause == NULL && says_one_of(name, c->told)
            : kind == MT_CUT_CALL ? c->calls != NULL && has_one_of(name, c->calls)
            : kind == MT_CUT_CODE ? c->codes != NULL && has_one_of(name, c->codes) &&
                                        (c->functions == NULL || is_name(file, c->functions))
            : kind == MT_CUT_METHOD ? c->methods != NULL && is_method(name, c->methods)
            : kind == MT_CUT_NAME   ? c->file == NULL && c->codes == NULL && c->scripts == NULL &&
                                        c->functions != NULL && is_name(name, c->functions)
            : c->scripts != NULL
                ? c->functions != NULL && is_in_script(file, name, c)
                : c->file != NULL && is_in(file, c->file) &&
                      (c->functions == NULL || mt_phase_is_one_of(name, c->functions));
        if (!fits)
            continue;
        *out = (struct mt_cut_phase){c->phase, c->sub, c->unless_in};
        return true;
    }
    return false;
}
