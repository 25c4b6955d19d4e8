/* input/hash.c -- the SHA-256 of an input as it was given, where --sha256 asks for it: it costs
 * a quarter of the report of a pickle, and nothing that memtrace says depends on it.
 *
 * A pipe is hashed as it streams by (input/file.c), because it can be read only once. A regular
 * file is hashed by a thread with a descriptor position of its own (pread), beside the reader: to
 * make every reader see every byte would put the hash back into their way. Both read the same pages
 * of the page cache. With one core the two take turns, which costs what one after the other costs;
 * where no thread can be had, the hash is computed when it is asked for. The digest is the same. */
#include "parser/input/impl.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Below this a thread costs more than it saves. */
#define BESIDE_FROM (UINT64_C(1) << 18)

struct mt_hashing {
    struct sha256_ctx h;
    pthread_t thread;
    int fd;     /* borrowed: open until the thread was joined */
    bool whole; /* the end was reached */
    atomic_bool unwanted;
    unsigned char buf[1 << 16];
};

/* Touches nothing but its own struct: no allocation, no counter. */
static void *hash_whole(void *arg)
{
    struct mt_hashing *g = arg;
    uint64_t at = 0;
    ssize_t got;
    sha256_init(&g->h);
    while (!atomic_load_explicit(&g->unwanted, memory_order_relaxed)) {
        got = pread(g->fd, g->buf, sizeof g->buf, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        g->whole = got == 0;
        if (got <= 0)
            break;
        sha256_update(&g->h, (size_t)got, g->buf);
        at += (uint64_t)got;
    }
    return NULL;
}

static struct mt_hashing *hashing_new(const struct mt_raw *f)
{
    struct mt_hashing *g = mt_malloc(sizeof *g);
    if (g != NULL) {
        g->fd = f->fd;
        g->whole = false;
        atomic_init(&g->unwanted, false);
    }
    return g;
}

static void hex(char out[65], struct sha256_ctx *h)
{
    static const char digit[] = "0123456789abcdef";
    uint8_t d[SHA256_DIGEST_SIZE];
    sha256_digest(h, sizeof d, d);
    for (size_t i = 0; i < sizeof d; i++) {
        out[2 * i] = digit[d[i] >> 4];
        out[2 * i + 1] = digit[d[i] & 15];
    }
    out[64] = '\0';
}

void mt_raw_hash_begin(struct mt_raw *f)
{
    struct mt_hashing *g;
    sigset_t all, before;
    int rc;
    if (!f->regular || f->size < BESIDE_FROM || !f->opts->sha256 || f->hashing != NULL ||
        f->sha256[0] != '\0' || (g = hashing_new(f)) == NULL)
        return;
    /* signals are for the thread that can act on them */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        mt_free(g);
        return;
    }
    rc = pthread_create(&g->thread, NULL, hash_whole, g);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        f->hashing = g;
    else
        mt_free(g);
}

void mt_raw_hash(struct mt_raw *f)
{
    if (f->sha256[0] != '\0' || !f->opts->sha256)
        return;
    if (f->regular) {
        struct mt_hashing *g = f->hashing;
        if (g != NULL)
            (void)pthread_join(g->thread, NULL);
        else if ((g = hashing_new(f)) != NULL)
            (void)hash_whole(g);
        f->hashing = NULL;
        if (g != NULL && g->whole)
            hex(f->sha256, &g->h);
        mt_free(g);
    } else if (f->ended) {
        hex(f->sha256, &f->hash);
    }
}

void mt_raw_hash_stop(struct mt_raw *f)
{
    if (f->hashing == NULL)
        return;
    atomic_store_explicit(&f->hashing->unwanted, true, memory_order_relaxed);
    (void)pthread_join(f->hashing->thread, NULL);
    mt_free(f->hashing);
    f->hashing = NULL;
}
