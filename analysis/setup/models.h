/* setup/models.h -- well-known models by their names: the rows of rules/models.json and of an
 * overlay. A row holds what the model's config.json says, so that a run which names its model tells
 * the model's shape; docs/rules.md has how a name is compared. */
#ifndef MT_SETUP_MODELS_H
#define MT_SETUP_MODELS_H

#include "analysis/base/rule_read.h"

struct mt_model_fact {
    const char *key, *value; /* as in a config.json; value is text */
};
struct mt_model_name {
    const char *name;
    uint32_t row;
};
struct mt_model_row {
    const char *id, *source;
    uint32_t first, n; /* in facts */
};
/* Zeroed is empty. Texts are in the arena of the reader, or built in. */
struct mt_models {
    MT_VEC(struct mt_model_row) rows;
    MT_VEC(struct mt_model_name) names;
    MT_VEC(struct mt_model_fact) facts;
    MT_VEC(const char *) unlike; /* patterns of name parts: such a model has another shape */
};
/* Reads the built-in rows and those of the overlay of r->fw. is_key: whether a fact may have that
 * name. MT_OK or an error in r->err; mt_models_done() frees in both cases. */
enum mt_rc mt_models_read(struct mt_models *m, struct mt_rule_reader *r,
                          bool (*is_key)(void *arg, const char *key), void *arg);
void mt_models_done(struct mt_models *m);

/* The index in names of the model that a path or an id of a hub names ("/ckpt/Qwen2.5-7B-sft"); -1
 * = none, or several. Only whole parts of a name count, and a size or a word that makes it another
 * model ("-Distill-3B") takes the name away. */
int mt_models_find(const struct mt_models *m, const char *path);
/* What the model with that name has for a key of a config.json; NULL = nothing. */
const char *mt_models_fact(const struct mt_models *m, int name, const char *key);

#endif
