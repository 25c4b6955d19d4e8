/* members.c -- walks the gzip members of a file, checks each, and skips what is damaged. Memory is
 * bounded by the size of one chunk. */
#include "capture/parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define GZ_HEAD 40u /* 10 + 2 + 4 + MT_WIRE_EXTRA: what every member of ours begins with */
#define GZ_MAX (MT_WIRE_MAX_CHUNK + MT_WIRE_MAX_CHUNK / 512 + 4096u)

bool mt_chunk_parse(struct mt_chunk *c, const unsigned char *raw, size_t n)
{
    memset(c, 0, sizeof *c);
    if (n < MT_WIRE_HEADER || memcmp(raw, MT_WIRE_MAGIC, 8) != 0)
        return false;
    c->uid = mt_get64(raw + MT_WH_UID);
    c->seq = mt_get64(raw + MT_WH_SEQ);
    c->realtime = mt_get64(raw + MT_WH_REALTIME);
    c->monotonic = mt_get64(raw + MT_WH_MONOTONIC);
    c->used = mt_get32(raw + MT_WH_USED);
    c->records = mt_get32(raw + MT_WH_RECORDS);
    c->pid = mt_get32(raw + MT_WH_PID);
    c->kind = mt_get16(raw + MT_WH_KIND);
    c->dropped = mt_get64(raw + MT_WH_DROPPED);
    c->raw = raw;
    return c->used <= MT_WIRE_MAX_CHUNK - MT_WIRE_HEADER && c->used <= n - MT_WIRE_HEADER;
}

size_t mt_chunk_whole(const unsigned char *p, size_t n)
{
    const unsigned char *at = p, *end = p + n;
    for (;;) {
        const unsigned char *q = at;
        uint64_t type, len;
        if (!mt_get_varint(&q, end, &type) || !mt_get_varint(&q, end, &len) ||
            len > (uint64_t)(end - q))
            return (size_t)(at - p);
        at = q + len;
    }
}

bool mt_members_open(struct mt_members *m, int fd)
{
    z_stream *z;
    memset(m, 0, sizeof *m);
    m->fd = fd;
    m->cap = GZ_MAX;
    m->buf = mt_malloc(m->cap);
    m->raw = mt_malloc(MT_WIRE_MAX_CHUNK);
    m->z = z = mt_calloc(1, sizeof *z);
    if (m->buf == NULL || m->raw == NULL || z == NULL || inflateInit2(z, -15) != Z_OK) {
        mt_free(m->z);
        m->z = NULL;
        mt_members_done(m);
        return false;
    }
    return true;
}

void mt_members_done(struct mt_members *m)
{
    if (m->z != NULL)
        (void)inflateEnd(m->z);
    mt_free(m->z);
    mt_free(m->buf);
    mt_free(m->raw);
    memset(m, 0, sizeof *m);
}

void mt_members_from(struct mt_members *m, int fd, uint64_t offset)
{
    m->fd = fd;
    m->offset = offset;
    m->have = m->at = 0;
    m->eof = m->cut = false;
    m->error = 0;
}

/* More bytes behind those there are; those before m->at are done with. */
static bool fill(struct mt_members *m)
{
    size_t got;
    if (m->eof || m->error != 0)
        return false;
    if (m->at > 0 && m->have == m->cap) {
        memmove(m->buf, m->buf + m->at, m->have - m->at);
        m->offset += m->at;
        m->have -= m->at;
        m->at = 0;
    }
    if (m->have == m->cap)
        return false;
    if (!mt_read_at(m->fd, m->buf + m->have, m->cap - m->have, m->offset + m->have, &got)) {
        m->error = errno;
        return false;
    }
    m->eof = got < m->cap - m->have;
    m->have += got;
    return got > 0;
}

static bool is_head(const unsigned char *p)
{
    return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && p[3] == 4 &&
           mt_get16(p + 10) == 4 + MT_WIRE_EXTRA && p[12] == 'M' && p[13] == 'T' &&
           mt_get16(p + 14) == MT_WIRE_EXTRA;
}

/* What stands at m->at: 1 = a whole member, *n_gz long; 0 = none, or a damaged one; -1 = it goes on
 * behind the end of the file. */
static int one(struct mt_members *m, size_t *n_gz, size_t *n_raw)
{
    z_stream *z = m->z;
    size_t in = GZ_HEAD;
    int rc;

    if (m->have - m->at < GZ_HEAD)
        return -1;
    if (!is_head(m->buf + m->at))
        return 0;
    (void)inflateReset(z);
    z->next_out = m->raw;
    z->avail_out = MT_WIRE_MAX_CHUNK;
    do {
        size_t avail = m->have - m->at - in, before;
        if (avail == 0) {
            if (!fill(m))
                return -1;
            avail = m->have - m->at - in;
        }
        z->next_in = m->buf + m->at + in;
        z->avail_in = (uInt)avail;
        before = avail;
        rc = inflate(z, Z_NO_FLUSH);
        in += before - z->avail_in;
        if (rc == Z_BUF_ERROR && z->avail_out > 0 && z->avail_in == 0)
            rc = Z_OK;
    } while (rc == Z_OK && z->avail_out > 0);
    if (rc != Z_STREAM_END)
        return 0;
    while (m->have - m->at < in + 8)
        if (!fill(m))
            return -1;
    *n_raw = MT_WIRE_MAX_CHUNK - z->avail_out;
    *n_gz = in + 8;
    return mt_get32(m->buf + m->at + in) == (uint32_t)crc32(0, m->raw, (uInt)*n_raw) &&
           mt_get32(m->buf + m->at + in + 4) == (uint32_t)*n_raw;
}

/* Past what is damaged, to the next place that looks like a member. */
static void skip(struct mt_members *m)
{
    uint64_t from = m->offset + m->at;
    m->at++;
    for (;;) {
        while (m->have - m->at >= 16) {
            const unsigned char *p = memchr(m->buf + m->at, 0x1f, m->have - m->at - 15);
            if (p == NULL) {
                m->at = m->have - 15;
                break;
            }
            m->at = (size_t)(p - m->buf);
            if (is_head(p)) {
                m->bad_bytes += m->offset + m->at - from;
                return;
            }
            m->at++;
        }
        if (!fill(m)) {
            m->at = m->have;
            m->bad_bytes += m->offset + m->at - from;
            return;
        }
    }
}

bool mt_members_next(struct mt_members *m, struct mt_member *out)
{
    for (;;) {
        size_t n_gz = 0, n_raw = 0;
        int rc;
        if (m->have - m->at < GZ_HEAD + 8)
            (void)fill(m);
        if (m->at == m->have)
            return false;
        rc = one(m, &n_gz, &n_raw);
        if (rc == 1 && mt_chunk_parse(&out->chunk, m->raw, n_raw) &&
            out->chunk.used + MT_WIRE_HEADER == n_raw) {
            out->gz = m->buf + m->at;
            out->n_gz = n_gz;
            m->at += n_gz;
            return true;
        }
        if (rc < 0) {
            /* A member that the end of the file cuts off; another may follow inside what looks like
             * its body only after damage. */
            m->cut = m->have - m->at < 16 || is_head(m->buf + m->at);
        }
        m->n_bad++;
        skip(m);
    }
}
