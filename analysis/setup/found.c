/* setup/found.c -- which of a folder's files say what the run was set to. */
#include "analysis/setup/found.h"

#include "analysis/base/glob.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the kinds of files ---- */

static const char *const as_words[] = {"nothing",   "model",    "config", "script",
                                       "overrides", "composed", NULL};
static const struct mt_rule_spec kind_fields[] = {
    {"file", mt_get_text, offsetof(struct mt_found_kind, file), .is_needed = true},
    {"as", mt_get_word, offsetof(struct mt_found_kind, as), .is_needed = true, .more = as_words},
    {"says", mt_get_text, offsetof(struct mt_found_kind, says), .is_needed = true},
    {"note", NULL, .at = 0},
    {.name = NULL}};

static enum mt_rc read_kind(struct mt_rule_reader *r, const cJSON *obj)
{
    enum { MAX_KINDS = 512 };
    struct mt_found *f = r->of;
    struct mt_found_kind k = {.file = NULL}, *slot;
    enum mt_rc rc = mt_rule_fields(r, obj, kind_fields, &k);
    if (rc == MT_OK && f->kinds.n >= MAX_KINDS)
        rc = mt_rule_bad(r, NULL, "there are more than %d rows, built-in ones included", MAX_KINDS);
    slot = rc == MT_OK ? MT_VEC_PUSH(&f->kinds) : NULL;
    if (slot == NULL)
        return rc == MT_OK ? mt_rule_nomem(r) : rc;
    *slot = k;
    return MT_OK;
}

enum mt_rc mt_found_init(struct mt_found *f, const struct mt_framework_rules *rules,
                         struct mt_err *err)
{
    static const struct mt_rule_list lists[] = {{"run_files", "file", "file", read_kind},
                                                {.name = NULL}};
    struct mt_rule_reader r = {.arena = &f->arena, .err = err, .fw = rules, .of = f};
    const cJSON *own;
    enum mt_rc rc = MT_OK;
    memset(f, 0, sizeof *f);
    f->rules = rules;
    own = mt_framework_overlay(rules, "run_files", &r.file);
    r.is_overlay = true; /* its rows come first: the first that fits a name holds */
    if (own != NULL)
        rc = mt_rule_each(&r, own, lists);
    return rc == MT_OK ? mt_rule_builtin(&r, "files.json", lists) : rc;
}

static void drop(struct mt_found_file *file)
{
    mt_free(file->text);
    mt_runconf_free(file->rc);
    file->text = NULL;
    file->rc = NULL;
}

void mt_found_done(struct mt_found *f)
{
    for (uint32_t i = 0; i < f->files.n; i++) {
        drop(&f->files.p[i]);
        mt_free(f->files.p[i].name);
    }
    MT_VEC_DONE(&f->files);
    MT_VEC_DONE(&f->kinds);
    mt_arena_done(&f->arena);
}

/* As many last components of the path as the pattern has, and none hidden before them. */
static bool fits(const char *pattern, const char *path)
{
    const char *from = path + strlen(path);
    unsigned slashes = 0;
    for (const char *p = pattern; *p != '\0'; p++)
        slashes += *p == '/';
    while (from > path && (from[-1] != '/' || slashes-- > 0))
        from--;
    for (const char *p = path; p < from; p++)
        if (*p == '.' && (p == path || p[-1] == '/'))
            return false;
    return (*pattern == '.' || *from != '.') && mt_glob(pattern, from, strlen(from));
}

const struct mt_found_kind *mt_found_kind_of(const struct mt_found *f, const char *path)
{
    for (uint32_t i = 0; i < f->kinds.n; i++)
        if (fits(f->kinds.p[i].file, path))
            return &f->kinds.p[i];
    return NULL;
}

/* ---- one file ---- */

static enum mt_rc nomem(struct mt_err *err) { return mt_fail(err, MT_ENOMEM, "out of memory"); }

/* A list of what was given on a command line, an item a line: its dashes become blanks. */
static enum mt_rc overrides(struct mt_found_file *file, struct mt_config *c, struct mt_err *err)
{
    for (size_t i = 0; i < file->n; i++)
        if (file->text[i] == '-' && (i == 0 || file->text[i - 1] == '\n'))
            file->text[i] = ' ';
    return mt_conf_args(c, file->text, file->n, file->name, false, err);
}

/* Adds what the file says. MT_EINPUT: it is not what its name says. */
static enum mt_rc read_into(struct mt_found_file *file, struct mt_runconf *rc, struct mt_err *err)
{
    enum mt_rc r = file->kind->as == MT_FOUND_OVERRIDES
                       ? overrides(file, &rc->conf, err)
                       : mt_conf_file(&rc->conf, file->text, file->n, file->name, err);
    enum mt_rc added = mt_runconf_added(rc, MT_FROM_FOUND, err);
    rc->is_partial =
        rc->is_partial || r == MT_WARN; /* of a cut file nothing shows what is default */
    return added != MT_OK ? added : r == MT_WARN ? MT_OK : r;
}

/* How much tells that a file is a run's: a path of a framework, or a variable of an allocator, is
 * its own; one flag may be anybody's. */
static unsigned weight(const struct mt_runconf *rc)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < rc->conf.started.n && n < 2; i++)
        n += mt_framework_of_start(rc->rules, rc->conf.started.p[i]) != MT_FW_NONE ? 2 : 0;
    for (uint32_t i = 0; i < rc->keys.n && n < 2; i++) {
        const struct mt_runconf_key *k = &rc->keys.p[i];
        struct mt_runconf_hit hit;
        bool counts = k->framework != MT_FW_NONE &&
                      /* flags that scripts have in common are rows of PyTorch itself */
                      (!k->is_common || k->framework == mt_framework_plain(rc->rules));
        if (counts && mt_runconf_find(rc, k->key, &hit) && !hit.is_default)
            n += strchr(k->key, '.') != NULL ? 2 : 1;
    }
    return n;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
refuse(struct mt_found_file *file, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (file->why[0] == '\0')
        (void)vsnprintf(file->why, sizeof file->why, fmt, ap);
    va_end(ap);
}

enum mt_rc mt_found_add(struct mt_found *f, const struct mt_found_kind *kind, const char *name,
                        const char *text, size_t n, struct mt_err *err)
{
    struct mt_found_file *file;
    struct mt_err why = {.rc = MT_OK};
    enum mt_rc rc;
    if (f->files.n >= MT_FOUND_MAX) {
        f->n_more++;
        return MT_OK;
    }
    file = MT_VEC_PUSH(&f->files);
    if (file == NULL)
        return nomem(err);
    *file = (struct mt_found_file){.kind = kind, .name = mt_strndup(name, strlen(name))};
    if (file->name == NULL)
        return nomem(err);
    if (kind->as == MT_FOUND_NOTHING)
        refuse(file, "%s", kind->says);
    else if (n > MT_FOUND_BYTES)
        refuse(file, "too large for a file of settings");
    if (file->why[0] != '\0')
        return MT_OK;
    file->text = mt_strndup(text, n);
    file->n = n;
    rc = file->text == NULL ? nomem(err) : mt_runconf_new(&file->rc, f->rules, err);
    if (rc == MT_OK)
        rc = read_into(file, file->rc, &why);
    if (rc == MT_EINPUT || rc == MT_ELIMIT) {
        refuse(file, "cannot be read: %.180s", why.msg);
        file->is_damaged = strcmp(kind->file, "*.json") != 0; /* which are data of all kinds */
    } else if (rc != MT_OK)
        return nomem(err);
    else if (kind->as == MT_FOUND_MODEL
                 ? !file->rc->has_shape && mt_runconf_get(file->rc, "peft_type") == NULL
                 : weight(file->rc) < 2)
        refuse(file, kind->as == MT_FOUND_MODEL ? "no model's: it has neither layers nor adapters"
                                                : "no settings of a framework that memtrace knows");
    if (file->why[0] != '\0')
        drop(file);
    return MT_OK;
}

/* ---- which of them ran ---- */

/* The first setting that a and b have under the same key with two values; NULL = none. */
static const struct mt_runconf_setting *contradiction(const struct mt_runconf *a,
                                                      const struct mt_runconf *b)
{
    for (uint32_t i = 0; i < a->settings.n; i++) {
        struct mt_runconf_hit x, y;
        const char *name = a->settings.p[i].name;
        if (mt_runconf_find(a, name, &x) && mt_runconf_find(b, name, &y) && !x.is_default &&
            !y.is_default && x.model == NULL && y.model == NULL && x.key != NULL && y.key != NULL &&
            strcmp(x.key->key, y.key->key) == 0 && x.key->framework == y.key->framework &&
            x.value != NULL && y.value != NULL && strcmp(x.value, y.value) != 0)
            return &a->settings.p[i];
    }
    return NULL;
}

/* The programs that both are for, where they are two. */
static bool of_two_programs(const struct mt_runconf *a, const struct mt_runconf *b)
{
    int x = mt_runconf_run(a), y = mt_runconf_run(b);
    return x >= 0 && y >= 0 && !mt_framework_alike(a->rules, x, y) &&
           !mt_framework_shares_settings(a->rules, x, y) &&
           !mt_framework_shares_settings(a->rules, y, x);
}

static bool is_open(const struct mt_found_file *file) { return file->why[0] == '\0'; }

/* Files of one kind: what contradicts another one is not used, what merely repeats it neither. */
static void compare(struct mt_found *f, int as)
{
    bool out[MT_FOUND_MAX] = {false};
    for (uint32_t i = 0; i < f->files.n; i++) {
        struct mt_found_file *a = &f->files.p[i];
        for (uint32_t k = 0; k < f->files.n; k++) {
            struct mt_found_file *b = &f->files.p[k];
            const struct mt_runconf_setting *s;
            if (i == k || a->kind->as != as || b->kind->as != as || a->rc == NULL ||
                b->rc == NULL || !(is_open(a) || out[i]) || !(is_open(b) || out[k]))
                continue;
            if ((s = contradiction(a->rc, b->rc)) == NULL && !of_two_programs(a->rc, b->rc))
                continue;
            out[i] = true;
            if (s != NULL)
                refuse(a,
                       "contradicts %.80s (%.60s), and which of them ran is not known: --config "
                       "names it",
                       b->name, s->words);
            else
                refuse(a,
                       "is for another framework than %.80s, and which of them ran is not known: "
                       "--config names it",
                       b->name);
        }
    }
    for (uint32_t i = 0; i < f->files.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (f->files.p[i].kind->as == as && f->files.p[k].kind->as == as &&
                is_open(&f->files.p[i]) && is_open(&f->files.p[k]) &&
                f->files.p[i].n == f->files.p[k].n &&
                memcmp(f->files.p[i].text, f->files.p[k].text, f->files.p[i].n) == 0)
                refuse(&f->files.p[i], "the same as %.80s", f->files.p[k].name);
}

/* The folder of a name. */
static size_t folder(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? (size_t)(slash - name) : 0;
}

/* Beside what was composed for the run nothing else of its framework counts but a launch script
 * that agrees: there is the environment in it. */
static void under_composed(struct mt_found *f, const struct mt_found_file *ran)
{
    for (uint32_t i = 0; i < f->files.n; i++) {
        struct mt_found_file *file = &f->files.p[i];
        if (!is_open(file) || file == ran)
            continue;
        if (file->kind->as == MT_FOUND_OVERRIDES &&
            (folder(file->name) != folder(ran->name) ||
             memcmp(file->name, ran->name, folder(file->name)) != 0))
            refuse(file, "of another run than %.80s", ran->name);
        else if ((file->kind->as == MT_FOUND_CONFIG && (file->rc->framework == ran->rc->framework ||
                                                        of_two_programs(file->rc, ran->rc))) ||
                 (file->kind->as == MT_FOUND_SCRIPT &&
                  (contradiction(file->rc, ran->rc) != NULL || of_two_programs(file->rc, ran->rc))))
            refuse(file, "%.80s says what ran", ran->name);
    }
}

static struct mt_found_file *first_open(struct mt_found *f, int as)
{
    for (uint32_t i = 0; i < f->files.n; i++)
        if (f->files.p[i].kind->as == as && is_open(&f->files.p[i]))
            return &f->files.p[i];
    return NULL;
}

static bool is_for_engine(const struct mt_found_file *file)
{
    return file->rc->framework > MT_FW_NONE &&
           mt_framework_at(file->rc->rules, file->rc->framework)->kind == MT_FWK_ENGINE;
}

/* Beside a trainer, an engine that was started by itself may be a judge or a server of something
 * else: its share of the card is not the trainer's. */
static void without_engines(struct mt_found *f)
{
    const struct mt_found_file *main = NULL;
    for (uint32_t i = 0; i < f->files.n && main == NULL; i++)
        if (is_open(&f->files.p[i]) && f->files.p[i].rc->framework > MT_FW_NONE &&
            !is_for_engine(&f->files.p[i]))
            main = &f->files.p[i];
    for (uint32_t i = 0; i < f->files.n && main != NULL; i++)
        if (is_open(&f->files.p[i]) && is_for_engine(&f->files.p[i]))
            refuse(&f->files.p[i], "is for an engine alone, and %.80s for what trains", main->name);
}

static void decide(struct mt_found *f, const struct mt_runconf *rc)
{
    const struct mt_found_file *ran, *script;
    without_engines(f);
    compare(f, MT_FOUND_COMPOSED);
    ran = first_open(f, MT_FOUND_COMPOSED);
    if (ran != NULL)
        under_composed(f, ran);
    for (int as = MT_FOUND_MODEL; as < MT_FOUND_COMPOSED; as++)
        compare(f, as);
    script = first_open(f, MT_FOUND_SCRIPT);
    for (uint32_t i = 0; i < f->files.n; i++) {
        struct mt_found_file *file = &f->files.p[i];
        if (!is_open(file))
            continue;
        if (file->kind->as == MT_FOUND_CONFIG && script != NULL &&
            of_two_programs(file->rc, script->rc))
            refuse(file, "is for another framework than %.80s", script->name);
        if (file->kind->as == MT_FOUND_MODEL && rc->has_shape)
            refuse(file, "the model's shape was given");
    }
}

enum mt_rc mt_found_use(struct mt_found *f, struct mt_runconf *rc, struct mt_err *err)
{
    enum mt_rc r = MT_OK;
    bool says = false;
    decide(f, rc);
    for (int as = MT_FOUND_MODEL; as <= MT_FOUND_COMPOSED; as++)
        for (uint32_t i = 0; i < f->files.n && r == MT_OK; i++) {
            struct mt_found_file *file = &f->files.p[i];
            if (file->kind->as != as || !is_open(file))
                continue;
            r = read_into(file, rc, err);
            file->is_used = r == MT_OK;
            says |= file->is_used && as != MT_FOUND_MODEL;
        }
    for (uint32_t i = 0; i < f->files.n; i++) {
        struct mt_found_file *file = &f->files.p[i];
        if (says && strchr(file->kind->file, '*') != NULL) /* anybody's: it is not missed */
            file->is_damaged = false;
        drop(file);
    }
    return r;
}

const struct mt_found_file *mt_found_find(const struct mt_found *f, const char *name)
{
    for (uint32_t i = 0; i < f->files.n; i++)
        if (strcmp(f->files.p[i].name, name) == 0)
            return &f->files.p[i];
    return NULL;
}
