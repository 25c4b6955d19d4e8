/* commands.c -- the table of commands: dispatch, help, man page and completions read it. */
#include "cli/cli.h"

#include <limits.h>
#include <string.h>

const struct mt_command mt_commands[] = {
    {
        .name = "report",
        .bit = MT_CMD_REPORT,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "say why memory ran out, and which settings to change",
        .text =
            "Reads memory snapshots of PyTorch's CUDA allocator and writes one report: which rank and GPU ran out of memory "
            "(or "
            "came closest), in which phase of the job, asking for how much, who held the memory, whether it was fragmentation "
            "or capacity, and which settings to change.\n\n"
            "Several inputs, an archive or a folder with several snapshots are the ranks of one job. The rank stands in the "
            "file name, as in rank3.pickle. The verdict speaks for the earliest out-of-memory, else for the rank with the "
            "highest peak.\n\n"
            "From a damaged or truncated input everything before the damage is used; the report says what is missing.",
        .examples = "a page beside the snapshot\n"
                    "memtrace report snapshot.pickle\n"
                    "every rank of a job, in the terminal\n"
                    "memtrace report --format text rank*.pickle\n"
                    "from an archive, for cards of 80 GiB, to a named file\n"
                    "memtrace report oom_dumps.tar.gz --capacity 80GiB -o report.html\n"
                    "the biggest owner at the peak, in a script\n"
                    "memtrace report --format json -q run.json.gz | jq '.owners[0]'",
        .run = mt_cmd_report,
    },
    {
        .name = "info",
        .bit = MT_CMD_INFO,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "print what a snapshot holds",
        .text = "Prints format, producer, GPUs, rank, events, time span, whether stacks were recorded, and whether the file is "
                "whole.",
        .examples = "memtrace info snapshot.pickle",
        .run = mt_cmd_info,
    },
    {
        .name = "dump",
        .bit = MT_CMD_DUMP,
        .operands = "INPUT",
        .min_operands = 1,
        .max_operands = 1,
        .summary = "print a snapshot as JSON lines",
        .text =
            "Prints the snapshot as memtrace understood it, one JSON object per line. Two encodings of one snapshot give the "
            "same lines, so this is what to compare, and what to attach to a bug report. Of an archive or a folder all "
            "snapshots are printed, one after the other.",
        .examples = "the events of failed requests\n"
                    "memtrace dump snapshot.pickle | jq -c 'select(.action == \"oom\")'",
        .run = mt_cmd_dump,
    },
    {
        .name = "rules",
        .bit = MT_CMD_RULES,
        .operands = "",
        .min_operands = 0,
        .max_operands = 0,
        .summary = "list the rules behind phases and advice, with their sources",
        .text =
            "Lists the fix rules that a report can give as advice, and counts the phase rules of each framework. A file given "
            "with --rules is read first, so this also checks such a file.",
        .examples = "everything about one framework\n"
                    "memtrace rules --all --framework verl\n"
                    "check rules of your own\n"
                    "memtrace rules --rules my-rules.json",
        .run = mt_cmd_rules,
    },
    {.name = NULL},
};

const struct mt_exit_text mt_exit_texts[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED, "Failed: nothing was written; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {MT_EXIT_DAMAGED, "Written, but from damaged input: something is missing, and the report says what."},
    {0, NULL},
};

const struct mt_name_text mt_environment[] = {
    {"NO_COLOR", "When set and not empty, no colours in --format text."},
    {"COLUMNS", "Width of --format text; else that of the terminal, else 80."},
    {"TERM", "With TERM=dumb there are no colours and no progress line."},
    {NULL, NULL},
};

const struct mt_command *mt_command_find(const char *name)
{
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}
