#include "parser/base/text.h"

#include <string.h>

void mt_text_add(struct mt_text *t, const char *s, size_t n)
{
    if (t->failed)
        return;
    if (t->max != 0 && n > t->max - t->n) {
        n = t->max - t->n;
        t->cut = true;
    }
    if (t->n + n + 1 > t->cap) {
        size_t cap = (t->n + n + 1) * 2;
        char *p = mt_realloc(t->p, cap);
        if (p == NULL) {
            t->failed = true;
            return;
        }
        t->p = p;
        t->cap = cap;
    }
    if (n != 0)
        memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void mt_text_done(struct mt_text *t)
{
    mt_free(t->p);
    t->p = NULL;
    t->n = t->cap = 0;
}
