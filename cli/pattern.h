/* pattern.h -- marks in the name of an output: %h is the host, %r the rank, %j the job, %p the
 * process, %% a percent sign. Any other % is itself.
 *
 * Launchers start the same command line many times; this is what tells its outputs apart. */
#ifndef MT_PATTERN_H
#define MT_PATTERN_H

#include <stdbool.h>

/* name with its marks replaced; mt_free() it. NULL after a message: no launcher says the rank or
 * the job here, or memory is out. A slash in what a launcher says, and dots that it begins with,
 * become
 * "_". *no_memory tells the two apart; may be NULL. */
char *mt_pattern_name(const char *name, bool *no_memory);

#endif
