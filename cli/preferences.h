/* preferences.h -- memtrace.toml: what holds where no option says it (docs/config.md).
 *
 * Three files, the nearest first: of the working folder, of the user, of the system. Of each key
 * the nearest holds, but for `redact`, which one is enough to switch on. A working folder may be a
 * stranger's: its file can name no rules and no link, and can switch redaction on, not off. */
#ifndef MT_PREFERENCES_H
#define MT_PREFERENCES_H

#include "cli/cli.h"
#include "parser/conf/conf.h"
#include "render/view/report.h"

enum { MT_PREFERENCE_FILES = 3 };

struct mt_preferred_limit {
    const char *text; /* "role:logits=8GiB" */
    const char *at;   /* "memtrace.toml:7" */
};

struct mt_preferences {
    const char *capacity, *capacity_at; /* of this machine; NULL = none */
    const char *rules_file;
    const char *link;
    bool redact;
    const char *redact_at;
    uint64_t tolerance; /* thousandths; MT_SHARE_UNSAID = none */
    MT_VEC(struct mt_preferred_limit) limits;
    /* those that were read, and what of them this command uses */
    struct mt_config_used files[MT_PREFERENCE_FILES];
    uint32_t n_files;
    struct mt_config conf; /* has the strings */
};

/* Reads what `c` may use; where a command has no use for any, nothing is read. MT_EXIT_OK, or with
 * a message printed MT_EXIT_USAGE or MT_EXIT_FAILED. */
enum mt_exit mt_preferences_read(struct mt_preferences *p, const struct mt_cli *c);
/* The same of files that are named, for tests. host: of this machine. paths: NULL = there is none.
 */
enum mt_exit mt_preferences_of(struct mt_preferences *p, const struct mt_cli *c, const char *host,
                               const char *const paths[MT_PREFERENCE_FILES]);
/* Sets the options that nobody gave: rules, redaction. p stays where c is used. */
void mt_preferences_apply(struct mt_cli *c, const struct mt_preferences *p);
/* What the report says of it. p may be NULL. */
void mt_preferences_show(struct mt_report *r, const struct mt_preferences *p);
void mt_preferences_done(struct mt_preferences *p); /* zeroed is fine */

#endif
