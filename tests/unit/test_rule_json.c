/* The rule files that are built in are, node by node, what cJSON reads in them. */
#include "analysis/base/rule_json.h"
#include "tests/unit/mt_test.h"

#include <stdio.h>
#include <stdlib.h>

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same(const cJSON *a, const cJSON *b)
{
    if ((a->type & 0xff) != (b->type & 0xff) || a->valueint != b->valueint ||
        a->valuedouble != b->valuedouble)
        return false;
    if (!same_text(a->string, b->string) || !same_text(a->valuestring, b->valuestring))
        return false;
    for (a = a->child, b = b->child; a != NULL && b != NULL; a = a->next, b = b->next)
        if (!same(a, b))
            return false;
    return a == b;
}

/* The readers of rules look for them in overlays only. */
static bool has_control_character(const cJSON *v)
{
    for (const char *s = v->valuestring; s != NULL && *s != '\0'; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return true;
    for (const cJSON *c = v->child; c != NULL; c = c->next)
        if (has_control_character(c))
            return true;
    return false;
}

static cJSON *read_by_cjson(const char *name)
{
    char path[4096];
    unsigned char *text;
    size_t n = 0;
    cJSON *root;
    snprintf(path, sizeof path, "%s/analysis/rules/%s", MT_SOURCE_DIR, name);
    text = mt_slurp(path, &n);
    root = cJSON_ParseWithLength((const char *)text, n);
    free(text);
    return root;
}

MT_TEST(every_built_in_file_is_what_cjson_reads)
{
    unsigned n = 0;
    for (const struct mt_rule_file *f = mt_rule_files; f->name != NULL; f++, n++) {
        struct mt_err err = {0};
        cJSON *ours, *theirs = read_by_cjson(f->name);
        MT_CHECK_EQ(mt_rule_json(f->name, &ours, &err), MT_OK);
        MT_ASSERT(ours != NULL && theirs != NULL);
        MT_CHECK(same(ours, theirs));
        MT_CHECK(!has_control_character(ours));
        MT_CHECK(n == 0 || strcmp(f[-1].name, f->name) < 0);
        cJSON_Delete(theirs);
        mt_free(ours);
    }
    MT_CHECK(n >= 10);
}

MT_TEST(fields_are_found_by_their_whole_names)
{
    struct mt_err err = {0};
    cJSON *root;
    MT_ASSERT(mt_rule_json("phases.json", &root, &err) == MT_OK);
    MT_CHECK(cJSON_IsArray(mt_rule_field(root, "phases")));
    MT_CHECK(mt_rule_field(root, "phase") == NULL && mt_rule_field(root, "phasesx") == NULL &&
             mt_rule_field(root, "") == NULL);
    MT_CHECK(mt_rule_field(NULL, "phases") == NULL);
    mt_free(root);
}

MT_TEST(a_file_that_is_not_there_and_memory_that_is_not)
{
    struct mt_err err = {0};
    cJSON *root;
    MT_CHECK_EQ(mt_rule_json("phases", &root, &err), MT_EINTERN);
    MT_CHECK(root == NULL);
    MT_CHECK_STR(err.msg, "phases was not built into this program");
    mt_mem_fail_after(1);
    MT_CHECK_EQ(mt_rule_json("phases.json", &root, &err), MT_ENOMEM);
    mt_mem_fail_after(0);
    MT_CHECK(root == NULL);
}

MT_MAIN(MT_RUN(every_built_in_file_is_what_cjson_reads)
            MT_RUN(fields_are_found_by_their_whole_names)
                MT_RUN(a_file_that_is_not_there_and_memory_that_is_not))
