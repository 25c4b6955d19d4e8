/* log/logs.c -- what all logs of a run say together: how often, which card, which framework. */
#include "analysis/log/diagnose.h"

#include <string.h>

void mt_logs_done(struct mt_logs *l)
{
    for (uint32_t i = 0; i < l->files.n; i++) {
        mt_free(l->files.p[i].name);
        mt_free(l->files.p[i].problem);
        mt_log_done(&l->files.p[i].log);
    }
    MT_VEC_DONE(&l->files);
}

uint64_t mt_logs_facts(const struct mt_logs *l)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->files.n; i++)
        n += l->files.p[i].log.facts.n;
    return n;
}

/* CUDA's own figure. NVIDIA's tool counts what the driver keeps for itself too, half a GiB and
 * more: that stands behind it. */
static uint64_t capacity_of(const struct mt_log_fact *f, bool by_tool)
{
    if (by_tool)
        return f->kind == MT_LOG_CARD ? f->value[1] : MT_LOG_NONE;
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM: return f->value[MT_LO_CAPACITY];
    case MT_LOG_TORCH_USAGE: return f->value[3];
    case MT_LOG_VLLM_BUDGET: return f->value[0];
    case MT_LOG_VLLM_STARTUP: return f->value[1];
    case MT_LOG_RETRIED: return f->value[3];
    default: return MT_LOG_NONE;
    }
}

uint64_t mt_logs_kv_short(const struct mt_logs *l)
{
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            if (log->facts.p[k].kind == MT_LOG_VLLM_KV && log->facts.p[k].value[1] != MT_LOG_NONE)
                return log->facts.p[k].value[1];
    }
    return MT_LOG_NONE;
}

static uint32_t as_number(uint64_t version)
{
    return (uint32_t)(100 * (version >> 40) + (version >> 20 & 0xfffff));
}

uint32_t mt_logs_torch(const struct mt_logs *l)
{
    uint32_t by_form = 0, at_least = 0, by_name = 0;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            uint32_t form = log->facts.p[k].torch_at_most, since = log->facts.p[k].torch_at_least;
            by_form = form != 0 && (by_form == 0 || form < by_form) ? form : by_form;
            at_least = since > at_least ? since : at_least;
        }
        for (uint32_t k = 0; k < log->versions.n; k++) {
            uint32_t v = as_number(log->versions.p[k].number);
            if (strcmp(log->versions.p[k].program, "torch") == 0 && v > by_name)
                by_name = v;
        }
    }
    if (by_name < at_least)
        by_name = 0; /* of another environment: the sentence that failed is a newer one's */
    return by_name == 0 || (by_form != 0 && by_form < by_name) ? by_form : by_name;
}

bool mt_logs_no_expandable(const struct mt_logs *l)
{
    uint32_t torch = mt_logs_torch(l);
    return mt_logs_have(l, MT_LOG_NO_EXPANDABLE) || (torch != 0 && torch < 201);
}

/* The card's size that the lines of one log name; 0 = none, UINT64_MAX = several. */
static uint64_t capacity_in(const struct mt_log *log, int32_t gpu, bool by_tool)
{
    uint64_t size = 0;
    for (uint32_t k = 0; k < log->facts.n; k++) {
        const struct mt_log_fact *f = &log->facts.p[k];
        uint64_t c = capacity_of(f, by_tool);
        if (c == MT_LOG_NONE || c == 0 || (gpu >= 0 && f->gpu >= 0 && f->gpu != gpu))
            continue;
        if (size != 0 && (c > size ? c - size : size - c) > MT_LOG_ROUNDED)
            return UINT64_MAX;
        if (c > size)
            size = c;
    }
    return size;
}

static bool other_size(uint64_t a, uint64_t b)
{
    return a != 0 && b != 0 && (a > b ? a - b : b - a) > MT_LOG_ROUNDED;
}

static uint64_t capacity(const struct mt_logs *l, int32_t gpu, bool by_tool)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < l->files.n; i++) {
        uint64_t c = capacity_in(&l->files.p[i].log, gpu, by_tool);
        if (c == UINT64_MAX || other_size(c, size))
            return UINT64_MAX;
        if (c > size)
            size = c;
    }
    return size;
}

uint64_t mt_logs_capacity(const struct mt_logs *l, int32_t gpu)
{
    uint64_t size = capacity(l, gpu, false);
    if (size == 0)
        size = capacity(l, gpu, true);
    return size == UINT64_MAX ? 0 : size;
}

uint64_t mt_logs_count(const struct mt_logs *l, enum mt_log_kind kind)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++)
            n += log->facts.p[k].kind == kind;
    }
    return n;
}

bool mt_logs_have(const struct mt_logs *l, enum mt_log_kind kind)
{
    return mt_logs_count(l, kind) != 0;
}

static int program(const struct mt_framework_rules *r, const uint64_t n[MT_FW_MAX])
{
    mt_fw f = mt_framework_program(r, n);
    return f != MT_FW_NONE ? (int)f : -1;
}

/* Files that lines name, programs that say their version, and where there are none, the script that
 * a traceback begins in, then the names of the processes. */
static int framework_of(const struct mt_framework_rules *r, const struct mt_log_file *files,
                        uint32_t n_files)
{
    uint64_t n[MT_FW_MAX] = {0};
    int best;
    for (uint32_t i = 0; i < n_files; i++) {
        const struct mt_log *log = &files[i].log;
        for (uint32_t k = 0; k < log->paths.n; k++) {
            const char *path = log->paths.p[k].path;
            mt_fw f = mt_framework_of_path(r, path, strlen(path));
            n[f] += mt_framework_runs_in(r, f, path, strlen(path)) ? log->paths.p[k].n : 0;
        }
        for (uint32_t k = 0; k < log->versions.n; k++) {
            int f = mt_framework_find(r, log->versions.p[k].program);
            n[f > 0 ? f : MT_FW_NONE]++;
        }
    }
    best = program(r, n);
    for (uint32_t i = 0; best < 0 && i < n_files; i++)
        n[mt_framework_of_start(r, files[i].log.module)]++; /* it lies in no package */
    best = best >= 0 ? best : program(r, n);
    for (uint32_t i = 0; best < 0 && i < n_files; i++)
        for (uint32_t k = 0; k < files[i].log.facts.n; k++) {
            const struct mt_log_fact *f = &files[i].log.facts.p[k];
            if (f->kind != MT_LOG_KILLED ||
                f->value[MT_LK_CLASS] != 1) /* the dead one's own name */
                n[mt_framework_of_process(r, f->who)]++;
        }
    return best >= 0 ? best : program(r, n);
}

int mt_logs_framework(const struct mt_logs *l)
{
    return framework_of(l->rules, l->files.p, l->files.n);
}

int mt_logs_engine(const struct mt_logs *l)
{
    uint64_t n[MT_FW_MAX] = {0};
    mt_fw f;
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log *log = &l->files.p[i].log;
        for (uint32_t k = 0; k < log->stacks.n; k++)
            for (uint32_t j = 0; j < log->stacks.p[k].frames.n; j++) {
                const char *file = log->stacks.p[k].frames.p[j].file;
                n[mt_framework_of_path(l->rules, file, strlen(file))]++;
            }
    }
    f = mt_framework_top(l->rules, n, mt_framework_kind(l->rules, MT_FWK_ENGINE));
    return f != MT_FW_NONE ? (int)f : -1;
}

/* Whose a row of Ray's table is: "ray::WorkerDict.update_actor", "python3 -m x.trainer.main ...".
 */
static mt_fw of_row(const struct mt_framework_rules *r, const char *text)
{
    bool is_actor = strncmp(text, "ray::", 5) == 0;
    const char *module = strstr(text, " -m "), *from = is_actor         ? text + 5
                                                       : module != NULL ? module + 4
                                                                        : NULL;
    char name[sizeof((struct mt_log_fact *)NULL)->text];
    size_t n = from != NULL ? strcspn(from, is_actor ? ".( " : " ") : 0;
    if (n == 0 || n >= sizeof name)
        return MT_FW_NONE;
    memcpy(name, from, n);
    name[n] = '\0';
    return is_actor ? mt_framework_of_process(r, name) : mt_framework_of_start(r, name);
}

static mt_fw named_in(const struct mt_framework_rules *r, const struct mt_log_fact *f)
{
    char name[32];
    if (f->kind == MT_LOG_HOST_PROC)
        return of_row(r, f->text);
    if (f->kind == MT_LOG_KILLED && f->value[MT_LK_CLASS] == 1)
        return mt_framework_of_process(r, f->who);
    if (f->kind != MT_LOG_RAY_KILL || strchr(f->text, '.') == NULL)
        return MT_FW_NONE;
    mt_log_actor_name(name, f->text, strlen(f->text), true);
    return mt_framework_of_process(r, name);
}

int mt_logs_named(const struct mt_logs *l)
{
    uint64_t n[MT_FW_MAX] = {0};
    for (uint32_t i = 0; i < l->files.n; i++)
        for (uint32_t k = 0; k < l->files.p[i].log.facts.n; k++)
            n[named_in(l->rules, &l->files.p[i].log.facts.p[k])]++;
    return program(l->rules, n);
}

bool mt_logs_other_job(const struct mt_logs *l, uint32_t of, struct mt_logs_clash *out)
{
    const struct mt_framework_rules *r = l->rules;
    const struct mt_log_file *a = &l->files.p[of];
    uint64_t size = capacity_in(&a->log, -1, false);
    int fw = framework_of(r, a, 1);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < l->files.n; i++) {
        const struct mt_log_file *b = &l->files.p[i];
        int fw_b = framework_of(r, b, 1);
        uint64_t size_b = capacity_in(&b->log, -1, false);
        out->file = i;
        if (i != of && fw >= 0 && fw_b >= 0 && !mt_framework_alike(r, fw, fw_b)) {
            out->here = mt_framework_at(r, fw)->words;
            out->there = mt_framework_at(r, fw_b)->words;
            return true;
        }
        if (i != of && size != UINT64_MAX && size_b != UINT64_MAX && other_size(size, size_b)) {
            out->size_here = size;
            out->size_there = size_b;
            return true;
        }
    }
    return false;
}
