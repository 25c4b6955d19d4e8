#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };
static const char *command_line;
static FILE *text;      /* what the pager is to show; NULL = there is none */
static int screen = -1; /* what standard output was */

static void end(void)
{
    if (text != NULL)
        (void)fclose(text);
    if (screen >= 0)
        (void)close(screen);
    text = NULL;
    screen = -1;
}

/* The command; NULL = none is wanted. */
static const char *command(void)
{
    static const char *const names[] = {"MEMTRACE_PAGER", "PAGER"};
    const char *term = getenv("TERM");
    if (term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *v = getenv(names[i]);
        if (v != NULL)
            return v[0] != '\0' && strcmp(v, "cat") != 0 ? v : NULL;
    }
    return "less";
}

/* The first word of the command is a program: what a shell could not start would swallow all. */
static bool is_there(const char *run)
{
    const char *path = getenv("PATH");
    size_t n = strcspn(run, " \t");
    char file[4096];
    if (memchr(run, '/', n) != NULL) {
        (void)snprintf(file, sizeof file, "%.*s", (int)n, run);
        return access(file, X_OK) == 0;
    }
    for (size_t k; path != NULL && *path != '\0'; path += k + (path[k] == ':')) {
        k = strcspn(path, ":");
        (void)snprintf(file, sizeof file, "%.*s/%.*s", (int)k, path, (int)n, run);
        if (k != 0 && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

static void become(const char *run, int from)
{
    char sh[] = "sh", dash_c[] = "-c", *word = strdup(run); /* of execv(), which changes nothing */
    char *const argv[] = {sh, dash_c, word, NULL};
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)dup2(from, 0);
    (void)close(from);
    /* leave at once what fits, show colours, leave the text on the screen */
    (void)setenv("LESS", "FRX", 0);
    (void)execv("/bin/sh", argv);
    _exit(NOT_STARTED);
}

/* The text goes to a file without a name first: a reader who leaves early then changes nothing for
 * the program, and of a pager that does not start the text is still there. */
bool mt_pager_start(void)
{
    command_line = isatty(1) != 0 ? command() : NULL;
    if (command_line == NULL || !is_there(command_line))
        return false;
    text = tmpfile();
    screen = text != NULL ? dup(1) : -1;
    if (screen >= 0 && fcntl(screen, F_SETFD, FD_CLOEXEC) == 0 && dup2(fileno(text), 1) == 1)
        return true;
    end();
    return false;
}

/* What the pager did not show, onto the screen. */
static void show(void)
{
    char buf[16384];
    ssize_t n;
    (void)lseek(fileno(text), 0, SEEK_SET);
    while ((n = read(fileno(text), buf, sizeof buf)) > 0)
        for (ssize_t done = 0, k; done < n; done += k)
            if ((k = write(1, buf + done, (size_t)(n - done))) <= 0)
                return;
}

/* Whether the pager has had the text: it ran, and did not say that it could not. */
static bool run_pager(void)
{
    int status = 0;
    pid_t pid;
    (void)lseek(fileno(text), 0, SEEK_SET);
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is for the pager */
    pid = fork();
    if (pid == 0)
        become(command_line, fileno(text));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)signal(SIGINT, SIG_DFL);
    return pid > 0 &&
           (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || lseek(fileno(text), 0, SEEK_CUR) > 0);
}

void mt_pager_stop(void)
{
    if (text == NULL)
        return;
    (void)dup2(screen, 1);
    if (!run_pager())
        show();
    end();
}
