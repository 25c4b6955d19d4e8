#include "parser/base/json_words.h"

#include "parser/base/apart.h"

#include <stdint.h>
#include <string.h>

static const char *const words[] = {
#define MT_JSON_WORD(w) w,
#include "parser/base/json_words.def"
#undef MT_JSON_WORD
};
enum {
    N_WORDS = sizeof words / sizeof *words,
    LEAD = 0xc0, /* the first byte: 0xc0 and the place by 128; the second: 0x80 and the rest */
    REST = 0x80,
    SLOTS = 1024
};
_Static_assert(N_WORDS * 2 <= SLOTS, "the table of words is too full: double it");
_Static_assert(N_WORDS <= (256 - LEAD) * 128, "two bytes are not enough");

const char *mt_json_word(size_t i) { return i < N_WORDS ? words[i] : NULL; }

static uint32_t slot_of(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h % SLOTS;
}

static void fill(uint16_t table[SLOTS])
{
    memset(table, 0, SLOTS * sizeof *table);
    for (unsigned i = 0; i < N_WORDS; i++) {
        uint32_t at = slot_of(words[i], strlen(words[i]));
        while (table[at] != 0)
            at = (at + 1) % SLOTS;
        table[at] = (uint16_t)(i + 1);
    }
}

/* The place of a word, or N_WORDS. */
static unsigned find(const uint16_t table[SLOTS], const char *s, size_t n)
{
    for (uint32_t at = slot_of(s, n); table[at] != 0; at = (at + 1) % SLOTS) {
        const char *w = words[table[at] - 1];
        if (strlen(w) == n && memcmp(w, s, n) == 0)
            return table[at] - 1u;
    }
    return N_WORDS;
}

void mt_json_words_short(struct mt_text *out, const char *text, size_t n)
{
    uint16_t table[SLOTS];
    size_t from = 0, end;
    if (n == 0)
        return; /* text may be NULL */
    fill(table);
    for (const char *quote = text; (quote = memchr(quote, '"', n - (size_t)(quote - text))) != NULL;
         quote = text + end) {
        size_t i = (size_t)(quote - text);
        unsigned word;
        end = mt_string_end(text, n, i);
        if (end >= n || text[end] != ':' || end - i < 3)
            continue;
        word = find(table, text + i + 1, end - i - 2);
        if (word == N_WORDS)
            continue;
        mt_text_add(out, text + from, i - from);
        mt_text_add(out, (const char[]){(char)(LEAD + word / 128), (char)(REST + word % 128)}, 2);
        from = ++end; /* the colon is part of it */
    }
    mt_text_add(out, text + from, n - from);
}

bool mt_json_words_long(struct mt_text *out, const char *text, size_t n)
{
    size_t from = 0, end;
    if (n == 0)
        return true; /* text may be NULL */
    for (size_t i = 0; i < n; i = end) {
        const unsigned char c = (unsigned char)text[i];
        const char *w;
        end = c == '"' ? mt_string_end(text, n, i) : i + 1;
        if (c < REST)
            continue;
        if (c < LEAD || i + 1 == n || (unsigned char)text[i + 1] < REST)
            return false;
        w = mt_json_word((size_t)(c - LEAD) * 128 + (unsigned char)text[i + 1] - REST);
        if (w == NULL)
            return false;
        mt_text_add(out, text + from, i - from);
        mt_text_add(out, "\"", 1);
        mt_text_add(out, w, strlen(w));
        mt_text_add(out, "\":", 2);
        from = end = i + 2;
    }
    mt_text_add(out, text + from, n - from);
    return true;
}
