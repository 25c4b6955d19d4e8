/* advice/allocation.c -- AReaL's allocation strings: "fsdp:d4", "megatron:d2p2t2", and the older
 * "sglang:d4t1+fsdp:d4" of allocation_mode, which holds both. A remedy that divides something over
 * more GPUs takes them from the data-parallel groups: the product stays. */
#include "analysis/advice/advice.h"
#include "analysis/setup/settings.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEGREE 65536u

/* A part of the string: [begin, end) with its letters from `degrees` on. */
struct part {
    const char *begin, *degrees, *end;
};

static bool is_letter(char c) { return c == 'd' || c == 't' || c == 'p' || c == 'c' || c == 'e'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "fsdp:d4t2", "sglang.d4p1t1", "d4p1t1": a name or none, then letters with numbers and nothing
 * else. */
static bool read_part(const char *begin, const char *end, struct part *p)
{
    const char *s = begin;
    while (s < end && *s != ':' && *s != '.')
        s++;
    p->begin = begin;
    p->end = end;
    p->degrees = s < end ? s + 1 : begin;
    if (p->degrees == end)
        return false;
    for (s = p->degrees; s < end;) {
        if (!is_letter(*s) || s + 1 == end || !is_digit(s[1]))
            return false;
        for (s++; s < end && is_digit(*s); s++)
            continue;
    }
    return true;
}

static bool named(const struct part *p, const char *name)
{
    size_t n = strlen(name);
    return p->degrees > p->begin && (size_t)(p->degrees - p->begin) == n + 1 &&
           memcmp(p->begin, name, n) == 0;
}

static bool is_engine(const struct mt_framework_rules *r, const struct part *p)
{
    for (int f = 1; f < mt_framework_count(r); f++)
        if (mt_framework_at(r, f)->kind == MT_FWK_ENGINE && named(p, mt_framework_at(r, f)->id))
            return true;
    return false;
}

/* The part of the trainer or of the engine in a string that may hold both: the engine's has its
 * name, and of two parts one is the engine's. */
static bool find_part(const struct mt_framework_rules *r, const char *text, bool engine,
                      struct part *p)
{
    const char *plus = strchr(text, '+');
    struct part first, second;
    if (!read_part(text, plus != NULL ? plus : text + strlen(text), &first))
        return false;
    if (plus == NULL) {
        *p = first;
        return is_engine(r, &first) == engine;
    }
    if (!read_part(plus + 1, plus + 1 + strlen(plus + 1), &second) ||
        is_engine(r, &first) == is_engine(r, &second))
        return false;
    *p = is_engine(r, &first) == engine ? first : second;
    return true;
}

/* The degree of a letter; 1 where it does not stand there, 0 = not usable. */
static unsigned degree(const struct part *p, char letter)
{
    for (const char *s = p->degrees; s < p->end; s++) {
        unsigned v = 0;
        if (*s != letter)
            continue;
        for (s++; s < p->end && is_digit(*s) && v <= MAX_DEGREE; s++)
            v = v * 10 + (unsigned)(*s - '0');
        return v <= MAX_DEGREE ? v : 0;
    }
    return 1;
}

/* "fsdp" among "archon megatron". */
static bool may(const struct part *p, const char *names)
{
    char word[16];
    for (const char *s = names; *s != 0;) {
        size_t n = strcspn(s, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), s);
        if (named(p, word))
            return true;
        s += n + (s[n] == ' ');
    }
    return names[0] == 0;
}

static bool divides(const struct mt_runconf *conf, const char *what, unsigned to, bool or_back)
{
    uint64_t n = 0;
    return !mt_runconf_number(mt_runconf_get(conf, what), &n) || n == 0 || n % to == 0 ||
           (or_back && to % n == 0);
}

/* Tensor and context parallelism divide the attention heads; where their number is known a degree
 * that does not is none. Those of keys and values are copied where there are fewer, but by FSDP and
 * Megatron's tensor parallelism not (areal/engine/fsdp_utils/parallel.py). */
static bool heads_allow(const struct mt_runconf *conf, char give, unsigned to, bool engine)
{
    return (give != 't' && give != 'c') || (divides(conf, "heads", to, false) &&
                                            divides(conf, "kv_heads", to, engine || give == 'c'));
}

static bool is_set(const struct mt_runconf *conf, const char *key, const char **value)
{
    struct mt_runconf_hit hit;
    if (conf == NULL || !mt_runconf_find(conf, key, &hit) || hit.entry == NULL || hit.is_default ||
        hit.value == NULL)
        return false;
    *value = hit.value;
    return true;
}

/* Where the layout of a part stands: by its own key, of the reference in the actor's, which it
 * follows, of versions that have one string for all in that. */
static bool find_layout(const struct mt_runconf *conf, const struct mt_fix_layout *layout,
                        const char **key, const char **text, struct part *p)
{
    const char *keys[] = {layout->setting, "actor.backend", "allocation_mode"};
    bool engine = strcmp(layout->setting, "rollout.backend") == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if ((i == 1 && engine) || !is_set(conf, keys[i], text) ||
            !find_part(conf->rules, *text, engine, p))
            continue;
        *key = keys[i];
        return true;
    }
    return false;
}

enum mt_layout_found mt_advice_layout(const struct mt_runconf *conf,
                                      const struct mt_fix_layout *layout, char *buf, size_t cap,
                                      const char **key)
{
    const char *text = NULL, *s;
    struct part p;
    unsigned take, give;
    size_t n;
    bool written = false;

    if (!find_layout(conf, layout, key, &text, &p) || strlen(text) + 24 > cap)
        return MT_LAYOUT_NOT_KNOWN;
    take = degree(&p, layout->take);
    give = degree(&p, layout->give);
    if (!may(&p, layout->names) || take < 2 || take % 2 != 0 || give == 0 ||
        give > MAX_DEGREE / 2 ||
        !heads_allow(conf, layout->give, give * 2, strcmp(layout->setting, "rollout.backend") == 0))
        return MT_LAYOUT_AT_END;
    n = (size_t)snprintf(buf, cap, "\"%.*s", (int)(p.degrees - text), text);
    for (s = p.degrees; s < p.end && n < cap;) {
        char letter = *s;
        unsigned v = letter == layout->take   ? take / 2
                     : letter == layout->give ? give * 2
                                              : degree(&p, letter);
        written = written || letter == layout->give;
        n += (size_t)snprintf(buf + n, cap - n, "%c%u", letter, v);
        for (s++; s < p.end && is_digit(*s); s++)
            continue;
    }
    if (!written && n < cap)
        n += (size_t)snprintf(buf + n, cap - n, "%c%u", layout->give, give * 2);
    if (n < cap)
        n += (size_t)snprintf(buf + n, cap - n, "%s\"", p.end);
    return n < cap ? MT_LAYOUT_MADE : MT_LAYOUT_NOT_KNOWN;
}
