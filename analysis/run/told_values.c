/* run/told_values.c -- values of settings in a person's prose: "rollout_gpu_memory_utilization
 * 0.30". A number that is advised would be no help where the run has a better one. */
#include "analysis/run/read_log.h"

#include "analysis/log/spoken.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/settings.h"

#include <stdio.h>
#include <string.h>

enum { SHORTEST = 8 }; /* of a last component: shorter ones are words of the language */

static char plain(char c)
{
    return (char)(c == '.' || c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c | 32 : c);
}

static bool is_part(char c)
{
    c = plain(c);
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static const char *last_of(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key + strspn(key, "-");
}

/* The n bytes at word are the key, or its end from a component on: parents may be joined by '_'. */
static bool is_end_of(const char *key, const char *word, size_t n)
{
    size_t len;
    key += strspn(key, "-");
    len = strlen(key);
    if (n > len || (n < len && key[len - n - 1] != '.'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (plain(key[len - n + i]) != plain(word[i]))
            return false;
    return true;
}

/* What is asked, usual or advised is no value of the run. */
static bool is_others(const char *sentence)
{
    static const char *const words[] = {"default", "should", "recommend", "suggest", "?", NULL};
    for (const char *const *w = words; *w != NULL; w++)
        if (strstr(sentence, *w) != NULL)
            return true;
    return false;
}

/* The number behind a key's name at p: "`x`: 0.3", "x 0.3", "x to 0.3". 0 = there is none. */
static size_t number_behind(const char **p)
{
    static const char *const words[] = {"to ", "is ", "of ", "at ", NULL};
    size_t n;
    *p += strspn(*p, " `*\"'=:|");
    for (const char *const *w = words; *w != NULL; w++)
        if (strncmp(*p, *w, strlen(*w)) == 0)
            *p += strlen(*w);
    *p += strspn(*p, " `*\"'");
    n = strspn(*p, "0123456789.");
    while (n > 0 && (*p)[n - 1] == '.')
        n--;
    return n < 20 && ((*p)[n] == '.' || !is_part((*p)[n])) && (*p)[n] != '%' ? n : 0;
}

/* A person's line, or one of a person's list. Code and files of settings are read elsewhere. */
static bool is_prose(const char *s)
{
    s += strspn(s, " \t");
    if ((*s == '-' || *s == '*') && s[1] == ' ')
        return strpbrk(s, "(){}") == NULL && strstr(s, " = ") == NULL && strstr(s, " --") == NULL;
    return mt_spoken_is_persons(s);
}

struct told {
    char number[20];
    uint64_t line;
    bool differs;
};

/* Of a share that is named twice the smaller one; of other numbers none. */
static void take(struct told *t, const char *s, size_t n, uint64_t line)
{
    char number[20] = "";
    struct mt_value a, b;
    if (n >= sizeof number)
        return;
    memcpy(number, s, n);
    a = mt_setting_number(number);
    b = mt_setting_number(t->number);
    if (!a.known)
        return;
    if (t->number[0] != '\0' && (a.v > 1 || b.v > 1))
        t->differs |= a.v > b.v || a.v < b.v;
    if (t->number[0] == '\0' || a.v < b.v) {
        memcpy(t->number, number, sizeof number);
        t->line = line;
    }
}

static void look(struct told *t, const struct mt_log *log, const char *key)
{
    const char *last = last_of(key);
    char small[128];
    size_t n = strlen(last);
    if (n < SHORTEST || n >= sizeof small || strpbrk(last, "_-") == NULL)
        return;
    for (size_t i = 0; i <= n; i++)
        small[i] = plain(last[i]);
    for (uint32_t i = 0; i < log->prose.n; i++) {
        struct mt_spoken spoken;
        if (mt_spoken_is_logged(log->prose.p[i].text) || !is_prose(log->prose.p[i].text))
            continue;
        mt_spoken_line(&spoken, log, i);
        for (char *s; (s = mt_spoken_sentence(&spoken)) != NULL;)
            for (const char *p = s; (p = strstr(p, small)) != NULL;) {
                const char *from = p, *end = p + n;
                size_t k;
                while (from > s && is_part(from[-1]))
                    from--;
                from += strspn(from, "-_");
                p = end;
                k = is_end_of(key, from, (size_t)(end - from)) && !is_others(s) ? number_behind(&p)
                                                                                : 0;
                if (k != 0)
                    take(t, p, k, spoken.line);
            }
    }
}

/* An earlier key ends alike: the words mean that one. */
static bool is_later(const struct mt_runconf *conf, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (conf->keys.p[k].framework == conf->keys.p[i].framework &&
            strcmp(last_of(conf->keys.p[k].key), last_of(conf->keys.p[i].key)) == 0)
            return true;
    return false;
}

static enum mt_rc add(struct mt_runconf *conf, const struct mt_log_file *f, const char *key,
                      const struct told *t, struct mt_err *err)
{
    const char *slash = strrchr(f->name, '/');
    uint32_t first = conf->conf.entries.n;
    char text[MT_CONF_KEY + 32];
    enum mt_rc rc;
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)MT_CONF_KEY, key, *key == '-' ? " " : "=",
                   t->number);
    rc = mt_conf_args(&conf->conf, text, strlen(text), slash != NULL ? slash + 1 : f->name, false,
                      err);
    for (; first < conf->conf.entries.n; first++)
        conf->conf.entries.p[first].line = t->line <= UINT32_MAX ? (uint32_t)t->line : 0;
    return rc;
}

enum mt_rc mt_logs_told_values(const struct mt_logs *logs, struct mt_runconf *conf,
                               struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    bool any = false, was_set = conf->any;
    for (uint32_t i = 0; conf->framework > MT_FW_NONE && i < conf->keys.n && rc == MT_OK; i++) {
        const struct mt_runconf_key *k = &conf->keys.p[i];
        if ((int)k->framework != conf->framework || k->part != NULL ||
            strchr(k->key, '*') != NULL || is_later(conf, i))
            continue;
        for (uint32_t f = 0; f < logs->files.n && rc == MT_OK; f++) {
            struct told t = {.line = 0};
            struct mt_runconf_hit hit;
            look(&t, &logs->files.p[f].log, k->key);
            if (t.number[0] == '\0' || t.differs ||
                (mt_runconf_find(conf, k->key, &hit) && !hit.is_default))
                continue;
            any = true;
            rc = add(conf, &logs->files.p[f], k->key, &t, err);
        }
    }
    if (!any)
        return MT_OK;
    conf->is_partial |= !was_set; /* a few words are no list of all that is set */
    return mt_runconf_added(conf, MT_FROM_LOG, err) == MT_OK ? rc : MT_ENOMEM;
}
