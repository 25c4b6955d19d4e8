/* ahead.h -- snapshots that are files of their own, read by other threads before their turn.
 *
 * Whoever walks the inputs stays in charge: where a file's turn comes, mt_input_next() takes what
 * was read of it, and reads it itself where that was none: a log, an archive, a report, what is
 * damaged beyond reading, what found no memory. So what comes of the inputs, and the order of it,
 * are the same with and without this. Thread-safety: one thread; its pool does the reading. */
#ifndef MT_AHEAD_H
#define MT_AHEAD_H

#include "parser/base/team.h"
#include "parser/input/input.h"

/* The paths are in the order in which they will be read; both they and pool outlive it. opts:
 * limits and sha256 count. Every trace that is read holds a token of the pool, which comes
 * with it. NULL = out of memory. */
struct mt_ahead *mt_ahead_new(struct mt_team *pool, char *const *paths, int n,
                              const struct mt_input_opts *opts);
void mt_ahead_free(struct mt_ahead *a); /* NULL is fine */
/* Goes on while there are tokens. */
void mt_ahead_go(struct mt_ahead *a);
/* Where memory ran out for a file that was read beside others, it is read alone: everything else is
 * given up, f(arg) waits for what the pool still has, and nothing more is read ahead. */
void mt_ahead_alone(struct mt_ahead *a, void (*f)(void *arg), void *arg);
/* Whether the last trace of mt_input_next() was read ahead, and so has a token. */
bool mt_ahead_gave(const struct mt_ahead *a);

/* The trace of the file at path, whose turn it is; is_member: of a folder that is an input. Those
 * before it are given up. False: there is
 * none, and no token was taken. */
struct mt_ahead_file {
    struct mt_trace *trace;
    enum mt_rc rc; /* MT_OK or MT_WARN */
    uint64_t device, inode;
};
bool mt_ahead_take(struct mt_ahead *a, const char *path, bool is_member, struct mt_ahead_file *out);

#endif
