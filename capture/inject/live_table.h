/* live_table.h -- the table of live_calls.c: calls that stay, found by what they are about (space,
 * key), and in the order in which they came. Entries are numbers: the table moves as it grows. */
#ifndef MTI_LIVE_TABLE_H
#define MTI_LIVE_TABLE_H

#include "capture/inject/live.h"

enum mti_space {                     /* what a key is */
                 MTI_SP_ADDRESS = 1, /* device memory, by its address */
                 MTI_SP_PINNED,
                 MTI_SP_ARRAY,
                 MTI_SP_RESERVED,
                 MTI_SP_HANDLE,
                 MTI_SP_MAPPED,
                 MTI_SP_SHARED, /* another process's memory */
                 MTI_SP_POOL,
                 MTI_SP_INFO, /* the last figures of a device, by its ordinal */
                 MTI_SP_CODE, /* a module, by its number and context */
                 MTI_SP_API,  /* a call that is in no list, by its number */
                 MTI_SP_NONE  /* not to be found: contexts, what was measured, failures */
};

struct mti_live {
    struct mti_call c;
    uint64_t key;
    uint64_t link;  /* mapping: its handle; alias of a handle: that handle */
    uint64_t until; /* handle: when it was last released or mapped */
    uint32_t tid, refs;
    int32_t own; /* handle: of refs, those of create, import, retain and release */
    uint32_t before, after, next;
    uint8_t space;
    bool used, alias, imported;
};

/* 0 = none */
uint32_t mti_live_find(enum mti_space space, uint64_t key);
/* A new entry, the last in order; 0: out of memory. */
uint32_t mti_live_add(enum mti_space space, uint64_t key, const struct mti_call *c, uint32_t tid);
void mti_live_drop(uint32_t i);
void mti_live_to_end(uint32_t i); /* of the order */
/* Valid until the next mti_live_add(). */
struct mti_live *mti_live_at(uint32_t i);
uint32_t mti_live_first(void); /* in order; 0 = none */
uint32_t mti_live_after(uint32_t i);
uint32_t mti_live_count(void);
void mti_live_table_forget(void);

#endif
