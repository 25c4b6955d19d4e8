/* Lines of a terminal. */
#include "render/text/impl.h"

#include "render/base/escape.h"

#include <string.h>

void mt_text_style(struct mt_text *x, const char *code)
{
    if (x->color)
        mt_putf(x->o, "\033[%sm", code);
}

void mt_text_heading(struct mt_text *x, const char *words)
{
    mt_putc(x->o, '\n');
    mt_text_style(x, "1");
    mt_puts(x->o, words);
    mt_text_style(x, "0");
    mt_putc(x->o, '\n');
}

/* Escapes s once and breaks it at spaces to the width. */
void mt_text_wrap(struct mt_text *x, const char *first, const char *next, const char *s)
{
    struct mt_out m;
    const char *p, *lead = first;
    if (!mt_out_mem(&m)) {
        x->o->error = x->o->error ? x->o->error : m.error;
        return;
    }
    mt_term(&m, s, strlen(s));
    if (mt_out_finish(&m) == 0) {
        p = (const char *)m.buf;
        while (*p != '\0') {
            size_t room =
                       (size_t)x->width > strlen(lead) + 20 ? (size_t)x->width - strlen(lead) : 20,
                   n = strlen(p), cut;
            if (mt_utf8_columns(p, n) > room) {
                cut = n;
                for (size_t i = 1; i < n && mt_utf8_columns(p, i) <= room; i++)
                    if (p[i] == ' ')
                        cut = i;
                if (cut == n) /* one long word: let it stand rather than break a path */
                    cut = strcspn(p, " ");
                n = cut;
            }
            mt_puts(x->o, lead);
            mt_put(x->o, p, n);
            mt_putc(x->o, '\n');
            for (p += n; *p == ' '; p++)
                ;
            lead = next;
        }
    }
    mt_out_done(&m);
}

/* Escapes s once and cuts it to the width; returns the columns it took. */
size_t mt_text_clipped(struct mt_text *x, const char *s, int width)
{
    struct mt_out m;
    size_t cols = 0;
    if (!mt_out_mem(&m))
        return 0;
    mt_term(&m, s, strlen(s));
    if (mt_out_finish(&m) == 0) {
        size_t n = m.used;
        cols = mt_utf8_columns((const char *)m.buf, n);
        if (width > 3 && cols > (size_t)width) {
            n = mt_utf8_cut((const char *)m.buf, n, (size_t)width - 3);
            mt_put(x->o, m.buf, n);
            mt_puts(x->o, "...");
            cols = mt_utf8_columns((const char *)m.buf, n) + 3;
        } else {
            mt_put(x->o, m.buf, n);
        }
    }
    mt_out_done(&m);
    return cols;
}

void mt_text_padded(struct mt_text *x, const char *s, int width)
{
    for (size_t cols = mt_text_clipped(x, s, width); cols < (size_t)width; cols++)
        mt_putc(x->o, ' ');
}
