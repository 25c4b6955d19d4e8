/* digits.h -- bytes as text: base64, where 4 digits are 3 bytes, and base85, where 5 digits are 4.
 * A text of base85 is a sixteenth shorter, and holds no character that HTML reads as its own. */
#ifndef MT_DIGITS_H
#define MT_DIGITS_H

#include <stddef.h>
#include <stdint.h>

/* A digit's value is its place. That of 85 is RFC 1924's, with , . : for & < >. */
extern const char mt_base64_digits[65], mt_base85_digits[86];
/* How the head of an element of a page goes on whose text is base85. */
#define MT_BASE85_HEAD " data-digits=\"85\">"

struct mt_digits {
    unsigned char value[256]; /* of each character; 0x80 = no digit */
    unsigned base, n;         /* 64 or 85; digits that wait in acc for the rest of their group */
    uint64_t acc;
};
void mt_digits_begin(struct mt_digits *d, unsigned base);
/* The next character. Returns the bytes that its group made, 0 where the group goes on, or -1: no
 * digit, or a group that is more than 4 bytes hold. */
int mt_digits_add(struct mt_digits *d, unsigned char c, unsigned char out[4]);
/* The text is over: the bytes of its last digits, or -1: they are no bytes. */
int mt_digits_end(struct mt_digits *d, unsigned char out[4]);
/* As many whole groups of base64 as lie at *p and fit n bytes, fast; *p is then behind them. Only
 * between groups (d->n == 0). Returns the bytes made, 0 in base85. */
size_t mt_digits_run(const struct mt_digits *d, const unsigned char **p, const unsigned char *end,
                     unsigned char *out, size_t n);

#endif
