/* Columns into compressed blocks: by libdeflate where repetitions are looked for at leisure, by
 * ISA-L where there are none or few pages carry the block, and by zlib where those two are not
 * there. All are zlib streams. */
#include "render/pack/bytes.h"

#include "parser/base/mem.h"
#include "parser/late/late.h"

#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#ifdef MT_WITH_LIBDEFLATE
#include <libdeflate.h>
#endif
#ifdef MT_WITH_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
    LEVEL = 4, /* 6 takes 0.2 to 0.9 % less room, and 8 to 11 % more time for the whole page */
    SOON = 2,  /* blocks until both ways are tried again, first and later */
    AGAIN = 8,
    OWN = 4096, /* bytes of a column from which on it gets codes of its own */
    SPARE = 64
};

/* What the columns begin with; false = something does not fit into memory. */
static bool put_head(struct mt_bytes *head, const struct mt_bytes *columns, unsigned n,
                     size_t *total)
{
    bool ok = true;
    mt_put_var(head, n);
    for (unsigned i = 0; i < n; i++) {
        mt_put_var(head, columns[i].n);
        *total += columns[i].n;
        ok = ok && !columns[i].failed;
    }
    *total += head->n;
    return ok && !head->failed;
}

/* Room for a block of so many bytes at most; NULL = there is none. */
static unsigned char *room(struct mt_press *press, size_t bound)
{
    press->out.n = 0;
    return bound <= UINT32_MAX && mt_bytes_room(&press->out, bound) ? press->out.p : NULL;
}

/* 1, or 0 = out of memory. */
static int keep(struct mt_blob *out, const struct mt_press *press, size_t used)
{
    *out = (struct mt_blob){.p = mt_malloc(used)};
    out->n = out->p != NULL ? (uint32_t)used : 0;
    if (out->p != NULL)
        memcpy(out->p, press->out.p, used);
    return out->p != NULL;
}

/* ---- zlib ---- */

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

static int by_zlib(struct mt_press *press, struct mt_blob *out, const struct mt_bytes *columns,
                   unsigned n, int strategy)
{
    struct mt_bytes head = {.p = NULL};
    z_stream z;
    size_t total = 0, bound;
    bool ok;
    int rc = 0;
    memset(&z, 0, sizeof z);
    z.zalloc = z_alloc;
    z.zfree = z_free;
    if (!put_head(&head, columns, n, &total) ||
        deflateInit2(&z, LEVEL, Z_DEFLATED, 15, 8, strategy) != Z_OK)
        goto out;
    bound = deflateBound(&z, (unsigned long)total) + (n + 1) * SPARE;
    if ((z.next_out = room(press, bound)) == NULL)
        goto end;
    z.avail_out = (unsigned)bound;
    ok = feed(&z, head.p, head.n, Z_NO_FLUSH);
    for (unsigned i = 0; ok && i < n; i++)
        ok = feed(&z, columns[i].p, columns[i].n,
                  columns[i].n < OWN || i + 1 == n ? Z_NO_FLUSH : Z_BLOCK);
    if (ok && feed(&z, NULL, 0, Z_FINISH))
        rc = keep(out, press, bound - z.avail_out);
end:
    (void)deflateEnd(&z);
out:
    mt_bytes_done(&head);
    return rc;
}

/* ---- the faster ones: 1, or 0 = not done ---- */

#ifdef MT_WITH_LIBDEFLATE
/* It finds by itself where other codes pay. Its level 6 takes 0.56 of the time of zlib's 4 and
 * makes no page larger of 100,000 events and more (a tiny one: 28 bytes); level 5 takes 0.5, and a
 * million events take 0.2 % more. Its own memory, 0.7 MB, is not counted. */
static int by_libdeflate(struct mt_press *press, struct mt_blob *out,
                         const struct mt_bytes *columns, unsigned n)
{
    enum { FASTER_LEVEL = 6 };
    unsigned char *buf;
    size_t total = 0, bound, used;
    bool ok;
    press->all.n = 0;
    ok = put_head(&press->all, columns, n, &total);
    for (unsigned i = 0; i < n; i++)
        mt_put_bytes(&press->all, columns[i].p, columns[i].n);
    if (!ok || press->all.failed)
        return 0;
    if (press->deflate == NULL)
        press->deflate = libdeflate_alloc_compressor(FASTER_LEVEL);
    bound = press->deflate != NULL ? libdeflate_zlib_compress_bound(press->deflate, total) : 0;
    if (bound == 0 || (buf = room(press, bound)) == NULL)
        return 0;
    used = libdeflate_zlib_compress(press->deflate, press->all.p, total, buf, bound);
    return used != 0 && keep(out, press, used);
}
#endif

#ifdef MT_WITH_ISAL
/* Its level 1; a column is flushed, so that it has its own codes. Told to look back two bytes at
 * most (ONE_BIT) it finds runs of one byte and nothing else: of a million events' columns that
 * takes a fifth of the time of zlib's Z_HUFFMAN_ONLY or Z_RLE, and 0.1 to 0.6 % less room than
 * either. Looking back as far as it can (ALL_BITS) it takes a third to a fifth of the time of
 * libdeflate's level 6 for 0.1 to 9 % more room. Which repetitions it takes may differ by
 * processor; what comes out of the block does not.
 *
 * FIRST bytes are flushed alone. Its code for more than 16 bytes (versions to 2.31, igzip_icf_body_
 * h1_gr_bt.asm, write_first_byte) files the third byte of a stream under a hash of the stream's own
 * address: the same columns came out one byte longer or shorter from run to run. Its code for few
 * bytes does not, and behind a history, which 4 bytes make, neither does the other. */
enum { ALL_BITS, ONE_BIT };
struct mt_press_isal {
    struct isal_zstream z;
    unsigned char level[ISAL_DEF_LVL1_DEFAULT];
};
static bool isal_feed(struct isal_zstream *z, unsigned char *p, size_t n, uint16_t flush)
{
    z->next_in = p;
    z->avail_in = (uint32_t)n;
    z->flush = flush;
    return isal_deflate(z) == COMP_OK && z->avail_in == 0 && z->avail_out != 0;
}

static int by_isal(struct mt_press *press, struct mt_blob *out, const struct mt_bytes *columns,
                   unsigned n, uint16_t look_back)
{
    enum { FAST_LEVEL = 1, PER_COLUMN = 512, FIRST = 4 };
    struct isal_zstream *z;
    size_t total = 0, bound, first;
    unsigned i = 0;
    bool ok;
    press->all.n = 0;
    ok = put_head(&press->all, columns, n, &total);
    for (; i < n && press->all.n < FIRST; i++)
        mt_put_bytes(&press->all, columns[i].p, columns[i].n);
    ok = ok && !press->all.failed;
    first = press->all.n < FIRST ? 0 : FIRST;
    bound = total + total / 8 + ((size_t)n + 3) * PER_COLUMN;
    if (press->isal == NULL)
        press->isal = mt_malloc(sizeof *press->isal);
    if (!ok || press->isal == NULL || room(press, bound) == NULL)
        return 0;
    z = &press->isal->z;
    isal_deflate_init(z);
    z->level = FAST_LEVEL;
    z->level_buf = press->isal->level;
    z->level_buf_size = sizeof press->isal->level;
    z->hist_bits = look_back;
    z->gzip_flag = IGZIP_ZLIB;
    z->next_out = press->out.p;
    z->avail_out = (uint32_t)bound;
    ok = first == 0 || isal_feed(z, press->all.p, first, SYNC_FLUSH);
    z->end_of_stream = i == n;
    ok = ok && isal_feed(z, press->all.p + first, press->all.n - first, NO_FLUSH);
    for (; ok && i < n; i++) {
        z->end_of_stream = i + 1 == n;
        ok = isal_feed(z, columns[i].p, columns[i].n,
                       i + 1 < n && columns[i].n >= OWN ? SYNC_FLUSH : NO_FLUSH);
    }
    return ok && z->internal_state.state == ZSTATE_END && keep(out, press, z->total_out);
}
#endif

void mt_press_done(struct mt_press *press)
{
#ifdef MT_WITH_LIBDEFLATE
    if (press->deflate != NULL)
        libdeflate_free_compressor(press->deflate);
#endif
    mt_free(press->isal);
    mt_bytes_done(&press->all);
    mt_bytes_done(&press->out);
    memset(press, 0, sizeof *press);
}

/* ---- which of them ---- */

static int search(struct mt_press *press, struct mt_blob *out, const struct mt_bytes *columns,
                  unsigned n)
{
#ifdef MT_WITH_LIBDEFLATE
    if (mt_has_libdeflate() && by_libdeflate(press, out, columns, n))
        return 1;
#endif
    return by_zlib(press, out, columns, n, Z_DEFAULT_STRATEGY);
}

/* strategy: zlib's, where ISA-L is not there. */
static int code(struct mt_press *press, struct mt_blob *out, const struct mt_bytes *columns,
                unsigned n, int strategy)
{
#ifdef MT_WITH_ISAL
    if (mt_has_isal() && by_isal(press, out, columns, n, ONE_BIT))
        return 1;
#endif
    return by_zlib(press, out, columns, n, strategy);
}

/* *searched: as search() would. */
static int quick(struct mt_press *press, struct mt_blob *out, const struct mt_bytes *columns,
                 unsigned n, bool *searched)
{
    *searched = false;
#ifdef MT_WITH_ISAL
    if (mt_has_isal() && by_isal(press, out, columns, n, ALL_BITS))
        return 1;
#endif
    *searched = true;
    return search(press, out, columns, n);
}

static void empty(struct mt_bytes *columns, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        columns[i].n = 0;
}

int mt_blob_make(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    int rc = search(press, out, columns, n);
    empty(columns, n);
    return rc;
}

int mt_blob_noise(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    int rc = code(press, out, columns, n, Z_HUFFMAN_ONLY);
    empty(columns, n);
    return rc;
}

int mt_blob_quick(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n)
{
    bool searched;
    int rc = quick(press, out, columns, n, &searched);
    empty(columns, n);
    return rc;
}

int mt_blob_wait(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                 enum mt_blob_way way)
{
    size_t total = 0;
    bool ok;
    press->out.n = 0;
    ok = put_head(&press->out, columns, n, &total);
    for (unsigned i = 0; i < n; i++)
        mt_put_bytes(&press->out, columns[i].p, columns[i].n);
    empty(columns, n);
    if (!ok || press->out.failed || total > UINT32_MAX || !keep(out, press, total))
        return 0;
    out->waits = way;
    return 1;
}

static size_t take_var(const unsigned char *p, size_t *at)
{
    size_t v = 0;
    unsigned shift = 0;
    do
        v |= (size_t)(p[*at] & 127) << shift;
    while (shift += 7, p[(*at)++] > 127);
    return v;
}

int mt_blob_settle(struct mt_press *press, struct mt_blob *b)
{
    struct mt_bytes columns[MT_BLOB_COLUMNS];
    struct mt_blob made = {.p = NULL};
    size_t at = 0, n;
    int rc;
    if (b->waits == MT_BLOB_MADE)
        return 1;
    n = take_var(b->p, &at);
    memset(columns, 0, sizeof columns);
    for (size_t i = 0; i < n; i++)
        columns[i].n = take_var(b->p, &at);
    for (size_t i = 0; i < n; at += columns[i++].n)
        columns[i].p = b->p + at;
    rc = b->waits == MT_BLOB_NOISE ? mt_blob_noise(press, &made, columns, (unsigned)n)
                                   : mt_blob_quick(press, &made, columns, (unsigned)n);
    if (rc) {
        mt_blob_done(b);
        *b = made;
    }
    return rc;
}

int mt_blob_next(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                 struct mt_blob_kind *kind)
{
    struct mt_blob noise = {.p = NULL}, found = {.p = NULL};
    bool both = kind->left == 0, searched = false;
    int rc = 1;
    if (both || kind->noise)
        rc = code(press, &noise, columns, n, Z_RLE);
    if (rc && both)
        rc = quick(press, &found, columns, n, &searched);
    if (both)
        *kind = (struct mt_blob_kind){kind->known ? AGAIN : SOON, noise.n <= found.n, true};
    kind->left--;
    if (rc && !kind->noise && !searched) {
        mt_blob_done(&found);
        rc = search(press, &found, columns, n);
    }
    *out = kind->noise ? noise : found;
    mt_blob_done(kind->noise ? &found : &noise);
    empty(columns, n);
    return rc;
}

/* ---- a text ---- */

int mt_blob_gzip(struct mt_blob *out, const void *p, size_t n)
{
    int rc = 0;
#ifdef MT_WITH_LIBDEFLATE
    enum { TEXT_LEVEL = 6 }; /* 8 takes 4 % less room, in 1.7 of the time */
    struct mt_press press = {.deflate = NULL};
    size_t bound, used;
    if (mt_has_libdeflate() && (press.deflate = libdeflate_alloc_compressor(TEXT_LEVEL)) != NULL) {
        bound = libdeflate_gzip_compress_bound(press.deflate, n);
        used = room(&press, bound) != NULL
                   ? libdeflate_gzip_compress(press.deflate, p, n, press.out.p, bound)
                   : 0;
        rc = used != 0 && keep(out, &press, used);
    }
    mt_press_done(&press);
#endif
    (void)out, (void)p, (void)n;
    return rc;
}

/* ---- blocks ---- */

void mt_blob_done(struct mt_blob *b)
{
    mt_free(b->p);
    *b = (struct mt_blob){.p = NULL};
}

uint64_t mt_blob_cost(const struct mt_blob *b)
{
    enum { ELEMENT = 64 }; /* <script type="text/plain" id="mt-t0-c0"></script> and a line break */
    return b->p != NULL ? ((uint64_t)b->n + 2) / 3 * 4 + ELEMENT : 0;
}
