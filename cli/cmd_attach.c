/* cmd_attach.c -- records a job that runs already, until it ends, or until Ctrl-C; and lets one go
 * again. */
#include "capture/attach.h"
#include "cli/captured.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cli/pid.h"
#include "render/base/escape.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 30u
#define DETACH_MS 20000u /* the recorder waits 10 s for Python's main thread */
#define LOOK_MS 200u

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
    (void)number;
    stopped = 1;
}

static void take_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_stop;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &a, NULL);
}

static bool is_stopped(void) { return stopped != 0; }

/* The command line of the process, as far as it fits. */
static const char *command_of(const struct mt_attach_plan *p, char *buf, size_t cap)
{
    char text[200];
    size_t n = 0;
    for (uint32_t i = 0; i + 1 < p->argv.n && n < sizeof text - 1; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? " " : "", p->argv.p[i]);
    return mt_printable(buf, cap, text, n < sizeof text ? n : sizeof text - 1);
}

/* Says what will be done; whether that is wanted. */
static bool is_wanted(const struct mt_cli *c, const struct mt_attach_plan *p)
{
    char command[300], answer[16] = "";
    mt_say("process %ld: %s", (long)p->pid, command_of(p, command, sizeof command));
    mt_tell(
        "  A thread of it is stopped for a moment and loads the recorder's library, which starts a "
        "thread of its own. From then on its GPU calls, samples and, in a Python with PyTorch, "
        "the history of its allocator are recorded, as by 'memtrace capture'.");
    mt_tell("  Ctrl-C, or 'memtrace attach --detach %ld', ends the recording and writes the trace; "
            "the process goes on. The library stays in its memory, and does nothing then.",
            (long)p->pid);
    if (c->yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        mt_say("attach: nobody is there to be asked; --yes says that it is wanted");
        return false;
    }
    (void)fputs("Attach? [y/N] ", stderr);
    (void)fflush(stderr);
    return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static enum mt_exit collect(const struct mt_cli *c, const char *dir)
{
    struct mt_collect_opts o = {.dir = dir, .status = -1};
    struct mt_collection done;
    struct mt_err err = {.rc = MT_OK};
    enum mt_rc rc = mt_captured_collect(&done, &o, c, &err);
    if (rc < 0)
        mt_captured_failed(&err, dir);
    else if (!c->quiet || rc == MT_WARN || done.why_nothing != NULL)
        mt_captured_say(&done, dir);
    mt_collection_done(&done);
    return rc < 0 ? MT_EXIT_FAILED : rc == MT_WARN ? MT_EXIT_DAMAGED : MT_EXIT_OK;
}

static enum mt_exit record(const struct mt_cli *c, const struct mt_attach_opts *o)
{
    enum mt_attach_state state = MT_ATTACH_GOES_ON;
    long pid = (long)o->plan->pid;
    enum mt_exit status;
    struct mt_attach *a;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    take_signals();
    if (mt_attach_begin(&a, o, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return MT_EXIT_FAILED;
    }
    if (!c->quiet)
        mt_say("process %ld is recorded, into %s; Ctrl-C ends that and writes %s", pid,
               mt_attach_spool(a), c->output);
    while (!is_stopped() && state == MT_ATTACH_GOES_ON)
        state = mt_attach_wait(a, LOOK_MS);
    if (state == MT_ATTACH_GOES_ON &&
        mt_detach_from(mt_attach_spool(a), o->plan->pid, DETACH_MS, &err) != MT_OK)
        mt_say_err(NULL, &err);
    if (!c->quiet)
        mt_say(state == MT_ATTACH_ENDED ? "process %ld has ended"
                                        : "process %ld goes on, and is not recorded any more",
               pid);
    status = collect(c, mt_attach_spool(a));
    mt_attach_free(a);
    return status;
}

static enum mt_exit detach(const struct mt_cli *c, pid_t pid)
{
    struct mt_detach d;
    struct mt_err err;
    char folder[1200];
    memset(&err, 0, sizeof err);
    if (mt_detach(&d, pid, DETACH_MS, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return MT_EXIT_FAILED;
    }
    if (d.collected_by != 0 && !c->quiet)
        mt_say("process %ld goes on, and is not recorded any more; the 'memtrace attach' that did "
               "(process %ld) writes the trace",
               (long)pid, (long)d.collected_by);
    else if (d.collected_by == 0)
        mt_say("process %ld goes on, and is not recorded any more; its recording: memtrace collect "
               "--remove %s",
               (long)pid, mt_shell_word(folder, sizeof folder, d.dir));
    mt_free(d.dir);
    return MT_EXIT_OK;
}

static enum mt_exit attach(const struct mt_cli *c)
{
    struct mt_attach_plan plan;
    struct mt_attach_opts o = {.plan = &plan,
                               .record = {.spool = c->spool,
                                          .no_torch = c->no_torch,
                                          .no_stacks = c->no_stacks,
                                          .memory2 = c->memory2,
                                          .max_bytes = c->max_mb << 20,
                                          .flush_ms = c->flush_ms,
                                          .version = MEMTRACE_VERSION},
                               .timeout_ms = (c->timeout != 0 ? c->timeout : PATIENCE_S) * 1000,
                               .stop = is_stopped};
    enum mt_exit status = MT_EXIT_FAILED;
    struct mt_err err;
    pid_t pid = 0;
    memset(&err, 0, sizeof err);
    (void)mt_is_pid(c->inputs[0], &pid);
    if (!mt_output_check(c->output, c->force, NULL, 0))
        return MT_EXIT_FAILED;
    if (!mt_what_is_kept(c, &o.record))
        return MT_EXIT_USAGE;
    if (mt_attach_look(&plan, pid, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return MT_EXIT_FAILED;
    }
    o.record.argv = plan.argv.p;
    if (is_wanted(c, &plan))
        status = record(c, &o);
    mt_attach_plan_done(&plan);
    return status;
}

enum mt_exit mt_cmd_attach(const struct mt_cli *c)
{
    pid_t pid;
    if (!mt_is_pid(c->inputs[0], &pid)) {
        mt_say("attach: '%s' is not the number of a process; 'nvidia-smi' lists those on the GPUs",
               c->inputs[0]);
        return MT_EXIT_USAGE;
    }
    if (c->timeout > UINT32_MAX / 1000 || c->max_mb > UINT64_MAX >> 20) {
        mt_say("--timeout, --max-mb: the number is too large");
        return MT_EXIT_USAGE;
    }
    if (c->detach)
        return detach(c, pid);
    if (c->output != NULL && strcmp(c->output, "-") == 0) {
        mt_say("attach: the trace needs a file: give a name with -o");
        return MT_EXIT_USAGE;
    }
    return mt_captured_into(c, attach, MT_EXIT_FAILED);
}
