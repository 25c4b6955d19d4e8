#!/usr/bin/env python3
"""Jobs that do what libraries inside them dread: tiny stacks, signal handlers, closed descriptors, fork under load, exit in the middle of
other threads' calls, calls in destructors. Each must behave as it does without the library, and what it did must be recorded."""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

JOB = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*allocate)(uint64_t *, size_t), (*release)(uint64_t);
static void (*mark)(const char *);
static void *context;
static _Atomic uint64_t *calls; /* completed; shared, so that a child's count too */
static volatile sig_atomic_t stop;

static void load(void)
{
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!l)
        exit(99);
    *(void **)&init = dlsym(l, "cuInit");
    *(void **)&retain = dlsym(l, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(l, "cuCtxSetCurrent");
    *(void **)&allocate = dlsym(l, "cuMemAlloc_v2");
    *(void **)&release = dlsym(l, "cuMemFree_v2");
}
static void start(void)
{
    if (init(0) || retain(&context, 0))
        exit(98);
    calls[0]++;
    set(context);
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *l = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (l)
        *(void **)&mark = dlsym(l, "memtrace_mark");
}
static void pairs(int n)
{
    uint64_t p = 0;
    for (int i = 0; i < n && !stop; i++) {
        allocate(&p, 4096 + (size_t)i);
        calls[0]++;
        release(p);
        calls[0]++;
    }
}
static void *worker(void *arg)
{
    set(context);
    pairs((int)(intptr_t)arg);
    return NULL;
}
static void *forever(void *arg)
{
    (void)arg;
    set(context);
    for (;;) {
        pairs(100);
        usleep(300);
    }
    return NULL;
}
static void *first(void *arg)
{
    (void)arg;
    start();
    pairs(100);
    return NULL;
}
static void threads(pthread_t *t, int n, size_t stack, void *(*f)(void *), int each)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    if (stack && pthread_attr_setstacksize(&a, stack))
        exit(97);
    for (int i = 0; i < n; i++)
        if (pthread_create(&t[i], &a, f, (void *)(intptr_t)each))
            exit(96);
}
static void join(pthread_t *t, int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}
static void on_alarm(int s)
{
    (void)s;
    int e = errno;
    if (mark)
        mark("in a handler");
    errno = e;
}
static void on_term(int s)
{
    (void)s;
    exit(5);
}
static void late(void)
{
    set(context);
    pairs(50);
    write(1, "late\n", 5);
}
static void __attribute__((destructor)) later(void)
{
    if (getenv("LATER") && context) {
        pairs(50);
        write(1, "later\n", 6);
    }
}

int main(int argc, char **argv)
{
    pthread_t t[8];
    const char *what = argc > 1 ? argv[1] : "";
    int fd = open(argv[2], O_RDWR);
    calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    load();
    if (!strcmp(what, "tiny-stacks")) {
        start();
        threads(t, 8, PTHREAD_STACK_MIN > 32768 ? PTHREAD_STACK_MIN : 32768, worker, 500);
        join(t, 8);
    } else if (!strcmp(what, "init-on-a-tiny-stack")) {
        /* cuInit itself, and so the start of the library. */
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 131072);
        if (pthread_create(t, &a, first, NULL))
            return 95;
        join(t, 1);
    } else if (!strcmp(what, "handlers")) {
        start();
        struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &sa, NULL);
        struct itimerval it = {{0, 200}, {0, 200}};
        setitimer(ITIMER_REAL, &it, NULL);
        threads(t, 2, 0, worker, 15000);
        pairs(15000);
        join(t, 2);
        it = (struct itimerval){{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &it, NULL);
    } else if (!strcmp(what, "exit-in-a-handler")) {
        start();
        signal(SIGALRM, on_term);
        struct itimerval it = {{0, 0}, {0, 50000}};
        setitimer(ITIMER_REAL, &it, NULL);
        for (;;) { /* mostly in calls, and few enough of them to look at all */
            pairs(100);
            usleep(100);
        }
    } else if (!strcmp(what, "exit-under-a-lock")) {
        /* The stand-in raises SIGTERM with CUPTI's lock held; without it the job itself does. */
        start();
        signal(SIGTERM, on_term);
        pairs(200);
        raise(SIGTERM);
    } else if (!strcmp(what, "closed-files")) {
        start();
        pairs(1000);
        for (int i = 3; i < 1024; i++)
            close(i);
        int own[20];
        char name[20][32];
        for (int i = 0; i < 20; i++) {
            snprintf(name[i], sizeof name[i], "/tmp/mtXXXXXX");
            own[i] = mkstemp(name[i]);
        }
        pairs(20000);
        int bad = 0;
        for (int i = 0; i < 20; i++) {
            bad += lseek(own[i], 0, SEEK_END) != 0;
            close(own[i]);
            unlink(name[i]);
        }
        printf("%d files that are not empty\n", bad);
    } else if (!strcmp(what, "fork-under-load")) {
        start();
        threads(t, 3, 0, forever, 0);
        for (int i = 0; i < 60; i++) {
            pid_t child = fork();
            if (child == 0) {
                uint64_t p = 0;
                allocate(&p, 4096); /* the driver refuses; whatever it says */
                if (mark)
                    mark("in a child");
                if (i % 3 == 0)
                    _exit(0);
                if (i % 3 == 1)
                    exit(0);
                execl("/bin/true", "true", (char *)NULL);
            }
            int status = 1;
            waitpid(child, &status, 0);
            if (status)
                printf("child %d: status %x\n", i, status);
        }
        stop = 1;
        fflush(stdout);
        _exit(0);
    } else if (!strcmp(what, "exit-under-load")) {
        start();
        threads(t, 4, 0, forever, 0);
        usleep(50000);
        puts("leaving");
        exit(6);
    } else if (!strcmp(what, "calls-at-exit")) {
        atexit(late); /* before the library's own: runs after them */
        start();
        pairs(100);
    } else if (!strcmp(what, "quick-exit")) {
        start();
        pairs(100);
        quick_exit(7);
    } else if (!strcmp(what, "cancelled")) {
        start();
        threads(t, 4, 0, forever, 0);
        usleep(30000);
        for (int i = 0; i < 4; i++)
            pthread_cancel(t[i]);
        stop = 0;
        pairs(500);
        _exit(0);
    } else if (!strcmp(what, "changed-directory")) {
        start();
        chdir("/");
        pairs(30000);
    } else if (!strcmp(what, "no-more-files")) {
        start();
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_NOFILE, &none);
        pairs(20000);
    } else if (!strcmp(what, "many-threads")) {
        start();
        for (int round = 0; round < 100; round++) {
            threads(t, 8, 65536, worker, 5);
            join(t, 8);
        }
    } else if (!strcmp(what, "errno")) {
        start();
        int wrong = 0;
        for (int i = 0; i < 20000; i++) {
            uint64_t p;
            errno = 77;
            wrong += allocate(&p, 4096) != 0 || errno != 77;
            wrong += release(p) != 0 || errno != 77;
            calls[0] += 2;
        }
        printf("%d wrong\n", wrong);
    } else if (!strcmp(what, "vfork")) {
        start();
        pairs(100);
        for (int i = 0; i < 20; i++) {
            pid_t child = vfork();
            if (child == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(94);
            }
            int status = 1;
            waitpid(child, &status, 0);
            if (status)
                printf("child %d: status %x\n", i, status);
            pairs(10);
        }
    } else {
        return 93;
    }
    return 0;
}
"""

# name, may calls be a little fewer than records (threads that are in a call when the process ends), attempts
JOBS = [("tiny-stacks", 0, 1), ("init-on-a-tiny-stack", 0, 1), ("handlers", 0, 1), ("exit-in-a-handler", 2, 6), ("exit-under-a-lock", 2, 1), ("closed-files", 0, 1),
        ("fork-under-load", 4, 2), ("exit-under-load", 8, 6), ("calls-at-exit", 0, 1), ("quick-exit", 0, 1), ("cancelled", 8, 2),
        ("changed-directory", 0, 1), ("no-more-files", 0, 1), ("many-threads", 0, 1), ("errno", 0, 1), ("vfork", 0, 1)]


def one(program, name, slack, attempt):
    counters = [kit.scratch() / "count" for _ in range(2)]
    for path in counters:
        path.write_bytes(bytes(4096))
    later = {"calls-at-exit": {"LATER": "1"}, "exit-under-a-lock": {"FAKE_CUPTI": "term:100"}}.get(name, {})
    plain = kit.run([program, name, counters[0]], injected=False, timeout=60, **later)
    done = kit.run([program, name, counters[1]], timeout=60, MEMTRACE_FLUSH_MS=30, MEMTRACE_MAX_MB=0, **later)
    what = name + (f", attempt {attempt}" if attempt else "")
    kit.note(f"{what}: {plain.seconds:.2f} s without the library, {done.seconds:.2f} s with it")
    kit.check(f"{what}: as without the library", (done.status, done.out, done.err) == (plain.status, plain.out, plain.err), plain.told(), done.told(),
              plain.out[-200:], done.out[-200:])
    p = done.process()
    made = int.from_bytes(counters[1].read_bytes()[:8], "little")
    if not kit.check(f"{what}: a whole trace", p is not None and not kit.damage(done.trace), done.trace.problems, made):
        return
    dropped = max(p.losses().get("records", (0, 0))[0], p.dropped, p.spool["dropped"] if p.spool else 0)
    marks = len(p.of("mark"))
    if marks or dropped:
        kit.note(f"{what}: {made} calls made, {len(p.calls)} recorded, {dropped} records dropped, {marks} marks")
    if name in ("exit-in-a-handler", "exit-under-a-lock", "exit-under-load"):
        # What other threads do after the exit handlers ran is recorded or counted.
        kit.check(f"{what}: nothing vanished", made <= len(p.calls) + dropped, made, len(p.calls), dropped)
    elif name == "handlers":
        # A mark inside a call of the same thread is dropped and counted; the calls are all there.
        kit.check(f"{what}: every call is recorded", len(p.calls) == made and marks > 20, made, len(p.calls), dropped)
    elif name == "no-more-files":
        kit.check(f"{what}: nothing vanished", made <= len(p.calls) + dropped, made, len(p.calls), dropped)
    else:
        kit.check(f"{what}: every call is recorded", made <= len(p.calls) <= made + slack and not dropped, made, len(p.calls), dropped)


def main():
    kit.need(kit.LIB, kit.MOCK / "cuda13" / "libcuda.so.1")
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not cc:
        kit.skip_all("no C compiler")
    if kit.SANITIZED:
        kit.skip_all("the job would have to be built with the sanitizer")
    program = kit.scratch() / "job"
    source = program.with_suffix(".c")
    source.write_text(JOB)
    built = subprocess.run([cc, "-std=gnu17", "-O1", "-w", "-o", program, source, "-ldl", "-lpthread"], capture_output=True, text=True, check=False)
    if kit.check("the job compiles", built.returncode == 0, built.stderr):
        for name, slack, attempts in JOBS:
            if len(sys.argv) < 2 or name in sys.argv[1:]:
                for attempt in range(attempts):
                    one(program, name, slack, attempt)
    kit.done()


main()
