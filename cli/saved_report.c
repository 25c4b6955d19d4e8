#include "cli/saved_report.h"

#include "cli/formats.h"
#include "cli/output.h"
#include "cli/preferences.h"
#include "cli/term.h"
#include "parser/saved/report.h"
#include "parser/saved/summary.h"
#include "parser/saved/value.h"
#include "render/base/json_form.h"
#include "render/saved/again.h"

#include <string.h>

/* Rows of a table of holders: as a rule, and where --full did not fit. */
enum { ROWS = 10, LEAST_FULL = 1024 };

/* The first of those that say how a snapshot is to be read; NULL = none was given. memtrace.toml
 * says how all are to be read, and is no mistake here. */
static const char *in_vain(const struct mt_cli *c)
{
    bool rules = c->rules_file != NULL && c->rules_file != c->preferences->rules_file;
    return c->capacity != NULL           ? "capacity"
           : c->device >= 0              ? "device"
           : c->framework != NULL        ? "framework"
           : c->configs.n != 0           ? "config"
           : c->args.n != 0              ? "args"
           : c->tries.n != 0             ? "try"
           : c->logs.n != 0              ? "log"
           : rules                       ? "rules"
           : c->verify                   ? "verify"
           : c->frames != MT_FRAMES_USER ? "frames"
                                         : NULL;
}

enum mt_exit mt_saved_run_options(const struct mt_cli *c, const char *name)
{
    const char *option = c->configs.n != 0 ? "config"
                         : c->args.n != 0  ? "args"
                         : c->logs.n != 0  ? "log"
                                           : NULL;
    if (option == NULL)
        return MT_EXIT_OK;
    mt_say("--%s is of the run that is checked, and changes nothing in a report that is read back "
           "(%s); it needs the snapshot",
           option, name);
    return MT_EXIT_USAGE;
}

bool mt_saved_report_alone(const struct mt_reading *in, enum mt_exit *status)
{
    const char *name = in->saved.p[0].name;
    *status = MT_EXIT_USAGE;
    if (in->saved.n > 1 || (in->merge.n == 0 && in->load.n_read + in->load.n_logs != 0))
        mt_say("%s is a report of memtrace, which is read back alone, not beside other inputs; "
               "'memtrace diff' compares two",
               name);
    else
        *status = MT_EXIT_OK;
    return *status == MT_EXIT_OK;
}

enum mt_exit mt_saved_options(const struct mt_cli *c, const char *name)
{
    const char *option = in_vain(c);
    if (option == NULL)
        return MT_EXIT_OK;
    mt_say("--%s changes nothing in a report that is read back (%s); it needs the snapshot", option,
           name);
    return MT_EXIT_USAGE;
}

bool mt_saved_shows_names(const struct mt_cli *c, const char *name, const struct mt_saved *s)
{
    if (!c->redact && c->redact_key == NULL)
        return false;
    if (s != NULL && mt_saved_is_redacted(s->root)) {
        /* memtrace.toml says it of all that is read, and need not be answered each time */
        if (c->redact_by == NULL && !c->quiet)
            mt_tell("%s is redacted already, and stays as it is", name);
        return false;
    }
    mt_say("%s was written without --redact%s%s%s, and cannot be redacted any more; "
           "make it again of the snapshot%s",
           name, c->redact_by != NULL ? ", which " : "", c->redact_by != NULL ? c->redact_by : "",
           c->redact_by != NULL ? " asks for" : "",
           c->redact_by != NULL ? ", or show it as it is: --no-config" : "");
    return true;
}

bool mt_saved_report_ok(const struct mt_reading *in, enum mt_exit *status)
{
    const struct mt_cli *c = in->c;
    const char *option = c->title != NULL ? "title" : c->gzip ? "gzip" : NULL;
    bool is_mixed = in->load.n_read + in->load.n_logs != 0;
    if (!mt_saved_report_alone(in, status) ||
        (!is_mixed && (*status = mt_saved_options(c, in->saved.p[0].name)) != MT_EXIT_OK))
        return false;
    *status = MT_EXIT_USAGE;
    if (mt_saved_shows_names(c, in->saved.p[0].name, in->saved.p[0].report))
        return false;
    if (option != NULL)
        mt_say("--%s is not for a report that is read back (%s)", option, in->saved.p[0].name);
    else if (c->format == MT_FORMAT_HTML && !mt_saved_is_summary(in->saved.p[0].report))
        mt_say("%s is a report of memtrace, of which no page is made: --format text, md or json "
               "says what is in it; a page needs the snapshot",
               in->saved.p[0].name);
    else
        *status = MT_EXIT_OK;
    return *status == MT_EXIT_OK;
}

/* For a person, with as many rows as fit the limit: of Markdown what a comment takes, else what
 * --max-size says. 0 after a message. */
static int render(const struct mt_saved_input *s, struct mt_paper *k, struct mt_out *o,
                  uint64_t limit)
{
    for (;; k->most = k->most != 0 ? k->most / 2 : LEAST_FULL) {
        int ok = mt_out_mem(o);
        k->o = o;
        if (ok && k->format == MT_PAPER_HTML)
            mt_saved_page(s->report, s->name, MEMTRACE_VERSION, k);
        else if (ok)
            mt_saved_again(s->report, s->name, k);
        if (!ok || mt_out_finish(o) != 0) {
            mt_out_done(o);
            mt_say("out of memory; raise --max-memory");
            return 0;
        }
        if (limit == 0 || o->n <= limit)
            return 1;
        mt_out_done(o);
        if (k->most == 1) {
            mt_say("what was read back takes more than %llu bytes in this format; raise "
                   "--max-size, or take --format json",
                   (unsigned long long)limit);
            return 0;
        }
    }
}

static enum mt_exit write_for_person(const struct mt_reading *in, const char *path)
{
    const struct mt_cli *c = in->c;
    bool is_md = c->format == MT_FORMAT_MD;
    int columns = mt_term_width(1);
    struct mt_paper k = {.format = is_md                         ? MT_PAPER_MD
                                   : c->format == MT_FORMAT_HTML ? MT_PAPER_HTML
                                                                 : MT_PAPER_TEXT,
                         .width = columns > 0 ? (size_t)columns : 80,
                         .most = c->full ? 0 : ROWS};
    uint64_t limit = c->max_size != 0              ? c->max_size
                     : is_md                       ? MT_TICKET_SIZE
                     : c->format == MT_FORMAT_HTML ? MT_MAX_SIZE_DEFAULT
                                                   : 0;
    enum mt_exit status = MT_EXIT_FAILED;
    struct mt_output out;
    struct mt_out text;
    if (!render(&in->saved.p[0], &k, &text, limit))
        return MT_EXIT_FAILED;
    if (mt_output_open(&out, path, c->force)) {
        mt_put(&out.out, text.buf, text.used);
        status = mt_output_commit(&out, c->force);
    }
    mt_out_done(&text);
    return status;
}

static enum mt_exit write_json(const struct mt_reading *in, const char *path)
{
    const struct mt_saved *report = in->saved.p[0].report;
    uint64_t limit = in->c->max_size;
    struct mt_output out;
    struct mt_out text;
    int ok = mt_out_mem(&text);
    enum mt_exit status = MT_EXIT_FAILED;
    if (ok)
        mt_json_pretty(&text, report->text, report->n);
    if (!ok || mt_out_finish(&text) != 0) {
        mt_say("out of memory; raise --max-memory");
    } else if (limit != 0 && text.n > limit) {
        mt_say("the report is %llu bytes long, more than --max-size allows (%llu); raise it",
               (unsigned long long)text.n, (unsigned long long)limit);
    } else if (mt_output_open(&out, path, in->c->force)) {
        mt_put(&out.out, text.buf, text.used);
        status = mt_output_commit(&out, in->c->force);
    }
    mt_out_done(&text);
    return status;
}

enum mt_exit mt_saved_report_write(const struct mt_reading *in, const char *path)
{
    enum mt_exit status =
        in->c->format == MT_FORMAT_JSON ? write_json(in, path) : write_for_person(in, path);
    if (status == MT_EXIT_OK && path != NULL && strcmp(path, "-") != 0 && !in->c->quiet)
        mt_tell("%s written", path);
    return status;
}
