/* Fuzz target of logs, and of settings, which take any bytes as well. */
#include "parser/conf/conf.h"
#include "parser/log/log.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void settings(const uint8_t *data, size_t size, const char *name)
{
    struct mt_config c;
    struct mt_err err = {.rc = MT_OK};
    enum mt_rc rc;
    memset(&c, 0, sizeof c);
    rc = mt_conf_file(&c, (const char *)data, size, name, &err);
    if (rc < 0 && (err.rc != rc || err.msg[0] == '\0'))
        abort();
    for (uint32_t i = 0; i < c.entries.n; i++)
        if (c.entries.p[i].key[0] == '\0' || strlen(c.entries.p[i].key) > MT_CONF_KEY)
            abort();
    mt_conf_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const packages[] = {"verl", "nemo_rl", "skyrl_train", "x", NULL};
    struct mt_source *src = NULL;
    struct mt_err err = {.rc = MT_OK};
    uint64_t held = mt_mem_used();
    struct mt_log log;
    enum mt_rc rc;
    mt_mem_limit(UINT64_C(256) << 20);
    if (mt_source_mem(&src, data, size) != MT_OK)
        return 0;
    rc = mt_log_read(&log, src, packages, NULL, &err);
    if (rc < 0 && err.rc != rc)
        abort();
    if (rc == MT_OK && log.n_bytes != size)
        abort();
    for (uint32_t i = 0; i < log.facts.n; i++) {
        const struct mt_log_fact *f = &log.facts.p[i];
        if (f->line == 0 || f->line > log.n_lines || memchr(f->text, '\0', sizeof f->text) == NULL)
            abort();
    }
    mt_log_done(&log);
    mt_source_free(src);
    settings(data, size, "x.yaml");
    settings(data, size, "x.sh");
    settings(data, size, "x.toml");
    settings(data, size, "x.py");
    if (mt_mem_used() != held)
        abort();
    return 0;
}
