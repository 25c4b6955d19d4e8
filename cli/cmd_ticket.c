/* cmd_ticket.c -- the two files of a ticket: what is pasted and what is attached, both redacted.
 * Read once; written as `report --redact` writes them. */
#include "cli/formats.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_write.h"
#include "cli/saved_read.h"
#include "cli/saved_report.h"
#include "parser/base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What GitHub takes: the body of an issue or a comment, in characters, and a file. Markdown is kept
 * below MT_TICKET_SIZE, a page below MT_MAX_SIZE_DEFAULT. */
enum { BODY_CHARACTERS = 65536, FILE_MB = 25 };

/* The names say nothing: those of the inputs may be a machine's or a person's. */
static const struct part {
    const char *name;
    enum mt_format_choice format;
} parts[] = {{"memtrace-ticket.md", MT_FORMAT_MD}, {"memtrace-ticket.html", MT_FORMAT_HTML}};
enum { PARTS = sizeof parts / sizeof *parts, PASTED = 0, ATTACHED = 1 };

struct ticket {
    const char *folder;
    char *path[PARTS];
    bool made_folder;
};

/* 0 after a message. */
static int set_out(struct ticket *t, const struct mt_cli *c)
{
    size_t n = strlen(t->folder);
    const char *slash = n > 0 && t->folder[n - 1] == '/' ? "" : "/";
    for (int i = 0; i < PARTS; i++) {
        struct mt_text path = {0};
        if (c->output != NULL) {
            mt_text_add(&path, t->folder, n);
            mt_text_add(&path, slash, strlen(slash));
        }
        mt_text_add(&path, parts[i].name, strlen(parts[i].name));
        if (path.failed) {
            mt_text_done(&path);
            mt_say("out of memory");
            return 0;
        }
        t->path[i] = path.p;
    }
    t->made_folder = mkdir(t->folder, 0777) == 0;
    if (!t->made_folder && errno != EEXIST) {
        mt_say("%s: no such folder, and it cannot be made: %s", t->folder, strerror(errno));
        return 0;
    }
    for (int i = 0; i < PARTS; i++)
        if (!mt_output_check(t->path[i], c->force, c->inputs, c->n_inputs))
            return 0;
    return 1;
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static enum mt_exit say_what_to_do(const struct ticket *t)
{
    struct mt_output out;
    if (!mt_output_open(&out, NULL, false))
        return MT_EXIT_FAILED;
    mt_putf(&out.out,
            "%s: paste it into the issue (%llu bytes; GitHub takes %d characters).\n"
            "%s: attach it (%llu bytes; GitHub takes %d MB). Where .html is refused, zip it.\n"
            "Leave out the inputs themselves: they hold the names, folders and command lines that "
            "these two do not.\n"
            "Read both before you send them: redaction knows names and folders, not what a "
            "function's name tells.\n",
            t->path[PASTED], (unsigned long long)size_of(t->path[PASTED]), BODY_CHARACTERS,
            t->path[ATTACHED], (unsigned long long)size_of(t->path[ATTACHED]), FILE_MB);
    return mt_output_commit(&out, false);
}

static enum mt_exit write_parts(const struct ticket *t, struct mt_reading *in,
                                const struct mt_cli *shown)
{
    const struct mt_cli *asked = in->c;
    enum mt_exit status = MT_EXIT_OK;
    for (int i = 0; i < PARTS && status == MT_EXIT_OK; i++) {
        struct mt_cli one = *asked;
        one.format = (int)parts[i].format;
        one.quiet = true; /* what was written is said once, for both */
        in->c = &one;
        status = mt_reading_write(in, shown, t->path[i]);
    }
    /* half a ticket would stand in the way of the next one */
    if (status == MT_EXIT_FAILED && !asked->force)
        for (int i = 0; i < PARTS; i++)
            (void)unlink(t->path[i]);
    in->c = asked;
    return status;
}

static enum mt_exit make(const struct ticket *t, const struct mt_cli *c)
{
    struct mt_cli shown = *c, asked = *c;
    struct mt_reading in;
    enum mt_exit status = mt_report_read(&in, c, &shown);
    if (status == MT_EXIT_OK)
        status = mt_saved_merged(&in, &shown);
    asked.quiet = false; /* what is said belongs to an error here */
    if (status == MT_EXIT_OK && in.saved.n != 0) {
        status = MT_EXIT_USAGE;
        if (!mt_saved_shows_names(&asked, in.saved.p[0].name, in.saved.p[0].report))
            mt_say("%s is a report of memtrace; a ticket needs the snapshot. Attach the report "
                   "as it is",
                   in.saved.p[0].name);
    }
    if (status == MT_EXIT_OK)
        status = write_parts(t, &in, &shown);
    if (status == MT_EXIT_OK && !c->quiet)
        status = say_what_to_do(t);
    if (status == MT_EXIT_OK)
        status = mt_reading_status(&in);
    mt_reading_done(&in);
    return status;
}

enum mt_exit mt_cmd_ticket(const struct mt_cli *c)
{
    struct ticket t = {.folder = c->output != NULL ? c->output : "."};
    struct mt_cli redacted = *c;
    enum mt_exit status = MT_EXIT_FAILED;
    redacted.redact = true;
    redacted.format = MT_FORMAT_HTML; /* the reading keeps the events that a page shows */
    if (strcmp(t.folder, "-") == 0) {
        mt_say("ticket: it writes two files; -o names a folder for them");
        return MT_EXIT_USAGE;
    }
    if (set_out(&t, c))
        status = make(&t, &redacted);
    if (t.made_folder && (status == MT_EXIT_FAILED || status == MT_EXIT_USAGE))
        (void)rmdir(t.folder);
    for (int i = 0; i < PARTS; i++)
        mt_free(t.path[i]);
    return status;
}
