/* attach_gdb.c -- loads the recorder into a process by gdb.
 *
 * A call made from outside must not come while the thread that makes it holds a lock of the
 * allocator or of the loader. So gdb waits until a thread enters a function in which that is not
 * so: of Python's allocator, or where it gives its lock away; in other programs, of the C library's
 * allocator, when the loader is not who calls it. Where no thread comes to one, the main thread may
 * wait in the kernel for something else than such a lock. There gdb loads the library, and calls
 * what only starts a thread. */
#include "capture/attach.h"
#include "capture/inject/attach.h"
#include "capture/parts.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 65536u
#define FIRST_MS 5000u /* then it may be one that waits */
#define RESULT "memtrace: result "
#define NOT_LOADED "memtrace: not loaded: "
#define NO_STOP "memtrace: no stop"

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

static void put_call(struct mt_text *f, const char *library, const char *settings)
{
    put(f, "set $library = ((void *(*)(const char *, int))dlopen)(\"");
    put_string(f, library);
    put(f, "\", 2)\nif $library == 0\nprintf \"" NOT_LOADED
           "%s\\n\", ((char *(*)(void))dlerror)()\nelse\n"
           "set $attach = ((void *(*)(void *, const char *))dlsym)($library, "
           "\"memtrace_attach\")\n"
           "printf \"" RESULT "%d\\n\", ((int (*)(const char *))$attach)(\"");
    put_string(f, settings);
    put(f, "\")\nend\n");
}

/* False: it does not wait now. */
static bool put_script(struct mt_text *f, enum place place, const struct mt_attach_plan *p,
                       const char *library, const char *settings)
{
    uint64_t pc = 0, sp = 0;
    char line[100];
    put(f, "set breakpoint pending off\n"
           "set confirm off\n"
           "handle all nostop noprint pass\n"
           "sharedlibrary /libc[.-]\n"
           "sharedlibrary /libdl[.-]\n"
           "sharedlibrary /libpython\n");
    if (place == PLACE_REACHED) {
        put(f, "set $hit = 0\n");
        put_places(f, p);
        put(f, "continue\ndelete\nif $hit == 1\n");
    } else {
        if (!mt_attach_waits(p->pid, &pc, &sp))
            return false;
        (void)snprintf(line, sizeof line, "if $pc == 0x%llx && $sp == 0x%llx\n",
                       (unsigned long long)pc, (unsigned long long)sp);
        put(f, line);
    }
    put_call(f, library, settings);
    put(f, "else\necho " NO_STOP "\\n\nend\ndetach\nquit\n");
    return true;
}

/* The file of it; NULL = it cannot be written, or has no sense. */
static char *write_script(enum place place, const struct mt_attach_plan *p, const char *library,
                          const char *settings, const char *dir)
{
    char *path = mt_path_join(dir, "mt-gdb.part");
    struct mt_text f = {0};
    bool ok =
        path != NULL && put_script(&f, place, p, library, settings) && mt_attach_write(path, &f);
    mt_text_done(&f);
    if (!ok) {
        mt_free(path);
        path = NULL;
    }
    return path;
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

/* "Quit" is what gdb says to the SIGINT by which its wait is ended. */
static bool is_not_stopped(const char *said)
{
    return strstr(said, NO_STOP) != NULL || strstr(said, "\nQuit") != NULL;
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

/* What it says; "" = nothing was done. */
static void run(enum place place, const struct mt_attach_opts *o, const char *library,
                const char *settings, const char *dir, uint32_t timeout_ms, char *said)
{
    char *script = write_script(place, o->plan, library, settings, dir);
    char *pid = mt_text("%ld", (long)o->plan->pid), *gdb = mt_text("%s", o->plan->gdb);
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
    said[0] = '\0';
    if (script != NULL && pid != NULL && gdb != NULL)
        (void)mt_attach_run(argv, timeout_ms, said, SAID_MAX);
    if (script != NULL)
        (void)unlink(script);
    mt_free(script);
    mt_free(pid);
    mt_free(gdb);
}

enum mt_rc mt_attach_by_gdb(const struct mt_attach_opts *o, const char *library,
                            const char *settings, const char *dir, struct mt_err *err)
{
    uint32_t first = o->timeout_ms < FIRST_MS ? o->timeout_ms : FIRST_MS;
    char *said = mt_malloc(SAID_MAX);
    enum mt_rc rc;
    if (said == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    run(PLACE_REACHED, o, library, settings, dir, first, said);
    if (is_not_stopped(said)) {
        run(PLACE_WAITING, o, library, settings, dir, o->timeout_ms, said);
        if (said[0] == '\0')
            (void)snprintf(said, SAID_MAX, NO_STOP);
        if (is_not_stopped(said) && o->timeout_ms > first)
            run(PLACE_REACHED, o, library, settings, dir, o->timeout_ms - first, said);
    }
    rc = result_of(said, o, err);
    mt_free(said);
    return rc;
}
