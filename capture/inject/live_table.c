/* live_table.c -- entries in one array; chains by hash, and one list for the order. Memory is that
 * of the most entries there ever were. */
#define _GNU_SOURCE 1
#include "capture/inject/live_table.h"

#include <stdlib.h>
#include <string.h>

static struct {
    struct mti_live *at; /* [0] is not used */
    uint32_t n, cap, live, free;
    uint32_t *head;
    uint32_t heads; /* a power of two */
    uint32_t first, last;
} T;

static uint32_t head_of(enum mti_space space, uint64_t key)
{
    uint64_t h = (key ^ (uint64_t)space << 56) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) & (T.heads - 1);
}

uint32_t mti_live_find(enum mti_space space, uint64_t key)
{
    uint32_t i = T.heads ? T.head[head_of(space, key)] : 0;
    while (i && (T.at[i].key != key || T.at[i].space != space))
        i = T.at[i].next;
    return i;
}

static bool more_heads(void)
{
    uint32_t n = T.heads ? T.heads * 2 : 1024;
    uint32_t *fresh = n > T.heads ? calloc(n, sizeof *fresh) : NULL;
    if (!fresh)
        return false;
    free(T.head);
    T.head = fresh;
    T.heads = n;
    for (uint32_t i = T.first; i; i = T.at[i].after) {
        uint32_t *to = &T.head[head_of((enum mti_space)T.at[i].space, T.at[i].key)];
        T.at[i].next = *to;
        *to = i;
    }
    return true;
}

static void append(uint32_t i)
{
    T.at[i].before = T.last;
    T.at[i].after = 0;
    if (T.last)
        T.at[T.last].after = i;
    else
        T.first = i;
    T.last = i;
}

static void unlink_order(uint32_t i)
{
    const struct mti_live *e = &T.at[i];
    if (e->before)
        T.at[e->before].after = e->after;
    else
        T.first = e->after;
    if (e->after)
        T.at[e->after].before = e->before;
    else
        T.last = e->before;
}

uint32_t mti_live_add(enum mti_space space, uint64_t key, const struct mti_call *c, uint32_t tid)
{
    uint32_t i = T.free;
    if (T.live >= T.heads && !more_heads())
        return 0;
    if (i) {
        T.free = T.at[i].next;
    } else {
        if (!T.n)
            T.n = 1;
        if (!mti_live_grow(&T.at, T.n, &T.cap, sizeof *T.at))
            return 0;
        i = T.n++;
    }
    T.at[i] = (struct mti_live){.c = *c, .key = key, .tid = tid, .refs = 1, .own = 1};
    T.at[i].space = (uint8_t)space;
    T.at[i].used = true;
    uint32_t *to = &T.head[head_of(space, key)];
    T.at[i].next = *to;
    *to = i;
    append(i);
    T.live++;
    return i;
}

void mti_live_drop(uint32_t i)
{
    uint32_t *at = &T.head[head_of((enum mti_space)T.at[i].space, T.at[i].key)];
    while (*at != i)
        at = &T.at[*at].next;
    *at = T.at[i].next;
    unlink_order(i);
    T.at[i].used = false;
    T.at[i].next = T.free;
    T.free = i;
    T.live--;
}

void mti_live_to_end(uint32_t i)
{
    unlink_order(i);
    append(i);
}

struct mti_live *mti_live_at(uint32_t i) { return &T.at[i]; }
uint32_t mti_live_first(void) { return T.first; }
uint32_t mti_live_after(uint32_t i) { return T.at[i].after; }
uint32_t mti_live_count(void) { return T.live; }
void mti_live_table_forget(void) { memset(&T, 0, sizeof T); }
