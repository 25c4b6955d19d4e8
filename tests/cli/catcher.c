/* A command for capture_signals.sh: adds a line to the file `got` for each signal that arrives,
 * writes its id to `pid` when it is ready, and ends with 42 when there is a file `stop` (43 after a
 * minute). No shell script: bash can end by a SIGINT whose trap it has run. What is ignored when it
 * starts stays ignored, as a background command's SIGINT. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int got;

static void note(const char *name)
{
    int saved = errno;
    (void)!write(got, name, strlen(name));
    errno = saved;
}

static void on_signal(int sig)
{
    switch (sig) {
    case SIGHUP: note("HUP\n"); break;
    case SIGUSR1: note("USR1\n"); break;
    case SIGUSR2: note("USR2\n"); break;
    case SIGWINCH: note("WINCH\n"); break;
    case SIGTERM: note("TERM\n"); break;
    case SIGINT: note("INT\n"); break;
    case SIGALRM: note("ALRM\n"); break;
    case SIGCONT: note("CONT\n"); break;
    default: note("RTMIN\n"); break;
    }
}

int main(void)
{
    const int signals[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTERM,
                           SIGINT, SIGALRM, SIGCONT, SIGRTMIN};
    const struct timespec tick = {0, 20000000};
    struct sigaction old, catch = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    char text[32];
    int ready;

    got = open("got", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &catch, NULL);
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    ready = open("pid", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (got < 0 || ready < 0 || write(ready, text, strlen(text)) < 0)
        return 44;
    (void)close(ready);
    for (int i = 0; i < 3000; i++) {
        (void)nanosleep(&tick, NULL);
        if (access("stop", F_OK) == 0)
            return 42;
    }
    return 43;
}
