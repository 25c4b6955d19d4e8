/* commands.c -- the table of commands: dispatch, help, man page and completions read it. */
#include "cli/cli.h"

#include <limits.h>
#include <string.h>

static const struct mt_exit_text capture_exits[] = {
    {0, "The command ended with 0. Every other status is the command's own too; 128+N when signal "
        "N ended it."},
    {MT_EXIT_NOT_STARTED, "memtrace itself failed, before the command was started."},
    {126, "The command is there but cannot be executed."},
    {127, "The command was not found."},
    {0, NULL},
};
static const struct mt_exit_text rules_exits[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED,
     "The file of --rules cannot be read, or there is a mistake in it; the message says where."},
    {MT_EXIT_USAGE, "The command line is wrong, or there is no such rule."},
    {0, NULL},
};
static const struct mt_exit_text howto_exits[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED,
     "The file of --rules cannot be read, or there is a mistake in it; the message says where."},
    {MT_EXIT_USAGE, "The command line is wrong, or nothing is known of that name."},
    {0, NULL},
};
static const struct mt_exit_text doctor_exits[] = {
    {MT_EXIT_OK, "'memtrace capture' works here."},
    {MT_EXIT_FAILED, "It does not; the output says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {0, NULL},
};

static const struct mt_exit_text gate_exits[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED, "Failed: nothing was written; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {MT_EXIT_DAMAGED,
     "Written, but from damaged input: the output or a warning says what is missing."},
    {MT_EXIT_OVER,
     "Written, and a limit is passed or could not be checked, or with --fail-on oom memory "
     "ran out."},
    {0, NULL},
};
static const struct mt_exit_text top_exits[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED, "No recording goes on, or it cannot be read; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {0, NULL},
};
static const struct mt_exit_text snap_exits[] = {
    {MT_EXIT_OK, "The snapshot is there; standard output has its name."},
    {MT_EXIT_FAILED, "There is none; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {MT_EXIT_LATE, "The process was asked, and nothing came within the time of --timeout."},
    {0, NULL},
};
static const struct mt_exit_text attach_exits[] = {
    {MT_EXIT_OK, "Fine: the trace is there. With --detach: the process is not recorded any more."},
    {MT_EXIT_FAILED, "The process cannot be attached to, or it was not wanted, or no trace could "
                     "be written; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {MT_EXIT_DAMAGED, "The trace is written, and something of the recording is missing in it."},
    {0, NULL},
};
static const struct mt_exit_text schema_exits[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED, "Standard output cannot be written."},
    {MT_EXIT_USAGE, "The command line is wrong, or there is no such schema."},
    {0, NULL},
};

const struct mt_command mt_commands[] = {
    {
        .name = "report",
        .bit = MT_CMD_REPORT,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "say why memory ran out, and which settings to change",
        .text = "Reads memory snapshots of PyTorch's CUDA allocator, traces of 'memtrace capture', "
                "and logs, and writes one report: which rank and GPU ran out of memory (or came "
                "closest), in which phase of the job, asking for how much, who held the memory, "
                "whether it was fragmentation or capacity, and which settings to change.\n\n"
                "Several inputs, an archive or a folder with several snapshots are the ranks of "
                "one job. The rank stands in the file name, as in rank3.pickle. The verdict speaks "
                "for the earliest out-of-memory, else for the rank with the highest peak.\n\n"
                "From a damaged or truncated input everything before the damage is used; the "
                "report says what is missing.",
        .examples = "a page beside the snapshot\n"
                    "memtrace report snapshot.pickle\n"
                    "every rank of a job, in the terminal, on one screen\n"
                    "memtrace report --format text rank*.pickle\n"
                    "from an archive, for H100 cards of 80 GB, to a named file\n"
                    "memtrace report oom_dumps.tar.gz --capacity H100-80 -o report.html\n"
                    "with the settings and the log of the run\n"
                    "memtrace report snapshot.pickle --config run.yaml --log train.log\n"
                    "a log is all there is\n"
                    "memtrace report train.log --format text\n"
                    "the biggest owner when it mattered, on the GPU of the verdict, in a script\n"
                    "memtrace report --format json -q run.json.gz | jq '.owners[0]'\n"
                    "what the driver did and PyTorch's own view, of all nodes\n"
                    "memtrace report trace.*.gz -o report.html",
        .run = mt_cmd_report,
        .exits = gate_exits,
    },
    {
        .name = "ticket",
        .bit = MT_CMD_TICKET,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "write what to paste into an issue and what to attach to it, redacted",
        .text = "Reads as 'report' does and writes two files: memtrace-ticket.md, the report as "
                "Markdown that one comment takes, and memtrace-ticket.html, the page. Both are "
                "redacted as by --redact. Then it says which is pasted and which is attached.",
        .examples = "for an issue about a failed job\n"
                    "memtrace ticket oom/ --log train.log -o ticket/",
        .run = mt_cmd_ticket,
    },
    {
        .name = "summarize",
        .bit = MT_CMD_SUMMARIZE,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "write what a report of many ranks needs of one, in a few KiB",
        .text = "Reads as 'report' does, on the node where the snapshot lies, and writes a summary "
                "of at most 32 KiB for each GPU. 'memtrace report' of a folder of summaries is one "
                "report of all ranks: who failed first, which are alike, which stand out. info, "
                "diff and check read summaries too.",
        .examples = "each rank where it is, then all of them\n"
                    "memtrace summarize snapshot_rank7.pickle -o sums/rank7.mts\n"
                    "memtrace report sums/ --format text\n"
                    "from an object store\n"
                    "aws s3 cp s3://runs/rank7.pickle - | memtrace summarize - -o rank7.mts",
        .run = mt_cmd_summarize,
    },
    {
        .name = "info",
        .bit = MT_CMD_INFO,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "print what a snapshot or trace holds",
        .text = "Prints format, producer, GPUs, rank, events, time span, whether stacks were "
                "recorded, and whether the file is "
                "whole; of a trace the processes, driver calls, failures, and what could not be "
                "recorded.",
        .examples = "memtrace info snapshot.pickle\n"
                    "memtrace info trace.gz",
        .run = mt_cmd_info,
    },
    {
        .name = "dump",
        .bit = MT_CMD_DUMP,
        .operands = "INPUT",
        .min_operands = 1,
        .max_operands = 1,
        .summary = "print a snapshot or trace as JSON lines",
        .text = "Prints the snapshot as memtrace understood it, one JSON object per line. Two "
                "encodings of one snapshot give the "
                "same lines, so this is what to compare, and what to attach to a bug report. Of an "
                "archive or a folder all "
                "snapshots are printed, one after the other.",
        .examples = "the events of failed requests\n"
                    "memtrace dump snapshot.pickle | jq -c 'select(.action == \"oom\")'",
        .run = mt_cmd_dump,
    },
    {
        .name = "export",
        .bit = MT_CMD_EXPORT,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "write the memory of a run for Perfetto, speedscope or flamegraph.pl",
        .text = "Writes what a snapshot or trace holds in a format of other viewers: the whole run "
                "as a Chrome JSON trace (counters of live, pending and reserved bytes and of every "
                "role, phases, steps, failed requests; a process for each rank), or the live bytes "
                "by stack at a moment. Their sum is the live bytes of that moment.\n\n"
                "Where the curve of a trace is withheld, the state at the dump is all that stacks "
                "can be had of.",
        .examples = "the whole job, for ui.perfetto.dev\n"
                    "memtrace export rank*.pickle -o job.json\n"
                    "who holds memory at the peak and in each phase, for speedscope.app\n"
                    "memtrace export snapshot.pickle --to speedscope -o peak.speedscope.json\n"
                    "a flame graph of the moment memory ran out\n"
                    "memtrace export snapshot.pickle --to folded --at oom | flamegraph.pl "
                    "--countname bytes > oom.svg",
        .run = mt_cmd_export,
    },
    {
        .name = "rules",
        .bit = MT_CMD_RULES,
        .operands = "[ID]...",
        .min_operands = 0,
        .max_operands = INT_MAX,
        .summary = "list the rules behind phases and advice, with their sources",
        .text = "Lists the fix rules that a report can give as advice, and counts the phase rules "
                "of each framework and the role "
                "rules of each role. With an ID, as in a report (V06) or of a contradiction "
                "between guides (C17), explains that "
                "rule: what to set, on which evidence, what it saves and how that is computed, "
                "where it comes from and what the "
                "guides say against it. 'roles' lists the role rules: the frames that tell what a "
                "tensor is for, and the "
                "vocabularies by which logits are known; a role (kv_cache) lists those of that "
                "role. A file given with --rules "
                "is read first, so this also checks such a file.",
        .examples = "one rule, explained\n"
                    "memtrace rules V06\n"
                    "what helps in the weight synchronisation of verl\n"
                    "memtrace rules --framework verl --phase weight_sync\n"
                    "everything about one framework\n"
                    "memtrace rules --all --framework verl\n"
                    "the frames by which memory is known as KV cache\n"
                    "memtrace rules kv_cache\n"
                    "check rules of your own\n"
                    "memtrace rules --rules my-rules.json",
        .run = mt_cmd_rules,
        .exits = rules_exits,
    },
    {
        .name = "howto",
        .bit = MT_CMD_HOWTO,
        .operands = "[FRAMEWORK]",
        .min_operands = 0,
        .max_operands = 1,
        .summary = "say what to type to get a snapshot or a recording in a framework",
        .text = "Prints the switches and the lines of code by which a job of FRAMEWORK leaves a "
                "snapshot when it runs out of memory, or after a number of steps, with the file of "
                "its source that says so; then what works in every job. Without a name it lists "
                "the names.",
        .examples = "in verl\n"
                    "memtrace howto verl\n"
                    "in a loop of one's own\n"
                    "memtrace howto pytorch",
        .run = mt_cmd_howto,
        .exits = howto_exits,
    },
    {
        .name = "capture",
        .bit = MT_CMD_CAPTURE,
        .operands = "[--] COMMAND [ARGUMENT]...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "run a command and record what the GPU driver does in all its processes",
        .text =
            "Runs COMMAND with its own terminal, standard input and output, and records every "
            "driver call that concerns GPU memory, NVTX ranges, samples of the GPU, and PyTorch's "
            "own memory history, in the command and all processes that it starts. Nothing of the "
            "command has to be changed. At the end all of it is in one file, the trace.\n\n"
            "The command's exit status is passed on, and so are signals. What memtrace itself says "
            "goes to standard error, before the start and after the end. If memtrace is killed, or "
            "a process outlives the command, the recording stays in the spool folder that is "
            "printed at the start; 'memtrace collect' makes a trace of it.\n\n"
            "'memtrace doctor' checks beforehand whether this machine can record.",
        .examples = "a training job, and the report on it\n"
                    "memtrace capture -- torchrun --nproc-per-node 8 train.py\n"
                    "with names of one's own\n"
                    "memtrace capture -o run42.gz --spool /dev/shm -- python3 train.py --lr 1e-6",
        .run = mt_cmd_capture,
        .runs_command = true,
        .exits = capture_exits,
    },
    {
        .name = "attach",
        .bit = MT_CMD_ATTACH,
        .operands = "PID",
        .min_operands = 1,
        .max_operands = 1,
        .summary = "record a process that runs already, until it ends or until Ctrl-C",
        .text =
            "Loads the recorder into process PID and records from then on what 'memtrace capture' "
            "records from the start. What the process held before is in the trace too, as far as "
            "it can be told: PyTorch's segments, by its own snapshot, and one sum for the rest of "
            "what the GPU counts for it. Other processes of the job are not recorded, nor those "
            "that PID starts later.\n\n"
            "It says what it will do and asks; --yes is for scripts. One thread of the process is "
            "stopped for a moment, where it holds no lock of the allocator or of the loader, and "
            "loads it. It needs what a debugger needs, and none: the same user, and a kernel that "
            "allows it (kernel.yama.ptrace_scope "
            "0, or root); in a container it has to run inside, with SYS_PTRACE. Where something is "
            "in the way nothing is done, and the message says what.\n\n"
            "Ctrl-C here, or 'memtrace attach --detach PID' elsewhere, ends the recording and "
            "writes the trace; the process is not stopped for that, and goes on. The library stays "
            "in its memory and does nothing then. It can be attached to again.",
        .examples = "a job that has begun, and the report on it\n"
                    "memtrace attach 4711 -o trace.gz\n"
                    "in a script: ten minutes of it\n"
                    "timeout -s INT 600 memtrace attach --yes -q 4711\n"
                    "the recording whose memtrace was killed\n"
                    "memtrace attach --detach 4711",
        .run = mt_cmd_attach,
        .exits = attach_exits,
    },
    {
        .name = "collect",
        .bit = MT_CMD_COLLECT,
        .operands = "DIR | --from TAR...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "make a trace of a recording that is still in its spool folder",
        .text = "Makes one trace of what the processes of a recording left in DIR, the spool "
                "folder that 'memtrace capture' printed: after memtrace itself was killed, when a "
                "process outlived the command, or when workers were told to record there by hand. "
                "Processes that were killed are salvaged up to their last driver call. The folder "
                "is left as it is.",
        .examples = "after the launcher was killed\n"
                    "memtrace collect /tmp/memtrace-Xy12ab -o trace.gz\n"
                    "from nodes that share no disk\n"
                    "cat node*.tar | memtrace collect --from - -o trace.gz",
        .run = mt_cmd_collect,
    },
    {
        .name = "top",
        .bit = MT_CMD_TOP,
        .operands = "[PID | SPOOL]",
        .min_operands = 0,
        .max_operands = 1,
        .summary = "show who holds the GPUs' memory in a job that is being recorded",
        .text =
            "Shows the jobs that 'memtrace capture' records here, or the one of process PID, or "
            "the one in the spool folder SPOOL, as they are now: for each GPU what is used, who "
            "holds how much by the recorded calls, how it grew within a minute and in which phase "
            "the job is; how many requests for memory failed, and what grew most. On a terminal "
            "the screen is renewed every second until Ctrl-C or the end of the recording; "
            "elsewhere it is printed once.\n\n"
            "It reads the files of the recording and asks the job nothing: no lock, no signal, no "
            "privilege. What is recorded shows up at once; the device's own figure is as old as "
            "its last sample (half a second).",
        .examples = "the jobs of this machine\n"
                    "memtrace top\n"
                    "one look, for a log\n"
                    "memtrace top -1\n"
                    "what PyTorch holds, every ten seconds\n"
                    "memtrace top --json --interval 10 | jq '.devices[].owners'",
        .run = mt_cmd_top,
        .exits = top_exits,
    },
    {
        .name = "snap",
        .bit = MT_CMD_SNAP,
        .operands = "PID",
        .min_operands = 1,
        .max_operands = 1,
        .summary = "take a snapshot of PyTorch's memory in a process that is being recorded",
        .text =
            "Asks PyTorch in process PID, which 'memtrace capture' records, for a snapshot of its "
            "allocator, waits until it is whole, and prints where it lies: in the spool folder. "
            "The job goes on meanwhile; its main thread writes the snapshot, which takes as long "
            "as at an out-of-memory error (seconds, with many events).\n\n"
            "The process is asked by SIGUSR2, and only where the recorder's own handler for it is "
            "in place: a process that would end by it, or that handles it itself, is left alone, "
            "and the message says why. When the recording ends the snapshot becomes part of the "
            "trace.",
        .examples = "what holds the memory right now\n"
                    "memtrace report \"$(memtrace snap 4711)\" -o now.html\n"
                    "every worker of a job\n"
                    "for p in $(pgrep -f train.py); do memtrace snap $p; done",
        .run = mt_cmd_snap,
        .exits = snap_exits,
    },
    {
        .name = "doctor",
        .bit = MT_CMD_DOCTOR,
        .operands = "",
        .min_operands = 0,
        .max_operands = 0,
        .summary = "check whether a job can be recorded here, and say what is missing",
        .text = "Looks for the recorder and its parts, the C library, GPU driver, CUPTI and NVML, "
                "a folder for the recording, other tools that hold the injection, a running Ray "
                "cluster, and the python3 on the PATH. It also prints the variables to hand to "
                "workers that do not inherit the environment.",
        .examples = "memtrace doctor\n"
                    "a job for a Ray cluster that runs already\n"
                    "ray job submit --runtime-env-json \"$(memtrace doctor --ray)\" -- job.py",
        .run = mt_cmd_doctor,
        .exits = doctor_exits,
    },
    {
        .name = "diff",
        .bit = MT_CMD_DIFF,
        .operands = "FIRST SECOND",
        .min_operands = 2,
        .max_operands = 2,
        .summary = "say what a second run takes more or less than a first",
        .text =
            "Compares two runs: snapshots, traces, logs, folders, or reports that memtrace wrote "
            "(JSON or page). Says in one sentence how the peak changed, what changed most and "
            "whether memory still runs out; then the same by role, phase, holder and rank, the "
            "settings that differ, warnings that are new and gone, and what the first report "
            "promised for a setting beside what was measured.\n\n"
            "Each is looked at on the device of its verdict, at its first failure, else its "
            "peak. A holder whose line moved is known by its function.",
        .examples = "what a setting did\n"
                    "memtrace diff before.pickle after.pickle\n"
                    "from two tickets, as a comment\n"
                    "memtrace diff first.html second.html --format md",
        .run = mt_cmd_diff,
    },
    {
        .name = "check",
        .bit = MT_CMD_CHECK,
        .operands = "INPUT...",
        .min_operands = 1,
        .max_operands = INT_MAX,
        .summary = "hold a run against limits, for a gate: exit status 4 when one is passed",
        .text =
            "Reads one run as 'report' does, or a report that memtrace wrote, and holds it against "
            "limits: those of --max and --limits, and an earlier run (--baseline). Prints a line "
            "for each with its margin, and where it was passed. A run that ran out of memory "
            "fails without any limit. A limit that the input says nothing about is not kept "
            "('?').",
        .examples = "no rank may need more than 70 GiB, and a weight sync leaves nothing\n"
                    "memtrace check rank*.pickle --max peak=70GiB --max phase:weight_sync.left=0\n"
                    "no more than 2 % above the run of yesterday, as annotations\n"
                    "memtrace check snapshot.pickle --baseline main.json --format github",
        .run = mt_cmd_check,
        .exits = gate_exits,
    },
    {
        .name = "schema",
        .bit = MT_CMD_SCHEMA,
        .operands = "NAME",
        .min_operands = 1,
        .max_operands = 1,
        .summary = "print the JSON Schema of a report, a diff, a check or of rules",
        .text =
            "Prints the JSON Schema (2020-12) of what this version writes or reads: 'report' is "
            "what 'report --format json' writes, 'diff' and 'check' what these write with --format "
            "json, 'rules' is a file for --rules. Within one "
            "schema_version keys are added, and none goes or changes its meaning.",
        .examples = "check a report in a script\n"
                    "memtrace schema report > report.schema.json",
        .run = mt_cmd_schema,
        .exits = schema_exits,
    },
    {.name = NULL},
};

const struct mt_exit_text mt_exit_texts[] = {
    {MT_EXIT_OK, "Fine."},
    {MT_EXIT_FAILED, "Failed: nothing was written; the message says why."},
    {MT_EXIT_USAGE, "The command line is wrong."},
    {MT_EXIT_DAMAGED,
     "Written, but from damaged input: the output or a warning says what is missing."},
    {0, NULL},
};

const struct mt_name_text mt_environment[] = {
    {"NO_COLOR", "When set and not empty, no colours in --format text."},
    {"COLUMNS", "Width of --format text; else that of the terminal, else 80."},
    {"LC_ALL, LC_CTYPE, LANG",
     "The first that is set says whether --format text may have more than ASCII: only "
     "where it names UTF-8."},
    {"MEMTRACE_PAGER, PAGER",
     "The pager of text and of rules on a terminal; else less. Empty or cat: none."},
    {"XDG_CONFIG_HOME, HOME",
     "The user's memtrace.toml is memtrace/memtrace.toml in XDG_CONFIG_HOME; else in .config in "
     "HOME."},
    {"BROWSER", "Programs for report --open, parted by ':'; '%s' stands for the page."},
    {"TERM", "With TERM=dumb there are no colours and no progress line."},
    {"TMPDIR", "Folder for the recording of capture, unless --spool names one; else /tmp."},
    {"MEMTRACE_INJECT",
     "The recorder to use (libmemtrace_inject.so) instead of the one that lies beside memtrace."},
    {"MEMTRACE_HASH_SEED",
     "A number for the secret of the hash tables, else drawn anew each time. No output depends on "
     "it; two counts of instructions do."},
    {"MEMTRACE_CUPTI", "The libcupti to use in processes that have none of their own."},
    {NULL, NULL},
};

const struct mt_command *mt_command_find(const char *name)
{
    for (const struct mt_command *k = mt_commands; k->name != NULL; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}
