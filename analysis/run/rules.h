/* run/rules.h -- the rule sets that one diagnosis reads, with one overlay file laid over them. */
#ifndef MT_RUN_RULES_H
#define MT_RUN_RULES_H

#include "analysis/advice/rules.h"
#include "analysis/phases/phases.h"
#include "analysis/roles/rules.h"

#include <stddef.h>

/* Const after mt_rules_load(): several diagnoses may read it at once. */
struct mt_rules {
    struct mt_framework_rules *frameworks;
    struct mt_phase_rules *phases;
    struct mt_fix_rules *fixes;
    struct mt_role_rules *roles;
    struct mt_runconf *settings; /* nothing is set: the tables that all of them share */
    /* Text of the --rules file, for the rules of libraries. Borrowed; NULL = none. */
    const char *overlay, *overlay_name;
    size_t overlay_len;
    /* what all of the above is in, and nobody's to write; NULL = each was allocated. block: to be
     * freed; NULL = the program's own pages */
    const void *image;
    void *block;
};

/* Fills r. overlay: text of a --rules file and its name for messages, NULL = the built-in rules
 * alone, which the build has read already; it must outlive r. MT_OK, or an error in err and r is
 * empty. */
enum mt_rc mt_rules_load(struct mt_rules *r, const char *overlay, size_t n, const char *name,
                         struct mt_err *err);
/* The same by reading and checking all rules, as the build does. */
enum mt_rc mt_rules_read(struct mt_rules *r, const char *overlay, size_t n, const char *name,
                         struct mt_err *err);
void mt_rules_done(struct mt_rules *r);

#endif
