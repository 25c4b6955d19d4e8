/* memtrace.h -- phases marked by the program itself, for `memtrace capture`.
 *
 *     #include <memtrace.h>
 *     memtrace_push("rollout");   ...   memtrace_pop();
 *     memtrace_mark("weights loaded");
 *
 * Header only: nothing to link (before glibc 2.34: -ldl), C99 or C++. In a program that is not
 * being captured the functions do nothing, after one look at the environment. Ranges nest per
 * thread. Any thread may call them; names are copied.
 *
 * Python needs no package:
 *
 *     import ctypes, os
 *     mt = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]) if "MEMTRACE_SPOOL" in os.environ else
 * None if mt: mt.memtrace_push(b"rollout")
 *     ...
 *     if mt: mt.memtrace_pop()
 *
 * A program that can have NVTX (the nvtx package, torch.cuda.nvtx, nvtx3/nvToolsExt.h) may use that
 * instead: its ranges are recorded. */
#ifndef MEMTRACE_H
#define MEMTRACE_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct memtrace_calls_ {
    void (*push)(const char *);
    void (*pop)(void);
    void (*mark)(const char *);
};

/* The library that is injected anyway, found by the variables that `memtrace capture` sets; another
 * tool's is not touched. */
static inline const struct memtrace_calls_ *memtrace_calls_(void)
{
    static struct memtrace_calls_ calls;
    static int state; /* 0: not looked yet, 1: none, 2: there */
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (now == 0) {
        const char *spool = getenv("MEMTRACE_SPOOL"), *path = getenv("CUDA_INJECTION64_PATH");
        struct memtrace_calls_ found = {0, 0, 0};
        void *library, *p;
        now = 1;
        if (spool != NULL && spool[0] != '\0' && path != NULL &&
            (library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) != NULL) {
            p = dlsym(library, "memtrace_push");
            memcpy(&found.push, &p, sizeof p);
            p = dlsym(library, "memtrace_pop");
            memcpy(&found.pop, &p, sizeof p);
            p = dlsym(library, "memtrace_mark");
            memcpy(&found.mark, &p, sizeof p);
            now = found.push != 0 && found.pop != 0 && found.mark != 0 ? 2 : 1;
        }
        if (now == 2) { /* two threads may both look: both find the same */
            __atomic_store_n(&calls.push, found.push, __ATOMIC_RELAXED);
            __atomic_store_n(&calls.pop, found.pop, __ATOMIC_RELAXED);
            __atomic_store_n(&calls.mark, found.mark, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    }
    return now == 2 ? &calls : (const struct memtrace_calls_ *)0;
}

static inline void memtrace_push(const char *name)
{
    const struct memtrace_calls_ *c = memtrace_calls_();
    if (c != NULL)
        c->push(name);
}

static inline void memtrace_pop(void)
{
    const struct memtrace_calls_ *c = memtrace_calls_();
    if (c != NULL)
        c->pop();
}

static inline void memtrace_mark(const char *name)
{
    const struct memtrace_calls_ *c = memtrace_calls_();
    if (c != NULL)
        c->mark(name);
}

#ifdef __cplusplus
}
#endif

#endif
