/* attach.h -- recording a process that runs already, and letting it go again.
 *
 * The recorder's library is loaded into the process and asked to begin, by calls that one of its
 * threads is made to make. What is recorded goes where a launched job's goes, a spool folder, and
 * is collected as that is (capture.h). Nothing here prints or asks: cli/cmd_attach.c does. */
#ifndef MT_CAPTURE_ATTACH_H
#define MT_CAPTURE_ATTACH_H

#include "capture/capture.h"

#include <sys/types.h>

/* ---- attach_look.c: what can be known before anything is done ---- */

struct mt_attach_plan {
    pid_t pid;
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
    /* for a thread of the process to come to a place where it can be stopped */
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

/* attach_call.c: loads the library and calls it. settings: lines of NAME=value, as the environment
 * of a recorder. */
enum mt_rc mt_attach_by_call(const struct mt_attach_opts *o, const char *library,
                             const char *settings, struct mt_err *err);
/* attach_owner.c: the folder, with what is in it, becomes the process's user's. MT_EIO: cannot be,
 * or is of no use to that user. */
enum mt_rc mt_attach_give(const char *dir, pid_t pid, struct mt_err *err);
/* Whether a recorder is at work in the folder. A kernel's list of locks that cannot be read says
 * nothing: true. */
bool mt_attach_locked(const char *dir);

#endif
