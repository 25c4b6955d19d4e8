/* run/told_values.c -- values of settings in a person's prose: "rollout_gpu_memory_utilization
 * 0.30". A number that is advised would be no help where the run has a better one. */
#include "analysis/run/read_log.h"
#include "analysis/run/told_lines.h"

#include "analysis/log/saying.h"
#include "analysis/log/spoken.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/settings.h"
#include "analysis/setup/shape.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHORTEST = 8 }; /* of a last component: shorter ones are words of the language */

static const char *last_of(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key + strspn(key, "-");
}

/* The n bytes at word are the key, or its end from a component on: parents may be joined by '_',
 * and the words of a name be parted by blanks. */
static bool is_end_of(const char *key, const char *word, size_t n)
{
    size_t len;
    key += strspn(key, "-");
    len = strlen(key);
    if (n > len || (n < len && key[len - n - 1] != '.'))
        return false;
    for (size_t i = 0; i < n; i++)
        if (mt_told_plain(key[len - n + i]) !=
            mt_told_plain((char)(word[i] == ' ' ? '_' : word[i])))
            return false;
    return true;
}

/* What is asked, usual, advised or known to go well is no value of the run that failed. The Chinese
 * ones: by default, is advised, should, whether, can one, runs well, is normal. */
static bool is_others(const char *sentence)
{
    static const char *const words[] = {
        "default", "should",  "recommend", "suggest",   "would ", "want to", "need to", "works",
        " fits",   "is fine", "runs fine", "fine with", "if i ",  "?",       "默认",    "建议",
        "应该",    "是否",    "能否",      "能跑",      "正常",   NULL};
    return mt_log_has_one(sentence, words);
}

struct told {
    char name[64]; /* of a key that has a shape, as it is written */
    char number[20];
    uint64_t line;
    bool differs;
    char sign; /* written() */
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

/* Bytes of the name at p: small, with '-' or a blank for each '_'. 0 = it is another. */
static size_t name_at(const char *p, const char *small, bool *spaced)
{
    size_t n = 0;
    *spaced = false;
    for (; small[n] != '\0'; n++) {
        *spaced |= small[n] == '_' && p[n] == ' ';
        if (mt_told_plain(p[n]) != small[n] && !(small[n] == '_' && p[n] == ' '))
            return 0;
    }
    return n;
}

/* What stands before a name in words is no part of it: "a batch size", not "micro batch size". */
static bool begins_name(const char *s, const char *at)
{
    static const char *const before[] = {"a",   "the",  "my",   "our",   "with", "and",
                                         "use", "uses", "used", "using", "set",  "have",
                                         "is",  "at",   "to",   "by",    "of",   NULL};
    const char *from;
    while (at > s && at[-1] == ' ')
        at--;
    for (from = at; from > s && mt_told_is_part(from[-1]);)
        from--;
    if (from == at)
        return true;
    for (const char *const *w = before; *w != NULL; w++)
        if (strlen(*w) == (size_t)(at - from) && strncmp(from, *w, (size_t)(at - from)) == 0)
            return true;
    return false;
}

/* The key is named from `from` to `end` so that no other thing can be meant. A short name, or one
 * that is a word of the language, is a key where it is a flag or is given its value with '='. */
static bool is_named(const char *s, const char *from, const char *end, const char *key, bool spaced)
{
    const char *last = last_of(key);
    bool flag = from - s >= 2 && from[-1] == '-' && from[-2] == '-';
    if (!is_end_of(key, from, (size_t)(end - from)) || (from > s && from[-1] == ')'))
        return false;
    if (spaced)
        return begins_name(s, from);
    if (strlen(last) >= SHORTEST && strpbrk(last, "_-") != NULL)
        return true;
    return strlen(last) > 1 && strchr(key, '.') == NULL && (flag || *end == '=');
}

/* How the text writes the name: '-' as a flag, '_' as in a file or a script, 0 in words. */
static char written(const char *s, const char *from, const char *end)
{
    if (from > s && from[-1] == '-')
        return '-';
    for (const char *p = from; p < end; p++)
        if (*p == '-' || *p == '_')
            return *p;
    return *end == '=' || *end == ':' ? '_' : 0;
}

/* The name in the letters that the line has: a key of a program's own may need its capitals. */
static void name_as(struct told *t, const char *as, size_t n)
{
    if (as == NULL || n >= sizeof t->name)
        return;
    memcpy(t->name, as, n);
    t->name[n] = '\0';
}

/* as_written: the name is a script's own, which may need its capitals and dots. */
static void look(struct told *t, const struct mt_log *log, const char *key, bool as_written)
{
    const char *last = last_of(key);
    char small[128];
    size_t n = strlen(last);
    if (n == 0 || n >= sizeof small)
        return;
    for (size_t i = 0; i <= n; i++)
        small[i] = mt_told_plain(last[i]);
    for (uint32_t i = 0; i < log->prose.n; i++) {
        struct mt_spoken spoken;
        if (mt_spoken_is_logged(log->prose.p[i].text) || !mt_told_is_line(log->prose.p[i].text))
            continue;
        mt_spoken_line(&spoken, log, i);
        for (char *s; (s = mt_spoken_sentence(&spoken)) != NULL;)
            for (const char *p = s; *p != '\0';) {
                bool spaced = false;
                size_t k = mt_told_plain(*p) == small[0] ? name_at(p, small, &spaced) : 0;
                const char *from = p, *end = p + k;
                if (k == 0 || mt_told_is_part(*end)) {
                    p++;
                    continue;
                }
                while (from > s && mt_told_is_part(from[-1]))
                    from--;
                from += strspn(from, "-_.");
                p = end;
                if (!is_named(s, from, end, key, spaced) || is_others(s) ||
                    mt_saying_is_of_others(s, from))
                    continue;
                k = mt_told_number(&p);
                k = mt_told_number_now(&p, k);
                if (k == 0 && !mt_told_is_on(end))
                    continue;
                t->sign = written(s, from, end);
                if (as_written && t->sign == '_' && !spaced)
                    name_as(t, mt_spoken_written(&spoken, log, i, from), (size_t)(end - from));
                take(t, k != 0 ? p : "True", k != 0 ? k : 4, spoken.line);
            }
    }
}

/* The key at p, up to its end in a name of at least two parts; 0 = none begins there. */
static size_t key_at(const char *s, const char *p, char name[64])
{
    size_t n = 0;
    bool parts = false;
    if (p > s && (mt_told_is_part(p[-1]) || p[-1] == ')'))
        return 0;
    for (; n < 63 && mt_told_is_part(p[n]); n++) {
        parts |= n != 0 && mt_told_plain(p[n]) == '_';
        name[n] = p[n];
    }
    while (n > 0 && name[n - 1] == '.')
        n--;
    name[n] = '\0';
    return parts && !mt_told_is_part(p[n]) ? n : 0;
}

/* The same as look(), for whatever key has the shape. */
static void look_shape(struct told *t, const struct mt_log *log,
                       const struct mt_runconf_setting *setting, const char *shape)
{
    for (uint32_t i = 0; i < log->prose.n; i++) {
        struct mt_spoken spoken;
        const char *declared;
        char flag[64];
        if (mt_spoken_is_logged(log->prose.p[i].text) || !mt_told_is_line(log->prose.p[i].text))
            continue;
        mt_spoken_line(&spoken, log, i);
        if ((declared = mt_told_declared(log->prose.p[i].text, flag)) != NULL) {
            if (setting->is_switch || !mt_runconf_has_shape(setting, shape, flag + 2))
                continue;
            t->differs |= t->name[0] != '\0' && strcmp(t->name, flag) != 0;
            memcpy(t->name, flag, sizeof t->name);
            t->sign = '-';
            take(t, declared, mt_told_digits(declared), log->prose.p[i].line);
            continue;
        }
        for (char *s; (s = mt_spoken_sentence(&spoken)) != NULL;)
            for (const char *p = s; *p != '\0'; p++) {
                char name[64];
                size_t n = key_at(s, p, name);
                const char *value = p + n;
                if (n == 0 || !mt_runconf_has_shape(setting, shape, name) || is_others(s) ||
                    mt_saying_is_of_others(s, p) ||
                    (n = setting->is_switch
                             ? mt_told_switch(&value)
                             : mt_told_number_now(&value, mt_told_number(&value))) == 0)
                    continue;
                if (setting->is_switch && mt_spoken_written(&spoken, log, i, value) != NULL)
                    value = mt_spoken_written(&spoken, log, i, value);
                t->differs |= t->name[0] != '\0' && strcasecmp(t->name, name) != 0;
                if (strcasecmp(t->name, name) != 0) /* the line above was read as it is written */
                    memcpy(t->name, name, sizeof t->name);
                name_as(t, mt_spoken_written(&spoken, log, i, p), strlen(name));
                t->sign = name[0] == '-' ? '-' : '_';
                take(t, value, n, spoken.line);
            }
    }
}

/* As the text writes it: "sequence_len: 8192" is no flag, "--batch-size 16" is. What is said in
 * words has the key's own form. */
static void write_key(char out[MT_CONF_KEY], const char *key, char sign)
{
    bool flag = *key == '-' ? sign != '_' : sign == '-' && strchr(key, '.') == NULL;
    const char *name = key + strspn(key, "-");
    size_t n = 0;
    if (flag)
        out[n++] = '-', out[n++] = '-';
    for (; *name != '\0' && n + 1 < MT_CONF_KEY; name++)
        out[n++] = (char)(*key == '-' && !flag && *name == '-'                    ? '_'
                          : *key != '-' && flag && (*name == '_' || *name == '-') ? '-'
                                                                                  : *name);
    out[n] = '\0';
}

static enum mt_rc add(struct mt_runconf *conf, const struct mt_log_file *f, const char *key,
                      const struct told *t, struct mt_err *err)
{
    const char *slash = strrchr(f->name, '/');
    uint32_t first = conf->conf.entries.n;
    char text[MT_CONF_KEY + 32], name[MT_CONF_KEY];
    enum mt_rc rc;
    write_key(name, key, t->sign);
    (void)snprintf(text, sizeof text, "%s%s%s", name, *name == '-' ? " " : "=", t->number);
    rc = mt_conf_args(&conf->conf, text, strlen(text), slash != NULL ? slash + 1 : f->name, false,
                      err);
    for (; first < conf->conf.entries.n; first++)
        conf->conf.entries.p[first].line = t->line <= UINT32_MAX ? (uint32_t)t->line : 0;
    return rc;
}

/* A file or a command sets what ends in that name, however that is written, and the text shows the
 * line: `TRAIN: BATCH_SIZE: 8` is no second batch, nor is `--num_rays 8` of a command. */
static bool is_set_so(const struct mt_runconf *conf, const char *key)
{
    size_t n;
    key += strspn(key, "-");
    n = strlen(key);
    for (uint32_t i = 0; i < conf->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &conf->conf.entries.p[i];
        size_t k = strlen(e->key), at = 0;
        if (e->is_default || k < n || (k > n && e->key[k - n - 1] != '.'))
            continue;
        while (at < n && mt_told_plain(e->key[k - n + at]) == mt_told_plain(key[at]))
            at++;
        if (at == n)
            return true;
    }
    return false;
}

/* The value that the texts give a name, or whatever has the shape; true = it was added. */
static bool add_told(struct mt_runconf *conf, const struct mt_logs *logs,
                     const struct mt_runconf_setting *setting, const char *name, enum mt_rc *rc,
                     struct mt_err *err)
{
    bool any = false;
    for (uint32_t f = 0; f < logs->files.n && *rc == MT_OK; f++) {
        struct told t = {.line = 0};
        struct mt_runconf_hit hit;
        const char *key;
        if (*name == '*')
            look_shape(&t, &logs->files.p[f].log, setting, name);
        else
            look(&t, &logs->files.p[f].log, name, setting != NULL);
        key = t.name[0] != '\0' ? t.name : name;
        if (t.number[0] == '\0' || t.differs ||
            (mt_runconf_find(conf, key, &hit) && !hit.is_default) || is_set_so(conf, key))
            continue;
        any = true;
        *rc = add(conf, &logs->files.p[f], key, &t, err);
    }
    return any;
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

static bool of_program(struct mt_runconf *conf, const struct mt_logs *logs, enum mt_rc *rc,
                       struct mt_err *err)
{
    bool any = false;
    for (uint32_t i = 0; i < conf->keys.n && *rc == MT_OK; i++) {
        const struct mt_runconf_key *k = &conf->keys.p[i];
        if ((int)k->framework == conf->framework && k->part == NULL &&
            strchr(k->key, '*') == NULL && !is_later(conf, i))
            any |= add_told(conf, logs, NULL, k->key, rc, err);
    }
    return any;
}

/* "  Instantaneous batch size per device = 4", which a program prints of what it was set to. */
static void look_printed(struct told *t, const struct mt_log *log, const char *printed)
{
    for (uint32_t i = 0; i < log->prose.n; i++) {
        struct mt_spoken spoken;
        const char *p;
        size_t n;
        mt_spoken_line(&spoken, log, i);
        p = strstr(spoken.text, printed);
        p = p != NULL ? p + strlen(printed) : "";
        p += strspn(p, " ");
        if (*p != '=' && *p != ':')
            continue;
        p += 1 + strspn(p + 1, " ");
        if ((n = mt_told_digits(p)) != 0)
            take(t, p, n, spoken.line);
    }
}

static bool of_printed(struct mt_runconf *conf, const struct mt_logs *logs, enum mt_rc *rc,
                       struct mt_err *err)
{
    bool any = false;
    for (uint32_t i = 0; i < conf->keys.n; i++)
        for (uint32_t f = 0; conf->keys.p[i].printed != NULL && f < logs->files.n; f++) {
            struct told t = {.sign = '_'};
            struct mt_runconf_hit hit;
            look_printed(&t, &logs->files.p[f].log, conf->keys.p[i].printed);
            if (*rc != MT_OK || t.number[0] == '\0' || t.differs ||
                (mt_runconf_find(conf, conf->keys.p[i].key, &hit) && !hit.is_default))
                continue;
            any = true;
            *rc = add(conf, &logs->files.p[f], conf->keys.p[i].key, &t, err);
        }
    return any;
}

/* What the shape "*batch_size*" is called when nothing stands around it, and "--batch-size" in a
 * script; "" = it has no one name. */
static void name_of_shape(char out[MT_CONF_KEY], const char *key)
{
    bool shape = *key == '*';
    size_t n;
    key += strspn(key, "*-");
    n = strcspn(key, "*");
    if (*key == '_' || n >= MT_CONF_KEY || (shape && key[n] == '*' && key[n + 1] != '\0'))
        n = 0;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(key[i] == '-' ? '_' : key[i]);
    out[n] = '\0';
}

/* Names that scripts have in common, of which settings.json has the shapes. The first that is told
 * is the one: "batch size 16" is no second batch. */
static bool of_scripts(struct mt_runconf *conf, const struct mt_logs *logs, enum mt_rc *rc,
                       struct mt_err *err)
{
    bool any = false;
    for (uint32_t i = 0; i < conf->settings.n; i++) {
        const struct mt_runconf_setting *s = &conf->settings.p[i];
        bool shapes = false, found = false;
        for (uint32_t k = s->first; k < s->first + s->n; k++)
            shapes |= conf->keys.p[k].key[0] == '*';
        for (uint32_t k = s->first; shapes && !found && k < s->first + s->n && *rc == MT_OK; k++) {
            const char *key = conf->keys.p[k].key;
            char name[MT_CONF_KEY];
            name_of_shape(name, key);
            found = (name[0] != '\0' && add_told(conf, logs, s, name, rc, err)) ||
                    (*key == '*' && add_told(conf, logs, s, key, rc, err));
        }
        any |= found;
    }
    return any;
}

enum mt_rc mt_logs_told_values(const struct mt_logs *logs, struct mt_runconf *conf,
                               struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    bool was_set = conf->any, program = conf->framework > MT_FW_NONE;
    bool any = of_printed(conf, logs, &rc, err);
    any |= program && of_program(conf, logs, &rc, err);
    if (any && mt_runconf_added(conf, MT_FROM_LOG, err) != MT_OK)
        return MT_ENOMEM;
    /* a trainer is a library: the script around it has settings of its own */
    if (rc == MT_OK &&
        (!program || mt_framework_at(conf->rules, conf->framework)->kind == MT_FWK_TRAINER))
        any |= of_scripts(conf, logs, &rc, err);
    if (!any)
        return rc;
    conf->is_partial |= !was_set; /* a few words are no list of all that is set */
    return mt_runconf_added(conf, MT_FROM_LOG, err) == MT_OK ? rc : MT_ENOMEM;
}
