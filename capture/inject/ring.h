/* ring.h -- a recording that keeps the newest (MEMTRACE_KEEP_MB, MEMTRACE_LAST_S): members go into
 * numbered files, and the oldest file is let go when there is too much or when it is too old.
 *
 * To let a file go is: read it once more into the books (live.h), append what it defines to the
 * .gz, write the books as the new checkpoint under another name, rename it over the old one, remove
 * the file. Killed between any two of these the rest is whole: the checkpoint says which chunks it
 * stands for, and definitions may be there twice. All of that is done by the writer thread, a
 * member at a time; calls of the job pay nothing. Where no thread could be started, the calls that
 * find no room do it. */
#ifndef MTI_RING_H
#define MTI_RING_H

#include "capture/inject/core.h"

bool mti_ring_on(void);
/* Under the drain lock: the file for the next member, of n bytes, and its number; NULL = not now,
 * there is a quarter more than there may be, and something has to be let go first. */
const char *mti_ring_file(size_t n, uint64_t *number);
/* Under the drain lock: n bytes were appended to it; urgent: a failure is among the records. */
void mti_ring_added(size_t n, bool urgent);
/* There was no memory for the books, and `more` bytes would be over the limit: from then on it is
 * the oldest that is kept. Takes no lock. */
bool mti_ring_full(uint64_t more);
/* Writer thread, or one that drains in its place: lets go what has to go, for some milliseconds;
 * true: there is more to do. One at a time. */
bool mti_ring_work(void);
/* Writer thread: says once what there is to say. */
void mti_ring_tell(void);
void mti_ring_forget(void); /* in the child of a fork */

/* writer.c: the drain lock */
void mti_drain_lock(void);
void mti_drain_unlock(void);

#endif
