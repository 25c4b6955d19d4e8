/* addrmap.h -- address -> 32-bit value, for the set of live blocks. Open addressing with
 * backward-shift deletion: no tombstones, so a long trace never slows down. Zeroed struct = empty
 * map. */
#ifndef MT_ADDRMAP_H
#define MT_ADDRMAP_H

#include <stdbool.h>
#include <stdint.h>

struct mt_addr_slot {
    uint64_t addr;
    uint32_t value; /* value + 1; 0 = empty */
};

struct mt_addrmap {
    struct mt_addr_slot *slot;
    uint32_t n_slots, n;
};

/* Sets addr to value (below UINT32_MAX); *old gets the former value and *had says whether there was
 * one. 0 = out of memory. */
int mt_addrmap_put(struct mt_addrmap *m, uint64_t addr, uint32_t value, bool *had, uint32_t *old);
bool mt_addrmap_get(const struct mt_addrmap *m, uint64_t addr, uint32_t *value);
bool mt_addrmap_take(struct mt_addrmap *m, uint64_t addr, uint32_t *value); /* get and remove */
/* what `to` held is replaced; 0 = out of memory */
int mt_addrmap_copy(struct mt_addrmap *to, const struct mt_addrmap *from);
void mt_addrmap_done(struct mt_addrmap *m);

#endif
