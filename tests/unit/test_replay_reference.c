/* The replay against the recorded figures of the real snapshots: every number of every row. */
#include "load.h"
#include "mt_test.h"

#include <cjson/cJSON.h>

static long long num(const cJSON *row, const char *key)
{
    return (long long)cJSON_GetObjectItem(row, key)->valuedouble;
}

static void compare(const struct mt_analysis *a, int ordinal, const cJSON *row)
{
    const struct mt_device_analysis *d = NULL;
    for (uint32_t i = 0; i < a->devices.n; i++)
        if (a->devices.p[i].ordinal == ordinal && a->devices.p[i].kind == MT_DEV_CUDA)
            d = &a->devices.p[i];
    MT_ASSERT(d != NULL);
    MT_CHECK(d->withheld == NULL);
    MT_CHECK_EQ(d->n_events, num(row, "events"));
    MT_CHECK_EQ(d->reserved_start, num(row, "reserved_init"));
    MT_CHECK_EQ(d->reserved_peak, num(row, "reserved_peak"));
    MT_CHECK_EQ(d->reserved_end, num(row, "reserved_end"));
    MT_CHECK_EQ(d->live_start, num(row, "active_req_init"));
    MT_CHECK_EQ(d->live_peak, num(row, "active_req_peak"));
    MT_CHECK_EQ(d->peak_event, num(row, "active_req_peak_event"));
    MT_CHECK_EQ(d->live_end, num(row, "active_req_end"));
    MT_CHECK_EQ(d->pending_end, num(row, "pending_free_req_end"));
}

MT_TEST(every_row)
{
    char path[1200];
    size_t n = 0;
    unsigned char *text;
    cJSON *ref, *row;
    struct mt_rules rules;
    int rows = 0;
    MT_REQUIRE_SHARED();
    MT_ASSERT(mt_load_rules(&rules));
    snprintf(path, sizeof path, "%s/torch/replay_reference.json", mt_shared_data());
    text = mt_slurp(path, &n);
    MT_ASSERT(text != NULL);
    ref = cJSON_Parse((const char *)text);
    MT_ASSERT(ref != NULL);
    cJSON_ArrayForEach(row, ref)
    {
        char name[256];
        const char *hash = strrchr(row->string, '#');
        enum mt_rc rc;
        struct mt_trace *t;
        struct mt_analysis *a;
        snprintf(name, sizeof name, "%.*s", (int)(hash - row->string), row->string);
        snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), name);
        printf("# %s\n", row->string);
        t = mt_load(path, &rc);
        MT_CHECK_EQ(rc, MT_OK);
        if (t == NULL)
            continue;
        a = mt_analyze_all(t, &rules, false);
        MT_CHECK(a != NULL);
        if (a != NULL)
            compare(a, atoi(hash + 1), row);
        mt_analysis_free(a);
        mt_trace_free(t);
        rows++;
    }
    MT_CHECK(rows >= 13);
    cJSON_Delete(ref);
    free(text);
    mt_rules_done(&rules);
}

/* PyTorch's own annotations as ground truth: inside Optimizer.step every allocation is the
 * optimizer's, outside none is. */
MT_TEST(optimizer_annotations)
{
    static const char *const files[] = {"cs336_bcrafton_user_metadata.pickle",
                                        "cs336_wedson_1024_training.pickle",
                                        "cs336_wedson_512_training.pickle"};
    struct mt_rules rules;
    MT_REQUIRE_SHARED();
    MT_ASSERT(mt_load_rules(&rules));
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[1200];
        enum mt_rc rc;
        struct mt_trace *t;
        struct mt_phaser *ph = NULL;
        struct mt_phase_opts po = {.use_annotations = false};
        struct mt_attr *attr;
        const struct mt_device *d;
        uint64_t inside = 0, right = 0, wrong = 0;
        snprintf(path, sizeof path, "%s/torch/%s", mt_shared_data(), files[f]);
        t = mt_load(path, &rc);
        MT_ASSERT(t != NULL);
        d = &t->devices.p[0];
        attr = malloc((size_t)d->events.n * sizeof *attr);
        MT_ASSERT(mt_phaser_new(&ph, rules.phases, t, NULL) == MT_OK);
        MT_ASSERT(attr != NULL && mt_phaser_run(ph, 0, &po, attr, NULL) == MT_OK);
        for (uint64_t i = 0; i < d->events.n; i++) {
            const struct mt_event *e = mt_event_at(d, i);
            bool in = false,
                 is = attr[i].sub == MT_PH_OPTIMIZER || attr[i].sub == MT_PH_OPTIM_STATE_INIT;
            if (e->action != MT_ACT_ALLOC)
                continue;
            for (uint32_t r = 0; r < t->ranges.n; r++)
                in |= strncmp(mt_str(t, t->ranges.p[r].name), "Optimizer.step#", 15) == 0 &&
                      t->ranges.p[r].t0_ns <= mt_event_ns(d, i) &&
                      mt_event_ns(d, i) <= t->ranges.p[r].t1_ns;
            inside += in;
            right += in && is;
            wrong += !in && is;
        }
        printf("# %s: %llu allocations inside Optimizer.step\n", files[f],
               (unsigned long long)inside);
        MT_CHECK(inside > 1000);
        MT_CHECK_EQ(right, inside);
        MT_CHECK_EQ(wrong, 0);
        free(attr);
        mt_phaser_free(ph);
        mt_trace_free(t);
    }
    mt_rules_done(&rules);
}

MT_MAIN(MT_RUN(every_row) MT_RUN(optimizer_annotations))
