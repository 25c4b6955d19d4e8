/* man.c -- the man page from the same tables as --help. */
#include "cli/options.h"

#include <string.h>

/* Text for man(7): backslashes and dashes are typed characters, and no line may start as a request
 * does. */
static void put_escaped(struct mt_out *o, const char *s, size_t n)
{
    if (n > 0 && (s[0] == '.' || s[0] == '\''))
        mt_puts(o, "\\&");
    for (size_t i = 0; i < n; i++) {
        switch (s[i]) {
        case '\\': mt_puts(o, "\\e"); break;
        case '-': mt_puts(o, "\\-"); break;
        case '\'': mt_puts(o, "\\(aq"); break;
        case '^': mt_puts(o, "\\(ha"); break;
        case '~': mt_puts(o, "\\(ti"); break;
        case '"': mt_puts(o, "\\(dq"); break;
        case '\n':
            if (i + 1 < n && s[i + 1] == '\n') {
                mt_puts(o, "\n.PP\n");
                i++;
            } else {
                mt_putc(o, '\n');
            }
            break;
        default: mt_putc(o, s[i]); break;
        }
    }
}

static void put_escaped_text(struct mt_out *o, const char *s) { put_escaped(o, s, strlen(s)); }

static void options(struct mt_out *o, unsigned bit)
{
    for (const struct mt_option *p = mt_options; p->name != NULL; p++) {
        if ((p->commands & bit) == 0)
            continue;
        mt_puts(o, ".TP\n");
        if (p->letter != 0)
            mt_putf(o, "\\fB\\-%c\\fR, ", p->letter);
        mt_puts(o, "\\fB\\-\\-");
        put_escaped_text(o, p->name);
        mt_puts(o, "\\fR");
        if (p->metavar != NULL)
            mt_putf(o, " \\fI%s\\fR", p->metavar);
        mt_putc(o, '\n');
        put_escaped_text(o, p->help);
        mt_putc(o, '\n');
    }
}

static void examples(struct mt_out *o)
{
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        const char *s = k->examples;
        struct mt_example e;
        while (mt_next_example(&s, &e)) {
            mt_puts(o, ".TP\n");
            if (e.what != NULL)
                put_escaped(o, e.what, e.n_what);
            else
                put_escaped_text(o, k->summary);
            mt_puts(o, "\n\\fB");
            put_escaped(o, e.command, e.n_command);
            mt_puts(o, "\\fR\n");
        }
    }
}

static void exit_statuses(struct mt_out *o, const struct mt_exit_text *e)
{
    for (; e->text != NULL; e++) {
        mt_putf(o, ".TP\n.B %d\n", e->status);
        put_escaped_text(o, e->text);
        mt_putc(o, '\n');
    }
}

void mt_man_page(struct mt_out *o)
{
    mt_putf(o,
            ".\\\" Made by memtrace from its option table.\n.TH MEMTRACE 1 \"\" \"memtrace %s\" "
            "\"User Commands\"\n",
            MEMTRACE_VERSION);
    mt_puts(o, ".SH NAME\nmemtrace \\- why a GPU ran out of memory, and which settings to "
               "change\n.SH SYNOPSIS\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, "%s.B memtrace %s\n[\\fIOPTION\\fR]...", k == mt_commands ? "" : ".br\n",
                k->name);
        if (k->operands[0] != '\0')
            mt_putf(o, " \\fI%s\\fR", k->operands);
        mt_putc(o, '\n');
    }
    mt_puts(o, ".br\n.B memtrace\n\\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n.SH DESCRIPTION\n");
    put_escaped_text(o,
                     "memtrace reads memory snapshots of PyTorch's CUDA allocator, records what "
                     "the GPU driver does in a job, and says why a GPU ran out of memory and which "
                     "settings to change. To read, it needs no GPU and no Python.\n\nA snapshot is "
                     "what torch.cuda.memory._dump_snapshot() writes, as pickle or JSON, or the "
                     "page that torch.cuda._memory_viz makes of it, also compressed, in an archive "
                     "or in a folder. A trace is what capture writes. The format is told from the "
                     "bytes, never from the name. An INPUT of - is standard input.\n\nSizes are "
                     "written as 80GiB, 80G (the same), 80GB (10^9) or in bytes.\n");
    mt_puts(o, ".SH OPTIONS\n");
    options(o, MT_CMD_NONE);
    mt_puts(o, ".SH COMMANDS\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, ".SS %s%s%s\n", k->name, k->operands[0] != '\0' ? " " : "", k->operands);
        put_escaped_text(o, k->text);
        mt_putc(o, '\n');
        options(o, k->bit);
    }
    mt_puts(o, ".SH EXIT STATUS\n");
    exit_statuses(o, mt_exit_texts);
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        if (k->exits != NULL) {
            mt_putf(o, ".SS %s\n", k->name);
            exit_statuses(o, k->exits);
        }
    mt_puts(o, ".SH ENVIRONMENT\n");
    for (const struct mt_name_text *v = mt_environment; v->name != NULL; v++) {
        mt_putf(o, ".TP\n.B %s\n", v->name);
        put_escaped_text(o, v->text);
        mt_putc(o, '\n');
    }
    mt_puts(o, ".SH EXAMPLES\n");
    examples(o);
    if (mt_home[0] != '\0') {
        mt_puts(o, ".SH REPORTING BUGS\n");
        put_escaped_text(o, mt_home);
        mt_putc(o, '\n');
    }
}
