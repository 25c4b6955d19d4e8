/* cmd_check.c -- a run against limits: what a gate asks. */
#include "cli/limits_read.h"
#include "cli/output.h"
#include "cli/preferences.h"
#include "cli/redaction.h"
#include "cli/saved_read.h"
#include "cli/saved_report.h"
#include "render/saved/check.h"

#include <stdio.h>
#include <string.h>

/* Of --baseline, where nothing else is said: thousandths. */
enum { MT_TOLERANCE = 20 };

static enum mt_exit write_check(const struct mt_cli *c, const struct mt_check *k)
{
    /* in the order of the option's choices */
    static void (*const render[])(const struct mt_check *c, struct mt_out *o) = {
        mt_check_text, mt_check_github, mt_check_junit, mt_check_json};
    struct mt_output out;
    if (!mt_output_open(&out, c->output, c->force))
        return MT_EXIT_FAILED;
    render[c->check_format](k, &out.out);
    return mt_output_commit(&out, c->force);
}

/* The report, then the baseline; both are freed by the caller. */
static enum mt_exit read_both(struct mt_saved *report[2], const struct mt_cli *c,
                              struct mt_saved_seen *seen)
{
    char *baseline;
    struct mt_cli plain = *c;
    enum mt_exit status = mt_saved_of(&report[0], c, c->inputs, c->n_inputs, seen);
    plain.configs.n = plain.args.n = plain.logs.n = 0; /* they are of the run that is checked */
    if (status == MT_EXIT_OK && seen->n_made == 0)
        status = mt_saved_run_options(c, c->inputs[0]);
    if (status != MT_EXIT_OK || c->baseline == NULL)
        return status;
    baseline = mt_strndup(c->baseline, strlen(c->baseline));
    if (baseline == NULL)
        mt_say("out of memory");
    status =
        baseline != NULL ? mt_saved_of(&report[1], &plain, &baseline, 1, seen) : MT_EXIT_FAILED;
    mt_free(baseline);
    return status;
}

/* The output is none of the files that are read. */
static bool may_write(const struct mt_cli *c)
{
    bool ok = mt_output_check(c->output, c->force, c->inputs, c->n_inputs) != 0 &&
              (c->baseline == NULL || mt_output_is_other(c->output, c->baseline));
    for (int i = 0; i < c->limit_files.n && ok; i++)
        ok = mt_output_is_other(c->output, c->limit_files.p[i]);
    return ok;
}

enum mt_exit mt_cmd_check(const struct mt_cli *c)
{
    struct mt_cli one = *c;
    char key[MT_REDACT_KEY_TEXT];
    struct mt_redact *redact = NULL;
    struct mt_limit_list limits;
    struct mt_saved *report[2] = {NULL, NULL};
    struct mt_check k;
    struct mt_err err = {.rc = MT_OK};
    struct mt_saved_seen seen = {false, 0};
    uint64_t tolerance = c->tolerance != MT_SHARE_UNSAID                ? c->tolerance
                         : c->preferences->tolerance != MT_SHARE_UNSAID ? c->preferences->tolerance
                                                                        : MT_TOLERANCE;
    enum mt_exit status = MT_EXIT_OK;
    memset(&k, 0, sizeof k);
    memset(&limits, 0, sizeof limits);
    if ((c->redact || c->redact_key != NULL) &&
        !(mt_redact_one_key(&one, key) && mt_redact_open(&redact, &one, NULL)))
        status = MT_EXIT_FAILED;
    if (status == MT_EXIT_OK)
        status = mt_limits_read(&limits, c, redact);
    if (status == MT_EXIT_OK && !may_write(c))
        status = MT_EXIT_FAILED;
    if (status == MT_EXIT_OK)
        status = read_both(report, &one, &seen);
    if (status == MT_EXIT_OK && seen.n_made == 0)
        status = mt_saved_options(c, c->inputs[0]);
    if (status == MT_EXIT_OK && mt_check_make(&k, report[0], limits.list.p, limits.list.n,
                                              report[1], tolerance, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        status = MT_EXIT_FAILED;
    }
    if (status == MT_EXIT_OK)
        status = write_check(c, &k);
    if (status == MT_EXIT_OK)
        status = k.n_over + k.n_unknown != 0 ? MT_EXIT_OVER
                 : seen.damaged              ? MT_EXIT_DAMAGED
                                             : MT_EXIT_OK;
    mt_check_done(&k);
    mt_limits_done(&limits);
    mt_saved_free(report[0]);
    mt_saved_free(report[1]);
    mt_redact_close(redact);
    explicit_bzero(key, sizeof key);
    return status;
}
