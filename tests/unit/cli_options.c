/* cli_options.c -- sizes, near misses, and the command line that a report shows. */
#include "cli/jobs.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/output.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

static uint64_t bytes(const char *s)
{
    uint64_t n = 0;
    return mt_parse_bytes(s, &n) ? n : UINT64_MAX;
}
static uint64_t count(const char *s)
{
    uint64_t n = 0;
    return mt_parse_count(s, &n) ? n : UINT64_MAX;
}
#define BAD UINT64_MAX

MT_TEST(sizes)
{
    MT_CHECK_EQ(bytes("0"), 0);
    MT_CHECK_EQ(bytes("1234"), 1234);
    MT_CHECK_EQ(bytes("1234B"), 1234);
    MT_CHECK_EQ(bytes("80GiB"), UINT64_C(80) << 30);
    MT_CHECK_EQ(bytes("80gib"), UINT64_C(80) << 30);
    MT_CHECK_EQ(bytes("80G"), UINT64_C(80) << 30);
    MT_CHECK_EQ(bytes("80 GiB"), UINT64_C(80) << 30);
    MT_CHECK_EQ(bytes("80GB"), UINT64_C(80000000000));
    MT_CHECK_EQ(bytes("1TiB"), UINT64_C(1) << 40);
    MT_CHECK_EQ(bytes("2T"), UINT64_C(2) << 40);
    MT_CHECK_EQ(bytes("512k"), 512 * 1024);
    MT_CHECK_EQ(bytes("1.5KiB"), 1536);
    MT_CHECK_EQ(bytes("79.25GiB"), (UINT64_C(79) << 30) + (UINT64_C(1) << 28));
    MT_CHECK_EQ(bytes("79.6GB"), UINT64_C(79600000000));
    MT_CHECK_EQ(bytes("18446744073709551615"), UINT64_MAX);
}

MT_TEST(no_sizes)
{
    static const char *const bad[] = {"",
                                      "G",
                                      "GiB",
                                      "-1",
                                      "+1",
                                      "1.",
                                      ".5G",
                                      "1.2",
                                      "0x10",
                                      "1e9",
                                      "1,5G",
                                      "80Q",
                                      "80GiBs",
                                      " 80G",
                                      "8 0",
                                      "NaN",
                                      "18446744073709551616",
                                      "99999999TiB",
                                      "1..2G"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t n = 7;
        MT_CHECK(!mt_parse_bytes(bad[i], &n));
    }
}

MT_TEST(counts)
{
    MT_CHECK_EQ(count("4096"), 4096);
    MT_CHECK_EQ(count("250k"), 250000);
    MT_CHECK_EQ(count("250M"), 250000000);
    MT_CHECK_EQ(count("1G"), 1000000000);
    MT_CHECK(count("1.5") == BAD);
    MT_CHECK(count("5KiB") == BAD);
    MT_CHECK(count("") == BAD);
}

static const char *nearest(const char *word)
{
    static const char *const all[] = {"format",     "force",       "framework", "device",
                                      "max-memory", "max-members", NULL};
    struct mt_nearest n = {.word = word};
    for (size_t i = 0; all[i] != NULL; i++)
        mt_nearest_offer(&n, all[i]);
    return n.best != NULL ? n.best : "nothing";
}

MT_TEST(near_misses)
{
    MT_CHECK_STR(nearest("fromat"), "format");
    MT_CHECK_STR(nearest("forcee"), "force");
    MT_CHECK_STR(nearest("devcie"), "device");
    MT_CHECK_STR(nearest("max-mem"), "max-memory");
    MT_CHECK_STR(nearest("maxmemory"), "max-memory");
    MT_CHECK_STR(nearest("frame"), "framework");
    MT_CHECK_STR(nearest("colour"), "nothing");
    MT_CHECK_STR(nearest(""), "nothing");
    MT_CHECK_STR(nearest("a-word-that-is-far-longer-than-any-option-there-is-in-the-table"),
                 "nothing");
}

/* The command line of a report made with these arguments. */
static const char *line(int argc, const char *const *args)
{
    static char text[512], store[16][64];
    char *argv[16];
    struct mt_cli c = MT_CLI_DEFAULTS;
    struct mt_err err = {.rc = MT_OK};
    char *s;

    for (int i = 0; i < argc; i++) {
        snprintf(store[i], sizeof store[i], "%s", args[i]);
        argv[i] = store[i];
    }
    c.command = mt_command_find("report");
    if (!mt_options_parse(&c, argc, argv, 0, &err)) {
        mt_free(c.inputs);
        snprintf(text, sizeof text, "error: %s", err.msg);
        return text;
    }
    s = mt_command_line(&c);
    snprintf(text, sizeof text, "%s", s != NULL ? s : "(null)");
    mt_free(s);
    mt_free(c.inputs);
    return text;
}
#define LINE(...)                                                                                  \
    line((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                            \
         (const char *const[]){__VA_ARGS__})

MT_TEST(memory_of_the_machine)
{
    const uint64_t gib = UINT64_C(1) << 30;
    MT_CHECK_EQ(mt_memory_share(12 * gib, 0, 0), 12 * gib);
    MT_CHECK_EQ(mt_memory_share(12 * gib, 64 * gib, 0), 12 * gib);
    MT_CHECK_EQ(mt_memory_share(12 * gib, 8 * gib, 0), 6 * gib);
    MT_CHECK_EQ(mt_memory_share(12 * gib, 64 * gib, 4 * gib), 3 * gib);
    MT_CHECK_EQ(mt_memory_share(12 * gib, 8 * gib, 100 * gib), 6 * gib);
    MT_CHECK_EQ(mt_memory_share(12 * gib, 0, 4 * gib), 3 * gib);
    MT_CHECK(mt_memory_here(12 * gib) > 0 && mt_memory_here(12 * gib) <= 12 * gib);
}

MT_TEST(cores_of_the_machine)
{
    MT_CHECK_EQ(mt_jobs_quota("max 100000\n"), 0);
    MT_CHECK_EQ(mt_jobs_quota("200000 100000\n"), 2);
    MT_CHECK_EQ(mt_jobs_quota("150000 100000"), 2); /* a half is worth a thread */
    MT_CHECK_EQ(mt_jobs_quota("50000 100000"), 1);
    MT_CHECK_EQ(mt_jobs_quota("0 0"), 0);
    MT_CHECK_EQ(mt_jobs_quota(""), 0);
    MT_CHECK(mt_jobs_here() >= 1 && mt_jobs_here() <= MT_JOBS_MOST);
}

MT_TEST(command_line)
{
    MT_CHECK_STR(LINE("a.pickle"), "memtrace report a.pickle");
    MT_CHECK_STR(LINE("a.pickle", "-o", "x.html"), "memtrace report a.pickle");
    MT_CHECK_STR(LINE("--output=x.html", "--force", "-q", "a.pickle", "-ox"),
                 "memtrace report a.pickle");
    MT_CHECK_STR(LINE("a", "b c"), "memtrace report a 'b c'");
    MT_CHECK_STR(LINE("it's"), "memtrace report 'it'\\''s'");
    MT_CHECK_STR(LINE("$(rm)"), "memtrace report '$(rm)'");
    MT_CHECK_STR(LINE("--format", "json", "a"), "memtrace report a");
    MT_CHECK_STR(LINE("--format=json", "a"), "memtrace report a");
    MT_CHECK_STR(LINE("--format=html", "a"), "memtrace report a");
    MT_CHECK_STR(LINE("--capacity", "81920MiB", "a"), "memtrace report a --capacity 80GiB");
    MT_CHECK_STR(LINE("--capacity", "80GB", "a"), "memtrace report a --capacity 78125000KiB");
    MT_CHECK_STR(LINE("--framework", "verl", "--device", "1", "a"),
                 "memtrace report a --device 1 --framework verl");
    MT_CHECK_STR(LINE("--max-events", "1k", "--max-depth", "9", "a"),
                 "memtrace report a --max-events 1000 --max-depth 9");
    MT_CHECK_STR(LINE("--", "-o", "x"), "memtrace report -- -o x");
    MT_CHECK_STR(LINE("--device", "2", "--", "--all"), "memtrace report --device 2 -- --all");
    MT_CHECK_STR(LINE("-"), "memtrace report -");
    MT_CHECK_STR(LINE("--title", "", "a"), "memtrace report a --title ''");
    MT_CHECK_HAS(LINE("--all", "a"), "has no option '--all'");
    MT_CHECK_HAS(LINE("a", "-o"), "--output needs a value: --output FILE");
}

static void default_name(const char *input, const char *want)
{
    char *s = mt_output_default_name(input, "html", false);
    MT_CHECK_STR(s, want);
    mt_free(s);
}

MT_TEST(default_names)
{
    default_name("a.pickle", "a.pickle.html");
    default_name("runs/a.pickle", "runs/a.pickle.html");
    default_name("runs/", "runs.html");
    default_name("/data/runs///", "/data/runs.html");
    default_name("-", "memtrace-report.html");
    default_name(".", "memtrace-report.html");
    default_name("..", "memtrace-report.html");
    default_name("../..", "memtrace-report.html");
    default_name("/", "memtrace-report.html");
}

static void split(const char *path, const char *msg, const char *name, const char *message)
{
    struct mt_err err = {.rc = MT_EINPUT};
    char *n = NULL, *m = NULL;
    snprintf(err.msg, sizeof err.msg, "%s", msg);
    MT_CHECK(mt_err_split(path, &err, &n, &m));
    MT_CHECK_STR(n, name);
    MT_CHECK_STR(m, message);
    mt_free(n);
    mt_free(m);
}

MT_TEST(names_in_errors)
{
    split("a.pickle", "a.pickle: empty", "a.pickle", "empty");
    split("d", "d/rank1.pickle: empty", "d/rank1.pickle", "empty");
    split("d/", "d/s/rank1.pickle: this: that", "d/s/rank1.pickle", "this: that");
    split("a.tar", "out of memory", "a.tar", "out of memory");
    split("standard input", "standard input: empty", "standard input", "empty");
}

MT_TEST(out_of_memory)
{
    char *argv[] = {(char[]){"a.pickle"}};
    struct mt_cli c = MT_CLI_DEFAULTS;
    struct mt_err err = {.rc = MT_OK};
    uint64_t held = mt_mem_used();

    c.command = mt_command_find("report");
    mt_mem_fail_after(1);
    MT_CHECK(!mt_options_parse(&c, 1, argv, 0, &err));
    MT_CHECK_EQ(err.rc, MT_ENOMEM);
    mt_mem_fail_after(0);
    MT_CHECK(mt_options_parse(&c, 1, argv, 0, &err));
    for (uint64_t i = 1; i < 4; i++) {
        char *s;
        mt_mem_fail_after(i);
        s = mt_command_line(&c);
        mt_mem_fail_after(0);
        mt_free(s);
        if (i == 1)
            MT_CHECK(s == NULL);
    }
    mt_free(c.inputs);
    MT_CHECK_EQ(mt_mem_used(), held);
}

MT_MAIN(MT_RUN(sizes) MT_RUN(no_sizes) MT_RUN(counts) MT_RUN(near_misses)
            MT_RUN(memory_of_the_machine) MT_RUN(command_line) MT_RUN(default_names)
                MT_RUN(cores_of_the_machine) MT_RUN(command_line) MT_RUN(default_names)
                    MT_RUN(names_in_errors) MT_RUN(out_of_memory))
