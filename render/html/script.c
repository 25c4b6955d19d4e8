#include "render/html/script.h"
#include "render/html/assets.h"

#include <errno.h>
#include <stdio.h>

#include <nettle/base64.h>
#include <nettle/sha2.h>

int mt_script_put(struct mt_out *o, enum mt_script_kind kind)
{
    const char *name = kind == MT_SCRIPT_PAGE ? "page.js" : "worker.js";
    const struct mt_asset *a = mt_template_find(name);
    if (a == NULL)
        o->error = o->error != 0 ? o->error : ENOENT;
    else
        mt_put(o, a->data, a->size);
    return o->error == 0;
}

int mt_script_hash(char out[MT_SCRIPT_HASH_SIZE], enum mt_script_kind kind)
{
    struct sha256_ctx h;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];
    struct mt_out o;
    int ok = mt_out_mem(&o) && mt_script_put(&o, kind) && mt_out_finish(&o) == 0;
    if (ok) {
        sha256_init(&h);
        sha256_update(&h, o.used, o.buf);
        sha256_digest(&h, sizeof digest, digest);
        base64_encode_raw(text, sizeof digest, digest);
        text[sizeof text - 1] = '\0';
        snprintf(out, MT_SCRIPT_HASH_SIZE, "sha256-%s", text);
    }
    mt_out_done(&o);
    return ok;
}
