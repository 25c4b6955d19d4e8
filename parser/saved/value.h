/* value.h -- what stands in a report that was read back. All take NULL for an object that is not
 * there: then nothing is in it. A value of null is one that is not there. */
#ifndef MT_SAVED_VALUE_H
#define MT_SAVED_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

const struct cJSON *mt_value_in(const struct cJSON *object, const char *key);
const char *mt_value_words(const struct cJSON *object, const char *key); /* NULL = no string */
/* A number that is not negative; false leaves *out alone. */
bool mt_value_number(const struct cJSON *object, const char *key, uint64_t *out);
bool mt_value_true(const struct cJSON *object, const char *key);
bool mt_value_false(const struct cJSON *object, const char *key);
/* It is there, as null: not known. */
bool mt_value_null(const struct cJSON *object, const char *key);

/* The members of a list: for (v = mt_value_first(list); v != NULL; v = mt_value_next(v)) */
const struct cJSON *mt_value_first(const struct cJSON *list);
const struct cJSON *mt_value_next(const struct cJSON *v);
/* A number that is a member of a list; false leaves *out alone. */
bool mt_value_count(const struct cJSON *v, uint64_t *out);
/* A string that is a member of a list; NULL = it is none. */
const char *mt_value_string(const struct cJSON *v);

#endif
