/* identity.c -- who this process is, as ATTR records at the start of its trace.
 *
 *   key                 value
 *   pid, ppid           decimal, as the process sees them
 *   host                gethostname()
 *   exe                 what /proc/self/exe points at
 *   argc                number of arguments
 *   argv.0, argv.1 ...  the command line, redacted; at most 1024 arguments, each cut at 4096 bytes,
 *                       64 KiB in all; a process that renamed itself (Ray: "ray::WorkerDict") has
 *                       the new name in argv.0
 *   start_realtime_ns   CLOCK_REALTIME when recording began
 *   boot_id             of the kernel that runs: processes with the same one share a clock
 *   env.NAME            the variables of env_recorded.def that are set, redacted, each cut at 4096
 *                       bytes
 *
 * Nothing else is recorded: not the user, not the working directory, not any other variable. */
#include "capture/inject/inject.h"
#include "capture/inject/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VALUE_MAX 4096u
#define ARGS_BYTES (64u << 10)
#define ARGS_MAX 1024u
#define ENV_MAX 512u

extern char **environ;

enum kind { EXACT, PREFIX, SET };

static const struct recorded {
    const char *name;
    enum kind kind;
} recorded[] = {
#define MTI_RECORD(name, kind, why) {name, kind},
#include "capture/inject/env_recorded.def"
#undef MTI_RECORD
};

/* Up to `room` bytes of a file; 0 when it cannot be read. */
static size_t slurp(const char *path, char *to, size_t room)
{
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (n < room) {
        ssize_t got = read(fd, to + n, room - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    return n;
}

static void number(const char *key, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    mti_attr(key, text);
}

static void command_line(char *args, char *value)
{
    size_t n = slurp("/proc/self/cmdline", args, ARGS_BYTES), at = 0, argc = 0;
    struct mti_redact r = {0};
    args[n] = '\0';
    while (at < n) {
        size_t len = strlen(args + at);
        if (argc < ARGS_MAX) {
            char key[24];
            snprintf(key, sizeof key, "argv.%zu", argc);
            mti_redact_arg(&r, args + at, value, VALUE_MAX);
            mti_attr(key, value);
        }
        argc++;
        at += len + 1;
    }
    number("argc", argc);
}

static const struct recorded *wanted(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const struct recorded *x = &recorded[i];
        size_t len = strlen(x->name);
        if (n >= len && memcmp(name, x->name, len) == 0 && (n == len || x->kind == PREFIX))
            return x;
    }
    return NULL;
}

/* `environ` itself and not mti_env() name by name: some rows are prefixes. The values are those of
 * now, which a program may have changed since it was started (Ray and torchrun set RANK in the
 * process). */
static void environment(char *value)
{
    size_t given = 0;
    for (char **e = environ; e != NULL && *e != NULL && given < ENV_MAX; e++) {
        const char *eq = strchr(*e, '=');
        size_t n = eq != NULL ? (size_t)(eq - *e) : 0;
        char key[4 + 128];
        const struct recorded *x = n > 0 && n < 128 ? wanted(*e, n) : NULL;
        if (x == NULL)
            continue;
        memcpy(key, "env.", 4);
        memcpy(key + 4, *e, n);
        key[4 + n] = '\0';
        if (x->kind == SET)
            snprintf(value, VALUE_MAX, "set");
        else
            mti_redact_env(key + 4, eq + 1, value, VALUE_MAX);
        mti_attr(key, value);
        given++;
    }
}

void mti_identity(void)
{
    int saved = errno;
    char *args = malloc(ARGS_BYTES + 1 + VALUE_MAX), small[256];
    struct timespec now = {0, 0};
    number("pid", (uint64_t)getpid());
    number("ppid", (uint64_t)getppid());
    if (gethostname(small, sizeof small) == 0) {
        small[sizeof small - 1] = '\0';
        mti_attr("host", small);
    }
    if (clock_gettime(CLOCK_REALTIME, &now) == 0)
        number("start_realtime_ns", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    size_t n = slurp("/proc/sys/kernel/random/boot_id", small, sizeof small - 1);
    while (n > 0 && small[n - 1] == '\n')
        n--;
    small[n] = '\0';
    if (n > 0)
        mti_attr("boot_id", small);
    if (args != NULL) {
        char *value = args + ARGS_BYTES + 1;
        ssize_t len = readlink("/proc/self/exe", value, VALUE_MAX - 1);
        if (len > 0) {
            value[len] = '\0';
            mti_attr("exe", value);
        }
        command_line(args, value);
        environment(value);
    }
    free(args);
    errno = saved;
}
