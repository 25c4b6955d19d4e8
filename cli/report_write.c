/* report_write.c -- a report to the file or standard output that was asked for, whole or not at
 * all. */
#include "cli/report_write.h"

#include "cli/formats.h"
#include "cli/gzip_out.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/preferences.h"
#include "cli/report_read.h"
#include "cli/term.h"

#include <string.h>

struct writer {
    const struct mt_cli *c;
    const struct mt_report *report;
    struct mt_progress *progress;
    const char *path; /* NULL = standard output */
};

static bool is_page(const struct writer *w)
{
    return (mt_report_formats[w->c->format].traits & MT_FORMAT_IS_PAGE) != 0;
}

static void render(const struct writer *w, struct mt_out *o)
{
    mt_report_formats[w->c->format].render(w->report, o);
}

static int forget(void *ctx, const void *p, size_t n)
{
    (void)ctx;
    (void)p;
    (void)n;
    return 0;
}

/* Whether the report is no larger than was asked for; it is written to nowhere to know. 0 after a
 * message. */
static int fits(const struct writer *w)
{
    struct mt_out o = {.write = forget};
    if (w->c->max_size == 0)
        return 1;
    render(w, &o);
    if (mt_out_finish(&o) != 0 || o.n <= w->c->max_size)
        return 1; /* writing it will say what is wrong */
    mt_say("the report is %llu bytes long, more than --max-size allows (%llu)%s; raise it, or look "
           "at one GPU with --device",
           (unsigned long long)o.n, (unsigned long long)w->c->max_size,
           is_page(w) ? " even without any exact events" : "");
    return 0;
}

/* *size: bytes of the report as it is read, compressed or not. 0 after a message. */
static int write_out(const struct writer *w, struct mt_output *out, uint64_t *size)
{
    struct mt_gzip_out gz;
    if (!w->c->gzip) {
        render(w, &out->out);
        *size = out->out.n;
        return 1;
    }
    if (!mt_gzip_out_open(&gz, &out->out)) {
        mt_say("out of memory; raise --max-memory");
        return 0;
    }
    render(w, &gz.out);
    *size = gz.out.n;
    mt_gzip_out_close(&gz);
    return 1;
}

/* What is written passes here, so that the progress can say how much. */
struct counted {
    struct mt_progress *p;
    const char *name;
    int (*write)(void *ctx, const void *bytes, size_t n);
    void *ctx;
    uint64_t n;
};
static int count_write(void *ctx, const void *bytes, size_t n)
{
    struct counted *k = ctx;
    k->n += n;
    mt_progress_show(k->p, "writing", k->name, k->n, 0, true);
    return k->write(k->ctx, bytes, n);
}

/* path: NULL or "-" = standard output. */
static enum mt_exit write_whole(const struct mt_cli *c, const struct mt_report *report,
                                const char *path, struct mt_progress *progress)
{
    struct writer w = {c, report, progress, path};
    struct mt_output out;
    struct counted counted;
    enum mt_exit status;
    uint64_t size = 0;
    int ok;

    if (path != NULL && strcmp(path, "-") == 0)
        w.path = NULL;
    if (!fits(&w) || !mt_output_open(&out, path, c->force))
        return MT_EXIT_FAILED;
    counted = (struct counted){progress, w.path != NULL ? path : "standard output", out.out.write,
                               out.out.ctx, 0};
    out.out.write = count_write;
    out.out.ctx = &counted;
    ok = write_out(&w, &out, &size);
    (void)mt_out_finish(&out.out); /* an error stays in it until the commit */
    out.out.write = counted.write;
    out.out.ctx = counted.ctx;
    mt_progress_erase(progress);
    if (!ok) {
        mt_output_discard(&out);
        return MT_EXIT_FAILED;
    }
    status = mt_output_commit(&out, c->force);
    if (status != MT_EXIT_OK)
        return status;
    if (is_page(&w) && size > report->max_size)
        mt_say("%s: %llu bytes, more than the %llu it should have: its tables alone take that; "
               "--device shows one GPU",
               w.path != NULL ? path : "the page", (unsigned long long)size,
               (unsigned long long)report->max_size);
    if (w.path != NULL && !c->quiet)
        mt_tell("%s written: %s", path, mt_diagnosis_sentence(report->diagnosis));
    return MT_EXIT_OK;
}

static bool has_trait(const struct mt_cli *c, unsigned trait)
{
    return (mt_report_formats[c->format].traits & trait) != 0;
}

static bool is_stdout(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

enum mt_exit mt_reading_write(struct mt_reading *in, const struct mt_cli *shown, const char *path)
{
    const struct mt_cli *c = in->c;
    struct mt_report report = {.diagnosis = in->diagnosis,
                               .packs = in->ranks.packs.p,
                               .version = MEMTRACE_VERSION,
                               .max_size = in->max_size,
                               .columns = mt_term_width(1)};
    enum mt_exit status;
    bool paged;
    char *command = mt_command_line(shown), *ticket = mt_command_line_short(shown);
    if (command == NULL || ticket == NULL) {
        mt_free(command);
        mt_free(ticket);
        mt_say("out of memory");
        return MT_EXIT_FAILED;
    }
    report.title = shown->title != NULL && shown->title[0] != '\0' ? shown->title : NULL;
    report.command = command;
    report.ticket_command = ticket;
    report.redacted = c->redact || c->redact_key != NULL;
    mt_preferences_show(&report, c->preferences);
    report.ticket_size = has_trait(c, MT_FORMAT_IS_PAGE) ? 0 : c->max_size;
    report.in_full = c->full;
    report.is_ascii = !mt_term_is_utf8();
    report.all_frames = c->frames == MT_FRAMES_ALL;
    report.color = is_stdout(path) && has_trait(c, MT_FORMAT_IN_COLOR) && mt_term_color(1);
    paged = is_stdout(path) && has_trait(c, MT_FORMAT_IN_COLOR) && !c->gzip && !c->no_pager &&
            mt_pager_start();
    status = write_whole(c, &report, path, &in->load.progress);
    if (paged)
        mt_pager_stop();
    mt_free(command);
    mt_free(ticket);
    return status;
}
