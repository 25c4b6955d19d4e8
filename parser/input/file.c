/* input/file.c -- raw bytes of a file or pipe. */
#include "parser/input/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_STEP (UINT64_C(1) << 20)

static const char *remedy(int e)
{
    switch (e) {
    case ENOENT: return "check the spelling; it is looked for from the current directory";
    case EACCES:
    case EPERM: return "ask its owner for read permission, or copy it as that user";
    case ELOOP: return "it is a symbolic link, or a chain of links that never ends";
    case EMFILE:
    case ENFILE: return "too many files are open: raise `ulimit -n`";
    case EISDIR: return "it is a directory";
    case ENAMETOOLONG: return "the path is too long for this system";
    case ESTALE:
    case EIO:
        return "the disk or network file system failed: copy the file to a local disk and try "
               "again";
    default: return "check the file system it lies on";
    }
}

enum mt_rc mt_raw_open(struct mt_raw *f, const char *name, bool nofollow,
                       const struct mt_input_opts *opts, struct mt_err *err)
{
    struct stat st;
    memset(f, 0, sizeof *f);
    f->fd = -1;
    f->name = name;
    f->opts = opts;
    if (strcmp(name, "-") == 0) {
        f->fd = STDIN_FILENO;
        f->borrowed = true;
    } else {
        /* the open of a FIFO waits for its writer, and no clock ends that; wait() below does it */
        bool waits = !nofollow && opts->limits.max_time == 0;
        f->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | (nofollow ? O_NOFOLLOW : 0) |
                               (waits ? 0 : O_NONBLOCK));
        if (f->fd < 0)
            return mt_fail(err, MT_EIO, "cannot open it: %s (%s)", strerror(errno), remedy(errno));
    }
    if (fstat(f->fd, &st) != 0) {
        int e = errno;
        mt_raw_close(f);
        return mt_fail(err, MT_EIO, "cannot read it: %s (%s)", strerror(e), remedy(e));
    }
    f->device = (uint64_t)st.st_dev;
    f->inode = S_ISREG(st.st_mode) ? (uint64_t)st.st_ino : 0;
    /* Standard input may be a file of which another program has read a part: the rest is read like
     * a pipe. */
    f->regular = S_ISREG(st.st_mode) && st.st_size > 0 && lseek(f->fd, 0, SEEK_CUR) == 0;
    if (f->regular) {
        f->size = (uint64_t)st.st_size;
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    } else {
        sha256_init(&f->hash);
    }
    return MT_OK;
}

void mt_raw_close(struct mt_raw *f)
{
    mt_raw_hash_stop(f);
    if (f->fd >= 0 && !f->borrowed)
        close(f->fd);
    f->fd = -1;
}

enum mt_rc mt_raw_fail_time(const struct mt_input_opts *opts, struct mt_err *err)
{
    return mt_fail(err, MT_ELIMIT,
                   "this run has read for %u s; the rest was not read (raise --max-time)",
                   opts->limits.max_time);
}

/* Until there is something to read, or the end. False: the time of the run is over before. */
static bool wait(const struct mt_raw *f)
{
    struct pollfd p = {.fd = f->fd, .events = POLLIN};
    int left;
    do {
        left = mt_budget_ms(f->opts->budget, &f->opts->limits);
        if (left <= 0 || f->regular)
            return left != 0;
    } while (poll(&p, 1, left) <= 0);
    return true;
}

void mt_raw_tell(struct mt_raw *f, uint64_t n_read)
{
    if (f->opts->progress == NULL || n_read - f->told < PROGRESS_STEP)
        return;
    f->told = n_read;
    f->opts->progress(f->opts->progress_arg, f->name, n_read, f->size);
}

static size_t raw_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err)
{
    struct mt_raw *f = ctx;
    ssize_t got;
    do {
        if (!wait(f)) {
            *rc = mt_raw_fail_time(f->opts, err);
            return 0;
        }
        got = read(f->fd, dst, n);
    } while (got < 0 && (errno == EINTR || (errno == EAGAIN && f->opts->limits.max_time != 0)));
    if (got < 0) {
        *rc = mt_fail_at(err, MT_EIO, f->n_read, "cannot read on: %s (%s)", strerror(errno),
                         remedy(errno));
        return 0;
    }
    if (got == 0) {
        f->ended = true;
        return 0;
    }
    f->n_read += (uint64_t)got;
    if (!f->regular && f->opts->sha256)
        sha256_update(&f->hash, (size_t)got, dst);
    if (!f->is_beside)
        mt_raw_tell(f, f->n_read);
    return (size_t)got;
}

enum mt_rc mt_raw_source(struct mt_raw *f, struct mt_source **out)
{
    enum mt_rc rc = mt_source_new(out, raw_read, NULL, f);
    if (rc == MT_OK)
        (*out)->max_bytes = f->opts->limits.max_bytes;
    return rc;
}

bool mt_raw_seek(struct mt_raw *f, struct mt_source *s, uint64_t offset)
{
    if (offset > INT64_MAX || lseek(f->fd, (off_t)offset, SEEK_SET) < 0)
        return false;
    s->cur = s->end = s->buf;
    s->base = offset;
    if (s->status == MT_OK)
        s->eof = false;
    return true;
}
