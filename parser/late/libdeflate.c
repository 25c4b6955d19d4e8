/* libdeflate.c -- the functions of libdeflate that pack, each by the name it has there. It is
 * opened everywhere, tests and the tar.gz too, because who lacks it has zlib. */
#include "parser/late/late.h"

#ifdef MT_WITH_LIBDEFLATE
#include "parser/late/impl.h"

#include <pthread.h>
#include <stddef.h>
#pragma GCC visibility push(hidden)
#include <libdeflate.h>
#pragma GCC visibility pop

static struct {
    __typeof__(libdeflate_alloc_compressor) *alloc_compressor;
    __typeof__(libdeflate_zlib_compress_bound) *zlib_compress_bound;
    __typeof__(libdeflate_zlib_compress) *zlib_compress;
    __typeof__(libdeflate_gzip_compress_bound) *gzip_compress_bound;
    __typeof__(libdeflate_gzip_compress) *gzip_compress;
    __typeof__(libdeflate_free_compressor) *free_compressor;
    bool is_there;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    void *library = dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL);
    real.is_there =
        library != NULL &&
        mt_late_find(library, &real.alloc_compressor, "libdeflate_alloc_compressor") &&
        mt_late_find(library, &real.zlib_compress_bound, "libdeflate_zlib_compress_bound") &&
        mt_late_find(library, &real.zlib_compress, "libdeflate_zlib_compress") &&
        mt_late_find(library, &real.gzip_compress_bound, "libdeflate_gzip_compress_bound") &&
        mt_late_find(library, &real.gzip_compress, "libdeflate_gzip_compress") &&
        mt_late_find(library, &real.free_compressor, "libdeflate_free_compressor");
}

bool mt_has_libdeflate(void)
{
    (void)pthread_once(&once, open_library);
    return real.is_there;
}

struct libdeflate_compressor *libdeflate_alloc_compressor(int compression_level)
{
    return real.alloc_compressor(compression_level);
}

size_t libdeflate_zlib_compress_bound(struct libdeflate_compressor *c, size_t in_nbytes)
{
    return real.zlib_compress_bound(c, in_nbytes);
}

size_t libdeflate_zlib_compress(struct libdeflate_compressor *c, const void *in, size_t in_nbytes,
                                void *out, size_t out_nbytes_avail)
{
    return real.zlib_compress(c, in, in_nbytes, out, out_nbytes_avail);
}

size_t libdeflate_gzip_compress_bound(struct libdeflate_compressor *c, size_t in_nbytes)
{
    return real.gzip_compress_bound(c, in_nbytes);
}

size_t libdeflate_gzip_compress(struct libdeflate_compressor *c, const void *in, size_t in_nbytes,
                                void *out, size_t out_nbytes_avail)
{
    return real.gzip_compress(c, in, in_nbytes, out, out_nbytes_avail);
}

void libdeflate_free_compressor(struct libdeflate_compressor *c) { real.free_compressor(c); }

#else

bool mt_has_libdeflate(void) { return false; }

#endif
