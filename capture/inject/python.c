/* python.c -- the PyTorch snapshot hook where PYTHONPATH did not bring it: python -I, -E, -S, an
 * environment that was cleaned.
 *
 * cuInit() may be called on any thread, with or without the GIL, so no Python is run here:
 * Py_AddPendingCall() asks the interpreter's main thread to do so when it is between two
 * instructions. What runs is the same file as otherwise, capture/site/_memtrace_hook.py beside this
 * library, which does nothing when it is there already. */
#define _GNU_SOURCE 1
#include "capture/inject/attach.h"
#include "capture/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096u

static char hook[PATH_BYTES];
static _Atomic bool asked, stopped;

/* What goes into the programs goes as hexadecimal: nothing in it can end the literal. */
static const char install[] =
    "try:\n"
    " (lambda f, s: exec(compile(__import__('importlib.machinery', "
    "fromlist=['x']).SourceFileLoader('_memtrace_hook', f).get_data(f), f,"
    " 'exec'), {'__name__': '_memtrace_hook', '__file__': f, '_memtrace_late': True, "
    "'_memtrace_settings': s}))"
    "(__import__('os').fsdecode(bytes.fromhex('%s')), "
    "__import__('os').fsdecode(bytes.fromhex('%s'))"
    ")\n"
    "except Exception:\n"
    " pass\n"
    /* a Ctrl-C that came just now is for the program */
    "except KeyboardInterrupt:\n"
    " __import__('_thread').interrupt_main()\n";
static const char uninstall[] = "try:\n"
                                " __import__('sys')._memtrace_hook.detach()\n"
                                "except Exception:\n"
                                " pass\n"
                                "except KeyboardInterrupt:\n"
                                " __import__('_thread').interrupt_main()\n";

static void hexadecimal(char *to, const char *from, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *to++ = hex[(unsigned char)from[i] >> 4];
        *to++ = hex[(unsigned char)from[i] & 15];
    }
    *to = '\0';
}

/* On the main thread of the interpreter, with the GIL. */
static void run_python(const char *text)
{
    int (*run)(const char *, void *) = NULL;
    void *p = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
    memcpy(&run, &p, sizeof p);
    if (run != NULL)
        (void)run(text, NULL);
}

/* Settings that were given, as lines. */
static size_t settings(char *to)
{
    size_t n = 0;
    for (const char *at = mti_env_given(); *at != '\0'; at += strlen(at) + 1) {
        size_t len = strlen(at);
        memcpy(to + n, at, len);
        to[n + len] = '\n';
        n += len + 1;
    }
    return n;
}

static int run_install(void *unused)
{
    static char lines[MTI_GIVEN_MAX + 1], path[2 * PATH_BYTES + 1], given[2 * MTI_GIVEN_MAX + 3],
        text[sizeof install + sizeof path + sizeof given]; /* one thread alone comes here */
    (void)unused;
    hexadecimal(path, hook, strlen(hook));
    hexadecimal(given, lines, settings(lines));
    (void)snprintf(text, sizeof text, install, path, given);
    run_python(text);
    return 0;
}

static int run_uninstall(void *unused)
{
    (void)unused;
    run_python(uninstall);
    atomic_store(&stopped, true);
    return 0;
}

/* <folder of this library>/site/_memtrace_hook.py */
static bool find_hook(void)
{
    static const char tail[] = "/site/_memtrace_hook.py";
    Dl_info info;
    const void *here = &hook;
    if (dladdr(here, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t n = slash != NULL ? (size_t)(slash - info.dli_fname) : 0;
    if (slash == NULL || n + sizeof tail > sizeof hook)
        return false;
    memcpy(hook, info.dli_fname, n);
    memcpy(hook + n, tail, sizeof tail);
    return access(hook, R_OK) == 0;
}

/* False: there is no Python here, or its queue is full. */
static bool pending(int (*f)(void *))
{
    int (*add)(int (*)(void *), void *) = NULL, (*ready)(void) = NULL;
    void *p = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    void *q = p != NULL ? dlsym(RTLD_DEFAULT, "Py_IsInitialized") : NULL;
    memcpy(&add, &p, sizeof p);
    memcpy(&ready, &q, sizeof q);
    return add != NULL && ready != NULL && ready() && add(f, NULL) == 0;
}

bool mti_python_start(void)
{
    int saved = errno;
    bool ok =
        mti_set.torch && !atomic_exchange(&asked, true) && find_hook() && pending(run_install);
    errno = saved;
    return ok;
}

void mti_python_stop(void)
{
    int saved = errno;
    atomic_store(&stopped, !atomic_exchange(&asked, false) || !pending(run_uninstall));
    errno = saved;
}

bool mti_python_stopped(void) { return atomic_load(&stopped); }
