/* native_make.h -- writes chunks of a memtrace trace for tests, record by record, and reads them
 * through the reader. */
#ifndef NATIVE_MAKE_H
#define NATIVE_MAKE_H

#include "parser/model/driver.h"
#include "parser/input/readers.h"
#include "tests/unit/mt_test.h"

#define MONO UINT64_C(1000000000000)
#define REAL UINT64_C(1700000000000000000)
#define UID UINT64_C(0x1122334455667788)

struct maker {
    unsigned char p[1 << 20];
    size_t n;     /* of all chunks so far */
    size_t chunk; /* where the open one begins */
    uint64_t time, tid, addr, handle, context, pool, corr;
};

static struct maker M;

static inline void fresh(void) { memset(&M, 0, sizeof M); }

static inline void open_chunk(uint64_t uid, uint64_t seq, unsigned kind, uint32_t pid,
                              uint64_t real, uint64_t mono)
{
    unsigned char *h = M.p + M.n;
    M.chunk = M.n;
    memset(h, 0, MT_WIRE_HEADER);
    memcpy(h, MT_WIRE_MAGIC, 8);
    mt_put64(h + MT_WH_UID, uid);
    mt_put64(h + MT_WH_SEQ, seq);
    mt_put64(h + MT_WH_REALTIME, real);
    mt_put64(h + MT_WH_MONOTONIC, mono);
    mt_put32(h + MT_WH_PID, pid);
    mt_put16(h + MT_WH_KIND, (uint16_t)kind);
    M.n += MT_WIRE_HEADER;
    M.time = mono;
    M.tid = pid;
    M.addr = M.handle = M.context = M.pool = M.corr = 0;
}

/* Chunk seq of process UID, pid 100, opened seq seconds after the first. */
static inline void open_seq(uint64_t seq)
{
    open_chunk(UID, seq, MT_WK_PROCESS, 100, REAL + seq * 1000000000, MONO + seq * 1000000000);
}

static inline void record(unsigned type, const void *p, size_t n)
{
    unsigned char *q = mt_put_varint(M.p + M.n, type);
    q = mt_put_varint(q, n);
    memcpy(q, p, n);
    M.n = (size_t)(q - M.p) + n;
    mt_put32(M.p + M.chunk + MT_WH_USED, (uint32_t)(M.n - M.chunk - MT_WIRE_HEADER));
    mt_put32(M.p + M.chunk + MT_WH_RECORDS, mt_get32(M.p + M.chunk + MT_WH_RECORDS) + 1);
}

/* A payload under construction. */
struct load {
    unsigned char p[8192];
    unsigned char *q;
};
static inline struct load *begin(struct load *l)
{
    l->q = l->p;
    return l;
}
static inline void u(struct load *l, uint64_t v) { l->q = mt_put_varint(l->q, v); }
static inline void s(struct load *l, int64_t v) { u(l, mt_zigzag(v)); }
static inline void raw(struct load *l, const void *p, size_t n)
{
    memcpy(l->q, p, n);
    l->q += n;
}
static inline void str(struct load *l, const char *t)
{
    u(l, strlen(t));
    raw(l, t, strlen(t));
}
static inline void delta(struct load *l, uint64_t *prev, uint64_t v)
{
    s(l, (int64_t)(v - *prev));
    *prev = v;
}
static inline void timed(struct load *l, uint64_t mono, uint64_t tid)
{
    delta(begin(l), &M.time, mono);
    delta(l, &M.tid, tid);
}
static inline void close_load(struct load *l, unsigned type)
{
    record(type, l->p, (size_t)(l->q - l->p));
}

static inline void put_string(uint64_t id, const char *t)
{
    struct load l;
    u(begin(&l), id);
    raw(&l, t, strlen(t));
    close_load(&l, MT_WR_STRING);
}
static inline void put_attr(const char *key, const char *value)
{
    struct load l;
    str(begin(&l), key);
    str(&l, value);
    close_load(&l, MT_WR_ATTR);
}
static inline void put_module(uint64_t id, uint64_t base, const char *path)
{
    struct load l;
    u(begin(&l), id);
    u(&l, base);
    u(&l, 65536);
    str(&l, path);
    str(&l, "\x01\xab");
    close_load(&l, MT_WR_MODULE);
}
static inline void put_device(uint64_t index, int ordinal, uint64_t total, const char *uuid,
                              const char *pci)
{
    struct load l;
    u(begin(&l), index);
    u(&l, (uint64_t)(ordinal + 1));
    u(&l, total);
    str(&l, uuid);
    str(&l, pci);
    str(&l, "NVIDIA X");
    close_load(&l, MT_WR_DEVICE);
}
/* An allocation with address and size, on CUDA ordinal 0. */
static inline void put_alloc(uint64_t mono, uint64_t tid, uint64_t addr, uint64_t size)
{
    struct load l;
    timed(&l, mono, tid);
    u(&l, MT_WO_MEM_ALLOC);
    u(&l, 243);
    u(&l, 1000);
    u(&l, MT_WF_ADDR | MT_WF_SIZE | MT_WF_DEVICE);
    delta(&l, &M.addr, addr);
    u(&l, size);
    u(&l, 0);
    close_load(&l, MT_WR_CALL);
}
static inline void put_range(unsigned type, uint64_t mono, uint64_t tid, uint64_t domain,
                             uint64_t name, uint64_t id)
{
    struct load l;
    timed(&l, mono, tid);
    u(&l, domain);
    if (type != MT_WR_RANGE_POP && type != MT_WR_RANGE_END)
        u(&l, name);
    u(&l, MT_WS_NVTX);
    if (type == MT_WR_RANGE_START || type == MT_WR_RANGE_END)
        u(&l, id);
    close_load(&l, type);
}

static struct mt_err last_err;
static enum mt_rc last_rc;

/* Reads n bytes; NULL when nothing was usable. */
static inline struct mt_trace *read_bytes(const void *p, size_t n, const struct mt_limits *lim)
{
    struct mt_limits standard = MT_LIMITS_DEFAULT;
    struct mt_source *src = NULL;
    struct mt_trace *t = mt_trace_new();
    memset(&last_err, 0, sizeof last_err);
    last_rc = MT_ENOMEM;
    if (t == NULL || mt_source_mem(&src, p, n) != MT_OK) {
        mt_trace_free(t);
        return NULL;
    }
    last_rc = mt_reader_native.read(src, lim != NULL ? lim : &standard, t, &last_err);
    mt_source_free(src);
    if (last_rc >= MT_OK) {
        MT_CHECK(t->sealed && t->driver != NULL);
        MT_CHECK_EQ(last_rc == MT_WARN, t->damaged);
        return t;
    }
    MT_CHECK_EQ(last_err.rc, last_rc);
    MT_CHECK(last_err.msg[0] != '\0');
    mt_trace_free(t);
    return NULL;
}
static inline struct mt_trace *read_made(void) { return read_bytes(M.p, M.n, NULL); }

static inline bool has_diag(const struct mt_trace *t, const char *text)
{
    for (uint32_t i = 0; i < t->diags.n; i++)
        if (strstr(mt_str(t, t->diags.p[i].text), text) != NULL)
            return true;
    return false;
}

#endif
