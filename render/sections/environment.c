/* What the run stood on. */
#include "render/sections/impl.h"

#include "render/view/environment.h"

void mt_section_environment(struct mt_sink *k, const struct mt_report *r)
{
    static const struct {
        const char *name, *(*words)(char buf[MT_ENV_WORDS], const struct mt_report *r);
    } rows[] = {{"PyTorch", mt_env_pytorch},
                {"Framework", mt_env_framework},
                {"Other versions", mt_env_versions},
                {"Allocator", mt_env_allocator},
                {"Card", mt_env_card}};
    char buf[MT_ENV_WORDS];
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words = rows[i].words(buf, r);
        if (words == NULL)
            continue;
        if (!any)
            mt_heading(k, "Environment", "Environment");
        any = true;
        MT_ROW(k, "  - |{0}: {1}", "- {0}: {1}\n", rows[i].name, words);
    }
    k->end(k);
}
