/* Exports of Nsight Systems: what is read, what is refused, damage and hostile databases. */
#include "mt_test.h"
#include "parser/input/readers.h"
#include "parser/model/driver.h"

#include <sqlite3.h>

#define MIB ((int64_t)1 << 20)
#define PID(p) ((int64_t)1 << 48 | (int64_t)(p) << 24)

static unsigned char *bytes;
static size_t n_bytes;
static struct mt_trace *t;
static struct mt_err err;

static const char tables[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'forward'), (2, 'cudaMalloc_v3020'), (3, 'cudaFree_v3020');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'A', 1073741824), (1, 'B', 2147483648);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
    "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 7);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "INSERT INTO PROCESSES VALUES (281474976710656 + (7 << 24), 7, '/usr/bin/python3');"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId "
    "INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
    "globalTid INTEGER, textId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
    "nameId INTEGER, returnValue INTEGER);";

/* The database that some SQL makes. */
static void make(const char *a, const char *b)
{
    sqlite3 *db = NULL;
    sqlite3_int64 n = 0;
    unsigned char *p;
    MT_ASSERT(sqlite3_open(":memory:", &db) == SQLITE_OK);
    MT_ASSERT(sqlite3_exec(db, "PRAGMA page_size = 512", NULL, NULL, NULL) == SQLITE_OK);
    MT_ASSERT(sqlite3_exec(db, a, NULL, NULL, NULL) == SQLITE_OK);
    MT_ASSERT(sqlite3_exec(db, b, NULL, NULL, NULL) == SQLITE_OK);
    p = sqlite3_serialize(db, "main", &n, 0);
    MT_ASSERT(p != NULL);
    n_bytes = (size_t)n;
    bytes = mt_malloc(n_bytes);
    MT_ASSERT(bytes != NULL);
    memcpy(bytes, p, n_bytes);
    sqlite3_free(p);
    sqlite3_close(db);
}

static void unmake(void)
{
    mt_free(bytes);
    bytes = NULL;
}

static enum mt_rc take(const unsigned char *p, size_t n)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct mt_source *src = NULL;
    enum mt_rc rc;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_source_mem(&src, p, n), MT_OK);
    t = mt_trace_new();
    MT_CHECK(t != NULL);
    rc = mt_reader_nsys.read(src, &lim, t, &err);
    mt_source_free(src);
    return rc;
}

static void one_call(uint32_t i, enum mt_wire_op op, uint64_t ms, uint64_t size)
{
    const struct mt_call *k = &t->driver->calls.p[i];
    MT_ASSERT(i < t->driver->calls.n);
    MT_CHECK_EQ(k->op, op);
    MT_CHECK_EQ(k->time_ns, UINT64_C(1700000000000000000) + ms * 1000000);
    MT_CHECK_EQ(k->size, size);
}

MT_TEST(events)
{
    make(tables, "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
                 " (2000000, 281474976710656 + (7 << 24), 0, 4096, 1048576, 2, 0),"
                 " (1000000, 281474976710656 + (7 << 24), 0, 8192, 2097152, 1, 0),"
                 " (3000000, 281474976710656 + (7 << 24), 0, 4096, 1048576, 2, 1),"
                 " (4000000, 281474976710656 + (9 << 24), 1, 4096, 512, 4, 0),"
                 " (5000000, 281474976710656 + (9 << 24), 1, 4096, 512, 0, 0),"
                 " (6000000, 281474976710656 + (9 << 24), 1, 4096, -1, 2, 0);"
                 "INSERT INTO NVTX_EVENTS VALUES"
                 " (1500000, 2500000, 59, NULL, 281474976710656 + (7 << 24) + 7, 1),"
                 " (500000, NULL, 60, 'step', 281474976710656 + (7 << 24) + 7, NULL),"
                 " (700000, NULL, 34, 'here', 281474976710656 + (7 << 24) + 7, NULL),"
                 " (700000, 800000, 75, 'a domain', 281474976710656 + (7 << 24) + 7, NULL);"
                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
                 " (3500000, 3600000, 281474976710656 + (7 << 24) + 7, 2, 2),"
                 " (3700000, 3800000, 281474976710656 + (7 << 24) + 7, 3, 2);");
    MT_CHECK_EQ(take(bytes, n_bytes), MT_WARN); /* of the size that does not exist */
    MT_CHECK(t->sealed);
    MT_ASSERT(t->driver->processes.n == 2);
    MT_CHECK_EQ(t->driver->processes.p[0].pid, 7);
    MT_CHECK_STR(mt_str(t, t->driver->processes.p[0].name), "python3");
    MT_CHECK_EQ(t->driver->processes.p[1].pid, 9);
    MT_CHECK_EQ(t->driver->processes.p[0].n_calls, 4);
    MT_CHECK_EQ(t->driver->processes.p[1].first_call, 4);
    MT_ASSERT(t->driver->calls.n == 5);
    one_call(0, MT_WO_HOST_ALLOC, 1, 2 * (uint64_t)MIB);
    one_call(1, MT_WO_MEM_ALLOC, 2, (uint64_t)MIB);
    one_call(2, MT_WO_MEM_FREE, 3, 0);
    MT_CHECK_EQ(t->driver->calls.p[3].result, 2);
    one_call(4, MT_WO_MANAGED_ALLOC, 4, 512);
    /* process 7 calls card 1 its device 0; of process 9 nothing is said */
    MT_CHECK_EQ(t->driver->gpus.p[t->driver->calls.p[1].gpu].total, 2048 * (uint64_t)MIB);
    MT_CHECK_EQ(t->driver->calls.p[1].gpu, t->driver->calls.p[4].gpu);
    MT_ASSERT(t->driver->ranges.n == 3);
    MT_CHECK_STR(mt_str(t, t->driver->ranges.p[0].name), "step");
    MT_CHECK_EQ(t->driver->ranges.p[0].t1_ns, 0);
    MT_CHECK(t->driver->ranges.p[1].is_mark);
    MT_CHECK_STR(mt_str(t, t->driver->ranges.p[2].name), "forward");
    mt_trace_free(t);
    unmake();
}

/* Numbers of kinds that a later version gives, by their names. */
MT_TEST(kinds_by_name)
{
    make(tables, "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT);"
                 "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (9, 'CUDA_MEMOPR_MEMORY_KIND_PINNED'),"
                 " (10, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC');"
                 "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
                 " (1000000, 281474976710656 + (7 << 24), 0, 1, 10, 9, 0),"
                 " (2000000, 281474976710656 + (7 << 24), 0, 2, 20, 10, 0);");
    MT_CHECK_EQ(take(bytes, n_bytes), MT_OK);
    one_call(0, MT_WO_HOST_ALLOC, 1, 10);
    one_call(1, MT_WO_MEM_ALLOC, 2, 20);
    mt_trace_free(t);
    unmake();
}

static void refused(const char *a, const char *b, const char *says)
{
    make(a, b);
    MT_CHECK_EQ(take(bytes, n_bytes), MT_EINPUT);
    MT_CHECK_HAS(err.msg, says);
    mt_trace_free(t);
    unmake();
}

MT_TEST(what_is_missing)
{
    refused("CREATE TABLE a (b)", "", "no export of Nsight Systems");
    refused("CREATE TABLE META_DATA_EXPORT (name, value)", "", "--cuda-memory-usage=true");
    refused("CREATE TABLE META_DATA_EXPORT (name, value)", "", "--trace=cuda");
    refused(tables, "", "--cuda-memory-usage=true");
    /* a view of that name runs whatever it says */
    refused(
        "CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS WITH RECURSIVE r(start) AS (SELECT 1 UNION "
        "ALL SELECT start + 1 FROM r) SELECT start, 1 AS globalPid, 0 AS deviceId, 1 AS "
        "address, 1 AS bytes, 2 AS memKind, 0 AS memoryOperationType FROM r",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)", "memory events");
}

/* Any cut and any changed byte: an end, and nothing held. */
MT_TEST(damage)
{
    uint64_t held;
    unsigned char was;
    make(tables, "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 400)"
                 " INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS SELECT i * 1000, 281474976710656 + (7 "
                 "<< 24), 0, i * 4096, 4096, 2, 0 FROM r");
    MT_CHECK_EQ(take(bytes, n_bytes), MT_OK);
    MT_CHECK_EQ(t->driver->calls.n, 400);
    mt_trace_free(t);
    held = mt_mem_used();
    for (size_t n = 0; n < n_bytes; n += 509) {
        enum mt_rc rc = take(bytes, n);
        MT_CHECK(rc < 0 ? err.msg[0] != '\0' : t->sealed);
        mt_trace_free(t);
    }
    for (size_t i = 16; i < n_bytes; i += 37) {
        enum mt_rc rc;
        was = bytes[i];
        bytes[i] ^= 0xff;
        rc = take(bytes, n_bytes);
        MT_CHECK(rc < 0 ? err.msg[0] != '\0' : t->sealed && (rc != MT_WARN || t->damaged));
        mt_trace_free(t);
        bytes[i] = was;
    }
    MT_CHECK_EQ(mt_mem_used(), held);
    unmake();
}

MT_MAIN(MT_RUN(events) MT_RUN(kinds_by_name) MT_RUN(what_is_missing) MT_RUN(damage))
