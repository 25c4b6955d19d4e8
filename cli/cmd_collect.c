/* cmd_collect.c -- makes a trace of a spool directory that nobody collected: the launcher was
 * killed, or processes outlived it. */
#include "cli/captured.h"
#include "cli/output.h"
#include "cli/term.h"

#include <string.h>

static enum mt_exit collect(const struct mt_cli *c)
{
    struct mt_collect_opts o;
    struct mt_collection done;
    struct mt_progress progress;
    struct mt_err err;
    enum mt_rc rc;

    memset(&o, 0, sizeof o);
    memset(&err, 0, sizeof err);
    o.dir = c->inputs[0];
    o.output = c->output;
    if (strcmp(o.output, "-") == 0) {
        mt_say("collect: the trace needs a file: give a name with -o");
        return MT_EXIT_USAGE;
    }
    if (!mt_output_check(o.output, c->force, NULL, 0))
        return MT_EXIT_FAILED;
    mt_progress_init(&progress, c->quiet);
    o.force = c->force;
    o.keep = !c->remove;
    o.symbols = !c->no_symbols;
    o.status = -1;
    o.progress = mt_progress_update;
    o.progress_arg = &progress;
    rc = mt_collect(&done, &o, &err);
    mt_progress_erase(&progress);
    if (rc < 0)
        mt_say_err(NULL, &err);
    else if (!c->quiet || rc == MT_WARN || done.why_nothing != NULL || done.n_running > 0 ||
             done.n_waiting > 0 || done.hint != NULL)
        mt_captured_say(&done, o.dir);
    mt_collection_done(&done);
    return rc < 0 ? MT_EXIT_FAILED : rc == MT_WARN ? MT_EXIT_DAMAGED : MT_EXIT_OK;
}

enum mt_exit mt_cmd_collect(const struct mt_cli *c)
{
    return mt_captured_into(c, collect, MT_EXIT_FAILED);
}
