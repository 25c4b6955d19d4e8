/* rules_roles.h -- `memtrace rules` about role rules: which frames tell what a tensor is for. */
#ifndef MT_RULES_ROLES_H
#define MT_RULES_ROLES_H

#include "analysis/roles/rules.h"
#include "cli/cli.h"
#include "render/base/out.h"

/* Asked for by its id, by the role it gives, or by "roles"; without a name by the framework. */
bool mt_rules_wants_role(const struct mt_cli *c, const struct mt_role_rule *r);
/* Whether a name on the command line means role rules. */
bool mt_rules_is_role_word(const struct mt_role_rules *rules, const char *word);
/* A line with how many there are; of those that are asked for, or with --all, every one, and the
 * vocabularies with them. */
void mt_rules_roles_text(const struct mt_cli *c, const struct mt_role_rules *rules,
                         struct mt_out *o, int width);
/* One object per line: {"rule": "role", ...}. */
void mt_rules_roles_json(const struct mt_cli *c, const struct mt_role_rules *rules,
                         struct mt_out *o);

#endif
