/* input/gzip.c -- gzip as a stream: the first bytes come twice as fast as through libarchive, and
 * CRC and length are checked. */
#include "parser/input/impl.h"
#include "parser/input/inflate.h"

#include <string.h>

struct gz {
    struct mt_inflater f;
    struct mt_source *up;
    struct mt_raw *file; /* that `up` reads, and can read again; or NULL */
    const struct mt_raw *raw;
    const char **note;
    uint64_t out;
    uint64_t member_at, member_out; /* where the member began, packed and unpacked */
    uint64_t known; /* bytes that were handed out before the member was begun again */
    uint32_t max_ratio;
    bool in_member, done;
};

static void gz_close(void *ctx)
{
    struct gz *g = ctx;
    mt_inflater_close(&g->f);
    mt_source_free(g->up);
    mt_free(g);
}

static bool begin(struct gz *g)
{
    struct mt_source *up = g->up;
    size_t n = mt_source_need(up, 4);
    g->member_at = mt_source_offset(up);
    g->member_out = g->out;
    return mt_inflater_begin(&g->f, up->cur, n, false);
}

/* The member from its start, through zlib. */
static bool again(struct gz *g)
{
    g->known = g->out - g->member_out;
    g->out = g->member_out;
    return mt_raw_seek(g->file, g->up, g->member_at) && mt_inflater_begin(&g->f, NULL, 0, true);
}

/* Between members: another one, padding, or something that is no gzip. */
static void after_member(struct gz *g)
{
    struct mt_source *up = g->up;
    bool padding = false;
    if (mt_source_need(up, 2) >= 2 && up->cur[0] == 0x1f && up->cur[1] == 0x8b) {
        g->in_member = begin(g);
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

static enum mt_rc broken(struct gz *g, enum mt_inflated how, struct mt_err *err)
{
    unsigned long long at = (unsigned long long)mt_source_offset(g->up);
    const char *msg = g->f.z.msg != NULL ? g->f.z.msg : "no reason given";
    if (how == MT_INFLATE_NO_MEMORY)
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

static enum mt_rc cut_short(struct gz *g, struct mt_err *err)
{
    struct mt_source *up = g->up;
    if (up->status != MT_OK) {
        *err = up->err;
        return up->status;
    }
    return mt_fail_at(err, MT_EINPUT, g->out,
                      "the gzip stream ends early at compressed offset %llu: the file is cut short "
                      "(a copy that did not finish, or a writer that died)",
                      (unsigned long long)mt_source_offset(up));
}

/* Drops what was handed out before; returns how much of the n bytes at p is left. */
static size_t drop_known(struct gz *g, unsigned char *p, size_t n)
{
    size_t k = g->known < n ? (size_t)g->known : n;
    g->known -= k;
    if (k != 0 && k < n)
        memmove(p, p + k, n - k);
    return n - k;
}

static size_t gz_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc, struct mt_err *err)
{
    struct gz *g = ctx;
    struct mt_source *up = g->up;
    size_t got = 0;
    while (got == 0 && !g->done) {
        unsigned char *out = dst;
        size_t avail, room = n;
        enum mt_inflated how;
        if (!g->in_member) {
            after_member(g);
            continue;
        }
        avail = mt_source_need(up, 1);
        if (avail == 0 && !g->f.by_isal) {
            *rc = cut_short(g, err);
            g->done = true;
            break;
        }
        how = mt_inflater_run(&g->f, &up->cur, &avail, &out, &room);
        /* Of a stream that is cut, ISA-L may give a byte more than zlib. */
        if (g->f.by_isal && how == MT_INFLATE_MORE && room != 0 && mt_source_need(up, 1) == 0) {
            if (up->status == MT_OK) {
                how = MT_INFLATE_AGAIN;
            } else {
                *rc = cut_short(g, err);
                g->done = true;
            }
        }
        if (how == MT_INFLATE_AGAIN) {
            if (again(g))
                continue;
            *rc = mt_fail_at(err, MT_EIO, g->out,
                             "the gzip data cannot be read again: did the file change meanwhile?");
            g->done = true;
            break;
        }
        g->out += (size_t)(out - dst);
        got = drop_known(g, dst, (size_t)(out - dst));
        if (how == MT_INFLATE_END) {
            g->in_member = false;
            g->known = 0;
        } else if (how != MT_INFLATE_MORE) {
            *rc = broken(g, how, err);
            g->done = true;
        }
        if (*rc == MT_OK && (*rc = mt_ratio_check(g->out, mt_source_offset(up), g->raw,
                                                  g->max_ratio, err)) != MT_OK)
            g->done = true;
    }
    return got;
}

enum mt_rc mt_gzip_open(struct mt_source **out, struct mt_source *up, struct mt_raw *file,
                        const struct mt_raw *raw, uint32_t max_ratio, const char **note,
                        struct mt_err *err)
{
    struct gz *g = mt_calloc(1, sizeof *g);
    if (g == NULL) {
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    g->up = up;
    g->file = file;
    g->raw = raw;
    g->note = note;
    g->max_ratio = max_ratio;
    g->in_member = true;
    if (!mt_inflater_open(&g->f, file != NULL) || !begin(g)) {
        gz_close(g);
        return mt_fail(err, MT_ENOMEM, "out of memory while opening gzip data");
    }
    if (mt_source_new(out, gz_read, gz_close, g) != MT_OK)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    return MT_OK;
}
