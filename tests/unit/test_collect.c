/* The collector's parts: the table, chunks written and read again, the ledger of the summary, and a
 * collection in which every allocation fails once. What processes really leave is tested by
 * tests/cli/capture_*.sh. */
#include "capture/parts.h"
#include "tests/unit/mt_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

MT_TEST(table)
{
    enum { KEYS = 1000 };
    static uint64_t want[KEYS];
    struct mt_table t = {0};
    uint32_t n = 0, seed = 7;

    MT_CHECK(mt_table_find(&t, 1) == NULL);
    mt_table_drop(&t, 1);
    for (int i = 0; i < 200000; i++) {
        uint32_t k;
        seed = seed * 1664525u + 1013904223u;
        k = seed >> 8 & 1023;
        if (k >= KEYS)
            continue;
        if (seed >> 30 != 0) {
            struct mt_cell *c = mt_table_put(&t, (uint64_t)k << 21);
            c->a = c->b = want[k] = (uint64_t)i + 1;
        } else {
            mt_table_drop(&t, (uint64_t)k << 21);
            want[k] = 0;
        }
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        const struct mt_cell *c = mt_table_find(&t, k << 21);
        MT_CHECK_EQ(c != NULL ? c->a : 0, want[k]);
        n += want[k] != 0;
    }
    MT_CHECK_EQ(t.n, n);
    mt_table_done(&t);
}

MT_TEST(whole_records)
{
    const unsigned char two[] = {2, 1, 9, 99, 0, 2, 5, 1};
    MT_CHECK_EQ(mt_chunk_whole(two, sizeof two), 5);
    MT_CHECK_EQ(mt_chunk_whole(two, 5), 5);
    MT_CHECK_EQ(mt_chunk_whole(two, 4), 3);
    MT_CHECK_EQ(mt_chunk_whole(two, 0), 0);
}

static char dir[64];

static void make_dir(void)
{
    snprintf(dir, sizeof dir, "%s", "collect-XXXXXX");
    MT_CHECK(mkdtemp(dir) != NULL);
}

static void path_in(char *buf, size_t cap, const char *name)
{
    snprintf(buf, cap, "%s/%s", dir, name);
}

/* A finished file of one process: two chunks, a few records. */
static void write_process(const char *name, uint64_t uid, size_t n_blob)
{
    struct mt_trace_out file;
    struct mt_chunk_out out;
    unsigned char *blob = calloc(n_blob + 1, 1);
    char path[200], *final;

    path_in(path, sizeof path, name);
    MT_CHECK_EQ(mt_trace_out_open(&file, path, false, NULL), MT_OK);
    mt_chunk_out_init(&out, &file, uid, MT_WK_PROCESS, 42);
    out.realtime = 1000000000;
    out.monotonic = 500;
    mt_chunk_out_attr(&out, "argv.0", "/usr/bin/python3.11");
    mt_chunk_out_attr(&out, "argv.1", "-u");
    mt_chunk_out_attr(&out, "argv.2", "-m");
    mt_chunk_out_attr(&out, "argv.3", "verl.trainer.main_ppo");
    mt_chunk_out_attr(&out, "env.SLURM_PROCID", "9");
    mt_chunk_out_attr(&out, "env.RANK", "5");
    mt_chunk_out_blob(&out, (enum mt_wire_type)99, blob, n_blob);
    mt_chunk_out_blob(&out, (enum mt_wire_type)99, blob, n_blob);
    mt_chunk_out_done(&out);
    MT_CHECK_EQ(mt_trace_out_commit(&file, &final, NULL), MT_OK);
    MT_CHECK_STR(final, path);
    mt_free(final);
    mt_trace_out_discard(&file);
    free(blob);
}

MT_TEST(members)
{
    struct mt_members m;
    struct mt_member one;
    struct mt_tally t;
    char path[200], *name;
    int fd;

    make_dir();
    write_process("mt-a-42-00000000000000aa.gz", 0xaa, 700000);
    path_in(path, sizeof path, "mt-a-42-00000000000000aa.gz");
    fd = open(path, O_RDONLY);
    MT_CHECK(fd >= 0 && mt_members_open(&m, fd));
    mt_tally_init(&t);
    for (uint64_t i = 0; i < 2; i++) {
        MT_CHECK(mt_members_next(&m, &one));
        MT_CHECK_EQ(one.chunk.uid, 0xaa);
        MT_CHECK_EQ(one.chunk.seq, i);
        mt_tally_chunk(&t, &one.chunk);
    }
    MT_CHECK(!mt_members_next(&m, &one));
    MT_CHECK_EQ(m.n_bad, 0);
    MT_CHECK_EQ(t.records, 8);
    MT_CHECK_EQ(t.rank, 5);
    name = mt_tally_name(&t);
    MT_CHECK_STR(name, "verl.trainer.main_ppo");
    mt_free(name);
    mt_tally_done(&t);
    mt_members_done(&m);
    (void)close(fd);
    mt_scan_remove(dir);
    MT_CHECK(access(dir, F_OK) != 0);
}

/* ---- the ledger ---- */

struct script {
    unsigned char p[4096];
    size_t n;
    uint64_t addr, handle;
};

static void call(struct script *s, unsigned op, uint64_t result, uint64_t addr, uint64_t size,
                 uint64_t handle, uint64_t location)
{
    struct mt_payload p = {.n = 0};
    uint64_t mask = MT_WF_ADDR | MT_WF_SIZE | MT_WF_HANDLE | (result != 0 ? MT_WF_RESULT : 0u) |
                    (location != 0 ? MT_WF_LOCATION : 0u);
    mt_pay_s(&p, 10);
    mt_pay_s(&p, 0);
    mt_pay_u(&p, op);
    mt_pay_u(&p, 1);
    mt_pay_u(&p, 100);
    mt_pay_u(&p, mask);
    if (result != 0)
        mt_pay_u(&p, result);
    mt_pay_s(&p, (int64_t)(addr - s->addr));
    mt_pay_u(&p, size);
    mt_pay_s(&p, (int64_t)(handle - s->handle));
    if (location != 0)
        mt_pay_u(&p, location);
    s->addr = addr;
    s->handle = handle;
    s->n = (size_t)(mt_put_varint(mt_put_varint(s->p + s->n, MT_WR_CALL), p.n) - s->p);
    memcpy(s->p + s->n, p.p, p.n);
    s->n += p.n;
}

static void ledger(const struct script *s, uint64_t held, uint64_t peak)
{
    static unsigned char raw[MT_WIRE_HEADER + 4096];
    struct mt_chunk c = {.raw = raw, .used = (uint32_t)s->n, .kind = MT_WK_PROCESS, .pid = 1};
    struct mt_tally t;
    memcpy(raw + MT_WIRE_HEADER, s->p, s->n);
    mt_tally_init(&t);
    mt_tally_chunk(&t, &c);
    MT_CHECK_EQ(t.held, held);
    MT_CHECK_EQ(t.peak, peak);
    mt_tally_done(&t);
}

MT_TEST(held)
{
    struct script s = {.n = 0};
    call(&s, MT_WO_MEM_ALLOC, 0, 0x1000, 100, 0, 0);
    call(&s, MT_WO_MEM_ALLOC, 2, 0x2000, 5000, 0, 0); /* failed */
    call(&s, MT_WO_MANAGED_ALLOC, 0, 0x5000, 7000, 0, 0);
    call(&s, MT_WO_HOST_ALLOC, 0, 0x6000, 7000, 0, 0);
    call(&s, MT_WO_ASYNC_ALLOC, 0, 0x3000, 50, 0, 0);
    call(&s, MT_WO_MEM_FREE, 0, 0x1000, 0, 0, 0);
    call(&s, MT_WO_MEM_FREE, 0, 0x5000, 0, 0, 0); /* managed: never counted */
    call(&s, MT_WO_ASYNC_FREE, 0, 0x3000, 0, 0, 0);
    call(&s, MT_WO_ASYNC_FREE, 0, 0x3000, 0, 0, 0); /* twice */
    call(&s, MT_WO_ARRAY_CREATE, 0, 0, 30, 0x77, 0);
    ledger(&s, 30, 150);
    call(&s, MT_WO_ARRAY_DESTROY, 0, 0, 0, 0x77, 0);
    call(&s, (unsigned)MT_WO_COUNT + 5, 0, 0x1000, 100, 0, 0);
    ledger(&s, 0, 150);
}

MT_TEST(held_mapped)
{
    struct script s = {.n = 0};
    call(&s, MT_WO_VMM_RESERVE, 0, 0x10000, 4000, 0, 0);
    call(&s, MT_WO_VMM_CREATE, 0, 0, 1000, 1, 1);
    call(&s, MT_WO_VMM_CREATE, 0, 0, 1000, 2, 1);
    call(&s, MT_WO_VMM_CREATE, 0, 0, 9000, 3, 2); /* on the host */
    call(&s, MT_WO_VMM_MAP, 0, 0x10000, 1000, 1, 0);
    call(&s, MT_WO_VMM_MAP, 0, 0x10000 + 1000, 1000, 2, 0);
    call(&s, MT_WO_VMM_RELEASE, 0, 0, 0, 1, 0); /* still mapped */
    call(&s, MT_WO_VMM_RELEASE, 0, 0, 0, 2, 0);
    ledger(&s, 2000, 2000);
    call(&s, MT_WO_VMM_RETAIN, 0, 0x10000 + 1000, 0, 2, 0);
    call(&s, MT_WO_VMM_UNMAP, 0, 0x10000, 2000, 0, 0); /* both at once */
    ledger(&s, 1000, 2000);
    call(&s, MT_WO_VMM_RELEASE, 0, 0, 0, 2, 0);
    call(&s, MT_WO_VMM_RELEASE, 0, 0, 0, 2, 0); /* once too often */
    ledger(&s, 0, 2000);
}

/* ---- collect, with memory that ends anywhere ---- */

static void fill(void)
{
    static const char note[] = "a note\n";
    char path[200];
    int fd;
    make_dir();
    write_process("mt-node-b-42-00000000000000aa.gz", 0xaa, 100);
    write_process("mt-node-a-42-00000000000000bb.gz", 0xbb, 100);
    path_in(path, sizeof path, "mt-node-a-42-00000000000000bb-torch.txt");
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    MT_CHECK(fd >= 0 && write(fd, note, sizeof note - 1) == (ssize_t)sizeof note - 1);
    (void)close(fd);
}

static bool never(void) { return false; }
static bool at_once(void) { return true; }

MT_TEST(collect)
{
    struct mt_collect_opts o = {.status = -1, .symbols = true, .stop = never, .keep = true};
    struct mt_collection c;
    struct mt_err err;
    char out[200];
    uint64_t before, calls, failed = 0;

    fill();
    o.dir = dir;
    snprintf(out, sizeof out, "%s.gz", dir);
    o.output = out;
    before = mt_mem_used();
    calls = mt_mem_calls();
    MT_CHECK_EQ(mt_collect(&c, &o, &err), MT_OK);
    calls = mt_mem_calls() - calls;
    MT_CHECK_EQ(c.processes.n, 2);
    MT_CHECK_STR(c.processes.p[0].host, "node-a");
    MT_CHECK_STR(c.processes.p[1].host, "node-b");
    MT_CHECK_EQ(c.n_texts, 1);
    MT_CHECK(c.why_nothing != NULL && c.spool_kept);
    MT_CHECK_STR(c.path, out);
    mt_collection_done(&c);
    MT_CHECK_EQ(mt_mem_used(), before);
    MT_CHECK_EQ(unlink(out), 0);
    MT_CHECK(calls > 50);
    for (uint64_t i = 1; i <= calls; i++) {
        enum mt_rc rc;
        struct stat st;
        mt_mem_fail_after(i);
        rc = mt_collect(&c, &o, &err);
        mt_mem_fail_after(0);
        failed += rc < 0;
        MT_CHECK_EQ(stat(out, &st) == 0, rc >= 0);
        MT_CHECK(rc >= 0 || err.msg[0] != '\0');
        mt_collection_done(&c);
        MT_CHECK_EQ(mt_mem_used(), before);
        (void)unlink(out);
    }
    MT_CHECK(failed > 20);
    o.stop = at_once;
    MT_CHECK_EQ(mt_collect(&c, &o, &err), MT_EIO);
    MT_CHECK(access(out, F_OK) != 0);
    mt_collection_done(&c);
    o.stop = never;
    o.keep = false;
    MT_CHECK_EQ(mt_collect(&c, &o, &err), MT_OK);
    MT_CHECK(access(dir, F_OK) != 0);
    mt_collection_done(&c);
    (void)unlink(out);
}

MT_TEST(elf)
{
    struct mt_elf_facts f;
    struct mt_tally_module m = {.n_build_id = 20};
    struct mt_symbols *s = mt_symbols_new();
    char exe[] = "/proc/self/exe", nowhere[] = "/no/such/file", device[] = "/dev/zero";

    if (sizeof(void *) == 8) { /* as is what can be recorded */
        MT_CHECK(mt_elf_read(exe, &f) && f.is_elf && f.is_64 && !f.is_static);
        MT_CHECK_EQ(f.machine, mt_elf_here());
        MT_CHECK_EQ(f.glibc_major, 2);
    }
    MT_CHECK(!mt_elf_read(nowhere, &f));
    MT_CHECK(!mt_elf_read(device, &f));
    m.path = exe; /* another build id: these are not the functions that ran */
    MT_CHECK(mt_symbols_find(s, &m, 0x1000) == NULL);
    m.path = device;
    MT_CHECK(mt_symbols_find(s, &m, 0x1000) == NULL);
    m.path = NULL;
    MT_CHECK(mt_symbols_find(s, &m, 0x1000) == NULL);
    mt_symbols_free(s);
}

MT_MAIN(MT_RUN(table) MT_RUN(whole_records) MT_RUN(members) MT_RUN(held) MT_RUN(held_mapped)
            MT_RUN(collect) MT_RUN(elf))
