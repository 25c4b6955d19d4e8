/* Fuzz target of the whole program: reading, analysis, and one of the outputs, which the input
 * itself chooses. Held: the exit status is one of those that --help names for files, nothing of
 * what was allocated is left, a failed run leaves no output. */
#include "parser/base/mem.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int memtrace_main(int argc, char **argv);

#define MOST 8
static const char *const commands[][MOST] = {
    {"report", "--format", "html"},
    {"report", "--format", "json", "--redact"},
    {"report", "--format", "md", "--verify"},
    {"report", "--format", "text", "--full", "--capacity", "80GiB"},
    {"report", "--format", "json", "--frames", "all"},
    {"dump"},
    {"export", "--to", "perfetto"},
    {"export", "--to", "folded"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static unsigned long n_runs;
static char folder[] = "/tmp/fuzz-whole-XXXXXX", input[64], output[64];

static void clean_up(void)
{
    /* what the fuzzer itself says goes where the messages about each input go */
    printf("stat::number_of_executed_units: %lu\n", n_runs);
    (void)unlink(input);
    (void)unlink(output);
    (void)rmdir(folder);
}

static void set_up(void)
{
    int null = open("/dev/null", O_WRONLY);
    if (mkdtemp(folder) == NULL || null < 0)
        abort();
    (void)snprintf(input, sizeof input, "%s/input", folder);
    (void)snprintf(output, sizeof output, "%s/output", folder);
    (void)dup2(null, STDERR_FILENO); /* what is wrong with each input is not wanted */
    (void)close(null);
    (void)atexit(clean_up);
}

static void wrong(const char *what, const char *const *command, int status)
{
    printf("%s: memtrace", what);
    for (; *command != NULL; command++)
        printf(" %s", *command);
    printf(" ended with %d\n", status);
    (void)fflush(stdout);
    abort();
}

static void write_input(const uint8_t *data, size_t size)
{
    int fd = open(input, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

enum { WORDS = 24 };

static int add(char **argv, int argc, const char *word)
{
    static char words[WORDS][32]; /* main() may write to its arguments */
    (void)snprintf(words[argc], sizeof words[argc], "%s", word);
    argv[argc] = words[argc];
    return argc + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const common[] = {"-q",          "--no-config", "--max-memory", "512MiB",
                                         "--max-bytes", "64MiB",       "--force",      "-o"};
    static uint64_t held;
    static bool ready, warm;
    char *argv[WORDS + 3];
    int argc = 0, status;
    struct stat st;
    unsigned which = 0;
    for (size_t i = 0; i < size && i < 4096; i++)
        which = which * 31 + data[i];
    if (!ready)
        set_up();
    ready = true;
    write_input(data, size);
    argc = add(argv, argc, "memtrace");
    for (const char *const *a = commands[which % N_COMMANDS]; *a != NULL; a++)
        argc = add(argv, argc, *a);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        argc = add(argv, argc, common[i]);
    argv[argc++] = output;
    argv[argc++] = input;
    argv[argc] = NULL;
    n_runs++;
    status = memtrace_main(argc, argv);
    /* 2: an option that a report of ours, read back, cannot take */
    if (status < 0 || status > 3 || (status == 2 && commands[which % N_COMMANDS][3] == NULL))
        wrong("its exit status", commands[which % N_COMMANDS], status);
    if (status == 1 && stat(output, &st) == 0)
        wrong("an output after a failure", commands[which % N_COMMANDS], status);
    (void)unlink(output);
    if (warm && mt_mem_used() != held) /* the first run fills what stays for the process */
        wrong("memory that is left", commands[which % N_COMMANDS], status);
    held = mt_mem_used();
    warm = true;
    return 0;
}
