/* output.c -- temporary file in the same folder, renamed when it is whole; gone when the program is
 * interrupted. */
#include "cli/output.h"
#include "parser/base/mem.h"
#include "parser/late/late.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary file that a signal handler has to remove. */
static char doomed[PATH_MAX];
static volatile sig_atomic_t is_doomed;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Files that were read. */
static struct {
    uint64_t device, inode;
} * kept;
static uint32_t n_kept, cap_kept;

void mt_output_keep(uint64_t device, uint64_t inode)
{
    for (uint32_t i = 0; i < n_kept; i++)
        if (kept[i].inode == inode && kept[i].device == device)
            return;
    if (!mt_vec_grow((void **)&kept, &cap_kept, n_kept + 1, sizeof *kept))
        return; /* out of memory: the reading of that very file will say so */
    kept[n_kept].device = device;
    kept[n_kept++].inode = inode;
}

void mt_output_keep_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        mt_output_keep((uint64_t)st.st_dev, (uint64_t)st.st_ino);
}

static bool is_kept(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    for (uint32_t i = 0; i < n_kept; i++)
        if (kept[i].device == (uint64_t)st.st_dev && kept[i].inode == (uint64_t)st.st_ino)
            return true;
    return false;
}

static void on_signal(int sig)
{
    if (is_doomed)
        (void)unlink(doomed);
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

/* A library that ends the program (libarchive does, where memory is out) leaves no half file. */
static void at_exit(void)
{
    if (is_doomed)
        (void)unlink(doomed);
}

static void remember_temporary(const char *path)
{
    static bool is_registered;
    struct sigaction sa, old;
    if (strlen(path) >= sizeof doomed)
        return;
    if (!is_registered)
        is_registered = atexit(at_exit) == 0;
    strcpy(doomed, path);
    is_doomed = 1;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 &&
            old.sa_handler == SIG_DFL) /* nohup ignores SIGHUP: leave it so */
            (void)sigaction(signals[i], &sa, NULL);
}

static void forget_temporary(void) { is_doomed = 0; }

static bool is_stdout(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

static int refuse_existing(const char *path)
{
    mt_say("%s already exists; give another name with -o, or --force to overwrite it", path);
    return 0;
}

bool mt_output_is_other(const char *path, const char *input)
{
    struct stat st, in;
    if (is_stdout(path) || strcmp(input, "-") == 0 || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode) || stat(input, &in) != 0 || in.st_dev != st.st_dev ||
        in.st_ino != st.st_ino)
        return true;
    mt_say("%s is the input itself; the output needs another name", path);
    return false;
}

int mt_output_check(const char *path, bool force, char *const *inputs, int n_inputs)
{
    struct stat st;
    size_t n;

    if (is_stdout(path))
        return 1;
    n = strlen(path);
    if (stat(path, &st) != 0) {
        char *folder, *slash;
        int there;
        if (errno != ENOENT || path[n - 1] == '/') {
            mt_say("%s: cannot be written: %s", path,
                   path[n - 1] == '/' ? "it names a folder; add a file name" : strerror(errno));
            return 0;
        }
        folder = mt_strndup(path, n);
        if (folder == NULL)
            return 1; /* out of memory: opening the file reports it */
        slash = strrchr(folder, '/');
        if (slash != NULL)
            slash[slash == folder ? 1 : 0] = '\0';
        there = slash == NULL || (stat(folder, &st) == 0 && S_ISDIR(st.st_mode));
        if (!there)
            mt_say("%s: the folder %s does not exist", path, folder);
        mt_free(folder);
        return there;
    }
    if (S_ISDIR(st.st_mode)) {
        mt_say("%s is a folder; add a file name", path);
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        return 1; /* a device or a pipe: nothing can be overwritten */
    for (int i = 0; i < n_inputs; i++)
        if (!mt_output_is_other(path, inputs[i]))
            return 0;
    return force ? 1 : refuse_existing(path);
}

static int open_temporary(struct mt_output *o)
{
    size_t cap = strlen(o->target) + 32;
    sigset_t held, before;
    o->temporary = mt_malloc(cap);
    if (o->temporary == NULL) {
        errno = ENOMEM;
        return 0;
    }
    (void)sigemptyset(&held); /* no signal comes between the file and who removes it */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaddset(&held, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &held, &before);
    for (unsigned i = 0; i < 100 && o->fd < 0; i++) {
        snprintf(o->temporary, cap, "%s.%lu-%u.tmp", o->target, (unsigned long)getpid(), i);
        o->fd =
            open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, o->replaces ? 0600 : 0666);
        if (o->fd >= 0)
            remember_temporary(o->temporary);
        else if (errno != EEXIST)
            break;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (o->fd >= 0)
        return 1;
    mt_free(o->temporary); /* nothing of ours to remove */
    o->temporary = NULL;
    return 0;
}

int mt_output_open(struct mt_output *o, const char *path, bool force)
{
    struct stat st;
    int there;

    memset(o, 0, sizeof *o);
    o->fd = -1;
    if (is_stdout(path)) {
        o->name = "standard output";
        o->fd = 1;
    } else {
        o->name = path;
        there = stat(path, &st) == 0;
        if (there && !S_ISREG(st.st_mode)) {
            o->fd = open(path, O_WRONLY | O_CLOEXEC);
            o->owns_fd = true;
        } else {
            if (there && !force)
                return refuse_existing(path);
            if (there) { /* a link keeps pointing at the file it points at */
                char *real = realpath(path, NULL);
                o->target = real != NULL ? mt_strndup(real, strlen(real)) : NULL;
                free(real);
                o->replaces = true;
            } else {
                o->target = mt_strndup(path, strlen(path));
            }
            o->owns_fd = true;
            if (o->target != NULL)
                (void)open_temporary(o);
            else
                errno = ENOMEM;
        }
    }
    if (o->fd < 0) {
        mt_say("%s: cannot be written: %s", o->name, strerror(errno));
        mt_output_discard(o);
        return 0;
    }
    if (!mt_out_fd(&o->out, o->fd)) {
        mt_say("%s: out of memory", o->name);
        mt_output_discard(o);
        return 0;
    }
    return 1;
}

static enum mt_exit write_failed(struct mt_output *o, int error)
{
    bool gone = error == EPIPE && !o->owns_fd;
    if (!gone && error == MT_NO_LIBRARY)
        mt_say("%s: cannot be written, as a page is packed: " MT_LIBARCHIVE_REMEDY
               ": install that, or ask for another --format",
               o->name);
    else if (!gone)
        mt_say("%s: cannot be written: %s", o->name, strerror(error));
    mt_output_discard(o);
    if (gone) { /* `memtrace ... | head`: end as every other filter does */
        (void)signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return MT_EXIT_FAILED;
}

/* Mode and owner of what is replaced. A private report stays private: where its owner cannot be
 * kept, group and others get nothing that the new owner's group had not. */
static void take_after(const struct mt_output *o)
{
    struct stat st;
    mode_t mode;
    if (stat(o->target, &st) != 0)
        return;
    mode = st.st_mode & 0777;
    if (fchown(o->fd, st.st_uid, st.st_gid) != 0 && fchown(o->fd, (uid_t)-1, st.st_gid) != 0)
        mode &= ~(mode_t)0070;
    (void)fchmod(o->fd, mode);
}

enum mt_exit mt_output_commit(struct mt_output *o, bool force)
{
    int error = mt_out_finish(&o->out);
    if (error != 0)
        return write_failed(o, error);
    if (o->temporary != NULL) {
        if (is_kept(o->target)) {
            mt_say("%s was read by this run; the output needs another name", o->name);
            mt_output_discard(o);
            return MT_EXIT_FAILED;
        }
        if (o->replaces)
            take_after(o);
        /* else a loss of power may leave the name without its bytes; EINVAL: it cannot be synced */
        if (fsync(o->fd) != 0 && errno != EINVAL && errno != ENOTSUP)
            return write_failed(o, errno);
    }
    if (o->owns_fd) {
        int fd = o->fd;
        o->fd = -1;
        if (close(fd) != 0)
            return write_failed(o, errno);
    }
    if (o->temporary != NULL) {
        /* link() does not overwrite: a file that appeared meanwhile stays. Where links are unknown,
         * rename() has to do. */
        if (!force && link(o->temporary, o->target) == 0) {
            (void)unlink(o->temporary);
        } else if (!force && errno == EEXIST) {
            (void)refuse_existing(o->name);
            mt_output_discard(o);
            return MT_EXIT_FAILED;
        } else if (rename(o->temporary, o->target) != 0) {
            return write_failed(o, errno);
        }
        forget_temporary();
        mt_free(o->temporary);
        o->temporary = NULL;
    }
    mt_output_discard(o);
    return MT_EXIT_OK;
}

void mt_output_discard(struct mt_output *o)
{
    mt_out_done(&o->out);
    memset(&o->out, 0, sizeof o->out);
    if (o->fd >= 0 && o->owns_fd)
        (void)close(o->fd);
    o->fd = -1;
    if (o->temporary != NULL) {
        (void)unlink(o->temporary);
        forget_temporary();
    }
    mt_free(o->temporary);
    mt_free(o->target);
    o->temporary = o->target = NULL;
}

char *mt_output_default_name(const char *input, const char *format, bool gzip)
{
    size_t n = strlen(input), cap;
    const char *last;
    char *name;

    while (n > 1 && input[n - 1] == '/')
        n--;
    for (last = input + n; last > input && last[-1] != '/'; last--) {
    }
    /* standard input, ".", ".." and "/" have no name of their own to add to */
    if (strcmp(input, "-") == 0 || last == input + n ||
        strspn(last, "./") >= (size_t)(input + n - last)) {
        input = "memtrace-report";
        n = strlen(input);
    }
    cap = n + strlen(format) + sizeof "..gz";
    name = mt_malloc(cap);
    if (name != NULL)
        (void)snprintf(name, cap, "%.*s.%s%s", (int)n, input, format, gzip ? ".gz" : "");
    return name;
}
