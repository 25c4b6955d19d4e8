/* ranges.h -- ranges and marks, whoever sets them: nvtx.c and api.c. */
#ifndef MTI_RANGES_H
#define MTI_RANGES_H

#include "capture/inject/inject.h"

/* Text as the application gave it, and the string id of it in this process image: ids are given out
 * anew after a fork. */
struct mti_text {
    uint64_t uid; /* for which `id` holds; 0 = none yet */
    uint32_t id;
    uint32_t bytes;
    uint32_t number; /* of a domain: 1, 2, ...; 0 = the default one */
    char text[];
};

/* A domain and a name; both may be NULL. When text is NULL the name is taken from `registered`. */
struct mti_range {
    enum mt_wire_source source;
    struct mti_text *domain, *registered;
    const char *text;
    size_t bytes;
};

/* True when records can be written, after a fork too: starts recording where it has not begun.
 * Between mti_enter() and mti_leave(). */
bool mti_ranges_on(void);

/* Level of the range that is begun or ended in its domain on this thread, from 0; NO_TRACKING (-2)
 * in a domain beyond the 16th, -1 when there is nothing to end. */
int mti_range_push(const struct mti_range *r);
int mti_range_pop(enum mt_wire_source source, struct mti_text *domain);
uint64_t mti_range_start(const struct mti_range *r);
void mti_range_end(enum mt_wire_source source, struct mti_text *domain, uint64_t id);
void mti_range_mark(const struct mti_range *r);

#endif
