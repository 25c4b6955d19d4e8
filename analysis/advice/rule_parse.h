/* advice/rule_parse.h -- fields of fix rules. Private to advice/rules.c and advice/rule_*.c. */
#ifndef MT_FIX_PARSE_H
#define MT_FIX_PARSE_H

#include "analysis/advice/rules.h"
#include "analysis/setup/framework_fields.h"

struct mt_expr_list {
    MT_VEC(struct mt_expr *) v;
};
/* Where a change acts and which way its number goes, whatever a program calls it. */
struct mt_fix_lever {
    const char *name;
    struct mt_fix_line line; /* without a key */
};
/* What PyTorch has from a version on; rules/torch.json. */
struct mt_fix_came {
    const char *name, *version;
    uint32_t since; /* as 100 x major + minor */
};
/* What a reader of fix rules is `of`. */
struct mt_fix_parse {
    struct mt_fix_rules *rules;
    struct mt_metric_names *names;
    struct mt_expr_list *exprs;           /* compiled ones, freed with the rules */
    MT_VEC(struct mt_fix_lever) levers;   /* the caller's to give back */
    MT_VEC(struct mt_fix_came) came;      /* the same */
    uint64_t in_file[MT_FIX_CLASS_COUNT]; /* columns of each class that the file being read has */
};

/* Fills *out from one object of "fixes"; what it points to is in the reader's arena. */
enum mt_rc mt_fix_parse_rule(const struct mt_rule_reader *r, const cJSON *obj,
                             struct mt_fix_rule *out);

/* An object of "came", added to those of the reader's mt_fix_parse. */
enum mt_rc mt_fix_add_came(struct mt_rule_reader *r, const cJSON *obj);
/* The oldest PyTorch that has all that the value types; 0 = nothing tells. */
uint32_t mt_fix_since(const struct mt_fix_parse *p, const char *value);

/* An object of "levers", added to the levers of the reader's mt_fix_parse. */
enum mt_rc mt_fix_add_lever(struct mt_rule_reader *r, const cJSON *obj);
/* The same from one object of "programs": a rule of one card, in words of the levers. */
enum mt_rc mt_fix_parse_program(const struct mt_rule_reader *r, const cJSON *obj,
                                struct mt_fix_rule *out);

extern const char *const mt_fix_syntaxes[]; /* enum mt_fix_syntax; NULL ends it */
extern const char *const mt_fix_ways[];     /* enum mt_fix_way; NULL ends it */
MT_RULE_GET(mt_fix_get_classes);            /* uint32_t: a list of phase classes as bits */
MT_RULE_GET(mt_fix_get_expr);               /* struct mt_fix_expr; "" = none */
MT_RULE_GET(mt_fix_get_saving);             /* const struct mt_fix_saving *; null = none */
MT_RULE_GET(mt_fix_get_sources);            /* uint32_t: what bytes are taken from, as bits */
extern const struct mt_rule_rows mt_fix_frame_rows; /* struct mt_fix_pair: file, function */
extern const struct mt_rule_rows mt_fix_line_rows;  /* struct mt_fix_line */

#endif
