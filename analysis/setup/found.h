/* setup/found.h -- the files of a folder from which a run's settings are taken without being asked
 * for: rows of rules/files.json say which names those have.
 *
 * All files are offered first, then it is decided: what was composed for the run holds before its
 * launch script, that before other settings. What contradicts what was composed is not used, nor
 * what contradicts another file of its kind, for nobody says which of them ran. Thread-safety: one
 * thread. */
#ifndef MT_SETUP_FOUND_H
#define MT_SETUP_FOUND_H

#include "analysis/setup/settings.h"

enum {
    MT_FOUND_MAX = 256,          /* files; more are counted */
    MT_FOUND_BYTES = 256 * 1024, /* of a file; a larger one holds data */
    MT_FOUND_WHY = 240
};

/* Later ones hold before earlier ones. */
enum mt_found_as {
    MT_FOUND_NOTHING, /* known, and no setting of the run is in it */
    MT_FOUND_MODEL,
    MT_FOUND_CONFIG,
    MT_FOUND_SCRIPT,
    MT_FOUND_OVERRIDES,
    MT_FOUND_COMPOSED
};
struct mt_found_kind {
    const char *file; /* name or pattern, with folders where they matter: ".hydra/config.yaml" */
    int as;           /* enum mt_found_as */
    const char *says; /* "launch script" */
};

struct mt_found_file {
    char *name; /* as messages name it; raw */
    const struct mt_found_kind *kind;
    bool is_used;
    bool is_damaged; /* it is not used, since what is named as settings is cut or no such text */
    char why[MT_FOUND_WHY]; /* it is not used; raw. "" = it is */
    /* until mt_found_use(): */
    char *text;
    size_t n;
    struct mt_runconf *rc; /* what it says alone */
};
struct mt_found {
    const struct mt_framework_rules *rules;
    struct mt_arena arena;
    MT_VEC(struct mt_found_kind) kinds;
    MT_VEC(struct mt_found_file) files;
    uint64_t n_more; /* beyond MT_FOUND_MAX, not looked at */
};

/* rules: has to outlive f. MT_OK or an error in err; mt_found_done() frees in both cases. */
enum mt_rc mt_found_init(struct mt_found *f, const struct mt_framework_rules *rules,
                         struct mt_err *err);
void mt_found_done(struct mt_found *f);

/* What a file is by its path in the folder; NULL = none of these. Hidden folders count only where a
 * row names them. */
const struct mt_found_kind *mt_found_kind_of(const struct mt_found *f, const char *path);
/* Offers a file of that kind. text of n bytes is copied; n > MT_FOUND_BYTES: too large, text is not
 * looked at. MT_OK or MT_ENOMEM. */
enum mt_rc mt_found_add(struct mt_found *f, const struct mt_found_kind *kind, const char *name,
                        const char *text, size_t n, struct mt_err *err);
/* Decides, once, and adds the settings to rc, below all that was given. MT_OK or MT_ENOMEM. */
enum mt_rc mt_found_use(struct mt_found *f, struct mt_runconf *rc, struct mt_err *err);
/* The file of that name; NULL = it was not offered. */
const struct mt_found_file *mt_found_find(const struct mt_found *f, const char *name);

#endif
