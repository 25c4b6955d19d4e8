/* live.h -- recordings that still go on, seen from outside.
 *
 * Nothing here holds a lock that the job takes, maps a file for writing, or stops a process: /proc
 * and the files of the spool folder are opened for reading. The one thing that a process is ever
 * sent is the signal of mt_snap(). */
#ifndef MT_CAPTURE_LIVE_H
#define MT_CAPTURE_LIVE_H

#include "capture/capture.h"

#include <sys/types.h>

/* ---- process.c: what /proc says of a process ---- */

/* Reads the environment that a process was started with. Its value in buf, which holds the
 * environment as far as it fits; NULL = it has no such variable, or may not be looked at: errno is
 * then 0, or why. */
const char *mt_process_env(pid_t pid, const char *variable, char *buf, size_t cap);
enum { MT_ENVIRON_MAX = 2u << 20 };
/* Its id as it sees itself, which is what the files of a recording are called by. */
uint32_t mt_process_own_id(pid_t pid);
/* Whether it has a handler for the signal: without one, the signal ends it. */
bool mt_process_catches(pid_t pid, int signal_number);
/* The folder that a process records into, which is there; the caller's. MT_EINPUT: it is not
 * recorded; MT_EIO: there is no such process, or it belongs to somebody else. */
enum mt_rc mt_process_spool(pid_t pid, char **dir, struct mt_err *err);

/* ---- snap.c ---- */

struct mt_snap_opts {
    pid_t pid;
    uint32_t timeout_ms;
    /* asked while it waits; true ends it as when the time is over. NULL = never */
    bool (*stop)(void);
};
struct mt_snap {
    char *path; /* of the snapshot; mt_free() it */
    uint64_t bytes;
    uint32_t waited_ms;
    bool late; /* it was asked for, and did not come in time: it may still */
};
/* Asks the recorder's hook in a Python process for a snapshot of PyTorch's allocator (SIGUSR2), and
 * waits for the whole file. Nothing is sent to a process in which the hook is not waiting for that
 * signal. MT_OK; MT_EINPUT: it cannot be asked, err says why; MT_EIO: it was, and nothing came. */
enum mt_rc mt_snap(struct mt_snap *out, const struct mt_snap_opts *o, struct mt_err *err);

#endif
