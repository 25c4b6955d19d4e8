/* A recording that keeps the newest: a checkpoint in place of the chunks that were let go. */
#include "tests/unit/native_make.h"

#define FIRST 7 /* chunk that is left */

/* A part of a checkpoint that stands for the chunks below `first`; whole from 6.5 s on. */
static void open_part(uint64_t number, uint64_t first)
{
    struct load l;
    uint64_t mono = MONO + first * 1000000000;
    open_chunk(UID, number, MT_WK_KEPT, 100, REAL + first * 1000000000, mono);
    u(begin(&l), first);
    s(&l, -500000000);
    s(&l, -(int64_t)(first * 1000000000));
    u(&l, 0);
    u(&l, 1000);
    u(&l, 900);
    u(&l, 3);
    close_load(&l, MT_WR_CHECKPOINT);
}

static void end_part(uint64_t first, uint64_t parts)
{
    struct load l;
    u(begin(&l), first);
    s(&l, -500000000);
    s(&l, -(int64_t)(first * 1000000000));
    u(&l, parts);
    u(&l, 1000);
    u(&l, 900);
    u(&l, 3);
    close_load(&l, MT_WR_CHECKPOINT);
}

static void put_part(uint64_t number, uint64_t first, uint64_t parts, uint64_t addr)
{
    open_part(number, first);
    put_alloc(MONO + 1000000001, 100, addr, 10);
    if (parts != 0)
        end_part(first, parts);
}

static void put_left(uint64_t seq)
{
    open_seq(seq);
    put_alloc(MONO + seq * 1000000000 + 1, 100, 0x100 + seq, 1);
}

MT_TEST(checkpoint_and_rest)
{
    struct mt_trace *t;
    const struct mt_process *p;
    fresh();
    put_part(0, FIRST, 0, 0x1);
    put_part(1, FIRST, 2, 0x2);
    open_chunk(UID, UINT64_C(1) << 32, MT_WK_KEPT, 100, REAL, MONO); /* definitions */
    put_attr("host", "node1");
    put_left(FIRST);
    put_left(FIRST + 1);
    t = read_made();
    MT_ASSERT(t != NULL && t->driver->processes.n == 1);
    p = &t->driver->processes.p[0];
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_CHECK_EQ(p->n_missing, 0);
    MT_CHECK_EQ(p->whole_ns, REAL + UINT64_C(6500000000));
    MT_CHECK_EQ(p->first_ns, REAL);
    MT_CHECK_EQ(p->n_let_go, 1000);
    MT_CHECK_EQ(p->n_failures_let_go, 3);
    MT_CHECK_EQ(t->driver->calls.n, 4);
    MT_CHECK_EQ(t->driver->calls.p[0].addr, 0x1); /* at the time when it was made */
    MT_CHECK_EQ(t->driver->calls.p[0].time_ns, REAL + 1000000001);
    MT_CHECK_EQ(t->driver->calls.p[3].addr, 0x100 + FIRST + 1);
    MT_CHECK_STR(mt_process_attr(t, 0, "host"), "node1");
    mt_trace_free(t);
}

/* A chunk that was let go and is still there, as after a kill, counts for nothing. */
MT_TEST(chunks_below_the_checkpoint)
{
    struct mt_trace *t;
    fresh();
    put_part(0, FIRST, 1, 0x1);
    put_left(FIRST - 1);
    put_left(FIRST);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(last_rc, MT_OK);
    MT_CHECK_EQ(t->driver->calls.n, 2);
    MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 0);
    mt_trace_free(t);
}

MT_TEST(a_gap_behind_the_checkpoint)
{
    struct mt_trace *t;
    fresh();
    put_part(0, FIRST, 1, 0x1);
    put_left(FIRST + 2);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(last_rc, MT_WARN);
    MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 2);
    MT_CHECK(has_diag(t, "2 of 3 chunks of process 100"));
    mt_trace_free(t);
}

MT_TEST(a_part_that_is_lost)
{
    struct mt_trace *t;
    for (unsigned lost = 0; lost < 3; lost++) {
        fresh();
        for (unsigned i = 0; i < 3; i++)
            if (i != lost)
                put_part(i, FIRST, i == 2 ? 3 : 0, i + 1);
        put_left(FIRST);
        t = read_made();
        MT_ASSERT(t != NULL);
        MT_CHECK_EQ(last_rc, MT_WARN);
        MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 1);
        MT_CHECK(has_diag(t, "the checkpoint of process 100 is not whole"));
        MT_CHECK_EQ(t->driver->calls.n, 3);
        mt_trace_free(t);
    }
}

/* Two traces of one process, put together: what is in both counts once. */
MT_TEST(two_checkpoints)
{
    struct mt_trace *t;
    for (unsigned order = 0; order < 2; order++) {
        fresh();
        for (unsigned i = 0; i < 2; i++) {
            uint64_t first = i == order ? FIRST : FIRST + 1;
            put_part(0, first, 1, 0x1);
            if (first == FIRST)
                put_left(FIRST);
            put_left(FIRST + 1);
        }
        t = read_made();
        MT_ASSERT(t != NULL);
        MT_CHECK_EQ(last_rc, MT_OK);
        MT_CHECK_EQ(t->driver->processes.n, 1);
        MT_CHECK_EQ(t->driver->calls.n, order == 0 ? 3 : 2);
        MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 0);
        mt_trace_free(t);
    }
    /* the first was taken before anything was let go */
    fresh();
    put_left(0);
    put_left(1);
    put_part(0, 1, 1, 0x1);
    put_left(1);
    put_left(2);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(t->driver->calls.n, 3);
    MT_CHECK_EQ(t->driver->processes.p[0].whole_ns, 0);
    MT_CHECK_EQ(t->driver->processes.p[0].n_missing, 0);
    mt_trace_free(t);
}

/* More is missing than can be counted: it is not few. */
MT_TEST(a_number_of_parts_that_cannot_be)
{
    struct mt_trace *t;
    fresh();
    put_part(0, FIRST, UINT64_MAX, 0x1);
    put_left(FIRST + 5);
    t = read_made();
    MT_ASSERT(t != NULL);
    MT_CHECK_EQ(last_rc, MT_WARN);
    MT_CHECK_EQ(t->driver->processes.p[0].n_missing, UINT64_MAX);
    MT_CHECK_EQ(t->driver->n_missing, UINT64_MAX);
    mt_trace_free(t);
}

/* Cut off anywhere, and with numbers that cannot be. */
MT_TEST(damaged_checkpoint)
{
    struct load l;
    struct mt_trace *t;
    for (unsigned n = 0; n < 12; n++) {
        fresh();
        open_chunk(UID, 0, MT_WK_KEPT, 100, REAL, MONO);
        begin(&l);
        for (unsigned i = 0; i < 7; i++)
            u(&l, UINT64_MAX);
        record(MT_WR_CHECKPOINT, l.p, n * 6);
        put_left(3);
        put_left(4);
        t = read_made();
        MT_ASSERT(t != NULL);
        MT_CHECK(t->driver->calls.n <= 2);
        mt_trace_free(t);
    }
}

MT_MAIN(MT_RUN(checkpoint_and_rest) MT_RUN(chunks_below_the_checkpoint)
            MT_RUN(a_gap_behind_the_checkpoint) MT_RUN(a_part_that_is_lost) MT_RUN(two_checkpoints)
                MT_RUN(damaged_checkpoint) MT_RUN(a_number_of_parts_that_cannot_be))
