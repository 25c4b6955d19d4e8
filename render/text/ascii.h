/* text/ascii.h -- text for a terminal that shows nothing but ASCII. */
#ifndef MT_TEXT_ASCII_H
#define MT_TEXT_ASCII_H

#include "render/base/out.h"

#include <stdbool.h>

/* What is put into f comes out of `to` with other characters written as ASCII can: those that
 * memtrace uses by what looks like them, each of the others as '?'. False = out of memory, and
 * nothing was opened. mt_ascii_close() ends it; errors become those of `to`. */
bool mt_ascii_open(struct mt_out *f, struct mt_out *to);
void mt_ascii_close(struct mt_out *f, struct mt_out *to);

#endif
