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
/* The file of that name in /proc/PID, as far as it fits, ended by a NUL. False: errno says why. */
bool mt_process_read(pid_t pid, const char *name, char *buf, size_t cap, size_t *got);
/* Who debugs it; 0 = nobody. */
long mt_process_tracer(pid_t pid);
/* As whom it opens files; false: there is no such process. */
bool mt_process_owner(pid_t pid, uid_t *uid, gid_t *gid);
/* Its id as it sees itself, which is what the files of a recording are called by. */
uint32_t mt_process_own_id(pid_t pid);
/* Whether it has a handler for the signal: without one, the signal ends it. */
bool mt_process_catches(pid_t pid, int signal_number);
/* The folder that a process records into, which is there; the caller's. MT_EINPUT: it is not
 * recorded; MT_EIO: there is no such process, or it belongs to somebody else. */
enum mt_rc mt_process_spool(pid_t pid, char **dir, struct mt_err *err);

/* Milliseconds of a clock that is never set. */
int64_t mt_ms_now(void);
/* Locks on files, as the kernel lists them: to try one would take it for a moment. The caller's;
 * NULL = out of memory. */
char *mt_locks_read(void);
/* Whether somebody holds one on that open file. */
bool mt_locks_has(const char *locks, int fd);
/* Whether somebody holds one on a spool in that folder: a process records into it. */
bool mt_locks_has_spool(const char *locks, const char *dir);
pid_t mt_locks_holder(const char *locks, int fd); /* 0 = nobody that is seen here */

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

/* ---- follow.c, follow_process.c: a recording, as it goes on ---- */

/* A frame of a native stack, innermost first. */
struct mt_live_frame {
    const char *library; /* base name of the file; "" = not known */
    uint32_t module;     /* with offset, for mt_live_function() */
    uint64_t offset;
};
struct mt_live;
struct mt_live_process;
struct mt_live_opts {
    const char *dir; /* the spool folder */
    void *arg;
    /* Gives an owner a number, asked once for every stack; n 0 = a call without one. */
    uint32_t (*owner)(void *arg, struct mt_live_process *p, const struct mt_live_frame *f,
                      uint32_t n);
};

enum { MT_LIVE_HISTORY = 64 };
/* What an owner holds on a GPU of a process. */
struct mt_live_row {
    uint32_t owner;
    int32_t ordinal; /* -1 = not said */
    int64_t bytes;
    /* what it held until the end of a second in which it changed, newest last; a ring */
    struct {
        uint64_t second;
        int64_t before;
    } history[MT_LIVE_HISTORY];
    uint64_t n_history;
};
struct mt_live_use { /* a process on a GPU, as NVML sees it */
    uint32_t pid;
    uint64_t bytes; /* UINT64_MAX = not told */
};
struct mt_live_device {
    uint32_t index;
    int32_t ordinal; /* -1 = not visible to CUDA in this process */
    uint64_t total;
    char *uuid, *name;
    /* its newest sample; sampled 0 = none yet */
    uint64_t sampled, used, sample_total;
    int64_t recorded; /* what the process held there at that time, by its calls */
    MT_VEC(struct mt_live_use) uses;
};
struct mt_live_range {
    uint64_t time, tid, id;
    uint32_t domain, name;
    bool by_thread;
};
/* One process image. A process that has ended holds nothing. */
struct mt_live_process {
    struct mt_live *live;
    char *stem, *host;
    uint64_t uid;
    uint32_t pid;
    bool runs, ended;
    MT_VEC(struct mt_live_row) rows;
    MT_VEC(struct mt_live_device) devices;
    MT_VEC(struct mt_live_range) open; /* in the order in which they began */
    MT_VEC(char *) strings;            /* by id - 1; NULL = not defined */
    /* calls that failed for want of memory; the last of them */
    uint64_t n_ooms, oom_time, oom_bytes;
    uint32_t oom_row; /* of it: who asked, where */
    uint64_t rss, host_sampled;
    struct mt_live_read *read; /* how far it was read */
};
struct mt_live {
    struct mt_live_opts o;
    char *dir;
    MT_VEC(struct mt_live_process *) processes; /* by host, start, pid, uid */
    bool has_folder;                            /* false: it is gone, the recording is over */
    uint64_t n_bytes;                           /* read in all */
    struct mt_live_files *files;
};
enum mt_rc mt_live_open(struct mt_live **out, const struct mt_live_opts *o, struct mt_err *err);
/* Reads what was recorded since the last time. */
enum mt_rc mt_live_refresh(struct mt_live *l, struct mt_err *err);
void mt_live_close(struct mt_live *l);
/* What the process held at that time, as far back as its history goes; else the oldest that is
 * known. *from: the time it is of. */
int64_t mt_live_row_at(const struct mt_live_row *r, uint64_t time_ns, uint64_t *from);
const char *mt_live_string(const struct mt_live_process *p, uint32_t id); /* "" = not known */
/* Short name of its program, its rank (-1 = unknown), CLOCK_REALTIME ns of its newest record, and
 * how much of it is lost. */
const char *mt_live_name(const struct mt_live_process *p);
int32_t mt_live_rank(const struct mt_live_process *p);
uint64_t mt_live_time(const struct mt_live_process *p);
uint64_t mt_live_lost(const struct mt_live_process *p);
uint64_t mt_live_calls(const struct mt_live_process *p);
bool mt_live_has_cuda(const struct mt_live_process *p);
/* Name of the function of a frame, from the file on this machine; "" = not known. Slow the first
 * time for each file. */
const char *mt_live_function(struct mt_live_process *p, const struct mt_live_frame *f);

/* ---- find.c: which recordings go on ---- */

/* Folders of the recordings that go on here, by the variable of their processes and by the usual
 * place; each the caller's. */
struct mt_dirs {
    MT_VEC(char *) list;
};
enum mt_rc mt_live_find(struct mt_dirs *out, struct mt_err *err);
/* Folders in the usual place with a recording that nobody made a trace of, and into which nobody
 * records: the launcher was killed, or --keep-spool. */
enum mt_rc mt_left_find(struct mt_dirs *out, struct mt_err *err);
/* The same of one process, or of what it has started (memtrace capture itself). */
enum mt_rc mt_live_find_of(pid_t pid, char **dir, struct mt_err *err);
void mt_dirs_done(struct mt_dirs *d);

#endif
