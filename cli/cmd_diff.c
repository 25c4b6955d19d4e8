/* cmd_diff.c -- two runs beside each other. */
#include "cli/formats.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "cli/saved_read.h"
#include "cli/saved_report.h"
#include "cli/term.h"
#include "render/saved/diff.h"

#include <string.h>

static enum mt_exit write_diff(const struct mt_cli *c, const struct mt_diff_report *r)
{
    struct mt_output out;
    struct mt_paper k;
    enum mt_exit status;
    if (!mt_output_open(&out, c->output, c->force))
        return MT_EXIT_FAILED;
    k = (struct mt_paper){.o = &out.out,
                          .format = c->format == MT_FORMAT_MD ? MT_PAPER_MD : MT_PAPER_TEXT,
                          .width = (size_t)mt_term_width(1)};
    if (c->format == MT_FORMAT_JSON)
        mt_diff_json(r, &out.out);
    else if (c->format == MT_FORMAT_HTML)
        mt_diff_page(r, &out.out);
    else
        mt_diff_put(r, &k);
    status = mt_output_commit(&out, c->force);
    if (status == MT_EXIT_OK && c->output != NULL && strcmp(c->output, "-") != 0 && !c->quiet)
        mt_tell("%s written: %s", c->output, r->diff->sentence.buf);
    return status;
}

/* One key for both runs, so that a name is one token in both; the inputs as they are shown. 0 after
 * a message. */
static int hide(struct mt_redact **redact, struct mt_cli *c, char key[MT_REDACT_KEY_TEXT],
                const char *name[2])
{
    char **hidden;
    if (!c->redact && c->redact_key == NULL)
        return 1;
    if (!mt_redact_one_key(c, key) || !mt_redact_open(redact, c, NULL))
        return 0;
    hidden = mt_redact_file_names(*redact, c->inputs, 2);
    if (hidden == NULL) {
        mt_say("out of memory");
        return 0;
    }
    name[0] = hidden[0];
    name[1] = hidden[1];
    return 1;
}

enum mt_exit mt_cmd_diff(const struct mt_cli *c)
{
    struct mt_diff_report r = {.name = {c->inputs[0], c->inputs[1]},
                               .version = MEMTRACE_VERSION,
                               .thousandths = c->threshold};
    struct mt_cli one = *c;
    char key[MT_REDACT_KEY_TEXT];
    struct mt_redact *redact = NULL;
    struct mt_saved *side[2] = {NULL, NULL};
    struct mt_saved_seen seen = {false, 0};
    enum mt_exit status = MT_EXIT_OK;
    struct mt_diff d;
    struct mt_err err = {.rc = MT_OK};
    if (c->gzip) {
        mt_say("a diff is not compressed: name it without .gz");
        return MT_EXIT_USAGE;
    }
    if (!mt_output_check(c->output, c->force, c->inputs, c->n_inputs))
        return MT_EXIT_FAILED;
    if (!hide(&redact, &one, key, r.name))
        status = MT_EXIT_FAILED;
    for (int i = 0; i < 2 && status == MT_EXIT_OK; i++)
        status = mt_saved_of(&side[i], &one, &one.inputs[i], 1, &seen);
    if (status == MT_EXIT_OK && seen.n_made == 0)
        status = mt_saved_options(c, c->inputs[0]);
    memset(&d, 0, sizeof d);
    if (status == MT_EXIT_OK && mt_diff_make(&d, side[0], side[1], &err) != MT_OK) {
        mt_say_err(NULL, &err);
        status = MT_EXIT_FAILED;
    }
    r.diff = &d;
    if (status == MT_EXIT_OK)
        status = write_diff(c, &r);
    mt_diff_done(&d);
    mt_saved_free(side[0]);
    mt_saved_free(side[1]);
    mt_redact_close(redact);
    explicit_bzero(key, sizeof key);
    return status == MT_EXIT_OK && seen.damaged ? MT_EXIT_DAMAGED : status;
}
