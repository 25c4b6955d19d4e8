/* help.c -- --help from the tables, wrapped at 80 columns whatever the terminal, so that it can be
 * compared. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#define WIDTH 79
#define HELP_COLUMN 25

static void spaces(struct mt_out *o, size_t n)
{
    while (n-- > 0)
        mt_putc(o, ' ');
}

/* text from column `at` on (already there), wrapped, further lines indented by `indent`. Two
 * newlines part paragraphs. */
static void wrap(struct mt_out *o, const char *text, size_t at, size_t indent)
{
    bool first = true;
    while (*text != '\0') {
        size_t n = strcspn(text, " \n");
        if (text[0] == '\n') {
            mt_puts(o, "\n\n");
            spaces(o, indent);
            at = indent;
            first = true;
            text += strspn(text, "\n");
            continue;
        }
        if (!first && at + 1 + n > WIDTH) {
            mt_putc(o, '\n');
            spaces(o, indent);
            at = indent;
        } else if (!first) {
            mt_putc(o, ' ');
            at++;
        }
        mt_put(o, text, n);
        at += n;
        first = false;
        text += n;
        text += strspn(text, " ");
    }
    mt_putc(o, '\n');
}

static void options(struct mt_out *o, unsigned bit)
{
    mt_puts(o, "\nOptions:\n");
    for (const struct mt_option *p = mt_options; p->name != NULL; p++) {
        char left[64];
        int n;
        if ((p->commands & bit) == 0)
            continue;
        if (p->letter != 0)
            n = snprintf(left, sizeof left, "  -%c, --%s%s%s", p->letter, p->name,
                         p->metavar != NULL ? " " : "", p->metavar != NULL ? p->metavar : "");
        else
            n = snprintf(left, sizeof left, "      --%s%s%s", p->name,
                         p->metavar != NULL ? " " : "", p->metavar != NULL ? p->metavar : "");
        mt_puts(o, left);
        if (n + 2 > HELP_COLUMN) {
            mt_putc(o, '\n');
            n = 0;
        }
        spaces(o, HELP_COLUMN - (size_t)n);
        wrap(o, p->help, HELP_COLUMN, HELP_COLUMN);
    }
}

static void exit_statuses(struct mt_out *o, const struct mt_exit_text *e)
{
    mt_puts(o, "\nExit status:\n");
    for (; e->text != NULL; e++) {
        char number[16];
        int n = snprintf(number, sizeof number, "  %d  ", e->status);
        mt_puts(o, number);
        wrap(o, e->text, (size_t)n, (size_t)n);
    }
}

int mt_next_example(const char **s, struct mt_example *e)
{
    const char *end;
    memset(e, 0, sizeof *e);
    if (**s == '\0')
        return 0;
    end = *s + strcspn(*s, "\n");
    if (strncmp(*s, "memtrace ", 9) != 0 && *end != '\0') {
        e->what = *s;
        e->n_what = (size_t)(end - *s);
        *s = end + 1;
        end = *s + strcspn(*s, "\n");
    }
    e->command = *s;
    e->n_command = (size_t)(end - *s);
    *s = *end != '\0' ? end + 1 : end;
    return 1;
}

void mt_help_command(struct mt_out *o, const struct mt_command *c)
{
    const char *s = c->examples;
    struct mt_example e;

    mt_putf(o, "usage: memtrace %s [OPTION]...%s%s\n\n", c->name, c->operands[0] != '\0' ? " " : "",
            c->operands);
    wrap(o, c->text, 0, 0);
    options(o, c->bit);
    mt_puts(o, "\nExamples:\n");
    while (mt_next_example(&s, &e)) {
        if (e.what != NULL)
            mt_putf(o, "  # %.*s\n", (int)e.n_what, e.what);
        mt_putf(o, "  %.*s\n", (int)e.n_command, e.command);
    }
    if ((c->bit & MT_CMD_READERS) != 0) {
        mt_putc(o, '\n');
        wrap(o,
             "An INPUT is a file, a folder, or '-' for standard input. Its format is told from its "
             "bytes, never from its name. "
             "Sizes are written as 80GiB, 80G (the same), 80GB (10^9) or in bytes.",
             0, 0);
    }
    exit_statuses(o, c->exits != NULL ? c->exits : mt_exit_texts);
}

void mt_help_overview(struct mt_out *o)
{
    mt_puts(o, "usage: memtrace COMMAND [OPTION]... [INPUT]...\n\n");
    wrap(o,
         "memtrace reads memory snapshots of PyTorch's CUDA allocator, records what the GPU driver "
         "does in a job, and says why a GPU ran out of memory and which settings to change. To "
         "read, it needs no GPU and no Python.",
         0, 0);
    mt_puts(o, "\nCommands:\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        mt_putf(o, "  %-8s %s\n", k->name, k->summary);
    mt_puts(o, "  help     the same as COMMAND --help\n"
               "  version  the same as --version\n");
    options(o, MT_CMD_NONE);
    mt_puts(o, "\nExamples:\n"
               "  # a page beside the snapshot, to open or to attach to a ticket\n"
               "  memtrace report snapshot.pickle\n"
               "  # the same in the terminal\n"
               "  memtrace report --format text snapshot.pickle\n"
               "  # a job, with what the driver did in all its processes; then the report on it\n"
               "  memtrace capture -- torchrun --nproc-per-node 8 train.py\n"
               "  memtrace report trace.gz -o report.html\n"
               "  # all options of a command\n"
               "  memtrace report --help\n");
    mt_putc(o, '\n');
    wrap(o,
         "A snapshot is what torch.cuda.memory._dump_snapshot() writes, as pickle or JSON, also "
         "compressed, in an archive or "
         "in a folder. A trace is what 'memtrace capture' writes.",
         0, 0);
    exit_statuses(o, mt_exit_texts);
    if (mt_home[0] != '\0')
        mt_putf(o, "\nIssues and releases: %s\n", mt_home);
}
