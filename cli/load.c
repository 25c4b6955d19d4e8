#include "cli/load.h"
#include "cli/output.h"
#include "cli/redact/redact.h"
#include "cli/term.h"
#include "parser/input/ahead.h"
#include "parser/input/input.h"
#include "parser/saved/summary.h"
#include "render/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WARNINGS 8 /* of one snapshot; the report lists all */

char *mt_trace_label(const struct mt_trace *t, char *buf, size_t cap)
{
    const char *input = t->meta.input != NULL ? t->meta.input : "input";
    if (strcmp(input, "-") == 0)
        input = "standard input";
    if (t->meta.member != NULL && t->meta.member[0] != '\0')
        snprintf(buf, cap, "%s: %s", input, t->meta.member);
    else
        snprintf(buf, cap, "%s", input);
    return buf;
}

static void warn_damage(const struct mt_trace *t)
{
    char label[1024], offset[48];
    uint32_t n = 0;

    mt_trace_label(t, label, sizeof label);
    for (uint32_t i = 0; i < t->diags.n; i++) {
        const struct mt_diag *d = &t->diags.p[i];
        if (d->level != MT_DIAG_DAMAGE || n++ >= MAX_WARNINGS)
            continue;
        mt_say("warning: %s: %s%s", label, mt_str(t, d->text),
               d->has_offset ? mt_offset_text(offset, sizeof offset, d->offset, mt_str(t, d->text))
                             : "");
    }
    if (n > MAX_WARNINGS)
        mt_say("warning: %s: and %u more problems", label, (unsigned)(n - MAX_WARNINGS));
    if (n == 0 && t->damaged)
        mt_say("warning: %s: the input is damaged; everything before the damage was used", label);
}

int mt_load_unread(struct mt_load *l, const char *name, const struct mt_err *err)
{
    struct mt_unread *u = MT_VEC_PUSH(&l->skipped.unread);
    if (u == NULL || !mt_err_split(name, err, &u->name, &u->message)) {
        if (u != NULL)
            l->skipped.unread.n--;
        mt_say("out of memory");
        l->failed = true;
        return 0;
    }
    return 1;
}

/* Adds to a message that memory ran out what --max-memory allows, when there is a limit: that is
 * reached far more often than the end of the machine's memory. */
void mt_load_explain(const struct mt_load *l, struct mt_err *err)
{
    size_t n = strlen(err->msg);
    char held[32];
    if (err->rc == MT_ENOMEM && l->max_memory != 0 && strstr(err->msg, "--max-memory") == NULL)
        snprintf(err->msg + n, sizeof err->msg - n,
                 " (at most %s are used; --max-memory raises that)",
                 mt_fmt_bytes(held, l->max_memory));
}

static int cannot_read(struct mt_load *l, struct mt_progress *p, const char *input,
                       struct mt_err *err)
{
    const char *name = strcmp(input, "-") == 0 ? "standard input" : input;
    mt_progress_erase(p);
    mt_load_explain(l, err);
    mt_say_err(name, err);
    return mt_load_unread(l, name, err);
}

char *mt_load_name(const char *input, const char *member)
{
    size_t k = strlen(input), n = k + strlen(member) + 2;
    char *s = mt_malloc(n);
    if (s != NULL)
        (void)snprintf(s, n, "%s%s%s", input, k > 0 && input[k - 1] == '/' ? "" : "/", member);
    return s;
}

static int keep(struct mt_load *l, const char *name, const char *why)
{
    struct mt_unread u = {mt_strndup(name, strlen(name)), mt_strndup(why, strlen(why))}, *slot;
    slot = u.name != NULL && u.message != NULL ? MT_VEC_PUSH(&l->skipped.ignored) : NULL;
    if (slot != NULL) {
        *slot = u;
        return 1;
    }
    mt_free(u.name);
    mt_free(u.message);
    return 0;
}

/* "run/" + "a.html/report.json" is "run/a.html": of a page the file, not what is in it. */
static void page_itself(char *member)
{
    char *inside = strrchr(member, '/');
    if (inside != NULL && strcmp(inside + 1, MT_PAGE_REPORT) == 0)
        *inside = '\0';
}

/* A file in a folder or archive that is no snapshot. Names are a convenience: without memory for
 * one it is counted. */
static void ignored(void *arg, const char *input, const char *member)
{
    struct mt_load *l = arg;
    char *name = mt_load_name(input, member);
    const struct mt_found_file *f =
        name != NULL && l->found != NULL ? mt_found_find(l->found, name) : NULL;
    if (name != NULL && l->is_beside)
        page_itself(name);
    if (f == NULL || (!f->is_used && !f->is_damaged)) {
        l->skipped.n_ignored++;
        if (name != NULL && l->skipped.ignored.n < MT_IGNORED_NAMED)
            (void)keep(l, name,
                       l->is_beside ? "a report of memtrace, which is read back alone"
                       : f != NULL  ? f->why
                                    : "no snapshot, no log that tells of memory");
    }
    l->is_beside = false;
    mt_free(name);
}

/* For mt_input_opts.report. One in a folder waits: beside snapshots or logs it is another file.
 * A summary is an input like them. */
static int take_report(void *arg, const char *input, const char *member, bool is_named,
                       struct mt_saved *report)
{
    struct mt_load *l = arg;
    if (is_named || mt_saved_is_summary(report)) {
        l->n_reports++;
        l->failed |= !l->report(l->report_arg, input, member, report);
        return 1;
    }
    l->n_beside++;
    l->is_beside = l->beside != NULL; /* ignored() is told of it next */
    if (l->beside != NULL)
        return 0;
    l->beside_member = mt_strndup(member, strlen(member));
    if (l->beside_member == NULL)
        return -1;
    l->beside = report;
    return 1;
}

/* Which of the reports of memtrace in an input is read, or that none is. */
static void say_beside(const struct mt_load *l, const char *input, const char *member, bool is_used)
{
    char *name = mt_load_name(input, member);
    if (name != NULL && is_used && l->n_beside > 1)
        mt_say("%s: %llu reports of memtrace lie in it, of which one is read: %s; name another, or "
               "two for 'memtrace diff'",
               input, (unsigned long long)l->n_beside, name);
    else if (name != NULL && !is_used && !l->quiet)
        mt_say(l->n_beside == 1
                   ? "%s is a report of memtrace and is not read: the snapshots and logs "
                     "beside it are"
                   : "%s and others are reports of memtrace and are not read: the "
                     "snapshots and logs beside them are",
               name);
    mt_free(name);
}

/* At the end of an input. n_before: what was read before it. 0 = stop. */
static int settle_report(struct mt_load *l, const char *input, uint64_t n_before)
{
    struct mt_saved *report = l->beside;
    char *member = l->beside_member;
    int ok = 1;
    l->beside = NULL;
    l->beside_member = NULL;
    if (report == NULL)
        return 1;
    page_itself(member);
    say_beside(l, input, member, l->n_read + l->n_logs == n_before);
    l->n_beside = 0;
    if (l->n_read + l->n_logs == n_before) {
        l->n_reports++;
        ok = l->report(l->report_arg, input, member, report);
        l->failed |= !ok;
    } else {
        l->is_beside = true;
        ignored(l, input, member);
        mt_saved_free(report);
    }
    mt_free(member);
    return ok;
}

static int load_one(struct mt_load *l, const char *path, const struct mt_input_opts *opts,
                    struct mt_progress *p, mt_load_visit visit, void *arg)
{
    struct mt_input *in = NULL;
    struct mt_err err;
    uint64_t n_before = l->n_read + l->n_logs, n_unread_before = l->skipped.unread.n;
    uint64_t n_reports_before = l->n_reports;
    int go_on = 0;

    memset(&err, 0, sizeof err);
    if (mt_input_open(&in, path, opts, &err) < 0)
        return cannot_read(l, p, path, &err);
    for (;;) {
        struct mt_trace *t = NULL;
        enum mt_rc rc;
        memset(&err, 0, sizeof err);
        rc = mt_input_next(in, &t, &err);
        if (rc < 0) {
            if (!cannot_read(l, p, path, &err))
                goto out;
            continue;
        }
        if (t == NULL)
            break;
        if (l->pool != NULL && !mt_ahead_gave(l->ahead))
            mt_team_take_more(l->pool);
        mt_progress_erase(p);
        if (l->redact != NULL && !mt_redact_trace(l->redact, t)) {
            mt_trace_free(t);
            mt_say("%s: out of memory; raise --max-memory",
                   strcmp(path, "-") == 0 ? "standard input" : path);
            l->failed = true;
            goto out;
        }
        l->n_read++;
        if (t->damaged) {
            l->n_damaged++;
            warn_damage(t);
        }
        if (!visit(arg, t)) {
            l->failed = true;
            goto out;
        }
    }
    mt_progress_erase(p);
    if (mt_input_links(in) != 0 && !l->quiet)
        mt_say("%s: %llu link%s passed over: a file is read once, under its own name", path,
               (unsigned long long)mt_input_links(in), mt_input_links(in) == 1 ? " was" : "s were");
    if (!settle_report(l, path, n_before) || l->failed)
        goto out;
    if (l->n_read + l->n_logs == n_before && l->n_reports == n_reports_before &&
        l->skipped.unread.n == n_unread_before) {
        /* An empty folder, or an archive of other files, is an input that could not be read. */
        memset(&err, 0, sizeof err);
        mt_fail(&err, MT_EINPUT,
                "no memory snapshot in it (%llu other files); a snapshot is what "
                "torch.cuda.memory._dump_snapshot() writes",
                (unsigned long long)mt_input_ignored(in));
        if (!cannot_read(l, p, path, &err))
            goto out;
    }
    go_on = 1;
out:
    mt_progress_erase(p);
    mt_input_close(in);
    return go_on;
}

static int take_text(void *arg, const char *input, const char *member, struct mt_source *src)
{
    struct mt_load *l = arg;
    int r = l->text(l->text_arg, input, member, src);
    l->n_logs += r == 1;
    return r;
}

void mt_load_inputs(struct mt_load *l, const struct mt_cli *c, mt_load_visit visit, void *arg)
{
    struct mt_progress *p = &l->progress;
    struct mt_input_opts opts;

    mt_progress_init(p, c->quiet);
    l->quiet = c->quiet;
    memset(&opts, 0, sizeof opts);
    opts.limits = c->limits;
    opts.budget = c->budget;
    opts.sha256 = c->sha256;
    opts.opened = mt_output_keep;
    opts.ignored = ignored;
    opts.ignored_arg = l;
    if (l->text != NULL) {
        opts.text = take_text;
        opts.text_arg = l;
    }
    if (l->report != NULL) {
        opts.report = take_report;
        opts.report_arg = l;
    }
    opts.ahead = l->ahead;
    opts.unpack_beside = l->unpack_beside;
    if (p->on) {
        opts.progress = mt_progress_update;
        opts.progress_arg = p;
    }
    mt_mem_limit(c->limits.max_memory);
    l->max_memory = c->limits.max_memory;
    for (int i = 0; i < c->n_inputs; i++)
        if ((l->taken == NULL || !l->taken[i]) && !load_one(l, c->inputs[i], &opts, p, visit, arg))
            return;
}

void mt_load_done(struct mt_load *l)
{
    for (uint32_t i = 0; i < l->skipped.unread.n; i++) {
        mt_free(l->skipped.unread.p[i].name);
        mt_free(l->skipped.unread.p[i].message);
    }
    MT_VEC_DONE(&l->skipped.unread);
    for (uint32_t i = 0; i < l->skipped.ignored.n; i++) {
        mt_free(l->skipped.ignored.p[i].name);
        mt_free(l->skipped.ignored.p[i].message);
    }
    MT_VEC_DONE(&l->skipped.ignored);
    mt_saved_free(l->beside);
    mt_free(l->beside_member);
}

enum mt_exit mt_load_status(const struct mt_load *l)
{
    if (l->failed || l->n_read + l->n_logs + l->n_reports == 0)
        return MT_EXIT_FAILED;
    return l->n_damaged > 0 || l->skipped.unread.n > 0 ? MT_EXIT_DAMAGED : MT_EXIT_OK;
}

enum mt_rc mt_load_small(const struct mt_cli *c, const char *path, size_t most, char **text,
                         size_t *n, struct mt_err *err)
{
    const struct mt_input_opts opts = {
        .limits = c->limits, .budget = c->budget, .opened = mt_output_keep};
    return mt_input_small(path, most, &opts, text, n, err);
}

char *mt_load_file(const struct mt_cli *c, const char *path, size_t most, size_t *n)
{
    struct mt_err err = {.rc = MT_OK};
    char *text;
    if (mt_load_small(c, path, most, &text, n, &err) != MT_OK)
        mt_say_err(path, &err);
    return text;
}
