/* cmd_report.c -- arguments, the report's file, exit status. */
#include "cli/formats.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_read.h"
#include "cli/report_write.h"
#include "cli/term.h"

#include <string.h>

static bool has_trait(const struct mt_cli *c, unsigned trait)
{
    return (mt_report_formats[c->format].traits & trait) != 0;
}

static bool is_stdout(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

static enum mt_exit write_report(struct mt_reading *in, const struct mt_cli *shown,
                                 const char *path)
{
    const struct mt_cli *c = in->c;
    struct mt_report report = {.diagnosis = in->diagnosis,
                               .packs = in->packs.p,
                               .version = MEMTRACE_VERSION,
                               .max_size = in->max_size,
                               .columns = mt_term_width(1)};
    enum mt_exit status;
    char *command = mt_command_line(shown);
    if (command == NULL) {
        mt_say("out of memory");
        return MT_EXIT_FAILED;
    }
    report.title = shown->title != NULL && shown->title[0] != '\0' ? shown->title : NULL;
    report.command = command;
    report.color = is_stdout(path) && has_trait(c, MT_FORMAT_IN_COLOR) && mt_term_color(1);
    status = mt_report_write(c, &report, path, &in->load.progress);
    mt_free(command);
    return status;
}

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
        status = write_report(&in, &shown, path);
    if (status == MT_EXIT_OK) {
        if (c->open)
            mt_open_page(path);
        status = mt_reading_status(&in);
    }
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
