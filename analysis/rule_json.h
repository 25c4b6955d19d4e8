/* rule_json.h -- the rule files that are built into the program, as cJSON's nodes.
 *
 * They are read at every start, so in one pass over a copy of the text: strings are unescaped and closed where they stand, and neither a
 * string nor a node is an allocation of its own (cJSON itself takes twenty times as many instructions). The nodes are for the functions of
 * cJSON that only look; `prev` is not set. Files of users are read by cJSON, which says where they are wrong. */
#ifndef MT_RULE_JSON_H
#define MT_RULE_JSON_H

#include "analysis/assets.h"
#include "parser/base/err.h"
#include "parser/base/mem.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

/* Names of fields and ids: most differ in their first two letters. */
static inline bool mt_rule_same(const char *a, const char *b)
{
    return a[0] == b[0] && (a[0] == '\0' || (a[1] == b[1] && strcmp(a, b) == 0));
}
/* The field of an object; NULL = there is none, or obj is NULL. */
static inline const cJSON *mt_rule_field(const cJSON *obj, const char *name)
{
    const cJSON *c = obj != NULL ? obj->child : NULL;
    while (c != NULL && (c->string == NULL || !mt_rule_same(c->string, name)))
        c = c->next;
    return c;
}

struct mt_rule_json {
    const cJSON *root;
    struct mt_arena nodes;
};

/* The built-in file of this name; NULL = there is none. */
const struct mt_asset *mt_rule_asset(const char *name);

/* Reads it. The strings of the nodes lie in `strings` and live as long as that; the nodes until mt_rule_json_done(), which is needed after
 * a failure too. MT_EINTERN: a == NULL (`name` was not built in), or its text is no JSON; MT_ENOMEM. */
enum mt_rc mt_rule_json_read(struct mt_rule_json *j, const struct mt_asset *a, const char *name, struct mt_arena *strings,
                             struct mt_err *err);
void mt_rule_json_done(struct mt_rule_json *j);

#endif
