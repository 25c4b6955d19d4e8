/* Verdicts against tables written independently of this code: tests/golden/verdicts.tsv for public
 * snapshots (skipped where they are absent) and samples/verdicts.tsv for the project's own samples.
 */
#include "load.h"
#include "mt_test.h"

enum { COLUMNS = 11 };

static unsigned split(char *line, char **col)
{
    unsigned n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *p = line; n < COLUMNS; p++) {
        col[n++] = p;
        p += strcspn(p, "\t");
        if (*p == '\0')
            break;
        *p = '\0';
    }
    return n;
}

/* Several ranks in one input: the row names a device of one of them, by rank. */
static void check_row(const struct mt_rules *rules, const char *dir, char **col)
{
    struct mt_input_opts opts = {.limits = MT_LIMITS_DEFAULT};
    struct mt_input *in = NULL;
    struct mt_trace *t = NULL;
    char path[1400], *inside;
    bool found = false;
    snprintf(path, sizeof path, "%s/%s", dir, col[0]);
    inside = strstr(path, ".tar.gz/");
    if (inside != NULL) /* a row of an archive names the member; the rank tells which one it is */
        inside[7] = '\0';
    printf("# %s device %s rank %s\n", col[0], col[2], col[3]);
    MT_ASSERT(mt_input_open(&in, path, &opts, NULL) == MT_OK);
    while (mt_input_next(in, &t, NULL) >= 0 && t != NULL) {
        struct mt_analysis *a = mt_analyze_all(t, rules, false);
        MT_CHECK(a != NULL);
        if (a != NULL &&
            (strcmp(col[3], "-") == 0 ? t->meta.rank < 0 : t->meta.rank == atoi(col[3]))) {
            for (uint32_t i = 0; i < a->devices.n; i++) {
                const struct mt_device_analysis *d = &a->devices.p[i];
                const struct mt_verdict *v = &a->verdict;
                if (d->kind != MT_DEV_CUDA || d->ordinal != atoi(col[2]) || v->device != i)
                    continue;
                found = true;
                MT_CHECK_STR(mt_verdict_kind_name(v->kind), col[1]);
                MT_CHECK_EQ(d->live_peak, atoll(col[4]));
                MT_CHECK_STR(mt_phase_id(v->phase), col[5]);
                MT_CHECK_STR(mt_phase_id(v->sub), col[6]);
                MT_CHECK_STR(d->owners.n ? d->owners.p[0].label : "-", col[7]);
                MT_CHECK_EQ(d->owners.n ? d->owners.p[0].bytes : 0, atoll(col[8]));
                MT_CHECK_EQ(d->n_events, atoll(col[9]));
                MT_CHECK_EQ(d->peak_event, atoll(col[10]));
                MT_CHECK_EQ(v->event, d->ooms.n != 0 ? (int64_t)d->ooms.p[0].event
                                      : v->kind == MT_V_PEAK && d->withheld == NULL ? atoll(col[10])
                                                                                    : MT_NO_LINK);
            }
        }
        mt_analysis_free(a);
        mt_trace_free(t);
        t = NULL;
    }
    mt_input_close(in);
    MT_CHECK(found);
}

static void check_table(const char *table, const char *dir, int at_least)
{
    char line[4096], *col[COLUMNS];
    struct mt_rules rules;
    FILE *f = fopen(table, "r");
    int rows = 0;
    MT_ASSERT(f != NULL);
    MT_ASSERT(mt_load_rules(&rules));
    MT_ASSERT(fgets(line, sizeof line, f) != NULL); /* the head */
    while (fgets(line, sizeof line, f) != NULL) {
        if (line[0] == '#' || split(line, col) < COLUMNS)
            continue;
        check_row(&rules, dir, col);
        rows++;
    }
    MT_CHECK(rows >= at_least);
    fclose(f);
    mt_rules_done(&rules);
}

MT_TEST(public_snapshots)
{
    char dir[1100];
    MT_REQUIRE_SHARED();
    snprintf(dir, sizeof dir, "%s/torch", mt_shared_data());
    check_table(MT_SAMPLES "/../tests/golden/verdicts.tsv", dir, 20);
}

MT_TEST(own_samples) { check_table(MT_SAMPLES "/verdicts.tsv", MT_SAMPLES, 5); }

MT_MAIN(MT_RUN(public_snapshots) MT_RUN(own_samples))
