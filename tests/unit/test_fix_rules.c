/* Fix rules: the data is complete and well-formed, and loading is strict. */
#include "analysis/advice/rules.h"
#include "analysis/setup/framework.h"
#include "parser/base/mem.h"
#include "tests/unit/mt_test.h"
#include "frameworks.h"

static struct mt_fix_rules *load(void)
{
    struct mt_fix_rules *r = NULL;
    struct mt_err err = {0};
    enum mt_rc rc = mt_fix_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, &err);
    MT_CHECK_EQ(rc, MT_OK);
    if (rc != MT_OK)
        printf("# %s\n", err.msg);
    return r;
}

static bool holds(const char *text, const char *word) { return strstr(text, word) != NULL; }

/* ---- the data ---- */

MT_TEST(every_rule_is_there_once)
{
    const struct {
        char letter;
        int n;
    } set[] = {{'V', 48}, {'A', 30}, {'X', 24}, {'B', 40}};
    struct mt_fix_rules *r = load();
    MT_ASSERT(r != NULL);
    for (size_t s = 0; s < sizeof set / sizeof set[0]; s++) {
        for (int i = 1; i <= set[s].n; i++) {
            char id[16];
            int found = 0;
            snprintf(id, sizeof id, "%c%02d", set[s].letter, i);
            for (uint32_t k = 0; k < mt_fix_rules_count(r); k++)
                found += strcmp(mt_fix_rule_at(r, k)->id, id) == 0;
            if (found != 1)
                printf("# rule %s\n", id);
            MT_CHECK_EQ(found, 1);
        }
    }
    MT_CHECK(mt_fix_rule_find(r, "V99") == NULL);
    MT_CHECK(mt_fix_rule_at(r, mt_fix_rules_count(r)) == NULL);
    mt_fix_rules_free(r);
}

/* Names of this project's own papers, unfinished work, and figures that nobody computed have no
 * place on a card. */
static void check_text(const char *id, const char *text)
{
    static const char *const words[] = {"seed", "Seed",        "TODO",   "FIXME",
                                        "XXX",  "from memory", "http://"};
    static const char *const units[] = {" GiB", " GB",  " MiB",
                                        " MB",  "GiB ", "bytes per parameter"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (holds(text, words[i]))
            MT_FAIL_AT("rule %s: \"%s\" holds \"%s\"", id, text, words[i]);
        mt_n_checks++;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const char *at = strstr(text, units[i]);
        if (at != NULL && at > text && at[-1] >= '0' && at[-1] <= '9')
            MT_FAIL_AT("rule %s: \"%s\" gives a number of bytes", id, text);
        mt_n_checks++;
    }
}

static void check_card(const struct mt_fix_rule *rule, const struct mt_fix_card *c)
{
    MT_CHECK(c->title[0] != 0 && c->why[0] != 0 && c->cost[0] != 0 && c->constraints[0] != 0);
    check_text(rule->id, c->title);
    check_text(rule->id, c->why);
    check_text(rule->id, c->cost);
    check_text(rule->id, c->constraints);
    MT_CHECK(c->n_set <= MT_FIX_MAX_LINES);
    for (uint32_t i = 0; i < c->n_set; i++) {
        const struct mt_fix_line *l = &c->set[i];
        MT_CHECK(l->text[0] != 0);
        check_text(rule->id, l->text);
        check_text(rule->id, l->note);
        if (l->syntax == MT_FIX_HYDRA || l->syntax == MT_FIX_ENV)
            MT_CHECK_HAS(l->text, "=");
        if (l->syntax == MT_FIX_YAML)
            MT_CHECK_HAS(l->text, ": ");
        if (l->syntax == MT_FIX_FLAG)
            MT_CHECK(strncmp(l->text, "--", 2) == 0);
        if ((l->phases & ~rule->phases) == l->phases && l->phases != 0)
            MT_FAIL_AT("rule %s: line \"%s\" can never be shown", rule->id, l->text);
    }
}

MT_TEST(every_rule_is_complete)
{
    struct mt_fix_rules *r = load();
    bool seen[32] = {false};
    MT_ASSERT(r != NULL);
    for (uint32_t k = 0; k < mt_fix_rules_count(r); k++) {
        const struct mt_fix_rule *rule = mt_fix_rule_at(r, k);
        MT_CHECK(rule->source[0] != 0 && rule->phases != 0 && rule->frameworks != 0);
        MT_CHECK(strncmp(rule->file, "fixes/", 6) == 0 ||
                 strcmp(rule->file, "programs/programs.json") == 0);
        check_text(rule->id, rule->source);
        check_text(rule->id, rule->checked);
        check_text(rule->id, rule->instead);
        check_card(rule, &rule->card);
        for (uint32_t i = 0; i < rule->n_variants; i++)
            check_card(rule, &rule->variants[i]);
        MT_CHECK_EQ(rule->offered, rule->not_offered[0] == 0);
        if (rule->status == MT_FIX_WRONG || rule->status == MT_FIX_NOOP) {
            MT_CHECK(!rule->offered);
            MT_CHECK(rule->n_replaced_by > 0);
        }
        if (!rule->offered)
            MT_CHECK(rule->instead[0] != 0 && rule->not_offered[0] != 0);
        for (uint32_t i = 0; i < rule->n_replaced_by; i++)
            MT_CHECK(mt_fix_rule_find(r, rule->replaced_by[i])->offered);
        for (uint32_t i = 0; i < rule->n_contradictions; i++) {
            int c = atoi(rule->contradictions[i].a + 1);
            MT_ASSERT(rule->contradictions[i].a[0] == 'C' && c >= 1 && c <= 31);
            seen[c] = true;
            MT_CHECK(rule->contradictions[i].b[0] != 0);
            check_text(rule->id, rule->contradictions[i].b);
        }
    }
    for (int c = 1; c <= 31; c++)
        MT_CHECK(seen[c]); /* every disagreement between the documents is told somewhere */
    mt_fix_rules_free(r);
}

MT_TEST(known_wrong_rules_are_withheld)
{
    static const char *const wrong[] = {"V18", "V21", "V43", "V44", "A28"};
    struct mt_fix_rules *r = load();
    int n = 0;
    MT_ASSERT(r != NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct mt_fix_rule *rule = mt_fix_rule_find(r, wrong[i]);
        MT_ASSERT(rule != NULL);
        MT_CHECK(!rule->offered);
    }
    for (uint32_t k = 0; k < mt_fix_rules_count(r); k++) {
        enum mt_fix_status s = mt_fix_rule_at(r, k)->status;
        n += s == MT_FIX_WRONG || s == MT_FIX_NOOP;
    }
    MT_CHECK_EQ(n, 5);
    mt_fix_rules_free(r);
}

MT_TEST(names_and_words)
{
    char buf[64], small[8];
    struct mt_fix_rules *r = load();
    MT_ASSERT(r != NULL);
    MT_CHECK_STR(mt_fix_class_id(MT_FIX_ROLLOUT_KV_ALLOC), "rollout_kv_alloc");
    MT_CHECK_STR(mt_fix_class_id(MT_FIX_CLASS_COUNT), "unknown");
    MT_CHECK_STR(mt_fix_class_words(MT_FIX_SWITCH), "switching between training and rollout");
    MT_CHECK_STR(mt_fix_kind_name(MT_FIX_RECORD), "capture");
    MT_CHECK_STR(mt_fix_status_name(MT_FIX_NOOP), "NOOP");
    MT_CHECK_STR(mt_fix_syntax_name(MT_FIX_TEXT), "text");
    MT_CHECK_EQ(mt_fix_rules_frameworks(r) == mt_test_frameworks(), true);
    mt_framework_mask_words(mt_test_frameworks(), MT_FW_BIT(FW(pytorch)) | MT_FW_BIT(FW(liger)),
                            buf, sizeof buf);
    MT_CHECK_STR(buf, "PyTorch, Liger");
    mt_framework_mask_words(mt_test_frameworks(), MT_FW_BIT(FW(pytorch)) | MT_FW_BIT(FW(liger)),
                            small, sizeof small);
    MT_CHECK_STR(small, "PyTorch");
    /* one of each way to write a line */
    MT_CHECK_STR(mt_fix_rule_find(r, "V02")->card.set[0].text,
                 "actor_rollout_ref.rollout.enforce_eager=True");
    MT_CHECK_STR(mt_fix_rule_find(r, "A11")->card.set[0].text,
                 "actor.gradient_checkpointing: true");
    MT_CHECK_STR(mt_fix_rule_find(r, "X09")->card.set[0].text, "--max-tokens-per-gpu 8192");
    MT_CHECK_STR(mt_fix_rule_find(r, "X15")->card.set[0].text, "--recompute-loss-function");
    MT_CHECK_STR(mt_fix_rule_find(r, "B01")->card.set[0].text,
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    MT_CHECK_STR(mt_fix_rule_find(r, "B04")->card.set[0].text, "torch.cuda.empty_cache()");
    mt_fix_rules_free(r);
}

/* The research table behind the rules: id, framework, title, phases, setting, reference,
 * constraint, verification, evidence. */
MT_TEST(agrees_with_the_table)
{
    char path[1100], *text, *line, *next;
    struct mt_fix_rules *r;
    size_t n = 0;
    int rows = 0;
    MT_REQUIRE_SHARED();
    snprintf(path, sizeof path, "%s/../docs/fix-rules.tsv", mt_shared_data());
    text = (char *)mt_slurp(path, &n);
    if (text == NULL)
        MT_SKIP("fix-rules.tsv is not there");
    r = load();
    for (line = text; line != NULL && *line != 0 && r != NULL; line = next) {
        char *col[9], *p = line, *fw;
        const struct mt_fix_rule *rule;
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = 0;
        for (int i = 0; i < 9; i++) {
            col[i] = p;
            p = strchr(p, '\t');
            if (p == NULL)
                p = col[i] + strlen(col[i]);
            else
                *p++ = 0;
        }
        if (strcmp(col[0], "id") == 0)
            continue;
        rows++;
        rule = mt_fix_rule_find(r, col[0]);
        MT_CHECK(rule != NULL);
        if (rule == NULL)
            continue;
        for (fw = strtok(col[1], "/"); fw != NULL; fw = strtok(NULL, "/")) {
            char id[32];
            size_t k = 0;
            int f;
            for (const char *c = fw; *c != 0 && k < sizeof id - 1; c++) {
                if (*c != '-')
                    id[k++] = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
            }
            id[k] = 0;
            f = mt_framework_find(mt_test_frameworks(), id);
            if ((rule->frameworks & MT_FW_BIT(f >= 0 ? f : FW(all))) == 0) /* NCCL: any job's */
                MT_FAIL_AT("rule %s is not for %s", col[0], fw);
            mt_n_checks++;
        }
        if (col[7][0] >= 'A' && col[7][0] <= 'Z' &&
            strncmp(col[7], mt_fix_status_name(rule->status),
                    strlen(mt_fix_status_name(rule->status))) != 0)
            MT_FAIL_AT("rule %s: status %s, the table says %.12s", col[0],
                       mt_fix_status_name(rule->status), col[7]);
    }
    MT_CHECK(rows > 140);
    mt_fix_rules_free(r);
    free(text);
}

/* ---- loading ---- */

#define GOOD                                                                                       \
    "\"id\":\"Z1\",\"framework\":[\"verl\"],\"kind\":\"setting\",\"phases\":[\"optimizer\"],"      \
    "\"title\":\"t\",\"why\":\"w\","                                                               \
    "\"set\":[{\"syntax\":\"hydra\",\"key\":\"k\",\"value\":\"v\"}],\"constraints\":\"none\","     \
    "\"cost\":\"none\","                                                                           \
    "\"source\":\"s\",\"status\":\"OK\""

static enum mt_rc load_overlay(struct mt_fix_rules **r, const char *body, struct mt_err *err)
{
    char text[2048];
    int n =
        snprintf(text, sizeof text, "{\"schema_version\":1,\"phases\":[],\"fixes\":[{%s}]}", body);
    *r = NULL;
    memset(err, 0, sizeof *err);
    return mt_fix_rules_load(r, mt_test_frameworks(), text, (size_t)n, "mine.json", err);
}

MT_TEST(overlay_appends_and_replaces)
{
    struct mt_fix_rules *r = load();
    struct mt_err err;
    uint32_t n = r != NULL ? mt_fix_rules_count(r) : 0, n_steps;
    const struct mt_fix_rule *rule;
    mt_fix_rules_free(r);

    MT_CHECK_EQ(load_overlay(&r, GOOD, &err), MT_OK);
    MT_ASSERT(r != NULL);
    MT_CHECK_EQ(mt_fix_rules_count(r), n + 1);
    MT_CHECK_STR(mt_fix_rule_at(r, n)->id, "Z1");
    MT_CHECK_STR(mt_fix_rule_at(r, n)->file, "mine.json");
    mt_fix_rules_free(r);

    /* V24 keeps its place in the list and in the order of the optimizer row */
    MT_CHECK_EQ(
        load_overlay(
            &r,
            "\"id\":\"V24\",\"framework\":[\"verl\"],\"kind\":\"setting\",\"phases\":["
            "\"optimizer\"],"
            "\"title\":\"ours\",\"why\":\"w\",\"set\":[{\"syntax\":\"flag\",\"key\":\"--x\","
            "\"value\":\"\"}],"
            "\"constraints\":\"none\",\"cost\":\"none\",\"source\":\"s\",\"status\":\"DOC\"",
            &err),
        MT_OK);
    MT_ASSERT(r != NULL);
    MT_CHECK_EQ(mt_fix_rules_count(r), n);
    rule = mt_fix_rule_find(r, "V24");
    MT_CHECK_STR(rule->card.title, "ours");
    MT_CHECK_STR(rule->file, "mine.json");
    MT_CHECK_STR(mt_fix_order(r, MT_FIX_OPTIMIZER, FW(verl), &n_steps)[0].card->title, "ours");
    mt_fix_rules_free(r);

    /* A replacement that gave up its variants and most phases is used with its own card, and only
     * where it still belongs. */
    MT_CHECK_EQ(
        load_overlay(&r,
                     "\"id\":\"V01\",\"framework\":[\"verl\"],\"kind\":\"setting\",\"phases\":["
                     "\"rollout_run\"],\"title\":\"own\",\"why\":\"w\",\"set\":[{\"syntax\":"
                     "\"flag\",\"key\":\"--x\",\"value\":\"\"}],\"constraints\":\"none\",\"cost\":"
                     "\"none\",\"source\":\"s\",\"status\":\"DOC\"",
                     &err),
        MT_OK);
    MT_ASSERT(r != NULL);
    MT_CHECK_STR(mt_fix_order(r, MT_FIX_ROLLOUT_RUN, FW(verl), &n_steps)[0].card->title, "own");
    MT_CHECK_STR(
        mt_fix_rule_at(r, mt_fix_order(r, MT_FIX_ROLLOUT_KV_ALLOC, FW(verl), &n_steps)[0].rule)->id,
        "V34");
    mt_fix_rules_free(r);
}

MT_TEST(overlay_errors_name_file_rule_and_field)
{
    static const struct {
        const char *body, *needle;
    } bad[] = {
        {"\"framework\":[\"verl\"]", "mine.json: rule 1: field \"id\": is missing"},
        {"\"id\":\"a b\"", "field \"id\": letters"},
        {"\"id\":7", "field \"id\": has to be a text"},
        {GOOD ",\"sett\":[]",
         "mine.json: rule Z1: field \"sett\": is not known; there are id, framework"},
        {GOOD ",\"title\":\"again\"", "rule Z1: field \"title\": is there twice"},
        {"\"id\":\"Z1\",\"kind\":\"tip\"", "rule Z1: field \"framework\": is missing"},
        {"\"id\":\"Z1\",\"framework\":[\"verl\"],\"kind\":\"tip\",\"phases\":[]",
         "field \"phases\": is empty"},
        {"\"id\":\"Z1\",\"framework\":[\"vrel\"]",
         "field \"framework\": \"vrel\" is not a framework"},
        {"\"id\":\"Z1\",\"framework\":\"verl\"", "field \"framework\": has to be a list"},
        {"\"id\":\"Z1\",\"framework\":[3]", "field \"framework\": has to be the id of a framework"},
        {"\"id\":\"Z1\",\"framework\":[\"verl\"],\"kind\":\"must\"",
         "field \"kind\": \"must\" is not one of setting, tip"},
        {"\"id\":\"Z1\",\"framework\":[\"verl\"],\"kind\":\"tip\",\"phases\":[\"rollout\\u001b\"]",
         "\"rollout\\x1b\" is not a phase class"},
        {GOOD ",\"checked\":\"a\\nb\"", "field \"checked\": has a control character"},
        {GOOD ",\"instead_of\":[\"V999\"]", "rule Z1: field \"instead_of\": there is no rule V999"},
        {GOOD ",\"replaced_by\":[\"V998\"]",
         "rule Z1: field \"replaced_by\": there is no rule V998"},
        {GOOD ",\"not_offered\":\"because\"", "field \"instead\": is missing"},
        {GOOD ",\"unless_setting\":[{\"key\":\"a\"}]", "rule Z1: field \"value\": is missing"},
        {GOOD ",\"unless_setting\":[7]", "rule Z1: is not an object"},
        {GOOD ",\"variants\":[{\"title\":\"up\"}]", "field \"name\": is missing"},
        {GOOD ",\"variants\":[{\"name\":\"up\",\"set\":[{\"syntax\":\"text\",\"key\":\"\","
              "\"value\":\"v\",\"caution\":{"
              "\"text\":\"mind\"}}]}]",
         "field \"when\": is missing"},
        {GOOD ",\"variants\":[{\"name\":\"up\",\"set\":[{\"syntax\":\"text\",\"key\":\"\","
              "\"value\":\"v\",\"caution\":{"
              "\"when\":\"live > 0\"}}]}]",
         "field \"text\": is missing"},
        {GOOD "},{" GOOD, "rule Z1: field \"id\": stands twice"},
        {GOOD "},3,{", "mine.json: rule 2: is not an object"},
        {GOOD "]}", "mine.json: line 1, column "},
    };
    struct mt_fix_rules *r;
    struct mt_err err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (i + 1 < sizeof bad / sizeof bad[0])
            MT_CHECK_EQ(load_overlay(&r, bad[i].body, &err), MT_EINPUT);
        else
            MT_CHECK(load_overlay(&r, bad[i].body, &err) == MT_EINPUT ||
                     holds(err.msg, "follows the end"));
        MT_CHECK(r == NULL);
        if (i + 1 < sizeof bad / sizeof bad[0])
            MT_CHECK_HAS(err.msg, bad[i].needle);
    }
}

/* One field of a good rule exchanged for a bad one. */
MT_TEST(overlay_field_errors)
{
    static const struct {
        const char *from, *to, *needle;
    } swap[] = {
        {"\"why\":\"w\"", "\"why\":\"\"", "field \"why\": is empty"},
        {"\"why\":\"w\",", "", "field \"why\": is missing"},
        {"\"cost\":\"none\"", "\"cost\":null", "field \"cost\": has to be a text"},
        {"\"status\":\"OK\"", "\"status\":\"FINE\"", "\"FINE\" is not one of OK, MOVED"},
        {"\"status\":\"OK\"", "\"status\":\"WRONG\"", "field \"not_offered\": is missing"},
        {"\"hydra\"", "\"toml\"", "field \"syntax\": \"toml\" is not one of"},
        {"\"hydra\"", "\"flag\"", "field \"key\": a flag begins with --"},
        {"\"key\":\"k\"", "\"key\":\"\"", "field \"key\": is empty"},
        {"\"value\":\"v\"", "\"value\":\"\"", "field \"value\": is empty"},
        {"\"value\":\"v\"", "\"value\":\"v\",\"roles\":[\"boss\"]", "field \"roles\": \"boss\""},
        {"\"set\":[{\"syntax\":\"hydra\",\"key\":\"k\",\"value\":\"v\"}]", "\"set\":[]",
         "field \"set\": is empty"},
        {"\"set\":[{\"syntax\":\"hydra\",\"key\":\"k\",\"value\":\"v\"}]", "\"set\":{}",
         "field \"set\": has to be a list"},
    };
    struct mt_fix_rules *r;
    struct mt_err err;
    for (size_t i = 0; i < sizeof swap / sizeof swap[0]; i++) {
        char body[1024];
        const char *at = strstr(GOOD, swap[i].from);
        MT_ASSERT(at != NULL);
        snprintf(body, sizeof body, "%.*s%s%s", (int)(at - GOOD), GOOD, swap[i].to,
                 at + strlen(swap[i].from));
        MT_CHECK_EQ(load_overlay(&r, body, &err), MT_EINPUT);
        MT_CHECK(r == NULL);
        MT_CHECK_HAS(err.msg, swap[i].needle);
        MT_CHECK_HAS(err.msg, "mine.json: rule Z1");
    }
}

MT_TEST(overlay_file_errors)
{
    static const struct {
        const char *text, *needle;
    } bad[] = {
        {"", "not valid JSON"},
        {"[]", "a rule file is an object"},
        {"{}", "schema_version"},
        {"{\"schema_version\":2}", "\"schema_version\" has to be 1"},
        {"{\"schema_version\":1,\"rules\":[]}", "unknown or repeated key \"rules\""},
        {"{\"schema_version\":1,\"fixes\":{}}", "\"fixes\" has to be a list"},
        {"{\"schema_version\":1} trailing", "something follows"},
    };
    struct mt_fix_rules *r = NULL;
    struct mt_err err;
    char *big;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memset(&err, 0, sizeof err);
        MT_CHECK_EQ(mt_fix_rules_load(&r, mt_test_frameworks(), bad[i].text, strlen(bad[i].text),
                                      "mine.json", &err),
                    MT_EINPUT);
        MT_CHECK_HAS(err.msg, bad[i].needle);
        MT_CHECK_HAS(err.msg, "mine.json");
    }
    MT_CHECK_EQ(mt_fix_rules_load(&r, mt_test_frameworks(), "{\"schema_version\":1}\0x", 22,
                                  "mine.json", &err),
                MT_EINPUT);
    MT_CHECK_HAS(err.msg, "NUL");
    MT_CHECK_EQ(mt_fix_rules_load(&r, mt_test_frameworks(), "{\"schema_version\":1}\n ", 22,
                                  "mine.json", &err),
                MT_OK);
    mt_fix_rules_free(r);
    big = calloc(9, 1 << 20);
    MT_ASSERT(big != NULL);
    MT_CHECK_EQ(
        mt_fix_rules_load(&r, mt_test_frameworks(), big, (size_t)9 << 20, "mine.json", &err),
        MT_ELIMIT);
    free(big);
}

/* Every byte of an overlay changed and every length cut: a rule set or a message, never a crash or
 * a leak. */
MT_TEST(damaged_overlays)
{
    char text[1024], copy[1024];
    int n = snprintf(text, sizeof text, "{\"schema_version\":1,\"fixes\":[{%s}]}", GOOD);
    uint64_t used = mt_mem_used();
    for (int i = 0; i < n * 2; i++) {
        struct mt_fix_rules *r = NULL;
        struct mt_err err = {0};
        enum mt_rc rc;
        memcpy(copy, text, sizeof copy);
        if (i < n)
            copy[i] = (char)(copy[i] ^ 1 << i % 7);
        rc = mt_fix_rules_load(&r, mt_test_frameworks(), copy, (size_t)(i < n ? n : i - n),
                               "mine.json", &err);
        MT_CHECK(rc == MT_OK ? r != NULL : rc == MT_EINPUT && err.msg[0] != 0 && r == NULL);
        mt_fix_rules_free(r);
    }
    MT_CHECK_EQ(mt_mem_used(), used);
}

MT_TEST(memory_failures)
{
    uint64_t used = mt_mem_used(), before = mt_mem_calls(), total;
    mt_fix_rules_free(load());
    total = mt_mem_calls() - before;
    MT_CHECK(total > 100);
    for (uint64_t i = 1; i <= total; i += i < 60 ? 1 : total / 120) {
        struct mt_fix_rules *r = NULL;
        struct mt_err err = {0};
        mt_mem_fail_after(i);
        MT_CHECK_EQ(mt_fix_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, &err), MT_ENOMEM);
        mt_mem_fail_after(0);
        MT_CHECK(r == NULL);
        MT_CHECK_EQ(mt_mem_used(), used);
    }
}

MT_MAIN(MT_RUN(every_rule_is_there_once) MT_RUN(every_rule_is_complete)
            MT_RUN(known_wrong_rules_are_withheld) MT_RUN(names_and_words)
                MT_RUN(agrees_with_the_table) MT_RUN(overlay_appends_and_replaces)
                    MT_RUN(overlay_errors_name_file_rule_and_field) MT_RUN(overlay_field_errors)
                        MT_RUN(overlay_file_errors) MT_RUN(damaged_overlays)
                            MT_RUN(memory_failures))
