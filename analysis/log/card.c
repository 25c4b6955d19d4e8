/* log/card.c -- how much memory the card has that a text names: "4 x A100 80GB", "a 4090". A name
 * that stands for several sizes ("A100") and two cards of different sizes tell nothing. */
#include "analysis/log/diagnose.h"
#include "analysis/setup/cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 40, WORDS = 4 }; /* bytes and words of a name */

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A name may begin at p: a word that begins with a capital or a digit, or what "8x" counts. */
static bool begins(const char *line, const char *p)
{
    bool times = p > line + 1 && (p[-1] == 'x' || p[-1] == 'X') && p[-2] >= '0' && p[-2] <= '9';
    return ((*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')) &&
           (p == line || !in_word(p[-1]) || times);
}

/* The longest name of a card that begins at p. */
static const struct mt_card *card_at(const struct mt_cards *cards, const char *p, size_t *n)
{
    const struct mt_card *found = NULL;
    uint32_t words = 0;
    for (size_t k = 1; k < LONGEST && words < WORDS && p[k - 1] != '\0'; k++) {
        char name[LONGEST];
        const struct mt_card *card;
        if (in_word(p[k]) || !in_word(p[k - 1]))
            continue;
        words++;
        (void)snprintf(name, sizeof name, "%.*s", (int)k, p);
        card = mt_cards_find(cards, name);
        found = card != NULL ? card : found;
        *n = card != NULL ? k : *n;
    }
    return found;
}

/* "40GB A100", "80 GB H100": the size stands before the name. */
static const struct mt_card *card_behind(const struct mt_cards *cards, const char *p, size_t *n)
{
    size_t digits = strspn(p, "0123456789"), at = digits + (p[digits] == ' ' || p[digits] == '-');
    char name[2 * LONGEST];
    size_t k;
    if (digits == 0 || digits > 3 || (p[at] | 32) != 'g')
        return NULL;
    at += (p[at + 1] | 32) == 'b' ? 2 : 1;
    if (p[at] != ' ' && p[at] != '-')
        return NULL;
    at++;
    for (k = 0; in_word(p[at + k]) && k < LONGEST; k++) {
    }
    (void)snprintf(name, sizeof name, "%.*s %.*sGB", (int)k, p + at, (int)digits, p);
    *n = at + k;
    return k != 0 ? mt_cards_find(cards, name) : NULL;
}

/* "1000 samples", "v4090": a number is a card's name only where words of cards stand beside it. */
static bool is_number_alone(const char *line, const char *p, size_t n)
{
    static const char *const beside[] = {"gpu", "GPU", "card", "RTX", "rtx", "x", "*", "卡", NULL};
    char around[2 * LONGEST + 1];
    const char *from = p - line > LONGEST / 2 ? p - LONGEST / 2 : line;
    if (strspn(p, "0123456789") < n)
        return false;
    (void)snprintf(around, sizeof around, "%.*s%.*s", (int)(p - from), from, LONGEST / 2, p + n);
    for (const char *const *w = beside; *w != NULL; w++)
        if (strstr(around, *w) != NULL)
            return false;
    return true;
}

/* "H100 90GB GPU": the size that somebody gives the card right behind its name, which no name of
 * that card has: a part of it, or a variant that the table has not. 0 = there is none. */
static uint64_t sized(const char *p, uint64_t known)
{
    static const char *const ends[] = {" gpu", " card", " vram", " memory", " of vram", ",",
                                       ".",    ")",     ";",     "s",       NULL};
    char *unit;
    double gb, bytes;
    p += strspn(p, " (-");
    gb = mt_log_is_digit(*p) ? (double)strtoul(p, &unit, 10) : 0;
    if (gb < 4 || gb > 320)
        return 0;
    unit += *unit == ' ';
    if ((*unit | 32) != 'g')
        return 0;
    unit += (unit[1] | 32) == 'b' ? 2 : (unit[1] | 32) == 'i' ? 3 : 1;
    for (const char *const *e = ends; *unit != '\0' && strncasecmp(unit, *e, strlen(*e)) != 0;)
        if (*++e == NULL)
            return 0;
    if (unit[0] == '.' && unit[1] != ' ' && unit[1] != '\0') /* "7g.80gb", a slice's name */
        return 0;
    bytes = gb * (double)(UINT64_C(1) << 30);
    return bytes > 1.08 * (double)known || bytes < 0.9 * (double)known ? (uint64_t)bytes : 0;
}

double mt_logdiag_card(const struct mt_log *log)
{
    struct mt_cards cards = {0};
    struct mt_err err = {.rc = MT_OK};
    uint64_t bytes = 0;
    bool several = false;
    if (log->prose.n == 0 || mt_cards_load(&cards, NULL, 0, NULL, &err) != MT_OK) {
        mt_cards_done(&cards);
        return 0;
    }
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *line = log->prose.p[i].text;
        for (const char *p = line; *p != '\0'; p++) {
            size_t n = 0;
            uint64_t told;
            const struct mt_card *card = begins(line, p) ? card_at(&cards, p, &n) : NULL;
            if (card == NULL && begins(line, p))
                card = card_behind(&cards, p, &n);
            if (card == NULL || is_number_alone(line, p, n))
                continue;
            told = sized(p + n, card->bytes);
            told = told != 0 ? told : card->bytes;
            several = several || (bytes != 0 && bytes != told);
            bytes = told;
            p += n - 1;
        }
    }
    mt_cards_done(&cards);
    return several ? 0 : (double)bytes;
}
