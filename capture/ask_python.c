/* ask_python.c -- what the python3 of the PATH says about itself: version, PyTorch, whether it
 * takes our hook. PyTorch is not imported. */
#include "capture/live.h"
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define MARK                                                                                       \
    "memtrace asks:\n" /* a sitecustomize of the user may have printed something before            \
                        */

static const char question[] =
    "import sys, glob, os\n"
    "from importlib.machinery import PathFinder\n" /* the first of several: ours hands over to the
                                                      next and leaves no module */
    "site = PathFinder.find_spec('sitecustomize', [p for p in sys.path if p]) if 'sitecustomize' "
    "in sys.modules else None\n"
    "print('memtrace asks:')\n"
    "print('Python %d.%d.%d' % sys.version_info[:3])\n"
    "print(os.path.dirname(os.path.abspath(getattr(site, 'origin', '') or '/none/x')))\n"
    "try:\n"
    "    from importlib.metadata import version\n"
    "    print(version('torch'))\n"
    "except Exception:\n"
    "    print('')\n"
    "found = []\n"
    "for p in sys.path:\n"
    "    for d in ('cuda_cupti', 'cu13', 'cu12'):\n"
    "        found += sorted(glob.glob(os.path.join(glob.escape(p), 'nvidia', d, 'lib', "
    "'libcupti.so*')))\n"
    "print(found[0] if found else '')\n";

/* Reads what comes through fd until it ends; false when it takes too long. */
static bool listen_to(int fd, char *text, size_t cap, int64_t until)
{
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = until - mt_ms_now();
        int rc = poll(&p, 1, left > 0 ? (int)left : 0);
        ssize_t k;
        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0)
            return false;
        k = n < cap - 1 ? read(fd, text + n, cap - 1 - n) : 0;
        if (k <= 0)
            break;
        n += (size_t)k;
    }
    text[n] = '\0';
    return true;
}

/* Waits for the end of the process, which is killed when it takes too long. Its wait status, or -1.
 */
static int end_of(pid_t pid, int64_t until)
{
    const struct timespec step = {0, 5 * 1000000};
    int status = -1;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid)
            return status;
        if (got < 0 && errno != EINTR)
            return -1;
        if (mt_ms_now() >= until)
            (void)kill(pid, SIGKILL);
        (void)nanosleep(&step, NULL);
    }
}

static bool spawn(const char *site, int out, pid_t *pid)
{
    char **old = mt_capture_environ();
    char *argv[] = {mt_text("python3"), mt_text("-c"), mt_text("%s", question), NULL};
    char *path = site != NULL ? mt_text("PYTHONPATH=%s", site) : NULL;
    MT_VEC(char *) env = {0};
    posix_spawn_file_actions_t actions;
    bool ok =
        argv[0] != NULL && argv[1] != NULL && argv[2] != NULL && (site == NULL || path != NULL);

    for (char **e = old; ok && *e != NULL; e++) {
        char **slot;
        /* our hook would start nothing without a spool */
        if (strncmp(*e, "MEMTRACE_SPOOL=", 15) == 0 ||
            (site != NULL && strncmp(*e, "PYTHONPATH=", 11) == 0))
            continue;
        slot = MT_VEC_PUSH(&env);
        ok = slot != NULL;
        if (ok)
            *slot = *e;
    }
    if (ok && path != NULL) {
        char **slot = MT_VEC_PUSH(&env);
        ok = slot != NULL;
        if (ok)
            *slot = path;
    }
    ok = ok && MT_VEC_PUSH(&env) != NULL && posix_spawn_file_actions_init(&actions) == 0;
    if (ok) {
        ok = posix_spawn_file_actions_adddup2(&actions, out, 1) == 0 &&
             posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
             posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
             posix_spawnp(pid, "python3", &actions, NULL, argv, env.p) == 0;
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    MT_VEC_DONE(&env);
    mt_free(path);
    for (int i = 0; i < 3; i++)
        mt_free(argv[i]);
    return ok;
}

static char *line_of(char **text)
{
    char *start = *text;
    size_t n = strcspn(start, "\n");
    if (start[n] == '\n')
        start[n++] = '\0';
    *text = start + n;
    return start;
}

void mt_ask_python(struct mt_python_facts *f, const char *site)
{
    char text[8192], *at;
    const char *line;
    int64_t until = mt_ms_now() + PATIENCE_MS;
    int fds[2];
    pid_t pid = 0;
    bool heard;

    memset(f, 0, sizeof *f);
    if (pipe(fds) != 0)
        return;
    (void)fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    if (!spawn(site, fds[1], &pid)) {
        (void)close(fds[0]);
        (void)close(fds[1]);
        return;
    }
    (void)close(fds[1]);
    heard = listen_to(fds[0], text, sizeof text, until);
    (void)close(fds[0]);
    if (end_of(pid, heard ? until : 0) != 0 || !heard || (at = strstr(text, MARK)) == NULL)
        return;
    at += sizeof MARK - 1;
    line = line_of(&at);
    f->version = mt_strndup(line, strlen(line));
    line = line_of(&at);
    f->honours_path = site != NULL && strcmp(line, site) == 0;
    line = line_of(&at);
    f->torch = line[0] != '\0' ? mt_strndup(line, strlen(line)) : NULL;
    line = line_of(&at);
    f->cupti = line[0] != '\0' ? mt_strndup(line, strlen(line)) : NULL;
}

void mt_python_facts_done(struct mt_python_facts *f)
{
    mt_free(f->version);
    mt_free(f->torch);
    mt_free(f->cupti);
    memset(f, 0, sizeof *f);
}
