/* setup/truth.c -- the usual spellings of yes and no. */
#include "analysis/setup/settings.h"
#include "parser/base/text.h"

static bool is_any(const char *value, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (mt_same_word(value, *words))
            return true;
    }
    return false;
}

bool mt_runconf_is_true(const char *value)
{
    static const char *const words[] = {"true", "1", "yes", "on", "", NULL};
    return value != NULL && is_any(value, words);
}

bool mt_runconf_is_false(const char *value)
{
    static const char *const words[] = {"false", "0", "no", "off", "null", "none", "~", NULL};
    return value != NULL && is_any(value, words);
}
