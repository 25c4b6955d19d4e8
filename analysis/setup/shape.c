/* setup/shape.c -- keys that no table has, told by the shape of their names. */
#include "analysis/setup/shape.h"
#include "analysis/base/glob.h"

#include <string.h>

bool mt_runconf_countable(const struct mt_conf_entry *e)
{
    const char *value = e->value;
    return !e->is_variable && value != NULL && *value != '\0' &&
           value[strspn(value, "0123456789")] == '\0';
}

/* A key as shapes are written: "--Micro-Batch" is "micro_batch". */
static size_t plain_key(char out[MT_CONF_KEY + 1], const char *key)
{
    size_t n = 0;
    for (; *key != '\0' && n < MT_CONF_KEY; key++)
        out[n++] = *key == '-' ? '_' : (char)(*key >= 'A' && *key <= 'Z' ? *key | 32 : *key);
    out[n] = '\0';
    return n;
}

/* The name itself may hold none of these words, and no place above it may begin with one:
 * "val.batch_size" is as little a batch of training as "val_batch_size" is. */
static bool is_unlike(const struct mt_runconf_setting *s, const char *key, const char *name)
{
    for (const char *const *u = s->unlike; u != NULL && *u != NULL; u++) {
        if (strstr(name, *u) != NULL)
            return true;
        for (const char *at = key; at != NULL && at < name; at = strchr(at, '.')) {
            at += *at == '.';
            if (at < name && strncmp(at, *u, strlen(*u)) == 0)
                return true;
        }
    }
    return false;
}

const struct mt_conf_entry *mt_runconf_shaped(const struct mt_runconf *rc,
                                              const struct mt_runconf_setting *s, const char *shape)
{
    const struct mt_conf_entry *best = NULL;
    uint8_t from = 0;
    bool best_trains = false, several = false;
    for (uint32_t k = 0; k < rc->countable.n; k++) {
        uint32_t i = rc->countable.p[k];
        const struct mt_conf_entry *e = &rc->conf.entries.p[i];
        char key[MT_CONF_KEY + 1], *dot, *name;
        size_t n = plain_key(key, e->key);
        bool trains;
        dot = strrchr(key, '.');
        name = dot != NULL ? dot + 1 : key;
        if (!mt_glob(shape, name, n - (size_t)(name - key)) || is_unlike(s, key, name))
            continue;
        trains = strstr(key, "train") != NULL;
        if (best != NULL && (best_trains > trains || rc->from.p[i] < from))
            continue;
        several = best != NULL && best_trains == trains && rc->from.p[i] == from &&
                  (several || strcmp(best->key, e->key) != 0);
        best = e;
        best_trains = trains;
        from = rc->from.p[i];
    }
    return several ? NULL : best; /* which of them makes the pass, nobody knows */
}
