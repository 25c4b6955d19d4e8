/* conf/impl.h -- what the files of this room share. */
#ifndef MT_CONF_IMPL_H
#define MT_CONF_IMPL_H

#include "parser/base/text.h"
#include "parser/conf/conf.h"

struct mt_conf_at {
    const char *source; /* in the arena of the conf */
    uint32_t line;
    enum mt_conf_form form;
    bool is_variable, is_default;
};
/* conf/entries.c. Copies key and value. value NULL = removed. MT_OK or MT_ENOMEM. */
enum mt_rc mt_conf_add(struct mt_config *c, const char *key, size_t n_key, const char *value,
                       size_t n_value, const struct mt_conf_at *at);
const char *mt_conf_source(struct mt_config *c, const char *name); /* NULL when out of memory */

enum mt_rc mt_conf_toml(struct mt_config *c, const char *text, size_t n, const char *source,
                        struct mt_err *err);
enum mt_rc mt_conf_python(struct mt_config *c, const char *text, size_t n, const char *source,
                          struct mt_err *err);
enum mt_rc mt_conf_yaml(struct mt_config *c, const char *text, size_t n, const char *source,
                        struct mt_err *err);
/* prefix: put before every key with a dot, NULL = none. */
enum mt_rc mt_conf_json(struct mt_config *c, const char *text, size_t n, const char *prefix,
                        const struct mt_conf_at *at, struct mt_err *err);

#endif
