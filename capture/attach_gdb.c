/* attach_gdb.c -- loads the recorder into a process by gdb.
 *
 * A call made from outside must not come while the thread that makes it holds a lock of the
 * allocator or of the loader. So gdb waits until a thread enters a function in which that is not
 * so: of Python's allocator, or where it gives its lock away; in other programs, of the C library's
 * allocator, when the loader is not who calls it. Where no thread comes to one, the main thread may
 * wait in the kernel for something else than such a lock. There gdb loads the library, and calls
 * what only starts a thread. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/inject/attach.h"
#include "capture/live.h"
#include "capture/parts.h"
#include "parser/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAID_MAX 65536u
#define FIRST_MS 5000u /* then it may be one that waits */
#define RESULT "memtrace: result "
#define NOT_LOADED "memtrace: not loaded: "
#define BEGUN "memtrace: called"
#define NO_CALL "memtrace: no call"
/* What gdb's wait is ended by: nobody's default action for it does anything, so it does no harm
 * where it comes too late. */
#define WAKE SIGWINCH
#define WAKE_NAME "SIGWINCH"

static const char *const in_python[] = {"PyObject_Malloc", "PyObject_Free",     "PyMem_Malloc",
                                        "PyMem_Free",      "PyEval_SaveThread", NULL};
static const char *const in_c[] = {"malloc", "calloc", "realloc", "free", NULL};

static void put(struct mt_text *f, const char *s) { mt_text_add(f, s, strlen(s)); }

/* As a string of gdb's, without its quotes. */
static void put_string(struct mt_text *f, const char *s)
{
    char octal[8];
    for (; *s != '\0'; s++)
        if ((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') ||
            strchr("/._-=", *s) != NULL)
            mt_text_add(f, s, 1);
        else {
            (void)snprintf(octal, sizeof octal, "\\%03o", (unsigned char)*s);
            put(f, octal);
        }
}

/* Where it stops. The caller of a function is at the stack's top, or in its own register. */
static void put_places(struct mt_text *f, const struct mt_attach_plan *p)
{
    const char *const *names = p->python ? in_python : in_c;
    unsigned n = 0;
#if defined(__aarch64__)
    static const char caller[] = "$x30";
#else
    static const char caller[] = "*(unsigned long *)$sp";
#endif
    char line[200];
    for (; names[n] != NULL; n++) {
        if (p->python)
            (void)snprintf(line, sizeof line, "break %s\n", names[n]);
        else
            (void)snprintf(line, sizeof line, "break *%s if %s < 0x%llx || %s >= 0x%llx\n",
                           names[n], caller, (unsigned long long)p->loader_from, caller,
                           (unsigned long long)p->loader_to);
        put(f, line);
    }
    (void)snprintf(line, sizeof line, "commands 1-%u\nsilent\nset $hit = 1\nend\n", n);
    put(f, line);
}

/* Where the process is stopped: where a thread comes to, or where its main thread waits. */
enum place { PLACE_REACHED, PLACE_WAITING };

/* gdb's scripts: they lie in memory, so that nobody changes them, not the user of the process to
 * whom the spool folder belongs either. The call is read when its time has come: an empty one is
 * none. */
struct scripts {
    int main, call;
};

/* From here on nothing may disturb gdb, nor make it stop the process: a call that is given up comes
 * back to nowhere, and the process dies of that. */
static void put_call(struct mt_text *f, const char *library, const char *settings)
{
    put(f, "handle " WAKE_NAME " nostop noprint pass\n"
           "echo " BEGUN "\\n\n"
           "set $library = ((void *(*)(const char *, int))dlopen)(\"");
    put_string(f, library);
    put(f, "\", 2)\nif $library == 0\nprintf \"" NOT_LOADED
           "%s\\n\", ((char *(*)(void))dlerror)()\nelse\n"
           "set $attach = ((void *(*)(void *, const char *))dlsym)($library, "
           "\"memtrace_attach\")\n"
           "if $attach == 0\necho " NOT_LOADED "it is not memtrace's\\n\nelse\n"
           "printf \"" RESULT "%d\\n\", ((int (*)(const char *))$attach)(\"");
    put_string(f, settings);
    put(f, "\")\nend\nend\n");
}

/* False: it does not wait now. Signals are the process's own, as without gdb: only WAKE, which
 * means nothing to it, ends the wait. */
static bool put_script(struct mt_text *f, enum place place, const struct mt_attach_plan *p,
                       int call)
{
    uint64_t pc = 0, sp = 0;
    char line[100];
    put(f, "set breakpoint pending off\n"
           "set confirm off\n"
           "handle all nostop noprint pass\n"
           "handle SIGINT nostop noprint pass\n" /* not among them */
           "sharedlibrary /libc[.-]\n"
           "sharedlibrary /libdl[.-]\n"
           "sharedlibrary /libpython\n");
    if (place == PLACE_REACHED) {
        put(f, "handle " WAKE_NAME " stop print nopass\nset $hit = 0\n");
        put_places(f, p);
        put(f, "continue\ndelete\nif $hit == 1\n");
    } else {
        if (!mt_attach_waits(p, &pc, &sp))
            return false;
        (void)snprintf(line, sizeof line, "if $pc == 0x%llx && $sp == 0x%llx\n",
                       (unsigned long long)pc, (unsigned long long)sp);
        put(f, line);
    }
    (void)snprintf(line, sizeof line, "source /proc/self/fd/%d\nend\n", call);
    put(f, line);
    put(f, "echo " NO_CALL "\\n\ndetach\nquit\n");
    return true;
}

/* Inherited by gdb. */
static int in_memory(const struct mt_text *f)
{
    int fd = f->failed ? -1 : memfd_create("memtrace-gdb", 0);
    if (fd >= 0 && write(fd, f->p, f->n) != (ssize_t)f->n) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* False: they cannot be made, or have no sense. */
static bool make_scripts(struct scripts *s, enum place place, const struct mt_attach_plan *p,
                         const char *library, const char *settings)
{
    struct mt_text call = {0}, main = {0};
    put_call(&call, library, settings);
    s->main = -1;
    s->call = in_memory(&call);
    if (s->call >= 0 && put_script(&main, place, p, s->call))
        s->main = in_memory(&main);
    mt_text_done(&call);
    mt_text_done(&main);
    return s->main >= 0;
}

static void scripts_done(const struct scripts *s)
{
    if (s->call >= 0)
        (void)close(s->call);
    if (s->main >= 0)
        (void)close(s->main);
}

/* The last line of what gdb said that says something. */
static const char *last_words(const char *text, char *buf, size_t cap)
{
    const char *best = "it said nothing";
    size_t n_best = strlen(best);
    for (const char *at = text; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        if (n > 0 && strncmp(at, "warning:", 8) != 0 && at[0] != '[') {
            best = at;
            n_best = n;
        }
        at += n + (at[n] == '\n');
    }
    return mt_printable(buf, cap, best, n_best);
}

enum mt_rc mt_attach_result(long result, pid_t pid, struct mt_err *err)
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

static bool is_not_stopped(const char *said)
{
    return strstr(said, RESULT) == NULL && strstr(said, NOT_LOADED) == NULL &&
           strstr(said, NO_CALL) != NULL;
}

static enum mt_rc result_of(const char *said, const struct mt_attach_opts *o, struct mt_err *err)
{
    char line[600];
    const char *at = strstr(said, RESULT);
    if (at != NULL)
        return mt_attach_result(strtol(at + sizeof RESULT - 1, NULL, 10), o->plan->pid, err);
    if ((at = strstr(said, NOT_LOADED)) != NULL) {
        at += sizeof NOT_LOADED - 1;
        return mt_fail(err, MT_EIO, "the recorder cannot be loaded into process %ld: %s",
                       (long)o->plan->pid, mt_printable(line, sizeof line, at, strcspn(at, "\n")));
    }
    if (is_not_stopped(said))
        return mt_fail(
            err, MT_EIO,
            "process %ld came to no place where it can be stopped safely within %u s "
            "(it waits for something, or computes in one function); nothing was changed. "
            "Try again, or with a longer --timeout",
            (long)o->plan->pid, (o->timeout_ms + 500) / 1000);
    return mt_fail(err, MT_EIO, "gdb could not attach to process %ld: %s", (long)o->plan->pid,
                   last_words(said, line, sizeof line));
}

struct hurried {
    pid_t pid; /* the process */
    int call;
};

/* gdb may have to begin yet, or have reached a place in this moment: WAKE does no harm then. */
static void hurry(const struct mt_attach_child *c, pid_t child)
{
    const struct hurried *h = c->arg;
    if (ftruncate(h->call, 0) == 0 && mt_process_tracer(h->pid) == child)
        (void)kill(h->pid, WAKE);
}

/* What it says; "" = nothing was done. The number of a gdb that has not ended, 0 = it has. */
static pid_t run(enum place place, const struct mt_attach_opts *o, const char *library,
                 const char *settings, uint32_t timeout_ms, char *said)
{
    struct scripts s;
    bool made = make_scripts(&s, place, o->plan, library, settings);
    char *pid = mt_text("%ld", (long)o->plan->pid), *gdb = mt_text("%s", o->plan->gdb);
    char *script = mt_text("/proc/self/fd/%d", s.main);
    /* without the user's settings; no library's symbols but those that are asked for: PyTorch's
     * would take a minute, while the process stands */
    char *argv[] = {gdb,
                    (char[]){"-nx"},
                    (char[]){"-batch"},
                    (char[]){"-iex"},
                    (char[]){"set auto-load off"},
                    (char[]){"-iex"},
                    (char[]){"set debuginfod enabled off"},
                    (char[]){"-iex"},
                    (char[]){"set auto-solib-add off"},
                    (char[]){"-iex"},
                    (char[]){"maint set internal-error corefile no"},
                    (char[]){"-p"},
                    pid,
                    (char[]){"-x"},
                    script,
                    NULL};
    const struct hurried h = {o->plan->pid, s.call};
    const struct mt_attach_child child = {.argv = argv,
                                          .timeout_ms = timeout_ms,
                                          .stop = o->stop,
                                          .hurry = hurry,
                                          .arg = &h,
                                          .begun = BEGUN};
    pid_t left = 0;
    said[0] = '\0';
    if (made && script != NULL && pid != NULL && gdb != NULL)
        (void)mt_attach_run(&child, said, SAID_MAX, &left);
    scripts_done(&s);
    mt_free(script);
    mt_free(pid);
    mt_free(gdb);
    return left;
}

static bool is_wanted(const struct mt_attach_opts *o) { return o->stop == NULL || !o->stop(); }

/* First where a thread comes to, then where one waits, and then again the first. */
static pid_t try_places(const struct mt_attach_opts *o, const char *library, const char *settings,
                        char *said)
{
    uint32_t first = o->timeout_ms < FIRST_MS ? o->timeout_ms : FIRST_MS;
    pid_t left = run(PLACE_REACHED, o, library, settings, first, said);
    if (left != 0 || !is_not_stopped(said) || !is_wanted(o))
        return left;
    left = run(PLACE_WAITING, o, library, settings, o->timeout_ms, said);
    if (said[0] == '\0')
        (void)snprintf(said, SAID_MAX, NO_CALL);
    if (left == 0 && is_not_stopped(said) && is_wanted(o) && o->timeout_ms > first)
        left = run(PLACE_REACHED, o, library, settings, o->timeout_ms - first, said);
    return left;
}

enum mt_rc mt_attach_by_gdb(const struct mt_attach_opts *o, const char *library,
                            const char *settings, struct mt_err *err)
{
    char *said = mt_malloc(SAID_MAX);
    enum mt_rc rc;
    pid_t left;
    if (said == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    left = try_places(o, library, settings, said);
    if (left != 0)
        rc = mt_fail(err, MT_EIO,
                     "gdb (process %ld) has process %ld and comes to no end: %s. Nothing will be "
                     "recorded. Do not kill that gdb, the process would die of it: it lets go by "
                     "itself as soon as the process goes on",
                     (long)left, (long)o->plan->pid,
                     strstr(said, BEGUN) != NULL ? "the recorder is being loaded, which waits for "
                                                   "something"
                                                 : "no thread of it can be woken");
    else if (is_not_stopped(said) && !is_wanted(o))
        rc =
            mt_fail(err, MT_EIO, "stopped; nothing was changed in process %ld", (long)o->plan->pid);
    else
        rc = result_of(said, o, err);
    mt_free(said);
    return rc;
}
