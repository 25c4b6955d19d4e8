/* cmd_dump.c -- the normalised model, one JSON object per line; several snapshots one after the
 * other. */
#include "cli/load.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "render/dump/dump.h"

#include <string.h>

struct dump {
    const struct mt_cli *c;
    struct mt_output out;
};

static int visit(void *arg, struct mt_trace *t)
{
    struct dump *d = arg;
    mt_render_dump(t, &d->out.out, d->c->meta);
    mt_trace_free(t);
    return 1;
}

enum mt_exit mt_cmd_dump(const struct mt_cli *c)
{
    struct mt_load load;
    struct mt_redact *redact = NULL;
    struct dump d;
    enum mt_exit status = MT_EXIT_FAILED;

    memset(&load, 0, sizeof load);
    memset(&d, 0, sizeof d);
    d.c = c;
    if (!mt_output_check(c->output, c->force, c->inputs, c->n_inputs) ||
        !mt_redact_open(&redact, c, NULL) || !mt_output_open(&d.out, c->output, c->force)) {
        mt_redact_close(redact);
        return status;
    }
    load.redact = redact;
    mt_load_inputs(&load, c, visit, &d);
    if (load.failed || load.n_read == 0) {
        mt_output_discard(&d.out);
    } else {
        status = mt_output_commit(&d.out, c->force);
        if (status == MT_EXIT_OK)
            status = mt_load_status(&load);
    }
    mt_load_done(&load);
    mt_redact_close(redact);
    return status;
}
