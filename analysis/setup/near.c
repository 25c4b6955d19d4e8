/* setup/near.c -- a guess has to be right: short names, and all that some program has, are left
 * alone. */
#include "analysis/setup/near.h"

#include "analysis/base/key.h"
#include "parser/base/text.h"

#include <string.h>

/* In shorter names two letters make another word. */
#define LEAST 8
#define MOST_EDITS 2

/* Both without dashes in front; files and flags write '-' for '_'. */
static const char *plain(const char *key, char *buf, size_t cap)
{
    size_t n = 0;
    key += strspn(key, "-+");
    for (; key[n] != '\0' && n + 1 < cap; n++)
        buf[n] = key[n] == '-' ? '_' : key[n];
    buf[n] = '\0';
    return buf;
}

/* "min" for "max" is no slip, nor is "top_k" for "top_p": of a word between two '_' at most a third
 * of the letters differ. */
static bool are_slips(const char *a, const char *b)
{
    char word[2][MT_CONF_KEY + 1];
    unsigned edits = 0;
    for (;;) {
        size_t n = strcspn(a, "_"), k = strcspn(b, "_");
        unsigned d;
        memcpy(word[0], a, n);
        memcpy(word[1], b, k);
        word[0][n] = word[1][k] = '\0';
        d = mt_edits(word[0], word[1], MOST_EDITS);
        if (d * 3 > k)
            return false;
        edits += d;
        a += n;
        b += k;
        if (*a == '\0' || *b == '\0')
            return *a == *b && edits <= MOST_EDITS;
        a++, b++;
    }
}

/* One component differs, by a letter or two, and it is a long one. */
static bool is_misspelt(const char *key, const char *known)
{
    size_t from = 0, end, tail;
    char component[2][MT_CONF_KEY + 1];
    size_t n = strlen(key), k = strlen(known);
    if (n > k + MOST_EDITS || k > n + MOST_EDITS)
        return false;
    for (size_t i = 0; key[i] != '\0' && key[i] == known[i]; i++)
        if (key[i] == '.')
            from = i + 1;
    for (tail = 0; tail < n - from && tail < k - from && key[n - 1 - tail] == known[k - 1 - tail];
         tail++) {
    }
    /* tail characters are the end of both, so that key[n - tail] is one of key */
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    while (tail > 0 && key[n - tail] != '.')
        tail--;
    end = n - tail;
    memcpy(component[0], key + from, end - from);
    component[0][end - from] = '\0';
    memcpy(component[1], known + from, k - tail - from);
    component[1][k - tail - from] = '\0';
    return strchr(component[0], '.') == NULL && strchr(component[1], '.') == NULL &&
           strlen(component[1]) >= LEAST && are_slips(component[0], component[1]);
}

/* At the top level, where it belongs below a section. A part of a path is left alone: it may be
 * that of the framework's other programs. */
static bool is_cut_off(const char *key, const char *known)
{
    size_t n = strlen(key), k = strlen(known);
    return n >= LEAST && strchr(key, '.') == NULL && k > n + 1 && known[k - n - 1] == '.' &&
           strcmp(known + k - n, key) == 0;
}

/* Some program has a key or a flag of that name, or it is one that memtrace gives a setting. */
static bool is_known(const struct mt_runconf *rc, const char *written, const char *key)
{
    char buf[MT_CONF_KEY + 1];
    for (uint32_t i = 0; i < rc->keys.n; i++)
        if (strcmp(plain(rc->keys.p[i].key, buf, sizeof buf), key) == 0)
            return true;
    for (uint32_t i = 0; i < rc->settings.n; i++)
        if (mt_same_key(rc->settings.p[i].name, written))
            return true;
    return false;
}

static bool is_set(const struct mt_runconf *rc, const char *key)
{
    struct mt_runconf_hit hit;
    return mt_runconf_find(rc, key, &hit) && !hit.is_default;
}

const struct mt_runconf_key *mt_runconf_near(const struct mt_runconf *rc, uint32_t entry)
{
    const struct mt_conf_entry *e = &rc->conf.entries.p[entry];
    const struct mt_runconf_key *found = NULL;
    char key[MT_CONF_KEY + 1], known[MT_CONF_KEY + 1];
    bool is_flag = e->form == MT_CONF_FLAG || e->form == MT_CONF_PYTHON;
    int fw = mt_runconf_run(rc);
    size_t n;
    if (fw < 0 || e->is_default || rc->from.p[entry] == MT_FROM_LOG || e->value == NULL ||
        (!is_flag && e->form > MT_CONF_OVERRIDE))
        return NULL;
    n = strlen(plain(e->key, key, sizeof key));
    for (uint32_t i = 0; i < rc->keys.n; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        if (k->framework != fw || strlen(k->key) + MOST_EDITS < n)
            continue;
        (void)plain(k->key, known, sizeof known);
        /* a flag may be abbreviated */
        if ((is_flag && strncmp(known, key, n) == 0) ||
            !(is_misspelt(key, known) || (!is_flag && is_cut_off(key, known))))
            continue;
        if (found != NULL && strcmp(found->key, k->key) != 0)
            return NULL; /* which of the two? */
        found = k;
    }
    return found != NULL && !is_set(rc, found->key) && !is_known(rc, e->key, key) ? found : NULL;
}
