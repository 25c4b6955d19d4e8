/* complete_fish.c -- completions for fish from the same tables as --help. */
#include "cli/complete.h"
#include "cli/options.h"

#include <string.h>

/* Inside '...' of fish, where a backslash and a quote are escaped. */
static void fish_text(struct mt_out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'' || s[i] == '\\')
            mt_putc(o, '\\');
        mt_putc(o, s[i]);
    }
}

static void fish_option(struct mt_out *o, const struct mt_command *k, const struct mt_option *p)
{
    const char *stop = strstr(p->help, ". ");
    size_t n = stop != NULL ? (size_t)(stop - p->help) : strlen(p->help);
    if (k != NULL)
        mt_putf(o, "complete -c memtrace -n '__fish_seen_subcommand_from %s'", k->name);
    else
        mt_puts(o, "complete -c memtrace -n __fish_use_subcommand");
    if (p->letter != 0)
        mt_putf(o, " -s %c", p->letter);
    mt_putf(o, " -l %s", p->name);
    if (p->type == MT_OPT_FILE || p->type == MT_OPT_FILES)
        mt_puts(o, " -r -F");
    else if (p->type != MT_OPT_FLAG) {
        mt_puts(o, " -x");
        if (p->type == MT_OPT_CHOICE || p->type == MT_OPT_FRAMEWORK) {
            mt_puts(o, " -a '");
            mt_complete_values(o, p);
            mt_putc(o, '\'');
        }
    }
    mt_puts(o, " -d '");
    fish_text(o, p->help, n);
    mt_puts(o, "'\n");
}

void mt_complete_fish(struct mt_out *o)
{
    mt_puts(o, "# fish completion for memtrace, made by memtrace from its option table\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, "complete -c memtrace -n __fish_use_subcommand -f -a %s -d '", k->name);
        fish_text(o, k->summary, strlen(k->summary));
        mt_puts(o, "'\n");
    }
    mt_puts(o, "complete -c memtrace -n __fish_use_subcommand -f -a help\n"
               "complete -c memtrace -n '__fish_seen_subcommand_from help' -f -a '");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        mt_putf(o, "%s%s", k == mt_commands ? "" : " ", k->name);
    mt_puts(o, "'\n");
    for (const struct mt_option *p = mt_options; p->name != NULL; p++)
        if ((p->commands & MT_CMD_NONE) != 0)
            fish_option(o, NULL, p);
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        for (const struct mt_option *p = mt_options; p->name != NULL; p++)
            if ((p->commands & k->bit) != 0)
                fish_option(o, k, p);
}
