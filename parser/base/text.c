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

bool mt_same_text(const char *a, size_t n_a, const char *b, size_t n_b)
{
    for (size_t i = 0; i < n_a && n_a == n_b; i++)
        if (mt_lower(a[i]) != mt_lower(b[i]))
            return false;
    return n_a == n_b;
}

bool mt_same_word(const char *a, const char *b)
{
    /* most differ in the first letter */
    return mt_lower(*a) == mt_lower(*b) && mt_same_text(a, strlen(a), b, strlen(b));
}

unsigned mt_edits(const char *a, const char *b, unsigned most)
{
    unsigned best = most + 1, d[4];
    while (*a != '\0' && *a == *b)
        a++, b++;
    if (*a == *b)
        return 0;
    if (most == 0)
        return 1;
    d[0] = *a != '\0' && *b != '\0' ? mt_edits(a + 1, b + 1, most - 1) : most;
    d[1] = *a != '\0' ? mt_edits(a + 1, b, most - 1) : most;
    d[2] = *b != '\0' ? mt_edits(a, b + 1, most - 1) : most;
    d[3] = *a != '\0' && *b != '\0' && a[0] == b[1] && a[1] == b[0]
               ? mt_edits(a + 2, b + 2, most - 1)
               : most;
    for (unsigned i = 0; i < 4; i++)
        best = d[i] + 1 < best ? d[i] + 1 : best;
    return best;
}

bool mt_file_is_packaged(const char *path)
{
    return strstr(path, "-packages/") != NULL || strstr(path, "-packages\\") != NULL;
}
