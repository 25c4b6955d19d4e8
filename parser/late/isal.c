/* isal.c -- the functions of Intel's ISA-L that unpack and pack, each by the name it has there. It
 * is opened everywhere, tests and the tar.gz too, because who lacks it has zlib. */
#include "parser/late/late.h"

#ifdef MT_WITH_ISAL
#include "parser/late/impl.h"

#include <pthread.h>
#pragma GCC visibility push(hidden)
#include <isa-l/igzip_lib.h>
#pragma GCC visibility pop

static struct {
    __typeof__(isal_inflate_init) *init;
    __typeof__(isal_inflate) *inflate;
    __typeof__(isal_deflate_init) *deflate_init;
    __typeof__(isal_deflate) *deflate;
    bool is_there;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The states are the caller's, so their layout has to be the library's. It is the same from 2.24,
 * the first that has isal_read_gzip_header, to 2.32. */
static void open_library(void)
{
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL), *since_2_24;
    real.is_there = library != NULL &&
                    mt_late_find(library, &since_2_24, "isal_read_gzip_header") &&
                    mt_late_find(library, &real.init, "isal_inflate_init") &&
                    mt_late_find(library, &real.inflate, "isal_inflate") &&
                    mt_late_find(library, &real.deflate_init, "isal_deflate_init") &&
                    mt_late_find(library, &real.deflate, "isal_deflate");
}

bool mt_has_isal(void)
{
    (void)pthread_once(&once, open_library);
    return real.is_there;
}

void isal_inflate_init(struct inflate_state *state) { real.init(state); }

int isal_inflate(struct inflate_state *state) { return real.inflate(state); }

void isal_deflate_init(struct isal_zstream *stream) { real.deflate_init(stream); }

int isal_deflate(struct isal_zstream *stream) { return real.deflate(stream); }

#else

bool mt_has_isal(void) { return false; }

#endif
