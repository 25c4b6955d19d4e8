/* main.c -- dispatch and exit status. */
#include "cli/cli.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/preferences.h"
#include "parser/base/heap.h"
#include "parser/base/mem.h"
#include "parser/base/secret.h"
#include "parser/input/budget.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum mt_exit mt_print_stdout(void (*print)(struct mt_out *o))
{
    struct mt_output o;
    if (!mt_output_open(&o, NULL, false))
        return MT_EXIT_FAILED;
    print(&o.out);
    return mt_output_commit(&o, false);
}

static enum mt_exit print_help(const struct mt_command *command)
{
    struct mt_output o;
    if (!mt_output_open(&o, NULL, false))
        return MT_EXIT_FAILED;
    if (command != NULL)
        mt_help_command(&o.out, command);
    else
        mt_help_overview(&o.out);
    return mt_output_commit(&o, false);
}

static enum mt_exit unknown_command(const char *word)
{
    struct mt_nearest near = {.word = word};
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        mt_nearest_offer(&near, k->name);
    mt_nearest_offer(&near, "help");
    mt_nearest_offer(&near, "version");
    if (access(word, F_OK) == 0)
        mt_say("'%s' is no command; to report on that file: memtrace report '%s'", word, word);
    else if (near.best != NULL)
        mt_say("'%s' is no command (did you mean 'memtrace %s'?); see 'memtrace --help'", word,
               near.best);
    else
        mt_say("'%s' is no command; see 'memtrace --help'", word);
    return MT_EXIT_USAGE;
}

static enum mt_exit check_operands(const struct mt_cli *c)
{
    const struct mt_command *k = c->command;
    int n_stdin = 0;

    for (int i = 0; i < c->n_inputs && !k->runs_command; i++) {
        if (c->inputs[i][0] == '\0') {
            mt_say("%s: an operand is empty (an unset variable?)", k->name);
            return MT_EXIT_USAGE;
        }
        n_stdin += strcmp(c->inputs[i], "-") == 0;
    }
    if (c->n_inputs < k->min_operands)
        mt_say("%s: which %s? usage: memtrace %s %s", k->name,
               k->runs_command                       ? "command"
               : strncmp(k->operands, "DIR", 3) == 0 ? "folder"
                                                     : "file",
               k->name, k->operands);
    else if (c->n_inputs > k->max_operands)
        mt_say("%s: one operand too many: '%s'; see 'memtrace %s --help'", k->name,
               c->inputs[k->max_operands], k->name);
    else if (n_stdin > 1 && !k->runs_command)
        mt_say("%s: '-' (standard input) can be read only once", k->name);
    else
        return MT_EXIT_OK;
    return MT_EXIT_USAGE;
}

/* `report --log FILE` with no input beside it: the log is what the report is made of, as if it
 * stood alone. */
static void logs_alone(struct mt_cli *c)
{
    if (c->n_inputs != 0 ||
        c->logs.n >
            c->argc) /* inputs has room for as many as there are arguments; logs are never more */
        return;
    for (int i = 0; i < c->logs.n; i++)
        memcpy(&c->inputs[c->n_inputs++], &c->logs.p[i],
               sizeof c->inputs[0]); /* an argument, like every input */
    c->logs.n = 0;
}

/* The status of a mistake on the command line. 2 cannot be it where a command is run: 2 may be that
 * command's status. */
static enum mt_exit usage_status(const struct mt_cli *c)
{
    return c->command != NULL && c->command->runs_command ? MT_EXIT_NOT_STARTED : MT_EXIT_USAGE;
}

/* With what memtrace.toml says where the command line says nothing. */
static enum mt_exit run_command(struct mt_cli *c)
{
    struct mt_preferences preferences;
    enum mt_exit status = mt_preferences_read(&preferences, c);
    if (status == MT_EXIT_OK) {
        mt_preferences_apply(c, &preferences);
        status = c->command->run(c);
    }
    mt_preferences_done(&preferences);
    return status;
}

static enum mt_exit run(struct mt_cli *c, int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(struct mt_out *o);
    } hidden[] = {{"__man", mt_man_page},
                  {"__complete-bash", mt_complete_bash},
                  {"__complete-zsh", mt_complete_zsh},
                  {"__complete-fish", mt_complete_fish}};
    struct mt_err err;
    int first = 1;

    memset(&err, 0, sizeof err);
    if (argc < 2) {
        mt_say("a command is missing: 'memtrace report SNAPSHOT' writes a report; 'memtrace "
               "--help' lists all commands");
        return MT_EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (argc == 2 && strcmp(argv[1], hidden[i].name) == 0)
            return mt_print_stdout(hidden[i].print);
    if (strcmp(argv[1], "help") == 0) {
        if (argc == 2)
            return print_help(NULL);
        c->command = mt_command_find(argv[2]);
        return c->command != NULL ? print_help(c->command) : unknown_command(argv[2]);
    }
    if (strcmp(argv[1], "version") == 0 && argc == 2)
        return mt_print_stdout(mt_print_version);
    if (argv[1][0] != '-') {
        c->command = mt_command_find(argv[1]);
        if (c->command == NULL)
            return unknown_command(argv[1]);
        first = 2;
        if ((c->command->bit & MT_CMD_READERS) != 0) {
            mt_heap_prepare();
            c->limits.max_memory = mt_memory_here(c->limits.max_memory);
        }
    }
    if (!mt_options_parse(c, argc, argv, first, &err)) {
        mt_say_err(NULL, &err);
        if (err.rc == MT_ENOMEM && usage_status(c) == MT_EXIT_USAGE)
            return MT_EXIT_FAILED; /* no mistake of the command line */
        return usage_status(c);
    }
    if (c->help)
        return print_help(c->command);
    if (c->version)
        return mt_print_stdout(mt_print_version);
    if (c->command == NULL) {
        mt_say("a command has to come first: memtrace report SNAPSHOT; see 'memtrace --help'");
        return MT_EXIT_USAGE;
    }
    logs_alone(c);
    if (check_operands(c) != MT_EXIT_OK)
        return usage_status(c);
    return run_command(c);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("MEMTRACE_HASH_SEED");
    struct mt_cli c = MT_CLI_DEFAULTS;
    struct mt_budget budget;
    enum mt_exit status;

    if (seed != NULL && *seed != '\0')
        mt_secret_fix(strtoull(seed, NULL, 0));
    /* Puts something in the place of closed standard descriptors: the next file that is opened
     * would get their numbers, and the text that is meant for them. It fails when it is used: a
     * report written to nowhere is not written, and a closed standard input is no empty file. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) {
            c.closed_fds |= 1u << fd;
            if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
                return (int)MT_EXIT_FAILED;
        }
    /* A reader that goes away must not end the program between a temporary file and its removal,
     * nor must a file that may not grow (ulimit -f), be it the one that standard error goes to: the
     * write fails, and the status says so. */
    c.sigpipe_default = signal(SIGPIPE, SIG_IGN) == SIG_DFL;
    c.sigxfsz_default = signal(SIGXFSZ, SIG_IGN) == SIG_DFL;
    mt_budget_start(&budget);
    c.budget = &budget;
    c.argc = argc;
    c.argv = argv;
    status = run(&c, argc, argv);
    mt_free(c.inputs);
    return (int)status;
}
