#include "cli/gzip_out.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

enum { BUFFER = 1 << 16 };
struct mt_gzip_state {
    z_stream z;
    struct mt_out *to;
    unsigned char buf[BUFFER];
};

static int feed(struct mt_gzip_state *s, const void *p, unsigned n, int flush)
{
    int rc;
    s->z.next_in = p;
    s->z.avail_in = n;
    do {
        s->z.next_out = s->buf;
        s->z.avail_out = sizeof s->buf;
        rc = deflate(&s->z, flush);
        if (rc == Z_STREAM_ERROR)
            return EINVAL;
        mt_put(s->to, s->buf, sizeof s->buf - s->z.avail_out);
    } while (s->z.avail_out == 0);
    return s->to->error;
}

static int write_some(void *ctx, const void *p, size_t n)
{
    const unsigned char *s = p;
    int error = 0;
    for (; n > BUFFER && error == 0; n -= BUFFER, s += BUFFER)
        error = feed(ctx, s, BUFFER, Z_NO_FLUSH);
    return error == 0 ? feed(ctx, s, (unsigned)n, Z_NO_FLUSH) : error;
}

int mt_gzip_out_open(struct mt_gzip_out *g, struct mt_out *to)
{
    memset(g, 0, sizeof *g);
    g->state = mt_calloc(1, sizeof *g->state);
    g->out.buf = mt_malloc(BUFFER);
    if (g->state == NULL || g->out.buf == NULL ||
        deflateInit2(&g->state->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        mt_free(g->state);
        mt_free(g->out.buf);
        memset(g, 0, sizeof *g);
        return 0;
    }
    g->state->to = to;
    g->out.cap = BUFFER;
    g->out.write = write_some;
    g->out.ctx = g->state;
    return 1;
}

void mt_gzip_out_close(struct mt_gzip_out *g)
{
    int error = mt_out_finish(&g->out);
    if (error == 0)
        error = feed(g->state, g->state->buf, 0, Z_FINISH);
    if (g->state->to->error == 0)
        g->state->to->error = error;
    (void)deflateEnd(&g->state->z);
    mt_out_done(&g->out); /* frees the state as well: it is the sink's ctx */
    g->state = NULL;
}
