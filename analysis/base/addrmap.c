#include "analysis/base/addrmap.h"

#include "parser/base/mem.h"
#include "parser/base/secret.h"

#include <string.h>

static uint32_t home(uint64_t addr, uint32_t mask) { return mt_hash_one(addr) & mask; }

static int grow(struct mt_addrmap *m)
{
    uint32_t n = m->n_slots ? m->n_slots * 2 : 1024;
    struct mt_addr_slot *slot;
    if (n == 0 || (slot = mt_calloc(n, sizeof *slot)) == NULL)
        return 0;
    for (uint32_t i = 0; i < m->n_slots; i++) {
        if (m->slot[i].value != 0) {
            uint32_t k = home(m->slot[i].addr, n - 1);
            while (slot[k].value != 0)
                k = (k + 1) & (n - 1);
            slot[k] = m->slot[i];
        }
    }
    mt_free(m->slot);
    m->slot = slot;
    m->n_slots = n;
    return 1;
}

int mt_addrmap_put(struct mt_addrmap *m, uint64_t addr, uint32_t value, bool *had, uint32_t *old)
{
    uint32_t mask, i;
    *old = 0;
    if ((uint64_t)m->n * 2 >= m->n_slots && !grow(m))
        return 0;
    mask = m->n_slots - 1;
    for (i = home(addr, mask); m->slot[i].value != 0; i = (i + 1) & mask) {
        if (m->slot[i].addr == addr) {
            *had = true;
            *old = m->slot[i].value - 1;
            m->slot[i].value = value + 1;
            return 1;
        }
    }
    *had = false;
    m->slot[i].addr = addr;
    m->slot[i].value = value + 1;
    m->n++;
    return 1;
}

static bool find(const struct mt_addrmap *m, uint64_t addr, uint32_t *at)
{
    uint32_t mask = m->n_slots - 1;
    if (m->n_slots == 0)
        return false;
    for (uint32_t i = home(addr, mask); m->slot[i].value != 0; i = (i + 1) & mask) {
        if (m->slot[i].addr == addr) {
            *at = i;
            return true;
        }
    }
    return false;
}

bool mt_addrmap_get(const struct mt_addrmap *m, uint64_t addr, uint32_t *value)
{
    uint32_t i;
    if (!find(m, addr, &i))
        return false;
    *value = m->slot[i].value - 1;
    return true;
}

bool mt_addrmap_take(struct mt_addrmap *m, uint64_t addr, uint32_t *value)
{
    uint32_t mask = m->n_slots - 1, i, j;
    if (!find(m, addr, &i))
        return false;
    *value = m->slot[i].value - 1;
    for (j = (i + 1) & mask; m->slot[j].value != 0; j = (j + 1) & mask) {
        uint32_t h = home(m->slot[j].addr, mask);
        if (((j - h) & mask) >= ((j - i) & mask)) { /* the entry at j may move into the hole */
            m->slot[i] = m->slot[j];
            i = j;
        }
    }
    m->slot[i].value = 0;
    m->n--;
    return true;
}

int mt_addrmap_copy(struct mt_addrmap *to, const struct mt_addrmap *from)
{
    if (to->n_slots != from->n_slots) {
        mt_addrmap_done(to);
        if ((to->slot = mt_malloc(from->n_slots * sizeof *to->slot)) == NULL)
            return 0;
    }
    memcpy(to->slot, from->slot, from->n_slots * sizeof *to->slot);
    to->n_slots = from->n_slots;
    to->n = from->n;
    return 1;
}

void mt_addrmap_done(struct mt_addrmap *m)
{
    mt_free(m->slot);
    memset(m, 0, sizeof *m);
}
