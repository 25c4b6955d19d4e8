#include "render/script.h"
#include "render/assets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <nettle/base64.h>
#include <nettle/sha2.h>

struct module {
    const char *file;
    bool in[2]; /* by enum mt_script_kind */
};
static const struct module modules[] = {
#define MT_SCRIPT(name, page, worker) {"js/" #name ".js", {page, worker}},
#include "render/scripts.def"
#undef MT_SCRIPT
};

static const struct mt_asset *find(const char *name)
{
    const struct mt_asset *a = mt_template_assets;
    while (a->name != NULL && strcmp(a->name, name) != 0)
        a++;
    return a->name != NULL ? a : NULL;
}

static bool begins(const char *s, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - s) >= n && memcmp(s, word, n) == 0;
}

/* The line after the first one from s that holds `what`. */
static const char *after(const char *s, const char *end, const char *what)
{
    size_t n = strlen(what);
    for (; s < end; s++) {
        if (begins(s, end, what)) {
            const char *nl = memchr(s + n, '\n', (size_t)(end - s) - n);
            return nl != NULL ? nl + 1 : end;
        }
    }
    return end;
}

/* One module as part of a whole. No string of a module has a line that begins like a comment, an import or an export. */
static void put_module(struct mt_out *o, const char *s, const char *end)
{
    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s)), *next = nl != NULL ? nl + 1 : end, *text = s;
        while (text < next && (*text == ' ' || *text == '\t'))
            text++;
        if (begins(text, end, "/*")) {
            s = after(text + 2, end, "*/");
            continue;
        }
        if (begins(s, end, "import ")) {
            s = after(s, end, ";");
            continue;
        }
        if (text < next && *text != '\n' && !begins(text, end, "//")) {
            if (begins(s, end, "export "))
                text += strlen("export ");
            mt_put(o, text, (size_t)(next - text));
        }
        s = next;
    }
}

int mt_script_put(struct mt_out *o, enum mt_script_kind kind)
{
    mt_puts(o, "\"use strict\";(() => {\n");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const struct mt_asset *a;
        if (!modules[i].in[kind])
            continue;
        a = find(modules[i].file);
        if (a == NULL) {
            o->error = o->error != 0 ? o->error : ENOENT; /* built without its templates */
            return 0;
        }
        put_module(o, (const char *)a->data, (const char *)a->data + a->size);
    }
    mt_puts(o, "})();\n");
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
