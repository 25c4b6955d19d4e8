#include "render/saved/diff.h"

#include "render/base/escape.h"

#include <string.h>

enum { MOST_PARTS = 20 };

/* Without folders where it is published, but for what tells the two from each other. */
void mt_diff_names(const struct mt_diff_report *r, const char *name[2])
{
    for (unsigned n = 1; n <= MOST_PARTS; n++) {
        for (int i = 0; i < 2; i++)
            name[i] = mt_last_parts(r->name[i], n);
        if (strcmp(name[0], name[1]) != 0)
            break;
    }
}
