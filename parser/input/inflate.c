/* input/inflate.c -- one way to both libraries; see inflate.h. */
#include "parser/input/inflate.h"

#include "parser/base/mem.h"
#ifdef MT_WITH_ISAL
#include "parser/late/late.h"

#include <isa-l/igzip_lib.h>
#endif

#include <stdint.h>
#include <string.h>

enum { GZIP_OR_ZLIB = 15 + 32 /* by the first bytes, with what each has for a check */ };

static voidpf z_alloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return mt_calloc(n, size);
}

static void z_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    mt_free(p);
}

bool mt_inflater_open(struct mt_inflater *f, bool twice)
{
    memset(f, 0, sizeof *f);
    f->z.zalloc = z_alloc;
    f->z.zfree = z_free;
    f->z_on = inflateInit2(&f->z, GZIP_OR_ZLIB) == Z_OK;
#ifdef MT_WITH_ISAL
    if (f->z_on && twice && mt_has_isal())
        f->isal = mt_malloc(sizeof *f->isal); /* 85 KiB; without them it is zlib */
#else
    (void)twice;
#endif
    return f->z_on;
}

void mt_inflater_close(struct mt_inflater *f)
{
    if (f->z_on)
        inflateEnd(&f->z);
    f->z_on = false;
    mt_free(f->isal);
    f->isal = NULL;
}

bool mt_inflater_begin(struct mt_inflater *f, const unsigned char *p, size_t n, bool through_zlib)
{
    static const unsigned char gzip[3] = {0x1f, 0x8b, 8};
    enum { FLAGS = 3, RESERVED = 0xe0 /* zlib refuses them, ISA-L does not look */ };
    f->by_isal = f->isal != NULL && !through_zlib && n > FLAGS && memcmp(p, gzip, 3) == 0 &&
                 (p[FLAGS] & (unsigned)RESERVED) == 0;
#ifdef MT_WITH_ISAL
    if (f->by_isal) {
        isal_inflate_init(f->isal);
        f->isal->crc_flag = ISAL_GZIP;
        return true;
    }
#endif
    return inflateReset(&f->z) == Z_OK;
}

#ifdef MT_WITH_ISAL
static enum mt_inflated run_isal(struct mt_inflater *f, const unsigned char **in, uint32_t *n_in,
                                 unsigned char **out, uint32_t *n_out)
{
    struct inflate_state *s = f->isal;
    bool moved;
    int rc;
    memcpy(&s->next_in, in, sizeof s->next_in); /* which lacks a const: it only reads there */
    s->avail_in = *n_in;
    s->next_out = *out;
    s->avail_out = *n_out;
    rc = isal_inflate(s);
    moved = s->next_in != *in || s->next_out != *out;
    *in = s->next_in;
    *n_in = s->avail_in;
    *out = s->next_out;
    *n_out = s->avail_out;
    if (rc != ISAL_DECOMP_OK)
        return MT_INFLATE_AGAIN;
    if (s->block_state == ISAL_BLOCK_FINISH)
        return MT_INFLATE_END;
    return moved ? MT_INFLATE_MORE : MT_INFLATE_AGAIN;
}
#endif

static enum mt_inflated run_zlib(struct mt_inflater *f, const unsigned char **in, uint32_t *n_in,
                                 unsigned char **out, uint32_t *n_out)
{
    int rc;
    f->z.next_in = *in;
    f->z.avail_in = *n_in;
    f->z.next_out = *out;
    f->z.avail_out = *n_out;
    rc = inflate(&f->z, Z_NO_FLUSH);
    *in = f->z.next_in;
    *n_in = f->z.avail_in;
    *out = f->z.next_out;
    *n_out = f->z.avail_out;
    switch (rc) {
    case Z_OK:
    case Z_BUF_ERROR: return MT_INFLATE_MORE;
    case Z_STREAM_END: return MT_INFLATE_END;
    case Z_MEM_ERROR: return MT_INFLATE_NO_MEMORY;
    default: return MT_INFLATE_DAMAGED;
    }
}

enum mt_inflated mt_inflater_run(struct mt_inflater *f, const unsigned char **in, size_t *n_in,
                                 unsigned char **out, size_t *n_out)
{
    const uint32_t most_in = *n_in < UINT32_MAX ? (uint32_t)*n_in : UINT32_MAX;
    const uint32_t most_out = *n_out < UINT32_MAX ? (uint32_t)*n_out : UINT32_MAX;
    uint32_t left_in = most_in, left_out = most_out;
    enum mt_inflated how;
#ifdef MT_WITH_ISAL
    if (f->by_isal)
        how = run_isal(f, in, &left_in, out, &left_out);
    else
#endif
        how = run_zlib(f, in, &left_in, out, &left_out);
    *n_in -= most_in - left_in;
    *n_out -= most_out - left_out;
    return how;
}
