#include "parser/saved/report.h"

#include <stdio.h>
#include <string.h>

/* Both have the same number there, or neither has one. */
static bool same_number(const struct cJSON *a, const struct cJSON *b, const char *key)
{
    uint64_t x = 0, y = 0;
    bool in_a = mt_value_number(a, key, &x), in_b = mt_value_number(b, key, &y);
    return in_a == in_b && x == y;
}

static bool same_words(const struct cJSON *a, const struct cJSON *b, const char *key)
{
    const char *x = mt_value_words(a, key), *y = mt_value_words(b, key);
    return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

bool mt_saved_is_of(const struct cJSON *row, const struct cJSON *device)
{
    uint64_t at, of;
    if (mt_value_number(row, "device_index", &at) && mt_value_number(device, "device_index", &of))
        return at == of;
    return device == NULL ||
           (same_number(row, device, "rank") && same_number(row, device, "device"));
}

const struct cJSON *mt_saved_device(const struct cJSON *root)
{
    const struct cJSON *verdict = mt_value_in(root, "verdict");
    const struct cJSON *d = mt_value_first(mt_value_in(root, "devices"));
    for (; d != NULL; d = mt_value_next(d))
        if (mt_saved_is_of(d, verdict) && same_words(d, verdict, "input") &&
            same_words(d, verdict, "member"))
            return d;
    return NULL;
}

int mt_saved_ran_out(const struct cJSON *root)
{
    const struct cJSON *verdict = mt_value_in(root, "verdict");
    const char *kind = mt_value_words(verdict, "kind");
    int no = mt_value_null(verdict, "out_of_memory") ? -1 : 0; /* an older report has no such key */
    if (mt_value_true(verdict, "out_of_memory") || mt_value_false(verdict, "out_of_memory"))
        return mt_value_true(verdict, "out_of_memory");
    if (kind == NULL || strcmp(kind, "empty") == 0 || strcmp(kind, "end_state") == 0)
        return -1;
    if (strcmp(kind, "log") == 0) {
        const char *cause = mt_value_words(mt_value_in(root, "log_diagnosis"), "cause");
        return cause != NULL && strcmp(cause, "none") != 0 ? 1 : no;
    }
    return strncmp(kind, "oom", 3) == 0 || strcmp(kind, "driver_oom") == 0 ? 1 : no;
}

char *mt_saved_place(char buf[MT_SAVED_PLACE], const struct cJSON *device)
{
    uint64_t rank = 0, gpu = 0;
    bool has_rank = mt_value_number(device, "rank", &rank);
    bool has_gpu = mt_value_number(device, "device", &gpu);
    int n = 0;
    buf[0] = '\0';
    if (has_rank)
        n = snprintf(buf, MT_SAVED_PLACE, "rank %llu", (unsigned long long)rank);
    if (has_gpu)
        (void)snprintf(buf + n, MT_SAVED_PLACE - (size_t)n, "%sdevice %llu", has_rank ? ", " : "",
                       (unsigned long long)gpu);
    return buf;
}

bool mt_saved_is_redacted(const struct cJSON *root)
{
    return mt_value_true(mt_value_in(root, "provenance"), "redacted");
}
