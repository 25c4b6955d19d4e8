#include "parser/base/secret.h"
#include "parser/json/scan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct mt_json_hash mt_json_hash_base(const void *p, size_t n)
{
    XXH128_hash_t h = XXH3_128bits_withSecret(p, n, mt_secret.bytes, sizeof mt_secret.bytes);
    return (struct mt_json_hash){h.low64, h.high64};
}
