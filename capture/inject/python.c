/* python.c -- the PyTorch snapshot hook where PYTHONPATH did not bring it: python -I, -E, -S, an
 * environment that was cleaned.
 *
 * cuInit() may be called on any thread, with or without the GIL, so no Python is run here:
 * Py_AddPendingCall() asks the interpreter's main thread to do so when it is between two
 * instructions. What runs is the same file as otherwise, capture/site/_memtrace_hook.py beside this
 * library, which does nothing when it is there already. */
#define _GNU_SOURCE 1
#include "capture/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096u

static char hook[PATH_BYTES];
static _Atomic bool asked;

/* The path goes into the program as hexadecimal: nothing in it can end the literal. */
static const char program[] =
    "try:\n"
    " (lambda f: exec(compile(__import__('importlib.machinery', "
    "fromlist=['x']).SourceFileLoader('_memtrace_hook', f).get_data(f), f,"
    " 'exec'), {'__name__': '_memtrace_hook', '__file__': f, '_memtrace_late': True}))"
    "(__import__('os').fsdecode(bytes.fromhex('%s')))\n"
    "except Exception:\n"
    " pass\n"
    /* a Ctrl-C that came just now is for the program */
    "except KeyboardInterrupt:\n"
    " __import__('_thread').interrupt_main()\n";

/* On the main thread of the interpreter, with the GIL. */
static int run_hook(void *unused)
{
    static const char hex[] = "0123456789abcdef";
    char path[2 * PATH_BYTES + 1], text[sizeof program + sizeof path];
    int (*run)(const char *, void *) = NULL;
    void *p = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
    size_t n = 0;
    (void)unused;
    memcpy(&run, &p, sizeof p);
    if (run == NULL)
        return 0;
    for (const char *c = hook; *c != '\0'; c++) {
        path[n++] = hex[(unsigned char)*c >> 4];
        path[n++] = hex[(unsigned char)*c & 15];
    }
    path[n] = '\0';
    snprintf(text, sizeof text, program, path);
    (void)run(text, NULL);
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

void mti_python_start(void)
{
    int saved = errno;
    int (*add)(int (*)(void *), void *) = NULL, (*ready)(void) = NULL;
    void *p = mti_set.torch ? dlsym(RTLD_DEFAULT, "Py_AddPendingCall") : NULL;
    void *q = p != NULL ? dlsym(RTLD_DEFAULT, "Py_IsInitialized") : NULL;
    memcpy(&add, &p, sizeof p);
    memcpy(&ready, &q, sizeof q);
    if (add != NULL && ready != NULL && ready() && !atomic_exchange(&asked, true) && find_hook())
        (void)add(run_hook, NULL); /* -1: its queue is full; then there is no snapshot */
    errno = saved;
}
