/* input/gzip.c -- gzip through zlib: the first bytes come twice as fast as through libarchive, and
 * CRC and length are checked. */
#include "parser/input/impl.h"

#include <string.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

struct gz {
    z_stream z;
    struct mt_source *up;
    const struct mt_raw *raw;
    const char **note;
    uint64_t out;
    uint32_t max_ratio;
    bool started, in_member, done;
};

static voidpf gz_alloc(voidpf opaque, uInt n, uInt size)
{
    (void)opaque;
    return mt_calloc(n, size);
}

static void gz_free(voidpf opaque, voidpf p)
{
    (void)opaque;
    mt_free(p);
}

static void gz_close(void *ctx)
{
    struct gz *g = ctx;
    if (g->started)
        inflateEnd(&g->z);
    mt_source_free(g->up);
    mt_free(g);
}

/* Between members: another one, padding, or something that is no gzip. */
static void after_member(struct gz *g)
{
    struct mt_source *up = g->up;
    bool padding = false;
    if (mt_source_need(up, 2) >= 2 && up->cur[0] == 0x1f && up->cur[1] == 0x8b) {
        g->in_member = inflateReset(&g->z) == Z_OK;
        g->done = !g->in_member;
        return;
    }
    g->done = true;
    while (mt_source_need(up, 1) > 0) { /* tape blocks and some object stores pad with zeros */
        while (up->cur < up->end && *up->cur == 0)
            up->cur++, padding = true;
        if (up->cur < up->end) {
            if (g->note != NULL)
                *g->note = padding
                               ? "bytes that are no gzip follow the zero padding after the gzip "
                                 "data; they were not read"
                               : "bytes that are no gzip follow the gzip data; they were not read";
            return;
        }
    }
}

static enum mt_rc broken(struct gz *g, int zrc, struct mt_err *err)
{
    unsigned long long at = (unsigned long long)mt_source_offset(g->up);
    const char *msg = g->z.msg != NULL ? g->z.msg : "no reason given";
    if (zrc == Z_MEM_ERROR)
        return mt_fail(err, MT_ENOMEM, "out of memory while unpacking gzip");
    if (strcmp(msg, "incorrect data check") == 0)
        return mt_fail_at(err, MT_EINPUT, g->out,
                          "gzip CRC mismatch at compressed offset %llu: the file was damaged after "
                          "it was written",
                          at);
    if (strcmp(msg, "incorrect length check") == 0)
        return mt_fail_at(err, MT_EINPUT, g->out,
                          "gzip length mismatch at compressed offset %llu: the file was damaged "
                          "after it was written",
                          at);
    return mt_fail_at(err, MT_EINPUT, g->out,
                      "the gzip data is damaged at compressed offset %llu (zlib: %s)", at, msg);
}

static size_t gz_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err)
{
    struct gz *g = ctx;
    struct mt_source *up = g->up;
    size_t got = 0;
    while (got == 0 && !g->done) {
        size_t avail, room = n > UINT32_MAX ? UINT32_MAX : n;
        int zrc;
        if (!g->in_member) {
            after_member(g);
            continue;
        }
        avail = mt_source_need(up, 1);
        if (avail == 0) {
            if (up->status != MT_OK) {
                *err = up->err;
                *rc = up->status;
            } else {
                *rc = mt_fail_at(err, MT_EINPUT, g->out,
                                 "the gzip stream ends early at compressed offset %llu: the file "
                                 "is cut short (a copy that did "
                                 "not finish, or a writer that died)",
                                 (unsigned long long)mt_source_offset(up));
            }
            g->done = true;
            break;
        }
        if (avail > UINT32_MAX)
            avail = UINT32_MAX;
        g->z.next_in = up->cur;
        g->z.avail_in = (uInt)avail;
        g->z.next_out = dst;
        g->z.avail_out = (uInt)room;
        zrc = inflate(&g->z, Z_NO_FLUSH);
        up->cur += avail - g->z.avail_in;
        got = room - g->z.avail_out;
        g->out += got;
        if (zrc == Z_STREAM_END) {
            g->in_member = false;
        } else if (zrc != Z_OK && zrc != Z_BUF_ERROR) {
            *rc = broken(g, zrc, err);
            g->done = true;
        }
        if (*rc == MT_OK && (*rc = mt_ratio_check(g->out, mt_source_offset(up), g->raw,
                                                  g->max_ratio, err)) != MT_OK)
            g->done = true;
    }
    return got;
}

enum mt_rc mt_gzip_open(struct mt_source **out, struct mt_source *up, const struct mt_raw *raw,
                        uint32_t max_ratio, const char **note, struct mt_err *err)
{
    struct gz *g = mt_calloc(1, sizeof *g);
    if (g == NULL) {
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    g->up = up;
    g->raw = raw;
    g->note = note;
    g->max_ratio = max_ratio;
    g->in_member = true;
    g->z.zalloc = gz_alloc;
    g->z.zfree = gz_free;
    g->started = inflateInit2(&g->z, 15 + 16) == Z_OK;
    if (!g->started) {
        gz_close(g);
        return mt_fail(err, MT_ENOMEM, "out of memory while opening gzip data");
    }
    if (mt_source_new(out, gz_read, gz_close, g) != MT_OK)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    return MT_OK;
}
