/* Many ranks: kinds and who stands out of them, what logs tell, several devices of one rank. */
#include "analysis/fleet/fleet.h"
#include "mt_test.h"

#define GIB (UINT64_C(1) << 30)
#define SECOND UINT64_C(1000000000)

static struct mt_fleet fleet;
static char said[4096];

static struct mt_fleet_row *add(int32_t rank, int32_t device, uint64_t gib_tenths)
{
    char place[64];
    struct mt_fleet_row *r = mt_fleet_add(&fleet);
    snprintf(place, sizeof place, "rank %d, device %d", (int)rank, (int)device);
    r->rank = rank;
    r->device = device;
    r->known = true;
    r->live = gib_tenths * GIB / 10;
    r->roles[3] = r->live;
    r->place = mt_strndup(place, strlen(place));
    return r;
}

static void put(void *arg, const char *words)
{
    size_t n = strlen(said);
    (void)arg;
    snprintf(said + n, sizeof said - n, "%s\n", words);
}

static bool says(const char *words)
{
    said[0] = '\0';
    mt_fleet_say(&fleet, 8, put, NULL);
    if (strstr(said, words) == NULL)
        printf("# not in: %s", said);
    return strstr(said, words) != NULL;
}

static void done(void)
{
    mt_fleet_done(&fleet);
    memset(&fleet, 0, sizeof fleet);
}

/* Half of a job of two stages is no half of outliers; who leaves its own stage is one. */
MT_TEST(stages)
{
    for (int i = 0; i < 8; i++)
        add(i, 0, i < 4 ? 400 : 600);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.outliers.n, 0);
    MT_CHECK_EQ(fleet.n_kinds, 2);
    MT_CHECK_EQ(fleet.groups.n, 2);
    done();
    for (int i = 0; i < 16; i++)
        add(i, 0, i == 9 ? 700 : i < 8 ? 400 : 600);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.outliers.n, 1);
    MT_CHECK_EQ(fleet.rows.p[fleet.outliers.p[0].row].rank, 9);
    MT_CHECK_EQ(fleet.outliers.p[0].more, 10 * (long long)GIB);
    MT_CHECK_EQ(fleet.outliers.p[0].role, 3);
    MT_CHECK_EQ(fleet.outliers.p[0].role_more, 10 * (long long)GIB);
    MT_CHECK(says("10.00 GiB more than the median of those nearest to it"));
    done();
}

/* One stage, one that stands out; a spread without a gap has none. */
MT_TEST(outliers)
{
    for (int i = 0; i < 8; i++)
        add(i, 0, i == 5 ? 500 : 400);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.outliers.n, 1);
    MT_CHECK(says("rank 5 stands out"));
    MT_CHECK(says("more than the median,"));
    done();
    for (int i = 0; i < 64; i++)
        add(i, 0, 400 + (uint64_t)i * 5);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.outliers.n, 0);
    done();
    add(0, 0, 0); /* nothing at all is live */
    for (int i = 1; i < 4; i++)
        add(i, 0, 400);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.outliers.n, 1);
    done();
}

MT_TEST(told)
{
    for (int i = 0; i < 4; i++)
        add(i, 0, 400);
    MT_CHECK(mt_fleet_told(&fleet, 2, 6, "rank 2, device 6") != NULL); /* the node's number */
    MT_CHECK(mt_fleet_told(&fleet, 9, 1, "rank 9, device 1") != NULL);
    MT_CHECK(mt_fleet_told(&fleet, 9, 1, "rank 9, device 1") != NULL);
    MT_CHECK(mt_fleet_told(&fleet, -1, -1, "a.log") != NULL);
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK_EQ(fleet.rows.n, 6);
    MT_CHECK_EQ(fleet.failed.n, 3);
    MT_CHECK(fleet.rows.p[2].failed && fleet.rows.p[2].known && !fleet.rows.p[2].told);
    MT_CHECK(fleet.rows.p[4].rank == 9 && fleet.rows.p[4].told && !fleet.rows.p[4].known);
    MT_CHECK(mt_fleet_check(&fleet));
    MT_CHECK_EQ(fleet.problems.n, 0); /* rank 9 is known by words: 4 to 8 are not missed for it */
    done();
}

MT_TEST(devices)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++)
            add(i, j, i == 3 && j == 1 ? 600 : 400)->failed = i == 3 && j == 1;
    MT_CHECK(mt_fleet_finish(&fleet));
    MT_CHECK(fleet.several && fleet.n_ranks == 8);
    MT_CHECK(says("8 ranks with 16 devices: rank 3, device 1 alone ran out of memory"));
    MT_CHECK(says("Ranks 0-2, 4-7; rank 3, device 0: 40.00 GiB (15)"));
    MT_CHECK(says("\nrank 3, device 1: 60.00 GiB\n"));
    done();
}

/* Two stages of two data parallel pairs: the first stage holds more, and it is activations. */
static void eight(void)
{
    mt_fleet_divide(&fleet, MT_FLEET_TENSOR, 2);
    mt_fleet_divide(&fleet, MT_FLEET_PIPELINE, 2);
    for (int32_t i = 0; i < 8; i++) {
        struct mt_fleet_row *r = add(i, 0, i < 4 ? 700 : 500);
        memset(r->roles, 0, sizeof r->roles);
        r->roles[MT_ROLE_ACTIVATION] = (i < 4 ? 30 : 10) * GIB;
        r->roles[MT_ROLE_PARAM] = 40 * GIB;
    }
}

MT_TEST(layout)
{
    eight();
    MT_CHECK(mt_fleet_finish(&fleet) == 1);
    MT_CHECK(fleet.parts.n == 6);
    MT_CHECK(
        says("By pipeline stage (medians): 0 70.00 GiB, 1 50.00 GiB; 0 holds 20.00 GiB more than "
             "1, most of it activations (20.00 GiB more)."));
    MT_CHECK(says("Alike within 1 % (medians): tensor parallel ranks, data parallel ranks."));
    done();
    /* tensor parallel ranks are neighbours: one of each pair has more */
    mt_fleet_divide(&fleet, MT_FLEET_TENSOR, 2);
    for (int32_t i = 0; i < 8; i++)
        add(i, 0, i % 2 == 0 ? 700 : 500);
    MT_CHECK(mt_fleet_finish(&fleet) == 1);
    MT_CHECK(says("By tensor parallel rank (medians): 0 70.00 GiB, 1 50.00 GiB;"));
    MT_CHECK(says("Alike within 1 % (medians): data parallel ranks."));
    done();
}

/* Where it is not known which rank has which part nothing is said of parts. */
MT_TEST(no_layout)
{
    eight();
    fleet.rows.p[7].rank = 8; /* one is missing */
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.parts.n == 0);
    done();
    eight();
    mt_fleet_divide(&fleet, MT_FLEET_PIPELINE, 4); /* two summaries contradict each other */
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.parts.n == 0);
    done();
    eight();
    mt_fleet_divide(&fleet, MT_FLEET_CONTEXT, 3); /* 12 do not divide 8 */
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.parts.n == 0);
    done();
    eight();
    fleet.rows.p[5].roles[MT_ROLE_KV_CACHE] = GIB; /* an engine's */
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.parts.n == 0);
    done();
    eight();
    fleet.divided[MT_FLEET_TENSOR] = UINT32_MAX;
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.parts.n == 0);
    done();
}

/* Eight ranks of one job; step k ends at 100 s, 103 s ... with a length that varies, on each rank a
 * few ms apart. ahead: of the clock of rank 5; missing: steps that it has not ended yet. */
static int64_t after_ms = 500; /* rank 5 fails so long after rank 2 */
static const char *hosts[8];   /* of the ranks; NULL = not known */
static void trained(int64_t ahead_ms, uint32_t missing, bool steady)
{
    static const uint64_t length_ms[] = {3000, 3400, 2900, 3100, 3700, 3050, 2950, 3300};
    for (int32_t i = 0; i < 8; i++) {
        struct mt_fleet_row *r = add(i, 0, 400);
        int64_t ms = 100000 + i * 3 % 7 + (i == 5 ? ahead_ms : 0);
        for (uint32_t k = 0; k < MT_FLEET_STEPS - (i == 5 ? missing : 0); k++) {
            ms += steady ? 3000 : (int64_t)length_ms[k] + (int64_t)(k * 5 % 3);
            r->steps_ns[r->n_steps++] = (uint64_t)ms * 1000000;
        }
        r->failed = i == 2 || i == 5;
        r->failed_ns = i == 2 ? UINT64_C(126000000000) : 0;
        if (i == 5)
            r->failed_ns = (uint64_t)(126000 + after_ms + ahead_ms) * 1000000;
        if (hosts[i] != NULL)
            r->host = mt_strndup(hosts[i], strlen(hosts[i]));
    }
    MT_CHECK(mt_fleet_finish(&fleet) == 1);
}

MT_TEST(clocks_that_agree)
{
    trained(0, 0, false);
    MT_CHECK_EQ(fleet.n_aligned, 8);
    MT_CHECK(fleet.rows.p[5].ahead_ns == 0 && fleet.rows.p[5].is_aligned);
    MT_CHECK(says("rank 2 ran out of memory first, rank 5 0.5 s later"));
    MT_CHECK(says("by the ends of their steps these agree within 3.7 s, no closer."));
    MT_CHECK(strstr(said, "Clocks:") == NULL);
    done();
    trained(1500, 0, false); /* less than the steps can tell: the order stays that of the clocks */
    MT_CHECK(fleet.rows.p[5].ahead_ns == 0 && fleet.rows.p[5].is_aligned);
    done();
    trained(0, 1, false); /* it is a step behind, not a clock */
    MT_CHECK(fleet.rows.p[5].ahead_ns == 0 && fleet.rows.p[5].is_aligned);
    done();
    trained(0, 1, true);
    MT_CHECK(fleet.rows.p[5].ahead_ns == 0 && fleet.rows.p[5].is_aligned);
    done();
}

/* By its own clock rank 5 was the first to fail, and it was not: that is said where more lies
 * between the two than the clocks are known by, else that nobody knows who was. */
MT_TEST(a_clock_that_is_off)
{
    for (uint32_t missing = 0; missing < 2; missing++) {
        after_ms = 10000;
        trained(-40000, missing, false);
        MT_CHECK_EQ(fleet.n_aligned, 8);
        MT_CHECK(fleet.rows.p[5].ahead_ns < -INT64_C(39900000000) &&
                 fleet.rows.p[5].ahead_ns > -INT64_C(40100000000));
        MT_CHECK(fleet.rows.p[5].clock_within < UINT64_C(3800000000));
        MT_CHECK_EQ(fleet.rows.p[fleet.failed.p[0]].rank, 2);
        MT_CHECK(says("rank 2 ran out of memory first, rank 5 10.0 s later (a clock seems off: by "
                      "the clocks as they are rank 5 was first)"));
        MT_CHECK(says("that of rank 5 is 40.0 s behind the others', give or take 3.7 s, or its "
                      "file is of another run or it did not wait for the others."));
        done();
        for (after_ms = 500; after_ms < 8000; after_ms += 2500) { /* the last one is 5.5 s */
            trained(-40000, missing, false);
            MT_CHECK(says("rank 2 and rank 5 ran out of memory, in what order is not known since "
                          "a clock seems off"));
            MT_CHECK(says(" s after the first, give or take 7.4 s."));
            MT_CHECK(strstr(said, "less than a second apart") == NULL);
            done();
        }
        after_ms = 500;
    }
    after_ms = 10000; /* by either order it is the second: nothing was turned round */
    trained(60000, 0, false);
    MT_CHECK(says("rank 2 ran out of memory first, rank 5 10.0 s later;"));
    done();
    after_ms = 500;
    trained(60000, 0, true);
    MT_CHECK(says("that of rank 5 is 60.0 s ahead of the others', give or take 3.0 s"));
    done();
}

/* Ranks of one host have one clock, whatever their steps are apart by. */
MT_TEST(one_host)
{
    for (int i = 0; i < 8; i++)
        hosts[i] = "node0";
    trained(20000, 0, false); /* rank 5 works for itself, 20 s behind the others */
    MT_CHECK(fleet.n_aligned == 8 && fleet.rows.p[5].is_aligned);
    MT_CHECK(fleet.rows.p[5].ahead_ns == 0 && fleet.rows.p[5].clock_within == 0);
    MT_CHECK(says("rank 2 ran out of memory first, rank 5 20.5 s later;"));
    MT_CHECK(strstr(said, "Clocks:") == NULL);
    done();
    trained(0, 0, false); /* and half a second is half a second */
    MT_CHECK(says("rank 2 ran out of memory first, rank 5 0.5 s later;"));
    MT_CHECK(strstr(said, "less than a second apart") == NULL);
    done();
    memset(hosts, 0, sizeof hosts);
}

/* Two hosts, ranks 0 to 3 and 4 to 7. Of the second one rank alone is apart from the others: not
 * the clock. Nothing is taken off, and what is close is not certain. */
MT_TEST(a_host_that_disagrees_with_itself)
{
    for (int i = 0; i < 8; i++)
        hosts[i] = i < 4 ? "node0" : "node1";
    trained(-20000, 0, false);
    for (int i = 4; i < 8; i++)
        MT_CHECK(!fleet.rows.p[i].is_aligned && fleet.rows.p[i].ahead_ns == 0);
    MT_CHECK_EQ(fleet.rows.p[fleet.failed.p[0]].rank, 5);
    MT_CHECK(says("rank 5 ran out of memory first, rank 2 19.5 s later;"));
    MT_CHECK(strstr(said, "Clocks:") == NULL);
    done();
    memset(hosts, 0, sizeof hosts);
}

/* All ranks of the second host are 40 s apart from the first: its clock is, for the rank without
 * enough steps too, and it is named once. */
MT_TEST(a_host_whose_clock_is_off)
{
    for (int i = 0; i < 8; i++)
        hosts[i] = i < 5 ? "node0" : "node1";
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < 8; i++) {
            struct mt_fleet_row *r = add(i, 0, 400);
            uint64_t off = i < 5 ? 0 : 40;
            r->host = mt_strndup(hosts[i], strlen(hosts[i]));
            for (uint64_t k = 0; k < (i == 7 ? 2 : MT_FLEET_STEPS); k++)
                r->steps_ns[r->n_steps++] = (100 + off + 3 * k + k * k % 2) * SECOND;
            r->failed = i >= 6 || (i == 1 && pass == 0);
            r->failed_ns = r->failed ? (130 + off + 10 * (uint64_t)(i == 1 ? 0 : i - 6)) * SECOND
                                     : 0; /* 1: 130 s; 6: 130 s by the usual clock, 7: 140 s */
        }
        MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.n_aligned == 8);
        for (int i = 0; i < 8; i++)
            MT_CHECK(fleet.rows.p[i].ahead_ns == (i < 5 ? 0 : 40 * (int64_t)SECOND));
        MT_CHECK(says(pass == 0 ? "rank 1 and rank 6 ran out of memory, in what order is not known "
                                  "since a clock seems off, and 1 more"
                                : "rank 6 ran out of memory first, rank 7 10.0 s later;"));
        MT_CHECK(says("that of node1 is 40.0 s ahead of the others', give or take 4.0 s, or what "
                      "ran there is of another run or did not wait for the others."));
        MT_CHECK(strstr(strstr(said, "Clocks:") + 1, "Clocks:") == NULL);
        done();
    }
    memset(hosts, 0, sizeof hosts);
}

/* The first rank is of another day, or does other work: the others are compared all the same. */
MT_TEST(a_first_rank_that_is_alone)
{
    for (int pass = 0; pass < 3; pass++) {
        for (int32_t i = 0; i < 6; i++) {
            struct mt_fleet_row *r = add(i, 0, 400);
            uint64_t begin = 100 + (i == 5 ? 60 : 0), step = 3;
            begin += pass == 0 && i < 1 ? 7200 : pass == 1 && i < 2 ? 7200 : 0; /* two of them */
            step += pass == 2 && i < 1 ? 40 : 0;
            for (uint64_t k = 0; k < MT_FLEET_STEPS; k++)
                r->steps_ns[r->n_steps++] = (begin + step * k) * SECOND;
        }
        MT_CHECK(mt_fleet_finish(&fleet) == 1);
        MT_CHECK_EQ(fleet.n_aligned, pass == 1 ? 4 : 5);
        MT_CHECK(!fleet.rows.p[0].is_aligned && fleet.rows.p[2].is_aligned);
        MT_CHECK(fleet.rows.p[5].ahead_ns == 60 * (int64_t)SECOND);
        done();
    }
}

/* Of clocks that cannot be compared nothing is said: too few steps, steps of other work, of another
 * day. */
MT_TEST(clocks_that_are_not_compared)
{
    trained(-40000, 6, false);
    MT_CHECK(!fleet.rows.p[5].is_aligned && fleet.rows.p[5].ahead_ns == 0);
    MT_CHECK_EQ(fleet.rows.p[fleet.failed.p[0]].rank, 5);
    done();
    trained(86400000, 0, false);
    MT_CHECK(!fleet.rows.p[5].is_aligned && fleet.rows.p[5].ahead_ns == 0);
    done();
    for (int32_t i = 0; i < 3; i++) {
        struct mt_fleet_row *r = add(i, 0, 400);
        for (uint64_t k = 0; k < MT_FLEET_STEPS; k++)
            r->steps_ns[r->n_steps++] = (100 + k * (i == 1 ? 7 : 2)) * UINT64_C(1000000000);
    }
    MT_CHECK(mt_fleet_finish(&fleet) == 1);
    MT_CHECK(!fleet.rows.p[1].is_aligned && fleet.rows.p[0].is_aligned);
    done();
    for (int32_t i = 0; i < 3; i++)
        add(i, 0, 400)->failed_ns = 5;
    MT_CHECK(mt_fleet_finish(&fleet) == 1 && fleet.n_aligned == 0);
    done();
}

/* The order of failures is one of all rows. */
MT_TEST(before)
{
    struct mt_fleet_row a = {.rank = 1, .failed = true}, b = {.rank = 2, .failed = true};
    MT_CHECK(mt_fleet_before(&a, &b) && !mt_fleet_before(&b, &a));
    b.failed_ns = 7;
    MT_CHECK(mt_fleet_before(&b, &a) && !mt_fleet_before(&a, &b));
    a.failed_ns = 7;
    MT_CHECK(mt_fleet_before(&a, &b) && !mt_fleet_before(&b, &a));
    a.failed = false;
    MT_CHECK(mt_fleet_before(&b, &a));
    MT_CHECK(mt_fleet_setting(0, "a", "bc") != mt_fleet_setting(0, "ab", "c"));
}

MT_MAIN(MT_RUN(stages) MT_RUN(outliers) MT_RUN(told) MT_RUN(devices) MT_RUN(layout)
            MT_RUN(no_layout) MT_RUN(clocks_that_agree) MT_RUN(a_clock_that_is_off) MT_RUN(one_host)
                MT_RUN(a_host_that_disagrees_with_itself) MT_RUN(a_host_whose_clock_is_off)
                    MT_RUN(a_first_rank_that_is_alone) MT_RUN(clocks_that_are_not_compared)
                        MT_RUN(before))
