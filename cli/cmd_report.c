/* cmd_report.c -- arguments, the report's file, exit status. */
#include "cli/formats.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_read.h"
#include "cli/report_write.h"
#include "cli/saved_read.h"
#include "cli/saved_report.h"
#include "parser/saved/report.h"

#include <string.h>

static bool has_trait(const struct mt_cli *c, unsigned trait)
{
    return (mt_report_formats[c->format].traits & trait) != 0;
}

static bool is_stdout(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

/* What the options exclude before anything is read; 0 after a message. */
static int is_allowed(const struct mt_cli *c, const char *path)
{
    if (c->open && (is_stdout(path) || !has_trait(c, MT_FORMAT_IS_PAGE) || c->gzip)) {
        mt_say("--open shows a page that was written to a file: not with --gzip, --output - or "
               "another --format than html");
        return 0;
    }
    return 1;
}

/* --fail-on oom. Asked of the JSON, so that a report that is read back answers the same. */
static enum mt_exit gate(const struct mt_reading *in, const struct mt_cli *shown,
                         enum mt_exit status)
{
    struct mt_saved *made = NULL;
    const struct mt_saved *s;
    if (in->c->fail_on == 0 || (status != MT_EXIT_OK && status != MT_EXIT_DAMAGED))
        return status;
    if (in->saved.n == 0 && mt_saved_diagnosed(&made, in, shown) != MT_EXIT_OK)
        return MT_EXIT_FAILED;
    s = made != NULL ? made : in->saved.p[0].report;
    if (mt_saved_ran_out(s->root) == 1)
        status = MT_EXIT_OVER;
    mt_saved_free(made);
    return status;
}

/* Whether the report can be written is checked before its inputs are read. */
static enum mt_exit make(const struct mt_cli *c, const char *path)
{
    struct mt_cli shown = *c;
    struct mt_reading in;
    enum mt_exit status;
    if (!is_allowed(c, path))
        return MT_EXIT_USAGE;
    if (!mt_output_check(path, c->force, c->inputs, c->n_inputs))
        return MT_EXIT_FAILED;
    status = mt_report_read(&in, c, &shown);
    if (status == MT_EXIT_OK)
        status = mt_saved_merged(&in, &shown);
    if (status == MT_EXIT_OK && in.saved.n == 0)
        status = mt_reading_write(&in, &shown, path);
    else if (status == MT_EXIT_OK && mt_saved_report_ok(&in, &status))
        status = mt_saved_report_write(&in, path);
    if (status == MT_EXIT_OK) {
        if (c->open)
            mt_open_page(path);
        status = mt_reading_status(&in);
    }
    status = gate(&in, &shown, status);
    mt_reading_done(&in);
    return status;
}

enum mt_exit mt_cmd_report(const struct mt_cli *c)
{
    enum mt_exit status;
    char *made;
    if (c->max_size > MT_MAX_SIZE_MOST && !c->any_size) {
        mt_say("--max-size: more than 25MB cannot be attached to a ticket; --any-size allows it "
               "all the same");
        return MT_EXIT_USAGE;
    }
    if (c->output != NULL || !has_trait(c, MT_FORMAT_IS_PAGE))
        return make(c, c->output);
    made = mt_output_default_name(c->inputs[0], mt_report_formats[c->format].name, c->gzip);
    if (made == NULL) {
        mt_say("out of memory");
        return MT_EXIT_FAILED;
    }
    status = make(c, made);
    mt_free(made);
    return status;
}
