#include "parser/saved/value.h"

#include <cjson/cJSON.h>
#include <stddef.h>

const struct cJSON *mt_value_in(const struct cJSON *object, const char *key)
{
    const cJSON *v = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
    return cJSON_IsNull(v) ? NULL : v;
}

const char *mt_value_string(const struct cJSON *v)
{
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

const char *mt_value_words(const struct cJSON *object, const char *key)
{
    return mt_value_string(mt_value_in(object, key));
}

bool mt_value_count(const struct cJSON *v, uint64_t *out)
{
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble >= 18446744073709551616.0)
        return false;
    *out = (uint64_t)v->valuedouble;
    return true;
}

bool mt_value_number(const struct cJSON *object, const char *key, uint64_t *out)
{
    return mt_value_count(mt_value_in(object, key), out);
}

bool mt_value_true(const struct cJSON *object, const char *key)
{
    return cJSON_IsTrue(mt_value_in(object, key));
}

bool mt_value_false(const struct cJSON *object, const char *key)
{
    return cJSON_IsFalse(mt_value_in(object, key));
}

bool mt_value_null(const struct cJSON *object, const char *key)
{
    return cJSON_IsObject(object) && cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, key));
}

const struct cJSON *mt_value_first(const struct cJSON *list)
{
    return cJSON_IsArray(list) ? list->child : NULL;
}

const struct cJSON *mt_value_next(const struct cJSON *v) { return v->next; }
