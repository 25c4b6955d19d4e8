/* graphs.c -- which graphs were made and not launched yet. What a graph needs of the device comes
 * with its upload or its first launch; all other launches are of no interest, and there are many.
 * A table of fixed size: of more than it holds the first launch is not measured. */
#include "capture/inject/cupti.h"

#include <stdatomic.h>

#define SLOTS 1024u /* a power of two */
#define NEAR 16u    /* a graph lies in one of so many, from its home on */

static _Atomic uint64_t waiting[SLOTS];
static _Atomic uint32_t n_waiting;

static uint32_t home(uint64_t exec)
{
    return (uint32_t)((exec >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48) & (SLOTS - 1);
}

void mti_graph_made(uint64_t exec)
{
    for (uint32_t n = 0, at = home(exec); n < NEAR; n++, at = (at + 1) & (SLOTS - 1)) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&waiting[at], &none, exec)) {
            atomic_fetch_add_explicit(&n_waiting, 1, memory_order_relaxed);
            return;
        }
    }
}

bool mti_graph_first(uint64_t exec)
{
    if (!exec || !atomic_load_explicit(&n_waiting, memory_order_relaxed))
        return false;
    for (uint32_t n = 0, at = home(exec); n < NEAR; n++, at = (at + 1) & (SLOTS - 1)) {
        uint64_t it = exec;
        if (atomic_load_explicit(&waiting[at], memory_order_relaxed) == exec &&
            atomic_compare_exchange_strong(&waiting[at], &it, 0)) {
            atomic_fetch_sub_explicit(&n_waiting, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

void mti_graphs_forget(void)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        waiting[i] = 0;
    n_waiting = 0;
}
