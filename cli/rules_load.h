/* rules_load.h -- the rule sets, with the file of --rules laid over them. */
#ifndef MT_RULES_LOAD_H
#define MT_RULES_LOAD_H

#include "analysis/advice/rules.h"
#include "analysis/phases/phases.h"
#include "analysis/roles/rules.h"
#include "cli/cli.h"

struct mt_rules {
    struct mt_phase_rules *phases;
    struct mt_fix_rules *fixes;
    struct mt_role_rules *roles;
    char *overlay; /* text of the --rules file, for the rules of libraries; NULL = none */
    size_t overlay_len;
};
/* 1 on success; 0 with a message printed */
int mt_rules_load(struct mt_rules *r, const struct mt_cli *c);
void mt_rules_done(struct mt_rules *r);

#endif
