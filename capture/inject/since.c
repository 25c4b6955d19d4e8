/* since.c -- what is allocated and let go between the moment in which an attached recording begins
 * and the one in which its base is taken: those calls are recorded, so the base must not have them
 * too.
 *
 * Plain memory and mapped memory alone. A stream-ordered allocation comes out of a pool, which may
 * have had its bytes before. */
#include "capture/inject/attach.h"
#include "capture/inject/core.h"

#include <pthread.h>
#include <string.h>

#define NOTES 4096u /* the rest of them is counted twice */

enum kind { NOTE_MEMORY, NOTE_MAPPED, NOTE_HANDLE, NOTE_GONE };

static struct {
    _Atomic bool on;
    pthread_mutex_t lock;
    uint32_t n;
    struct note {
        uint64_t at, bytes;
        uint32_t ordinal;
        enum kind kind;
    } notes[NOTES];
} S = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct note *find(enum kind kind, uint64_t at)
{
    for (uint32_t i = 0; i < S.n; i++)
        if (S.notes[i].kind == kind && S.notes[i].at == at)
            return &S.notes[i];
    return NULL;
}

static void add(enum kind kind, uint64_t at, uint64_t bytes, uint32_t ordinal)
{
    struct note *n = find(kind, at);
    if (n == NULL && S.n < NOTES)
        n = &S.notes[S.n++];
    if (n != NULL)
        *n = (struct note){at, bytes, ordinal, kind};
}

static bool drop(enum kind kind, uint64_t at)
{
    struct note *n = find(kind, at);
    if (n != NULL)
        *n = S.notes[--S.n];
    return n != NULL;
}

/* A range may have been mapped by several calls. */
static void unmapped(uint64_t from, uint64_t bytes)
{
    bool any = false;
    for (uint32_t i = 0; i < S.n;)
        if (S.notes[i].kind == NOTE_MAPPED && S.notes[i].at - from < bytes) {
            S.notes[i] = S.notes[--S.n];
            any = true;
        } else
            i++;
    if (!any)
        add(NOTE_GONE, from, bytes, 0);
}

static void note(const struct mti_call *c)
{
    const struct note *handle;
    switch (c->op) {
    case MT_WO_MEM_ALLOC: add(NOTE_MEMORY, c->addr, c->size, c->device); break;
    case MT_WO_MEM_FREE:
        if (!drop(NOTE_MEMORY, c->addr))
            add(NOTE_GONE, c->addr, 1, 0);
        break;
    case MT_WO_VMM_CREATE: add(NOTE_HANDLE, c->handle, 0, c->device); break;
    case MT_WO_VMM_RELEASE: (void)drop(NOTE_HANDLE, c->handle); break;
    case MT_WO_VMM_MAP:
        handle = find(NOTE_HANDLE, c->handle); /* else its memory was there before */
        if (handle != NULL)
            add(NOTE_MAPPED, c->addr, c->size, handle->ordinal);
        break;
    case MT_WO_VMM_UNMAP: unmapped(c->addr, c->size); break;
    default: break;
    }
}

void mti_since(const struct mti_call *c)
{
    if (!atomic_load_explicit(&S.on, memory_order_relaxed) || c->result != 0)
        return;
    pthread_mutex_lock(&S.lock);
    note(c);
    pthread_mutex_unlock(&S.lock);
}

bool mti_since_has(uint64_t address)
{
    bool has = false;
    pthread_mutex_lock(&S.lock);
    for (uint32_t i = 0; i < S.n && !has; i++) {
        const struct note *n = &S.notes[i];
        has = n->kind != NOTE_HANDLE &&
              (n->at == address || (n->kind == NOTE_GONE && address - n->at < n->bytes));
    }
    pthread_mutex_unlock(&S.lock);
    return has;
}

uint64_t mti_since_bytes(uint32_t ordinal)
{
    uint64_t sum = 0;
    pthread_mutex_lock(&S.lock);
    for (uint32_t i = 0; i < S.n; i++)
        if (S.notes[i].ordinal == ordinal &&
            (S.notes[i].kind == NOTE_MEMORY || S.notes[i].kind == NOTE_MAPPED))
            sum += S.notes[i].bytes;
    pthread_mutex_unlock(&S.lock);
    return sum;
}

void mti_since_start(void)
{
    S.n = 0;
    atomic_store(&S.on, true);
}

void mti_since_stop(void) { atomic_store(&S.on, false); }

void mti_since_forget(void)
{
    pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&S.lock, &fresh, sizeof fresh);
    atomic_store(&S.on, false);
}
