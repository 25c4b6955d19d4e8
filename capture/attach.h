/* attach.h -- recording a process that runs already, and letting it go again.
 *
 * The recorder's library is loaded into the process and asked to begin, by Python itself where that
 * can be asked from outside (3.14 and later), else by gdb. What is recorded goes where a launched
 * job's goes, a spool folder, and is collected as that is (capture.h). Nothing here prints or asks:
 * cli/cmd_attach.c does. */
#ifndef MT_CAPTURE_ATTACH_H
#define MT_CAPTURE_ATTACH_H

#include "capture/capture.h"

#include <sys/types.h>

/* ---- attach_look.c: what can be known before anything is done ---- */

struct mt_attach_plan {
    pid_t pid;
    bool python;                     /* Python runs in it */
    char *interpreter;               /* a Python that can ask it to run something; NULL = by gdb */
    char *gdb;                       /* path; NULL = there is none */
    uint64_t loader_from, loader_to; /* where its dynamic loader is mapped */
    MT_VEC(char *) argv;
};
/* MT_EINPUT: it cannot be attached to, or not from here; err says why, and what would help. */
enum mt_rc mt_attach_look(struct mt_attach_plan *out, pid_t pid, struct mt_err *err);
void mt_attach_plan_done(struct mt_attach_plan *p);

/* ---- attach.c: a recording of such a process ---- */

struct mt_attach_opts {
    const struct mt_attach_plan *plan;
    /* what is recorded, and where to; its command is not used */
    struct mt_launch_opts record;
    /* for the process to come to a place where it can be stopped, with what gdb takes to begin */
    uint32_t timeout_ms;
    /* asked while it waits for that place; true ends the wait. NULL = never */
    bool (*stop)(void);
};
struct mt_attach;
/* Until the recorder is at work in the process. On failure nothing was left behind but what err
 * says. MT_EIO. */
enum mt_rc mt_attach_begin(struct mt_attach **out, const struct mt_attach_opts *o,
                           struct mt_err *err);
const char *mt_attach_spool(const struct mt_attach *a);
/* For at most ms; MT_ATTACH_GOES_ON when that is over. */
enum mt_attach_state { MT_ATTACH_GOES_ON, MT_ATTACH_DETACHED, MT_ATTACH_ENDED };
enum mt_attach_state mt_attach_wait(const struct mt_attach *a, uint32_t ms);
/* The recording stays in its folder. */
void mt_attach_free(struct mt_attach *a);

/* ---- detach.c ---- */

struct mt_detach {
    char *dir;          /* of its recording; mt_free() it */
    pid_t collected_by; /* a `memtrace attach` that waits for the end and writes the trace; 0 = none
                         */
    uint32_t waited_ms;
};
/* Asks the recorder of an attached process to end, and waits until it has. MT_EINPUT: the process
 * is not recorded, or was not attached to; MT_EIO: it has not ended in time. */
enum mt_rc mt_detach(struct mt_detach *out, pid_t pid, uint32_t timeout_ms, struct mt_err *err);
/* The same of a recording that is known. */
enum mt_rc mt_detach_from(const char *dir, pid_t pid, uint32_t timeout_ms, struct mt_err *err);

/* ---- for these files alone ---- */

#define MT_ATTACH_FILE "mt-attach.part" /* locked by who writes the trace at the end */

/* attach_gdb.c, attach_python.c: load the library and call it. settings: lines of NAME=value, as
 * the environment of a recorder. dir: the spool folder. MT_EINPUT: nothing was done, another way
 * may. */
enum mt_rc mt_attach_by_gdb(const struct mt_attach_opts *o, const char *library,
                            const char *settings, struct mt_err *err);
enum mt_rc mt_attach_by_python(const struct mt_attach_opts *o, const char *library,
                               const char *settings, const char *dir, struct mt_err *err);
/* attach_wait.c: whether the main thread waits in the kernel, and not for the loader; where, if so.
 */
bool mt_attach_waits(const struct mt_attach_plan *p, uint64_t *pc, uint64_t *sp);
/* What memtrace_attach() returned in the process, in words. */
enum mt_rc mt_attach_result(long result, pid_t pid, struct mt_err *err);
/* A child that is waited for. It is never killed, and lives on when memtrace is: what it says goes
 * into memory of its own, not to a pipe that nobody may read any more. */
struct mt_attach_child {
    char *const *argv;
    uint32_t timeout_ms;
    bool (*stop)(void); /* NULL = never; true = as when timeout_ms are over */
    /* When that is so, again and again until it has ended; it is to make the child come to its end
     * without harm. */
    void (*hurry)(const struct mt_attach_child *c, pid_t child);
    const void *arg;
    const char *begun; /* said by the child: from then on it is not to be hurried; NULL = never */
};
/* What it said is in text. Its exit status; -1 = none; -2 = it was left alone after a long time,
 * and goes on: *left is its number. */
int mt_attach_run(const struct mt_attach_child *c, char *text, size_t cap, pid_t *left);
/* Into a new file, or over an old one. */
struct mt_text;
bool mt_attach_write(const char *path, const struct mt_text *text);
/* attach_owner.c: the folder, with what is in it, becomes the process's user's. MT_EIO: cannot be,
 * or is of no use to that user. */
enum mt_rc mt_attach_give(const char *dir, pid_t pid, struct mt_err *err);
/* Whether a recorder is at work in the folder. A kernel's list of locks that cannot be read says
 * nothing: true. */
bool mt_attach_locked(const char *dir);

#endif
