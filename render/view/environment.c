#include "render/view/environment.h"

#include "render/base/escape.h"
#include "render/view/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds to buf, with a comma before what is not the first. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(char buf[MT_ENV_WORDS], const char *fmt, ...)
{
    size_t n = strlen(buf);
    va_list ap;
    if (n != 0 && n + 2 < MT_ENV_WORDS) {
        memcpy(buf + n, ", ", 3);
        n += 2;
    }
    va_start(ap, fmt);
    (void)vsnprintf(buf + n, MT_ENV_WORDS - n, fmt, ap);
    va_end(ap);
}

static const char *if_any(const char *buf) { return buf[0] != '\0' ? buf : NULL; }

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The versions that logs name: those of PyTorch, or all others. */
static void versions(char buf[MT_ENV_WORDS], const struct mt_report *r, bool of_torch)
{
    enum { BITS = 20 };
    const struct mt_logs *logs = r->diagnosis->logs;
    for (uint32_t i = 0; logs != NULL && i < logs->files.n; i++) {
        const struct mt_log_file *f = &logs->files.p[i];
        for (uint32_t k = 0; k < f->log.versions.n; k++) {
            const struct mt_log_version *v = &f->log.versions.p[k];
            if ((strcmp(v->program, "torch") == 0) != of_torch)
                continue;
            add(buf, "%s%s%llu.%llu.%llu (%s:%llu)", of_torch ? "" : v->program,
                of_torch ? "" : " ", (unsigned long long)(v->number >> 2 * BITS),
                (unsigned long long)(v->number >> BITS & ((1u << BITS) - 1)),
                (unsigned long long)(v->number & ((1u << BITS) - 1)), base_name(f->name),
                (unsigned long long)v->line);
        }
    }
}

const char *mt_env_pytorch(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    bool is_snapshot = k != NULL && (k->trace->meta.format == MT_FMT_PICKLE ||
                                     k->trace->meta.format == MT_FMT_JSON);
    buf[0] = '\0';
    versions(buf, r, true);
    if (is_snapshot && mt_trace_pytorch(k->trace) != NULL)
        add(buf, "%s by the fields of the snapshot", mt_trace_pytorch(k->trace));
    return if_any(buf);
}

const char *mt_env_versions(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    buf[0] = '\0';
    versions(buf, r, false);
    return if_any(buf);
}

const char *mt_env_framework(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    static const char *const from[] = {[MT_FW_FROM_NOTHING] = NULL,
                                       [MT_FW_FROM_OPTION] = "--framework",
                                       [MT_FW_FROM_SNAPSHOT] = "by the recorded stacks",
                                       [MT_FW_FROM_RUN] = "by its settings or logs"};
    const struct mt_diagnosis *d = r->diagnosis;
    const struct mt_rank *k = mt_diagnosis_rank(d);
    const struct mt_frameworks *fw = k != NULL ? &k->analysis->fw : NULL;
    const struct mt_framework_rules *rules =
        d->opts.rules != NULL ? d->opts.rules->frameworks : NULL;
    buf[0] = '\0';
    if (d->framework >= 0 && rules != NULL && from[d->framework_from] != NULL)
        add(buf, "%s (%s)", mt_framework_at(rules, d->framework)->words, from[d->framework_from]);
    if (fw != NULL && fw->engine != MT_FW_NONE && (int)fw->engine != d->framework)
        add(buf, "%s generates", mt_framework_at(fw->rules, fw->engine)->words);
    else if (fw == NULL && d->logdiag != NULL && d->logdiag->engine != NULL &&
             (d->framework < 0 || rules == NULL ||
              strcmp(mt_framework_at(rules, d->framework)->words, d->logdiag->engine) != 0))
        add(buf, buf[0] != '\0' ? "%s generates" : "%s (by the log)", d->logdiag->engine);
    return if_any(buf);
}

/* What PyTorch writes where nobody sets it, or has no number. */
static bool is_unset(const char *v)
{
    static const char *const words[] = {"", "0", "-1", "False", "None"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(v, words[i]) == 0)
            return true;
    return false;
}

/* The variable as it was typed; the others are what PyTorch made of it, defaults included. */
static bool is_whole(const char *key)
{
    static const char end[] = "_ALLOC_CONF";
    size_t n = strlen(key), k = sizeof end - 1;
    return n > k && strcmp(key + n - k, end) == 0;
}

/* As the run sets it, where no snapshot says what came of it. */
static void by_settings(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    struct mt_setting_row rows[MT_MAX_SETTING_ROWS];
    uint32_t n = mt_setting_rows(r, true, rows, MT_MAX_SETTING_ROWS);
    for (uint32_t i = 0; i < n; i++)
        if (strstr(rows[i].key, "_ALLOC_CONF.") != NULL)
            add(buf, "%s=%s", rows[i].key, rows[i].value);
}

const char *mt_env_allocator(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_trace *t = k != NULL ? k->trace : NULL;
    const char *whole = NULL;
    buf[0] = '\0';
    for (uint32_t i = 0; t != NULL && i < t->settings.n; i++)
        if (is_whole(mt_str(t, t->settings.p[i].key)))
            whole = mt_str(t, t->settings.p[i].value);
    for (uint32_t i = 0; t != NULL && i < t->settings.n && whole == NULL; i++) {
        const char *value = mt_str(t, t->settings.p[i].value);
        if (!is_unset(value))
            add(buf, "%s=%s", mt_str(t, t->settings.p[i].key), value);
    }
    if (whole != NULL && whole[0] != '\0')
        add(buf, "%s", whole);
    if (buf[0] == '\0' && t != NULL && t->meta.has_settings)
        add(buf, "nothing is set");
    if (buf[0] == '\0')
        by_settings(buf, r);
    return if_any(buf);
}

/* The GPUs of the job, where they have one name. */
static const char *card_name(const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    const char *name = NULL;
    for (uint32_t i = 0; j != NULL && i < j->drivers.n; i++) {
        const struct mt_trace *t = j->drivers.p[i];
        for (uint32_t g = 0; g < t->driver->gpus.n; g++) {
            const char *own = mt_str(t, t->driver->gpus.p[g].name);
            if (name != NULL && strcmp(name, own) != 0)
                return NULL;
            name = own;
        }
    }
    return name != NULL && name[0] != '\0' ? name : NULL;
}

const char *mt_env_card(char buf[MT_ENV_WORDS], const struct mt_report *r)
{
    static const char *const from[] = {[MT_CAPACITY_UNKNOWN] = NULL,
                                       [MT_CAPACITY_GIVEN] = "by --capacity",
                                       [MT_CAPACITY_DRIVER] = "by the driver",
                                       [MT_CAPACITY_LOG] = "by a log",
                                       [MT_CAPACITY_RECORDED] = "by the recording",
                                       [MT_CAPACITY_CONFIG] = "by memtrace.toml"};
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    char size[40];
    buf[0] = '\0';
    if (card_name(r) != NULL)
        add(buf, "%s", card_name(r));
    if (d != NULL && d->capacity != 0 && from[k->capacity_from] != NULL)
        add(buf, "%s, %s", mt_fmt_bytes(size, d->capacity), from[k->capacity_from]);
    else if (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG &&
             r->diagnosis->logdiag->capacity != MT_LOG_NONE)
        add(buf, "%s, %s", mt_fmt_bytes(size, r->diagnosis->logdiag->capacity),
            from[MT_CAPACITY_LOG]);
    else if (d != NULL && d->kind == MT_DEV_CUDA)
        add(buf, "size not known: name it with --capacity");
    return if_any(buf);
}
