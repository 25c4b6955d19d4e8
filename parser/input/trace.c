/* input/trace.c -- a memtrace trace as a container: first the chunks, for the reader of traces,
 * then each attached snapshot as an input of its own. One pass finds where the parts of the
 * attachments are; they are read again from the file or, out of a pipe, from their compressed bytes
 * in memory. */
#include "parser/input/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part {
    uint64_t number, at; /* at: offset in the file */
    unsigned char *p;    /* or its bytes */
    size_t n;
    bool packed;
};

struct attached {
    uint64_t uid, total;
    char *name;
    MT_VEC(struct part) parts;
};

struct trace_box {
    struct mt_box box; /* first: a box is a trace_box */
    struct mt_members m;
    struct mt_source *up;
    struct mt_raw *file; /* what `up` reads, when that can be read at any place; else NULL */
    const struct mt_limits *lim;
    bool packed, started, ended;
    const unsigned char *p; /* bytes being handed out */
    size_t left, step;      /* step: of a plain stream, to be consumed at the next call */
    MT_VEC(struct attached) files;
    uint32_t at;
    uint64_t n_lost; /* attachments that could not be held */
};

/* ---- a chunk of kind ATTACH ---- */

struct piece {
    uint64_t number, total;
    const unsigned char *name, *kind, *blob;
    size_t n_name, n_kind, n_blob;
};

static bool get_str(const unsigned char **p, const unsigned char *end, const unsigned char **s,
                    size_t *n)
{
    uint64_t len;
    if (!mt_get_varint(p, end, &len) || len > (uint64_t)(end - *p))
        return false;
    *s = *p;
    *n = (size_t)len;
    *p += len;
    return true;
}

static bool get_record(const unsigned char **p, const unsigned char *end, uint64_t *type,
                       const unsigned char **body, size_t *n)
{
    return mt_get_varint(p, end, type) && get_str(p, end, body, n);
}

static bool get_piece(const unsigned char *chunk, size_t n_chunk, struct piece *x)
{
    const unsigned char *p = chunk + MT_WIRE_HEADER, *end = chunk + n_chunk, *body, *stop;
    uint64_t type, skip;
    size_t n;
    if (!get_record(&p, end, &type, &body, &n) || type != MT_WR_ATTACH)
        return false;
    stop = body + n;
    if (!mt_get_varint(&body, stop, &skip) || !mt_get_varint(&body, stop, &x->number) ||
        !mt_get_varint(&body, stop, &skip) || !mt_get_varint(&body, stop, &x->total) ||
        !get_str(&body, stop, &x->name, &x->n_name) || !get_str(&body, stop, &x->kind, &x->n_kind))
        return false;
    return get_record(&p, end, &type, &x->blob, &x->n_blob) && type == MT_WR_BLOB;
}

/* ---- keeping parts ---- */

static struct attached *file_of(struct trace_box *t, uint64_t uid, const struct piece *x)
{
    struct attached *f;
    for (uint32_t i = t->files.n; i-- > 0;) {
        f = &t->files.p[i];
        if (f->uid == uid && f->total == x->total && strlen(f->name) == x->n_name &&
            memcmp(f->name, x->name, x->n_name) == 0)
            return f;
    }
    if (t->files.n >= t->lim->max_members || memchr(x->name, 0, x->n_name) != NULL ||
        (f = MT_VEC_PUSH(&t->files)) == NULL)
        return NULL;
    f->uid = uid;
    f->total = x->total;
    f->name = mt_strndup((const char *)x->name, x->n_name);
    if (f->name == NULL) {
        t->files.n--;
        return NULL;
    }
    return f;
}

/* Bytes of a part that cannot be read again. */
static bool hold(const struct trace_box *t, struct part *p, const unsigned char *chunk, size_t n)
{
    uLongf room;
    unsigned char *less;
    p->packed = true;
    if (t->packed) {
        p->n = t->m.size;
        p->p = mt_malloc(p->n);
        if (p->p != NULL)
            memcpy(p->p, t->up->cur, p->n);
        return p->p != NULL;
    }
    room = compressBound(n);
    p->p = mt_malloc(room);
    if (p->p == NULL || compress2(p->p, &room, chunk, n, 1) != Z_OK)
        return false;
    p->n = room;
    less = mt_realloc(p->p, room);
    p->p = less != NULL ? less : p->p;
    return true;
}

static void keep(struct trace_box *t, const unsigned char *chunk, size_t n)
{
    struct piece x;
    struct attached *f;
    struct part *p;
    if (mt_get16(chunk + MT_WH_KIND) != MT_WK_ATTACH || !get_piece(chunk, n, &x) ||
        x.n_kind != 14 || memcmp(x.kind, "torch_snapshot", 14) != 0)
        return;
    f = file_of(t, mt_get64(chunk + MT_WH_UID), &x);
    p = f != NULL ? MT_VEC_PUSH(&f->parts) : NULL;
    if (p == NULL) {
        t->n_lost++;
        return;
    }
    p->number = x.number;
    p->n = t->packed ? t->m.size : n;
    p->packed = t->packed;
    if (t->file != NULL) {
        p->at = t->packed ? t->m.at : mt_source_offset(t->up);
    } else if (!hold(t, p, chunk, n)) {
        mt_free(p->p);
        f->parts.n--;
        t->n_lost++;
    }
}

/* ---- the stream of chunks ---- */

static const unsigned char *find_magic(const unsigned char *p, const unsigned char *end)
{
    while ((size_t)(end - p) >= 8) {
        p = memchr(p, 'M', (size_t)(end - p) - 7);
        if (p == NULL || memcmp(p, MT_WIRE_MAGIC, 8) == 0)
            return p;
        p++;
    }
    return NULL;
}

/* The next bytes of a plain stream: a chunk, or what is between chunks, for the reader to complain
 * about. */
static bool plain_next(struct trace_box *t)
{
    struct mt_source *up = t->up;
    const unsigned char *q;
    size_t have;
    up->cur += t->step;
    t->step = 0;
    have = mt_source_need(up, MT_WIRE_HEADER);
    if (have == 0)
        return false;
    if (have >= MT_WIRE_HEADER && memcmp(up->cur, MT_WIRE_MAGIC, 8) == 0) {
        uint32_t used = mt_get32(up->cur + MT_WH_USED);
        size_t n = (size_t)MT_WIRE_HEADER + used;
        if (used <= MT_WIRE_MAX_CHUNK - MT_WIRE_HEADER && mt_source_need(up, n) >= n) {
            keep(t, up->cur, n);
            t->step = n;
        }
    }
    if (t->step == 0) {
        have = (size_t)(up->end - up->cur);
        q = find_magic(up->cur + 1, up->end);
        t->step = q != NULL ? (size_t)(q - up->cur) : have > 8 && !up->eof ? have - 7 : have;
    }
    t->p = up->cur;
    t->left = t->step;
    return true;
}

static bool next_bytes(struct trace_box *t)
{
    if (!t->packed)
        return plain_next(t);
    if (!mt_member_next(&t->m))
        return false;
    keep(t, t->m.chunk, t->m.n);
    t->p = t->m.chunk;
    t->left = t->m.n;
    return true;
}

static size_t trace_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                         struct mt_err *err)
{
    struct trace_box *t = ctx;
    if (t->left == 0 && !next_bytes(t)) {
        t->ended = true;
        if (t->packed ? t->m.rc != MT_OK : t->up->status != MT_OK) {
            *rc = t->packed ? t->m.rc : t->up->status;
            *err = t->packed ? t->m.err : t->up->err;
        }
        return 0;
    }
    n = n < t->left ? n : t->left;
    memcpy(dst, t->p, n);
    t->p += n;
    t->left -= n;
    return n;
}

/* ---- one attachment as a stream ---- */

struct reading {
    struct trace_box *t;
    const struct attached *f;
    struct mt_inflater unpack;
    uint32_t at;        /* next part */
    unsigned char *raw; /* the chunk of the current part */
    const unsigned char *p;
    size_t left;
    uint64_t out;
};

static void reading_close(void *ctx)
{
    struct reading *r = ctx;
    mt_inflater_close(&r->unpack);
    mt_free(r->raw);
    mt_free(r);
}

static bool read_at(const struct trace_box *t, const struct part *p, unsigned char *dst)
{
    size_t got = 0;
    while (got < p->n) {
        ssize_t k = pread(t->file->fd, dst + got, p->n - got, (off_t)(p->at + got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        got += (size_t)k;
    }
    return true;
}

/* What is packed at p into r->raw; 0 = it is not whole. */
static size_t unpack(struct reading *r, const unsigned char *p, size_t n, bool through_zlib)
{
    unsigned char *out = r->raw;
    size_t room = MT_WIRE_MAX_CHUNK, before;
    enum mt_inflated how;
    if (!mt_inflater_begin(&r->unpack, p, n, through_zlib))
        return 0;
    do {
        before = n + room;
        how = mt_inflater_run(&r->unpack, &p, &n, &out, &room);
    } while (how == MT_INFLATE_MORE && n + room < before);
    return how == MT_INFLATE_END ? MT_WIRE_MAX_CHUNK - room : 0;
}

/* The chunk of a part into r->raw; its size, or 0, and *rc where that is for want of memory. */
static size_t load(struct reading *r, const struct part *p, enum mt_rc *rc)
{
    const unsigned char *src = p->p;
    unsigned char *own = NULL;
    size_t n = 0;
    if (src == NULL) {
        own = mt_malloc(p->n);
        *rc = own == NULL ? MT_ENOMEM : MT_OK;
        if (own == NULL || !read_at(r->t, p, own))
            goto out;
        src = own;
    }
    if (!p->packed) {
        n = p->n;
        memcpy(r->raw, src, n);
    } else {
        n = unpack(r, src, p->n, false);
        if (n == 0 && r->unpack.by_isal)
            n = unpack(r, src, p->n, true);
    }
out:
    mt_free(own);
    return n;
}

static size_t reading_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                           struct mt_err *err)
{
    struct reading *r = ctx;
    const struct attached *f = r->f;
    while (r->left == 0 && r->at < f->parts.n && f->parts.p[r->at].number == r->at) {
        struct piece x;
        size_t k = load(r, &f->parts.p[r->at], rc);
        if (*rc == MT_ENOMEM) {
            (void)mt_fail_at(err, MT_ENOMEM, r->out,
                             "out of memory (a limit can be raised with --max-memory)");
            return 0;
        }
        if (k < MT_WIRE_HEADER || !get_piece(r->raw, k, &x)) {
            *rc = mt_fail_at(err, MT_EIO, r->out,
                             "part %u of this attached file cannot be read again: did the trace "
                             "change meanwhile?",
                             (unsigned)r->at);
            return 0;
        }
        r->at++;
        r->p = x.blob;
        r->left = x.n_blob;
    }
    if (r->left == 0) {
        if (r->out < f->total)
            *rc = mt_fail_at(err, MT_EINPUT, r->out,
                             "part %u of this attached file is missing in the trace (%llu of %llu "
                             "bytes are there)",
                             (unsigned)r->at, (unsigned long long)r->out,
                             (unsigned long long)f->total);
        return 0;
    }
    n = n < r->left ? n : r->left;
    memcpy(dst, r->p, n);
    r->p += n;
    r->left -= n;
    r->out += n;
    return n;
}

static int by_number(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* In order, each once. */
static void settle(struct attached *f)
{
    uint32_t k = 0;
    if (f->parts.n > 1)
        qsort(f->parts.p, f->parts.n, sizeof *f->parts.p, by_number);
    for (uint32_t i = 0; i < f->parts.n; i++) {
        if (k > 0 && f->parts.p[k - 1].number == f->parts.p[i].number)
            mt_free(f->parts.p[i].p);
        else
            f->parts.p[k++] = f->parts.p[i];
    }
    f->parts.n = k;
}

static int open_attached(struct trace_box *t, struct attached *f, struct mt_source **src,
                         char **name, struct mt_err *err)
{
    struct reading *r = mt_calloc(1, sizeof *r);
    *name = mt_strndup(f->name, strlen(f->name));
    if (r == NULL || *name == NULL || (r->raw = mt_malloc(MT_WIRE_MAX_CHUNK)) == NULL ||
        !mt_inflater_open(&r->unpack, true)) {
        if (r != NULL)
            reading_close(r);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    settle(f);
    r->t = t;
    r->f = f;
    t->box.uid = f->uid;
    if (mt_source_new(src, reading_read, reading_close, r) != MT_OK)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    return 1;
}

/* ---- the box ---- */

static int trace_next(struct mt_box *b, struct mt_source **src, char **name, struct mt_err *err)
{
    struct trace_box *t = (struct trace_box *)b;
    *name = NULL;
    *src = NULL;
    if (!t->started) {
        t->started = true;
        b->is_chunks = true;
        if (mt_source_new(src, trace_read, NULL, t) != MT_OK) {
            t->at = UINT32_MAX;
            return mt_fail(err, MT_ENOMEM, "out of memory");
        }
        return 1;
    }
    b->is_chunks = false;
    while (!t->ended && t->file != NULL &&
           next_bytes(t)) /* the reader gave up before the end: the snapshots are still wanted */
        ;
    t->ended = true;
    if (t->n_lost != 0) {
        unsigned long long n = (unsigned long long)t->n_lost;
        t->n_lost = 0;
        return mt_fail(err, MT_ELIMIT,
                       "%llu parts of snapshots inside the trace could not be held in memory: name "
                       "the trace as a file, not "
                       "through a pipe, or raise --max-memory (and --max-members, where there are "
                       "more than %u)",
                       n, t->lim->max_members);
    }
    while (t->at < t->files.n && t->files.p[t->at].parts.n == 0)
        t->at++;
    if (t->at >= t->files.n)
        return 0;
    return open_attached(t, &t->files.p[t->at++], src, name, err);
}

static void trace_close(struct mt_box *b)
{
    struct trace_box *t = (struct trace_box *)b;
    for (uint32_t i = 0; i < t->files.n; i++) {
        for (uint32_t k = 0; k < t->files.p[i].parts.n; k++)
            mt_free(t->files.p[i].parts.p[k].p);
        MT_VEC_DONE(&t->files.p[i].parts);
        mt_free(t->files.p[i].name);
    }
    MT_VEC_DONE(&t->files);
    mt_inflater_close(&t->m.f);
    mt_free(t->m.chunk);
    mt_source_free(t->up);
    mt_free(t);
}

enum mt_rc mt_trace_open(struct mt_box **out, struct mt_source *up, struct mt_raw *file,
                         const struct mt_raw *raw, const struct mt_limits *lim,
                         struct mt_losses *losses, struct mt_err *err)
{
    struct trace_box *t = mt_calloc(1, sizeof *t);
    if (t == NULL || !mt_inflater_open(&t->m.f, true)) {
        mt_free(t);
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    mt_source_need(up, 8);
    t->packed = (size_t)(up->end - up->cur) < 8 || memcmp(up->cur, MT_WIRE_MAGIC, 7) != 0;
    t->box.next = trace_next;
    t->box.close = trace_close;
    t->box.kind = MT_PACK_TRACE;
    t->up = t->m.up = up;
    t->file = file;
    t->m.raw = raw;
    t->m.losses = losses;
    t->m.max_ratio = lim->max_ratio;
    t->lim = lim;
    *out = &t->box;
    return MT_OK;
}
