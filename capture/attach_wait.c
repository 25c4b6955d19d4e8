/* attach_wait.c -- whether a process waits in the kernel, and where: then no thread of it may come
 * to a place where it can be stopped, but its main thread is at one. */
#include "capture/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* Calls that wait for something outside of the process, or for other threads: none is made by the
 * allocator or the loader. Those two wait for their own locks by a plain FUTEX_WAIT; semaphores and
 * conditions do by the one with a set of bits. */
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

bool mt_attach_waits(pid_t pid, uint64_t *pc, uint64_t *sp)
{
    char text[512];
    size_t got;
    long number;
    unsigned long args[6], at[2];
    if (!mt_process_read(pid, "syscall", text, sizeof text, &got) ||
        sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &number, &args[0], &args[1], &args[2],
               &args[3], &args[4], &args[5], &at[0], &at[1]) != 9)
        return false; /* "running" */
    *sp = at[0];
    *pc = at[1];
    return is_wait(number, args[1]);
}
