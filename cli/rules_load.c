#include "cli/rules_load.h"
#include "cli/load.h"

#include <string.h>

#define MAX_RULES_FILE ((size_t)64 << 20)

int mt_cli_rules_load(struct mt_cli_rules *r, const struct mt_cli *c)
{
    struct mt_err err;
    size_t n = 0;

    memset(r, 0, sizeof *r);
    memset(&err, 0, sizeof err);
    if (c->rules_file != NULL &&
        (r->overlay = mt_load_file(c->rules_file, MAX_RULES_FILE, &n)) == NULL)
        return 0;
    if (mt_rules_load(&r->rules, r->overlay, n, c->rules_file, &err) >= 0)
        return 1;
    mt_say_err(c->rules_file, &err);
    mt_cli_rules_done(r);
    return 0;
}

void mt_cli_rules_done(struct mt_cli_rules *r)
{
    mt_rules_done(&r->rules);
    mt_free(r->overlay);
    memset(r, 0, sizeof *r);
}
