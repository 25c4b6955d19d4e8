/* isal.c -- the functions of Intel's ISA-L that unpack, each by the name it has there. It is opened
 * everywhere, tests and the tar.gz too, because who lacks it has zlib. */
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
    bool is_there;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The state is the caller's, so its layout has to be the library's. It is the same from 2.24, the
 * first that has isal_read_gzip_header, to 2.32. */
static void open_library(void)
{
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL), *since_2_24;
    real.is_there = library != NULL &&
                    mt_late_find(library, &since_2_24, "isal_read_gzip_header") &&
                    mt_late_find(library, &real.init, "isal_inflate_init") &&
                    mt_late_find(library, &real.inflate, "isal_inflate");
}

bool mt_has_isal(void)
{
    (void)pthread_once(&once, open_library);
    return real.is_there;
}

void isal_inflate_init(struct inflate_state *state) { real.init(state); }

int isal_inflate(struct inflate_state *state) { return real.inflate(state); }

#else

bool mt_has_isal(void) { return false; }

#endif
