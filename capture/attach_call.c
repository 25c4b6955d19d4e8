/* attach_call.c -- loads the recorder into a process by a call that a thread of it is made to make.
 *
 * Whoever stops a thread in a call and dies leaves it to come back to nowhere. So a process of its
 * own does it, which Ctrl-C does not reach and which nobody kills, and which goes on when memtrace
 * is killed: it is done within milliseconds, or when the library is loaded. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/attach_call.h"
#include "capture/inject/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10
#define LEAVE_MS 5000    /* for one that was told to end, to do so */
#define CALL_MS 60000    /* for a library to be loaded: from a slow file system, say */
#define STOP_MS 200      /* between two questions whether that is still wanted */
#define ROUND_MS 5       /* between two looks at all threads */
#define SPACE (1u << 18) /* what the call has as stack, with its strings at the end */
#define STRINGS (1u << 16)
#define NOW 2 /* RTLD_NOW */

/* What both know. */
struct shared {
    _Atomic bool stop;  /* it is not wanted any more */
    _Atomic bool begun; /* the library is being loaded: nothing may disturb that */
    enum outcome {
        DIED,       /* it said nothing */
        NO_PLACE,   /* no thread came to one */
        REFUSED,    /* the kernel does not let it: text */
        NOT_MADE,   /* the process ended in the call, or the call did not come back */
        NOT_LOADED, /* text */
        CALLED      /* result */
    } outcome;
    long result;
    char text[600];
};

/* ---- in the process that does it ---- */

struct work {
    const struct mt_attach_plan *plan;
    struct mt_call_places *places;
    struct mt_thread thread;
    struct shared *s;
    const char *library, *settings;
    int64_t until;
};

static bool call(struct work *w, uint64_t function, uint64_t a, uint64_t b, uint64_t *result)
{
    const uint64_t arguments[6] = {a, b, 0, 0, 0, 0};
    return mt_thread_call(&w->thread, function, arguments, result);
}

static bool write_at(const struct work *w, uint64_t at, const void *bytes, size_t n)
{
    return pwrite(w->places->memory, bytes, n, (off_t)at) == (ssize_t)n;
}

static bool fail(struct work *w, enum outcome outcome)
{
    w->s->outcome = outcome;
    return false;
}

/* What dlerror() has to say; its text stays in the process. */
static bool not_loaded(struct work *w, const char *otherwise)
{
    uint64_t at = 0;
    ssize_t n = 0;
    if (otherwise == NULL && call(w, w->places->f_dlerror, 0, 0, &at) && at != 0)
        n = pread(w->places->memory, w->s->text, sizeof w->s->text - 1, (off_t)at);
    w->s->text[n > 0 ? n : 0] = '\0';
    if (n <= 0)
        (void)snprintf(w->s->text, sizeof w->s->text, "%s",
                       otherwise != NULL ? otherwise : "it did not say why");
    return fail(w, NOT_LOADED);
}

/* With the stack and the strings in memory of their own. */
static bool load(struct work *w, uint64_t space)
{
    static const char name[] = "memtrace_attach";
    const struct mt_call_places *p = w->places;
    uint64_t path = space + SPACE - STRINGS, text = path + strlen(w->library) + 1;
    uint64_t symbol = text + strlen(w->settings) + 1, handle, function, result;
    if (symbol + sizeof name > space + SPACE ||
        !write_at(w, path, w->library, strlen(w->library) + 1) ||
        !write_at(w, text, w->settings, strlen(w->settings) + 1) ||
        !write_at(w, symbol, name, sizeof name))
        return not_loaded(w, "its path or the settings are too long");
    w->thread.stack = path;
    atomic_store(&w->s->begun, true);
    if (!call(w, p->f_dlopen, path, NOW, &handle))
        return fail(w, NOT_MADE);
    if (handle == 0)
        return not_loaded(w, NULL);
    if (!call(w, p->f_dlsym, handle, symbol, &function))
        return fail(w, NOT_MADE);
    if (function == 0)
        return not_loaded(w, "it is not memtrace's");
    if (!call(w, function, text, 0, &result))
        return fail(w, NOT_MADE);
    w->s->result = (long)(int32_t)result;
    w->s->outcome = CALLED;
    return true;
}

/* The thread's own errno is what it was. */
static void make_calls(struct work *w)
{
    const struct mt_call_places *p = w->places;
    const uint64_t wanted[6] = {
        0, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
    uint64_t own = w->thread.stack, space, at_errno, unused;
    int number = 0;
    bool saved;
    if (!call(w, p->f_errno, 0, 0, &at_errno)) {
        (void)fail(w, NOT_MADE);
        return;
    }
    saved = pread(p->memory, &number, sizeof number, (off_t)at_errno) == (ssize_t)sizeof number;
    if (!mt_thread_call(&w->thread, p->f_mmap, wanted, &space))
        (void)fail(w, NOT_MADE);
    else if (space == UINT64_MAX)
        (void)not_loaded(w, "the process gets no memory");
    else {
        bool came_back = load(w, space) || w->s->outcome == NOT_LOADED;
        w->thread.stack = own;
        if (came_back)
            (void)call(w, p->f_munmap, space, SPACE, &unused);
    }
    if (saved)
        (void)write_at(w, at_errno, &number, sizeof number);
}

static bool is_time(const struct work *w)
{
    return !atomic_load(&w->s->stop) && mt_ms_now() < w->until;
}

/* True: it was stopped at a good place, and what had to be done is done. */
static bool try_thread(struct work *w, pid_t tid)
{
    struct mt_thread_doing doing;
    uint64_t pc, sp;
    bool done = false;
    enum mt_stopped how;
    /* in any other call it holds a lock, or waits for a disk */
    if (!mt_thread_doing(&doing, w->plan->pid, tid) ||
        (doing.in_call && (!mt_thread_waits(&doing) || mt_place_in_loader(w->places, doing.pc))))
        return false;
    how = mt_thread_stop(&w->thread, tid);
    while (how == MT_STOP_LATE && is_time(w)) /* it may have to wait for a processor */
        how = mt_thread_wait(&w->thread, STOP_MS);
    if (how == MT_STOP_REFUSED) {
        w->s->outcome = REFUSED;
        (void)snprintf(w->s->text, sizeof w->s->text, "%s", strerror(errno));
        return true;
    }
    if (how != MT_STOPPED)
        return false;
    mt_thread_at(&w->thread, &pc, &sp);
    if (mt_place_is_safe(w->places, pc, sp, &doing) && mt_thread_take(&w->thread)) {
        make_calls(w);
        mt_thread_give_back(&w->thread);
        done = true;
    }
    mt_thread_go(&w->thread);
    return done;
}

/* A thread that reads a library holds the loader's lock; dlopen() would wait for that. */
static bool some_thread_loads(const struct work *w, const pid_t *tids, size_t n)
{
    struct mt_thread_doing doing;
    bool loads = false;
    for (size_t i = 0; i < n && !loads; i++)
        loads = mt_thread_doing(&doing, w->plan->pid, tids[i]) && doing.in_call &&
                mt_place_in_loader(w->places, doing.pc);
    return loads;
}

#define THREADS_MAX 4096u

/* The main thread first. */
static size_t list_threads(pid_t pid, pid_t *tids)
{
    char *path = mt_text("/proc/%ld/task", (long)pid);
    DIR *d = path != NULL ? opendir(path) : NULL;
    const struct dirent *e;
    size_t n = 0;
    mt_free(path);
    tids[n++] = pid;
    while (d != NULL && n < THREADS_MAX && (e = readdir(d)) != NULL) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid != pid)
            tids[n++] = tid;
    }
    if (d != NULL)
        (void)closedir(d);
    return n;
}

/* Any thread will do: what it is made to do is to start one. */
static void try_all(struct work *w)
{
    static pid_t tids[THREADS_MAX];
    const struct timespec step = {0, ROUND_MS * 1000000};
    w->s->outcome = NO_PLACE;
    while (is_time(w)) {
        size_t n = list_threads(w->plan->pid, tids);
        if (!some_thread_loads(w, tids, n))
            for (size_t i = 0; i < n && is_time(w); i++)
                if (try_thread(w, tids[i]))
                    return;
        (void)nanosleep(&step, NULL);
    }
}

/* Nothing that memtrace has open stays open here: a lock of a file, an end of a pipe. */
static void stand_alone(int memory)
{
    int null = open("/dev/null", O_RDWR);
    (void)setsid();
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    for (int fd = 3, end = (int)sysconf(_SC_OPEN_MAX); fd < end && fd < 65536; fd++)
        if (fd != memory)
            (void)close(fd);
}

/* ---- in memtrace ---- */

/* Its number where it has not ended: it is never killed. */
static pid_t wait_for(pid_t child, const struct mt_attach_opts *o, struct shared *s)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    int64_t until = mt_ms_now() + o->timeout_ms + LEAVE_MS;
    bool begun = false;
    for (;;) {
        int status;
        pid_t gone = waitpid(child, &status, WNOHANG);
        if (gone == child || (gone < 0 && errno != EINTR))
            return 0;
        if (!begun && atomic_load(&s->begun)) {
            begun = true;
            until = mt_ms_now() + CALL_MS;
        }
        if (!begun && !atomic_load(&s->stop) && o->stop != NULL && o->stop()) {
            atomic_store(&s->stop, true);
            until = mt_ms_now() + LEAVE_MS;
        }
        if (mt_ms_now() >= until)
            return child;
        (void)nanosleep(&step, NULL);
    }
}

/* What memtrace_attach() returned in the process, in words. */
static enum mt_rc in_words(long result, pid_t pid, struct mt_err *err)
{
    switch (result) {
    case MTI_ATTACHED: return MT_OK;
    case MTI_ATTACHED_ALREADY:
        return mt_fail(err, MT_EIO, "process %ld is recorded already", (long)pid);
    case MTI_ATTACHED_TOO_LONG:
        return mt_fail(err, MT_EIO, "the name of the spool folder is too long");
    default: return mt_fail(err, MT_EIO, "no thread could be started in process %ld", (long)pid);
    }
}

static enum mt_rc result_of(const struct shared *s, const struct mt_attach_opts *o, pid_t left,
                            struct mt_err *err)
{
    char shown[600];
    long pid = (long)o->plan->pid;
    if (left != 0)
        return mt_fail(err, MT_EIO,
                       "process %ld comes to no end: %s. Nothing will be recorded. Do not kill "
                       "process %ld, a part of memtrace: it lets go by itself as soon as process "
                       "%ld goes on, which would die without it",
                       pid,
                       atomic_load(&s->begun)
                           ? "the recorder is being loaded, which waits for something"
                           : "a thread of it does not come to a stop",
                       (long)left, pid);
    switch (s->outcome) {
    case CALLED: return in_words(s->result, o->plan->pid, err);
    case NOT_LOADED:
        return mt_fail(err, MT_EIO, "the recorder cannot be loaded into process %ld: %s", pid,
                       mt_printable(shown, sizeof shown, s->text, strlen(s->text)));
    case REFUSED:
        return mt_fail(err, MT_EIO, "process %ld may not be attached to: %s", pid, s->text);
    case NO_PLACE:
        if (atomic_load(&s->stop))
            return mt_fail(err, MT_EIO, "stopped; nothing was changed in process %ld", pid);
        return mt_fail(err, MT_EIO,
                       "process %ld came to no place where it can be stopped safely within %u s "
                       "(it loads a library, waits for a disk, or is stopped itself); nothing was "
                       "changed. Try again, or with a longer --timeout",
                       pid, (o->timeout_ms + 500) / 1000);
    case NOT_MADE:
    case DIED:
    default:
        return mt_fail(err, MT_EIO,
                       "process %ld did not come back from loading the recorder; it is as it was, "
                       "or has ended",
                       pid);
    }
}

enum mt_rc mt_attach_by_call(const struct mt_attach_opts *o, const char *library,
                             const char *settings, struct mt_err *err)
{
    struct mt_call_places places;
    struct work w = {.plan = o->plan, .places = &places, .library = library, .settings = settings};
    enum mt_rc rc = mt_call_places_find(&places, o->plan->pid, err);
    pid_t child, left;
    if (rc != MT_OK)
        goto done;
    w.s = mmap(NULL, sizeof *w.s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.s == MAP_FAILED || !mt_thread_new(&w.thread, places.memory, places.trap)) {
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
        goto done;
    }
    w.until = mt_ms_now() + o->timeout_ms;
    child = fork();
    if (child == 0) {
        stand_alone(places.memory);
        try_all(&w);
        _exit(0);
    }
    if (child < 0)
        rc = mt_fail(err, MT_EIO, "no process can be started: %s", strerror(errno));
    else {
        left = wait_for(child, o, w.s);
        rc = result_of(w.s, o, left, err);
    }
    mt_thread_done(&w.thread);
done:
    if (w.s != NULL && w.s != MAP_FAILED)
        (void)munmap(w.s, sizeof *w.s);
    mt_call_places_done(&places);
    return rc;
}
