/* attach_gdb.c -- loads the recorder into a process by gdb.
 *
 * A call made from outside must not come while the thread that makes it holds a lock of the
 * allocator or of the loader. So gdb waits until a thread enters a function in which that is not
 * so: of Python's allocator, or where it gives its lock away; in other programs, of the C library's
 * allocator, when the loader is not who calls it. There it loads the library, and calls what only
 * starts a thread. */
#include "capture/attach.h"
#include "capture/inject/attach.h"
#include "capture/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 65536u
#define RESULT "memtrace: result "
#define NOT_LOADED "memtrace: not loaded: "
#define NO_STOP "memtrace: no stop"

static const char *const in_python[] = {"PyObject_Malloc", "PyObject_Free",     "PyMem_Malloc",
                                        "PyMem_Free",      "PyEval_SaveThread", NULL};
static const char *const in_c[] = {"malloc", "calloc", "realloc", "free", NULL};

/* As a string of gdb's, without its quotes. */
static void put_string(FILE *f, const char *s)
{
    for (; *s != '\0'; s++)
        if ((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z') ||
            strchr("/._-=", *s) != NULL)
            (void)fputc(*s, f);
        else
            (void)fprintf(f, "\\%03o", (unsigned char)*s);
}

/* Where it stops. The caller of a function is at the stack's top, or in its own register. */
static void put_places(FILE *f, const struct mt_attach_plan *p)
{
    const char *const *names = p->python ? in_python : in_c;
    unsigned n = 0;
#if defined(__aarch64__)
    static const char caller[] = "$x30";
#else
    static const char caller[] = "*(unsigned long *)$sp";
#endif
    for (; names[n] != NULL; n++)
        if (p->python)
            (void)fprintf(f, "break %s\n", names[n]);
        else
            (void)fprintf(f, "break *%s if %s < 0x%.*s || %s >= 0x%s\n", names[n], caller,
                          (int)strcspn(p->loader, "-"), p->loader, caller,
                          p->loader + strcspn(p->loader, "-") + 1);
    (void)fprintf(f, "commands 1-%u\nsilent\nset $hit = 1\nend\n", n);
}

static void put_script(FILE *f, const struct mt_attach_plan *p, const char *library,
                       const char *settings)
{
    (void)fputs("set breakpoint pending off\n"
                "set confirm off\n"
                "handle all nostop noprint pass\n"
                "handle SIGINT stop noprint nopass\n" /* by which memtrace ends the wait */
                "sharedlibrary /libc[.-]\n"
                "sharedlibrary /libdl[.-]\n"
                "sharedlibrary /libpython\n"
                "set $hit = 0\n",
                f);
    put_places(f, p);
    (void)fputs("continue\ndelete\nif $hit == 1\n"
                "set $library = ((void *(*)(const char *, int))dlopen)(\"",
                f);
    put_string(f, library);
    (void)fputs("\", 2)\nif $library == 0\nprintf \"" NOT_LOADED
                "%s\\n\", ((char *(*)(void))dlerror)()\nelse\n"
                "set $attach = ((void *(*)(void *, const char *))dlsym)($library, "
                "\"memtrace_attach\")\n"
                "printf \"" RESULT "%d\\n\", ((int (*)(const char *))$attach)(\"",
                f);
    put_string(f, settings);
    (void)fputs("\")\nend\nelse\necho " NO_STOP "\\n\nend\ndetach\nquit\n", f);
}

static char *write_script(const struct mt_attach_plan *p, const char *library, const char *settings,
                          const char *dir)
{
    char *path = mt_path_join(dir, "mt-gdb.part");
    FILE *f = path != NULL ? fopen(path, "wxe") : NULL;
    bool ok = f != NULL;
    if (ok) {
        put_script(f, p, library, settings);
        ok = ferror(f) == 0;
        ok &= fclose(f) == 0;
    }
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
    if (strstr(said, NO_STOP) != NULL)
        return mt_fail(
            err, MT_EIO,
            "process %ld came to no place where it can be stopped safely within %u s "
            "(it waits for something, or computes in one function); nothing was changed. "
            "Try again, or with a longer --timeout",
            (long)o->plan->pid, (o->timeout_ms + 500) / 1000);
    return mt_fail(err, MT_EIO, "gdb could not attach to process %ld: %s", (long)o->plan->pid,
                   last_words(said, line, sizeof line));
}

enum mt_rc mt_attach_by_gdb(const struct mt_attach_opts *o, const char *library,
                            const char *settings, const char *dir, struct mt_err *err)
{
    char *script = write_script(o->plan, library, settings, dir), *said = mt_malloc(SAID_MAX);
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
                    (char[]){"-p"},
                    pid,
                    (char[]){"-x"},
                    script,
                    NULL};
    enum mt_rc rc;
    if (said == NULL || pid == NULL || gdb == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    else if (script == NULL)
        rc = mt_fail(err, MT_EIO, "%s: cannot be written", dir);
    else {
        (void)mt_attach_run(argv, o->timeout_ms, said, SAID_MAX);
        rc = result_of(said, o, err);
    }
    if (script != NULL)
        (void)unlink(script);
    mt_free(script);
    mt_free(said);
    mt_free(pid);
    mt_free(gdb);
    return rc;
}
