/* told_lines.h -- how a line that somebody wrote or pasted gives a name its number: "x: 0.3", "x to
 * 0.3", "'x': 3,", "--x of add_argument()". Positions are in text in small letters. */
#ifndef MT_RUN_TOLD_LINES_H
#define MT_RUN_TOLD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A letter as names are compared: small, '_' for '-' and '.'; it may stand in a name. */
char mt_told_plain(char c);
bool mt_told_is_part(char c);
/* Bytes of the number at p; 0 = there is none. */
size_t mt_told_digits(const char *p);
/* The same behind a key's name at *p, which moves to it; then the one that it became. */
size_t mt_told_number(const char **p);
size_t mt_told_number_now(const char **p, size_t n);
/* Bytes of "true", "off" ... behind a key's name at *p, which moves to it; 0 = it is none. */
size_t mt_told_switch(const char **p);
/* A switch that is on, behind its name at p. */
bool mt_told_is_on(const char *p);
/* The line may give a name its number. */
bool mt_told_is_line(const char *line);
/* "add_argument('--x', type=int, default=3)", without a short form of the flag, which a command may
 * have: where its number stands, and the flag; NULL = it is none. */
const char *mt_told_declared(const char *line, char flag[64]);

#endif
