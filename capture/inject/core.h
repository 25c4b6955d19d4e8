/* core.h -- what life.c, spool.c, writer.c and emit.c know of each other; no other part of the
 * library includes it.
 *
 * Locks, in the order in which they may be taken: start (life.c), strings (emit.c), drain
 * (writer.c), spool (spool.c). fork() takes start, strings and spool, so that the child finds them
 * free; the drain lock may be held for as long as a disk takes, and is simply made anew in the
 * child. */
#ifndef MTI_CORE_H
#define MTI_CORE_H

#include "capture/inject/inject.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* Per thread. initial-exec: no allocation at first use, so also safe in a signal handler. */
struct mti_thread {
    /* mti_uid for which this thread was introduced; also says that tid is current */
    uint64_t named;
    uint32_t tid;
    int saved_errno;
    unsigned char inside; /* between mti_enter() and mti_leave() */
    /* holds, or is about to take, a lock of the core: whoever comes now is a signal handler */
    unsigned char held;
    unsigned char strings;   /* the same for the lock of emit.c */
    unsigned char urgent;    /* between mti_urgent(true) and mti_urgent(false) */
    unsigned char starting;  /* in mti_start() */
    unsigned char writer;    /* is the writer thread */
    unsigned char fork_took; /* which locks the fork handler took: 1 start, 2 strings, 4 spool */
};
extern _Thread_local struct mti_thread mti_thread;

/* Keeps the compiler from moving the marks above around a lock that a signal handler may find. */
#define mti_signal_fence() atomic_signal_fence(memory_order_seq_cst)

/* ---- life.c ---- */

/* What an errno is called; neither the locale nor a lock has a part in it. */
const char *mti_why(int error);

/* Work on files in a thread of the job: no signal handler runs meanwhile, a full disk quota raises
 * no SIGXFSZ, nobody is cancelled. */
struct mti_quiet {
    sigset_t old;
    int cancel;
    bool had_xfsz, active;
};
void mti_quiet_begin(struct mti_quiet *q);
void mti_quiet_end(const struct mti_quiet *q);

/* Starts recording in a process that runs already, also after mti_writer_leave(). On a thread of
 * ours. */
bool mti_start_again(void);

void mti_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns);
void mti_futex_wake(_Atomic uint32_t *word);

/* ---- spool.c ---- */

#define MTI_SLOT (256u << 10)
#define MTI_SLOTS 8u
#define MTI_ACT (128u << 10)
#define MTI_ACTS 32u

/* spool_file.c: where the spool is mapped. */
struct mti_map {
    unsigned char *base;
    size_t bytes;
    bool on_disk; /* else private memory: gone with the process */
    int why;      /* errno of that */
};
extern struct mti_map mti_map;
extern _Atomic(_Atomic int *) mti_gate;
static inline bool mti_map_ready(void)
{
    return atomic_load_explicit(atomic_load_explicit(&mti_gate, memory_order_acquire),
                                memory_order_acquire) == 1;
}
void mti_spool_reset(void); /* spool.c: as at the start of a process */
void mti_drop(void);        /* counts one record that could not be made */

/* A sealed chunk; it stays as it is until mti_spool_free_slot(). */
struct mti_chunk {
    const unsigned char *p; /* header and records */
    uint32_t bytes, records;
    uint64_t seq;
    unsigned slot;
    bool urgent; /* some of it was written between mti_urgent(true) and mti_urgent(false) */
};
/* the full chunk with the lowest number; false = none */
bool mti_spool_oldest(struct mti_chunk *c);
void mti_spool_free_slot(const struct mti_chunk *c);
/* closes the open chunk if it is worth a member; force = if it has any record */
void mti_spool_seal(bool force);
bool mti_spool_empty(void); /* nothing is in the spool that is not in the .gz */
bool mti_spool_on_disk(void);
void mti_spool_check_file(void); /* the job may have closed our descriptor: take the lock again */
/* everything is in the .gz: removes the spool file; records are written at once from now on */
void mti_spool_unlink(void);
/* nothing is recorded any more; the mapping stays for threads that are inside, the lock goes */
void mti_spool_close(void);
void mti_spool_disk(bool good); /* whether waiting for the writer makes sense */
void mti_spool_late(void);
uint64_t mti_spool_dropped(uint64_t *bytes);
const char *mti_spool_gz(void);        /* path of the .gz */
extern _Atomic bool mti_spool_stalled; /* set when a call was held for as long as it may be */

/* ---- writer.c ---- */

enum mti_drained { MTI_DRAINED_NONE, MTI_DRAINED_SOME, MTI_DRAINED_FAILED };
/* Moves at most `most` full chunks into the .gz. With `wait` false gives up when another thread is
 * at it. */
enum mti_drained mti_drain(unsigned most, bool wait);
/* One chunk, by a thread that finds no room. */
enum mti_drained mti_drain_here(bool wait);
/* Whether a thread that finds no room should drain itself instead of waiting: no writer thread, or
 * it is away in periodic work. */
bool mti_drain_yourself(void);
/* everything into the .gz, waiting two seconds at most; last: no periodic work any more */
void mti_writer_flush(bool last);
void mti_writer_forget(void);
bool mti_writer_cap(uint64_t seq, unsigned waiting); /* takes no lock */

/* ---- emit.c ---- */

#define MTI_CALL_ROOM (23u * MT_VARINT_MAX)
/* Payload of a CALL record of a thread. */
void mti_put_call(struct mti_w *w, const struct mti_call *c, uint32_t tid);
void mti_emit_losses(bool exact);
void mti_emit_end(enum mt_wire_end how, int status);
void mti_emit_lock(void);
void mti_emit_unlock(void);

#endif
