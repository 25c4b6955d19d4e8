/* Fuzz target of --redact: whatever stands around them, an address and a token between spaces are
 * gone from a sentence, and nothing that is held stays. */
#include "cli/redact/redact.h"
#include "analysis/run/rules.h"
#include "parser/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDRESS " 10.66.55.44 "
#define TOKEN " ghp_Zq3XfT81mKp0LwVb7RsNc5YdHu2GjE9aQi4o "

static struct mt_framework_rules *programs(void)
{
    static struct mt_framework_rules *fw;
    struct mt_err err = {.rc = MT_OK};
    if (fw == NULL && mt_framework_rules_load(&fw, NULL, 0, NULL, &err) < 0)
        abort();
    return fw;
}

static void sentence(struct mt_redact *r, const char *before, const char *after)
{
    char *text = mt_malloc(strlen(before) + strlen(after) + sizeof ADDRESS + sizeof TOKEN + 4);
    const char *out;
    if (text == NULL)
        return;
    strcpy(text, before);
    strcat(text, ADDRESS TOKEN);
    strcat(text, after);
    out = mt_redact_sentence(r, text);
    if (out != NULL && (strstr(out, ADDRESS) != NULL || strstr(out, TOKEN) != NULL)) {
        fprintf(stderr, "given:  %s\nstayed: %s\n", text, out);
        abort();
    }
    mt_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "a key that is long enough to keep a secret";
    const struct mt_framework_rules *fw = programs();
    struct mt_err err = {.rc = MT_OK};
    uint64_t held = mt_mem_used();
    struct mt_redact *r = NULL;
    char *text = mt_malloc(size + 1);
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < size; i++) /* a string has no zero byte */
        text[i] = data[i] != 0 ? (char)data[i] : ' ';
    text[size] = '\0';
    if (mt_redact_new(&r, fw, true, key, sizeof key - 1, &err) == MT_OK) {
        sentence(r, text, "");
        sentence(r, "", text);
        (void)mt_redact_file_name(r, text);
    }
    mt_redact_close(r);
    mt_free(text);
    if (mt_mem_used() != held)
        abort();
    return 0;
}
