/* base/key.h -- keys of settings. */
#ifndef MT_BASE_KEY_H
#define MT_BASE_KEY_H

#include <stdbool.h>

/* However a key is written: "+a.b" adds it, "--a-b" is what files call a_b. */
bool mt_same_key(const char *a, const char *b);

#endif
