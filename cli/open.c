#include "cli/open.h"
#include "cli/cli.h"
#include "parser/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 32, PATIENCE_MS = 3000, LOOK_EVERY_MS = 20 };

static void replace_process(char *const *argv)
{
    int null = open("/dev/null", O_RDWR);
    (void)setsid(); /* a session of its own: closing this terminal does not close the page */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        (void)dup2(null, fd);
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* Starts a program. True when it ends with success, or still runs after PATIENCE_MS: openers hand
 * the page to a browser and end, a browser stays. */
static bool start_program(char *const *argv)
{
    const struct timespec pause = {0, LOOK_EVERY_MS * 1000000L};
    pid_t child = fork();
    int status;
    if (child < 0)
        return false;
    if (child == 0)
        replace_process(argv);
    for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_EVERY_MS) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (got < 0 && errno != EINTR)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* One entry of $BROWSER: words parted by blanks, "%s" in a word is the page; without one it comes
 * last. No shell. */
static bool start_entry(char *entry, const char *page)
{
    static char with[MAX_WORDS][PATH_MAX + 64];
    char *argv[MAX_WORDS + 2];
    char last[PATH_MAX];
    int n = 0;
    bool named = false;
    for (char *word = strtok(entry, " \t"); word != NULL && n < MAX_WORDS;
         word = strtok(NULL, " \t")) {
        char *mark = strstr(word, "%s");
        if (strcmp(word, "&") == 0)
            continue;
        argv[n] = word;
        if (mark != NULL) {
            snprintf(with[n], sizeof with[n], "%.*s%s%s", (int)(mark - word), word, page, mark + 2);
            argv[n] = with[n];
            named = true;
        }
        n++;
    }
    if (n == 0)
        return false;
    if (!named) {
        snprintf(last, sizeof last, "%s", page);
        argv[n++] = last;
    }
    argv[n] = NULL;
    return start_program(argv);
}

static bool is_set(const char *name)
{
    const char *v = getenv(name);
    return v != NULL && v[0] != '\0';
}

static bool start_any(const char *page)
{
    static const char *const openers[] = {"xdg-open", "wslview", "sensible-browser",
                                          "x-www-browser", NULL};
    char entry[1024];
    if (is_set("BROWSER")) {
        for (const char *p = getenv("BROWSER"); *p != '\0';) {
            size_t n = strcspn(p, ":");
            snprintf(entry, sizeof entry, "%.*s", n < sizeof entry ? (int)n : 0, p);
            if (start_entry(entry, page))
                return true;
            p += n + (p[n] == ':');
        }
        return false;
    }
    if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("WSL_DISTRO_NAME"))
        return false;
    for (int i = 0; openers[i] != NULL; i++) {
        snprintf(entry, sizeof entry, "%s", openers[i]);
        if (start_entry(entry, page))
            return true;
    }
    return false;
}

void mt_open_page(const char *path)
{
    char *real = realpath(path, NULL);
    const char *page = real != NULL ? real : path;
    if (!start_any(page)) {
        if (is_set("BROWSER"))
            mt_say("--open: no program of $BROWSER could be started; the page is %s", page);
        else if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("WSL_DISTRO_NAME"))
            mt_say("--open: there is no display here (a session over ssh?) and $BROWSER is not "
                   "set; the page is %s",
                   page);
        else
            mt_say("--open: there is no xdg-open here and $BROWSER is not set; the page is %s",
                   page);
    }
    free(real);
}
