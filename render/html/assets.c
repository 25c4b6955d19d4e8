#include "render/html/assets.h"

#include <string.h>

const struct mt_asset *mt_template_find(const char *name)
{
    const struct mt_asset *a = mt_template_assets;
    while (a->name != NULL && strcmp(a->name, name) != 0)
        a++;
    return a->name != NULL ? a : NULL;
}
