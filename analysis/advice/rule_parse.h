/* advice/rule_parse.h -- JSON text to fix rules. Private to advice/rules.c and advice/rule_*.c. */
#ifndef MT_FIX_PARSE_H
#define MT_FIX_PARSE_H

#include "analysis/advice/rules.h"
#include "analysis/base/rule_json.h"

struct mt_fix_parse {
    struct mt_arena *arena; /* everything a rule points to */
    const char *file;       /* for messages; lives as long as the rules */
    const char *where;      /* "rule V01", "entry 3" */
    struct mt_err *err;
    const struct mt_framework_rules *fw;
    struct mt_metric_names *names;
    struct mt_expr_list *exprs; /* compiled ones, freed with the rules */
    bool lasting;               /* the strings of the nodes live as long as the rules */
};
struct mt_expr_list {
    MT_VEC(struct mt_expr *) v;
};

/* Checks that it is an object with schema_version 1 and only the keys of `known` (NULL-terminated).
 */
enum mt_rc mt_fix_check_file(const struct mt_fix_parse *p, const cJSON *root,
                             const char *const *known);

/* Text of a node that lives as long as the rules; NULL when out of memory. */
const char *mt_fix_keep(const struct mt_fix_parse *p, const cJSON *string);

/* Fills *out from one object of "fixes"; strings are copied to the arena. */
enum mt_rc mt_fix_parse_rule(struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_rule *r);

/* Refuses fields that are not in `known` and fields that stand twice. */
enum mt_rc mt_fix_check_fields(const struct mt_fix_parse *p, const cJSON *obj,
                               const char *const *known);

/* advice/rule_saving.c: `field` as an expression, "" or absent = none; the object "saving", null or
 * absent = none (*out is NULL then). */
enum mt_rc mt_fix_parse_expr(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                             struct mt_fix_expr *out);
enum mt_rc mt_fix_parse_saving(const struct mt_fix_parse *p, const cJSON *obj,
                               const struct mt_fix_saving **out);
enum mt_rc mt_fix_nomem(const struct mt_fix_parse *p);

/* "file: where: field "f": ..." */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum mt_rc
mt_fix_bad(const struct mt_fix_parse *p, const char *field, const char *fmt, ...);

/* ---- advice/rule_fields.c: what the files that read rules share ---- */

enum mt_fix_need { MT_FIX_REQUIRED, MT_FIX_MAY_BE_EMPTY, MT_FIX_OPTIONAL };
typedef uint64_t (*mt_fix_bit)(const char *s); /* 0 = no such name */
uint64_t mt_fix_class_bit(const char *s);

/* The text at `field`; what is absent and optional leaves *out alone. */
enum mt_rc mt_fix_get_text(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           enum mt_fix_need need, const char **out);
/* A list of names as bits; `what` is said of a name that is none. */
enum mt_rc mt_fix_get_mask(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           bool required, mt_fix_bit bit, const char *what, uint64_t *out);
/* A framework of that id as a bit; MT_EINPUT lists which there are. */
enum mt_rc mt_fix_framework(const struct mt_fix_parse *p, const char *id, const char *field,
                            uint64_t *bit);
/* A list of frameworks as bits. */
enum mt_rc mt_fix_get_frameworks(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                                 bool required, uint64_t *out);
/* The list at `field`; *out NULL where it is absent and optional. */
enum mt_rc mt_fix_get_list(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           bool required, const cJSON **out, uint32_t *n);
/* A list of plain texts; absent leaves *out alone. */
enum mt_rc mt_fix_get_texts(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                            const char *const **out, uint32_t *n);
/* The index in `words`, which end with NULL. */
enum mt_rc mt_fix_get_word(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                           const char *const *words, int *out);
/* A list of {a, b}; b may be left out when `b_optional`. */
enum mt_rc mt_fix_get_pairs(const struct mt_fix_parse *p, const cJSON *obj, const char *field,
                            const char *a, const char *b, bool b_optional,
                            const struct mt_fix_pair **out, uint32_t *n);
/* advice/rule_line.c */
enum mt_rc mt_fix_parse_line(const struct mt_fix_parse *p, const cJSON *obj, struct mt_fix_line *l);

#endif
