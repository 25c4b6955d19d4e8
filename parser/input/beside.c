/* input/beside.c -- a decompressor in a thread of its own: it unpacks the next blocks while the
 * reader works on those before. The bytes, the place where a broken stream ends and what is said of
 * it are the same as without. */
#include "parser/input/impl.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* Below this a thread costs more than it saves. */
#define BESIDE_FROM (UINT64_C(1) << 18)

enum { BLOCK = 1 << 18, BLOCKS = 4 };

struct beside {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    struct mt_raw *raw;
    /* the thread's, until it was joined */
    size_t (*read)(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err);
    void (*close)(void *ctx);
    void *ctx;
    /* under the lock */
    uint32_t first, n; /* of the blocks that are full */
    bool ended;        /* no block will follow */
    bool unwanted;
    /* written before `ended` */
    enum mt_rc rc;
    struct mt_err err;
    size_t at; /* the reader's: what it has of the first block */
    struct {
        unsigned char *p;
        size_t n;
        uint64_t n_read; /* of the file, when it was full */
    } block[BLOCKS];
};

/* Room for one more block; -1 = nobody wants it. */
static int wait_for_room(struct beside *b)
{
    int i;
    pthread_mutex_lock(&b->lock);
    while (b->n == BLOCKS && !b->unwanted)
        pthread_cond_wait(&b->freed, &b->lock);
    i = b->unwanted ? -1 : (int)((b->first + b->n) % BLOCKS);
    pthread_mutex_unlock(&b->lock);
    return i;
}

static void *unpack(void *arg)
{
    struct beside *b = arg;
    bool ended = false;
    int i;
    while (!ended && (i = wait_for_room(b)) >= 0) {
        size_t n = 0, got = 1;
        while (n < BLOCK && got != 0 && b->rc == MT_OK) {
            got = b->read(b->ctx, b->block[i].p + n, BLOCK - n, &b->rc, &b->err);
            n += got;
        }
        ended = got == 0 || b->rc != MT_OK;
        b->block[i].n = n;
        b->block[i].n_read = b->raw->n_read;
        pthread_mutex_lock(&b->lock);
        b->n += n != 0;
        b->ended = ended;
        pthread_cond_signal(&b->filled);
        pthread_mutex_unlock(&b->lock);
    }
    return NULL;
}

static size_t beside_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                          struct mt_err *err)
{
    struct beside *b = ctx;
    const uint32_t i = b->first; /* only this thread moves it */
    size_t left;
    bool none;
    pthread_mutex_lock(&b->lock);
    while (b->n == 0 && !b->ended)
        pthread_cond_wait(&b->filled, &b->lock);
    none = b->n == 0;
    pthread_mutex_unlock(&b->lock);
    if (none) {
        *rc = b->rc;
        if (b->rc != MT_OK)
            *err = b->err;
        return 0;
    }
    left = b->block[i].n - b->at;
    n = n < left ? n : left;
    memcpy(dst, b->block[i].p + b->at, n);
    b->at += n;
    if (n == left) {
        mt_raw_tell(b->raw, b->block[i].n_read);
        b->at = 0;
        pthread_mutex_lock(&b->lock);
        b->first = (i + 1) % BLOCKS;
        b->n--;
        pthread_cond_signal(&b->freed);
        pthread_mutex_unlock(&b->lock);
    }
    return n;
}

static void beside_free(struct beside *b)
{
    if (b == NULL)
        return;
    for (int i = 0; i < BLOCKS; i++)
        mt_free(b->block[i].p);
    pthread_cond_destroy(&b->filled);
    pthread_cond_destroy(&b->freed);
    pthread_mutex_destroy(&b->lock);
    mt_free(b);
}

static void beside_close(void *ctx)
{
    struct beside *b = ctx;
    pthread_mutex_lock(&b->lock);
    b->unwanted = true;
    pthread_cond_signal(&b->freed);
    pthread_mutex_unlock(&b->lock);
    (void)pthread_join(b->thread, NULL);
    b->raw->is_beside = false;
    b->close(b->ctx);
    beside_free(b);
}

static struct beside *beside_new(const struct mt_source *s, struct mt_raw *raw)
{
    struct beside *b = mt_calloc(1, sizeof *b);
    bool whole = true;
    if (b == NULL)
        return NULL;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->filled, NULL);
    pthread_cond_init(&b->freed, NULL);
    b->raw = raw;
    b->read = s->read;
    b->close = s->close;
    b->ctx = s->ctx;
    for (int i = 0; i < BLOCKS; i++)
        whole &= (b->block[i].p = mt_malloc(BLOCK)) != NULL;
    if (whole)
        return b;
    beside_free(b);
    return NULL;
}

void mt_beside(struct mt_source *s, struct mt_raw *raw)
{
    struct beside *b;
    sigset_t all, before;
    int rc;
    if (!raw->opts->unpack_beside || !raw->regular || raw->size < BESIDE_FROM ||
        (b = beside_new(s, raw)) == NULL)
        return;
    /* signals are for the thread that can act on them */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        beside_free(b);
        return;
    }
    raw->is_beside = true;
    rc = pthread_create(&b->thread, NULL, unpack, b);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) { /* without it, then */
        raw->is_beside = false;
        beside_free(b);
        return;
    }
    s->read = beside_read;
    s->close = beside_close;
    s->ctx = b;
}
