#include "cli/run_inputs.h"
#include "cli/load.h"
#include "parser/input/input.h"

#include <stdio.h>
#include <string.h>

static char *input_label(const char *input, const char *member)
{
    const char *name = strcmp(input, "-") == 0 ? "standard input" : input;
    size_t n = strlen(name) + (member != NULL ? strlen(member) : 0) + 3;
    char *s = mt_malloc(n);
    if (s != NULL)
        (void)snprintf(s, n, "%s%s%s", name, member != NULL ? ": " : "",
                       member != NULL ? member : "");
    return s;
}

/* Sets rank and pid of the facts of a log by its name, as "rank_5.log" or Ray's
 * "worker-<id>-<job>-<pid>.out". A fact that names its process itself keeps that. */
static void set_rank_by_name(struct mt_log *log, const char *name)
{
    int32_t rank;
    int64_t pid;
    char *host;
    mt_name_identity(name, &rank, &pid, &host);
    mt_free(host);
    for (uint32_t i = 0; i < log->facts.n; i++) {
        struct mt_log_fact *f = &log->facts.p[i];
        if (f->kind == MT_LOG_KERNEL_KILL ||
            f->kind == MT_LOG_RAY_KILL) /* about a host, whichever process logs it */
            continue;
        if (f->rank < 0 && f->pid < 0 && f->kind != MT_LOG_OTHER_PROC)
            f->pid = pid;
        if (f->rank < 0)
            f->rank = rank;
    }
}

static int read_log(struct mt_run_inputs *r, const char *input, const char *member,
                    struct mt_source *src, bool keep_empty)
{
    struct mt_log_file *f;
    struct mt_log log;
    struct mt_err err;
    enum mt_rc rc;
    memset(&err, 0, sizeof err);
    rc = mt_log_read(&log, src, mt_framework_log_packages(r->logs.rules), &err);
    if (rc < 0 || (log.facts.n == 0 && !keep_empty)) {
        mt_log_done(&log);
        return rc < 0 ? -1 : 0;
    }
    f = MT_VEC_PUSH(&r->logs.files);
    if (f == NULL) {
        mt_log_done(&log);
        return -1;
    }
    f->log = log;
    set_rank_by_name(&f->log, member != NULL ? member : input);
    f->name = input_label(input, member);
    if (f->name == NULL)
        return -1;
    if (rc == MT_WARN) {
        mt_say("warning: %s: %s; what comes before was used", f->name, err.msg);
        f->problem = mt_strndup(err.msg, strlen(err.msg));
        r->cut = true;
    }
    return 1;
}

int mt_run_inputs_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    return read_log(arg, input, member, src, false);
}

static int any_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    return read_log(arg, input, member, src, true);
}

/* A file, a pipe, a compressed one, or everything in an archive or folder. */
static int load_log(struct mt_run_inputs *r, const char *path, const struct mt_cli *c)
{
    struct mt_input_opts opts = {
        .limits = c->limits, .text = any_text, .text_arg = r, .text_only = true};
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

static int load_config(struct mt_run_inputs *r, const char *path)
{
    struct mt_err err;
    size_t n = 0;
    char *text = mt_load_file(path, MT_CONF_FILE, &n);
    enum mt_rc rc;
    if (text == NULL)
        return 0;
    memset(&err, 0, sizeof err);
    rc = mt_conf_file(&r->conf->conf, text, n, path, &err);
    if (rc == MT_OK)
        rc = mt_runconf_added(r->conf, MT_FROM_CONFIG, &err);
    mt_free(text);
    if (rc < 0)
        mt_say_err(path, &err);
    return rc >= 0;
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

int mt_run_inputs_load(struct mt_run_inputs *r, const struct mt_cli *c,
                       const struct mt_cli_rules *rules)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    mt_mem_limit(c->limits.max_memory);
    r->logs.rules = rules->rules.frameworks;
    if (mt_runconf_new(&r->conf, rules->rules.frameworks, &err) < 0) {
        mt_say_err(NULL, &err);
        return 0;
    }
    if (rules->framework >= 0) {
        r->conf->framework = rules->framework;
        r->conf->forced = true;
    }
    for (int i = 0; i < c->configs.n; i++)
        if (!load_config(r, c->configs.p[i]))
            return 0;
    for (int i = 0; i < c->args.n; i++)
        if (!load_args(r, c->args.p[i]))
            return 0;
    for (int i = 0; i < c->logs.n; i++)
        if (!load_log(r, c->logs.p[i], c))
            return 0;
    return 1;
}

void mt_run_inputs_done(struct mt_run_inputs *r)
{
    mt_logs_done(&r->logs);
    mt_runconf_free(r->conf);
    memset(r, 0, sizeof *r);
}
