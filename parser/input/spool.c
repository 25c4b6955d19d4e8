/* input/spool.c -- a stream held in memory, so that it can be read at any place. Needed by 7z,
 * whose table is at the end, when it comes from a pipe or from inside another archive. Bounded; a
 * 7z file on disk is read in place. */
#include "parser/input/impl.h"

#include <string.h>

struct spool {
    unsigned char *p;
    size_t n, pos;
};

static size_t spool_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                         struct mt_err *err)
{
    struct spool *s = ctx;
    size_t left = s->pos < s->n ? s->n - s->pos : 0;
    (void)rc;
    (void)err;
    n = n < left ? n : left;
    if (n == 0)
        return 0;
    memcpy(dst, s->p + s->pos, n);
    s->pos += n;
    return n;
}

static void spool_close(void *ctx)
{
    struct spool *s = ctx;
    mt_free(s->p);
    mt_free(s);
}

uint64_t mt_spool_size(const struct mt_source *src)
{
    const struct spool *s = src->ctx;
    return s->n;
}

bool mt_spool_seek(struct mt_source *src, uint64_t offset)
{
    struct spool *s = src->ctx;
    s->pos = offset < s->n ? (size_t)offset : s->n;
    src->cur = src->end = src->buf;
    src->base = offset;
    if (src->status == MT_OK)
        src->eof = false;
    return true;
}

enum mt_rc mt_spool_open(struct mt_source **out, struct mt_source *up, uint64_t max,
                         struct mt_err *err)
{
    struct spool *s = mt_calloc(1, sizeof *s);
    size_t cap = 0, have;
    enum mt_rc rc = MT_OK;
    if (s == NULL) {
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    while (rc == MT_OK && (have = mt_source_need(up, 1)) > 0) {
        if (have > max - s->n) {
            rc = mt_fail(err, MT_ELIMIT,
                         "more than %llu bytes of a 7z archive that is no file of its own would "
                         "have to be held in memory: "
                         "save it to a file, or raise --max-memory",
                         (unsigned long long)max);
            break;
        }
        if (have > cap - s->n) {
            size_t want = s->n + have > 2 * cap ? s->n + have : 2 * cap;
            unsigned char *p = mt_realloc(s->p, want);
            if (p == NULL) {
                rc = mt_fail(err, MT_ENOMEM,
                             "out of memory while holding a 7z archive that is no file of its own: "
                             "save it to a file");
                break;
            }
            s->p = p;
            cap = want;
        }
        memcpy(s->p + s->n, up->cur, have);
        s->n += have;
        up->cur = up->end;
    }
    if (rc == MT_OK && up->status != MT_OK) {
        *err = up->err;
        rc = up->status;
    }
    mt_source_free(up);
    if (rc == MT_OK) {
        if (mt_source_new(out, spool_read, spool_close, s) != MT_OK)
            rc = mt_fail(err, MT_ENOMEM, "out of memory");
    } else {
        spool_close(s);
    }
    return rc;
}
