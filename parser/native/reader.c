/* native/reader.c -- memtrace's own traces, as a plain stream of chunks (docs/trace-format.md). The
 * gzip members are taken off, and checked, by the input layer; what arrives here may also come from
 * `zcat`, or be damaged in any way. */
#include "parser/native/impl.h"

#include <string.h>

enum { MAGIC = 8 };
#define CLOCK_SLACK UINT64_C(100000000)

static int probe(const unsigned char *head, size_t n)
{
    return n >= MAGIC && memcmp(head, MT_WIRE_MAGIC, MAGIC - 1) == 0 ? 100 : 0;
}

/* The process of a chunk; MT_NONE32 for the launcher, and for attachments of nobody. */
static int find_process(struct mt_native *n, uint64_t uid, uint32_t *index)
{
    struct mt_process *p;
    *index = mt_idmap_get(&n->uids, uid);
    if (*index != MT_NONE32)
        return 1;
    if (n->d->processes.n >= MT_MAX_PROCESSES) {
        n->rc = mt_fail(
            n->err, MT_ELIMIT,
            "more than %u processes in one trace: split it, members can be taken apart anywhere",
            MT_MAX_PROCESSES);
        return 0;
    }
    if (MT_VEC_PUSH(&n->procs) == NULL || (p = MT_VEC_PUSH(&n->d->processes)) == NULL)
        return mt_native_nomem(n);
    p->uid = uid;
    p->rank = p->local_rank = -1;
    *index = n->d->processes.n - 1;
    return mt_idmap_put(&n->uids, uid, *index) || mt_native_nomem(n);
}

static bool of_process(uint16_t kind)
{
    return kind == MT_WK_PROCESS || kind == MT_WK_COLLECT || kind == MT_WK_KEPT;
}

/* Finds the process of the chunk and sets n->process. 1 = decode it, 0 = skip it or stop (n->rc).
 * *skip: bytes of records that a shorter copy gave already. */
static int begin(struct mt_native *n, const unsigned char *h, uint32_t used, uint32_t *skip)
{
    struct mt_seen_chunk key, *seen;
    struct mt_process *p = NULL;
    uint64_t dropped = mt_get64(h + MT_WH_DROPPED);
    *skip = 0;
    n->kind = mt_get16(h + MT_WH_KIND);
    n->uid = mt_get64(h + MT_WH_UID);
    n->process = MT_NONE32;
    n->attachment = MT_NONE32;
    if (n->kind < MT_WK_PROCESS || n->kind > MT_WK_KEPT) /* of a later minor version */
        return 0;
    if (n->uid == 0 && of_process(n->kind)) {
        n->n_odd_chunks++;
        return 0;
    }
    memset(&key, 0, sizeof key);
    key.uid = n->uid;
    key.seq = mt_get64(h + MT_WH_SEQ);
    key.realtime = mt_get64(h + MT_WH_REALTIME);
    key.kind = n->kind;
    seen = mt_seen_chunk(&n->seen, &key);
    if (seen == NULL)
        return mt_native_nomem(n);
    n->d->n_duplicates += seen->used != 0;
    if (seen->used != 0 && used <= seen->used)
        return 0;
    *skip = seen->used;
    if (of_process(n->kind) && !find_process(n, n->uid, &n->process))
        return 0;
    if (n->process != MT_NONE32 && !mt_native_is_left(n, h, used))
        return 0;
    if (seen->used == 0)
        n->d->n_chunks++;
    if (n->process != MT_NONE32)
        p = &n->d->processes.p[n->process];
    if (p != NULL && n->kind == MT_WK_PROCESS) {
        struct mt_native_process *q = &n->procs.p[n->process];
        p->pid = mt_get32(h + MT_WH_PID);
        q->has_chunks = true;
        if (seen->used == 0) {
            p->n_chunks++;
            q->n_seqs++;
        }
        if (key.seq > q->max_seq)
            q->max_seq = key.seq;
        if (dropped > p->n_dropped)
            p->n_dropped = dropped;
    }
    seen->used = used != 0 ? used : 1; /* an empty chunk was seen as well */
    return 1;
}

/* Decodes records until the end. A shorter copy of the chunk gave the first `skip` bytes: they are
 * decoded for their delta states only. */
static void records(struct mt_native *n, const unsigned char *p, const unsigned char *end,
                    uint32_t skip, bool cut)
{
    const unsigned char *start = p;
    struct mt_process *owner =
        n->process != MT_NONE32 && n->kind == MT_WK_PROCESS ? &n->d->processes.p[n->process] : NULL;
    uint64_t n_records = 0, lo = UINT64_MAX, hi = 0;
    while (p < end && n->rc == MT_OK) {
        uint64_t type, len;
        struct mt_cursor c;
        c = (struct mt_cursor){p, end, false};
        type = mt_cur_u(&c);
        len = mt_cur_u(&c);
        if (c.bad || len > (uint64_t)(end - c.p)) {
            n->n_cut_chunks += !cut;
            break;
        }
        p = c.p;
        c.end = p + len;
        n->mute = (uint64_t)(p - start) + len <= skip;
        if (!(type == MT_WR_CALL && owner != NULL
                  ? mt_native_call(n, &c)
                  : mt_native_record(n, type, &c))) /* mostly calls */
            break;
        n->n_bad_records += c.bad && !n->mute;
        n_records += !n->mute;
        if (type >= MT_WR_CALL && type <= MT_WR_LOSS) {
            uint64_t t = n->time + n->to_real;
            lo = t < lo ? t : lo;
            hi = t > hi ? t : hi;
        }
        p += len;
    }
    if (owner != NULL) {
        owner = &n->d->processes.p[n->process];
        owner->n_records += n_records;
        if (lo <= hi && (owner->first_ns == 0 || lo < owner->first_ns))
            owner->first_ns = lo;
        if (lo <= hi && hi > owner->last_ns)
            owner->last_ns = hi;
    }
}

/* The offset from monotonic to real time. A chunk reads its two clocks one after the other, and its
 * thread can lose the processor in between. So one offset serves a process as long as chunks agree
 * with it within 100 ms, and its records keep their order. A clock that was set differs by more. */
static uint64_t clock_of(struct mt_native *n, const unsigned char *h)
{
    uint64_t to_real = mt_get64(h + MT_WH_REALTIME) - mt_get64(h + MT_WH_MONOTONIC);
    struct mt_native_process *q;
    if (n->process == MT_NONE32)
        return to_real;
    q = &n->procs.p[n->process];
    if (!q->has_clock || to_real - q->to_real + CLOCK_SLACK > 2 * CLOCK_SLACK)
        q->to_real = to_real;
    q->has_clock = true;
    return q->to_real;
}

static void chunk(struct mt_native *n, const unsigned char *h, uint32_t used, bool cut)
{
    uint32_t skip;
    if (!begin(n, h, used, &skip))
        return;
    n->time = mt_get64(h + MT_WH_MONOTONIC);
    n->tid = mt_get32(h + MT_WH_PID);
    n->to_real = clock_of(n, h);
    n->chunk_ns = n->time + n->to_real;
    n->addr = n->handle = n->context = n->pool = n->corr = 0;
    if (n->process != MT_NONE32 && n->kind == MT_WK_PROCESS) {
        struct mt_process *p = &n->d->processes.p[n->process];
        uint64_t t = mt_get64(h + MT_WH_REALTIME);
        if (p->first_ns == 0 || t < p->first_ns)
            p->first_ns = t;
        if (t > p->last_ns)
            p->last_ns = t;
    }
    records(n, h + MT_WIRE_HEADER, h + MT_WIRE_HEADER + used, skip, cut);
}

static const unsigned char *find_magic(const unsigned char *p, const unsigned char *end)
{
    while ((size_t)(end - p) >= MAGIC) {
        p = memchr(p, 'M', (size_t)(end - p) - (MAGIC - 1));
        if (p == NULL)
            return NULL;
        if (memcmp(p, MT_WIRE_MAGIC, MAGIC) == 0)
            return p;
        p++;
    }
    return NULL;
}

/* Passes over what is no chunk, at least one byte. */
static void resync(struct mt_native *n)
{
    struct mt_source *s = n->src;
    uint64_t at = mt_source_offset(s);
    const unsigned char *q;
    bool zeros = *s->cur == 0;
    s->cur++;
    while (mt_source_need(s, MAGIC) > 0) {
        size_t left = (size_t)(s->end - s->cur);
        q = find_magic(s->cur, s->end);
        if (q != NULL)
            left = (size_t)(q - s->cur);
        else if (left >= MAGIC)
            left -= MAGIC - 1; /* the magic may begin there */
        for (size_t i = 0; i < left && zeros; i++)
            zeros = s->cur[i] == 0;
        s->cur += left;
        if (q != NULL)
            break;
    }
    if (zeros && s->cur == s->end &&
        s->status == MT_OK) /* tape blocks and some object stores pad with zeros */
        return;
    mt_trace_diag(n->t, MT_DIAG_DAMAGE, true, at,
                  "%llu bytes are no chunk of a trace and were passed over: what they held is lost",
                  (unsigned long long)(mt_source_offset(s) - at));
}

/* One chunk, or what stands in its place. */
static void step(struct mt_native *n)
{
    struct mt_source *s = n->src;
    uint64_t at = mt_source_offset(s);
    size_t have = mt_source_need(s, MT_WIRE_HEADER);
    uint32_t used;
    bool cut = false;
    if (have < MT_WIRE_HEADER || memcmp(s->cur, MT_WIRE_MAGIC, MAGIC) != 0 ||
        (used = mt_get32(s->cur + MT_WH_USED)) > MT_WIRE_MAX_CHUNK - MT_WIRE_HEADER) {
        resync(n);
        return;
    }
    have = mt_source_need(s, (size_t)MT_WIRE_HEADER + used + MAGIC);
    if (have < MT_WIRE_HEADER + used ||
        (have >= MT_WIRE_HEADER + used + MAGIC &&
         memcmp(s->cur + MT_WIRE_HEADER + used, MT_WIRE_MAGIC, MAGIC - 1) != 0)) {
        /* The header may lie about its length, or bytes were lost: the next chunk is where its
         * magic is. */
        size_t room = have < MT_WIRE_HEADER + used ? have : MT_WIRE_HEADER + used;
        const unsigned char *q = find_magic(s->cur + MAGIC, s->cur + room);
        cut = q != NULL || have < MT_WIRE_HEADER + used;
        if (q != NULL)
            room = (size_t)(q - s->cur);
        if (cut) {
            used = room > MT_WIRE_HEADER ? (uint32_t)(room - MT_WIRE_HEADER) : 0;
            mt_trace_diag(n->t, MT_DIAG_DAMAGE, true, at,
                          "a chunk ends before its time: its last records are lost (the trace is "
                          "cut short there, or damaged)");
        }
        if (room < MT_WIRE_HEADER) {
            s->cur += room;
            return;
        }
    }
    chunk(n, s->cur, used, cut);
    s->cur += MT_WIRE_HEADER + used;
}

static enum mt_rc wrong_version(unsigned version, struct mt_err *err)
{
    return mt_fail(err, MT_EINPUT,
                   "a memtrace trace of format version %u; this memtrace reads version %u: read it "
                   "with the memtrace that wrote it, "
                   "or a newer one",
                   version, (unsigned)MT_WIRE_MAGIC[MAGIC - 1]);
}

static void done(struct mt_native *n)
{
    mt_idmap_done(&n->uids);
    mt_idmap_done(&n->ids);
    mt_seen_done(&n->seen);
    mt_intern_done(&n->intern);
    MT_VEC_DONE(&n->procs);
    MT_VEC_DONE(&n->views);
    MT_VEC_DONE(&n->contexts);
    MT_VEC_DONE(&n->stacks);
    MT_VEC_DONE(&n->pcs);
    MT_VEC_DONE(&n->symbols);
    MT_VEC_DONE(&n->ranges);
    mt_free(n);
}

static enum mt_rc read_all(struct mt_native *n)
{
    struct mt_source *s = n->src;
    struct mt_trace *t = n->t;
    unsigned version = 0;
    if (mt_source_need(s, MAGIC) >= MAGIC && memcmp(s->cur, MT_WIRE_MAGIC, MAGIC - 1) == 0)
        version = s->cur[MAGIC - 1];
    while (n->rc == MT_OK && mt_source_need(s, 1) > 0)
        step(n);
    t->meta.bytes = mt_source_offset(s);
    if (n->rc != MT_OK)
        return n->rc;
    if (n->d->n_chunks == 0 && version != 0 && version != (unsigned char)MT_WIRE_MAGIC[MAGIC - 1])
        return wrong_version(version, n->err);
    if (n->d->n_chunks == 0) {
        if (s->status != MT_OK)
            return mt_fail_at(n->err, s->status, mt_source_offset(s),
                              "%s; no whole chunk of a trace came before", s->err.msg);
        return mt_fail(
            n->err, MT_EINPUT,
            "this should be a memtrace trace, but no chunk of it is whole: the file is damaged, or "
            "cut off in its "
            "first chunk; `memtrace collect` on the spool folder may still have the data");
    }
    if (s->status != MT_OK)
        mt_trace_diag(t, MT_DIAG_DAMAGE, true, mt_source_offset(s),
                      "%s; everything after it is missing", s->err.msg);
    if (!mt_native_finish(n))
        return n->rc;
    t->sealed = true;
    return t->damaged ? MT_WARN : MT_OK;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct mt_native *n = mt_calloc(1, sizeof *n);
    enum mt_rc rc = MT_ENOMEM;
    if (n == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    n->src = src;
    n->lim = lim;
    n->t = t;
    n->err = err;
    n->blank.gpu = MT_NONE32;
    t->meta.format = MT_FMT_MEMTRACE;
    t->driver = n->d = mt_calloc(1, sizeof *n->d);
    if (n->d == NULL || !mt_intern_init(&n->intern, t))
        mt_native_nomem(n);
    else
        rc = read_all(n);
    done(n);
    return rc;
}

const struct mt_reader mt_reader_native = {
    .name = "native",
    .desc = "memtrace trace: what the GPU driver did, recorded by memtrace capture",
    .probe = probe,
    .read = read,
};
