/* pager.h -- standard output through a program that shows it a screen at a time, as git does it. */
#ifndef MT_PAGER_H
#define MT_PAGER_H

#include <stdbool.h>

/* Keeps standard output for the pager of MEMTRACE_PAGER, PAGER, else less. False, and standard
 * output is as it was: it is no terminal, the variable is empty or says cat, or there is no such
 * program. */
bool mt_pager_start(void);
/* Shows it, and waits until the reader has left; what fits one screen less only prints. Of a pager
 * that fails before it has read anything the text is printed. The exit status is not its own. */
void mt_pager_stop(void);

#endif
