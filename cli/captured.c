/* captured.c -- the summary after a recording. */
#include "cli/captured.h"

#include "cli/pattern.h"
#include "cli/term.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX 64u

char *mt_shell_word(char *buf, size_t cap, const char *s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    size_t n = 0;
    if (s[0] != '\0' && s[0] != '-' && strspn(s, plain) == strlen(s)) {
        snprintf(buf, cap, "%s", s);
        return buf;
    }
    n += (size_t)snprintf(buf, cap, "%s'", s[0] == '-' ? "./" : "");
    for (; *s != '\0' && n + 6 < cap; s++)
        if (*s == '\'')
            n += (size_t)snprintf(buf + n, cap - n, "'\\''");
        else
            buf[n++] = *s;
    snprintf(buf + n, cap - n, "'");
    return buf;
}

/* NULL after a message. */
static char *name_of(const struct mt_cli *c)
{
    static const char usual[] = "trace.gz";
    char *name;
    if (c->output != NULL)
        return mt_pattern_name(c->output, NULL);
    name = c->force ? mt_strndup(usual, strlen(usual)) : mt_trace_free_name(usual);
    if (name == NULL)
        mt_say("out of memory");
    return name;
}

enum mt_exit mt_captured_into(const struct mt_cli *c, enum mt_exit (*run)(const struct mt_cli *own),
                              enum mt_exit failed)
{
    struct mt_cli own = *c;
    char *name = name_of(c);
    own.output = name;
    if (name != NULL)
        failed = run(&own);
    mt_free(name);
    return failed;
}

enum mt_rc mt_captured_collect(struct mt_collection *done, const struct mt_collect_opts *opts,
                               const struct mt_cli *c, struct mt_err *err)
{
    struct mt_collect_opts o = *opts;
    struct mt_progress progress;
    enum mt_rc rc;
    mt_progress_init(&progress, c->quiet);
    o.output = c->output;
    o.force = c->force;
    o.symbols = !c->no_symbols;
    o.progress = mt_progress_update;
    o.progress_arg = &progress;
    rc = mt_collect(done, &o, err);
    mt_progress_erase(&progress);
    return rc;
}

static bool worth_a_line(const struct mt_collected *p)
{
    return p->has_cuda || p->ranges > 0 || p->snapshots > 0 || p->problem != NULL ||
           p->missing > 0 || p->dropped > 0;
}

static void say_process(const struct mt_collected *p, bool hosts)
{
    char calls[32], ranges[32], peak[32], rank[24] = "", host[80] = "", what[240] = "",
                                          losses[160] = "";
    size_t n = 0;

    if (p->rank >= 0)
        snprintf(rank, sizeof rank, ", rank %d", p->rank);
    if (hosts)
        snprintf(host, sizeof host, " on %s", p->host);
    if (p->has_cuda)
        n += (size_t)snprintf(what, sizeof what, "%s%s%s call%s, peak %s", p->device,
                              p->device[0] != '\0' ? ": " : "", mt_fmt_count(calls, p->calls),
                              p->calls == 1 ? "" : "s", mt_fmt_bytes(peak, p->peak));
    if (p->ranges > 0)
        n += (size_t)snprintf(what + n, sizeof what - n, "%s%s range%s", n > 0 ? ", " : "",
                              mt_fmt_count(ranges, p->ranges), p->ranges == 1 ? "" : "s");
    if (p->snapshots > 0)
        n += (size_t)snprintf(what + n, sizeof what - n, "%s%u snapshot%s", n > 0 ? ", " : "",
                              p->snapshots, p->snapshots == 1 ? "" : "s");
    if (n == 0)
        snprintf(what, sizeof what, "nothing recorded");
    n = 0;
    if (p->dropped > 0)
        n += (size_t)snprintf(losses, sizeof losses, ", %s record%s dropped",
                              mt_fmt_count(calls, p->dropped), p->dropped == 1 ? "" : "s");
    if (p->missing > 0)
        snprintf(losses + n, sizeof losses - n, ", %s chunk%s missing",
                 mt_fmt_count(calls, p->missing), p->missing == 1 ? "" : "s");
    mt_tell("  %s (pid %lu%s%s): %s%s%s", p->name != NULL ? p->name : "?", (unsigned long)p->pid,
            host, rank, what, losses, p->running ? ", still running" : "");
}

static void say_lines(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        mt_tell("  %.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void say_processes(const struct mt_collection *c)
{
    uint32_t shown = 0, silent = 0, more = 0;
    bool hosts = false;
    for (uint32_t i = 1; i < c->processes.n; i++)
        hosts |= strcmp(c->processes.p[i].host, c->processes.p[0].host) != 0;
    for (uint32_t i = 0; i < c->processes.n; i++) {
        const struct mt_collected *p = &c->processes.p[i];
        if (!worth_a_line(p))
            silent++;
        else if (shown >= ROWS_MAX)
            more++;
        else {
            say_process(p, hosts);
            shown++;
        }
    }
    if (more > 0)
        mt_tell("  and %u more processes; 'memtrace info' lists them all", more);
    if (silent > 0 && shown > 0)
        mt_tell("  and %u process%s that loaded the recorder and used no GPU memory", silent,
                silent == 1 ? "" : "es");
}

/* Each problem once, however many ranks have it. */
static void say_problems(const struct mt_collection *c)
{
    for (uint32_t i = 0; i < c->processes.n; i++) {
        const struct mt_collected *p = &c->processes.p[i];
        uint32_t same = 0, first = i;
        for (uint32_t j = 0; p->problem != NULL && j < c->processes.n; j++)
            if (c->processes.p[j].problem != NULL &&
                strcmp(c->processes.p[j].problem, p->problem) == 0) {
                same++;
                first = j < first ? j : first;
            }
        if (same == 1)
            mt_say("pid %lu: %s", (unsigned long)p->pid, p->problem);
        else if (same > 1 && first == i)
            mt_say("in %lu processes: %s", (unsigned long)same, p->problem);
    }
}

void mt_captured_say(const struct mt_collection *c, const char *dir)
{
    char size[32], calls[32], bytes[32], path[1200], html[1200], plain[1100], folder[1200],
        snapshots[48] = "";
    uint64_t n_calls = 0;
    size_t n = strlen(c->path);

    for (uint32_t i = 0; i < c->processes.n; i++)
        n_calls += c->processes.p[i].calls;
    if (c->n_snapshots > 0)
        snprintf(snapshots, sizeof snapshots, ", %llu snapshot%s",
                 (unsigned long long)c->n_snapshots, c->n_snapshots == 1 ? "" : "s");
    mt_say("%s: %u process%s, %s driver calls%s, %s", c->path, c->processes.n,
           c->processes.n == 1 ? "" : "es", mt_fmt_count(calls, n_calls), snapshots,
           mt_fmt_bytes(size, c->out_bytes));
    say_processes(c);
    if (c->why_nothing == NULL)
        say_problems(c);
    if (c->why_nothing != NULL) {
        mt_say("nothing was recorded. Why:");
        say_lines(c->why_nothing);
    }
    if (c->n_damaged > 0)
        mt_say("%llu part%s of the recording could not be read any more (%s); the rest is in the "
               "trace",
               (unsigned long long)c->n_damaged, c->n_damaged == 1 ? "" : "s",
               mt_fmt_bytes(bytes, c->damaged_bytes));
    (void)mt_shell_word(path, sizeof path, c->path);
    (void)mt_shell_word(folder, sizeof folder, dir);
    if (c->n_running > 0)
        mt_say("%u process%s still running; what %s recorded until now is in the trace. When %s: "
               "memtrace collect %s -o "
               "trace-all.gz",
               c->n_running, c->n_running == 1 ? " is" : "es are",
               c->n_running == 1 ? "it" : "they",
               c->n_running == 1 ? "it has ended" : "they have ended", folder);
    if (c->n_running == 0 && c->n_waiting > 0)
        mt_say("%u process%s the command started %s still alive; what a GPU does for %s later is "
               "recorded in %s. When %s: "
               "memtrace collect %s -o trace-all.gz",
               c->n_waiting, c->n_waiting == 1 ? " that" : "es that",
               c->n_waiting == 1 ? "is" : "are", c->n_waiting == 1 ? "it" : "them", dir,
               c->n_waiting == 1 ? "it has ended" : "they have ended", folder);
    if (c->hint != NULL) {
        mt_say("no process used a GPU, as far as was recorded. Why:");
        say_lines(c->hint);
    }
    if (c->why_nothing != NULL && c->n_snapshots == 0)
        return;
    if (n > 3 && strcmp(c->path + n - 3, ".gz") == 0)
        n -= 3;
    snprintf(plain, sizeof plain, "%.*s.html", (int)(n < 1000 ? n : 1000), c->path);
    (void)mt_shell_word(html, sizeof html, plain);
    mt_say("the report: memtrace report %s -o %s", path, html);
}

void mt_captured_failed(const struct mt_err *err, const char *dir)
{
    char folder[1200];
    mt_say_err(NULL, err);
    mt_say("the recording is still in %s; write it elsewhere with: memtrace collect %s -o FILE",
           dir, mt_shell_word(folder, sizeof folder, dir));
}
