#include "cli/capacity.h"

#include "analysis/setup/cards.h"
#include "cli/options.h"
#include "cli/preferences.h"
#include "parser/base/text.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

#define LEAST (UINT64_C(1) << 30)

/* Below this, a number without a unit is one of which the unit was forgotten. */
enum { FORGOTTEN = 4096 };

bool mt_capacity_is_size(const char *word, uint64_t *bytes)
{
    return mt_parse_bytes(word, bytes) && *bytes >= LEAST;
}

/* "H100-80, H200, ..." */
static const char *known(const struct mt_cards *cards, char *buf, size_t cap)
{
    size_t n = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < cards->rows.n && n < cap; i++) {
        int k = snprintf(buf + n, cap - n, "%s%s", i != 0 ? ", " : "", cards->rows.p[i].name);
        n += k > 0 ? (size_t)k : 0;
    }
    return buf;
}

/* The word is neither; what was probably meant. at: "--capacity", or a line of memtrace.toml. */
static void refuse(const struct mt_cards *cards, const char *at, const char *word)
{
    char names[600];
    uint64_t bytes;
    if (!mt_parse_bytes(word, &bytes))
        mt_say("%s: '%s' is not a size; write bytes or a number with a unit, as 80GiB, 80G "
               "(the same) or 80GB (10^9), or the name of a card: %s",
               at, word, known(cards, names, sizeof names));
    else if (bytes > 0 && bytes < FORGOTTEN)
        mt_say("%s: %s is %llu bytes: did you mean %lluGiB?", at, word, (unsigned long long)bytes,
               (unsigned long long)bytes);
    else
        mt_say("%s: a card has at least 1GiB", at);
}

/* "80GB" is a number in a name as often as a size, and the card has neither. */
static void warn_of_gb(const struct mt_cards *cards, const char *at, const char *word,
                       uint64_t bytes)
{
    enum { GB = 1000000000 };
    size_t n = strlen(word);
    const struct mt_card *card = bytes % GB == 0 ? mt_cards_sold(cards, bytes / GB) : NULL;
    char taken[40], has[40];
    if (card == NULL || n < 2 || !mt_same_word(word + n - 2, "gb"))
        return;
    mt_say("%s %s is %s; a card that is sold as one of %llu GB has more: %s %s is %s", at, word,
           mt_fmt_bytes(taken, bytes), (unsigned long long)(bytes / GB), at, card->name,
           mt_fmt_bytes(has, card->bytes));
}

static enum mt_exit read_word(const struct mt_cards *cards, const char *at, const char *word,
                              bool is_quiet, uint64_t *bytes)
{
    const struct mt_card *card;
    if (word == NULL)
        return MT_EXIT_OK;
    if (mt_capacity_is_size(word, bytes)) {
        if (!is_quiet)
            warn_of_gb(cards, at, word, *bytes);
    } else if ((card = mt_cards_find(cards, word)) != NULL) {
        *bytes = card->bytes;
    } else {
        *bytes = 0;
        refuse(cards, at, word);
        return MT_EXIT_USAGE;
    }
    return MT_EXIT_OK;
}

enum mt_exit mt_capacity_read(struct mt_cli_rules *r, const struct mt_cli *c)
{
    const struct mt_preferences *p = c->preferences;
    enum mt_exit status = MT_EXIT_OK;
    struct mt_cards cards = {0};
    struct mt_err err;
    if (c->capacity == NULL && (p == NULL || p->capacity == NULL))
        return MT_EXIT_OK;
    memset(&err, 0, sizeof err);
    if (mt_cards_load(&cards, r->rules.overlay, r->rules.overlay_len, r->rules.overlay_name,
                      &err) != MT_OK) {
        mt_say_err(NULL, &err);
        status = MT_EXIT_FAILED;
    } else {
        status = read_word(&cards, "--capacity", c->capacity, c->quiet, &r->capacity);
    }
    if (status == MT_EXIT_OK && p != NULL)
        status = read_word(&cards, p->capacity_at, p->capacity, c->quiet, &r->capacity_else);
    mt_cards_done(&cards);
    return status;
}
