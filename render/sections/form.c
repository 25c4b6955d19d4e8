#include "render/base/escape.h"
#include "render/sections/sections.h"

#include <stdlib.h>
#include <string.h>

/* The cell whose '{' is at p; "" where there is none. *spec: behind the colon, or the '}'. Returns
 * the '}'. */
static const char *read_cell(const char *p, const char *const *cell, unsigned n_cells,
                             const char **value, const char **spec)
{
    unsigned long i = strtoul(p + 1, NULL, 10);
    p += strcspn(p, ":}");
    *value = i < n_cells && cell[i] != NULL ? cell[i] : "";
    *spec = *p == ':' ? p + 1 : p;
    return strchr(p, '}');
}

bool mt_form_says(const char *form, size_t n, const char *const *cell, unsigned n_cells)
{
    const char *value, *spec;
    bool any = false;
    for (const char *p = form; p < form + n; p++) {
        if (*p != '{')
            continue;
        p = read_cell(p, cell, n_cells, &value, &spec);
        if (value[0] != '\0')
            return true;
        any = true;
    }
    return !any;
}

/* Behind the ']' of the part that begins at p, where one of its cells is empty; else p. */
static const char *skip_empty(const char *p, const char *const *cell, unsigned n_cells)
{
    const char *value, *spec, *from = p;
    bool empty = false;
    for (; *p != ']'; p++) {
        if (*p != '{')
            continue;
        p = read_cell(p, cell, n_cells, &value, &spec);
        empty |= value[0] == '\0';
    }
    return empty ? p + 1 : from;
}

void mt_form_put(struct mt_out *o, const char *form, size_t n, const char *const *cell,
                 unsigned n_cells, mt_put_cell *put, void *ctx)
{
    const char *end = form + n, *value, *spec;
    bool inside = false;
    for (const char *p = form; p < end; p++) {
        if (*p == '{') {
            unsigned i = (unsigned)strtoul(p + 1, NULL, 10);
            p = read_cell(p, cell, n_cells, &value, &spec);
            put(o, value, spec, i, ctx);
        } else if (*p == '[' && p[1] != '[') {
            const char *to = skip_empty(p + 1, cell, n_cells);
            inside = to == p + 1;
            p = to - 1;
        } else if (*p == ']' && inside) {
            inside = false;
        } else {
            p += *p == '[';
            mt_putc(o, *p);
        }
    }
}

size_t mt_form_cut(const char *s, const char *spec)
{
    size_t n = strlen(s);
    unsigned long max = *spec >= '0' && *spec <= '9' ? strtoul(spec, NULL, 10) : 0;
    return max != 0 ? mt_utf8_cut(s, n, max) : n;
}
