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

/* A library that is linked with nothing is two lists. Of a row of GIVES: what is given back where
 * there is no library, type, name, parameters, how they are handed on. Of a row of GIVES_NOTHING:
 * name, parameters, how they are handed on. These macros make of them the slots of `real`, the
 * look-up of all (`library` is what dlopen gave), and the functions, over is_there(). */
#define MT_LATE_SLOT(none, type, name, params, args) __typeof__(name) *name;
#define MT_LATE_SLOT_OF_NOTHING(name, params, args) __typeof__(name) *name;
#define MT_LATE_FIND(none, type, name, params, args) &&mt_late_find(library, &real.name, #name)
#define MT_LATE_FIND_OF_NOTHING(name, params, args) &&mt_late_find(library, &real.name, #name)
#define MT_LATE_PASS_ON(none, type, name, params, args)                                            \
    type name params { return is_there() ? real.name args : none; }
#define MT_LATE_PASS_ON_NOTHING(name, params, args)                                                \
    void name params                                                                               \
    {                                                                                              \
        if (is_there())                                                                            \
            real.name args;                                                                        \
    }

#endif
