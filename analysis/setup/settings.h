/* setup/settings.h -- what a run was set to, asked for by the framework's own key or by a name that
 * is the same for all frameworks.
 *
 * Names ("tokens_per_gpu", "gpu_memory_utilization", ...) and each framework's key for them are
 * analysis/rules/settings.json. A value that is not set is NULL: the framework's default is told
 * apart (struct mt_runconf_hit), and only where the framework is known. A value that hangs on a
 * variable is NULL too. Of several sources the one with the higher precedence holds, then the later
 * one. Where nothing says the model's shape, the model's name may (setup/models.h).
 * Thread-safety: const between two changes. */
#ifndef MT_SETUP_SETTINGS_H
#define MT_SETUP_SETTINGS_H

#include "analysis/setup/framework.h"
#include "analysis/setup/models.h"
#include "parser/conf/conf.h"
#include "parser/model/trace.h"

/* Precedence, low to high; above all is what a snapshot says of its allocator. */
enum mt_runconf_from {
    MT_FROM_DEFAULT, /* of an option or a field of the run's own script, wherever that stands */
    MT_FROM_FOUND,   /* in the run's folder (setup/found.h) */
    MT_FROM_LOG,     /* what a log says that it ran with */
    MT_FROM_CONFIG,
    MT_FROM_COMMAND,
    MT_FROM_ARGS,
    MT_FROM_COUNT
};

struct mt_runconf_key {
    mt_fw framework; /* MT_FW_NONE = of a model's config.json */
    /* "actor.backend", "--max-tokens-per-gpu", "PYTORCH_CUDA_ALLOC_CONF.expandable_segments"; with
     * a
     * '*' the last component of any key of that shape, in small letters and with '_' for '-' */
    const char *key;
    /* letter inside "sglang:d2t2", or "name" of it; NULL = the whole value */
    const char *part;
    const char *fallback; /* default of the framework; NULL = not known or none */
    /* engine or backend that reads it, where the framework has several; MT_FW_NONE = all do */
    mt_fw of;
    const char *source;
    const char *printed; /* in small letters, before the number that a program prints; NULL */
    bool is_common; /* other programs have a setting of that name: it does not tell the framework */
};
struct mt_runconf_setting {
    const char *name, *words;
    uint32_t first, n;         /* in keys */
    const char *const *unlike; /* parts of keys that have a shape of its and mean another; NULL */
    bool is_switch;            /* its shapes fit keys that are on or off, not those with a number */
    bool is_quiet;             /* the report does not list it; all its keys are common */
};

struct mt_runconf_slot {
    const char *key; /* as it is looked up */
    uint32_t entry;
    uint8_t from;
};
/* An entry that names a well-known model. */
struct mt_runconf_named {
    uint32_t entry;
    int name; /* in models */
};
struct mt_runconf {
    const struct mt_framework_rules *rules;
    /* add to it with mt_conf_*(), then say where from with mt_runconf_added() */
    struct mt_config conf;
    struct mt_arena arena;
    bool is_sharing; /* keys, settings, by_name and models are of mt_framework_settings() */
    MT_VEC(struct mt_runconf_key) keys;
    MT_VEC(struct mt_runconf_setting) settings; /* in the order of the file */
    MT_VEC(uint32_t) by_name;                   /* of settings, sorted: setup/names.c */
    /* of keys, those of a framework behind each other, in the order of the file; where they begin
     */
    MT_VEC(uint32_t) by_framework;
    uint32_t first_of[MT_FW_MAX + 1];
    MT_VEC(struct mt_runconf_slot) slots; /* sorted */
    MT_VEC(uint8_t) from;                 /* by entry */
    MT_VEC(uint32_t) countable; /* entries that setup/shape.c may find: numbers, and switches */
    struct mt_models models;
    MT_VEC(struct mt_runconf_named) named;
    bool has_shape; /* layers, heads or hidden size are set: the model's name tells nothing more */
    int spoken;     /* 1 + the name, in models, of the one that a person's words name; 0 = none */
    /* the framework whose keys are set, or whose program was started; of the command line where one
     * was named; -1 = none, or several fit */
    int framework;
    bool forced;   /* named on the command line, or told from a trace */
    bool by_trace; /* told from a trace: that says nothing of what is not set */
    bool any;      /* a key of some framework is set: what is not set has its default */
    /* a list of arguments or a script was cut off, a file could not be read, only lines of a file
     * were given: what is not set here may be set all the same */
    bool is_partial;
    bool foreign;     /* the command starts a script that is no framework's */
    bool engine_only; /* all of them are an engine's */
    int told;         /* by the lines of a log; -1 = by none */
    bool by_words;    /* and that by a person's words alone */
    /* of a text that somebody wrote about the run: whether it has a word, in small letters, and
     * does not deny it; NULL = there is no such text. of: not owned */
    bool (*says)(const void *of, const char *word);
    /* and whether it says that something is on already, was tried or is refused; set with says */
    bool (*tries)(const void *of, const char *pattern);
    /* and whether it says that something is to stay as it is; set with says */
    bool (*keeps)(const void *of, const char *pattern);
    const void *says_of;
    bool no_expandable; /* a log shows that expandable segments do not exist here */
    bool host_full;     /* a log says that the host ran out of memory too */
    bool kv_refused;    /* a log says that the engine's share left nothing for its KV cache */
    bool env_known;     /* the environment was recorded: what is not in it was not set */
    /* What snapshots say of their allocator, which holds above all of conf: of all of them, the
     * last one of each key. Where own is set, as in a copy that is made for one snapshot, that is
     * looked up instead. own: not owned */
    struct mt_config snapshots;
    const struct mt_config *own;
    /* looked up before everything else: what is tried out, or advised; not owned */
    const struct mt_conf_entry *tried;
    uint32_t n_tried;
};

struct mt_runconf_hit {
    /* NULL for a default, and for a fact of a model that a person's words name: is_default too */
    const struct mt_conf_entry *entry;
    const struct mt_runconf_key *key; /* NULL when found by the exact key */
    const char *value;                /* NULL = set, to what is not known */
    bool is_default;
    bool is_prefixed; /* entry has the key's name with a word before it: "actor_", or its end */
    /* the value is that of the well-known model that entry names; NULL = it is set, or a default */
    const char *model;
};

/* All that is known are a few lines of files of settings, and they do not even name the model: a
 * part of what the run was set to. */
bool mt_runconf_is_fragment(const struct mt_runconf *rc);
/* rules: has to outlive it, and so has what mt_framework_settings() has of them, if anything: then
 * no table is read again. */
enum mt_rc mt_runconf_new(struct mt_runconf **out, const struct mt_framework_rules *rules,
                          struct mt_err *err);
void mt_runconf_free(struct mt_runconf *rc); /* NULL is fine */
/* All entries that were added to conf since the last call come from there. MT_OK or MT_ENOMEM,
 * with fewer entries then; sealed again in both cases. To be called after each addition, and after
 * one that failed where the run goes on: readers go by the number of conf's entries. */
enum mt_rc mt_runconf_added(struct mt_runconf *rc, enum mt_runconf_from from, struct mt_err *err);
/* The allocator settings of a snapshot, to snapshots; commands and environments of a driver's
 * trace, to conf. Each adds and seals. What copies with an `own` say stays the same unless t is a
 * driver's. */
enum mt_rc mt_runconf_add_trace(struct mt_runconf *rc, const struct mt_trace *t,
                                struct mt_err *err);
/* The allocator settings of one snapshot, added to own, for mt_runconf.own. */
enum mt_rc mt_runconf_own(struct mt_config *own, const struct mt_trace *t, struct mt_err *err);

/* What the lines of a log say the framework is; -1 = nothing. A framework that was forced stays. */
void mt_runconf_tell(struct mt_runconf *rc, int framework);
/* The program that the run is one of (mt_framework_is_program), as far as settings and logs prove
 * it; -1 = they do not. rc may be NULL. */
int mt_runconf_run(const struct mt_runconf *rc);
/* Only short names of keys say which program it is: no path of three names and more, no command, no
 * log, nobody's word. Another one may have keys of those names. */
bool mt_runconf_by_keys(const struct mt_runconf *rc);
/* The commands start the engine that the run is of, and no program beside it. rc may be NULL. */
bool mt_runconf_serves(const struct mt_runconf *rc);

/* The value of an exact key or of a name of settings.json; NULL = not set, not known, or rc is
 * NULL. Lives as long as rc. */
const char *mt_runconf_get(const struct mt_runconf *rc, const char *key);
/* The same, with where it was set; also defaults, those of an exact key too. A truth value that is
 * set under the key's name with a word before it ("actor_") goes before a default. false = neither
 * set nor has a default. */
bool mt_runconf_find(const struct mt_runconf *rc, const char *key, struct mt_runconf_hit *hit);
/* Whether key is one of the keys of a name of settings.json, however it is written. */
bool mt_runconf_has_key(const struct mt_runconf *rc, const char *name, const char *key);
/* Whether some program has a setting of that key; *ours: the run's framework, or any program. */
bool mt_runconf_knows(const struct mt_runconf *rc, const char *key, bool *ours);
/* Values of the usual spellings: true/false/1/0/yes/no/on/off and a flag alone; whole numbers in
 * digits. */
bool mt_runconf_is_true(const char *value);
bool mt_runconf_is_false(const char *value);
bool mt_runconf_number(const char *value, uint64_t *out);
/* Where an entry stands: "run.yaml:12", "--args". buf of cap; returns it. */
char *mt_runconf_where(char *buf, size_t cap, const struct mt_conf_entry *e);

#endif
