/* The phase vocabulary and its rule files. */
#include "analysis/base/rule_json.h"
#include "phase_make.h"
#include "frameworks.h"

/* ---- the vocabulary and the rules ---- */

MT_TEST(phase_ids_are_stable)
{
    MT_CHECK_STR(mt_phase_id(MT_PH_ROLLOUT_KV_ALLOC), "rollout.kv_alloc");
    MT_CHECK_STR(mt_phase_words(MT_PH_ROLLOUT_KV_ALLOC), "KV-cache allocation");
    MT_CHECK(mt_phase_is(MT_PH_TRAIN, MT_COARSE) && !mt_phase_is(MT_PH_FORWARD, MT_COARSE) &&
             !mt_phase_is(MT_PH_NONE, MT_COARSE));
    for (int i = 0; i < MT_PH_COUNT; i++)
        MT_CHECK_EQ(
            mt_phase_find(mt_phase_id((enum mt_phase)i), strlen(mt_phase_id((enum mt_phase)i))), i);
    MT_CHECK_EQ(mt_phase_find("train_log_probs", 15), MT_PH_LOGP_OLD);
    MT_CHECK_EQ(mt_phase_find("backward pass", 13), MT_PH_BACKWARD);
    MT_CHECK_EQ(mt_phase_find("train_actors", 12), -1);
    MT_CHECK_EQ(mt_phase_find("train_actor", 5), MT_PH_TRAIN);
    MT_CHECK_STR(mt_conf_name(MT_CONF_CARRIED), "carried");
    MT_CHECK_EQ(sizeof(struct mt_attr), 4);
}

/* Every phase of `all` is of one of `some` too. */
static bool all_are(unsigned all, unsigned some)
{
    for (unsigned p = 0; p < MT_PH_COUNT; p++)
        if (mt_phase_is(p, MT_COARSE) && mt_phase_is(p, all) && !mt_phase_is(p, some))
            return false;
    return true;
}

MT_TEST(kinds_of_phases_agree)
{
    MT_CHECK(all_are(MT_LOGP, MT_SCORES) && all_are(MT_SCORES, MT_FORWARD_ONLY));
    MT_CHECK(all_are(MT_SCORES | MT_TRAINS, MT_NEEDS_NO_ENGINE));
    MT_CHECK(all_are(MT_GENERATES, MT_ROLLS_OUT) && all_are(MT_ROLLS_OUT, MT_OF_ENGINE));
    MT_CHECK(!all_are(MT_OF_ENGINE, MT_ROLLS_OUT) && !all_are(MT_NEEDS_NO_ENGINE, MT_TRAINS));
    for (unsigned p = 0; p < MT_PH_COUNT; p++) {
        const char *id = mt_phase_id((enum mt_phase)p);
        bool coarse = mt_phase_is(p, MT_COARSE);
        MT_CHECK_EQ(mt_phase_is(p, MT_OF_ENGINE), coarse && strncmp(id, "rollout.", 8) == 0);
        MT_CHECK(!mt_phase_is(p, MT_OF_ENGINE) || !mt_phase_is(p, MT_NEEDS_NO_ENGINE));
        MT_CHECK(!mt_phase_is(p, MT_FORWARD_ONLY) || !mt_phase_is(p, MT_TRAINS));
        MT_CHECK(!coarse || !mt_phase_is(p, MT_IN_FORWARD | MT_IN_BACKWARD | MT_IN_OPTIMIZER));
        MT_CHECK(!mt_phase_is(p, MT_IN_LOSS) || mt_phase_is(p, MT_IN_FORWARD));
        MT_CHECK(!mt_phase_is(p, MT_IN_BACKWARD | MT_IN_OPTIMIZER) || mt_phase_is(p, MT_TRAINS));
    }
    MT_CHECK(mt_phase_is(MT_PH_TRAIN_CRITIC, MT_TRAINS) &&
             mt_phase_is(MT_PH_ADV, MT_NEEDS_NO_ENGINE));
    MT_CHECK(!mt_phase_is(MT_PH_COUNT, ~0u) && !mt_phase_is(255, ~0u));
}

/* How many rules analysis/rules/phases.json holds; 0 when it cannot be read. */
static uint32_t rules_in_the_file(void)
{
    unsigned char *text;
    size_t n = 0;
    uint32_t rows;
    cJSON *root;
    text = mt_slurp(MT_SOURCE_DIR "/analysis/rules/phases.json", &n);
    root = cJSON_ParseWithLength((const char *)text, n);
    rows = (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItem(root, "phases"));
    cJSON_Delete(root);
    free(text);
    return rows;
}

MT_TEST(built_in_rules_are_whole)
{
    struct mt_phase_rules *r = NULL;
    uint32_t n, in_file = 0, names = 0, unverified = 0, methods = 0;
    MT_ASSERT(mt_phase_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK);
    n = mt_phase_rules_count(r);
    MT_CHECK(mt_phase_rule_at(r, 0) == NULL);
    MT_CHECK(mt_phase_rule_at(r, n) != NULL);
    MT_CHECK(mt_phase_rule_at(r, n + 1) == NULL);
    for (uint32_t i = 1; i <= n; i++) {
        const struct mt_phase_rule *x = mt_phase_rule_at(r, i);
        in_file += x->level != '*';
        names += x->level == 'N';
        methods += x->level == '*';
        unverified += x->status == 'U' && x->level != '*' && x->level != 'A' && x->level != 'N';
        MT_CHECK(x->source[0] != '\0');
        MT_CHECK((strncmp(x->id, "method.", 7) == 0) == (x->level == '*'));
    }
    MT_CHECK_EQ(in_file, rules_in_the_file());
    MT_CHECK(in_file > 1000);
    MT_CHECK(unverified <= 14); /* written from memory: may only become fewer */
    MT_CHECK(names >= 20);
    MT_CHECK(methods >= 8);
    mt_phase_rules_free(r);
    mt_phase_rules_free(NULL);
}

/* What was from memory or read in part has been read, or seen in a recording, since. TRL takes the
 * log-probs of policy and reference by one function: "logp" is what a frame proves. SGLang's
 * init_cuda_graphs makes buffers for every batch too, and vLLM warms up with trial runs: what
 * captures stands further in. */
static bool is_row(const struct mt_phase_rule *x, const char *phase, const char *function,
                   char status)
{
    bool verified = x->status == status ||
                    ((status == 'U' || status == 'R') && (x->status == 'G' || x->status == 'D'));
    bool both = strcmp(phase, "logp_old") == 0 && strcmp(x->phase, "logp") == 0 &&
                strcmp(x->framework, "trl") == 0 &&
                strcmp(function, "_get_per_token_logps_and_entropies") == 0;
    bool inner =
        strcmp(phase, "rollout.graph") == 0 &&
        ((strcmp(x->phase, "rollout.init") == 0 && strcmp(function, "init_cuda_graphs") == 0) ||
         (strcmp(x->phase, "rollout.profile") == 0 &&
          strcmp(function, "compile_or_warm_up_model") == 0));
    return verified && (both || inner || strcmp(x->phase, phase) == 0) &&
           strcmp(x->function, function) == 0;
}

/* Row by row against the table that the rules were made from, where it is at hand. */
MT_TEST(every_row_of_the_table)
{
    struct mt_phase_rules *r = NULL;
    char path[1200], line[4096];
    FILE *f;
    int rows = 0;
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/../docs/phase-signatures.tsv", mt_shared_data());
    f = fopen(path, "r");
    if (f == NULL)
        MT_SKIP("the table of signatures is not there");
    MT_ASSERT(mt_phase_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK);
    while (fgets(line, sizeof line, f) != NULL) {
        char *col[6], *p = line;
        bool found = false;
        int n = 0;
        if (line[0] == '#' || strncmp(line, "level", 5) == 0)
            continue;
        for (; n < 6; n++) {
            col[n] = p;
            p += strcspn(p, "\t\r\n");
            if (*p != '\0')
                *p++ = '\0';
        }
        for (uint32_t i = 1; i <= mt_phase_rules_count(r) && !found; i++) {
            const struct mt_phase_rule *x = mt_phase_rule_at(r, i);
            found = x->level == col[0][0] && x->file_suffix != NULL &&
                    strcmp(x->file_suffix, col[3]) == 0 && is_row(x, col[1], col[4], col[5][0]);
        }
        if (!found)
            printf("# no rule for %s %s %s %s\n", col[0], col[1], col[3], col[4]);
        MT_CHECK(found);
        rows++;
    }
    MT_CHECK(rows > 600);
    fclose(f);
    mt_phase_rules_free(r);
}

static const char *refusal(const char *overlay)
{
    static struct mt_err err;
    struct mt_phase_rules *r = NULL;
    memset(&err, 0, sizeof err);
    if (mt_phase_rules_load(&r, mt_test_frameworks(), overlay, strlen(overlay), "mine.json",
                            &err) == MT_OK) {
        mt_phase_rules_free(r);
        return "accepted";
    }
    return err.rc == MT_EINPUT && r == NULL ? err.msg : "wrong code";
}

MT_TEST(overlay_errors_name_file_rule_and_field)
{
    MT_CHECK_HAS(refusal("{"), "mine.json: line 1, column 1: not valid JSON");
    MT_CHECK_HAS(refusal("{\"schema_version\":1,\n\"phases\":[}"), "line 2, column 11");
    MT_CHECK_HAS(refusal("{\"schema_version\":1,\"phases\":[]} x"), "column 34: something follows");
    MT_CHECK_HAS(refusal("[]"), "a rule file is an object");
    MT_CHECK_HAS(refusal("{\"phases\":[]}"), "\"schema_version\" has to be 1");
    MT_CHECK_HAS(refusal("{\"schema_version\":2,\"phases\":[]}"), "\"schema_version\" has to be 1");
    MT_CHECK_HAS(refusal("{\"schema_version\":1,\"phase\":[]}"),
                 "unknown or repeated key \"phase\"");
    MT_CHECK_HAS(refusal("{\"schema_version\":1,\"phases\":{}}"), "\"phases\" has to be a list");
    MT_CHECK_HAS(refusal(RULES("7")), "mine.json: phase rule 1: is not an object");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"framework\":\"x\",\"level\":\"C\",\"phase\":"
                               "\"eval\",\"file\":\"a.py\","
                               "\"function\":\"f\",\"status\":\"G\",\"gradients\":\"some\"}")),
                 "field \"gradients\": \"some\" is not one of none, unasked, kept");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"framework\":\"x\",\"level\":\"C\",\"phase\":"
                               "\"eval\",\"file\":\"a.py\","
                               "\"function\":\"f\",\"status\":\"G\",\"gradients\":\"unasked\"}")),
                 "field \"gradients\": is \"unasked\" at level N only");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"framework\":\"x\",\"level\":\"S\",\"phase\":"
                               "\"forward\",\"file\":\"a.py\","
                               "\"function\":\"f\",\"status\":\"G\",\"gradients\":\"none\"}")),
                 "field \"gradients\": has a meaning at level C only");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"framework\":\"x\",\"level\":\"S\",\"phase\":"
                               "\"forward\",\"file\":\"a.py\","
                               "\"function\":\"f\",\"status\":\"G\",\"last_call\":\"g\"}")),
                 "field \"last_call\": has a meaning at level C only");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\"}")),
                 "mine.json: phase rule a: field \"framework\": is missing");
    MT_CHECK_HAS(
        refusal(RULES(RULE("a", "C", "init", "a.py", "f") "," RULE("b", "X", "init", "a.py", "f"))),
        "phase rule b: field \"level\": has to be one of");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "C", "forward", "a.py", "f"))),
                 "field \"phase\": has to be a coarse phase");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "S", "forwards", "a.py", "f"))),
                 "field \"phase\": is no phase");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "W", "init", "a.py", "f"))),
                 "field \"phase\": has to be a sub-phase");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "S", "forward", "/a.py", "f"))),
                 "field \"file\": has to be the end of a path");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "A", "forward", "a.py", "f"))),
                 "field \"file\": has no meaning at level A");
    MT_CHECK_HAS(refusal(RULES(RULE("a b", "S", "forward", "a.py", "f"))),
                 "field \"id\": has to be");
    MT_CHECK_HAS(refusal(RULES(RULE("method.x", "S", "forward", "a.py", "f"))),
                 "kept for what is built in");
    MT_CHECK_HAS(refusal(RULES(RULE("a", "S", "forward", "a.py", "f") "," RULE("a", "S", "forward",
                                                                               "a.py", "g"))),
                 "is there twice");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"id\":\"b\"}")), "field \"id\": is there twice");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"colour\":\"b\"}")),
                 "field \"colour\": is not known");
    MT_CHECK_HAS(refusal(RULES("{\"id\":\"a\",\"level\":3}")),
                 "field \"level\": has to be one of C, P");
    MT_CHECK_STR(refusal("{\"schema_version\":1,\"fixes\":[{}]}"), "accepted");
    MT_CHECK_STR(refusal("\xef\xbb\xbf{\"schema_version\":1,\"phases\":[]}\n"), "accepted");
}

MT_TEST(a_cut_or_flipped_overlay_is_refused_or_read)
{
    static const char whole[] =
        RULES(RULE("a", "C", "init", "a.py", "f") "," RULE("b.c", "S", "loss", "b/c.py", "g"));
    char text[sizeof whole];
    uint64_t held = mt_mem_used();
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        memcpy(text, whole, n);
        text[n] = '\0';
        MT_CHECK(strcmp(refusal(text), "accepted") != 0 &&
                 strcmp(refusal(text), "wrong code") != 0);
    }
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        memcpy(text, whole, sizeof whole);
        text[n] = (char)(text[n] ^ 0x15);
        MT_CHECK(strcmp(refusal(text), "wrong code") != 0);
    }
    MT_CHECK_EQ(mt_mem_used(), held);
}

MT_TEST(too_many_rules_are_refused)
{
    size_t cap = 1 << 20, n = 0;
    char *text = malloc(cap);
    MT_ASSERT(text != NULL);
    n += (size_t)snprintf(text + n, cap - n, "{\"schema_version\":1,\"phases\":[");
    for (int i = 0; i < 4000; i++)
        n += (size_t)snprintf(text + n, cap - n,
                              "%s{\"id\":\"x%d\",\"framework\":\"m\",\"level\":\"S\",\"phase\":"
                              "\"loss\",\"file\":\"a.py\","
                              "\"function\":\"f%d\",\"status\":\"G\"}",
                              i ? "," : "", i, i);
    snprintf(text + n, cap - n, "]}");
    MT_CHECK_HAS(refusal(text), "more than 4095 phase rules");
    free(text);
}

MT_TEST(overlay_replaces_and_adds)
{
    struct made m;
    start(&m);
    m.overlay = RULES(RULE(
        "phase.verl.fsdp_workers.update_actor", "C", "train_critic", "verl/workers/fsdp_workers.py",
        "update_actor") "," RULE("mine.refit", "C", "weight_sync", "site/refit.py",
                                 "go") "," RULE("mine.call", "S", "loss",
                                                "torch/nn/modules/module.py",
                                                "_call_impl") ",{\"id\":\"mine.range\","
                                                              "\"framework\":\"m\",\"level\":\"A\","
                                                              "\"phase\":\"reward\",\"function\":"
                                                              "\"score *\",\"status\":\"G\"}");
    alloc(&m, UPDATE_ACTOR);
    alloc(&m, "C:\\job\\site\\refit.py:go|" MAIN);
    alloc(&m, CALL "|" UPDATE_ACTOR);
    alloc_at(&m, 50, MAIN);
    range(&m, "score 17", 40, 60);
    MT_ASSERT(run(&m, true));
    SAYS(m, 0, "train_critic/- marked phase.verl.fsdp_workers.update_actor");
    SAYS(m, 1, "weight_sync/- marked mine.refit");
    SAYS(m, 2, "train_critic/loss marked mine.call");
    SAYS(m, 3, "reward/- marked mine.range");
    done(&m);
}

static void make_mixed(struct made *m)
{
    start(m);
    range(m, "update_actor", 100, 200);
    range(m, "Optimizer.step#A.step", 110, 120);
    alloc_at(m, 90, CALL "|" MAIN);
    alloc_at(m, 115, MAIN);
    alloc_at(m, 130, ENGINE);
    alloc_at(m, 131, "");
    alloc_at(m, 140, UPDATE_ACTOR);
    if (!mt_build_finish(m->b))
        abort();
}

MT_TEST(every_allocation_may_fail)
{
    struct made m;
    uint64_t n = 1;
    bool whole = false;
    make_mixed(&m);
    m.overlay = RULES(RULE("mine.refit", "C", "weight_sync", "site/refit.py", "go"));
    /* loading takes thousands of calls; the rest is at the end */
    for (; !whole && n < 100000; n += n < 200 ? 1 : 97) {
        struct mt_phase_opts o = {true};
        struct mt_err err = {.rc = MT_OK};
        enum mt_rc rc;
        uint64_t held = mt_mem_used();
        m.rules = NULL;
        m.p = NULL;
        mt_mem_fail_after(n);
        rc = mt_phase_rules_load(&m.rules, mt_test_frameworks(), m.overlay, strlen(m.overlay),
                                 "mine.json", &err);
        if (rc >= 0)
            rc = mt_phaser_new(&m.p, m.rules, m.t, &err);
        if (rc >= 0)
            rc = mt_phaser_run(m.p, 0, &o, m.at, &err);
        mt_mem_fail_after(0);
        whole = rc >= 0;
        if (!whole) {
            MT_CHECK_EQ(rc, MT_ENOMEM);
            MT_CHECK_HAS(err.msg, "out of memory");
        }
        mt_phaser_free(m.p);
        mt_phase_rules_free(m.rules);
        MT_CHECK_EQ(mt_mem_used(), held);
    }
    MT_CHECK(whole);
    m.rules = NULL;
    MT_ASSERT(mt_phase_rules_load(&m.rules, mt_test_frameworks(), NULL, 0, NULL, NULL) == MT_OK);
    whole = false;
    for (n = 1; !whole && n < 1000; n++) { /* all of the part behind loading */
        struct mt_phase_opts o = {true};
        m.p = NULL;
        mt_mem_fail_after(n);
        whole = mt_phaser_new(&m.p, m.rules, m.t, NULL) >= 0 &&
                mt_phaser_run(m.p, 0, &o, m.at, NULL) >= 0;
        mt_mem_fail_after(0);
        if (!whole)
            mt_phaser_free(m.p);
    }
    MT_CHECK(whole && n > 5);
    done(&m);
}

MT_MAIN(MT_RUN(phase_ids_are_stable) MT_RUN(kinds_of_phases_agree) MT_RUN(built_in_rules_are_whole)
            MT_RUN(every_row_of_the_table) MT_RUN(overlay_errors_name_file_rule_and_field)
                MT_RUN(a_cut_or_flipped_overlay_is_refused_or_read)
                    MT_RUN(too_many_rules_are_refused) MT_RUN(overlay_replaces_and_adds)
                        MT_RUN(every_allocation_may_fail))
