/* setup/cards.c -- the rows are read when a name is asked for: few runs do. */
#include "analysis/setup/cards.h"

#include "parser/base/text.h"

#include <string.h>

/* ---- the rows ---- */

enum { MOST_CARDS = 1024, LEAST_MIB = 1024, MOST_MIB = 16 << 20, MOST_SOLD = 16384 };

static enum mt_rc number(const struct mt_rule_reader *r, const struct mt_rule_spec *f,
                         const cJSON *v, double least, double most, double *out)
{
    double d = cJSON_IsNumber(v) ? v->valuedouble : -1;
    if (d < least || d > most || d != (double)(uint64_t)d)
        return mt_rule_bad(r, f->name, "has to be a whole number from %.0f to %.0f", least, most);
    *out = d;
    return MT_OK;
}

static MT_RULE_GET(get_mib)
{
    double mib = 0;
    enum mt_rc rc = number(r, f, v, LEAST_MIB, MOST_MIB, &mib);
    *(uint64_t *)out = (uint64_t)mib << 20;
    return rc;
}

static MT_RULE_GET(get_sold)
{
    double gb = 0;
    enum mt_rc rc = number(r, f, v, 1, MOST_SOLD, &gb);
    *(uint32_t *)out = (uint32_t)gb;
    return rc;
}

/* The next letter or digit of s, in small letters; 0 at its end. */
static char next(const char **s)
{
    while (**s != '\0') {
        char c = mt_lower(*(*s)++);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            return c;
    }
    return '\0';
}

/* Names are compared by letters and digits alone: one without any would be every name. */
static enum mt_rc check_name(const struct mt_rule_reader *r, const char *field, const char *name)
{
    return next(&name) != '\0' ? MT_OK : mt_rule_bad(r, field, "has no letter and no digit");
}

static const char *const no_names[] = {NULL};

static enum mt_rc read_card(struct mt_rule_reader *r, const cJSON *obj)
{
    static const struct mt_rule_spec fields[] = {
        {"card", mt_get_text, offsetof(struct mt_card, name), .is_needed = true},
        {"also", mt_get_texts, .at = offsetof(struct mt_card, also)},
        {"mib", get_mib, offsetof(struct mt_card, bytes), .is_needed = true},
        {"sold_gb", get_sold, .at = offsetof(struct mt_card, sold_gb)},
        {"source", NULL, .at = 0, .is_needed = true},
        {.name = NULL}};
    struct mt_cards *c = r->of;
    struct mt_card *card;
    enum mt_rc rc;
    if (c->rows.n == MOST_CARDS)
        return mt_rule_bad(r, NULL, "there are more than %d cards", MOST_CARDS);
    if ((card = MT_VEC_PUSH(&c->rows)) == NULL)
        return mt_rule_nomem(r);
    *card = (struct mt_card){.also = no_names};
    rc = mt_rule_fields(r, obj, fields, card);
    if (rc == MT_OK)
        rc = check_name(r, "card", card->name);
    for (const char *const *also = card->also; rc == MT_OK && *also != NULL; also++)
        rc = check_name(r, "also", *also);
    return rc;
}

static enum mt_rc read_maker(struct mt_rule_reader *r, const cJSON *obj)
{
    static const struct mt_rule_spec fields[] = {{"word", mt_get_text, 0, .is_needed = true},
                                                 {.name = NULL}};
    struct mt_cards *c = r->of;
    const char *word = NULL, **slot;
    enum mt_rc rc = mt_rule_fields(r, obj, fields, &word);
    if (rc != MT_OK || (rc = check_name(r, "word", word)) != MT_OK)
        return rc;
    if ((slot = MT_VEC_PUSH(&c->makers)) == NULL)
        return mt_rule_nomem(r);
    *slot = word;
    return MT_OK;
}

enum mt_rc mt_cards_load(struct mt_cards *c, const char *overlay, size_t n, const char *name,
                         struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"cards", "card", "card", read_card},
                                                {"makers", "word", "word", read_maker},
                                                {.name = NULL}};
    struct mt_rule_reader r = {.arena = &c->arena, .err = err, .of = c};
    enum mt_rc rc = mt_rule_overlay(&r, overlay, n, name, lists);
    return rc == MT_OK ? mt_rule_builtin(&r, "cards.json", lists) : rc;
}

void mt_cards_done(struct mt_cards *c)
{
    MT_VEC_DONE(&c->rows);
    MT_VEC_DONE(&c->makers);
    mt_arena_done(&c->arena);
}

/* ---- names ---- */

/* What stands behind `word` in s; NULL: s does not begin with it. */
static const char *behind(const char *s, const char *word)
{
    for (char c; (c = next(&word)) != '\0';)
        if (next(&s) != c)
            return NULL;
    return s;
}

/* "H100-80" and "h100 80gb" are one name. */
static bool is_name(const char *s, const char *name)
{
    const char *rest = behind(s, name);
    char c = rest != NULL ? next(&rest) : 'x', d = c == 'g' ? next(&rest) : '\0';
    return c == '\0' || (c == 'g' && (d == '\0' || (d == 'b' && next(&rest) == '\0')));
}

static const struct mt_card *find(const struct mt_cards *c, const char *name)
{
    for (uint32_t i = 0; i < c->rows.n; i++) {
        bool same = is_name(name, c->rows.p[i].name);
        for (const char *const *also = c->rows.p[i].also; !same && *also != NULL; also++)
            same = is_name(name, *also);
        if (same)
            return &c->rows.p[i];
    }
    return NULL;
}

const struct mt_card *mt_cards_find(const struct mt_cards *c, const char *name)
{
    const struct mt_card *card = find(c, name);
    for (uint32_t i = 0; card == NULL && i < c->makers.n; i++) {
        const char *rest = behind(name, c->makers.p[i]);
        if (rest != NULL && (card = find(c, rest)) == NULL)
            card = mt_cards_find(c, rest); /* "NVIDIA GeForce RTX 4090" */
    }
    return card;
}

const struct mt_card *mt_cards_sold(const struct mt_cards *c, uint64_t gb)
{
    for (uint32_t i = 0; i < c->rows.n; i++)
        if (c->rows.p[i].sold_gb == gb)
            return &c->rows.p[i];
    return NULL;
}
