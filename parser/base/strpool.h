/* strpool.h -- one copy of every string, addressed by a 32-bit id. Id 0 is the empty string.
 * Strings keep their length: they may hold NUL and are not promised to be UTF-8. */
#ifndef MT_STRPOOL_H
#define MT_STRPOOL_H

#include "parser/base/mem.h"

typedef uint32_t mt_str_id;
#define MT_STR_FAIL UINT32_MAX

struct mt_strref {
    const char *p; /* NUL-terminated as well */
    uint32_t len, hash;
};

struct mt_strpool {
    struct mt_arena arena;
    MT_VEC(struct mt_strref) ref;
    uint32_t *slot; /* id + 1, 0 = empty */
    uint32_t n_slots;
};

int mt_strpool_init(struct mt_strpool *p); /* 1 on success */
void mt_strpool_done(struct mt_strpool *p);
/* MT_STR_FAIL when out of memory */
mt_str_id mt_strpool_add(struct mt_strpool *p, const void *s, size_t n);
/* MT_STR_FAIL when absent */
mt_str_id mt_strpool_find(const struct mt_strpool *p, const void *s, size_t n);

#endif
