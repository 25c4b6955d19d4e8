/* The report for a terminal: good enough alone over ssh. */
#include "render/text/text.h"

#include "render/base/escape.h"
#include "render/sections/sections.h"
#include "render/text/ascii.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    struct mt_sink sink; /* first: the sections know it alone */
    size_t width;
    bool color, is_ascii;
};

/* of an ANSI escape; nothing without colours */
static void put_style(struct text *x, const char *code)
{
    if (x->color && code != NULL)
        mt_putf(x->sink.o, "\033[%sm", code);
}

/* ---- cells ---- */

static void put_padded(struct mt_out *o, const char *cell, size_t width, bool is_left)
{
    struct mt_out m;
    if (!mt_out_mem(&m)) {
        o->error = o->error != 0 ? o->error : m.error;
        return;
    }
    mt_term(&m, cell, strlen(cell));
    if (mt_out_finish(&m) == 0) {
        const char *s = (const char *)m.buf;
        size_t n = m.used, columns = mt_utf8_columns(s, n);
        bool cut = is_left && columns > width && width > 3;
        if (cut)
            n = mt_utf8_cut(s, n, width - 3);
        for (size_t c = columns; !is_left && c < width; c++)
            mt_putc(o, ' ');
        mt_put(o, s, n);
        mt_puts(o, cut ? "..." : "");
        for (size_t c = cut ? mt_utf8_columns(s, n) + 3 : columns; is_left && c < width; c++)
            mt_putc(o, ' ');
    }
    o->error = o->error != 0 ? o->error : m.error;
    mt_out_done(&m);
}

static void put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i, void *ctx)
{
    (void)i;
    (void)ctx;
    switch (*spec) {
    case '<':
    case '>': put_padded(o, cell, strtoul(spec + 1, NULL, 10), *spec == '<'); break;
    case '.': mt_term(o, cell, mt_form_cut(cell, spec + 1)); break;
    default: mt_term(o, cell, strlen(cell)); break;
    }
}

/* The part of a form as text; finished, to be given to mt_out_done(). */
static const char *expand(struct mt_out *m, struct text *x, const char *form, size_t n,
                          const char *const *cell, unsigned n_cells)
{
    if (mt_out_mem(m))
        mt_form_put(m, form, n, cell, n_cells, put_cell, NULL);
    if (mt_out_finish(m) == 0)
        return (const char *)m->buf;
    x->sink.o->error = x->sink.o->error != 0 ? x->sink.o->error : m->error;
    return "";
}

/* ---- lines ---- */

static void put_clipped(struct text *x, const char *s, size_t width)
{
    size_t n = strlen(s);
    bool cut = mt_utf8_columns(s, n) > width;
    mt_put(x->sink.o, s, cut ? mt_utf8_cut(s, n, width - 3) : n);
    mt_puts(x->sink.o, cut ? "..." : "");
}

/* Broken at spaces; one long word stands rather than that a path is broken. */
static void put_wrapped(struct text *x, const char *lead, size_t hang, const char *s)
{
    enum { LEAST = 12, BELOW = 4 };
    size_t used = mt_utf8_columns(lead, strlen(lead)), n_lead = strlen(lead);
    bool is_below = used > BELOW && used + LEAST > x->width; /* no room beside it */
    while (is_below && n_lead > 0 && lead[n_lead - 1] == ' ')
        n_lead--;
    mt_put(x->sink.o, lead, n_lead);
    if (is_below) {
        mt_puts(x->sink.o, "\n    ");
        used = hang = BELOW;
    }
    while (*s != '\0') {
        size_t n = mt_utf8_line(s, x->width > used + LEAST ? x->width - used : LEAST);
        mt_put(x->sink.o, s, n);
        for (s += n; *s == ' '; s++)
            ;
        if (*s != '\0') {
            mt_putc(x->sink.o, '\n');
            for (used = 0; used < hang; used++)
                mt_putc(x->sink.o, ' ');
        }
    }
}

static const char *style_of(char mark)
{
    switch (mark) {
    case '!': return "1;33";
    case '*': return "1";
    case '$': return "36";
    case '%': return "2";
    default: return NULL;
    }
}

/* The column below which the lines of a wrapped form continue: of ">4" at the end of its lead, of
 * which *n gets the length without it; 0 = where the lead ends. */
static size_t hang_of(const char *form, size_t *n)
{
    size_t i = *n;
    while (i > 0 && form[i - 1] >= '0' && form[i - 1] <= '9')
        i--;
    if (i == 0 || i == *n || form[i - 1] != '>')
        return 0;
    *n = i - 1;
    return strtoul(form + i, NULL, 10);
}

/* Tables are made for this; on less their ends are cut. What is to be typed never is. */
enum { TABLE = 76 };

static void put_line(struct text *x, const char *form, size_t n, const char *const *cell,
                     unsigned n_cells)
{
    const char *style = n != 0 ? style_of(form[0]) : NULL, *end = form + n, *bar, *s;
    struct mt_out lead, body;
    bool is_typed = n != 0 && form[0] == '$';
    form += style != NULL;
    bar = memchr(form, '|', (size_t)(end - form));
    s = bar != NULL ? bar + 1 : form; /* a lead alone says nothing */
    if (!mt_form_says(s, (size_t)(end - s), cell, n_cells))
        return;
    put_style(x, style);
    if (bar != NULL) {
        size_t n_lead = (size_t)(bar - form), hang = hang_of(form, &n_lead);
        s = expand(&lead, x, form, n_lead, cell, n_cells);
        put_wrapped(x, s, hang != 0 ? hang : mt_utf8_columns(s, strlen(s)),
                    expand(&body, x, bar + 1, (size_t)(end - bar - 1), cell, n_cells));
        mt_out_done(&lead);
    } else if (form < end && form[0] == '~') {
        const char *from = form + 1;
        size_t leave = 0;
        for (; *from >= '0' && *from <= '9'; from++)
            leave = leave * 10 + (size_t)(*from - '0');
        s = expand(&body, x, from, (size_t)(end - from), cell, n_cells);
        put_clipped(x, s, x->width - leave);
    } else {
        s = expand(&body, x, form, (size_t)(end - form), cell, n_cells);
        if (x->width < TABLE && !is_typed)
            put_clipped(x, s, x->width);
        else
            mt_puts(x->sink.o, s);
    }
    mt_out_done(&body);
    put_style(x, style != NULL ? "0" : NULL);
    mt_putc(x->sink.o, '\n');
}

/* ---- the sink ---- */

static void put_row(struct mt_sink *k, const char *form, const char *const *cell,
                    const struct mt_datum *datum, unsigned n)
{
    (void)datum;
    for (const char *line = form, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
        end = strchr(line, '\n');
        put_line((struct text *)k, line, end != NULL ? (size_t)(end - line) : strlen(line), cell,
                 n);
    }
}

static void put_heading(struct mt_sink *k, const char *words)
{
    put_row(k, "\n*~{0}", &words, NULL, 1);
}

static void end_list(struct mt_sink *k) { (void)k; }

/* 8 rows of blocks: one character shows the highest of its share of the columns. */
static void put_curve(struct mt_sink *k, const struct mt_curve *c)
{
    enum { ROWS = 8, MAX_W = 100 };
    static const char *const part[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    /* in ASCII there is no more than a third of a character to tell */
    static const char *const plain[] = {" ", ".", ".", ".", ":", ":", ":", "#", "#"};
    const char *const *blocks = ((struct text *)k)->is_ascii ? plain : part;
    size_t room = ((struct text *)k)->width - 14;
    uint32_t w = room > MAX_W ? MAX_W : (uint32_t)room;
    uint64_t high[MAX_W] = {0};
    char b[32];
    if (w > c->n)
        w = c->n;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t at = (uint32_t)((uint64_t)i * w / c->n);
        uint64_t v = c->b != NULL && c->b[i] > c->a[i] ? c->b[i] : c->a[i];
        high[at] = v > high[at] ? v : high[at];
    }
    for (int row = ROWS - 1; row >= 0; row--) {
        mt_putf(k->o, "%11s |", row == ROWS - 1 ? mt_fmt_bytes(b, c->top) : row == 0 ? "0" : "");
        for (uint32_t i = 0; i < w; i++) {
            uint64_t eighths = (uint64_t)((double)high[i] / (double)c->top * (ROWS * 8) + 0.5);
            uint64_t base = (uint64_t)row * 8;
            mt_puts(k->o, blocks[eighths <= base ? 0 : eighths - base >= 8 ? 8 : eighths - base]);
        }
        mt_putc(k->o, '\n');
    }
    if (c->by_time)
        mt_putf(k->o, "%11s  0 s %*s\n", "", (int)w - 4, mt_fmt_seconds(b, c->x));
    else
        mt_putf(k->o, "%11s  event 0 %*s\n", "", (int)w - 8, mt_fmt_count(b, c->x));
}

void mt_render_text(const struct mt_report *r, struct mt_out *o)
{
    int columns = r->columns != 0 ? r->columns : 80;
    struct mt_out ascii;
    bool is_ascii = r->is_ascii && mt_ascii_open(&ascii, o);
    struct text x = {.sink = {.o = is_ascii ? &ascii : o,
                              .format = MT_IN_TEXT,
                              .is_screen = !r->in_full,
                              .row = put_row,
                              .heading = put_heading,
                              .end = end_list,
                              .curve = put_curve},
                     .width = columns < 20    ? 20
                              : columns > 160 ? 160
                                              : (size_t)columns,
                     .color = r->color,
                     .is_ascii = is_ascii};
    mt_sections(&x.sink, r);
    if (is_ascii)
        mt_ascii_close(&ascii, o);
}
