/* log/tensorflow.c -- TensorFlow's failed allocation: the shape and the type of a tensor, and whose
 * memory it was. */
#include "parser/log/match.h"

#include <string.h>

/* Bytes of a number, by the words of tensorflow/core/framework/types.cc. */
static const struct {
    const char *type;
    uint64_t bytes;
} types[] = {{"float", 4},  {"half", 2},   {"bfloat16", 2}, {"double", 8},    {"int32", 4},
             {"int64", 8},  {"int16", 2},  {"int8", 1},     {"uint8", 1},     {"bool", 1},
             {"uint16", 2}, {"uint32", 4}, {"uint64", 8},   {"complex64", 8}, {"complex128", 16}};

/* "[64,128,112] and type float on ...": MT_LOG_NONE where it is cut or no size. */
static uint64_t size_of(const char *shape)
{
    uint64_t n = 1;
    const char *p = shape + 1, *type;
    size_t len;
    if (*shape != '[')
        return MT_LOG_NONE;
    while (*p != ']') {
        uint64_t side = 0;
        size_t digits = strspn(p, "0123456789");
        if (digits == 0 || digits > 15)
            return MT_LOG_NONE;
        for (size_t i = 0; i < digits; i++)
            side = 10 * side + (uint64_t)(p[i] - '0');
        if (side != 0 && n > MT_LOG_EXA / side)
            return MT_LOG_NONE;
        n *= side;
        p += digits + (p[digits] == ',');
    }
    type = strstr(p, " and type ");
    if (type == NULL)
        return MT_LOG_NONE;
    type += 10;
    len = strcspn(type, " ");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].type) == len && memcmp(types[i].type, type, len) == 0)
            return n <= MT_LOG_EXA / types[i].bytes ? n * types[i].bytes : MT_LOG_NONE;
    return MT_LOG_NONE;
}

int mt_log_tensorflow(struct mt_log *l, uint64_t number, const char *s)
{
    static const char words[] = "OOM when allocating tensor with shape";
    const char *p = strstr(s, words), *gpu = strstr(s, "device:GPU:");
    struct mt_log_got g;
    struct mt_log_fact *f;
    if (p == NULL)
        return 0;
    f = mt_log_add(l, strstr(p, "device:CPU:") != NULL ? MT_LOG_HOST_OOM : MT_LOG_CUDA_OOM, number,
                   s);
    if (f == NULL)
        return 1;
    f->value[0] = size_of(p + sizeof words - 1);
    if (f->kind == MT_LOG_CUDA_OOM)
        mt_log_keep_text(f, "TensorFlow", 10);
    if (gpu != NULL && mt_log_find(gpu, "device:GPU:%n", &g) != NULL)
        f->gpu = mt_log_small(g.v[0]);
    return 1;
}
