#include "render/pack/bytes.h"

#include "parser/base/digits.h"
#include "parser/base/mem.h"

#include <string.h>

bool mt_bytes_room(struct mt_bytes *b, size_t more)
{
    size_t cap = b->cap != 0 ? b->cap : 256;
    unsigned char *p;
    if (b->failed)
        return false;
    if (b->cap - b->n >= more)
        return true;
    while (cap - b->n < more) {
        if (cap > SIZE_MAX / 2) {
            b->failed = true;
            return false;
        }
        cap *= 2;
    }
    p = mt_realloc(b->p, cap);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void mt_bytes_done(struct mt_bytes *b)
{
    mt_free(b->p);
    memset(b, 0, sizeof *b);
}

void mt_put_bytes(struct mt_bytes *b, const void *p, size_t n)
{
    if (n == 0 || !mt_bytes_room(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void mt_base64(struct mt_out *o, const unsigned char *p, size_t n)
{
    char buf[4096];
    size_t used = 0, i = 0;
    for (; i + 2 < n; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
        for (int k = 18; k >= 0; k -= 6)
            buf[used++] = mt_base64_digits[v >> k & 63];
        if (used == sizeof buf) {
            mt_put(o, buf, used);
            used = 0;
        }
    }
    if (i < n) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0);
        buf[used++] = mt_base64_digits[v >> 18];
        buf[used++] = mt_base64_digits[v >> 12 & 63];
        buf[used++] = i + 1 < n ? mt_base64_digits[v >> 6 & 63] : '=';
        buf[used++] = '=';
    }
    mt_put(o, buf, used);
}

void mt_base85(struct mt_out *o, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 4) {
        const size_t left = n - i < 4 ? n - i : 4;
        char digits[5];
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++)
            v = v << 8 | (k < left ? p[i + k] : 0);
        for (size_t k = 5; k-- > 0; v /= 85)
            digits[k] = mt_base85_digits[v % 85];
        mt_put(o, digits, left + 1);
    }
}
