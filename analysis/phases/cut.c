/* phases/cut.c -- the phase by the inner end of a traceback, where the outer functions that tell it
 * were cut off: rows "cut" of phases.json, one frame, one method of a worker or one line of code
 * each. For logs alone: a snapshot's stack is whole. */
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
    {"code", mt_get_text, .at = AT(code)},
    {"method", mt_get_text, .at = AT(method)},
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
    if (row.phase_id == NULL && row.sub_id == NULL)
        return mt_rule_bad(rd, "phase", "is missing, and so is \"sub\"");
    if ((row.file != NULL) + (row.code != NULL) + (row.method != NULL) != 1)
        return mt_rule_bad(rd, "file",
                           "has to stand there, or \"code\" or \"method\": one of them");
    if (row.functions != NULL && row.file == NULL)
        return mt_rule_bad(rd, "functions", "are those of a file");
    at = MT_VEC_PUSH(&r->cut);
    if (at == NULL)
        return mt_rule_nomem(rd);
    *at = row;
    return MT_OK;
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

static bool is_one_of(const char *name, const char *const *functions)
{
    for (; *functions != NULL; functions++)
        if ((*functions)[0] == '*' ? strstr(name, *functions + 1) != NULL
                                   : strcmp(name, *functions) == 0)
            return true;
    return false;
}

bool mt_phase_of_cut(const struct mt_phase_rules *r, enum mt_cut_kind kind, const char *file,
                     const char *name, struct mt_cut_phase *out)
{
    for (uint32_t i = 0; i < r->cut.n; i++) {
        const struct mt_cut_rule *c = &r->cut.p[i];
        bool fits = kind == MT_CUT_CODE ? c->code != NULL && strstr(name, c->code) != NULL
                    : kind == MT_CUT_METHOD
                        ? c->method != NULL && strcmp(name, c->method) == 0
                        : c->file != NULL && is_in(file, c->file) &&
                              (c->functions == NULL || is_one_of(name, c->functions));
        if (!fits)
            continue;
        *out = (struct mt_cut_phase){c->phase, c->sub};
        return true;
    }
    return false;
}
