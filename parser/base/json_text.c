#include "parser/base/json_text.h"
#include "parser/base/mem.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <string.h>

static void set_hooks(void)
{
    cJSON_Hooks hooks = {mt_malloc, mt_free};
    cJSON_InitHooks(&hooks);
}

static enum mt_rc refuse(const char *text, size_t at, const char *name, const char *why,
                         struct mt_err *err)
{
    unsigned long line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return mt_fail_at(err, MT_EINPUT, at, "%s%sline %lu, column %lu: %s", name != NULL ? name : "",
                      name != NULL ? ": " : "", line, column, why);
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

enum mt_rc mt_json_text(cJSON **out, const char *text, size_t n, const char *name,
                        struct mt_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *nul = n != 0 ? memchr(text, '\0', n) : NULL, *end = text + mark, *rest;
    uint64_t failures = mt_mem_failures();
    *out = NULL;
    pthread_once(&once, set_hooks);
    if (nul != NULL) /* cJSON would stop there and lose the rest without a word */
        return refuse(text, (size_t)(nul - text), name, "a NUL byte; JSON is text in UTF-8", err);
    *out = cJSON_ParseWithLengthOpts(text + mark, n - mark, &end, false);
    if (*out == NULL && mt_mem_failures() != failures)
        return mt_fail(err, MT_ENOMEM, "%s%sout of memory", name != NULL ? name : "",
                       name != NULL ? ": " : "");
    if (*out == NULL)
        return refuse(text, end < text + n ? (size_t)(end - text) : n, name,
                      "not valid JSON from here on; check commas, quotes and brackets", err);
    if ((rest = skip_blanks(end, text + n)) == text + n)
        return MT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return refuse(text, (size_t)(rest - text), name, "something follows the end of the JSON text",
                  err);
}
