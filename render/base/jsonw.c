#include "render/base/jsonw.h"

#include "render/base/escape.h"

#include <string.h>

void mt_jw_init(struct mt_jsonw *w, struct mt_out *o, bool pretty)
{
    memset(w, 0, sizeof *w);
    w->o = o;
    w->pretty = pretty;
    w->first[0] = true;
}

/* A comma behind what was before, then a line of its own: as one piece. */
static void next(struct mt_jsonw *w, bool comma, bool line)
{
    static const char text[] =
        ",\n                                                                ";
    size_t n = line ? 1 + 2 * (size_t)w->depth : 0;
    _Static_assert(sizeof text > 2 * sizeof w->first + 1, "the deepest one fits");
    mt_put(w->o, text + !comma, n + comma);
}

static void before(struct mt_jsonw *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    next(w, !w->first[w->depth], w->pretty && w->depth > 0);
    w->first[w->depth] = false;
}

void mt_jw_open(struct mt_jsonw *w, char bracket)
{
    before(w);
    mt_putc(w->o, bracket);
    w->depth++;
    w->first[w->depth] = true;
}

void mt_jw_close(struct mt_jsonw *w, char bracket)
{
    bool empty = w->first[w->depth];
    w->depth--;
    next(w, false, w->pretty && !empty);
    mt_putc(w->o, bracket);
}

void mt_jw_open_line(struct mt_jsonw *w, char bracket)
{
    if (w->dense) {
        before(w);
        mt_putc(w->o, ' ');
        w->after_key = true; /* nothing more in front of it */
    }
    mt_jw_open(w, bracket);
    w->was_pretty = w->pretty;
    w->pretty = false;
}

void mt_jw_close_line(struct mt_jsonw *w, char bracket)
{
    mt_jw_close(w, bracket);
    w->pretty = w->was_pretty;
}

void mt_jw_key(struct mt_jsonw *w, const char *key)
{
    before(w);
    mt_putc(w->o, '"');
    mt_puts(w->o, key);
    mt_put(w->o, "\": ", w->pretty ? 3 : 2);
    w->after_key = true;
}

void mt_jw_str(struct mt_jsonw *w, const char *s, size_t n)
{
    before(w);
    mt_json_str(w->o, s, n);
}

void mt_jw_s(struct mt_jsonw *w, const char *s)
{
    if (s == NULL)
        mt_jw_null(w);
    else
        mt_jw_str(w, s, strlen(s));
}

void mt_jw_u(struct mt_jsonw *w, uint64_t v)
{
    before(w);
    mt_putu(w->o, v);
}

void mt_jw_i(struct mt_jsonw *w, int64_t v)
{
    before(w);
    if (v < 0)
        mt_putc(w->o, '-');
    mt_putu(w->o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void mt_jw_b(struct mt_jsonw *w, bool v)
{
    before(w);
    mt_puts(w->o, v ? "true" : "false");
}

void mt_jw_null(struct mt_jsonw *w)
{
    before(w);
    mt_puts(w->o, "null");
}

void mt_jw_ku(struct mt_jsonw *w, const char *key, uint64_t v)
{
    mt_jw_key(w, key);
    mt_jw_u(w, v);
}

void mt_jw_ki(struct mt_jsonw *w, const char *key, int64_t v)
{
    mt_jw_key(w, key);
    mt_jw_i(w, v);
}

void mt_jw_ks(struct mt_jsonw *w, const char *key, const char *s)
{
    mt_jw_key(w, key);
    mt_jw_s(w, s);
}

void mt_jw_kb(struct mt_jsonw *w, const char *key, bool v)
{
    mt_jw_key(w, key);
    mt_jw_b(w, v);
}

void mt_jw_known(struct mt_jsonw *w, const char *key, bool is_known, uint64_t v)
{
    mt_jw_key(w, key);
    if (is_known)
        mt_jw_u(w, v);
    else
        mt_jw_null(w);
}
