/* trace_out.c -- the trace that is written: members appended to FILE.part, renamed when it is
 * whole. */
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#define CHUNK_FULL (1u << 20)

enum mt_rc mt_trace_out_open(struct mt_trace_out *o, const char *path, bool force,
                             struct mt_err *err)
{
    struct stat st;

    memset(o, 0, sizeof *o);
    o->fd = -1;
    o->force = force;
    o->target = mt_strndup(path, strlen(path));
    if (o->target == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        o->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        for (unsigned i = 0; i < 100 && o->fd < 0; i++) {
            mt_free(o->part);
            o->part = i == 0 ? mt_text("%s.part", path) : mt_text("%s.part%u", path, i);
            if (o->part == NULL)
                return mt_fail(err, MT_ENOMEM, "out of memory");
            o->fd = open(o->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (o->fd < 0 && errno != EEXIST)
                break;
        }
    }
    if (o->fd < 0) {
        char shown[300];
        int error = errno;
        mt_free(o->part); /* nothing of ours to remove */
        o->part = NULL;
        return mt_fail(err, MT_EIO, "%s: cannot be written: %s",
                       mt_printable(shown, sizeof shown, path, strlen(path)), strerror(error));
    }
    return MT_OK;
}

void mt_trace_out_raw(struct mt_trace_out *o, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n > 0 && o->error == 0) {
        ssize_t k = write(o->fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            o->error = k < 0 ? errno : ENOSPC;
            return;
        }
        p += k;
        n -= (size_t)k;
        o->bytes += (uint64_t)k;
    }
}

static z_stream *deflater(struct mt_trace_out *o, bool fast)
{
    z_stream *z = o->z[fast];
    if (z != NULL)
        return deflateReset(z) == Z_OK ? z : NULL;
    z = mt_calloc(1, sizeof *z);
    if (z == NULL)
        return NULL;
    if (deflateInit2(z, fast ? 1 : 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        mt_free(z);
        return NULL;
    }
    return o->z[fast] = z;
}

void mt_trace_out_chunk(struct mt_trace_out *o, const unsigned char *raw, bool fast)
{
    unsigned char extra[4 + MT_WIRE_EXTRA] = {'M', 'T', MT_WIRE_EXTRA, 0};
    gz_header head = {.os = 3, .extra = extra, .extra_len = sizeof extra};
    uint32_t size = MT_WIRE_HEADER + mt_get32(raw + MT_WH_USED);
    z_stream *z;
    uLong bound;

    if (o->error != 0)
        return;
    z = deflater(o, fast);
    if (z == NULL) {
        o->error = ENOMEM;
        return;
    }
    memcpy(extra + 4, raw + MT_WH_UID, 16); /* uid, seq */
    mt_put32(extra + 20, size);
    memcpy(extra + 24, raw + MT_WH_KIND, 2);
    (void)deflateSetHeader(z, &head);
    bound = deflateBound(z, size) + 64;
    if (bound > o->gz_cap) {
        mt_free(o->gz);
        o->gz_cap = 0;
        o->gz = mt_malloc(bound);
        if (o->gz == NULL) {
            o->error = ENOMEM;
            return;
        }
        o->gz_cap = bound;
    }
    z->next_in = raw;
    z->avail_in = size;
    z->next_out = o->gz;
    z->avail_out = (uInt)o->gz_cap;
    if (deflate(z, Z_FINISH) != Z_STREAM_END) {
        o->error = EINVAL;
        return;
    }
    mt_trace_out_raw(o, o->gz, o->gz_cap - z->avail_out);
}

/* "trace.gz" -> "trace-2.gz" */
static char *name_beside(const char *target, unsigned i)
{
    const char *base = mt_base_name(target), *dot = strrchr(base, '.');
    int stem = (int)(dot != NULL && dot != base ? (size_t)(dot - target) : strlen(target));
    return mt_text("%.*s-%u%s", stem, target, i, target + stem);
}

enum { NAMES_MOST = 100000 };

char *mt_trace_free_name(const char *target)
{
    struct stat st;
    char *name = mt_strndup(target, strlen(target));
    for (unsigned i = 2; name != NULL && i < NAMES_MOST && lstat(name, &st) == 0; i++) {
        mt_free(name);
        name = name_beside(target, i);
    }
    return name;
}

/* Renames without overwriting: 0, or an errno. link() first; where a file system has no links a
 * look has to do. */
static int rename_new(const char *from, const char *to)
{
    struct stat st;
    if (link(from, to) == 0) {
        (void)unlink(from);
        return 0;
    }
    if (errno == EEXIST)
        return EEXIST;
    if (lstat(to, &st) == 0)
        return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

static enum mt_rc write_failed(struct mt_trace_out *o, int error, struct mt_err *err)
{
    char shown[300];
    return mt_fail(err, MT_EIO, "%s: cannot be written: %s",
                   mt_printable(shown, sizeof shown, o->target, strlen(o->target)),
                   strerror(error));
}

enum mt_rc mt_trace_out_commit(struct mt_trace_out *o, char **path, struct mt_err *err)
{
    int error = 0, fd = o->fd;

    *path = NULL;
    if (o->error != 0)
        return write_failed(o, o->error, err);
    o->fd = -1;
    if (close(fd) != 0)
        return write_failed(o, errno, err);
    if (o->part == NULL) {
        *path = mt_strndup(o->target, strlen(o->target));
    } else if (o->force) {
        char real[PATH_MAX]; /* a link keeps pointing at the file it points at */
        const char *to = realpath(o->target, real) != NULL ? real : o->target;
        error = rename(o->part, to) == 0 ? 0 : errno;
        *path = mt_strndup(o->target, strlen(o->target));
    } else {
        *path = mt_strndup(o->target, strlen(o->target));
        error = *path != NULL ? rename_new(o->part, *path) : ENOMEM;
        for (unsigned i = 2; error == EEXIST && i < NAMES_MOST; i++) {
            mt_free(*path);
            *path = name_beside(o->target, i);
            error = *path != NULL ? rename_new(o->part, *path) : ENOMEM;
        }
    }
    if (error != 0 || *path == NULL) {
        mt_free(*path);
        *path = NULL;
        return write_failed(o, error != 0 ? error : ENOMEM, err);
    }
    mt_free(o->part);
    o->part = NULL;
    return MT_OK;
}

void mt_trace_out_discard(struct mt_trace_out *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    if (o->part != NULL)
        (void)unlink(o->part);
    for (int i = 0; i < 2; i++) {
        if (o->z[i] != NULL)
            (void)deflateEnd(o->z[i]);
        mt_free(o->z[i]);
    }
    mt_free(o->gz);
    mt_free(o->part);
    mt_free(o->target);
    memset(o, 0, sizeof *o);
    o->fd = -1;
}

/* ---- chunks of our own ---- */

void mt_chunk_out_init(struct mt_chunk_out *c, struct mt_trace_out *out, uint64_t uid,
                       enum mt_wire_kind kind, uint32_t pid)
{
    memset(c, 0, sizeof *c);
    c->out = out;
    c->uid = uid;
    c->kind = (uint16_t)kind;
    c->pid = pid;
}

void mt_pay_u(struct mt_payload *p, uint64_t v)
{
    if (sizeof p->p - p->n >= MT_VARINT_MAX)
        p->n = (size_t)(mt_put_varint(p->p + p->n, v) - p->p);
}

void mt_pay_s(struct mt_payload *p, int64_t v) { mt_pay_u(p, mt_zigzag(v)); }

void mt_pay_str(struct mt_payload *p, const char *s, size_t n)
{
    size_t room = sizeof p->p - p->n;
    room = room > 4 * MT_VARINT_MAX ? room - 4 * MT_VARINT_MAX : 0; /* numbers may follow */
    if (n > room)
        n = room;
    mt_pay_u(p, n);
    memcpy(p->p + p->n, s, n);
    p->n += n;
}

/* Room for one record of n payload bytes in a begun chunk. */
static bool room(struct mt_chunk_out *c, size_t n)
{
    if (c->failed)
        return false;
    if (c->n > MT_WIRE_HEADER && c->n + n + 2 * MT_VARINT_MAX > CHUNK_FULL + MT_WIRE_HEADER)
        mt_chunk_out_flush(c);
    if (c->n == 0) {
        c->n = MT_WIRE_HEADER;
        c->time = c->monotonic;
        c->records = 0;
    }
    if (c->n + n + 2 * MT_VARINT_MAX > c->cap) {
        size_t cap = (c->n + n + 2 * MT_VARINT_MAX) * 2;
        unsigned char *p = mt_realloc(c->p, cap);
        if (p == NULL) {
            c->failed = true;
            return false;
        }
        c->p = p;
        c->cap = cap;
    }
    return true;
}

void mt_chunk_out_blob(struct mt_chunk_out *c, enum mt_wire_type type, const void *p, size_t n)
{
    unsigned char *at;
    if (!room(c, n))
        return;
    at = mt_put_varint(c->p + c->n, type);
    at = mt_put_varint(at, n);
    if (n > 0)
        memcpy(at, p, n);
    c->n = (size_t)(at - c->p) + n;
    c->records++;
}

void mt_chunk_out_record(struct mt_chunk_out *c, enum mt_wire_type type, const struct mt_payload *p)
{
    mt_chunk_out_blob(c, type, p->p, p->n);
}

void mt_chunk_out_timed(struct mt_chunk_out *c, struct mt_payload *p, uint64_t t)
{
    p->n = 0;
    if (!room(c,
              sizeof p->p)) /* so that the chunk whose state this uses is the one that takes it */
        return;
    mt_pay_s(p, (int64_t)(t - c->time));
    mt_pay_s(p, 0); /* the thread: the process itself, as the state starts */
    c->time = t;
}

void mt_chunk_out_attr(struct mt_chunk_out *c, const char *key, const char *value)
{
    struct mt_payload p;
    p.n = 0;
    mt_pay_str(&p, key, strlen(key));
    mt_pay_str(&p, value, strlen(value));
    mt_chunk_out_record(c, MT_WR_ATTR, &p);
}

void mt_chunk_out_number(struct mt_chunk_out *c, const char *key, uint64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    mt_chunk_out_attr(c, key, text);
}

void mt_chunk_out_flush(struct mt_chunk_out *c)
{
    if (c->n <= MT_WIRE_HEADER || c->failed) {
        c->n = 0;
        return;
    }
    memset(c->p, 0, MT_WIRE_HEADER);
    memcpy(c->p, MT_WIRE_MAGIC, 8);
    mt_put64(c->p + MT_WH_UID, c->uid);
    mt_put64(c->p + MT_WH_SEQ, c->seq++);
    mt_put64(c->p + MT_WH_REALTIME, c->realtime);
    mt_put64(c->p + MT_WH_MONOTONIC, c->monotonic);
    mt_put32(c->p + MT_WH_USED, (uint32_t)(c->n - MT_WIRE_HEADER));
    mt_put32(c->p + MT_WH_RECORDS, c->records);
    mt_put32(c->p + MT_WH_PID, c->pid);
    mt_put16(c->p + MT_WH_KIND, c->kind);
    mt_trace_out_chunk(c->out, c->p, c->fast);
    c->n = 0;
}

void mt_chunk_out_done(struct mt_chunk_out *c)
{
    mt_chunk_out_flush(c);
    if (c->failed && c->out->error == 0)
        c->out->error = ENOMEM;
    mt_free(c->p);
    c->p = NULL;
}
