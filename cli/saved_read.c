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

enum mt_exit mt_saved_merged(struct mt_reading *in, const struct mt_cli *shown)
{
    struct mt_merge *m = &in->merge;
    struct mt_saved *made = NULL;
    struct mt_saved_input *slot;
    char *command;
    int ok = 1;
    if (m->n == 0)
        return MT_EXIT_OK;
    if (m->unredacted != NULL && mt_saved_shows_names(in->c, m->unredacted, NULL))
        return MT_EXIT_USAGE;
    if (in->diagnosis->ranks.n + in->diagnosis->drivers.n + in->load.n_logs != 0) {
        if (mt_saved_diagnosed(&made, in, shown) != MT_EXIT_OK)
            return MT_EXIT_FAILED;
        ok = mt_merge_add(m, made, "the snapshots beside them");
    }
    command = mt_command_line(shown);
    ok = ok && command != NULL && mt_merge_finish(m, command);
    mt_free(command);
    slot = ok ? MT_VEC_PUSH(&in->saved) : NULL;
    if (slot == NULL)
        return MT_EXIT_FAILED;
    *slot = (struct mt_saved_input){m->lead, m->lead_name};
    m->lead = NULL;
    m->lead_name = NULL;
    if (m->n > 1) { /* it is of all of them */
        mt_free(slot->name);
        slot->name = mt_strndup(shown->inputs[0], strlen(shown->inputs[0]));
    }
    return slot->name != NULL ? MT_EXIT_OK : MT_EXIT_FAILED;
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
    one.full = true; /* of every rank all is looked at */
    shown = one;
    *out = NULL;
    status = mt_report_read(&in, &one, &shown);
    if (status == MT_EXIT_OK)
        status = mt_saved_merged(&in, &shown);
    if (status == MT_EXIT_OK && in.saved.n == 0) {
        status = mt_saved_diagnosed(out, &in, &shown);
        seen->n_made += status == MT_EXIT_OK;
    } else if (status == MT_EXIT_OK && mt_saved_report_alone(&in, &status) &&
               mt_saved_shows_names(c, in.saved.p[0].name, in.saved.p[0].report)) {
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
