/* The settings of the run that matter for memory, and the allocator settings that the snapshot
 * records. */
#include "render/base/escape.h"
#include "render/html/kit.h"

#include <string.h>

enum { ALIKE = 4 }; /* so many equal entries of a list are one row */

static bool has_allocator(const struct mt_page *p)
{
    return p->rank != NULL && p->rank->trace->settings.n > 0;
}

static bool has(const struct mt_page *p)
{
    return has_allocator(p) || mt_h_has_rows(p, mt_section_settings, NULL);
}

/* The length of what stands before the last dot of a key. */
static size_t stem(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? (size_t)(dot - key) : 0;
}

/* How many settings from i on are one list whose entries all have one value. */
static uint32_t alike(const struct mt_trace *t, uint32_t i)
{
    const char *key = mt_str(t, t->settings.p[i].key), *value = mt_str(t, t->settings.p[i].value);
    size_t n = stem(key);
    uint32_t end = i + 1;
    while (n != 0 && end < t->settings.n && stem(mt_str(t, t->settings.p[end].key)) == n &&
           strncmp(mt_str(t, t->settings.p[end].key), key, n) == 0 &&
           strcmp(mt_str(t, t->settings.p[end].value), value) == 0)
        end++;
    return end - i;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Setting", "Value"};
    const struct mt_trace *t;
    char count[32];
    mt_h_rows(o, p, mt_section_settings, p->dev);
    if (!has_allocator(p))
        return;
    t = p->rank->trace;
    mt_puts(
        o,
        "<p class=\"note\">As the snapshot records them (PYTORCH_CUDA_ALLOC_CONF and defaults).");
    mt_h_of(o, p, "allocator");
    mt_puts(o, "</p>\n");
    mt_h_table(o, "Allocator settings", heads, 2);
    for (uint32_t i = 0, n; i < t->settings.n; i += n) {
        const char *key = mt_str(t, t->settings.p[i].key),
                   *value = mt_str(t, t->settings.p[i].value);
        n = alike(t, i);
        n = n < ALIKE ? 1 : n;
        mt_puts(o, "<tr><th scope=\"row\"><code>");
        mt_h_name(o, key, n > 1 && stem(key) < 200 ? stem(key) : 200);
        if (n > 1)
            mt_putf(o, "</code> <small>all %s</small></th><td><code>", mt_fmt_count(count, n));
        else
            mt_puts(o, "</code></th><td><code>");
        mt_h_name(o, value, 400);
        mt_puts(o, value[0] == '\0' ? "</code><small>not set</small></td></tr>\n"
                                    : "</code></td></tr>\n");
    }
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_settings = {"settings", "Settings", has, draw};
