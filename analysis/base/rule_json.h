/* rule_json.h -- the rule files that are built into the program, as cJSON's nodes.
 *
 * They are needed at every start, so the build turns them into tables (cmake/rule_tables.c), and a
 * start only links nodes: cJSON itself, which reads the files of users and says where they are
 * wrong, would take forty times as many instructions. The nodes are for the functions of cJSON that
 * only look; `prev` is not set. */
#ifndef MT_RULE_JSON_H
#define MT_RULE_JSON_H

#include "parser/base/err.h"
#include "parser/base/json_text.h"
#include "parser/base/mem.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A node. What is in an object or a list follows it. */
struct mt_rule_row {
    uint32_t name;  /* in mt_rule_text; 0 = it has none */
    uint32_t value; /* a string: in mt_rule_text; a number: in mt_rule_numbers; true, an object or a
                       list that is not empty: 1; else 0 */
    uint32_t next;  /* rows from here to the next one of the same list; 0 = it is the last */
    int32_t type;   /* cJSON's */
};
struct mt_rule_file {
    const char *name; /* path below analysis/rules/: "fixes/verl.json" */
    const struct mt_rule_row *row;
    uint32_t n;
};
/* in byte order of the names; ends with a NULL name */
extern const struct mt_rule_file mt_rule_files[];
extern const double mt_rule_numbers[];
extern const char mt_rule_text[];
extern const uint32_t mt_rule_text_size;

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

/* The nodes of a built-in file, the root first, all of which mt_free(*root) gives back; their
 * strings are the program's own. MT_EINTERN: no such file was built in; MT_ENOMEM. Then *root is
 * NULL. */
enum mt_rc mt_rule_json(const char *name, cJSON **root, struct mt_err *err);

#endif
