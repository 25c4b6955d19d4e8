/* cmd_collect.c -- makes a trace of a spool directory that nobody collected: the launcher was
 * killed, or processes outlived it. */
#include "cli/captured.h"
#include "cli/output.h"
#include "parser/input/untar.h"

#include <string.h>

/* dir: the spool directory. */
static enum mt_exit collect_dir(const struct mt_cli *c, const char *dir)
{
    struct mt_collect_opts o = {.dir = dir, .keep = !c->remove, .status = -1};
    struct mt_collection done;
    struct mt_err err = {.rc = MT_OK};
    enum mt_rc rc = mt_captured_collect(&done, &o, c, &err);
    if (rc < 0)
        mt_say_err(NULL, &err);
    else if (!c->quiet || rc == MT_WARN || done.why_nothing != NULL || done.n_running > 0 ||
             done.n_waiting > 0 || done.hint != NULL)
        mt_captured_say(&done, o.dir);
    mt_collection_done(&done);
    return rc < 0 ? MT_EXIT_FAILED : rc == MT_WARN ? MT_EXIT_DAMAGED : MT_EXIT_OK;
}

/* The tar streams of nodes become one spool directory, which is gone afterwards. */
static enum mt_exit collect_from(const struct mt_cli *c)
{
    struct mt_input_opts opts = {.limits = c->limits, .budget = c->budget};
    struct mt_untar u = {.opts = &opts, .is_wanted = mt_scan_is_part};
    struct mt_err err;
    enum mt_exit status = MT_EXIT_FAILED;
    char *dir;
    bool damaged = false;
    memset(&err, 0, sizeof err);
    if (mt_spool_new(&dir, NULL, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return status;
    }
    u.dir = dir;
    for (int i = 0; i < c->n_inputs; i++)
        if (mt_untar(&u, c->inputs[i], &err) != MT_OK) {
            mt_say_err(NULL, &err);
            damaged = true;
        }
    if (u.n_files != 0)
        status = collect_dir(c, dir);
    else
        mt_say("collect --from: no file of a recording (mt-*) is in what was given");
    if (u.n_files == 0 || status == MT_EXIT_OK || status == MT_EXIT_DAMAGED)
        mt_scan_remove(dir);
    else /* a stream cannot be read again */
        mt_say("what was given is in %s: memtrace collect %s -o FILE", dir, dir);
    mt_free(dir);
    return status == MT_EXIT_OK && damaged ? MT_EXIT_DAMAGED : status;
}

static enum mt_exit collect(const struct mt_cli *c)
{
    if (strcmp(c->output, "-") == 0) {
        mt_say("collect: the trace needs a file: give a name with -o");
        return MT_EXIT_USAGE;
    }
    if (c->n_inputs > 1 && !c->from) {
        mt_say("collect: one folder, or tar files of several with --from");
        return MT_EXIT_USAGE;
    }
    if (!mt_output_check(c->output, c->force, NULL, 0))
        return MT_EXIT_FAILED;
    return c->from ? collect_from(c) : collect_dir(c, c->inputs[0]);
}

enum mt_exit mt_cmd_collect(const struct mt_cli *c)
{
    return mt_captured_into(c, collect, MT_EXIT_FAILED);
}
