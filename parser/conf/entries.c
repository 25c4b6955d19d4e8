/* conf/entries.c -- the list of settings: what is added, and what it may hold. */
#include "parser/conf/impl.h"

#include <string.h>

static enum mt_rc push(struct mt_config *c, const char *key, size_t n_key, const char *value,
                       size_t n_value, const struct mt_conf_at *at)
{
    /* nothing that a run was given can hold one */
    const char *nul = n_value != 0 ? memchr(value, '\0', n_value) : NULL;
    struct mt_conf_entry *e;
    if (c->entries.n >= MT_CONF_ENTRIES || n_key == 0 || n_key > MT_CONF_KEY ||
        c->n_bytes > MT_CONF_BYTES || memchr(key, '\0', n_key) != NULL) {
        c->n_dropped++;
        return MT_OK;
    }
    if (nul != NULL || n_value > MT_CONF_VALUE) {
        n_value = nul != NULL && (size_t)(nul - value) < MT_CONF_VALUE ? (size_t)(nul - value)
                                                                       : MT_CONF_VALUE;
        c->n_cut++;
    }
    c->n_bytes += n_key + n_value;
    e = MT_VEC_PUSH(&c->entries);
    if (e == NULL)
        return MT_ENOMEM;
    e->key = mt_arena_strndup(&c->strings, key, n_key);
    e->value = value != NULL ? mt_arena_strndup(&c->strings, value, n_value) : NULL;
    e->source = at->source;
    e->line = at->line;
    e->form = (uint8_t)at->form;
    e->is_variable = at->is_variable;
    e->is_default = at->is_default;
    e->is_name = at->is_name;
    if (e->key == NULL || (value != NULL && e->value == NULL)) {
        c->entries.n--;
        return MT_ENOMEM;
    }
    return MT_OK;
}

static bool is_env_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(s[i] >= 'A' && s[i] <= 'Z') && s[i] != '_' && (i == 0 || s[i] < '0' || s[i] > '9'))
            return false;
    return n > 1;
}

/* "expandable_segments:True,max_split_size_mb:128": each part is a setting of its own. */
static enum mt_rc add_parts(struct mt_config *c, const char *name, size_t n_name, const char *value,
                            size_t n_value, const struct mt_conf_at *at)
{
    size_t i = 0;
    while (i < n_value) {
        size_t end = i, colon = SIZE_MAX;
        struct mt_text key = {.max = MT_CONF_KEY};
        enum mt_rc rc;
        int depth = 0;
        for (; end < n_value && (value[end] != ',' || depth > 0); end++) {
            depth += (value[end] == '[') - (value[end] == ']');
            if (value[end] == ':' && colon == SIZE_MAX)
                colon = end;
        }
        if (colon != SIZE_MAX) {
            size_t from = i;
            while (from < colon && value[from] == ' ')
                from++;
            mt_text_add(&key, name, n_name);
            mt_text_add(&key, ".", 1);
            mt_text_add(&key, value + from, colon - from);
            rc = key.failed ? MT_ENOMEM
                            : push(c, key.p, key.n, value + colon + 1, end - colon - 1, at);
            mt_text_done(&key);
            if (rc != MT_OK)
                return rc;
        }
        i = end + 1;
    }
    return MT_OK;
}

static enum mt_rc add_env(struct mt_config *c, const char *name, size_t n, const char *value,
                          size_t n_value, struct mt_conf_at at)
{
    static const char end[] = "ALLOC_CONF";
    enum mt_rc rc;
    at.form = MT_CONF_ENV;
    rc = push(c, name, n, value, n_value, &at);
    if (rc == MT_OK && value != NULL && n > sizeof end - 1 &&
        memcmp(name + n - (sizeof end - 1), end, sizeof end - 1) == 0)
        rc = add_parts(c, name, n, value, n_value, &at);
    return rc;
}

enum mt_rc mt_conf_add(struct mt_config *c, const char *key, size_t n_key, const char *value,
                       size_t n_value, const struct mt_conf_at *at)
{
    static const char env[] = "env_vars.";
    size_t k = sizeof env - 1;
    enum mt_rc rc;
    if (at->form == MT_CONF_ENV)
        return add_env(c, key, n_key, value, n_value, *at);
    rc = push(c, key, n_key, value, n_value, at);
    /* The environment that Ray is told to give its workers. */
    for (size_t i = 0; rc == MT_OK && i + k < n_key; i++)
        if (memcmp(key + i, env, k) == 0 && is_env_name(key + i + k, n_key - i - k))
            return add_env(c, key + i + k, n_key - i - k, value, n_value, *at);
    return rc;
}

const char *mt_conf_source(struct mt_config *c, const char *name)
{
    return mt_arena_strndup(&c->strings, name, strlen(name));
}

static enum mt_rc no_memory(struct mt_err *err) { return mt_fail(err, MT_ENOMEM, "out of memory"); }

enum mt_rc mt_conf_env(struct mt_config *c, const char *name, const char *value, const char *source,
                       struct mt_err *err)
{
    struct mt_conf_at at = {.source = mt_conf_source(c, source), .form = MT_CONF_ENV};
    if (at.source == NULL || mt_conf_add(c, name, strlen(name), value, strlen(value), &at) != MT_OK)
        return no_memory(err);
    return MT_OK;
}

enum mt_rc mt_conf_allocator(struct mt_config *c, const char *key, const char *value,
                             const char *source, struct mt_err *err)
{
    struct mt_conf_at at = {.source = mt_conf_source(c, source), .form = MT_CONF_ALLOCATOR};
    struct mt_text t = {.max = MT_CONF_KEY};
    enum mt_rc rc;
    mt_text_add(&t, "allocator.", 10);
    mt_text_add(&t, key, strlen(key));
    rc = at.source == NULL || t.failed ? MT_ENOMEM
                                       : mt_conf_add(c, t.p, t.n, value, strlen(value), &at);
    mt_text_done(&t);
    return rc == MT_OK ? MT_OK : no_memory(err);
}

enum mt_rc mt_conf_start(struct mt_config *c, const char *name, size_t n)
{
    const char **slot, *copy;
    if (c->started.n >= MT_CONF_STARTED || n == 0 || n > MT_CONF_KEY || c->n_bytes > MT_CONF_BYTES)
        return MT_OK;
    c->n_bytes += n;
    copy = mt_arena_strndup(&c->strings, name, n);
    slot = copy != NULL ? MT_VEC_PUSH(&c->started) : NULL;
    if (slot == NULL)
        return MT_ENOMEM;
    *slot = copy;
    return MT_OK;
}

void mt_conf_done(struct mt_config *c)
{
    mt_arena_done(&c->strings);
    MT_VEC_DONE(&c->started);
    MT_VEC_DONE(&c->entries);
    memset(c, 0, sizeof *c);
}
