#include "parser/base/apart.h"

#include <string.h>

static const bool in_number[256] = {
    ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true,
    ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true, ['-'] = true, ['+'] = true,
};

/* Behind the number that begins at i: digits, signs, a point, an exponent. */
static size_t number_end(const char *text, size_t n, size_t i)
{
    while (i < n && (in_number[(unsigned char)text[i]] || text[i] == '.' || text[i] == 'e' ||
                     text[i] == 'E'))
        i++;
    return i;
}

/* Where the next number begins, in no string; n: there is none. */
static size_t next_number(const char *text, size_t n, size_t i)
{
    while (i < n && !in_number[(unsigned char)text[i]])
        i = text[i] == '"' ? mt_string_end(text, n, i) : i + 1;
    return i;
}

void mt_apart(struct mt_text *out, const char *text, size_t n)
{
    const char mark = MT_APART;
    struct mt_text numbers = {0};
    size_t at, end;
    mt_text_add(out, &mark, 1);
    for (size_t i = 0; i < n; i = end) {
        at = next_number(text, n, i);
        end = number_end(text, n, at);
        mt_text_add(out, text + i, at - i);
        mt_text_add(out, "0", at < n);
        mt_text_add(&numbers, text + at, end - at);
        mt_text_add(&numbers, ",", at < n);
    }
    mt_text_add(out, &mark, 1);
    if (numbers.n != 0)
        mt_text_add(out, numbers.p, numbers.n);
    out->failed = out->failed || numbers.failed;
    mt_text_done(&numbers);
}

bool mt_together(struct mt_text *out, const char *text, size_t n)
{
    const char *mark, *p, *stop = text + n;
    if (n == 0 || text[0] != MT_APART)
        return false;
    text++;
    mark = memchr(text, MT_APART, n - 1);
    if (mark == NULL)
        return false;
    n = (size_t)(mark - text);
    p = mark + 1;
    for (size_t i = 0; i < n;) {
        size_t at = next_number(text, n, i), len;
        const char *comma;
        mt_text_add(out, text + i, at - i);
        i = at + 1;
        if (at == n)
            break;
        comma = memchr(p, ',', (size_t)(stop - p));
        len = comma != NULL ? (size_t)(comma - p) : 0;
        if (len == 0 || number_end(p, len, 0) != len)
            return false;
        mt_text_add(out, p, len);
        p = comma + 1;
    }
    return p == stop;
}
