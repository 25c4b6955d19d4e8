/* cmd_snap.c -- a snapshot of PyTorch's allocator in a job that runs, now. */
#include "capture/live.h"
#include "cli/captured.h"
#include "cli/output.h"
#include "cli/pid.h"
#include "render/base/escape.h"

#include <string.h>

#define PATIENCE_S 60u

enum mt_exit mt_cmd_snap(const struct mt_cli *c)
{
    struct mt_snap_opts o = {.timeout_ms = (c->timeout != 0 ? c->timeout : PATIENCE_S) * 1000};
    struct mt_snap snap;
    struct mt_output out;
    struct mt_err err;
    enum mt_exit status = MT_EXIT_FAILED;
    char size[32], word[1200];
    memset(&err, 0, sizeof err);
    if (!mt_is_pid(c->inputs[0], &o.pid)) {
        mt_say("snap: '%s' is not the number of a process; 'memtrace top' lists those that are "
               "recorded",
               c->inputs[0]);
        return MT_EXIT_USAGE;
    }
    if (c->timeout > UINT32_MAX / 1000) {
        mt_say("--timeout: %u is too large", c->timeout);
        return MT_EXIT_USAGE;
    }
    if (mt_snap(&snap, &o, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return snap.late ? MT_EXIT_LATE : MT_EXIT_FAILED;
    }
    if (mt_output_open(&out, NULL, false)) {
        mt_puts(&out.out, snap.path);
        mt_putc(&out.out, '\n');
        status = mt_output_commit(&out, false);
    }
    if (!c->quiet && status == MT_EXIT_OK) {
        mt_say("%s after %u.%u s; it becomes part of the trace when the recording ends, and the "
               "folder goes then",
               mt_fmt_bytes(size, snap.bytes), snap.waited_ms / 1000, snap.waited_ms % 1000 / 100);
        mt_say("the report: memtrace report %s -o snap.html",
               mt_shell_word(word, sizeof word, snap.path));
    }
    mt_free(snap.path);
    return status;
}
