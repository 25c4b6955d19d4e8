/* conf/json.c -- a JSON object to dotted keys. */
#include "parser/base/json_text.h"
#include "parser/conf/impl.h"

#include <cjson/cJSON.h>
#include <string.h>

struct walk {
    struct mt_config *c;
    const struct mt_conf_at *at;
    char path[MT_CONF_KEY + 1];
};

/* A value that is no container, as text. */
static int add_scalar(struct walk *w, size_t n_path, const cJSON *v)
{
    const char *s = cJSON_IsString(v)  ? v->valuestring
                    : cJSON_IsTrue(v)  ? "true"
                    : cJSON_IsFalse(v) ? "false"
                                       : "null";
    char *made = cJSON_IsNumber(v) ? cJSON_PrintUnformatted(v) : NULL;
    enum mt_rc rc;
    if (cJSON_IsNumber(v) && made == NULL)
        return 0;
    s = made != NULL ? made : s;
    rc = mt_conf_add(w->c, w->path, n_path, s, strlen(s), w->at);
    cJSON_free(made);
    return rc == MT_OK;
}

static bool is_scalar(const cJSON *v) { return !cJSON_IsObject(v) && !cJSON_IsArray(v); }

static int add_list(struct walk *w, size_t n_path, const cJSON *list)
{
    struct mt_text t = {.max = MT_CONF_VALUE};
    enum mt_rc rc = MT_ENOMEM;
    mt_text_add(&t, "[", 1);
    for (const cJSON *v = list->child; v != NULL && !t.cut && !t.failed; v = v->next) {
        char *made = cJSON_IsString(v) ? NULL : cJSON_PrintUnformatted(v);
        const char *s = cJSON_IsString(v) ? v->valuestring : made;
        if (s != NULL)
            mt_text_add(&t, s, strlen(s));
        else
            t.failed = true;
        if (v->next != NULL)
            mt_text_add(&t, ", ", 2);
        cJSON_free(made);
    }
    mt_text_add(&t, "]", 1);
    if (!t.failed)
        rc = mt_conf_add(w->c, w->path, n_path, t.p, t.n, w->at);
    w->c->n_cut += t.cut;
    mt_text_done(&t);
    return rc == MT_OK;
}

static int add_value(struct walk *w, size_t n_path, const cJSON *v, unsigned depth);

/* Appends ".name" and adds the value under it. */
static int add_under(struct walk *w, size_t n_path, const char *name, const cJSON *v,
                     unsigned depth)
{
    size_t n = strlen(name), dot = n_path != 0;
    if (n_path + dot + n > MT_CONF_KEY) {
        w->c->n_dropped++;
        return 1;
    }
    if (dot)
        w->path[n_path] = '.';
    memcpy(w->path + n_path + dot, name, n);
    return add_value(w, n_path + dot + n, v, depth);
}

static int add_value(struct walk *w, size_t n_path, const cJSON *v, unsigned depth)
{
    uint64_t index = 0;
    bool flat = true;
    if (is_scalar(v))
        return n_path == 0 || add_scalar(w, n_path, v);
    if (depth == MT_CONF_DEPTH) {
        w->c->n_dropped++;
        return 1;
    }
    for (const cJSON *e = v->child; e != NULL && cJSON_IsArray(v); e = e->next)
        flat &= is_scalar(e);
    if (cJSON_IsArray(v) && flat)
        return n_path == 0 || add_list(w, n_path, v);
    for (const cJSON *e = v->child; e != NULL; e = e->next, index++) {
        char number[24];
        size_t i = sizeof number - 1;
        uint64_t k = index;
        number[i] = '\0';
        do
            number[--i] = (char)('0' + k % 10);
        while ((k /= 10) != 0);
        if (!add_under(w, n_path, cJSON_IsArray(v) ? number + i : e->string, e, depth + 1))
            return 0;
    }
    return 1;
}

enum mt_rc mt_conf_json(struct mt_config *c, const char *text, size_t n, const char *prefix,
                        const struct mt_conf_at *at, struct mt_err *err)
{
    struct walk w = {.c = c, .at = at};
    cJSON *root;
    size_t n_prefix = prefix != NULL ? strlen(prefix) : 0;
    int ok;
    enum mt_rc rc = mt_json_text(&root, text, n, NULL, err);
    if (rc != MT_OK)
        return rc;
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return mt_fail(err, MT_EINPUT, "this is no file of settings: a JSON object is expected");
    }
    if (n_prefix > MT_CONF_KEY)
        n_prefix = MT_CONF_KEY;
    if (n_prefix != 0)
        memcpy(w.path, prefix, n_prefix);
    ok = add_value(&w, n_prefix, root, 0);
    cJSON_Delete(root);
    return ok ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory");
}
