/* rules_load.h -- the rule sets, with the file of --rules laid over them. */
#ifndef MT_RULES_LOAD_H
#define MT_RULES_LOAD_H

#include "analysis/run/rules.h"
#include "cli/cli.h"

struct mt_cli_rules {
    struct mt_rules rules;
    char *overlay;     /* text of the --rules file; NULL = none */
    int framework;     /* of --framework; -1 = it is to be detected */
    uint64_t capacity; /* of --capacity; 0 = it was not given */
    /* of memtrace.toml: where nothing in the inputs tells it; 0 = none */
    uint64_t capacity_else;
};
/* MT_EXIT_OK, or with a message printed what the command returns. */
enum mt_exit mt_cli_rules_load(struct mt_cli_rules *r, const struct mt_cli *c);
void mt_cli_rules_done(struct mt_cli_rules *r);

#endif
