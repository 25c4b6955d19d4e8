/* cmd_info.c -- what is in each input, printed as soon as it is read. */
#include "cli/load.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "render/dump/dump.h"

#include <string.h>

struct info {
    const struct mt_cli *c;
    struct mt_output out;
    uint64_t n;
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
    load.redact = redact;
    mt_load_inputs(&load, c, visit, &i);
    status = mt_output_commit(&i.out, false);
    if (status == MT_EXIT_OK)
        status = mt_load_status(&load);
    mt_load_done(&load);
    mt_redact_close(redact);
    return status;
}
