/* asker.c -- the process that has NVML open for a job: forked beside the command, ends with the
 * recording. */
#define _GNU_SOURCE 1
#include "capture/inject/nvml_ways.h"
#include "capture/parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_off(const char *value)
{
    return value != NULL && (strcmp(value, "0") == 0 || strcmp(value, "no") == 0 ||
                             strcmp(value, "off") == 0 || strcmp(value, "false") == 0);
}

/* In the child; does not return. Signals are blocked: it ends when `life` has no writer any more.
 */
static void become(const char *library, const char *path, int life)
{
    int (*serve)(const char *, int) = NULL;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++) /* they belong to the command */
        if (fd != life)
            (void)dup2(null, fd);
    (void)prctl(PR_SET_NAME, "memtrace-nvml", 0, 0, 0);
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *f = lib != NULL ? dlsym(lib, "memtrace_nvml_serve") : NULL;
    memcpy(&serve, &f, sizeof f);
    _exit(serve != NULL ? serve(path, life) : 1);
}

void mt_asker_start(struct mt_asker *a, const char *library, const char *spool)
{
    int life[2] = {-1, -1}, fd;
    sigset_t all, old;
    char *path = mt_path_join(spool, MTI_PAGE_FILE);

    *a = (struct mt_asker){.pid = -1, .life = -1};
    if (path == NULL || is_off(mt_capture_env("MEMTRACE_NVML")))
        goto done;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        goto done;
    if (ftruncate(fd, (off_t)sizeof(struct mti_page)) != 0 || pipe2(life, O_CLOEXEC) != 0) {
        (void)close(fd);
        (void)unlink(path);
        goto done;
    }
    (void)close(fd);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    a->pid = fork();
    if (a->pid == 0) {
        (void)close(life[1]);
        become(library, path, life[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)close(life[0]);
    a->life = life[1];
    if (a->pid < 0) /* then nobody waits for answers */
        (void)unlink(path);
done:
    mt_free(path);
}

void mt_asker_stop(struct mt_asker *a)
{
    if (a->life >= 0)
        (void)close(a->life);
    if (a->pid > 0) {
        (void)kill(a->pid, SIGKILL); /* it keeps nothing */
        while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    *a = (struct mt_asker){.pid = -1, .life = -1};
}
