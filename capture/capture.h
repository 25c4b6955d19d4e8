/* capture.h -- the launcher's side: run a command with the library injected, collect what its
 * processes left, write one trace.gz.
 *
 * A library layer: parser <- capture <- cli. Nothing here prints; text for the user comes back as
 * values and cli/ prints it. Only launch.c reads the environment. Thread-safety: none. */
#ifndef MT_CAPTURE_H
#define MT_CAPTURE_H

#include "parser/base/err.h"
#include "parser/base/mem.h"
#include "parser/model/trace.h"
#include "parser/model/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- spool_new.c ---- */

/* Makes a new folder for a recording in base (NULL = TMPDIR or /tmp); its absolute path into *out,
 * which is the caller's. */
enum mt_rc mt_spool_new(char **out, const char *base, struct mt_err *err);
/* The same of a folder whose name is given, which may be there already. */
enum mt_rc mt_spool_at(char **out, const char *dir, struct mt_err *err);

/* ---- launch.c ---- */

struct mt_launch_opts {
    const char *output; /* trace.gz to write */
    const char *spool;  /* folder for the spool directory; NULL = TMPDIR or /tmp */
    /* --force: overwrite the output; --take-over: replace an injection that is already set */
    bool force, take_over;
    bool no_torch, no_stacks, memory2;
    uint64_t max_bytes;  /* keep the oldest: per process; 0 = no */
    uint64_t keep_bytes; /* keep the newest: per process; 0 = default, UINT64_MAX = all */
    uint64_t last_s;     /* and let go what is older; 0 = no */
    uint32_t flush_ms;   /* 0 = default */
    char **argv;         /* the command, NULL-terminated */
    const char *version; /* of memtrace, for the trace */
    /* the signal had its default when memtrace was started: the command gets it back */
    bool sigpipe_default, sigxfsz_default;
    /* bit per descriptor 0 to 2 that was closed when memtrace was started: closed for the command
     * too */
    unsigned closed_fds;
};

/* Where the parts of memtrace are (MEMTRACE_INJECT names another library): relative to the program,
 * in a build folder, an install or a copied folder. mt_free() each. */
struct mt_places {
    char *inject; /* libmemtrace_inject.so; NULL when this build has none */
    char *site;   /* folder with sitecustomize.py; NULL = not found */
};
enum mt_rc mt_places_find(struct mt_places *out, struct mt_err *err);
void mt_places_done(struct mt_places *p);

/* The cgroup of the job: host memory. Bytes; 0 = none, or not told. */
struct mt_cgroup {
    uint64_t limit, peak, kills; /* kills: processes that the kernel killed for want of memory */
};
#define MT_CGROUP_LIST "/proc/self/cgroup"
#define MT_CGROUP_ROOT "/sys/fs/cgroup"
/* list: MT_CGROUP_LIST; root: where cgroups are mounted, MT_CGROUP_ROOT. False: not told here. */
bool mt_cgroup_read(struct mt_cgroup *out, const char *list, const char *root);

struct mt_launch; /* a started command */

/* Checks everything that can be known before the start, makes the spool directory, prepares the
 * environment. On failure nothing was left behind and *status is the exit status for it: 125. */
enum mt_rc mt_launch_prepare(struct mt_launch **out, const struct mt_launch_opts *o, int *status,
                             struct mt_err *err);
/* the spool directory, to be told to the user */
const char *mt_launch_spool(const struct mt_launch *l);
/* Host memory of the job's cgroup; kills: since the command was started. */
struct mt_cgroup mt_launch_cgroup(const struct mt_launch *l);
/* path of the command's program; NULL = not found */
const char *mt_launch_program(const struct mt_launch *l);
/* Runs the command and waits for it, passing signals on. *status: its exit status, 128+N for signal
 * N; 126/127 with MT_EIO when it could not be executed. */
enum mt_rc mt_launch_run(struct mt_launch *l, int *status, struct mt_err *err);
/* After mt_launch_run(). Until mt_launch_free() the signals that would end memtrace are held back,
 * so that the recording is not lost to a second Ctrl-C; this says whether one came. */
bool mt_launch_interrupted(void);
uint32_t mt_launch_pid(const struct mt_launch *l);
uint64_t mt_launch_end(const struct mt_launch *l); /* CLOCK_REALTIME ns when the command ended */
int mt_launch_signal(const struct mt_launch *l);   /* that ended the command; 0 = none */
void mt_launch_free(struct mt_launch *l, bool keep_spool);

/* ---- collect.c ---- */

/* What one process left. */
struct mt_collected {
    uint64_t uid;
    uint32_t pid;
    char *name, *host, *device;   /* device: "GPU 0" or "GPUs 0,1"; "" = no CUDA */
    uint64_t calls, ranges, peak; /* peak: device bytes held by recorded calls */
    uint64_t bytes;               /* compressed */
    uint64_t missing, dropped;
    int32_t rank;
    bool running; /* still alive: what it recorded so far was taken, its files stay */
    bool has_cuda;
    /* why it recorded less than it should have, for the user; NULL = none */
    char *problem;
    uint32_t snapshots, order; /* order: of the start */
};
struct mt_collection {
    MT_VEC(struct mt_collected) processes;
    /* where the trace is: beside the wanted name if that appeared meanwhile */
    char *path;
    bool spool_kept;                   /* the spool files are still there */
    uint64_t n_damaged, damaged_bytes; /* members and slots that were no longer whole */
    uint32_t n_texts;
    uint64_t out_bytes, n_snapshots;
    uint32_t n_running;
    /* alive, and would record to the spool directory if they used a GPU: it stays for them */
    uint32_t n_waiting;
    /* something was recorded, but the work seems to have been done elsewhere; as why_nothing */
    char *hint;
    /* set when no process recorded anything: the likely reasons and remedies, one per line */
    char *why_nothing;
};

struct mt_collect_opts {
    const char *dir;    /* spool directory */
    const char *output; /* written as output.part, then renamed */
    bool force;
    bool keep;           /* leave the spool files */
    bool symbols;        /* resolve native frames from the modules on this machine */
    int status;          /* of the command; -1 = unknown (memtrace collect) */
    int sig;             /* that ended the command; 0 = none */
    uint32_t pid;        /* of the command; 0 = unknown */
    uint64_t end_ns;     /* CLOCK_REALTIME when the command ended; 0 = unknown */
    char *const *argv;   /* the command, for the reasons why nothing was recorded; NULL = unknown */
    const char *program; /* its path; NULL = unknown */
    /* kills: while the command ran */
    struct mt_cgroup cgroup;
    /* asked now and then; true ends the work with MT_EIO, and nothing is removed. NULL = never */
    bool (*stop)(void);
    void (*progress)(void *arg, const char *name, uint64_t done, uint64_t total);
    void *progress_arg;
};
/* Collects dir into one trace; MT_EINPUT when nothing in it is a recording. MT_WARN when something
 * was lost (counted in the collection). An empty dir is no error: the trace then holds the
 * launcher's records only, and why_nothing says why. */
enum mt_rc mt_collect(struct mt_collection *out, const struct mt_collect_opts *o,
                      struct mt_err *err);
void mt_collection_done(struct mt_collection *c);
/* target, or where that is taken the first of "trace-2.gz", "trace-3.gz" ... that is not: a name
 * that nobody chose must not keep a job from starting. NULL = out of memory. mt_free() it. */
char *mt_trace_free_name(const char *target);
/* Tells a `memtrace capture` around this one, if there is one, that this trace has the recording.
 */
void mt_tell_outer(const char *trace);
/* Whether a file of that name may belong to a recording. */
bool mt_scan_is_part(const char *name);
/* Removes the files that a capture makes, and the directory if it is empty then. */
void mt_scan_remove(const char *dir);
/* How many processes of this spool directory are alive and record. */
uint32_t mt_scan_running(const char *dir);
/* How many processes are alive that were told to record here, whether they do so yet or not. */
uint32_t mt_scan_waiting(const char *dir);

/* ---- doctor.c ---- */

struct mt_check {
    const char *name; /* "libcupti" */
    enum mt_check_state { MT_CHECK_OK, MT_CHECK_NOTE, MT_CHECK_BAD } state;
    char *text, *remedy; /* remedy: NULL when there is nothing to do */
};
struct mt_checks {
    MT_VEC(struct mt_check) list;
    bool can_capture;
};
enum mt_rc mt_doctor(struct mt_checks *out, struct mt_err *err);
void mt_checks_done(struct mt_checks *c);

#endif
