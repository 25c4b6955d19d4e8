/* Snapshots of one process: which of them another one has all of. */
#include "analysis/run/one_process.h"
#include "tests/unit/mt_test.h"

enum { N = 3 };

/* Ranks by hand: only what is looked at. */
struct made {
    struct mt_diagnosis d;
    struct mt_trace trace[N];
    struct mt_analysis analysis[N];
    struct mt_device_analysis device[N][2];
    struct mt_rank rank[N];
};

/* The first is of a failure, the second of the end of its process, the third of another rank's. */
static void make(struct made *m)
{
    static char host[] = "n1";
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < N; i++) {
        struct mt_meta *meta = &m->trace[i].meta;
        meta->rank = i == 2 ? 1 : 0;
        meta->pid = i == 2 ? 8 : 7;
        meta->host = host;
        for (int k = 0; k < 2; k++)
            m->device[i][k] = (struct mt_device_analysis){.ordinal = k,
                                                          .first_ns = 100,
                                                          .last_ns = i == 1 ? 300 : 200,
                                                          .n_events = i == 1 ? 60 : 50,
                                                          .live_start = 10,
                                                          .live_peak = 90};
        m->analysis[i].devices.p = m->device[i];
        m->analysis[i].devices.n = 2;
        m->rank[i] =
            (struct mt_rank){.trace = &m->trace[i], .analysis = &m->analysis[i], .order = i};
    }
    m->d.ranks.p = m->rank;
    m->d.ranks.n = N;
}

static bool has(struct made *m) { return mt_has_all_of(&m->rank[1], &m->rank[0]); }

MT_TEST(the_earlier_one_is_set_aside)
{
    struct made m;
    make(&m);
    MT_CHECK(has(&m));
    MT_CHECK(!mt_has_all_of(&m.rank[0], &m.rank[1]));
    MT_CHECK(!mt_has_all_of(&m.rank[1], &m.rank[2]));
    MT_CHECK(mt_set_earlier_aside(&m.d) == MT_OK);
    MT_CHECK_EQ(m.d.ranks.n, 2u);
    MT_CHECK_EQ(m.d.earlier.n, 1u);
    MT_CHECK(m.d.ranks.p[0].order == 1 && m.d.ranks.p[1].order == 2 && m.d.earlier.p[0].order == 0);
    MT_VEC_DONE(&m.d.earlier);
}

MT_TEST(every_contradiction_keeps_both)
{
    struct made m;
    char other[] = "n2";
    make(&m);
    m.trace[0].meta.pid = 9;
    MT_CHECK(!has(&m));
    m.trace[0].meta.pid = m.trace[1].meta.pid = -1; /* not known */
    MT_CHECK(!has(&m));
    make(&m);
    m.trace[0].meta.host = other;
    MT_CHECK(!has(&m));
    m.trace[0].meta.host = NULL;
    MT_CHECK(!has(&m));
    m.trace[0].meta.uid = m.trace[1].meta.uid = 5; /* the recorder knows the process */
    MT_CHECK(has(&m));
    m.trace[0].meta.uid = 6;
    MT_CHECK(!has(&m));
    make(&m);
    m.trace[0].meta.rank = 1;
    MT_CHECK(!has(&m));
    make(&m);
    m.device[0][1].first_ns = 99; /* its ring lost the beginning */
    MT_CHECK(!has(&m));
    m.device[0][1].first_ns = m.device[1][1].first_ns = 0; /* no clock */
    MT_CHECK(!has(&m));
    make(&m);
    m.device[0][1].live_start = 11;
    MT_CHECK(!has(&m));
    make(&m);
    m.device[0][0].live_peak = 91;
    MT_CHECK(!has(&m));
    make(&m);
    m.device[0][0].last_ns = 301;
    MT_CHECK(!has(&m));
    make(&m);
    m.device[0][0].n_events = 61;
    MT_CHECK(!has(&m));
    make(&m);
    m.analysis[0].devices.n = 1;
    MT_CHECK(!has(&m));
    make(&m);
    m.trace[1].damaged = true;
    MT_CHECK(!has(&m));
    make(&m);
    m.device[1][0].n_events = m.device[1][1].n_events = 50; /* copies: none is the earlier one */
    m.device[1][0].last_ns = m.device[1][1].last_ns = 200;
    MT_CHECK(!has(&m) && !mt_has_all_of(&m.rank[0], &m.rank[1]));
}

MT_MAIN(MT_RUN(the_earlier_one_is_set_aside) MT_RUN(every_contradiction_keeps_both))
