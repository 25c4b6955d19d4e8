/* impl.h -- what the files of this room share. */
#ifndef MT_LATE_IMPL_H
#define MT_LATE_IMPL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* A pointer to a function is no pointer to data, so its bytes are copied. */
static inline bool mt_late_find(void *library, void *slot, const char *name)
{
    void *p = dlsym(library, name);
    memcpy(slot, &p, sizeof p);
    return p != NULL;
}

#endif
