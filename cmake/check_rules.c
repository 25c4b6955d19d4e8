/* check_rules.c -- runs while memtrace is built, right after analysis/ was linked: check_rules
 * OUT.c has the real loaders read every built-in rule, so that a wrong one ends the build and not
 * each command, and writes what they made as an image (rule_image.h), so that no command reads them
 * again. */
#include "analysis/base/rule_json.h"
#include "analysis/ledger/driver.h"
#include "analysis/run/lint.h"
#include "analysis/run/rules.h"
#include "analysis/setup/cards.h"
#include "analysis/setup/found.h"
#include "cmake/rule_image.h"
#include "cli/redact/impl.h"

#include <stdio.h>

/* lint.json asks for frameworks and engines by their ids; a condition on an unknown id would never
 * hold, and nobody would be told. */
static enum mt_rc known_ids(const cJSON *node, const struct mt_framework_rules *fw,
                            struct mt_err *err)
{
    const cJSON *c;
    enum mt_rc rc = MT_OK;
    cJSON_ArrayForEach(c, node)
    {
        bool id = c->string != NULL && cJSON_IsString(c) &&
                  (strcmp(c->string, "framework") == 0 || strcmp(c->string, "engine") == 0);
        if (id && mt_framework_find(fw, c->valuestring) < 0)
            rc = mt_fail(err, MT_EINTERN, "lint.json: %s: %s is no id of frameworks.json",
                         c->string, c->valuestring);
        if (rc == MT_OK)
            rc = known_ids(c, fw, err);
        if (rc != MT_OK)
            break;
    }
    return rc;
}

/* A name of two cards would be the first one's, and nobody would be told. */
static enum mt_rc check_cards(struct mt_err *err)
{
    struct mt_cards cards = {0};
    enum mt_rc rc = mt_cards_load(&cards, NULL, 0, NULL, err);
    for (uint32_t i = 0; rc == MT_OK && i < cards.rows.n; i++) {
        const struct mt_card *c = &cards.rows.p[i];
        bool own = mt_cards_find(&cards, c->name) == c;
        for (const char *const *also = c->also; own && *also != NULL; also++)
            own = mt_cards_find(&cards, *also) == c;
        if (!own)
            rc = mt_fail(err, MT_EINTERN, "cards.json: a name of %s stands twice", c->name);
    }
    mt_cards_done(&cards);
    return rc;
}

/* What has no place in the image is checked alone. */
static enum mt_rc check_others(const struct mt_rules *rules, struct mt_err *err)
{
    struct mt_runconf *conf = NULL;
    struct mt_found found = {.rules = NULL};
    struct mt_lint *lint = NULL;
    struct mt_lint_in in = {0};
    struct mt_red_words words = {0};
    cJSON *root = NULL;
    enum mt_rc rc = mt_runconf_new(&conf, rules->frameworks, err);
    if (rc == MT_OK)
        rc = mt_found_init(&found, rules->frameworks, err);
    in.conf = conf;
    in.fixes = rules->fixes;
    if (rc == MT_OK)
        rc = mt_lint_make(&lint, &in, err);
    if (rc == MT_OK)
        rc = mt_lib_rules_check(NULL, 0, NULL, err);
    if (rc == MT_OK)
        rc = check_cards(err);
    if (rc == MT_OK)
        rc = mt_redact_words_load(&words, err);
    if (rc == MT_OK)
        rc = mt_rule_json("lint.json", &root, err);
    if (rc == MT_OK)
        rc = known_ids(root, rules->frameworks, err);
    mt_free(root);
    mt_free(words.slot);
    mt_lint_free(lint);
    mt_found_done(&found);
    mt_runconf_free(conf);
    return rc;
}

/* Into a region of its own; *out is the first that lies there. */
static enum mt_rc load(int region, struct mt_rules **out, struct mt_err *err)
{
    enum mt_rc rc;
    if (!rule_image_begin(region) || (*out = mt_calloc(1, sizeof **out)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    rc = mt_rules_read(*out, NULL, 0, NULL, err);
    return rc == MT_OK ? mt_fix_rules_check((*out)->fixes, err) : rc;
}

int main(int argc, char **argv)
{
    struct mt_err err = {.rc = MT_OK};
    struct mt_rules *rules[2];
    enum mt_rc rc = load(0, &rules[0], &err);
    if (rc == MT_OK)
        rc = check_others(rules[0], &err);
    /* once more, for that left things behind; what is wrong leaves no file */
    if (rc == MT_OK)
        rc = load(0, &rules[0], &err);
    if (rc == MT_OK)
        rc = load(1, &rules[1], &err);
    if (rc == MT_OK && argc > 1 &&
        !rule_image_write(argv[1], rule_image_can() ? (const void *const *)rules : NULL))
        return 1;
    if (rc != MT_OK)
        fprintf(stderr, "analysis/rules: %s\n", err.msg);
    return rc == MT_OK ? 0 : 1;
}
