#include "render/html/assets.h"

#include <string.h>

const struct mt_asset *mt_template_find(const char *name)
{
    const struct mt_asset *a = mt_template_assets;
    while (a->name != NULL && strcmp(a->name, name) != 0)
        a++;
    return a->name != NULL ? a : NULL;
}

bool mt_template_css(struct mt_out *o)
{
    const struct mt_asset *first = mt_template_find("report.css");
    if (first == NULL)
        return false;
    mt_put(o, first->data, first->size);
    for (const struct mt_asset *a = mt_template_assets; a->name != NULL; a++)
        if (strncmp(a->name, "css/", 4) == 0)
            mt_put(o, a->data, a->size);
    return true;
}
