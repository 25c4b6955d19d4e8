#include "render/base/json_form.h"

#include "parser/base/apart.h"

#include <stdbool.h>

static bool is_blank(char c) { return c == ' ' || (c >= 9 && c <= 13); }
static bool opens(char c) { return c == '{' || c == '['; }
static bool closes(char c) { return c == '}' || c == ']'; }

/* Behind the object or list that begins at i. */
static size_t value_end(const char *text, size_t n, size_t i)
{
    size_t depth = 0;
    while (i < n) {
        if (text[i] == '"') {
            i = mt_string_end(text, n, i);
            continue;
        }
        depth += opens(text[i]);
        if (closes(text[i]) && --depth == 0)
            return i + 1;
        i++;
    }
    return n;
}

static void put_indent(struct mt_out *o, size_t depth)
{
    mt_putc(o, '\n');
    while (depth-- > 0)
        mt_put(o, "  ", 2);
}

void mt_json_pretty(struct mt_out *o, const char *text, size_t n)
{
    size_t depth = 0, end;
    bool opened = false; /* a bracket, and nothing is behind it yet */
    if (memchr(text, '\n', n) != NULL) {
        mt_put(o, text, n);
        return;
    }
    for (size_t i = 0; i < n; i = end) {
        bool is_flat = text[i] == ' ' && i + 1 < n && opens(text[i + 1]), is_end = closes(text[i]);
        i += is_flat;
        end = i + 1;
        if (is_blank(text[i]))
            continue;
        depth -= is_end && depth > 0;
        if (opened != is_end)
            put_indent(o, depth);
        opened = opens(text[i]) && !is_flat;
        if (text[i] == '"')
            end = mt_string_end(text, n, i);
        else if (is_flat)
            end = value_end(text, n, i);
        mt_put(o, text + i, end - i);
        depth += opened;
        if (text[i] == ':')
            mt_putc(o, ' ');
        if (text[i] == ',')
            put_indent(o, depth);
    }
    mt_putc(o, '\n');
}
