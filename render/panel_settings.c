/* The allocator settings that the snapshot records. */
#include "render/escape.h"
#include "render/html.h"

static bool has(const struct mt_page *p) { return p->rank != NULL && p->rank->trace->settings.n > 0; }

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Setting", "Value"};
    const struct mt_trace *t = p->rank->trace;
    mt_puts(o, "<p class=\"note\">As the snapshot records them (PYTORCH_CUDA_ALLOC_CONF and defaults).</p>\n");
    mt_h_table(o, "Allocator settings", heads, 2);
    for (uint32_t i = 0; i < t->settings.n; i++) {
        mt_puts(o, "<tr><th scope=\"row\"><code>");
        mt_h_name(o, mt_str(t, t->settings.p[i].key), 200);
        mt_puts(o, "</code></th><td><code>");
        mt_h_name(o, mt_str(t, t->settings.p[i].value), 400);
        mt_puts(o, "</code></td></tr>\n");
    }
    mt_h_table_end(o);
}

const struct mt_panel mt_panel_settings = {"settings", "Allocator settings", has, draw};
