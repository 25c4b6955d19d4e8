#include "cli/saved_read.h"

#include "cli/formats.h"
#include "cli/options.h"
#include "cli/preferences.h"
#include "cli/report_read.h"
#include "cli/saved_report.h"
#include "render/json/json.h"

#include <string.h>

enum mt_exit mt_saved_diagnosed(struct mt_saved **out, const struct mt_reading *in,
                                const struct mt_cli *shown)
{
    struct mt_report report = {.diagnosis = in->diagnosis, .version = MEMTRACE_VERSION};
    char *command = mt_command_line(shown);
    struct mt_err err = {.rc = MT_ENOMEM, .msg = "out of memory"};
    enum mt_rc rc = MT_ENOMEM;
    struct mt_out o;
    report.command = command;
    report.redacted = in->c->redact || in->c->redact_key != NULL;
    mt_preferences_show(&report, shown->preferences);
    if (mt_out_mem(&o) && command != NULL) {
        mt_render_json(&report, &o);
        if (mt_out_finish(&o) == 0)
            rc = mt_saved_text(out, (const char *)o.buf, o.used, &err);
    }
    mt_out_done(&o);
    mt_free(command);
    if (rc == MT_OK)
        return MT_EXIT_OK;
    mt_say_err(NULL, &err);
    return MT_EXIT_FAILED;
}

enum mt_exit mt_saved_of(struct mt_saved **out, const struct mt_cli *c, char **inputs, int n,
                         struct mt_saved_seen *seen)
{
    struct mt_cli one = *c, shown;
    struct mt_reading in;
    enum mt_exit status;
    one.inputs = inputs;
    one.n_inputs = n;
    one.format = MT_FORMAT_JSON;
    shown = one;
    *out = NULL;
    status = mt_report_read(&in, &one, &shown);
    if (status == MT_EXIT_OK && in.saved.n == 0) {
        status = mt_saved_diagnosed(out, &in, &shown);
        seen->n_made += status == MT_EXIT_OK;
    } else if (status == MT_EXIT_OK && mt_saved_report_alone(&in, &status) &&
               mt_saved_shows_names(c, &in.saved.p[0])) {
        status = MT_EXIT_USAGE;
    } else if (status == MT_EXIT_OK) {
        *out = in.saved.p[0].report;
        in.saved.p[0].report = NULL;
    }
    if (status == MT_EXIT_OK)
        seen->damaged |= mt_reading_status(&in) == MT_EXIT_DAMAGED;
    mt_reading_done(&in);
    return status;
}
