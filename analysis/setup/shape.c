/* setup/shape.c -- keys that no table has, told by the shape of their names. */
#include "analysis/setup/shape.h"
#include "analysis/base/glob.h"
#include "parser/base/text.h"

#include <string.h>

static bool is_number(const char *value)
{
    return value != NULL && *value != '\0' && value[strspn(value, "0123456789")] == '\0';
}

/* What is none may be a path or a count as well. */
static bool is_switch(const char *value)
{
    static const char *const nones[] = {"null", "none", "~", NULL};
    for (const char *const *w = nones; *w != NULL; w++)
        if (value == NULL || mt_same_word(value, *w))
            return false;
    return mt_runconf_is_true(value) || mt_runconf_is_false(value);
}

bool mt_runconf_countable(const struct mt_conf_entry *e)
{
    return !e->is_variable && (is_number(e->value) || is_switch(e->value));
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

bool mt_runconf_has_shape(const struct mt_runconf_setting *s, const char *shape, const char *key)
{
    char plain[MT_CONF_KEY + 1], *dot, *name;
    size_t n = plain_key(plain, key);
    dot = strrchr(plain, '.');
    name = dot != NULL ? dot + 1 : plain;
    return mt_glob(shape, name, n - (size_t)(name - plain)) && !is_unlike(s, plain, name);
}

/* "llm_args.minibatch_size" of a file, and "minibatch_size" in words: one of the two ends the
 * other, and the value is the same. */
static bool is_same(const struct mt_conf_entry *a, const struct mt_conf_entry *b)
{
    size_t n = strlen(a->key), k = strlen(b->key);
    const struct mt_conf_entry *longer = n >= k ? a : b, *other = n >= k ? b : a;
    size_t rest = n >= k ? n - k : k - n;
    return strcmp(longer->key + rest, other->key) == 0 &&
           (rest == 0 || (longer->key[rest - 1] == '.' && strcmp(a->value, b->value) == 0));
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
        char key[MT_CONF_KEY + 1];
        bool trains;
        if (!(s->is_switch ? is_switch(e->value) : is_number(e->value)) ||
            !mt_runconf_has_shape(s, shape, e->key))
            continue;
        (void)plain_key(key, e->key);
        trains = strstr(key, "train") != NULL;
        if (best != NULL && (best_trains > trains || rc->from.p[i] < from))
            continue;
        several = best != NULL && best_trains == trains && rc->from.p[i] == from &&
                  (several || !is_same(best, e));
        best = e;
        best_trains = trains;
        from = rc->from.p[i];
    }
    return several ? NULL : best; /* which of them makes the pass, nobody knows */
}

static bool is_word(const char *const *words, const char *s, size_t n)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == n && strncmp(*words, s, n) == 0)
            return true;
    return false;
}

enum { OF_NOBODY, OF_ANOTHER, OF_TRAINED };

/* Whose setting a name is by the words before it, n bytes with the "_" behind them. */
static int whose(const char *prefix, size_t n)
{
    static const char *const none[] = {"eval", "val",       "valid",   "validation", "test",
                                       "ref",  "reference", "teacher", NULL},
                             *const trained[] = {"actor", "policy", "generator", "student",
                                                 "model", "train",  "use",       "enable",
                                                 "do",    "with",   "training",  NULL};
    int of = OF_TRAINED;
    for (size_t at = 0; at < n;) {
        size_t k = 0;
        while (prefix[at + k] != '_')
            k++;
        if (is_word(none, prefix + at, k))
            return OF_NOBODY;
        if (!is_word(trained, prefix + at, k))
            of = OF_ANOTHER; /* critic_, vit_, no_: another model's, or its opposite */
        at += k + 1;
    }
    return of;
}

bool mt_runconf_prefixed(const struct mt_runconf *rc, const char *key,
                         const struct mt_conf_entry **out)
{
    char name[MT_CONF_KEY + 1], own[MT_CONF_KEY + 1];
    size_t k = plain_key(own, strncmp(key, "--", 2) == 0 ? key + 2 : key);
    bool any = false, differ = false;
    *out = NULL;
    if (strchr(own, '_') == NULL || strpbrk(own, ".*") != NULL)
        return false; /* "offload" ends many a name that means something else */
    for (uint32_t i = 0; i < rc->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &rc->conf.entries.p[i];
        size_t n = plain_key(name, strncmp(e->key, "--", 2) == 0 ? e->key + 2 : e->key);
        int of;
        if (n <= k + 1 || name[n - k - 1] != '_' || strcmp(name + n - k, own) != 0 ||
            strchr(name, '.') != NULL || e->is_variable ||
            !(mt_runconf_is_true(e->value) || mt_runconf_is_false(e->value)))
            continue;
        of = whose(name, n - k);
        any |= of != OF_NOBODY;
        if (of != OF_TRAINED)
            continue;
        differ |= *out != NULL && mt_runconf_is_true((*out)->value) != mt_runconf_is_true(e->value);
        *out = e;
    }
    *out = differ ? NULL : *out;
    return any;
}
