/* advice/names.c -- the words of rule files and their ids. */
#include "analysis/advice/rules.h"

#include "analysis/base/rule_json.h"

static const struct {
    const char *id, *words;
} classes[] = {
#define MT_FIX_CLASS(N, id, words) {id, words},
#include "analysis/advice/classes.def"
#undef MT_FIX_CLASS
};

const char *mt_fix_class_id(enum mt_fix_class c)
{
    return c < MT_FIX_CLASS_COUNT ? classes[c].id : "unknown";
}

const char *mt_fix_class_words(enum mt_fix_class c)
{
    return c < MT_FIX_CLASS_COUNT ? classes[c].words : "unknown";
}

int mt_fix_class_find(const char *id)
{
    for (int i = 0; i < (int)MT_FIX_CLASS_COUNT; i++) {
        if (mt_rule_same(classes[i].id, id))
            return i;
    }
    return -1;
}

const char *mt_fix_kind_name(enum mt_fix_kind k)
{
    static const char *const name[] = {"setting", "tip", "capture", "reference"};
    return name[k];
}

const char *mt_fix_status_name(enum mt_fix_status s)
{
    static const char *const name[] = {"OK", "MOVED", "PARTIAL", "WRONG", "NOOP", "DOC"};
    return name[s];
}

const char *mt_fix_syntax_name(enum mt_fix_syntax s)
{
    static const char *const name[] = {"hydra", "yaml", "flag", "env", "python", "shell", "text"};
    return name[s];
}
