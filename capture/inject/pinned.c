/* pinned.c -- bytes of host memory pinned by driver calls: frees name only the address, so sizes
 * are kept. Not in the way of device allocations: only host calls come here. */
#include "capture/inject/cupti.h"

#include <pthread.h>
#include <stdatomic.h>

#define SLOTS 16384u /* power of two; at most 7/8 are used */
#define GONE 1u      /* address of a removed entry */

_Atomic uint64_t mti_pinned;

static struct {
    uint64_t address, bytes;
} slots[SLOTS];
static uint32_t n_used, n_gone; /* n_used: removed ones included */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t home(uint64_t address)
{
    return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 40) & (SLOTS - 1);
}

/* All in use or removed: keep what is in use. In place: entries are taken out and put in again,
 * chain by chain. */
static void rebuild(void)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (slots[i].address == GONE)
            slots[i].address = 0;
    n_gone = 0;
    /* Removal may have cut chains: settle until nothing moves. Each move brings an entry nearer to
     * its home, so this ends. */
    for (bool moved = true; moved;) {
        moved = false;
        n_used = 0;
        for (uint32_t i = 0; i < SLOTS; i++) {
            if (!slots[i].address)
                continue;
            n_used++;
            uint32_t at = home(slots[i].address);
            while (at != i && slots[at].address)
                at = (at + 1) & (SLOTS - 1);
            if (at != i) {
                slots[at] = slots[i];
                slots[i].address = 0;
                moved = true;
            }
        }
    }
}

void mti_pinned_add(uint64_t address, uint64_t bytes)
{
    if (address <= GONE || !bytes)
        return;
    pthread_mutex_lock(&lock);
    if (n_used >= SLOTS - SLOTS / 8 && n_gone >= SLOTS / 16)
        rebuild();
    if (n_used < SLOTS - SLOTS / 8) {
        uint32_t at = home(address);
        while (slots[at].address && slots[at].address != address)
            at = (at + 1) & (SLOTS - 1);
        if (slots[at].address == address)
            mti_pinned -= slots[at].bytes; /* its free was not seen */
        else
            n_used++;
        slots[at].address = address;
        slots[at].bytes = bytes;
        mti_pinned += bytes;
    }
    pthread_mutex_unlock(&lock);
}

void mti_pinned_sub(uint64_t address)
{
    if (address <= GONE)
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t at = home(address), n = 0; slots[at].address && n < SLOTS;
         at = (at + 1) & (SLOTS - 1), n++) {
        if (slots[at].address == address) {
            mti_pinned -= slots[at].bytes;
            slots[at].address = GONE;
            n_gone++;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

void mti_pinned_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
    if (n_used)
        memset(slots, 0, sizeof slots);
    n_used = n_gone = 0;
    mti_pinned = 0;
}
