/* captured.h -- what is said about a recording once it is collected; `memtrace capture` and
 * `memtrace collect` say the same. */
#ifndef MT_CAPTURED_H
#define MT_CAPTURED_H

#include "capture/capture.h"
#include "cli/cli.h"

/* Runs a command that writes a trace, with output set: to the name of -o (pattern.h), else to one
 * that is free. failed: what it returns where there is no name, which is said. */
enum mt_exit mt_captured_into(const struct mt_cli *c, enum mt_exit (*run)(const struct mt_cli *own),
                              enum mt_exit failed);
/* mt_collect() as the command line asks for it: its output, --force, --no-symbols, progress on a
 * terminal. opts: the rest of what is wanted; *done: as of mt_collect(). */
enum mt_rc mt_captured_collect(struct mt_collection *done, const struct mt_collect_opts *opts,
                               const struct mt_cli *c, struct mt_err *err);
/* To standard error: one line per process, totals, what is missing, the next command. dir: the
 * spool directory. */
void mt_captured_say(const struct mt_collection *c, const char *dir);
/* The trace could not be written: why, and what to do with the recording that is still in dir. */
void mt_captured_failed(const struct mt_err *err, const char *dir);
/* `s` as one word for a shell, into buf; cut where it does not fit. Returns buf. */
char *mt_shell_word(char *buf, size_t cap, const char *s);

#endif
