/* complete.c -- completions for bash and zsh from the same tables as --help. */
#include "cli/complete.h"

#include "analysis/setup/framework.h"

#include <string.h>

static void option_words(struct mt_out *o, unsigned bit)
{
    const char *space = "";
    for (const struct mt_option *p = mt_options; p->name != NULL; p++) {
        if ((p->commands & bit) == 0)
            continue;
        if (p->letter != 0) {
            mt_putf(o, "%s-%c", space, p->letter);
            space = " ";
        }
        mt_putf(o, "%s--%s", space, p->name);
        space = " ";
    }
}

void mt_complete_values(struct mt_out *o, const struct mt_option *p)
{
    const char *space = "";
    if (p->type == MT_OPT_CHOICE) {
        for (size_t i = 0; p->choices[i] != NULL; i++, space = " ")
            mt_putf(o, "%s%s", space, p->choices[i]);
    } else if (p->type == MT_OPT_FRAMEWORK) {
        struct mt_framework_rules *rules = NULL; /* the built-in ones */
        if (mt_framework_rules_load(&rules, NULL, 0, NULL, NULL) == MT_OK)
            for (int i = 0; i < mt_framework_count(rules); i++)
                if (mt_framework_is_main(rules, i)) {
                    mt_putf(o, "%s%s", space, mt_framework_at(rules, i)->id);
                    space = " ";
                }
        mt_framework_rules_free(rules);
    }
}

/* An option may have two rows, with other words for other commands. */
static bool seen_before(const struct mt_option *p)
{
    for (const struct mt_option *q = mt_options; q != p; q++)
        if (strcmp(q->name, p->name) == 0)
            return true;
    return false;
}

static void bash_case(struct mt_out *o, const struct mt_option *p)
{
    mt_puts(o, "        ");
    if (p->letter != 0)
        mt_putf(o, "-%c | ", p->letter);
    mt_putf(o, "--%s)\n", p->name);
    if (p->type == MT_OPT_FILE || p->type == MT_OPT_FILES) {
        mt_puts(o, "            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
    } else if (p->type == MT_OPT_CHOICE || p->type == MT_OPT_FRAMEWORK) {
        mt_puts(o, "            mapfile -t COMPREPLY < <(compgen -W \"");
        mt_complete_values(o, p);
        mt_puts(o, "\" -- \"$cur\")\n");
    } else {
        mt_puts(o, "            COMPREPLY=()\n");
    }
    mt_puts(o, "            return\n            ;;\n");
}

void mt_complete_bash(struct mt_out *o)
{
    mt_puts(
        o,
        "# bash completion for memtrace, made by memtrace from its option table\n"
        "# shellcheck shell=bash\n"
        "_memtrace()\n{\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD - 1]}\" words\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        mt_putf(o, "%s ", k->name);
    mt_puts(o, "help ");
    option_words(o, MT_CMD_NONE);
    mt_puts(o, "\" -- \"$cur\")\n        return\n    fi\n    case \"$prev\" in\n");
    for (const struct mt_option *p = mt_options; p->name != NULL; p++)
        if (p->type != MT_OPT_FLAG && !seen_before(p))
            bash_case(o, p);
    mt_puts(o, "    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, "        %s) words=\"", k->name);
        option_words(o, k->bit);
        mt_puts(o, "\" ;;\n");
    }
    mt_puts(o, "        help) words=\"");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        mt_putf(o, "%s%s", k == mt_commands ? "" : " ", k->name);
    mt_puts(o, "\" ;;\n        *) return ;;\n    esac\n"
               "    if [ \"${cur#-}\" != \"$cur\" ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
               "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
               "    else\n"
               "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
               "    fi\n"
               "}\n"
               "complete -o filenames -F _memtrace memtrace\n");
}

/* Inside '...' of zsh: quotes doubled, and the characters that _arguments gives a meaning escaped.
 */
static void zsh_text(struct mt_out *o, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '\'')
            mt_puts(o, "'\\''");
        else if (*s == '[' || *s == ']' || *s == ':' || *s == '\\')
            mt_putf(o, "\\%c", *s);
        else
            mt_putc(o, *s);
    }
}

static void zsh_option(struct mt_out *o, const struct mt_option *p)
{
    char first[160];
    const char *stop = strstr(p->help, ". ");
    size_t n = stop != NULL ? (size_t)(stop - p->help) : strlen(p->help);
    n -= n > 0 && p->help[n - 1] == '.';
    if (n >= sizeof first)
        n = sizeof first - 1;
    memcpy(first, p->help, n);
    first[n] = '\0';
    mt_puts(o, "        ");
    if (p->letter != 0)
        mt_putf(o, "'(-%c --%s)'{-%c,--%s}'[", p->letter, p->name, p->letter, p->name);
    else
        mt_putf(o, "'--%s[", p->name);
    zsh_text(o, first);
    mt_putc(o, ']');
    if (p->type != MT_OPT_FLAG) {
        mt_putf(o, ":%s:", p->metavar);
        if (p->type == MT_OPT_FILE || p->type == MT_OPT_FILES) {
            mt_puts(o, "_files");
        } else if (p->type == MT_OPT_CHOICE || p->type == MT_OPT_FRAMEWORK) {
            mt_putc(o, '(');
            mt_complete_values(o, p);
            mt_putc(o, ')');
        }
    }
    mt_puts(o, "' \\\n");
}

void mt_complete_zsh(struct mt_out *o)
{
    mt_puts(
        o,
        "#compdef memtrace\n# zsh completion for memtrace, made by memtrace from its option table\n"
        "_memtrace()\n{\n    local -a commands\n    commands=(\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, "        '%s:", k->name);
        zsh_text(o, k->summary);
        mt_puts(o, "'\n");
    }
    mt_puts(o, "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n       "
               " _arguments \\\n");
    for (const struct mt_option *p = mt_options; p->name != NULL; p++)
        if ((p->commands & MT_CMD_NONE) != 0)
            zsh_option(o, p);
    mt_puts(o, "        && return\n        return\n    fi\n    local command=$words[2]\n    shift "
               "words\n    (( CURRENT-- ))\n"
               "    case $command in\n");
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++) {
        mt_putf(o, "    %s)\n        _arguments -s \\\n", k->name);
        for (const struct mt_option *p = mt_options; p->name != NULL; p++)
            if ((p->commands & k->bit) != 0)
                zsh_option(o, p);
        mt_putf(o, "        %s\n        ;;\n",
                k->max_operands > 1    ? "'*:input:_files'"
                : k->max_operands == 1 ? "':input:_files'"
                                       : "");
    }
    mt_puts(o, "    help)\n        _describe command commands\n        ;;\n    esac\n}\n_memtrace "
               "\"$@\"\n");
}
