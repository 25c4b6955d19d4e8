#include "cli/run_inputs.h"
#include "analysis/run/read_log.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/redact/redact.h"
#include "parser/input/input.h"

#include <string.h>
#include <sys/stat.h>

static int read_log(struct mt_run_inputs *r, const char *input, const char *member,
                    struct mt_source *src, bool keep_empty)
{
    int added = mt_logs_add(&r->logs, input, member, src, keep_empty);
    uint32_t first = r->conf->conf.entries.n;
    struct mt_err err = {.rc = MT_OK};
    const struct mt_log_file *f = added == 1 ? &r->logs.files.p[r->logs.files.n - 1] : NULL;
    if (f != NULL && f->problem != NULL) {
        mt_say("warning: %s: %s; what comes before was used", f->name, f->problem);
        r->cut = true;
    }
    if (f != NULL && (mt_logs_settings(f, r->conf, &err) != MT_OK ||
                      (r->redact != NULL && !mt_redact_conf(r->redact, r->conf, first))))
        return -1;
    return added;
}

int mt_run_inputs_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    return read_log(arg, input, member, src, false);
}

static int any_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    return read_log(arg, input, member, src, true);
}

/* "KEY=VALUE", "--flag VALUE", "--flag", "ENV=VALUE". 0 after a message. */
static int add_try(struct mt_run_inputs *r, const char *text)
{
    size_t n = strcspn(text, "= ");
    const char *value = text[n] != '\0' ? text + n + 1 : "";
    bool is_env = n != 0 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
    uint32_t before = r->tries.entries.n;
    struct mt_conf_entry *e;
    struct mt_err err;
    char *key;
    memset(&err, 0, sizeof err);
    if (n == 0 || (text[n] != '=' && strncmp(text, "--", 2) != 0)) {
        mt_say("--try %s: KEY=VALUE is expected, as in --try actor.mb_spec.max_tokens_per_mb=4096",
               text);
        return 0;
    }
    key = mt_arena_strndup(&r->tries.strings, text, n);
    if (key != NULL && is_env && mt_conf_env(&r->tries, key, value, "--try", &err) >= 0) {
        /* of a variable that is split, its parts */
        if (r->tries.entries.n > before + 1 && strcmp(r->tries.entries.p[before].key, key) == 0)
            r->tries.entries.p[before] = r->tries.entries.p[--r->tries.entries.n];
        return 1;
    }
    e = key != NULL && !is_env ? MT_VEC_PUSH(&r->tries.entries) : NULL;
    if (e == NULL) {
        mt_say("out of memory");
        return 0;
    }
    *e = (struct mt_conf_entry){.key = key, .value = value, .source = "--try"};
    return 1;
}

/* A file, a pipe, a compressed one, or everything in an archive or folder. */
static int load_log(struct mt_run_inputs *r, const char *path, const struct mt_cli *c)
{
    struct mt_input_opts opts = {.limits = c->limits,
                                 .budget = c->budget,
                                 .text = any_text,
                                 .text_arg = r,
                                 .text_only = true,
                                 .opened = mt_output_keep};
    struct mt_input *in = NULL;
    struct mt_trace *t = NULL;
    struct mt_err err;
    uint32_t first = r->logs.files.n;
    enum mt_rc rc = MT_OK;
    memset(&err, 0, sizeof err);
    if (mt_input_open(&in, path, &opts, &err) < 0) {
        mt_say_err(path, &err);
        return 0;
    }
    do {
        mt_trace_free(t);
        t = NULL;
        rc = mt_input_next(in, &t, &err);
    } while (rc >= 0 && t != NULL);
    mt_trace_free(t);
    mt_input_close(in);
    if (rc < 0)
        mt_say_err(path, &err);
    for (; rc >= 0 && first < r->logs.files.n; first++)
        if (r->logs.files.p[first].log.facts.n == 0)
            mt_say("%s: there is no line about memory in it that memtrace knows",
                   r->logs.files.p[first].name);
    return rc >= 0;
}

/* A file of settings without which, or without a part of which, the report is written. */
static int left_out(struct mt_run_inputs *r, const char *path, const struct mt_err *err)
{
    mt_say_err(path, err);
    r->conf->is_partial = true;
    return r->load == NULL || mt_load_unread(r->load, path, err);
}

static int load_config(struct mt_run_inputs *r, const char *path, const struct mt_cli *c)
{
    struct mt_err err = {.rc = MT_OK};
    size_t n = 0;
    char *text;
    uint32_t before = r->conf->conf.entries.n;
    enum mt_rc rc = mt_load_small(c, path, MT_CONF_FILE, &text, &n, &err);
    if (rc == MT_ELIMIT)
        return left_out(r, path, &err);
    if (rc != MT_OK) {
        mt_say_err(path, &err);
        return 0;
    }
    rc = mt_conf_file(&r->conf->conf, text, n, path, &err);
    if (rc == MT_OK && mt_conf_is_python(path) && r->conf->conf.entries.n == before)
        mt_say("%s: a Python script without a setting in plain text, which memtrace would not run",
               path);
    mt_free(text);
    if ((rc == MT_EINPUT || rc == MT_ELIMIT || rc == MT_WARN) && !left_out(r, path, &err))
        return 0;
    if (rc == MT_OK || rc == MT_WARN)
        rc = mt_runconf_added(r->conf, MT_FROM_CONFIG, &err);
    if (rc == MT_ENOMEM)
        mt_say_err(path, &err);
    return rc != MT_ENOMEM;
}

static int load_args(struct mt_run_inputs *r, const char *text)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (mt_conf_args(&r->conf->conf, text, strlen(text), "--args", false, &err) == MT_OK &&
        mt_runconf_added(r->conf, MT_FROM_ARGS, &err) == MT_OK)
        return 1;
    mt_say_err("--args", &err);
    return 0;
}

/* ---- settings that lie there ---- */

static bool is_settings_file(void *arg, const char *member)
{
    const struct mt_run_inputs *r = arg;
    return mt_found_kind_of(&r->found, member) != NULL;
}

static int take_settings(void *arg, const char *input, const char *member, struct mt_source *src)
{
    struct mt_run_inputs *r = arg;
    size_t n = mt_source_need(src, (size_t)MT_FOUND_BYTES + 1);
    char *name = mt_load_name(input, member);
    struct mt_err err;
    enum mt_rc rc = MT_ENOMEM;
    if (name != NULL)
        rc = mt_found_add(&r->found, mt_found_kind_of(&r->found, member), name,
                          (const char *)src->cur, n, &err);
    mt_free(name);
    return rc == MT_OK ? 1 : -1;
}

/* Looks only at files that may be settings; what cannot be read is said when the input is read. 0 =
 * out of memory. */
static int look_into(struct mt_run_inputs *r, const char *path, const struct mt_cli *c)
{
    struct mt_input_opts opts = {.limits = c->limits,
                                 .budget = &r->looked,
                                 .text = take_settings,
                                 .text_arg = r,
                                 .text_only = true,
                                 .wanted = is_settings_file};
    struct mt_input *in = NULL;
    struct mt_trace *t = NULL;
    struct mt_progress progress;
    struct mt_err err;
    struct stat st;
    enum mt_rc rc = MT_OK;
    memset(&err, 0, sizeof err);
    mt_progress_init(&progress, c->quiet);
    if (progress.on) {
        opts.progress = mt_progress_update;
        opts.progress_arg = &progress;
    }
    /* a pipe can be read once only; "-" is one, whatever is called so */
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 ||
        !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) || mt_input_open(&in, path, &opts, &err) < 0)
        return 1;
    for (unsigned n = 0; n < c->limits.max_members; n++) {
        rc = mt_input_next(in, &t, &err);
        if (rc == MT_ENOMEM || (rc >= 0 && t == NULL))
            break;
        mt_trace_free(t);
        t = NULL;
    }
    mt_input_close(in);
    mt_progress_erase(&progress);
    return rc != MT_ENOMEM;
}

/* A launch script or a file of settings that is named beside what is to be read: who drops the
 * files of a ticket on the command line need not know of --config. JSON may be a snapshot: of that
 * a model's config.json alone. */
static bool is_settings_input(const struct mt_run_inputs *r, const struct mt_cli *c, int i)
{
    const char *base = strrchr(c->inputs[i], '/');
    const struct mt_found_kind *kind =
        mt_found_kind_of(&r->found, base != NULL ? base + 1 : c->inputs[i]);
    struct stat st;
    /* of a folder no Python file is taken: which of them ran nobody says */
    return c->n_inputs > 1 && !c->no_auto &&
           (kind != NULL ? strcmp(kind->file, "*.json") != 0 : mt_conf_is_python(c->inputs[i])) &&
           stat(c->inputs[i], &st) == 0 && S_ISREG(st.st_mode);
}

static int tell_found(struct mt_run_inputs *r, const struct mt_found_file *f)
{
    struct mt_err err;
    if (f->is_used)
        mt_output_keep_path(f->name);
    if (!f->is_damaged)
        return 1;
    memset(&err, 0, sizeof err);
    (void)mt_fail(&err, MT_EINPUT, "%s", f->why);
    return left_out(r, f->name, &err);
}

static int load_found(struct mt_run_inputs *r, const struct mt_cli *c)
{
    struct mt_err err;
    int ok = 1;
    memset(&err, 0, sizeof err);
    mt_budget_start(&r->looked);
    r->looked.started = c->budget->started;
    for (int i = 0; i < c->n_inputs && ok && !c->no_auto; i++)
        ok = r->taken[i] || look_into(r, c->inputs[i], c);
    if (ok && mt_found_use(&r->found, r->conf, &err) == MT_OK) {
        for (uint32_t i = 0; i < r->found.files.n && ok; i++)
            ok = tell_found(r, &r->found.files.p[i]);
        return ok;
    }
    mt_say("out of memory; raise --max-memory");
    return 0;
}

int mt_run_inputs_load(struct mt_run_inputs *r, const struct mt_cli *c,
                       const struct mt_cli_rules *rules)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    mt_mem_limit(c->limits.max_memory);
    r->logs.rules = rules->rules.frameworks;
    r->logs.phases = rules->rules.phases;
    if (mt_found_init(&r->found, rules->rules.frameworks, &err) < 0 ||
        mt_runconf_new(&r->conf, rules->rules.frameworks, &err) < 0) {
        mt_say_err(NULL, &err);
        return 0;
    }
    r->taken = mt_calloc((size_t)c->n_inputs + 1, sizeof *r->taken);
    if (r->taken == NULL) {
        mt_say("out of memory; raise --max-memory");
        return 0;
    }
    for (int i = 0; i < c->configs.n; i++)
        if (!load_config(r, c->configs.p[i], c))
            return 0;
    for (int i = 0; i < c->n_inputs; i++) /* one that cannot be read has had its message */
        if (is_settings_input(r, c, i)) {
            r->taken[i] = true;
            (void)load_config(r, c->inputs[i], c);
        }
    for (int i = 0; i < c->args.n; i++)
        if (!load_args(r, c->args.p[i]))
            return 0;
    for (int i = 0; i < c->tries.n; i++)
        if (!add_try(r, c->tries.p[i]))
            return 0;
    for (int i = 0; i < c->logs.n; i++)
        if (!load_log(r, c->logs.p[i], c))
            return 0;
    return load_found(r, c);
}

void mt_run_inputs_done(struct mt_run_inputs *r)
{
    mt_logs_done(&r->logs);
    mt_runconf_free(r->conf);
    mt_conf_done(&r->tries);
    mt_found_done(&r->found);
    mt_free(r->taken);
    memset(r, 0, sizeof *r);
}
