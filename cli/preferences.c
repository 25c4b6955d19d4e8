#include "cli/preferences.h"

#include "analysis/base/glob.h"
#include "cli/load.h"
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20 };

/* Where the three lie, as messages and reports name them: a home folder has a person's name. */
enum place { HERE, USER, SYSTEM };
static const char *const names[MT_PREFERENCE_FILES] = {
    "memtrace.toml", "$XDG_CONFIG_HOME/memtrace/memtrace.toml", "/etc/memtrace.toml"};

struct reading {
    struct mt_preferences *p;
    const struct mt_cli *c;
    const char *host, *path; /* of the file being read */
    enum place place;
    struct mt_config_used *file;
    uint32_t first, n_limits; /* of it; limits of nearer files */
    bool no_memory;
};

static const char *kept(struct reading *r, const char *s, size_t n)
{
    const char *copy = mt_arena_strndup(&r->p->conf.strings, s, n);
    r->no_memory |= copy == NULL;
    return copy;
}

static const char *where(struct reading *r, const struct mt_conf_entry *e)
{
    char at[400];
    (void)snprintf(at, sizeof at, "%.370s:%lu", names[r->place], (unsigned long)e->line);
    return kept(r, at, strlen(at));
}

/* A key of which this command makes something. */
static void used(struct reading *r, const char *key)
{
    struct mt_config_used *f = r->file;
    for (uint32_t i = 0; i < f->n_keys; i++)
        if (strcmp(f->keys[i], key) == 0)
            return;
    if (f->n_keys < MT_CONFIG_KEYS)
        f->keys[f->n_keys++] = key;
}

static enum mt_exit refuse(struct reading *r, const struct mt_conf_entry *e, const char *what)
{
    char shown[80];
    mt_say("%s:%lu: %s = %s: %s; --no-config goes without the file", r->path,
           (unsigned long)e->line, e->key,
           mt_printable(shown, sizeof shown, e->value, strlen(e->value)), what);
    return MT_EXIT_USAGE;
}

/* In a stranger's folder. */
static enum mt_exit passed_over(struct reading *r, const struct mt_conf_entry *e,
                                const char *instead)
{
    if (!r->c->quiet)
        mt_say("%s:%lu: %s is not taken from the working folder, whose files may be anybody's; %s",
               r->path, (unsigned long)e->line, e->key, instead);
    return MT_EXIT_OK;
}

static bool takes(const struct reading *r, unsigned commands)
{
    return (r->c->command->bit & commands) != 0;
}

/* A key of the file's own below [capacity] or [check.max], where lines that are added at the end
 * come to lie: what it would have switched on must not be missing silently. */
static bool is_own_key(const char *name)
{
    return strcmp(name, "redact") == 0 || strcmp(name, "rules") == 0 || strcmp(name, "link") == 0;
}

#define ABOVE "this key belongs above the first [table] of the file"

/* ---- the keys; of those that end in a dot, name is what follows ---- */

typedef enum mt_exit set_fn(struct reading *r, const struct mt_conf_entry *e, const char *name);

static enum mt_exit set_capacity(struct reading *r, const struct mt_conf_entry *e,
                                 const char *pattern)
{
    const char *dot = strchr(r->host, '.');
    size_t n = strlen(r->host), n_short = dot != NULL ? (size_t)(dot - r->host) : n;
    if (is_own_key(pattern))
        return refuse(r, e, ABOVE);
    if (*pattern != '\0' && !mt_glob(pattern, r->host, n) && !mt_glob(pattern, r->host, n_short))
        return MT_EXIT_OK;
    if (!takes(r, MT_CMD_DIAGNOSE) || r->c->capacity != NULL || r->p->capacity != NULL)
        return MT_EXIT_OK;
    r->p->capacity = e->value;
    r->p->capacity_at = where(r, e);
    used(r, "capacity");
    return MT_EXIT_OK;
}

/* A name in the file is beside the file. */
static enum mt_exit set_rules(struct reading *r, const struct mt_conf_entry *e, const char *name)
{
    const char *slash = strrchr(r->path, '/');
    char path[4096];
    int n;
    (void)name;
    if (r->place == HERE)
        return passed_over(r, e, "--rules FILE names it");
    if (!takes(r, MT_CMD_DIAGNOSE | MT_CMD_RULES | MT_CMD_EXPORT) || r->c->rules_file != NULL ||
        r->p->rules_file != NULL)
        return MT_EXIT_OK;
    n = snprintf(path, sizeof path, "%.*s%s",
                 e->value[0] != '/' && slash != NULL ? (int)(slash + 1 - r->path) : 0, r->path,
                 e->value);
    if (e->value[0] == '\0' || n < 0 || (size_t)n >= sizeof path)
        return refuse(r, e, "that is no file name");
    r->p->rules_file = kept(r, path, (size_t)n);
    used(r, "rules");
    return MT_EXIT_OK;
}

static enum mt_exit set_redact(struct reading *r, const struct mt_conf_entry *e, const char *name)
{
    (void)name;
    if (strcmp(e->value, "true") != 0 && strcmp(e->value, "false") != 0)
        return refuse(r, e, "true or false is expected");
    if (strcmp(e->value, "true") != 0 || !takes(r, MT_CMD_READERS))
        return MT_EXIT_OK;
    if (!r->p->redact)
        r->p->redact_at = where(r, e);
    r->p->redact = true;
    used(r, "redact");
    return MT_EXIT_OK;
}

static enum mt_exit set_link(struct reading *r, const struct mt_conf_entry *e, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~:/?#@!$&*+,;=%";
    bool is_web = strncmp(e->value, "https://", 8) == 0 || strncmp(e->value, "http://", 7) == 0;
    (void)name;
    if (r->place == HERE)
        return passed_over(r, e, "the file of the user or of the system can have it");
    if (!is_web || strspn(e->value, plain) != strlen(e->value) || strlen(e->value) > 500)
        return refuse(r, e, "an address that begins with https:// or http:// is expected");
    if (!takes(r, MT_CMD_REPORT) || r->p->link != NULL)
        return MT_EXIT_OK;
    r->p->link = e->value;
    used(r, "link");
    return MT_EXIT_OK;
}

static enum mt_exit set_tolerance(struct reading *r, const struct mt_conf_entry *e,
                                  const char *name)
{
    uint64_t share;
    (void)name;
    if (!mt_parse_share(e->value, &share))
        return refuse(r, e, "a share is expected, as \"2%\", at most \"100%\"");
    if (!takes(r, MT_CMD_CHECK) || r->p->tolerance != MT_SHARE_UNSAID)
        return MT_EXIT_OK;
    r->p->tolerance = share;
    used(r, "check.tolerance");
    return MT_EXIT_OK;
}

/* Whether text, "role:logits=8GiB", is a limit of that name. */
static bool is_limit(const char *text, const char *name)
{
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == '=';
}

static enum mt_exit add_limit(struct reading *r, const struct mt_conf_entry *e, const char *name)
{
    struct mt_preferred_limit *slot;
    char text[MT_CONF_KEY + 100];
    if (is_own_key(name))
        return refuse(r, e, ABOVE);
    if (!takes(r, MT_CMD_CHECK))
        return MT_EXIT_OK;
    for (uint32_t i = 0; i < r->n_limits; i++)
        if (is_limit(r->p->limits.p[i].text, name))
            return MT_EXIT_OK;
    (void)snprintf(text, sizeof text, "%.512s=%.90s", name, e->value);
    slot = MT_VEC_PUSH(&r->p->limits);
    r->no_memory |= slot == NULL;
    if (slot != NULL)
        *slot = (struct mt_preferred_limit){kept(r, text, strlen(text)), where(r, e)};
    used(r, "check.max");
    return MT_EXIT_OK;
}

static const struct known {
    const char *key; /* one that ends in a dot stands for all that begin with it */
    set_fn *set;
} known[] = {{"capacity", set_capacity}, {"capacity.", set_capacity},
             {"rules", set_rules},       {"redact", set_redact},
             {"link", set_link},         {"check.tolerance", set_tolerance},
             {"check.max.", add_limit}};
enum { N_KNOWN = sizeof known / sizeof *known };

/* A key that is nearly right is refused: what it would have switched on must not be missing
 * silently. Any other may be of a later memtrace. */
static enum mt_exit unknown(struct reading *r, const struct mt_conf_entry *e)
{
    struct mt_nearest near = {.word = e->key};
    char word[64], table[64], shown[80];
    const char *last = strrchr(e->key, '.');
    if (last != NULL && is_own_key(last + 1))
        return refuse(r, e, ABOVE);
    if (strcmp(e->key, "check.max") == 0)
        return refuse(r, e, "has to be a table: [check.max], and below it peak = \"70GiB\"");
    for (size_t i = 0; i < N_KNOWN; i++)
        if (known[i].key[strlen(known[i].key) - 1] != '.')
            mt_nearest_offer(&near, known[i].key);
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(e->key, "."), e->key);
    (void)snprintf(table, sizeof table, "%s", "check.max");
    if (near.best == NULL && strncmp(e->key, "check.", 6) == 0) {
        (void)snprintf(word, sizeof word, "%.*s", (int)(6 + strcspn(e->key + 6, ".") % 57), e->key);
        near.word = word;
        mt_nearest_offer(&near, table);
    } else if (near.best == NULL && e->key[strlen(word)] == '.') {
        near.word = word;
        mt_nearest_offer(&near, "capacity");
        mt_nearest_offer(&near, "check");
    }
    mt_printable(shown, sizeof shown, e->key, strlen(e->key));
    if (near.best != NULL) {
        mt_say("%s:%lu: unknown key '%s' (did you mean %s?); --no-config goes without the file",
               r->path, (unsigned long)e->line, shown, near.best);
        return MT_EXIT_USAGE;
    }
    if (!r->c->quiet)
        mt_say("%s:%lu: this memtrace knows no key '%s', which is passed over; known are capacity, "
               "rules, redact, link, check.max and check.tolerance",
               r->path, (unsigned long)e->line, shown);
    return MT_EXIT_OK;
}

static enum mt_exit take(struct reading *r, const struct mt_conf_entry *e)
{
    size_t n;
    for (size_t i = 0; i < N_KNOWN; i++) {
        n = strlen(known[i].key);
        if (known[i].key[n - 1] == '.' ? strncmp(e->key, known[i].key, n) == 0 && e->key[n] != '\0'
                                       : strcmp(e->key, known[i].key) == 0)
            return known[i].set(r, e, known[i].key[n - 1] == '.' ? e->key + n : "");
    }
    return unknown(r, e);
}

/* An empty table is an entry with an empty value. */
static bool is_empty_table(const struct mt_conf_entry *e)
{
    return e->value[0] == '\0' &&
           (strcmp(e->key, "capacity") == 0 || strcmp(e->key, "check") == 0 ||
            strcmp(e->key, "check.max") == 0);
}

/* ---- files ---- */

static enum mt_exit read_text(struct reading *r, const char *text, size_t n)
{
    struct mt_config *conf = &r->p->conf;
    uint64_t lost = conf->n_dropped + conf->n_cut;
    struct mt_err err = {.rc = MT_OK};
    enum mt_exit status = MT_EXIT_OK;
    r->first = conf->entries.n;
    r->n_limits = r->p->limits.n;
    if (mt_conf_file(conf, text, n, names[r->place], &err) != MT_OK) {
        mt_say("%s: %s; mend it, or go without it: --no-config", r->path, err.msg);
        return MT_EXIT_USAGE;
    }
    if (conf->n_dropped + conf->n_cut != lost) {
        mt_say("%s: a key or a value in it is too long, or there are too many; --no-config goes "
               "without the file",
               r->path);
        return MT_EXIT_USAGE;
    }
    for (uint32_t i = r->first; i < conf->entries.n && status == MT_EXIT_OK; i++)
        if (!is_empty_table(&conf->entries.p[i]))
            status = take(r, &conf->entries.p[i]);
    return status;
}

/* A file that is not there is none; one that cannot be read may say that names are to be hidden. */
static enum mt_exit read_one(struct reading *r)
{
    enum mt_exit status;
    struct stat st;
    size_t n = 0;
    char *text;
    if (stat(r->path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return MT_EXIT_OK;
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        mt_say("%s: this is no file; --no-config goes without it", r->path);
        return MT_EXIT_USAGE;
    }
    text = mt_load_file(r->c, r->path, MAX_FILE, &n);
    if (text == NULL)
        return MT_EXIT_FAILED;
    r->file = &r->p->files[r->p->n_files++];
    r->file->file = names[r->place];
    status = read_text(r, text, n);
    mt_free(text);
    return status;
}

enum mt_exit mt_preferences_of(struct mt_preferences *p, const struct mt_cli *c, const char *host,
                               const char *const paths[MT_PREFERENCE_FILES])
{
    enum mt_exit status = MT_EXIT_OK;
    struct reading r = {.p = p, .c = c, .host = host};
    memset(p, 0, sizeof *p);
    p->tolerance = MT_SHARE_UNSAID;
    for (int i = 0; i < MT_PREFERENCE_FILES && status == MT_EXIT_OK; i++) {
        r.path = paths[i];
        r.place = (enum place)i;
        if (paths[i] != NULL)
            status = read_one(&r);
    }
    if (r.no_memory) {
        mt_say("out of memory");
        status = MT_EXIT_FAILED;
    }
    return status;
}

enum mt_exit mt_preferences_read(struct mt_preferences *p, const struct mt_cli *c)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *between = "";
    const char *paths[MT_PREFERENCE_FILES] = {names[HERE], NULL, names[SYSTEM]};
    char host[256] = "", user[4096];
    int n;
    memset(p, 0, sizeof *p);
    p->tolerance = MT_SHARE_UNSAID;
    if (c->no_config || (c->command->bit & MT_CMD_PREFERS) == 0)
        return MT_EXIT_OK;
    (void)gethostname(host, sizeof host - 1);
    if (base == NULL || base[0] != '/') { /* the rule of that variable: only whole paths count */
        base = home;
        between = "/.config";
    }
    if (base != NULL && base[0] == '/') {
        n = snprintf(user, sizeof user, "%s%s/memtrace/memtrace.toml", base, between);
        paths[USER] = n > 0 && (size_t)n < sizeof user ? user : NULL;
    }
    return mt_preferences_of(p, c, host, paths);
}

void mt_preferences_apply(struct mt_cli *c, const struct mt_preferences *p)
{
    c->preferences = p;
    if (p->rules_file != NULL)
        c->rules_file = p->rules_file;
    c->redact_by = c->redact || c->redact_key != NULL ? NULL : p->redact_at;
    c->redact |= p->redact;
}

void mt_preferences_show(struct mt_report *r, const struct mt_preferences *p)
{
    r->config = p != NULL ? p->files : NULL;
    r->n_config = p != NULL ? p->n_files : 0;
    /* a link names a host: a report that hides names has none */
    r->link = p != NULL && !r->redacted ? p->link : NULL;
}

void mt_preferences_done(struct mt_preferences *p)
{
    MT_VEC_DONE(&p->limits);
    mt_conf_done(&p->conf);
}
