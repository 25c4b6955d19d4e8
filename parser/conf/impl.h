/* conf/impl.h -- what the files of this room share. */
#ifndef MT_CONF_IMPL_H
#define MT_CONF_IMPL_H

#include "parser/base/text.h"
#include "parser/conf/conf.h"

struct mt_conf_at {
    const char *source; /* in the arena of the conf */
    uint32_t line;
    enum mt_conf_form form;
    bool is_variable, is_default, is_name;
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

/* conf/script.c: of a shell script. "--flag value \\" and nothing behind it. */
bool mt_conf_script_goes_on(const char *text, size_t n);
/* The line of a list, "ARGS=(" alone, that the text ends inside of; 0 = there is none. */
unsigned long mt_conf_script_open_list(const char *text, size_t n);
/* Whether there are words that are not read: behind them a quote that seems open may be closed. */
bool mt_conf_script_has_more(const char *text, size_t n);

/* conf/arith.c: what stands between "$((" and "))": whole numbers, names, + - * / % and
 * parentheses. value_of: the text of a variable, NULL = not known. False: another form, a name
 * that is not known or is no number, a division by 0, or out of range. */
enum { MT_CONF_ARITH_MAX = 24 };
bool mt_conf_arith(const char *s, size_t n,
                   const char *(*value_of)(const void *arg, const char *name, size_t n),
                   const void *arg, char out[MT_CONF_ARITH_MAX]);

/* conf/container.c: the words of "docker run" up to its image. */
struct mt_conf_container {
    bool is_open;     /* behind "run", and no image yet */
    bool wants_value; /* the option before has one */
    bool is_variable; /* and that is "NAME=value" of the environment */
};
enum mt_conf_container_part { MT_CONTAINER_OPTION, MT_CONTAINER_VARIABLE, MT_CONTAINER_IMAGE };
/* The word s behind the word `before` begins one. */
bool mt_conf_container_begins(const struct mt_text *before, const char *s, size_t n);
/* What the next word is; the image closes c. *value: where a variable's "NAME=value" begins. */
enum mt_conf_container_part mt_conf_container_word(struct mt_conf_container *c, const char *s,
                                                   size_t n, size_t *value);
/* Bytes of an image's name without its tag. */
size_t mt_conf_container_name(const char *s, size_t n);

#endif
