/* options.c -- the option table and its parser. */
#include "cli/options.h"

#include "cli/formats.h"
#include "parser/base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define AT(field) offsetof(struct mt_cli, field)

static const char *const formats[] = {
#define MT_FORMAT(id, name, ending, words, render, traits) name,
#include "cli/formats.def"
#undef MT_FORMAT
    NULL};
#define MT_FORMAT(id, name, ending, words, render, traits) ending,
static const char *const endings[] = {
#include "cli/formats.def"
    NULL};
#undef MT_FORMAT
#define MT_FORMAT(id, name, ending, words, render, traits) name " " words " "
static const char format_help[] =
#include "cli/formats.def"
    ;
#undef MT_FORMAT
/* enum mt_frames_choice */
static const char *const frames[] = {"user", "all", NULL};
/* enum mt_export_to */
static const char *const check_formats[] = {"text", "github", "junit", "json", NULL};
static const char *const fail_on[] = {"never", "oom", NULL};
static const char *const targets[] = {"perfetto", "speedscope", "folded", NULL};

const struct mt_option mt_options[] = {
    {"output", 'o', MT_OPT_FILE, MT_CMD_REPORT, AT(output), "FILE",
     "Write to FILE; '-' is standard output. How FILE ends (.html, .txt, .md, .json, each with .gz "
     "or "
     "without) says the format where --format does not. Without it, HTML goes to the name of the "
     "first INPUT with .html added (memtrace-report.html for standard input), everything else to "
     "standard output.",
     NULL, true},
    {"output", 'o', MT_OPT_FILE, MT_CMD_RECORD | MT_CMD_COLLECT, AT(output), "FILE",
     "Write the trace to FILE. Without it to trace.gz, or to trace-2.gz, trace-3.gz ... where that "
     "is "
     "there; a FILE that is there is refused. In FILE %h is the host, %r the rank, %j the job and "
     "%p the process.",
     NULL, true},
    {"output", 'o', MT_OPT_FILE, MT_CMD_DIFF, AT(output), "FILE",
     "Write to FILE instead of standard output. Its ending (.txt, .md, .html, .json) is the "
     "format, "
     "where none is given.",
     NULL, true},
    {"output", 'o', MT_OPT_FILE, MT_CMD_EXPORT | MT_CMD_DUMP | MT_CMD_CHECK, AT(output), "FILE",
     "Write to FILE; without it, or with '-', to standard output.", NULL, true},
    {"output", 'o', MT_OPT_FILE, MT_CMD_SUMMARIZE, AT(output), "FILE",
     "Write to FILE, as rank7.mts; '-' is standard output. In FILE %h is the host, %r the rank, %j "
     "the job and %p the process.",
     NULL, true},
    {"detail", 0, MT_OPT_FLAG, MT_CMD_SUMMARIZE, AT(detail), NULL,
     "Leave nothing of the report out, however large it gets: all holders with their stacks, all "
     "steps and phases of the failure.",
     NULL, true},
    {"output", 'o', MT_OPT_FILE, MT_CMD_TICKET, AT(output), "DIR",
     "Write the two files into the folder DIR, which is made where it is not there (default: the "
     "working folder).",
     NULL, true},
    {"to", 0, MT_OPT_CHOICE, MT_CMD_EXPORT, AT(to), "FORMAT",
     "perfetto (a Chrome JSON trace of the whole run for ui.perfetto.dev, the default), speedscope "
     "(live bytes by stack at the peak and at the peak of every phase, for speedscope.app) or "
     "folded (the same at one moment as lines 'frame;frame bytes', for flamegraph.pl and inferno).",
     targets, false},
    {"at", 0, MT_OPT_TEXT, MT_CMD_EXPORT, AT(at), "MOMENT",
     "The moment of the stacks: peak, oom (the first failed request), or the number of an event as "
     "'memtrace dump' counts them. Without it: the peak.",
     NULL, false},
    {"rank", 0, MT_OPT_ORDINAL, MT_CMD_EXPORT, AT(rank), "N", "Only the snapshot of rank N.", NULL,
     false},
    {"format", 0, MT_OPT_CHOICE, MT_CMD_REPORT, AT(format), "FORMAT", format_help, formats, true},
    {"full", 0, MT_OPT_FLAG, MT_CMD_REPORT, AT(full), NULL,
     "Everything that --format text has; without it about one screen: the answer, what to change, "
     "who holds the memory. Of more than 64 ranks all of every rank, in every format; without it "
     "most of these have a row.",
     NULL, true},
    {"no-pager", 0, MT_OPT_FLAG, MT_CMD_REPORT | MT_CMD_RULES, AT(no_pager), NULL,
     "Do not show text through a pager. Without it, text on a terminal goes through "
     "$MEMTRACE_PAGER, $PAGER or less, which leaves at once when it fits the screen.",
     NULL, true},
    {"frames", 0, MT_OPT_CHOICE, MT_CMD_REPORT, AT(frames), "WHICH",
     "Frames of stacks in --format json: user (those of Python code outside PyTorch, the default) "
     "or all. A stack without such a frame is always whole.",
     frames, false},
    {"format", 0, MT_OPT_CHOICE, MT_CMD_DIFF, AT(format), "FORMAT",
     "text (the default), md (Markdown for a ticket), html (a page) or json (for scripts).",
     formats, true},
    {"format", 0, MT_OPT_CHOICE, MT_CMD_CHECK, AT(check_format), "FORMAT",
     "text (a line for each limit, the default), github (annotations of a workflow), junit (for "
     "GitLab and Jenkins) or json.",
     check_formats, true},
    {"max", 0, MT_OPT_TEXTS, MT_CMD_CHECK, AT(maxima), "NAME=SIZE",
     "A limit, which may be reached and not passed: peak (live bytes), reserved, role:ID (as "
     "role:logits=8GiB), phase:ID (live bytes while it holds), phase:ID.left (born there and live "
     "at its end, as phase:weight_sync.left=0). Over all ranks the highest counts. May be given "
     "several times.",
     NULL, false},
    {"limits", 0, MT_OPT_FILES, MT_CMD_CHECK, AT(limit_files), "FILE",
     "Take limits from FILE, one NAME=SIZE a line; '#' begins a comment. May be given several "
     "times.",
     NULL, false},
    {"baseline", 0, MT_OPT_FILE, MT_CMD_CHECK, AT(baseline), "FILE",
     "No role, no phase, and no peak may be larger than in FILE, a report (JSON or page) or a "
     "snapshot of an earlier run, by more than --tolerance.",
     NULL, false},
    {"tolerance", 0, MT_OPT_SHARE, MT_CMD_CHECK, AT(tolerance), "SHARE",
     "How much more than in --baseline is allowed (default 2%; less than 2 MiB always is; 0% is "
     "the "
     "baseline itself).",
     NULL, false},
    {"threshold", 0, MT_OPT_SHARE, MT_CMD_DIFF, AT(threshold), "SHARE",
     "Leave out rows that changed by less than this share of the first peak (default 1%; 0% has "
     "all that changed). JSON has all rows.",
     NULL, false},
    {"fail-on", 0, MT_OPT_CHOICE, MT_CMD_REPORT, AT(fail_on), "WHAT",
     "Exit status 4 when memory ran out (oom), for a script; the report is written all the same.",
     fail_on, true},
    {"device", 0, MT_OPT_ORDINAL, MT_CMD_DIAGNOSE | MT_CMD_EXPORT, AT(device), "N",
     "Look at GPU N only, counted as the process saw it.", NULL, false},
    {"framework", 0, MT_OPT_FRAMEWORK, MT_CMD_DIAGNOSE | MT_CMD_EXPORT, AT(framework), "NAME",
     "Take NAME for the training framework instead of telling it from the recorded stacks.", NULL,
     false},
    {"framework", 0, MT_OPT_FRAMEWORK, MT_CMD_RULES, AT(framework), "NAME",
     "Only rules that hold for the framework NAME (verl, areal, slime, ...).", NULL, false},
    {"phase", 0, MT_OPT_TEXT, MT_CMD_RULES, AT(phase), "PHASE",
     "Only rules for PHASE: a class of the fix rules (loss, weight_sync, ...) or a phase "
     "(train_actor, rollout.kv_alloc, ...).",
     NULL, false},
    {"capacity", 0, MT_OPT_CARD, MT_CMD_DIAGNOSE, AT(capacity), "SIZE",
     "Memory of the card: a size of at least 1GiB, as 79.2GiB, or the name of a card, as H100-80, "
     "A100-40, H200, 4090, 910B. A name stands for what a program can have of it, which is less "
     "than the gigabytes in the name. A snapshot does not say it; without this option the report "
     "says 'capacity unknown'.",
     NULL, false},
    {"log", 0, MT_OPT_FILES, MT_CMD_REPORT | MT_CMD_TICKET | MT_CMD_CHECK | MT_CMD_SUMMARIZE,
     AT(logs), "FILE",
     "Read what the log FILE of the run says about memory: out-of-memory messages, memory lines of "
     "vLLM, SGLang, verl, slime, kills of the host. May be given several times; a log alone can be "
     "the INPUT.",
     NULL, false},
    {"config", 0, MT_OPT_FILES, MT_CMD_REPORT | MT_CMD_TICKET | MT_CMD_CHECK | MT_CMD_SUMMARIZE,
     AT(configs), "FILE",
     "Take the settings of the run from FILE: YAML, TOML, JSON, or the launch script (which is not "
     "run). "
     "May be given several times.",
     NULL, false},
    {"args", 0, MT_OPT_TEXTS, MT_CMD_REPORT | MT_CMD_TICKET | MT_CMD_CHECK | MT_CMD_SUMMARIZE,
     AT(args), "TEXT",
     "Take settings from TEXT: Hydra overrides, flags and environment assignments as on the "
     "command line of the run. They hold before those of --config. May be given several times.",
     NULL, false},
    {"try", 0, MT_OPT_TEXTS, MT_CMD_REPORT, AT(tries), "KEY=VALUE",
     "Say what this setting would have changed: the bytes it frees, whether the failed request "
     "would have fitted, what it would trip. The same numbers as those of the advice. May be given "
     "several times: each then counts with the others in force.",
     NULL, false},
    {"no-auto", 0, MT_OPT_FLAG, MT_CMD_DIAGNOSE, AT(no_auto), NULL,
     "Take no settings from files that lie in a folder or archive given as INPUT, or are named "
     "beside another INPUT. Without it they "
     "are used and named, and hold where --config and --args say nothing: what Hydra composed, "
     "launch scripts, YAML, TOML, JSON, the model's config.json.",
     NULL, false},
    {"rules", 0, MT_OPT_FILE, MT_CMD_DIAGNOSE | MT_CMD_RULES | MT_CMD_HOWTO | MT_CMD_EXPORT,
     AT(rules_file), "FILE",
     "Read more phase and fix rules from the JSON file FILE; a rule with a known id replaces the "
     "built-in one.",
     NULL, false},
    {"max-size", 0, MT_OPT_BYTES, MT_CMD_REPORT, AT(max_size), "SIZE",
     "The report is at most SIZE bytes long (default 10MB; up to 25MB, which is what can be "
     "attached to a ticket; of Markdown 60,000 bytes, which a comment takes). A page gives up "
     "detail for it and says which, Markdown rows; another format that does not fit is not "
     "written.",
     NULL, false},
    {"any-size", 0, MT_OPT_FLAG, MT_CMD_REPORT, AT(any_size), NULL,
     "Let --max-size be more than 25MB.", NULL, true},
    {"gzip", 0, MT_OPT_FLAG, MT_CMD_REPORT, AT(gzip), NULL,
     "Compress the report (.gz is added to the name that it gets by itself). --max-size counts "
     "before that.",
     NULL, true},
    {"verify", 0, MT_OPT_FLAG, MT_CMD_REPORT, AT(verify), NULL,
     "Check after every event that the bytes of the roles add up to the live bytes; stop with an "
     "error where they do not.",
     NULL, true},
    {"title", 0, MT_OPT_TEXT, MT_CMD_REPORT | MT_CMD_TICKET | MT_CMD_EXPORT, AT(title), "TEXT",
     "Title to show instead of the name of the input.", NULL, false},
    {"open", 0, MT_OPT_FLAG, MT_CMD_REPORT, AT(open), NULL,
     "Open the page in a browser when it is written: the first of $BROWSER that starts, else "
     "xdg-open.",
     NULL, true},
    {"redact", 0, MT_OPT_FLAG, MT_CMD_READERS & ~MT_CMD_TICKET, AT(redact), NULL,
     "Replace names of hosts and users, and folders outside of known packages, by tokens as "
     "host-3f9a1c52d0, in all that is "
     "written (messages on standard error keep them). "
     "Secrets in command lines and environments are removed without it too.",
     NULL, false},
    {"redact-key", 0, MT_OPT_TEXT, MT_CMD_READERS, AT(redact_key), "KEY",
     "Redact, and make the tokens with KEY, or with what the file FILE holds (@FILE): outputs with "
     "one key have the same tokens for the same names. Without it the key is random, and no two "
     "runs match. At least 16 bytes; who has it can try names.",
     NULL, true},
    {"no-torch", 0, MT_OPT_FLAG, MT_CMD_RECORD, AT(no_torch), NULL,
     "Do not switch on PyTorch's own memory history in the processes of the job.", NULL, true},
    {"no-stacks", 0, MT_OPT_FLAG, MT_CMD_RECORD, AT(no_stacks), NULL,
     "No native stacks: cheaper, but the library that allocated is then mostly unknown.", NULL,
     true},
    {"memory2", 0, MT_OPT_FLAG, MT_CMD_RECORD, AT(memory2), NULL,
     "CUPTI's own memory records beside the driver calls: to compare with, and the sizes of memory "
     "pools. A call costs about twice as much.",
     NULL, true},
    {"keep", 0, MT_OPT_BYTES, MT_CMD_RECORD, AT(keep_bytes), "SIZE",
     "Keep the newest SIZE (compressed) of each process and let the oldest go (default 256MiB). "
     "What is still there of it, and failures, always stay.",
     NULL, true},
    {"last", 0, MT_OPT_TEXT, MT_CMD_RECORD, AT(last), "TIME",
     "Let go what is older than TIME as well: 90s, 30m, 12h, 7d.", NULL, true},
    {"all", 0, MT_OPT_FLAG, MT_CMD_RECORD, AT(keep_all), NULL,
     "Keep all of it, however large it becomes.", NULL, true},
    {"max-mb", 0, MT_OPT_COUNT, MT_CMD_RECORD, AT(max_mb), "N",
     "Keep the oldest instead: write at most N MiB (compressed) for each process; what comes after "
     "is dropped and counted, but for failures.",
     NULL, true},
    {"flush-ms", 0, MT_OPT_COUNT32, MT_CMD_RECORD, AT(flush_ms), "N",
     "Compress what is finished every N milliseconds (default 500).", NULL, true},
    {"spool", 0, MT_OPT_FILE, MT_CMD_RECORD, AT(spool), "DIR",
     "Record into a new folder in DIR, on a local disk or /dev/shm (default: TMPDIR, else /tmp).",
     NULL, true},
    {"spool", 0, MT_OPT_FILE, MT_CMD_DOCTOR, AT(spool), "DIR",
     "With --ray: record into DIR itself, which is made (default: a new folder in TMPDIR, else in "
     "/tmp).",
     NULL, true},
    {"ray", 0, MT_OPT_FLAG, MT_CMD_DOCTOR, AT(ray), NULL,
     "Make a folder for a recording and print the runtime environment for workers of a Ray cluster "
     "that runs already, as JSON on one line. On its nodes the recorder makes that folder.",
     NULL, true},
    {"summarize", 0, MT_OPT_FLAG, MT_CMD_CAPTURE, AT(summarize), NULL,
     "Write a summary beside the trace as well (trace.mts): what 'memtrace report' of many nodes "
     "needs of this one.",
     NULL, true},
    {"take-over", 0, MT_OPT_FLAG, MT_CMD_CAPTURE, AT(take_over), NULL,
     "Record although another tool's injection library is set, in its place.", NULL, true},
    {"keep-spool", 0, MT_OPT_FLAG, MT_CMD_CAPTURE, AT(keep_spool), NULL,
     "Leave the spool folder when the trace is written.", NULL, true},
    {"remove", 0, MT_OPT_FLAG, MT_CMD_COLLECT, AT(remove), NULL,
     "Remove the spool folder when the trace is written and none of its processes runs any more.",
     NULL, true},
    {"from", 0, MT_OPT_FLAG, MT_CMD_COLLECT, AT(from), NULL,
     "The operands are tar files of spool folders, compressed or not, or '-': tar streams on "
     "standard input, one behind the other. For nodes that share no disk.",
     NULL, true},
    {"no-symbols", 0, MT_OPT_FLAG, MT_CMD_RECORD | MT_CMD_COLLECT, AT(no_symbols), NULL,
     "Do not look up the names of native functions; only this machine has the files for that.",
     NULL, true},
    {"force", 'f', MT_OPT_FLAG,
     MT_CMD_DIAGNOSE | MT_CMD_DUMP | MT_CMD_EXPORT | MT_CMD_RECORD | MT_CMD_COLLECT, AT(force),
     NULL, "Overwrite the output file if it exists.", NULL, true},
    {"quiet", 'q', MT_OPT_FLAG, MT_CMD_READERS, AT(quiet), NULL,
     "No progress and no closing line. Errors, and warnings about damaged input, are still "
     "printed.",
     NULL, true},
    {"quiet", 'q', MT_OPT_FLAG, MT_CMD_RECORD | MT_CMD_COLLECT, AT(quiet), NULL,
     "Print nothing when all is well.", NULL, true},
    {"quiet", 'q', MT_OPT_FLAG, MT_CMD_SNAP, AT(quiet), NULL,
     "Print the name of the snapshot and nothing else when all is well.", NULL, true},
    {"yes", 'y', MT_OPT_FLAG, MT_CMD_ATTACH, AT(yes), NULL,
     "Do not ask whether that is wanted: for scripts.", NULL, true},
    {"detach", 0, MT_OPT_FLAG, MT_CMD_ATTACH, AT(detach), NULL,
     "End the recording of PID, which goes on; who waits for it writes the trace.", NULL, true},
    {"timeout", 0, MT_OPT_COUNT32, MT_CMD_ATTACH, AT(timeout), "SECONDS",
     "Wait at most SECONDS until PID can be stopped at a safe place (default 30).", NULL, true},
    {"once", '1', MT_OPT_FLAG, MT_CMD_TOP, AT(once), NULL, "Print once and end.", NULL, true},
    {"interval", 0, MT_OPT_COUNT32, MT_CMD_TOP, AT(interval), "SECONDS",
     "Look again every SECONDS (default 1).", NULL, true},
    {"json", 0, MT_OPT_FLAG, MT_CMD_TOP, AT(json), NULL,
     "Print JSON instead of text: an object on one line for each look.", NULL, false},
    {"timeout", 0, MT_OPT_COUNT32, MT_CMD_SNAP, AT(timeout), "SECONDS",
     "Wait at most SECONDS for the snapshot (default 60).", NULL, true},
    {"json", 0, MT_OPT_FLAG, MT_CMD_INFO, AT(json), NULL,
     "Print JSON instead of text: an object for each snapshot or trace, over many lines.", NULL,
     false},
    {"json", 0, MT_OPT_FLAG, MT_CMD_RULES, AT(json), NULL,
     "Print JSON instead of text: a line for each rule.", NULL, false},
    {"json", 0, MT_OPT_FLAG, MT_CMD_DOCTOR, AT(json), NULL,
     "Print JSON instead of text: a line for each check, then one with the outcome.", NULL, false},
    {"all", 0, MT_OPT_FLAG, MT_CMD_RULES, AT(all), NULL,
     "List every phase rule too, and the fix rules that are never advised, with the reason.", NULL,
     false},
    {"meta", 0, MT_OPT_FLAG, MT_CMD_DUMP, AT(meta), NULL,
     "Also print how the input was encoded. Without it, two encodings of one snapshot give the "
     "same lines.",
     NULL, false},
    {"sha256", 0, MT_OPT_FLAG, MT_CMD_REPORT | MT_CMD_INFO | MT_CMD_DUMP, AT(sha256), NULL,
     "Tell the SHA-256 of every input. Without it none is computed: reading is a fifth faster.",
     NULL, false},
    {"no-config", 0, MT_OPT_FLAG, MT_CMD_PREFERS, AT(no_config), NULL,
     "Read no memtrace.toml. Without it, what no option says is taken from memtrace.toml in the "
     "working folder, then $XDG_CONFIG_HOME/memtrace/memtrace.toml, then /etc/memtrace.toml.",
     NULL, false},
    {"max-bytes", 0, MT_OPT_BYTES, MT_CMD_READERS, AT(limits.max_bytes), "SIZE",
     "Stop reading an input after SIZE decompressed bytes (default 1TiB).", NULL, false},
    {"jobs", 'j', MT_OPT_COUNT32, MT_CMD_DIAGNOSE, AT(jobs), "N",
     "Read and analyse at most N ranks at a time (default: the cores that this process may use, at "
     "most 64). A single packed file is unpacked ahead of its reader where N is 2 or more. The "
     "report is the same for any N; memory is not: each rank that is worked on needs its own.",
     NULL, true},
    {"max-memory", 0, MT_OPT_BYTES, MT_CMD_READERS, AT(limits.max_memory), "SIZE",
     "Hold at most SIZE bytes of memory (default 12GiB, or three quarters of what the machine or "
     "the cgroup has where that is less).",
     NULL, false},
    {"max-string", 0, MT_OPT_BYTES, MT_CMD_READERS, AT(limits.max_string), "SIZE",
     "Longest string in an input (default 16MiB).", NULL, false},
    {"max-events", 0, MT_OPT_COUNT, MT_CMD_READERS, AT(limits.max_events), "N",
     "Most trace entries in a snapshot (default 250M).", NULL, false},
    {"max-depth", 0, MT_OPT_COUNT32, MT_CMD_READERS, AT(limits.max_depth), "N",
     "Deepest nesting in an input (default 256).", NULL, false},
    {"max-ratio", 0, MT_OPT_COUNT32, MT_CMD_READERS, AT(limits.max_ratio), "N",
     "Refuse input that decompresses to more than N times its size, after the first 64 MiB "
     "(default 1000).",
     NULL, false},
    {"max-members", 0, MT_OPT_COUNT32, MT_CMD_READERS, AT(limits.max_members), "N",
     "Most files in the archives and folders of one run, with archives in them (default 4096).",
     NULL, false},
    {"max-time", 0, MT_OPT_COUNT32, MT_CMD_READERS, AT(limits.max_time), "SECONDS",
     "Stop reading SECONDS after the start, and report what was read until then. Without it a pipe "
     "is waited for as long as its writer takes.",
     NULL, false},
    {"max-frames", 0, MT_OPT_COUNT32, MT_CMD_READERS, AT(limits.max_frames), "N",
     "Most frames in one stack (default 4096).", NULL, false},
    {"help", 'h', MT_OPT_FLAG,
     MT_CMD_READERS | MT_CMD_RULES | MT_CMD_RECORD | MT_CMD_COLLECT | MT_CMD_DOCTOR |
         MT_CMD_SCHEMA | MT_CMD_HOWTO | MT_CMD_TOP | MT_CMD_SNAP | MT_CMD_NONE,
     AT(help), NULL, "Print this help.", NULL, true},
    {"version", 'V', MT_OPT_FLAG, MT_CMD_NONE, AT(version), NULL,
     "Print the version, the features of this build and the versions of its libraries.", NULL,
     true},
    {NULL, 0, MT_OPT_FLAG, 0, 0, NULL, NULL, NULL, false},
};

static unsigned command_bit(const struct mt_cli *c)
{
    return c->command != NULL ? c->command->bit : MT_CMD_NONE;
}

static const struct mt_option *find_long(unsigned commands, const char *s, size_t n)
{
    for (const struct mt_option *o = mt_options; o->name != NULL; o++)
        if ((o->commands & commands) != 0 && strlen(o->name) == n && memcmp(o->name, s, n) == 0)
            return o;
    return NULL;
}

static const struct mt_option *find_short(unsigned commands, char letter)
{
    for (const struct mt_option *o = mt_options; o->name != NULL; o++)
        if ((o->commands & commands) != 0 && o->letter == letter)
            return o;
    return NULL;
}

/* "html, text, md or json" */
static void list_words(char *buf, size_t cap, const char *const *words)
{
    size_t used = 0;
    for (size_t i = 0; words[i] != NULL && used < cap; i++) {
        const char *before = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        int n = snprintf(buf + used, cap - used, "%s%s", before, words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static int set_choice(const struct mt_option *o, int *out, const char *value, struct mt_err *err)
{
    char words[160];
    for (int i = 0; o->choices[i] != NULL; i++)
        if (strcmp(o->choices[i], value) == 0) {
            *out = i;
            return 1;
        }
    list_words(words, sizeof words, o->choices);
    mt_fail(err, MT_EINPUT, "--%s: '%s' is none of %s", o->name, value, words);
    return 0;
}

static int set_number(const struct mt_option *o, void *field, const char *value, struct mt_err *err)
{
    uint64_t n = 0, most = o->type == MT_OPT_ORDINAL   ? INT32_MAX
                           : o->type == MT_OPT_COUNT32 ? UINT32_MAX
                                                       : UINT64_MAX;
    uint64_t least = o->type == MT_OPT_ORDINAL ? 0 : 1;
    int ok = o->type == MT_OPT_BYTES ? mt_parse_bytes(value, &n) : mt_parse_count(value, &n);

    if (!ok) {
        if (o->type == MT_OPT_BYTES)
            mt_fail(err, MT_EINPUT,
                    "--%s: '%s' is not a size; write bytes or a number with a unit, as 80GiB, 80G "
                    "(the same), 80GB (10^9) or "
                    "512MiB",
                    o->name, value);
        else
            mt_fail(err, MT_EINPUT, "--%s: '%s' is not a whole number%s", o->name, value,
                    o->type == MT_OPT_ORDINAL ? "; GPUs are counted from 0"
                                              : "; write 4096, 250k or 250M");
        return 0;
    }
    if (n < least || n > most) {
        mt_fail(err, MT_EINPUT, "--%s: %s is %s", o->name, value,
                n < least ? "too small; at least 1" : "too large");
        return 0;
    }
    if (o->type == MT_OPT_ORDINAL)
        *(int32_t *)field = (int32_t)n;
    else if (o->type == MT_OPT_COUNT32)
        *(uint32_t *)field = (uint32_t)n;
    else
        *(uint64_t *)field = n;
    return 1;
}

static int add_string(const struct mt_option *o, struct mt_strings *list, const char *value,
                      struct mt_err *err)
{
    if (value[0] == '\0' && o->type == MT_OPT_FILES) {
        mt_fail(err, MT_EINPUT, "--%s: the file name is empty", o->name);
        return 0;
    }
    if (list->n == (int)(sizeof list->p / sizeof *list->p)) {
        mt_fail(err, MT_EINPUT, "--%s: at most %d can be given", o->name, list->n);
        return 0;
    }
    list->p[list->n++] = value;
    return 1;
}

static int set_value(struct mt_cli *c, const struct mt_option *o, const char *value,
                     struct mt_err *err)
{
    void *field = (char *)c + o->offset;
    switch (o->type) {
    case MT_OPT_FLAG: *(bool *)field = true; return 1;
    case MT_OPT_TEXT:
    case MT_OPT_FRAMEWORK:
    case MT_OPT_CARD:
    case MT_OPT_FILE:
        if (value[0] == '\0' && o->type == MT_OPT_FILE) {
            mt_fail(err, MT_EINPUT, "--%s: the file name is empty", o->name);
            return 0;
        }
        *(const char **)field = value;
        return 1;
    case MT_OPT_FILES:
    case MT_OPT_TEXTS: return add_string(o, field, value, err);
    case MT_OPT_CHOICE: return set_choice(o, field, value, err);
    case MT_OPT_SHARE:
        if (mt_parse_share(value, field))
            return 1;
        mt_fail(err, MT_EINPUT, "--%s: '%s' is no share; write 2%% or 0.5%%, at most 100%%",
                o->name, value);
        return 0;
    case MT_OPT_ORDINAL:
    case MT_OPT_BYTES:
    case MT_OPT_COUNT:
    case MT_OPT_COUNT32: return set_number(o, field, value, err);
    }
    return 0;
}

/* "qf": two options or more in one word. */
static bool are_flags(unsigned commands, const char *word)
{
    for (const char *s = word; *s != '\0'; s++)
        if (find_short(commands, *s) == NULL)
            return false;
    return strlen(word) > 1;
}

static int unknown(const struct mt_cli *c, const char *arg, size_t n, struct mt_err *err)
{
    const char *command = c->command != NULL ? c->command->name : "";
    const char *space = c->command != NULL ? " " : "";
    struct mt_nearest near;
    char word[64];
    size_t len = n - (n > 2 && arg[1] == '-' ? 2 : 1);

    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), arg + (n - len));
    near = (struct mt_nearest){.word = word};
    for (const struct mt_option *o = mt_options; o->name != NULL; o++)
        if ((o->commands & command_bit(c)) != 0)
            mt_nearest_offer(&near, o->name);
    if (near.best != NULL)
        mt_fail(err, MT_EINPUT,
                "unknown option '%.*s' (did you mean --%s?); see 'memtrace%s%s --help'", (int)n,
                arg, near.best, space, command);
    else if (find_long(~0u, word, strlen(word)) != NULL)
        mt_fail(err, MT_EINPUT, "'memtrace%s%s' has no option '%.*s'; see 'memtrace%s%s --help'",
                space, command, (int)n, arg, space, command);
    else if (are_flags(command_bit(c), word))
        mt_fail(
            err, MT_EINPUT,
            "unknown option '%.*s'; short options stand apart: -%c -%c; see 'memtrace%s%s --help'",
            (int)n, arg, word[0], word[1], space, command);
    else
        mt_fail(err, MT_EINPUT, "unknown option '%.*s'; see 'memtrace%s%s --help'", (int)n, arg,
                space, command);
    return 0;
}

/* One argument that starts with a dash, and its value if it has one; moves *i past both. */
static int parse_one(struct mt_cli *c, int argc, char **argv, int *i, struct mt_err *err)
{
    const char *arg = argv[*i], *value = NULL;
    const struct mt_option *o;
    size_t n;

    if (arg[1] == '-') {
        const char *equals = strchr(arg, '=');
        n = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
        value = equals != NULL ? equals + 1 : NULL;
        o = find_long(command_bit(c), arg + 2, n - 2);
    } else {
        n = 2;
        o = find_short(command_bit(c), arg[1]);
        if (o != NULL && o->type != MT_OPT_FLAG && arg[2] != '\0')
            value = arg + 2;
        else if (arg[2] != '\0') {
            /* -oX is fine, bundled flags are not worth the confusion with long options written with
             * one dash */
            o = NULL;
            n = strlen(arg);
        }
    }
    if (o == NULL)
        return unknown(c, arg, n, err);
    if (o->type == MT_OPT_FLAG) {
        if (value != NULL) {
            mt_fail(err, MT_EINPUT, "--%s takes no value", o->name);
            return 0;
        }
    } else if (value == NULL) {
        if (*i + 1 >= argc) {
            mt_fail(err, MT_EINPUT, "--%s needs a value: --%s %s", o->name, o->name, o->metavar);
            return 0;
        }
        value = argv[++*i];
    }
    ++*i;
    return set_value(c, o, value, err);
}

/* How a name ends, without .gz: 1 where it is one of the endings of a format, which is set. */
static int format_of(const char *path, bool *gzip, int *format)
{
    const char *base = strrchr(path, '/');
    size_t n;
    base = base != NULL ? base + 1 : path;
    n = strlen(base);
    *gzip = n > 3 && strcasecmp(base + n - 3, ".gz") == 0;
    n -= *gzip ? 3 : 0;
    for (int i = 0; endings[i] != NULL; i++) {
        size_t k = strlen(endings[i]);
        if (n > k + 1 && base[n - k - 1] == '.' && strncasecmp(base + n - k, endings[i], k) == 0) {
            *format = i;
            return 1;
        }
    }
    return 0;
}

/* What is asked for has to agree, and to be possible. */
static int check(struct mt_cli *c, struct mt_err *err)
{
    bool given = c->format >= 0, gzip = false;
    int by_name = command_bit(c) == MT_CMD_DIFF ? (int)MT_FORMAT_TEXT : 0;
    if (c->output != NULL && format_of(c->output, &gzip, &by_name) && given &&
        c->format != by_name) {
        mt_fail(err, MT_EINPUT,
                "--format %s and -o %s contradict each other: leave out --format, or let the name "
                "end in .%s",
                formats[c->format], c->output, endings[c->format]);
        return 0;
    }
    if (!given)
        c->format = by_name;
    c->gzip |= gzip;
    return 1;
}

int mt_options_parse(struct mt_cli *c, int argc, char **argv, int first, struct mt_err *err)
{
    int i = first;
    bool only_operands = false,
         is_report = (command_bit(c) & (MT_CMD_REPORT | MT_CMD_COMPARE)) != 0;

    if (is_report)
        c->format = -1; /* not given */
    c->inputs = mt_calloc((size_t)argc + 1, sizeof *c->inputs);
    if (c->inputs == NULL) {
        mt_fail(err, MT_ENOMEM, "out of memory");
        return 0;
    }
    while (i < argc) {
        /* behind the command that is to be run, "--" is the command's own */
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
            i++;
        } else if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
            only_operands |= c->command != NULL && c->command->runs_command;
            c->inputs[c->n_inputs++] = argv[i++];
        } else if (!parse_one(c, argc, argv, &i, err)) {
            return 0;
        }
    }
    return !is_report || check(c, err);
}
