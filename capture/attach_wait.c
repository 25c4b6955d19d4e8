/* attach_wait.c -- whether a process waits in the kernel, and where: then no thread of it may come
 * to a place where it can be stopped, but its main thread is at one. */
#include "capture/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* Calls that wait for something outside of the process, or for other threads: none is made by the
 * allocator, and the loader, which reads files, makes its own. Those two wait for their own locks
 * by a plain FUTEX_WAIT; semaphores and conditions do by the one with a set of bits. */
static bool is_wait(long number, unsigned long op)
{
    switch (number) {
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_read: return true;
    case SYS_futex: return (op & (unsigned long)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    default: return false;
    }
}

/* "7 0x7f01 0x2 ... SP PC": the call, its six arguments, and where it was made; "running". */
bool mt_attach_waits(const struct mt_attach_plan *p, uint64_t *pc, uint64_t *sp)
{
    char text[512], *at = text, *end;
    unsigned long long v[9];
    size_t got;
    if (!mt_process_read(p->pid, "syscall", text, sizeof text, &got))
        return false;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++, at = end) {
        v[i] = strtoull(at, &end, i == 0 ? 10 : 16);
        if (end == at)
            return false;
    }
    *sp = v[7];
    *pc = v[8];
    if (*pc >= p->loader_from && *pc < p->loader_to)
        return false; /* it reads a library, and has not finished with its lists */
    return is_wait((long)v[0], (unsigned long)v[2]);
}
