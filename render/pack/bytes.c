#include "render/pack/bytes.h"

#include "parser/base/digits.h"
#include "parser/base/mem.h"
#include "parser/late/late.h"

#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#ifdef MT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif

enum {
    LEVEL = 4,  /* 6 takes 0.2 to 0.9 % less room, and 8 to 11 % more time for the whole page */
    DENSE = 7,  /* blocks until repetitions are looked for again */
    OWN = 4096, /* bytes of a column from which on it gets codes of its own */
    SPARE = 64
};

bool mt_bytes_room(struct mt_bytes *b, size_t more)
{
    size_t cap = b->cap != 0 ? b->cap : 256;
    unsigned char *p;
    if (b->failed)
        return false;
    if (b->cap - b->n >= more)
        return true;
    while (cap - b->n < more) {
        if (cap > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        cap *= 2;
    }
    p = mt_realloc(b->p, cap);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void mt_bytes_done(struct mt_bytes *b)
{
    mt_free(b->p);
    memset(b, 0, sizeof *b);
}

void mt_put_bytes(struct mt_bytes *b, const void *p, size_t n)
{
    if (n == 0 || !mt_bytes_room(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void *z_alloc(void *opaque, unsigned n, unsigned size)
{
    (void)opaque;
    return mt_calloc(n, size);
}

static void z_free(void *opaque, void *p)
{
    (void)opaque;
    mt_free(p);
}

#ifdef MT_WITH_LIBDEFLATE
/* As make(), through libdeflate, which finds by itself where other codes pay. Its level 6 takes
 * 0.56 of the time of zlib's 4 and makes no page larger of 100,000 events and more (a tiny
 * one: 28 bytes); level 5 takes 0.5, and a million events take 0.2 % more. Its own memory, 0.7 MB,
 * is not counted. 1, or 0 = not done, and the columns are as they were. */
static int make_faster(struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    enum { FASTER_LEVEL = 6 };
    struct libdeflate_compressor *c = NULL;
    struct mt_bytes all = {.p = NULL};
    unsigned char *buf = NULL, *exact;
    size_t bound, used = 0;
    bool ok = true;
    mt_put_var(&all, n);
    for (unsigned i = 0; i < n; i++)
        mt_put_var(&all, columns[i].n);
    for (unsigned i = 0; i < n; i++) {
        mt_put_bytes(&all, columns[i].p, columns[i].n);
        ok = ok && !columns[i].failed;
    }
    if (!ok || all.failed || (c = libdeflate_alloc_compressor(FASTER_LEVEL)) == NULL)
        goto out;
    bound = libdeflate_zlib_compress_bound(c, all.n);
    if (bound <= UINT32_MAX && (buf = mt_malloc(bound)) != NULL)
        used = libdeflate_zlib_compress(c, all.p, all.n, buf, bound);
    libdeflate_free_compressor(c);
    if (used == 0)
        goto out;
    out->n = (uint32_t)used;
    exact = mt_realloc(buf, used);
    out->p = exact != NULL ? exact : buf;
    buf = NULL;
    for (unsigned i = 0; i < n; i++)
        columns[i].n = 0;
out:
    mt_free(buf);
    mt_bytes_done(&all);
    return used != 0;
}
#endif

/* All of one piece into *out, which has room for whatever comes. */
static bool feed(z_stream *z, const unsigned char *p, size_t n, int flush)
{
    while (n > UINT32_MAX) {
        z->next_in = p;
        z->avail_in = UINT32_MAX;
        if (deflate(z, Z_NO_FLUSH) != Z_OK || z->avail_in != 0)
            return false;
        p += UINT32_MAX;
        n -= UINT32_MAX;
    }
    z->next_in = p;
    z->avail_in = (unsigned)n;
    if (n == 0 && flush == Z_NO_FLUSH)
        return true;
    return deflate(z, flush) == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && z->avail_in == 0;
}

static int make(struct mt_blob *out, struct mt_bytes *columns, unsigned n, int strategy)
{
    struct mt_bytes head = {.p = NULL};
    z_stream z;
    size_t total = 0, bound;
    unsigned char *buf = NULL, *exact;
    bool ok = true;
    int rc = 0;
#ifdef MT_WITH_LIBDEFLATE
    if (strategy == Z_DEFAULT_STRATEGY && mt_has_libdeflate() && make_faster(out, columns, n))
        return 1;
#endif
    memset(&z, 0, sizeof z);
    z.zalloc = z_alloc;
    z.zfree = z_free;
    mt_put_var(&head, n);
    for (unsigned i = 0; i < n; i++) {
        mt_put_var(&head, columns[i].n);
        total += columns[i].n;
        ok = ok && !columns[i].failed;
    }
    if (!ok || head.failed || deflateInit2(&z, LEVEL, Z_DEFLATED, 15, 8, strategy) != Z_OK)
        goto out;
    bound = deflateBound(&z, (unsigned long)(total + head.n)) + (n + 1) * SPARE;
    if (bound > UINT32_MAX || (buf = mt_malloc(bound)) == NULL)
        goto end;
    z.next_out = buf;
    z.avail_out = (unsigned)bound;
    ok = feed(&z, head.p, head.n, Z_NO_FLUSH);
    for (unsigned i = 0; ok && i < n; i++)
        ok = feed(&z, columns[i].p, columns[i].n,
                  columns[i].n < OWN || i + 1 == n ? Z_NO_FLUSH : Z_BLOCK);
    if (ok && feed(&z, NULL, 0, Z_FINISH)) {
        out->n = (uint32_t)(bound - z.avail_out);
        exact = mt_realloc(buf, out->n);
        out->p = exact != NULL ? exact : buf;
        buf = NULL;
        rc = 1;
    }
end:
    (void)deflateEnd(&z);
out:
    for (unsigned i = 0; i < n; i++)
        columns[i].n = 0;
    mt_free(buf);
    mt_bytes_done(&head);
    return rc;
}

int mt_blob_make(struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    return make(out, columns, n, Z_DEFAULT_STRATEGY);
}

int mt_blob_noise(struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    return make(out, columns, n, Z_HUFFMAN_ONLY);
}

int mt_blob_next(struct mt_blob *out, struct mt_bytes *columns, unsigned n, unsigned *dense)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < n; i++)
        total += columns[i].n;
    if (*dense != 0) {
        --*dense;
        return make(out, columns, n, Z_RLE);
    }
    if (!mt_blob_make(out, columns, n))
        return 0;
    *dense = out->n > total / 5 * 3 ? DENSE : 0;
    return 1;
}

void mt_blob_done(struct mt_blob *b)
{
    mt_free(b->p);
    b->p = NULL;
    b->n = 0;
}

uint64_t mt_blob_cost(const struct mt_blob *b)
{
    enum { ELEMENT = 64 }; /* <script type="text/plain" id="mt-t0-c0"></script> and a line break */
    return b->p != NULL ? ((uint64_t)b->n + 2) / 3 * 4 + ELEMENT : 0;
}

void mt_base64(struct mt_out *o, const unsigned char *p, size_t n)
{
    char buf[4096];
    size_t used = 0, i = 0;
    for (; i + 2 < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
        for (int k = 18; k >= 0; k -= 6)
            buf[used++] = mt_base64_digits[v >> k & 63];
        if (used == sizeof buf) {
            mt_put(o, buf, used);
            used = 0;
        }
    }
    if (i < n) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0);
        buf[used++] = mt_base64_digits[v >> 18];
        buf[used++] = mt_base64_digits[v >> 12 & 63];
        buf[used++] = i + 1 < n ? mt_base64_digits[v >> 6 & 63] : '=';
        buf[used++] = '=';
    }
    mt_put(o, buf, used);
}

void mt_base85(struct mt_out *o, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 4) {
        const size_t left = n - i < 4 ? n - i : 4;
        char digits[5];
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++)
            v = v << 8 | (k < left ? p[i + k] : 0);
        for (size_t k = 5; k-- > 0; v /= 85)
            digits[k] = mt_base85_digits[v % 85];
        mt_put(o, digits, left + 1);
    }
}
