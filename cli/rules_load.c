#include "cli/rules_load.h"
#include "cli/capacity.h"
#include "cli/load.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>

#define MAX_RULES_FILE ((size_t)64 << 20)

/* The framework that the user named. */
static bool choose_framework(struct mt_cli_rules *r, const struct mt_cli *c)
{
    const struct mt_framework_rules *known = r->rules.frameworks;
    struct mt_nearest near = {.word = c->framework};
    char ids[512], hint[64] = "";
    r->framework = c->framework != NULL ? mt_framework_find(known, c->framework) : -1;
    if (c->framework == NULL || (r->framework >= 0 && mt_framework_is_main(known, r->framework)))
        return true;
    for (int i = 0; i < mt_framework_count(known); i++)
        if (mt_framework_is_main(known, i))
            mt_nearest_offer(&near, mt_framework_at(known, i)->id);
    if (near.best != NULL)
        snprintf(hint, sizeof hint, " (did you mean %s?)", near.best);
    mt_say("--framework: unknown framework '%s'%s; known are %s", c->framework, hint,
           mt_framework_ids(known, true, ids, sizeof ids));
    return false;
}

enum mt_exit mt_cli_rules_load(struct mt_cli_rules *r, const struct mt_cli *c)
{
    enum mt_exit status = MT_EXIT_FAILED;
    struct mt_err err;
    size_t n = 0;

    memset(r, 0, sizeof *r);
    memset(&err, 0, sizeof err);
    if (c->rules_file != NULL &&
        (r->overlay = mt_load_file(c, c->rules_file, MAX_RULES_FILE, &n)) == NULL)
        return status;
    if (mt_rules_load(&r->rules, r->overlay, n, c->rules_file, &err) < 0)
        mt_say_err(c->rules_file, &err);
    else
        status = choose_framework(r, c) ? mt_capacity_read(r, c) : MT_EXIT_USAGE;
    if (status != MT_EXIT_OK)
        mt_cli_rules_done(r);
    return status;
}

void mt_cli_rules_done(struct mt_cli_rules *r)
{
    mt_rules_done(&r->rules);
    mt_free(r->overlay);
    memset(r, 0, sizeof *r);
}
