/* cmd_capture.c -- runs a command with the recorder in it and writes the trace. Nothing is printed
 * while the command runs. */
#include "cli/captured.h"
#include "cli/kept.h"
#include "cli/own.h"
#include "parser/base/text.h"

#include <string.h>
#include <time.h>

#define STATUS_OWN 125 /* memtrace itself failed, before the start */
#define GRACE_MS 500   /* for children that are about to end with the command */

static void wait_for_stragglers(const char *dir)
{
    const struct timespec step = {0, 20 * 1000000};
    for (int ms = 0; ms < GRACE_MS && (mt_scan_running(dir) > 0 || mt_scan_waiting(dir) > 0) &&
                     !mt_launch_interrupted();
         ms += 20)
        (void)nanosleep(&step, NULL);
}

/* The command ended: collect. That removes the spool, unless something in it is not in the trace.
 * Returns where the trace is, mt_free() it; NULL = nowhere. */
static char *collect(const struct mt_cli *c, const struct mt_launch *l, int status)
{
    char *written = NULL;
    struct mt_collect_opts o;
    struct mt_collection done;
    struct mt_err err;
    enum mt_rc rc;

    memset(&o, 0, sizeof o);
    memset(&err, 0, sizeof err);
    wait_for_stragglers(mt_launch_spool(l));
    o.dir = mt_launch_spool(l);
    o.keep = c->keep_spool;
    o.sig = mt_launch_signal(l);
    o.status = o.sig != 0 ? -1 : status;
    o.pid = mt_launch_pid(l);
    o.end_ns = mt_launch_end(l);
    o.argv = c->inputs;
    o.program = mt_launch_program(l);
    o.cgroup = mt_launch_cgroup(l);
    o.stop = mt_launch_interrupted;
    rc = mt_captured_collect(&done, &o, c, &err);
    if (rc < 0) {
        mt_captured_failed(&err, o.dir);
    } else {
        if (done.processes.n != 0)
            mt_tell_outer(done.path);
        if (strcmp(done.path, c->output) != 0)
            mt_say("%s appeared while the command ran and was left alone", c->output);
        if (!c->quiet || done.why_nothing != NULL || rc == MT_WARN || done.n_running > 0 ||
            done.n_waiting > 0 || done.hint != NULL)
            mt_captured_say(&done, o.dir);
        if (done.why_nothing == NULL || done.n_snapshots != 0)
            written = mt_strndup(done.path, strlen(done.path));
    }
    mt_collection_done(&done);
    return written;
}

/* A summary beside the trace, for who puts many nodes together. Another process makes it: whatever
 * is in the trace, the command's status is what is passed on. */
static void summarize(const struct mt_cli *c, char *trace)
{
    static char command[] = "summarize", output[] = "-o", quiet[] = "-q", force[] = "-f",
                end[] = "--";
    struct mt_text name = {0};
    size_t n = strlen(trace);
    int status = -1;
    if (n > 3 && strcmp(trace + n - 3, ".gz") == 0)
        n -= 3;
    for (size_t i = 0; i < n; i++)
        mt_text_add(&name, trace[i] == '%' ? "%%" : trace + i, trace[i] == '%' ? 2 : 1);
    mt_text_add(&name, ".mts", 4);
    if (!name.failed) {
        char *argv[] = {command, output, name.p, quiet, c->force ? force : quiet, end, trace, NULL};
        status = mt_own_run(argv);
    }
    if (status != MT_EXIT_OK && status != MT_EXIT_DAMAGED)
        mt_say("the trace could not be summarized; it is whole");
    mt_text_done(&name);
}

static enum mt_exit capture(const struct mt_cli *c)
{
    struct mt_launch_opts o;
    struct mt_launch *l;
    struct mt_err err;
    int status;
    bool collected = false;
    char *trace = NULL;

    memset(&o, 0, sizeof o);
    memset(&err, 0, sizeof err);
    o.output = c->output;
    o.spool = c->spool;
    o.force = c->force;
    o.take_over = c->take_over;
    o.no_torch = c->no_torch;
    o.no_stacks = c->no_stacks;
    o.memory2 = c->memory2;
    o.max_bytes = c->max_mb << 20;
    if (!mt_what_is_kept(c, &o))
        return (enum mt_exit)STATUS_OWN;
    o.flush_ms = c->flush_ms;
    o.argv = c->inputs;
    o.version = MEMTRACE_VERSION;
    o.sigpipe_default = c->sigpipe_default;
    o.sigxfsz_default = c->sigxfsz_default;
    o.closed_fds = c->closed_fds;
    if (strcmp(o.output, "-") == 0) {
        mt_say("capture: the trace needs a file: standard output belongs to the command");
        return (enum mt_exit)STATUS_OWN;
    }
    if (c->max_mb > UINT64_MAX >> 20) {
        mt_say("--max-mb: %llu is too large", (unsigned long long)c->max_mb);
        return (enum mt_exit)STATUS_OWN;
    }
    if (mt_launch_prepare(&l, &o, &status, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return (enum mt_exit)status;
    }
    if (!c->quiet)
        mt_say("recording to %s; the trace will be %s", mt_launch_spool(l), o.output);
    if (mt_launch_run(l, &status, &err) != MT_OK) {
        mt_say_err(NULL, &err);
    } else {
        trace = collect(c, l, status);
        collected = true;
    }
    mt_launch_free(l, collected);
    if (trace != NULL && c->summarize)
        summarize(c, trace);
    mt_free(trace);
    return (enum mt_exit)status;
}

enum mt_exit mt_cmd_capture(const struct mt_cli *c)
{
    return mt_captured_into(c, capture, (enum mt_exit)STATUS_OWN);
}
