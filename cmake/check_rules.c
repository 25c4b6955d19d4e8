/* check_rules.c -- runs while memtrace is built, right after analysis/ was linked: the real loaders
 * read every built-in rule, so that a wrong one ends the build and not each command. */
#include "analysis/run/lint.h"
#include "analysis/run/rules.h"

#include <stdio.h>

int main(void)
{
    struct mt_err err = {.rc = MT_OK};
    struct mt_rules rules;
    struct mt_runconf *conf = NULL;
    struct mt_lint *lint = NULL;
    struct mt_lint_in in = {0};
    enum mt_rc rc = mt_rules_load(&rules, NULL, 0, NULL, &err);
    if (rc == MT_OK)
        rc = mt_runconf_new(&conf, rules.frameworks, &err);
    in.conf = conf;
    in.fixes = rules.fixes;
    if (rc == MT_OK)
        rc = mt_lint_make(&lint, &in, &err);
    if (rc != MT_OK)
        fprintf(stderr, "analysis/rules: %s\n", err.msg);
    mt_lint_free(lint);
    mt_runconf_free(conf);
    mt_rules_done(&rules);
    return rc == MT_OK ? 0 : 1;
}
