/* What was recorded beside the calls on a GPU, on its clock: PyTorch's view of each process, and
 * the host's memory, column by column; and its picture. */
#include "render/svg/one_clock.h"
#include "render/view/one_clock.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"

#include <string.h>

enum { T0 = 1000, COLUMNS = 480, OTHER_HOST = 2 };

/* A GPU whose columns are 1 ns wide, three processes of which the last is elsewhere, two snapshots
 * of the first and one of the second. */
struct job {
    struct mt_trace driver, snapshot;
    struct mt_driver d;
    struct mt_gpu gpu;
    struct mt_process process[3];
    struct mt_host_sample sample[5];
    struct mt_driverdiag j;
    const struct mt_trace *drivers[1];
    struct mt_ledger ledger;
    struct mt_reconcile snap[3];
    struct mt_driver_oom oom[2];
    struct mt_analysis a;
    struct mt_device_analysis dev;
    uint64_t total[10], reserved[10];
    struct mt_rank rank;
    struct mt_diagnosis whole;
    struct mt_report r;
};

#define LIST(array, count)                                                                         \
    {                                                                                              \
        (array), (count), (count)                                                                  \
    }

static void make(struct job *x)
{
    static const struct mt_host_sample samples[] = {
        {.time_ns = T0 + 10, .rss = 100, .pinned = 10, .process = 0},
        {.time_ns = T0 + 20, .rss = 999, .process = OTHER_HOST},
        {.time_ns = T0 + 100, .rss = 50, .process = 1},
        {.time_ns = T0 + 200, .rss = 70, .pinned = 10, .process = 0},
        {.time_ns = T0 + 250, .rss = 70, .process = 0}};
    memset(x, 0, sizeof *x);
    x->gpu.host = 1;
    for (unsigned i = 0; i < 3; i++)
        x->process[i] = (struct mt_process){.host = i == OTHER_HOST ? 2 : 1,
                                            .last_ns = i == 0 ? T0 + 300 : T0 + 400};
    memcpy(x->sample, samples, sizeof samples);
    x->d = (struct mt_driver){.gpus = LIST(&x->gpu, 1),
                              .processes = LIST(x->process, 3),
                              .host_samples = LIST(x->sample, 5)};
    x->driver.driver = &x->d;
    x->drivers[0] = &x->driver;
    x->ledger = (struct mt_ledger){.t0_ns = T0, .t1_ns = T0 + COLUMNS - 1, .n_columns = COLUMNS};
    for (unsigned i = 0; i < 10; i++) {
        x->total[i] = 10 * (i + 1);
        x->reserved[i] = 120;
    }
    x->dev.timeline = (struct mt_timeline){.has_time = true,
                                           .x0 = T0 + 50,
                                           .x1 = T0 + 149,
                                           .n_columns = 10,
                                           .total = x->total,
                                           .reserved = x->reserved};
    x->a.devices = (__typeof__(x->a.devices))LIST(&x->dev, 1);
    x->rank = (struct mt_rank){.trace = &x->snapshot, .analysis = &x->a};
    x->snap[2].process = 1;
    x->j = (struct mt_driverdiag){.drivers = LIST(x->drivers, 1),
                                  .ledgers = LIST(&x->ledger, 1),
                                  .reconciled = LIST(x->snap, 3)};
    x->whole.driver = &x->j;
    x->whole.ranks = (__typeof__(x->whole.ranks))LIST(&x->rank, 1);
    x->r.diagnosis = &x->whole;
}

/* Samples of the processes on the GPU's machine add up until each has ended. */
MT_TEST(host)
{
    struct job x;
    struct mt_clocked_list l;
    static const struct {
        unsigned column;
        uint64_t low, high;
    } at[] = {{9, MT_CLOCKED_UNKNOWN, MT_CLOCKED_UNKNOWN},
              {10, 100, 10},
              {99, 100, 10},
              {100, 150, 10},
              {200, 120, 10},
              {250, 120, 0},
              {300, 120, 0},
              {301, 50, 0},
              {401, 0, 0},
              {402, MT_CLOCKED_UNKNOWN, MT_CLOCKED_UNKNOWN}};
    make(&x);
    x.j.reconciled.n = 0;
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.n, 1);
    for (unsigned i = 0; l.n == 1 && i < sizeof at / sizeof *at; i++) {
        MT_CHECK_EQ(l.at[at[i].column], T0 + at[i].column);
        MT_CHECK_EQ(l.curve[0].low[at[i].column], at[i].low);
        MT_CHECK_EQ(l.curve[0].high[at[i].column], at[i].high);
    }
    MT_CHECK_EQ(l.curve[0].peak_low, 150);
    MT_CHECK_EQ(l.curve[0].peak_high, 10);
    mt_clocked_list_done(&l);
    x.d.host_samples.n = 0;
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.n, 0);
    mt_clocked_list_done(&l);
}

/* Where the columns of the ledger are wide, a sample and a column of PyTorch's still begin when
 * they do; columns by event tell more where most of the events lie close together. */
MT_TEST(finer)
{
    struct job x;
    struct mt_clocked_list l;
    struct mt_column_time at[4] = {{T0 + 50000, T0 + 50000},
                                   {T0 + 149000, T0 + 149100},
                                   {T0 + 149100, T0 + 149500},
                                   {T0 + 149900, T0 + 149900}};
    uint64_t total[4] = {1, 40, 100, 60}, reserved[4] = {120, 120, 120, 120};
    static const struct {
        uint64_t at, low;
    } want[] = {{50000, 1}, {148999, 1}, {149000, 40}, {149100, 100}, {149899, 100}, {149900, 60}};
    make(&x);
    x.ledger.t1_ns = T0 + COLUMNS * 1000 - 1; /* 1 us a column */
    for (unsigned i = 0; i < 5; i++)
        x.sample[i].time_ns += i == 0 ? 10490 : 20000;
    x.process[0].last_ns = x.process[1].last_ns = T0 + 400000;
    x.j.reconciled.n = 1;
    x.dev.timeline.x0 = T0 + 50000;
    x.dev.timeline.x1 = T0 + 149999;
    x.dev.by_event = (struct mt_timeline){
        .x1 = 3, .n_columns = 4, .when = at, .total = total, .reserved = reserved};
    x.total[0] = 1; /* the highest of ten columns of 10 us, as the events have it */
    for (unsigned i = 1; i < 10; i++)
        x.total[i] = i < 9 ? 1 : 100;
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.n, 2);
    for (unsigned k = 0; k < sizeof want / sizeof *want; k++) {
        uint32_t i = 0;
        while (i + 1 < l.n_at && l.at[i + 1] <= T0 + want[k].at)
            i++;
        MT_CHECK_EQ(l.curve[0].low[i], want[k].low);
        MT_CHECK_EQ(l.curve[0].high[i], 120);
    }
    for (uint32_t i = 0; i < l.n_at; i++)
        if (l.at[i] < T0 + 10500)
            MT_CHECK(l.curve[1].low[i] == MT_CLOCKED_UNKNOWN);
    MT_CHECK_EQ(l.curve[0].peak_low, 100);
    mt_clocked_list_done(&l);
    x.dev.by_event.when = NULL; /* by time alone */
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.curve[0].peak_low, 100);
    mt_clocked_list_done(&l);
}

/* A process has one curve, however many snapshots it left; what was not recorded stays open. */
MT_TEST(torch)
{
    struct job x;
    struct mt_clocked_list l;
    char words[MT_CLOCKED_WORDS];
    make(&x);
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.n, 3);
    MT_CHECK_EQ(l.torch, 2);
    for (unsigned i = 0; i < l.torch; i++) {
        MT_CHECK_EQ(l.curve[i].low[49], MT_CLOCKED_UNKNOWN);
        MT_CHECK_EQ(l.curve[i].low[50], 10);
        MT_CHECK_EQ(l.curve[i].low[149], 100);
        MT_CHECK_EQ(l.curve[i].high[100], 120);
        MT_CHECK_EQ(l.curve[i].low[150], MT_CLOCKED_UNKNOWN);
    }
    MT_CHECK_STR(mt_clocked_words(words, &l.curve[0]),
                 "PyTorch inside rank 0, device 0: at most 100 B live, 120 B reserved (dashed)");
    x.j.host.peak = 2048;
    x.j.host.limit = 4096;
    mt_clocked_list_done(&l);
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_STR(mt_clocked_words(words, &l.curve[2]),
                 "Host memory of the recorded processes: at most 150 B resident, 10 B pinned "
                 "(dashed); the job's control group at most 2.0 KiB of 4.0 KiB");
    mt_clocked_list_done(&l);
    x.ledger.t0_ns = T0 + 150; /* the GPU was used later: nothing of it lies beside the calls */
    x.ledger.t1_ns = T0 + 150 + COLUMNS - 1;
    MT_CHECK(mt_clocked_make(&l, &x.r, 0));
    MT_CHECK_EQ(l.torch, 0);
    mt_clocked_list_done(&l);
}

/* The line of the failure lies where the picture above has it, and unknown columns are not drawn.
 */
MT_TEST(picture)
{
    struct job x;
    struct mt_out o;
    char *svg;
    make(&x);
    x.oom[0] = (struct mt_driver_oom){.time_ns = T0 + 20}; /* survived */
    x.oom[1] = (struct mt_driver_oom){.time_ns = T0 + COLUMNS / 2, .is_fatal = true};
    x.j.ooms = (__typeof__(x.j.ooms))LIST(x.oom, 2);
    MT_CHECK(mt_out_mem(&o));
    mt_svg_one_clock(&o, &x.r, 0);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    svg = mt_strndup((const char *)o.buf, o.used);
    mt_out_done(&o);
    MT_CHECK_HAS(svg, "viewBox=\"0 0 480 32\"");
    MT_CHECK_HAS(svg, "M240 0v32"); /* moments, from left to right */
    MT_CHECK(strstr(svg, "M20 0v32") == NULL);
    MT_CHECK_HAS(svg, "M50 32v-2h10v-3h10v"); /* PyTorch begins: 10 of 120 B, then 20 */
    MT_CHECK_HAS(svg, "fill=\"#6cb2ff\" stroke=\"#6cb2ff\" d=\"M50"); /* however short */
    MT_CHECK_HAS(svg, "h10V32z");                                     /* and ends */
    mt_free(svg);
    x.j.reconciled.n = 0;
    x.d.host_samples.n = 0;
    MT_CHECK(mt_out_mem(&o));
    mt_svg_one_clock(&o, &x.r, 0);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    MT_CHECK_EQ(o.used, 0);
    mt_out_done(&o);
}

MT_MAIN(MT_RUN(host) MT_RUN(finer) MT_RUN(torch) MT_RUN(picture))
