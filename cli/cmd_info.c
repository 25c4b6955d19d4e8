/* cmd_info.c -- what is in each input, printed as soon as it is read. */
#include "cli/load.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "cli/saved_report.h"
#include "render/dump/dump.h"
#include "render/saved/again.h"

#include <string.h>

struct info {
    const struct mt_cli *c;
    struct mt_redact *redact;
    struct mt_output out;
    uint64_t n;
    enum mt_exit refused; /* of a report that is read back */
};

static int visit(void *arg, struct mt_trace *t)
{
    struct info *i = arg;
    if (i->c->json) {
        mt_render_info_json(t, &i->out.out);
    } else {
        if (i->n > 0)
            mt_putc(&i->out.out, '\n');
        mt_render_info(t, &i->out.out);
    }
    i->n++;
    mt_trace_free(t);
    (void)mt_out_finish(&i->out.out); /* an error stays in it until the commit */
    return 1;
}

static int visit_report(void *arg, const char *input, const char *member, struct mt_saved *report)
{
    struct info *i = arg;
    i->refused = mt_saved_options(i->c, input);
    if (i->refused == MT_EXIT_OK && mt_saved_shows_names(i->c, input, report))
        i->refused = MT_EXIT_USAGE;
    if (i->refused == MT_EXIT_OK && mt_redact_hides_names(i->redact) &&
        ((input = mt_redact_file_name(i->redact, input)) == NULL ||
         (member != NULL && (member = mt_redact_file_name(i->redact, member)) == NULL))) {
        mt_say("out of memory");
        i->refused = MT_EXIT_FAILED;
    }
    if (i->refused != MT_EXIT_OK) {
        mt_saved_free(report);
        return 0;
    }
    if (!i->c->json && i->n > 0)
        mt_putc(&i->out.out, '\n');
    if (i->c->json)
        mt_saved_info_json(report, input, member, &i->out.out);
    else
        mt_saved_info(report, input, member, &i->out.out);
    i->n++;
    mt_saved_free(report);
    (void)mt_out_finish(&i->out.out);
    return 1;
}

enum mt_exit mt_cmd_info(const struct mt_cli *c)
{
    struct mt_load load;
    struct mt_redact *redact = NULL;
    struct info i;
    enum mt_exit status = MT_EXIT_FAILED;

    memset(&load, 0, sizeof load);
    memset(&i, 0, sizeof i);
    i.c = c;
    if (!mt_redact_open(&redact, c, NULL))
        return status;
    if (!mt_output_open(&i.out, NULL, false)) {
        mt_redact_close(redact);
        return status;
    }
    load.redact = i.redact = redact;
    load.report = visit_report;
    load.report_arg = &i;
    mt_load_inputs(&load, c, visit, &i);
    status = mt_output_commit(&i.out, false);
    if (status == MT_EXIT_OK)
        status = i.refused != MT_EXIT_OK ? i.refused : mt_load_status(&load);
    mt_load_done(&load);
    mt_redact_close(redact);
    return status;
}
