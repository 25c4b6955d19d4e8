/* own.h -- this program once more, in a process of its own: what may fail there fails nothing here.
 */
#ifndef MT_OWN_H
#define MT_OWN_H

/* argv: from the command on, NULL-terminated. Waits; its exit status, or -1 where it could not be
 * started or was ended by a signal. It prints as this one does. */
int mt_own_run(char *const *argv);

#endif
