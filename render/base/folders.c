#include "render/base/folders.h"

#include <string.h>

/* How long the folders of the path are that s begins with: "/srv/run/" of a file there. 0: that
 * is no path from the root. */
static size_t folders(const char *s)
{
    size_t n = *s == '/' ? strcspn(s, " \t\n\"'`,;|)") : 0, last = 0;
    for (size_t i = 1; i + 1 < n; i++)
        if (s[i] == '/')
            last = i + 1;
    return last;
}

/* "//host/page" of an address, which names no folder of this machine: not that of "file:///". */
static bool is_address(const char *s, const char *text)
{
    return s > text && s[-1] == ':' && s[0] == '/' && s[1] == '/' && s[2] != '/';
}

const char *mt_without_folders(struct mt_out *m, const char *text,
                               size_t (*known)(const char *s, const void *ctx), const void *ctx)
{
    bool at_word = true;
    if (!mt_out_mem(m))
        return "";
    for (const char *s = text; *s != '\0'; s++) {
        size_t n;
        at_word = at_word && !is_address(s, text);
        n = at_word && *s == '/' && known != NULL ? known(s, ctx) : 0;
        s += n != 0 ? n : at_word ? folders(s) : 0;
        if (*s == '\0') /* the folder itself is named */
            break;
        at_word = strchr(" \t\"'`=(,:", *s) != NULL;
        mt_putc(m, *s);
    }
    return mt_out_finish(m) == 0 ? (const char *)m->buf : "";
}
