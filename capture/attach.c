/* attach.c -- a recording of a process that runs already, from its folder to its end. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/inject/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 20
#define BEGIN_MS 10000 /* for the thread in the process to make its files */

struct mt_attach {
    struct mt_places places;
    char *spool;
    struct mt_asker asker;
    int process; /* pidfd */
    int mark;    /* MT_ATTACH_FILE, locked */
};

/* Whether a recorder is at work, by one look. The list is read in pieces, and others change it
 * meanwhile. mark: a lock that is held, without which a list is not whole; -1 = none is known. */
static bool seems_locked(const char *dir, int mark)
{
    char *locks = mt_locks_read();
    bool believed = locks != NULL && (mark < 0 || mt_locks_has(locks, mark));
    bool locked = !believed || mt_locks_has_spool(locks, dir);
    mt_free(locks);
    return locked;
}

/* Not so is what two looks say: a line may be missing from one. */
static bool is_locked(const char *dir, int mark)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    if (seems_locked(dir, mark))
        return true;
    (void)nanosleep(&step, NULL);
    return seems_locked(dir, mark);
}

bool mt_attach_locked(const char *dir) { return is_locked(dir, -1); }

/* Says that this process writes the trace in the end. */
static int mark(const char *dir)
{
    char *path = mt_path_join(dir, MT_ATTACH_FILE);
    int fd =
        path != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    mt_free(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* As lines; NULL = out of memory. */
static char *settings_text(const struct mt_launch_opts *o, const char *spool)
{
    struct mt_variable all[MT_VARIABLES];
    char *text = mt_variables(all, o, spool) ? mt_text("%s", "") : NULL;
    for (size_t i = 0; i < MT_VARIABLES; i++) {
        char *more = text != NULL && all[i].value != NULL
                         ? mt_text("%s%s=%s\n", text, all[i].name, all[i].value)
                         : NULL;
        if (text != NULL && all[i].value != NULL) {
            mt_free(text);
            text = more;
        }
        mt_free(all[i].value);
    }
    return text;
}

static enum mt_rc load(const struct mt_attach *a, const struct mt_attach_opts *o,
                       struct mt_err *err)
{
    char *settings = settings_text(&o->record, a->spool);
    enum mt_rc rc;
    if (settings == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    rc = mt_attach_by_call(o, a->places.inject, settings, err);
    mt_free(settings);
    return rc;
}

static bool has_ended(const struct mt_attach *a)
{
    struct pollfd p = {.fd = a->process, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static enum mt_rc wait_for_files(const struct mt_attach *a, pid_t pid, struct mt_err *err)
{
    char *begun = mt_path_join(a->spool, MTI_BEGUN_FILE);
    enum mt_rc rc = MT_EIO;
    for (int ms = 0; begun != NULL && ms < BEGIN_MS && rc != MT_OK; ms += STEP_MS) {
        if (mt_attach_wait(a, STEP_MS) == MT_ATTACH_ENDED)
            break;
        rc = unlink(begun) == 0 ? MT_OK : rc;
    }
    mt_free(begun);
    if (rc == MT_OK)
        return rc;
    if (has_ended(a))
        return mt_fail(err, MT_EIO, "process %ld has ended", (long)pid);
    return mt_fail(err, MT_EIO,
                   "the recorder is loaded in process %ld and records nothing: can that process "
                   "write to %s? Give another folder with --spool",
                   (long)pid, a->spool);
}

static enum mt_rc begin(struct mt_attach *a, const struct mt_attach_opts *o, struct mt_err *err)
{
    enum mt_rc rc = mt_places_find(&a->places, err);
    if (rc != MT_OK)
        return rc;
    if (a->places.inject == NULL)
        return mt_fail(err, MT_EIO,
                       "libmemtrace_inject.so is neither beside memtrace nor in ../lib/memtrace: "
                       "this build cannot record");
    a->process = (int)syscall(SYS_pidfd_open, o->plan->pid, 0);
    if (a->process < 0)
        return mt_fail(err, MT_EIO, "process %ld: %s", (long)o->plan->pid, strerror(errno));
    rc = mt_spool_new(&a->spool, o->record.spool, err);
    if (rc == MT_OK && strchr(a->spool, '\n') != NULL) /* settings are lines */
        rc = mt_fail(err, MT_EIO,
                     "the name of the folder for the recording has a line break: name "
                     "another one with --spool");
    if (rc == MT_OK)
        rc = mt_launch_file(&o->record, a->spool, (uint32_t)o->plan->pid, err);
    if (rc != MT_OK)
        return rc;
    mt_asker_start(&a->asker, a->places.inject, a->spool); /* before there is a lock to inherit */
    a->mark = mark(a->spool);
    if (a->mark < 0)
        return mt_fail(err, MT_EIO, "%s: cannot be written: %s", a->spool, strerror(errno));
    rc = mt_attach_give(a->spool, o->plan->pid, err);
    rc = rc == MT_OK ? load(a, o, err) : rc;
    if (rc != MT_OK && has_ended(a))
        return mt_fail(err, MT_EIO, "process %ld has ended", (long)o->plan->pid);
    return rc == MT_OK ? wait_for_files(a, o->plan->pid, err) : rc;
}

enum mt_rc mt_attach_begin(struct mt_attach **out, const struct mt_attach_opts *o,
                           struct mt_err *err)
{
    struct mt_attach *a = mt_calloc(1, sizeof *a);
    enum mt_rc rc;
    *out = NULL;
    if (a == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    a->process = a->mark = -1;
    a->asker = (struct mt_asker){.pid = -1, .life = -1};
    rc = begin(a, o, err);
    if (rc == MT_OK) {
        *out = a;
        return MT_OK;
    }
    if (a->spool != NULL && !mt_attach_locked(a->spool))
        mt_scan_remove(a->spool);
    mt_attach_free(a);
    return rc;
}

const char *mt_attach_spool(const struct mt_attach *a) { return a->spool; }

enum mt_attach_state mt_attach_wait(const struct mt_attach *a, uint32_t ms)
{
    struct pollfd p = {.fd = a->process, .events = POLLIN};
    bool locked;
    if (poll(&p, 1, (int)ms) > 0)
        return MT_ATTACH_ENDED;
    locked = is_locked(a->spool, a->mark);
    return locked ? MT_ATTACH_GOES_ON : MT_ATTACH_DETACHED;
}

void mt_attach_free(struct mt_attach *a)
{
    mt_asker_stop(&a->asker);
    if (a->process >= 0)
        (void)close(a->process);
    if (a->mark >= 0)
        (void)close(a->mark);
    mt_places_done(&a->places);
    mt_free(a->spool);
    mt_free(a);
}
