/* lint_near.c -- keys of the run that are nearly those of its framework. */
#include "analysis/advice/rules.h"
#include "analysis/base/key.h"
#include "analysis/base/rule_json.h"
#include "analysis/run/lint_impl.h"
#include "analysis/setup/near.h"

#include <stdio.h>
#include <string.h>

/* A key of a rule is one that its framework has, whatever the rule says of it. */
static bool in_rules(const struct mt_fix_rules *fixes, const char *key)
{
    for (uint32_t i = 0; fixes != NULL && i < mt_fix_rules_count(fixes); i++) {
        const struct mt_fix_rule *r = mt_fix_rule_at(fixes, i);
        for (uint32_t k = 0; k < r->card.n_set; k++)
            if (mt_same_key(r->card.set[k].key, key))
                return true;
    }
    return false;
}

/* A rule of lint.json asks for the key, or lists it: what is to be said of it is said there. */
static bool in_lint(const cJSON *node, const char *key)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, node)
    {
        if (cJSON_IsString(c) && mt_same_key(c->valuestring, key))
            return true;
        if (in_lint(c, key))
            return true;
    }
    return false;
}

bool mt_lint_near(const struct mt_lint_in *in, struct mt_lint_fact *out)
{
    enum { NAMED = 2 };
    const struct mt_runconf *rc = in->conf;
    uint32_t n = 0;
    size_t at = 0, where = 0;
    cJSON *lint = NULL; /* read when there is something to ask of it */
    struct mt_err err;
    for (uint32_t i = 0; rc != NULL && i < rc->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &rc->conf.entries.p[i];
        const struct mt_runconf_key *k = mt_runconf_near(rc, i);
        char place[120];
        if (k == NULL || in_rules(in->fixes, e->key) ||
            (lint == NULL && mt_rule_json("lint.json", &lint, &err) != MT_OK) ||
            in_lint(lint, e->key) || n++ >= NAMED)
            continue;
        at +=
            (size_t)snprintf(out->text + at, sizeof out->text - at,
                             "%s%.100s (did you mean %.100s?)", n > 1 ? ", " : "", e->key, k->key);
        where += (size_t)snprintf(out->where + where, sizeof out->where - where, "%s%.80s",
                                  n > 1 ? ", " : "", mt_runconf_where(place, sizeof place, e));
    }
    mt_free(lint);
    if (n > NAMED)
        (void)snprintf(out->text + at, sizeof out->text - at, ", %u more", (unsigned)(n - NAMED));
    return n != 0;
}
