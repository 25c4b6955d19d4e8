/* attach_thread.c -- a thread of another process: stopped, made to call functions, and let go as it
 * was.
 *
 * ptrace(2), PTRACE_SEIZE: the process gets no signal by that, and no other thread is stopped. All
 * registers are saved and given back, those of vectors and tiles too: the kernel takes the extended
 * ones only whole, and their size is the machine's (11,008 bytes with AMX, of which debuggers
 * before 2023 know 2,696, and so cannot make a call there). A function returns to an instruction of
 * the C library that stops the thread; it is looked for, not written. */
#define _GNU_SOURCE 1
#include "capture/attach_call.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#ifndef NT_ARM_SVE
#define NT_ARM_SVE 0x405
#endif
#define STEP_NS 200000
#define RED_ZONE 128u /* below its stack a function of x86-64 may have data */

typedef struct user_regs_struct general;

/* Which registers there are beside the general ones; the second set has the first in it where the
 * machine has both. */
#if defined(__x86_64__)
static const int sets[MT_THREAD_SETS] = {NT_X86_XSTATE, 0};
#elif defined(__aarch64__)
static const int sets[MT_THREAD_SETS] = {NT_PRFPREG, NT_ARM_SVE};
#else
static const int sets[MT_THREAD_SETS] = {0, 0};
#endif

static bool get(pid_t tid, int set, void *bytes, size_t *n)
{
    struct iovec v = {bytes, *n};
    if (ptrace(PTRACE_GETREGSET, tid, (uintptr_t)set, &v) != 0)
        return false;
    *n = v.iov_len;
    return true;
}

static bool put(pid_t tid, int set, void *bytes, size_t n)
{
    struct iovec v = {bytes, n};
    return ptrace(PTRACE_SETREGSET, tid, (uintptr_t)set, &v) == 0;
}

/* ---- what differs between processors ---- */

#if defined(__x86_64__)
static uint64_t pc_of(const general *r) { return r->rip; }
static uint64_t sp_of(const general *r) { return r->rsp; }
static uint64_t result_of(const general *r) { return r->rax; }
/* The stop is behind the instruction of one byte. */
static bool is_at(const general *r, uint64_t trap) { return r->rip == trap + 1; }

/* orig_rax -1: the kernel must not take it for the call that it was stopped in, and go back to it
 */
static bool set_up(general *r, uint64_t function, const uint64_t a[6], uint64_t stack,
                   const struct mt_thread *t)
{
    uint64_t back = t->trap;
    r->rsp = stack - 8;
    r->rip = function;
    r->rdi = a[0];
    r->rsi = a[1];
    r->rdx = a[2];
    r->rcx = a[3];
    r->r8 = a[4];
    r->r9 = a[5];
    r->rax = 0;
    r->orig_rax = (unsigned long long)-1;
    r->eflags &= ~0x500ull; /* forward, and not step by step */
    return pwrite(t->memory, &back, sizeof back, (off_t)r->rsp) == (ssize_t)sizeof back;
}
static bool forget_call(pid_t tid)
{
    (void)tid;
    return true;
}
#elif defined(__aarch64__)
static uint64_t pc_of(const general *r) { return r->pc; }
static uint64_t sp_of(const general *r) { return r->sp; }
static uint64_t result_of(const general *r) { return r->regs[0]; }
static bool is_at(const general *r, uint64_t trap) { return r->pc == trap; }

static bool set_up(general *r, uint64_t function, const uint64_t a[6], uint64_t stack,
                   const struct mt_thread *t)
{
    for (int i = 0; i < 6; i++)
        r->regs[i] = a[i];
    r->regs[29] = 0;
    r->regs[30] = t->trap;
    r->sp = stack;
    r->pc = function;
    return true;
}
static bool forget_call(pid_t tid)
{
    int none = -1;
    return put(tid, NT_ARM_SYSTEM_CALL, &none, sizeof none);
}
#else /* mt_attach_look() says so */
static uint64_t pc_of(const general *r) { return (void)r, 0; }
static uint64_t sp_of(const general *r) { return (void)r, 0; }
static uint64_t result_of(const general *r) { return (void)r, 0; }
static bool is_at(const general *r, uint64_t trap) { return (void)r, (void)trap, false; }
static bool set_up(general *r, uint64_t function, const uint64_t a[6], uint64_t stack,
                   const struct mt_thread *t)
{
    return (void)r, (void)function, (void)a, (void)stack, (void)t, false;
}
static bool forget_call(pid_t tid) { return (void)tid, false; }
#endif

/* ---- a thread ---- */

bool mt_thread_new(struct mt_thread *t, int memory, uint64_t trap)
{
    memset(t, 0, sizeof *t);
    t->memory = memory;
    t->trap = trap;
    t->general = mt_calloc(1, sizeof(general));
    bool ok = t->general != NULL;
    for (size_t i = 0; i < MT_THREAD_SETS && ok; i++)
        ok = (t->sets[i].bytes = mt_calloc(1, MT_THREAD_SET_MAX)) != NULL;
    if (!ok)
        mt_thread_done(t);
    return ok;
}

void mt_thread_done(struct mt_thread *t)
{
    mt_free(t->general);
    for (size_t i = 0; i < MT_THREAD_SETS; i++)
        mt_free(t->sets[i].bytes);
    memset(t, 0, sizeof *t);
}

static bool is_event(int status) { return (unsigned)status >> 16 == PTRACE_EVENT_STOP; }

/* Its own signals are delivered, as without us. False: not within that time. */
static bool wait_for_stop(pid_t tid, unsigned ms, bool *gone)
{
    const struct timespec step = {0, STEP_NS};
    const int64_t until = mt_ms_now() + ms;
    int status;
    *gone = false;
    for (;;) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
        if ((got < 0 && errno != EINTR) || (got == tid && !WIFSTOPPED(status))) {
            *gone = true;
            return false;
        }
        if (got == tid && is_event(status))
            return WSTOPSIG(status) == SIGTRAP; /* else the whole process is stopped (Ctrl-Z) */
        if (got == tid)
            (void)ptrace(PTRACE_CONT, tid, NULL, (uintptr_t)WSTOPSIG(status));
        else if (mt_ms_now() >= until)
            return false;
        else
            (void)nanosleep(&step, NULL);
    }
}

enum mt_stopped mt_thread_stop(struct mt_thread *t, pid_t tid)
{
    t->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno == ESRCH ? MT_NOT_STOPPED : MT_STOP_REFUSED;
    /* else it has ended */
    return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 ? MT_STOP_LATE : MT_NOT_STOPPED;
}

enum mt_stopped mt_thread_wait(struct mt_thread *t, unsigned ms)
{
    size_t n = sizeof(general);
    bool gone;
    if (!wait_for_stop(t->tid, ms, &gone))
        /* one that the whole process's stop (Ctrl-Z) has stopped can be let go; another one not */
        return gone || ptrace(PTRACE_DETACH, t->tid, NULL, NULL) == 0 ? MT_NOT_STOPPED
                                                                      : MT_STOP_LATE;
    if (get(t->tid, NT_PRSTATUS, t->general, &n) && n == sizeof(general))
        return MT_STOPPED;
    mt_thread_go(t); /* a program of 32 bits, for one */
    return MT_NOT_STOPPED;
}

void mt_thread_at(const struct mt_thread *t, uint64_t *pc, uint64_t *sp)
{
    *pc = pc_of(t->general);
    *sp = sp_of(t->general);
}

void mt_thread_go(const struct mt_thread *t) { (void)ptrace(PTRACE_DETACH, t->tid, NULL, NULL); }

/* All signals wait but those that a fault of the call itself makes. */
static uint64_t all_but_faults(void)
{
    static const int faults[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    uint64_t all = UINT64_MAX;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        all &= ~(UINT64_C(1) << (faults[i] - 1));
    return all;
}

bool mt_thread_take(struct mt_thread *t)
{
    uint64_t all = all_but_faults();
    for (size_t i = 0; i < MT_THREAD_SETS; i++) {
        t->sets[i].n = MT_THREAD_SET_MAX;
        if (sets[i] == 0 || !get(t->tid, sets[i], t->sets[i].bytes, &t->sets[i].n))
            t->sets[i].n = 0;
    }
    t->stack = (sp_of(t->general) - RED_ZONE) & ~UINT64_C(15);
    return t->sets[0].n > 0 &&
           ptrace(PTRACE_GETSIGMASK, t->tid, sizeof t->signals, &t->signals) == 0 &&
           ptrace(PTRACE_SETSIGMASK, t->tid, sizeof all, &all) == 0;
}

/* Until it stops where the call returns to. */
static bool comes_back(const struct mt_thread *t, general *r)
{
    for (;;) {
        size_t n = sizeof *r;
        int status, signal_number;
        pid_t got = waitpid(t->tid, &status, __WALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != t->tid || !WIFSTOPPED(status))
            return false;
        signal_number = is_event(status) ? 0 : WSTOPSIG(status);
        if (signal_number != 0 && (all_but_faults() & UINT64_C(1) << (signal_number - 1)) == 0)
            return signal_number == SIGTRAP && get(t->tid, NT_PRSTATUS, r, &n) && is_at(r, t->trap);
        if (ptrace(PTRACE_CONT, t->tid, NULL, (uintptr_t)signal_number) != 0)
            return false;
    }
}

bool mt_thread_call(struct mt_thread *t, uint64_t function, const uint64_t arguments[6],
                    uint64_t *result)
{
    general r;
    memcpy(&r, t->general, sizeof r);
    if (!set_up(&r, function, arguments, t->stack, t) || !put(t->tid, NT_PRSTATUS, &r, sizeof r) ||
        !forget_call(t->tid) || ptrace(PTRACE_CONT, t->tid, NULL, NULL) != 0 || !comes_back(t, &r))
        return false;
    *result = result_of(&r);
    return true;
}

void mt_thread_give_back(const struct mt_thread *t)
{
    uint64_t signals = t->signals;
    for (size_t i = 0; i < MT_THREAD_SETS; i++)
        if (t->sets[i].n > 0)
            (void)put(t->tid, sets[i], t->sets[i].bytes, t->sets[i].n);
    (void)put(t->tid, NT_PRSTATUS, t->general, sizeof(general));
    (void)ptrace(PTRACE_SETSIGMASK, t->tid, sizeof signals, &signals);
}
