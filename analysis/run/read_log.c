#include "analysis/run/read_log.h"

#include "analysis/phases/phases.h"
#include "analysis/setup/settings.h"
#include "parser/base/text.h"
#include "parser/input/input.h"

#include <stdio.h>
#include <string.h>

static char *label_of(const char *input, const char *member)
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

int mt_logs_add(struct mt_logs *l, const char *input, const char *member, struct mt_source *src,
                bool keep_empty)
{
    struct mt_log_file *f;
    struct mt_log log;
    struct mt_err err;
    enum mt_rc rc;
    memset(&err, 0, sizeof err);
    rc = mt_log_read(&log, src, mt_framework_log_packages(l->rules), mt_phase_log_steps(l->phases),
                     &err);
    if (rc >= 0 && (!mt_logdiag_settle_cut(&log, l) || !mt_logdiag_settle_grows(&log, l)))
        rc = MT_ENOMEM;
    if (rc < 0 || (log.facts.n == 0 && !keep_empty)) {
        mt_log_done(&log);
        return rc < 0 ? -1 : 0;
    }
    f = MT_VEC_PUSH(&l->files);
    if (f == NULL) {
        mt_log_done(&log);
        return -1;
    }
    f->log = log;
    set_rank_by_name(&f->log, member != NULL ? member : input);
    f->name = label_of(input, member);
    if (rc == MT_WARN)
        f->problem = mt_strndup(err.msg, strlen(err.msg));
    return f->name != NULL && (rc != MT_WARN || f->problem != NULL) ? 1 : -1;
}

/* What looks like a file of settings and cannot be read as one says nothing, and that it did. */
static enum mt_rc add_block(struct mt_runconf *conf, const struct mt_log_settings *s,
                            const char *base, struct mt_err *err)
{
    enum mt_rc rc = mt_conf_block(&conf->conf, s->text, s->n, base, err);
    if (rc != MT_EINPUT && rc != MT_ELIMIT)
        return rc;
    conf->is_partial = true;
    return MT_OK;
}

/* "TP=2", "export SEQ_LENGTH=64  # short": what a script sets a variable to. Bytes up to the end of
 * the value; 0 = it is something else. */
static size_t assignment(const char **line)
{
    const char *p = *line + strspn(*line, " \t"), *from = p, *name, *end;
    p += strncmp(p, "export ", 7) == 0 ? 7 : 0;
    name = p;
    p += strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (p == name || *p != '=' || (*name >= '0' && *name <= '9'))
        return 0;
    end = p + 1 + strcspn(p + 1, " \t#\r\n;");
    if (end == p + 1 || end[strspn(end, " \t\r\n")] != '\0') {
        const char *rest = end + strspn(end, " \t\r");
        if (end == p + 1 || *rest != '#')
            return 0;
    }
    *line = from;
    return (size_t)(end - from);
}

/* A command, behind what lines above it export, and where it has variables also behind what they
 * set those to. */
static enum mt_rc add_command(struct mt_runconf *conf, const struct mt_log_file *f,
                              const struct mt_log_settings *s, const char *base, struct mt_err *err)
{
    struct mt_text t = {.n = 0};
    bool has_variables = memchr(s->text, '$', s->n) != NULL;
    enum mt_rc rc;
    for (uint32_t i = 0; i < f->log.prose.n && f->log.prose.p[i].line < s->line; i++) {
        const char *line = f->log.prose.p[i].text;
        size_t n = assignment(&line);
        if (n != 0 && (has_variables || strncmp(line, "export ", 7) == 0)) {
            mt_text_add(&t, line, n);
            mt_text_add(&t, "\n", 1);
        }
    }
    has_variables |= t.n != 0;
    mt_text_add(&t, s->text, s->n);
    rc = t.failed ? mt_fail(err, MT_ENOMEM, "%s: out of memory", base)
                  : mt_conf_args(&conf->conf, t.p, t.n, base, has_variables, err);
    mt_text_done(&t);
    return rc == MT_WARN ? MT_OK : rc; /* a text shows a part of a script */
}

/* Of "32->8->4", which somebody writes of what was changed, the last number. */
static const char *value_now(const char *value)
{
    const char *last = value != NULL ? strrchr(value, '>') : NULL;
    if (last == NULL || last == value || last[-1] != '-' ||
        last[1 + strspn(last + 1, " ")] == '\0' || value[strspn(value, "0123456789.-> ")] != '\0')
        return value;
    return last + 1 + strspn(last + 1, " ");
}

enum mt_rc mt_logs_settings(const struct mt_log_file *f, struct mt_runconf *conf,
                            struct mt_err *err)
{
    const char *slash = strrchr(f->name, '/'), *base = slash != NULL ? slash + 1 : f->name;
    enum mt_rc rc = MT_OK, added;
    for (uint32_t i = 0; i < f->log.settings.n && rc == MT_OK; i++) {
        const struct mt_log_settings *s = &f->log.settings.p[i];
        uint32_t first = conf->conf.entries.n;
        conf->is_partial = conf->is_partial || s->is_cut;
        if (s->text != NULL && s->is_script)
            rc = mt_conf_program(&conf->conf, s->text, s->n, base, err);
        else if (s->text != NULL && s->is_file)
            rc = add_block(conf, s, base, err);
        else if (s->text != NULL && s->is_code)
            rc = mt_conf_code(&conf->conf, s->text, s->n, base, 0, err);
        else if (s->text != NULL)
            rc = add_command(conf, f, s, base, err);
        for (; first < conf->conf.entries.n; first++) {
            uint32_t in = conf->conf.entries.p[first].line; /* JSON has none */
            uint64_t line = s->line + ((s->is_script || s->is_file) && in != 0 ? in - 1 : 0);
            conf->conf.entries.p[first].line = line <= UINT32_MAX ? (uint32_t)line : 0;
            conf->conf.entries.p[first].value = value_now(conf->conf.entries.p[first].value);
            conf->conf.entries.p[first].is_local = false; /* the lines that are shown tell that */
        }
    }
    added = mt_runconf_added(conf, MT_FROM_LOG, err); /* also of what was read of a part */
    return rc == MT_OK ? added : rc;
}
