/* The reader of memtrace's own traces, on plain streams of chunks. */
#include "tests/unit/native_make.h"

MT_TEST(example_of_the_format)
{
    /* docs/trace-format.md, "Example" */
    static const unsigned char bytes[] = {
        0x4d, 0x54, 0x43, 0x48, 0x55, 0x4e, 0x4b, 0x01, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22,
        0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x36, 0xfe, 0x9c,
        0x97, 0x17, 0x00, 0xf2, 0x05, 0x2a, 0x01, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x04,
        0x00, 0x00, 0x00, 0x67, 0x12, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x02, 0x09, 0x03, 0x70, 0x69, 0x64, 0x04, 0x34, 0x37, 0x31, 0x31,
        0x08, 0x15, 0xa0, 0x1f, 0x06, 0x01, 0xf3, 0x01, 0xdc, 0x0b, 0x46, 0x80, 0x80, 0x80, 0x80,
        0x80, 0xc0, 0x3f, 0x80, 0x80, 0x80, 0x01, 0x00, 0x08, 0x18, 0xe8, 0x07, 0x00, 0x01, 0xf3,
        0x01, 0x84, 0x07, 0x47, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbf, 0x3f, 0x80, 0x80, 0x80,
        0x80, 0x80, 0x02, 0x00, 0x63, 0x02, 0x01, 0x02,
    };
    struct mt_trace *t = read_bytes(bytes, sizeof bytes, NULL);
    const struct mt_driver *d;
    MT_ASSERT(t != NULL);
    d = t->driver;
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_CHECK_EQ(t->meta.format, MT_FMT_MEMTRACE);
    MT_ASSERT(d->processes.n == 1 && d->calls.n == 2);
    MT_CHECK_EQ(d->processes.p[0].uid, 0x1122334455667788);
    MT_CHECK_EQ(d->processes.p[0].pid, 4711);
    MT_CHECK_STR(mt_process_attr(t, 0, "pid"), "4711");
    MT_CHECK(mt_process_attr(t, 0, "nothing") == NULL);
    MT_CHECK(mt_process_attr(t, 1, "pid") == NULL);
    MT_CHECK_EQ(d->calls.p[0].time_ns, 1700000000000002000);
    MT_CHECK_EQ(d->calls.p[0].tid, 4714);
    MT_CHECK_EQ(d->calls.p[0].op, MT_WO_MEM_ALLOC);
    MT_CHECK_EQ(d->calls.p[0].cbid, 243);
    MT_CHECK_EQ(d->calls.p[0].dur_ns, 1500);
    MT_CHECK_EQ(d->calls.p[0].addr, 0x7f0000000000);
    MT_CHECK_EQ(d->calls.p[0].size, 2097152);
    MT_CHECK_EQ(d->calls.p[0].gpu, 0);
    MT_CHECK_EQ(d->calls.p[0].result, 0);
    MT_CHECK_EQ(d->calls.p[1].time_ns, 1700000000000002500);
    MT_CHECK_EQ(d->calls.p[1].tid, 4714);
    MT_CHECK_EQ(d->calls.p[1].result, 2);
    MT_CHECK_EQ(d->calls.p[1].addr, 0);
    MT_CHECK_EQ(d->calls.p[1].size, 68719476736);
    MT_CHECK_EQ(d->n_unknown_records, 1);
    MT_CHECK_EQ(d->gpus.n, 1); /* of no description: its DEVICE record is not there */
    mt_trace_free(t);
}

MT_TEST(every_field_of_a_call)
{
    struct load l;
    struct mt_trace *t;
    const struct mt_call *c;
    fresh();
    open_seq(0);
    put_string(9, "cuMemNew");
    timed(&l, MONO + 5, 101);
    u(&l, 200); /* an operation of a later version */
    u(&l, 20 + MT_WIRE_CBID_RUNTIME);
    u(&l, UINT64_C(1) << 40);
    u(&l, (2 * MT_WF_CORR - 1) | UINT64_C(1) << 20);
    u(&l, 2);
    delta(&l, &M.addr, 0xffffffffffffffff);
    u(&l, 123);
    delta(&l, &M.handle, 77);
    u(&l, 4096);
    u(&l, 0xabc);
    u(&l, 3);
    delta(&l, &M.context, 0x5500);
    delta(&l, &M.pool, 0x6600);
    u(&l, 5);
    u(&l, 0);
    u(&l, 1000);
    u(&l, 2000);
    u(&l, 4);
    s(&l, -300);
    u(&l, 9);
    delta(&l, &M.corr, 42);
    u(&l, 99999); /* the field of bit 20 */
    close_load(&l, MT_WR_CALL);
    put_alloc(MONO + 6, 100, 0x1000, 1); /* after the unknown field the deltas are still right */
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->calls.n == 2);
    c = &t->driver->calls.p[0];
    MT_CHECK_EQ(c->op, MT_WO_OTHER);
    MT_CHECK_EQ(c->cbid, 20 + MT_WIRE_CBID_RUNTIME);
    MT_CHECK_EQ(c->dur_ns, UINT32_MAX);
    MT_CHECK_EQ(c->result, 2);
    MT_CHECK(c->addr == UINT64_MAX);
    MT_CHECK_EQ(c->size, 123);
    MT_CHECK_EQ(c->handle, 77);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->offset, 4096);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->stream, 0xabc);
    MT_CHECK_EQ(c->context, 0x5500);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->pool, 0x6600);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->flags, 5);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->free, 1000);
    MT_CHECK_EQ(mt_call_rare(t->driver, c)->total, 2000);
    MT_CHECK_EQ(c->location, 4);
    MT_CHECK_EQ(c->change, -300);
    MT_CHECK(c->has_change);
    MT_CHECK_STR(mt_str(t, mt_call_rare(t->driver, c)->name), "cuMemNew");
    MT_CHECK_EQ(c->corr, 42);
    MT_CHECK_EQ(t->driver->calls.p[1].addr, 0x1000);
    MT_CHECK_EQ(t->driver->calls.p[1].tid, 100);
    MT_CHECK_EQ(last_rc, MT_OK);
    mt_trace_free(t);
}

MT_TEST(names_of_operations)
{
    MT_CHECK_STR(mt_op_name(MT_WO_VMM_CREATE), "vmm_create");
    MT_CHECK_STR(mt_op_name(MT_WO_MEM_INFO), "mem_info");
    MT_CHECK_STR(mt_op_name((enum mt_wire_op)4000), "other");
    MT_CHECK_STR(mt_end_name(MT_END_SIGNAL), "signal");
    MT_CHECK_STR(mt_end_name((enum mt_end)99), "unknown");
    mt_driver_free(NULL);
}

/* What is used in a chunk may be defined in a later one, or in one that comes before it in time and
 * after it in the file. */
MT_TEST(definitions_after_use)
{
    struct load l;
    struct mt_trace *t;
    const struct mt_frame *f;
    const struct mt_driver *d;
    mt_stack_id st;
    fresh();
    open_seq(1);
    timed(&l, MONO + 2000000000, 100);
    u(&l, MT_WO_MEM_ALLOC);
    u(&l, 243);
    u(&l, 1);
    u(&l, MT_WF_ADDR | MT_WF_STACK);
    delta(&l, &M.addr, 0x2000);
    u(&l, 1);
    close_load(&l, MT_WR_CALL);
    open_seq(0);
    put_alloc(MONO + 5, 100, 0x1000, 10);
    u(begin(&l), 1);
    u(&l, 4);
    u(&l, 2), u(&l, 0x10); /* resolved */
    u(&l, 2), u(&l, 0x20); /* not */
    u(&l, 0), u(&l, 0x77); /* no module */
    u(&l, 8), u(&l, 0x30); /* a module that is lost */
    close_load(&l, MT_WR_STACK);
    put_module(2, 0x7000, "/opt/lib/libnccl.so.2 (deleted)");
    open_chunk(UID, 0, MT_WK_COLLECT, 100, REAL + 9, MONO + 9);
    u(begin(&l), 2);
    u(&l, 0x10);
    str(&l, "ncclCudaMalloc");
    str(&l, "");
    u(&l, 0);
    close_load(&l, MT_WR_SYMBOL);
    t = read_made();
    MT_ASSERT(t != NULL);
    d = t->driver;
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_ASSERT(d->calls.n == 2);
    MT_CHECK_EQ(d->calls.p[0].addr, 0x1000); /* by time */
    MT_CHECK_EQ(d->calls.p[1].addr, 0x2000);
    st = d->calls.p[1].stack;
    MT_ASSERT(st != 0);
    f = &t->frames.p[t->stacks.p[st].frame];
    MT_CHECK_STR(mt_str(t, f->name), "ncclCudaMalloc");
    MT_CHECK_STR(mt_str(t, f->file), "libnccl.so.2");
    st = t->stacks.p[st].parent;
    MT_CHECK_STR(mt_str(t, t->frames.p[t->stacks.p[st].frame].name), "libnccl.so.2+0x20");
    st = t->stacks.p[st].parent;
    MT_CHECK_STR(mt_str(t, t->frames.p[t->stacks.p[st].frame].name), "0x77");
    st = t->stacks.p[st].parent;
    MT_CHECK_STR(mt_str(t, t->frames.p[t->stacks.p[st].frame].name), "0x30");
    MT_CHECK_EQ(t->stacks.p[st].parent, 0);
    MT_CHECK_STR(mt_str(t, d->modules.p[0].build_id), "01ab");
    MT_CHECK(has_diag(t, "never defined"));
    MT_CHECK_EQ(d->processes.p[0].n_chunks, 2);
    MT_CHECK_EQ(d->n_chunks, 3);
    mt_trace_free(t);
}

/* A chunk twice: once cut where the process was killed, once whole. Each call counts once,
 * whichever copy comes first. */
MT_TEST(copies_of_a_chunk)
{
    struct mt_trace *t;
    size_t whole, part;
    for (int order = 0; order < 3; order++) {
        static unsigned char copy[4096];
        fresh();
        open_seq(0);
        for (unsigned i = 0; i < 10; i++)
            put_alloc(MONO + 10 * i, 100 + i % 3, 0x1000 * i + 7, i);
        whole = M.n;
        memcpy(copy, M.p, whole);
        fresh();
        open_seq(0);
        for (unsigned i = 0; i < 4; i++)
            put_alloc(MONO + 10 * i, 100 + i % 3, 0x1000 * i + 7, i);
        part = M.n;
        if (order == 0) {
            memcpy(M.p + part, copy, whole);
        } else {
            memmove(M.p + whole, M.p, part);
            memcpy(M.p, copy, whole);
        }
        M.n = part + whole;
        if (order == 2) {
            memcpy(M.p + M.n, copy, whole);
            M.n += whole;
        }
        t = read_made();
        MT_ASSERT(t != NULL);
        MT_CHECK_EQ(last_rc, MT_OK);
        MT_ASSERT(t->driver->calls.n == 10);
        for (unsigned i = 0; i < 10; i++) {
            MT_CHECK_EQ(t->driver->calls.p[i].addr, 0x1000 * i + 7);
            MT_CHECK_EQ(t->driver->calls.p[i].size, i);
            MT_CHECK_EQ(t->driver->calls.p[i].tid, 100 + i % 3);
        }
        MT_CHECK_EQ(t->driver->n_duplicates, order == 2 ? 2 : 1);
        MT_CHECK_EQ(t->driver->processes.p[0].n_records, 10);
        MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 0);
        mt_trace_free(t);
    }
}

/* uid 0 counts from 0 in every capture: two of them in one trace are told apart by their clocks. */
MT_TEST(two_captures_in_one_trace)
{
    struct mt_trace *t;
    fresh();
    for (unsigned i = 0; i < 2; i++) {
        open_chunk(0, 0, MT_WK_LAUNCH, 50 + i, REAL + i, MONO);
        put_attr("version", i == 0 ? "1.0" : "1.1");
        open_chunk(UID + i, 0, MT_WK_PROCESS, 100, REAL, MONO);
        put_attr("host", i == 0 ? "node2" : "node1");
        put_device(0, 0, 1000, i == 0 ? "GPU-b" : "GPU-a", "0000:01:00.0");
        put_alloc(MONO + 5, 100, 0x1000 * (i + 1), 10);
    }
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->launch.n == 2 && t->driver->processes.n == 2 &&
              t->driver->gpus.n == 2);
    /* by host, not as they came */
    MT_CHECK_STR(mt_str(t, t->driver->processes.p[0].host), "node1");
    MT_CHECK_EQ(t->driver->processes.p[0].uid, UID + 1);
    MT_CHECK_STR(mt_str(t, t->driver->gpus.p[0].uuid), "GPU-a");
    MT_CHECK_EQ(t->driver->calls.p[0].addr, 0x2000);
    MT_CHECK_EQ(t->driver->calls.p[0].process, 0);
    MT_CHECK_EQ(t->driver->calls.p[0].gpu, 0);
    MT_CHECK_EQ(t->driver->calls.p[1].gpu, 1);
    MT_CHECK_EQ(t->driver->processes.p[1].first_call, 1);
    MT_CHECK_EQ(t->driver->processes.p[1].n_calls, 1);
    MT_CHECK_STR(mt_process_attr(t, 0, "host"), "node1");
    MT_CHECK_STR(mt_process_attr(t, 1, "host"), "node2");
    mt_trace_free(t);
}

MT_TEST(missing_chunks)
{
    struct mt_trace *t;
    fresh();
    open_seq(0);
    put_alloc(MONO + 1, 100, 1, 1);
    open_seq(5);
    put_alloc(MONO + 5000000001, 100, 2, 1);
    open_seq(3);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(last_rc, MT_WARN);
    MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 3);
    MT_CHECK_EQ(t->driver->n_missing, 3);
    MT_CHECK(has_diag(t, "3 of 6 chunks of process 100"));
    MT_CHECK_EQ(t->driver->calls.n, 2);
    mt_trace_free(t);
}

/* The clocks of a chunk are read one after the other: jitter must not reorder records, a clock that
 * was set must show. */
MT_TEST(clocks)
{
    struct mt_trace *t;
    fresh();
    open_chunk(UID, 0, MT_WK_PROCESS, 100, REAL, MONO);
    put_alloc(MONO + 1000000000, 100, 1, 1);
    /* 40 ms late */
    open_chunk(UID, 1, MT_WK_PROCESS, 100, REAL + 1000000000 - 40000000, MONO + 1000000000);
    put_alloc(MONO + 1000000001, 100, 2, 1);
    /* set by an hour */
    open_chunk(UID, 2, MT_WK_PROCESS, 100, REAL + UINT64_C(3602000000000), MONO + 2000000000);
    put_alloc(MONO + 2000000005, 100, 3, 1);
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->calls.n == 3);
    MT_CHECK_EQ(t->driver->calls.p[0].addr, 1);
    MT_CHECK_EQ(t->driver->calls.p[0].time_ns, REAL + 1000000000);
    MT_CHECK_EQ(t->driver->calls.p[1].time_ns, REAL + 1000000001);
    MT_CHECK_EQ(t->driver->calls.p[2].time_ns, REAL + UINT64_C(3602000000005));
    mt_trace_free(t);
}

MT_TEST(threads_commit_out_of_order)
{
    struct mt_trace *t;
    uint64_t state = 88172645463325252ull;
    fresh();
    for (unsigned c = 0; c < 5; c++) {
        open_seq(c);
        for (unsigned i = 0; i < 400; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            put_alloc(MONO + c * 1000000000ull + 100 * i + state % 2000, 100 + state % 4, i, 1 + c);
        }
    }
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->calls.n == 2000);
    for (unsigned i = 1; i < 2000; i++)
        MT_CHECK(t->driver->calls.p[i - 1].time_ns <= t->driver->calls.p[i].time_ns);
    {
        uint64_t sum = 0;
        for (unsigned i = 0; i < 2000; i++)
            sum += t->driver->calls.p[i].addr * t->driver->calls.p[i].size;
        MT_CHECK_EQ(sum, (uint64_t)399 * 400 / 2 * 15);
    }
    mt_trace_free(t);
}

MT_TEST(ranges)
{
    struct mt_trace *t;
    const struct mt_nvtx *r;
    fresh();
    open_seq(0);
    put_string(1, "outer");
    put_string(2, "inner");
    put_string(3, "dom");
    put_range(MT_WR_RANGE_POP, MONO + 1, 100, 0, 0, 0); /* of a range that began before */
    put_range(MT_WR_RANGE_PUSH, MONO + 10, 100, 0, 1, 0);
    put_range(MT_WR_RANGE_PUSH, MONO + 20, 100, 0, 2, 0);
    put_range(MT_WR_RANGE_PUSH, MONO + 25, 101, 0, 2, 0); /* another thread */
    put_range(MT_WR_RANGE_PUSH, MONO + 26, 100, 3, 2, 0); /* another domain */
    put_range(MT_WR_RANGE_START, MONO + 27, 100, 0, 1, 7);
    put_range(MT_WR_MARK, MONO + 28, 100, 3, 1, 0);
    open_seq(1);
    put_range(MT_WR_RANGE_POP, MONO + 1000000030, 100, 0, 0, 0);
    put_range(MT_WR_RANGE_POP, MONO + 1000000040, 100, 0, 0, 0);
    put_range(MT_WR_RANGE_END, MONO + 1000000050, 102, 0, 0, 7); /* by another thread */
    put_range(MT_WR_RANGE_POP, MONO + 1000000060, 100, 3, 0, 0);
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->ranges.n == 6);
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_CHECK(has_diag(t, "1 range ends that never began"));
    r = t->driver->ranges.p;
    MT_CHECK_STR(mt_str(t, r[0].name), "outer");
    MT_CHECK_EQ(r[0].t0_ns, REAL + 10);
    MT_CHECK_EQ(r[0].t1_ns, REAL + 1000000040);
    MT_CHECK(r[0].is_thread_range && !r[0].is_mark);
    MT_CHECK_STR(mt_str(t, r[1].name), "inner");
    MT_CHECK_EQ(r[1].t1_ns, REAL + 1000000030);
    MT_CHECK_EQ(r[2].tid, 101);
    MT_CHECK_EQ(r[2].t1_ns, 0); /* never closed */
    MT_CHECK_STR(mt_str(t, r[3].domain), "dom");
    MT_CHECK_EQ(r[3].t1_ns, REAL + 1000000060);
    MT_CHECK(!r[4].is_thread_range);
    MT_CHECK_EQ(r[4].t1_ns, REAL + 1000000050);
    MT_CHECK(r[5].is_mark);
    MT_CHECK_EQ(r[5].t0_ns, r[5].t1_ns);
    mt_trace_free(t);
}

MT_TEST(gpus)
{
    struct load l;
    struct mt_trace *t;
    const struct mt_driver *d;
    fresh();
    open_chunk(UID, 0, MT_WK_PROCESS, 100, REAL, MONO);
    put_attr("host", "n");
    put_device(0, 0, 0, "", "0000:02:00.0"); /* first without a UUID, then with it */
    put_device(0, 0, 500, "GPU-2", "");
    put_device(1, -1, 600, "GPU-1", "0000:01:00.0"); /* seen by NVML only */
    u(begin(&l), 0x5500);
    u(&l, 0);
    close_load(&l, MT_WR_CONTEXT);
    timed(&l, MONO + 1, 100);
    u(&l, MT_WO_ARRAY_CREATE);
    u(&l, 1);
    u(&l, 1);
    u(&l, MT_WF_CONTEXT);
    delta(&l, &M.context, 0x5500);
    close_load(&l, MT_WR_CALL);
    timed(&l, MONO + 2, 100);
    u(&l, 1);
    u(&l, 0), u(&l, 50), u(&l, 550), u(&l, 600), u(&l, 2);
    u(&l, 7), u(&l, 40);
    u(&l, 8), u(&l, UINT64_MAX);
    close_load(&l, MT_WR_GPU_SAMPLE);
    open_chunk(UID + 1, 0, MT_WK_PROCESS, 101, REAL + 10, MONO);
    put_attr("host", "n");
    put_device(0, 0, 600, "GPU-1", "0000:01:00.0"); /* its ordinal 0 is the other one */
    put_alloc(MONO + 3, 101, 0x1000, 1);
    open_chunk(UID + 2, 0, MT_WK_PROCESS, 102, REAL + 20, MONO);
    put_attr("host", "n");
    put_alloc(MONO + 3, 102, 0x1000, 1); /* nothing says which device that is */
    t = read_made();
    MT_ASSERT(t != NULL);
    d = t->driver;
    MT_ASSERT(d->gpus.n == 3 && d->calls.n == 3 && d->samples.n == 1);
    MT_CHECK_STR(mt_str(t, d->gpus.p[0].pci), "");
    MT_CHECK_STR(mt_str(t, d->gpus.p[1].uuid), "GPU-1");
    MT_CHECK_EQ(d->gpus.p[1].total, 600);
    MT_CHECK_STR(mt_str(t, d->gpus.p[2].uuid), "GPU-2");
    MT_CHECK_STR(mt_str(t, d->gpus.p[2].pci), "0000:02:00.0");
    MT_CHECK_EQ(d->gpus.p[2].total, 500);
    MT_CHECK_EQ(d->calls.p[0].gpu, 2);
    MT_CHECK_EQ(d->calls.p[1].gpu, 1);
    MT_CHECK_EQ(d->calls.p[2].gpu, 0);
    MT_CHECK_EQ(d->samples.p[0].gpu, 1);
    MT_CHECK_EQ(d->samples.p[0].used, 50);
    MT_ASSERT(d->samples.p[0].n_uses == 2);
    MT_CHECK_EQ(d->uses.p[0].pid, 7);
    MT_CHECK(d->uses.p[1].used == UINT64_MAX);
    MT_CHECK_EQ(d->views.n, 4);
    mt_trace_free(t);
}

MT_TEST(names_and_ranks)
{
    static const struct {
        const char *argv[6], *key, *value, *name, *command;
        int rank;
    } cases[] = {
        {{"python", "-m", "verl.trainer.main_ppo", "a=b c"},
         "env.RANK",
         "3",
         "verl.trainer.main_ppo",
         "python -m verl.trainer.main_ppo 'a=b c'",
         3},
        {{"/usr/bin/python3.11", "-u", "-X", "dev", "/home/x/train.py", "--lr"},
         "env.SLURM_PROCID",
         "12",
         "train.py",
         "/usr/bin/python3.11 -u -X dev /home/x/train.py --lr",
         12},
        {{"python3", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(5)"},
         "env.RANK",
         "x",
         "multiprocessing child",
         "python3 -c 'from multiprocessing.spawn import spawn_main; spawn_main(5)'",
         -1},
        {{"python3", "-mtorch.distributed.run"},
         "env.PMI_RANK",
         "0",
         "torch.distributed.run",
         "python3 -mtorch.distributed.run",
         0},
        {{"/opt/bin/trtllm-serve", ""},
         "env.RANK",
         "-1",
         "trtllm-serve",
         "/opt/bin/trtllm-serve ''",
         -1},
        {{"ray::WorkerDict.update_actor/x"},
         "env.RANK",
         "99999999999",
         "ray::WorkerDict.update_actor/x",
         "ray::WorkerDict.update_actor/x",
         -1},
        {{"python3", "it's"}, "env.RANK", "7", "it's", "python3 'it'\\''s'", 7},
        {{"python3"}, "env.RANK", "1", "python3", "python3", 1},
        {{NULL}, "exe", "/bin/nccl-test", "nccl-test", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_trace *t;
        char key[20];
        fresh();
        open_seq(0);
        for (unsigned k = 0; k < 6 && cases[i].argv[k] != NULL; k++) {
            snprintf(key, sizeof key, "argv.%u", k);
            put_attr(key, cases[i].argv[k]);
        }
        put_attr(cases[i].key, cases[i].value);
        put_attr("env.LOCAL_RANK", "2");
        put_attr("ppid", "55");
        t = read_made();
        MT_ASSERT(t != NULL);
        MT_CHECK_STR(mt_str(t, t->driver->processes.p[0].name), cases[i].name);
        MT_CHECK_STR(mt_str(t, t->driver->processes.p[0].command), cases[i].command);
        MT_CHECK_EQ(t->driver->processes.p[0].rank, cases[i].rank);
        MT_CHECK_EQ(t->driver->processes.p[0].local_rank, 2);
        MT_CHECK_EQ(t->driver->processes.p[0].ppid, 55);
        mt_trace_free(t);
    }
}

/* The variable that a launcher sets for the job counts before what the cluster says. */
MT_TEST(rank_of_the_better_variable)
{
    struct mt_trace *t;
    fresh();
    open_seq(0);
    put_attr("env.SLURM_PROCID", "0");
    put_attr("env.RANK", "5");
    put_attr("env.OMPI_COMM_WORLD_RANK", "6");
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(t->driver->processes.p[0].rank, 5);
    MT_CHECK_EQ(t->driver->processes.p[0].local_rank, -1);
    mt_trace_free(t);
}

static void put_end(unsigned how, int64_t status)
{
    struct load l;
    timed(&l, MONO + 9, 100);
    u(&l, how);
    s(&l, status);
    close_load(&l, MT_WR_END);
}

MT_TEST(ends_losses_statuses)
{
    struct load l;
    struct mt_trace *t;
    fresh();
    open_chunk(UID, 0, MT_WK_COLLECT, 100, REAL + 100, MONO + 100);
    put_end(MT_WE_SIGNAL, 9);
    open_seq(0);
    put_end(MT_WE_EXIT, 0);
    put_end(77, 0); /* of a later version */
    for (unsigned i = 1; i < 4; i++) {
        timed(&l, MONO + i, 100);
        u(&l, MT_LO_RECORDS);
        u(&l, 10 * i);
        u(&l, 100 * i);
        close_load(&l, MT_WR_LOSS);
    }
    timed(&l, MONO + 1, 100);
    u(&l, MT_ST_SIZE_CAP);
    u(&l, 1);
    str(&l, "256 MiB");
    close_load(&l, MT_WR_STATUS);
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->losses.n == 1 && t->driver->statuses.n == 1);
    MT_CHECK_EQ(t->driver->processes.p[0].end, MT_END_SIGNAL);
    MT_CHECK_EQ(t->driver->processes.p[0].end_status, 9);
    MT_CHECK_EQ(t->driver->losses.p[0].count, 30);
    MT_CHECK_EQ(t->driver->losses.p[0].bytes, 300);
    MT_CHECK_EQ(t->driver->processes.p[0].n_dropped, 30);
    MT_CHECK_EQ(t->driver->statuses.p[0].code, MT_ST_SIZE_CAP);
    MT_CHECK_STR(mt_str(t, t->driver->statuses.p[0].text), "256 MiB");
    MT_CHECK(!t->driver->processes.p[0].has_cuda);
    mt_trace_free(t);
}

MT_TEST(limits)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct mt_trace *t;
    fresh();
    open_seq(0);
    put_attr("key", "a value that is long");
    for (unsigned i = 0; i < 5; i++)
        put_alloc(MONO + i, 100, i, 1);
    lim.max_events = 4;
    t = read_bytes(M.p, M.n, &lim);
    MT_CHECK(t == NULL);
    MT_CHECK_EQ(last_rc, MT_ELIMIT);
    MT_CHECK_HAS(last_err.msg, "--max-events");
    lim.max_events = 5;
    lim.max_string = 19;
    t = read_bytes(M.p, M.n, &lim);
    MT_CHECK(t == NULL);
    MT_CHECK_EQ(last_rc, MT_ELIMIT);
    MT_CHECK_HAS(last_err.msg, "--max-string");
    lim.max_string = 20;
    t = read_bytes(M.p, M.n, &lim);
    MT_CHECK(t != NULL);
    mt_trace_free(t);
}

MT_TEST(other_versions)
{
    struct mt_trace *t;
    fresh();
    open_seq(0);
    put_alloc(MONO, 100, 1, 1);
    M.p[7] = 2;
    t = read_made();
    MT_CHECK(t == NULL);
    MT_CHECK_EQ(last_rc, MT_EINPUT);
    MT_CHECK_HAS(last_err.msg, "format version 2");
    fresh();
    open_chunk(UID, 0, 9, 100, REAL, MONO); /* a kind of chunk of a later minor version */
    put_alloc(MONO, 100, 1, 1);
    open_seq(0);
    M.p[M.chunk + MT_WH_MINOR] = 3;
    put_alloc(MONO, 100, 2, 1);
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->calls.n == 1);
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_CHECK_EQ(t->driver->calls.p[0].addr, 2);
    mt_trace_free(t);
}

MT_TEST(no_trace_at_all)
{
    MT_CHECK(read_bytes("", 0, NULL) == NULL);
    MT_CHECK_EQ(last_rc, MT_EINPUT);
    MT_CHECK(read_bytes("MTCHUNK\001 but then nothing", 25, NULL) == NULL);
    MT_CHECK_EQ(last_rc, MT_EINPUT);
    MT_CHECK_HAS(last_err.msg, "no chunk of it is whole");
}

/* A bad record costs itself, a bad length the rest of its chunk, a bad chunk itself. */
MT_TEST(damage)
{
    struct load l;
    struct mt_trace *t;
    size_t second;
    fresh();
    open_seq(0);
    put_alloc(MONO + 1, 100, 1, 1);
    record(MT_WR_STRING, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10); /* beyond 64 bits */
    u(begin(&l), 1);
    u(&l, UINT64_C(1) << 60); /* frames that are not there */
    close_load(&l, MT_WR_STACK);
    put_alloc(MONO + 2, 100, 2, 1);
    record(MT_WR_CALL, "\x02", 1);
    M.time = MONO + 3; /* the deltas of a call that is cut off count as far as they go */
    put_alloc(MONO + 4, 100, 3, 1);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(last_rc, MT_WARN);
    MT_CHECK_EQ(t->driver->calls.n, 3);
    MT_CHECK_EQ(t->driver->calls.p[2].time_ns, REAL + 4 - 0);
    MT_CHECK(has_diag(t, "3 records cannot be decoded"));
    mt_trace_free(t);

    fresh();
    open_seq(0);
    put_alloc(MONO + 1, 100, 1, 1);
    record(5, "", 0);
    M.p[M.n - 1] = 100; /* longer than the chunk */
    second = M.n;
    memcpy(M.p + M.n, "garbage garbage MTCHUNK garbage MTCHUNK\001 garbage", 48);
    M.n += 48;
    open_seq(1);
    put_alloc(MONO + 1000000002, 100, 2, 1);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(t->driver->calls.n, 2);
    MT_CHECK(has_diag(t, "no record"));
    MT_CHECK(has_diag(t, "passed over") || has_diag(t, "before its time"));
    MT_CHECK(second > 0);
    mt_trace_free(t);

    fresh();
    open_chunk(0, 0, MT_WK_PROCESS, 100, REAL, MONO);
    put_alloc(MONO + 1, 100, 1, 1);
    open_chunk(0, 0, MT_WK_LAUNCH, 100, REAL, MONO);
    put_alloc(MONO + 1, 100, 1, 1); /* makes no sense there */
    put_attr("version", "1");
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(t->driver->calls.n, 0);
    MT_CHECK_EQ(t->driver->launch.n, 1);
    MT_CHECK(has_diag(t, "1 chunk names no process and was left out"));
    mt_trace_free(t);
}

/* The sample, cut at every byte and with every byte changed: nothing crashes, and what is whole is
 * there. */
MT_TEST(sample_in_pieces)
{
    size_t n = 0;
    unsigned char *p = mt_slurp(MT_SOURCE_DIR "/tests/fuzz/regress/native/driver_v1.chunks", &n);
    uint32_t last = 0;
    uint64_t used = mt_mem_used();
    MT_ASSERT(p != NULL);
    for (size_t k = 0; k <= n; k++) {
        struct mt_trace *t = read_bytes(p, k, NULL);
        if (t == NULL)
            continue;
        MT_CHECK(t->driver->calls.n >= last);
        last = t->driver->calls.n;
        mt_trace_free(t);
    }
    MT_CHECK_EQ(last, 47);
    MT_CHECK_EQ(last_rc, MT_OK);
    for (size_t k = 0; k < n; k++) {
        struct mt_trace *t;
        unsigned char old = p[k];
        p[k] = (unsigned char)(old ^ (k % 3 == 0 ? 0x80 : k % 3 == 1 ? 0xff : 1));
        t = read_bytes(p, n, NULL);
        MT_CHECK(t != NULL);
        if (t != NULL)
            MT_CHECK(t->driver->calls.n >= 10); /* one chunk is lost at most */
        mt_trace_free(t);
        p[k] = old;
    }
    MT_CHECK_EQ(mt_mem_used(), used);
    free(p);
}

/* Every allocation may fail: then reading stops with that, and nothing is left. */
MT_TEST(out_of_memory)
{
    size_t n = 0;
    unsigned char *p = mt_slurp(MT_SOURCE_DIR "/tests/fuzz/regress/native/driver_v1.chunks", &n);
    uint64_t used = mt_mem_used(), k;
    MT_ASSERT(p != NULL);
    for (k = 1; k < 5000; k++) {
        struct mt_trace *t;
        mt_mem_fail_after(k);
        t = read_bytes(p, n, NULL);
        mt_mem_fail_after(0);
        if (t != NULL && last_rc == MT_OK && !has_diag(t, "memory")) {
            mt_trace_free(t);
            break;
        }
        mt_trace_free(t);
        MT_CHECK(last_rc == MT_ENOMEM || last_rc == MT_WARN);
        MT_CHECK_EQ(mt_mem_used(), used);
    }
    MT_CHECK(k > 50 && k < 5000);
    MT_CHECK_EQ(mt_mem_used(), used);
    free(p);
}

MT_MAIN(MT_RUN(example_of_the_format) MT_RUN(every_field_of_a_call) MT_RUN(names_of_operations)
            MT_RUN(definitions_after_use) MT_RUN(copies_of_a_chunk)
                MT_RUN(two_captures_in_one_trace) MT_RUN(missing_chunks) MT_RUN(clocks)
                    MT_RUN(threads_commit_out_of_order) MT_RUN(ranges) MT_RUN(gpus)
                        MT_RUN(names_and_ranks) MT_RUN(rank_of_the_better_variable)
                            MT_RUN(ends_losses_statuses) MT_RUN(limits) MT_RUN(other_versions)
                                MT_RUN(no_trace_at_all) MT_RUN(damage) MT_RUN(sample_in_pieces)
                                    MT_RUN(out_of_memory))
