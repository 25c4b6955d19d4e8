/* heap.h -- what malloc() takes its memory from. */
#ifndef MT_HEAP_H
#define MT_HEAP_H

/* Once, before a thread is made, by a program that is about to read: lets malloc() keep what is
 * freed, and puts the first of its heap into huge pages. Where the system has none, or malloc() is
 * another one, nothing happens. */
void mt_heap_prepare(void);

#endif
