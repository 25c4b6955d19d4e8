#include "cli/rules_load.h"
#include "cli/load.h"

#include <string.h>

#define MAX_RULES_FILE ((size_t)64 << 20)

int mt_rules_load(struct mt_rules *r, const struct mt_cli *c)
{
    struct mt_err err;
    char *overlay = NULL;
    size_t n = 0;
    int ok = 0;

    memset(r, 0, sizeof *r);
    memset(&err, 0, sizeof err);
    if (c->rules_file != NULL &&
        (overlay = mt_load_file(c->rules_file, MAX_RULES_FILE, &n)) == NULL)
        return 0;
    if (mt_phase_rules_load(&r->phases, overlay, n, c->rules_file, &err) < 0 ||
        mt_fix_rules_load(&r->fixes, overlay, n, c->rules_file, &err) < 0 ||
        mt_role_rules_load(&r->roles, overlay, n, c->rules_file, &err) < 0) {
        mt_say_err(c->rules_file, &err);
        goto out;
    }
    r->overlay = overlay;
    r->overlay_len = n;
    overlay = NULL;
    ok = 1;
out:
    mt_free(overlay);
    if (!ok)
        mt_rules_done(r);
    return ok;
}

void mt_rules_done(struct mt_rules *r)
{
    mt_phase_rules_free(r->phases);
    mt_fix_rules_free(r->fixes);
    mt_role_rules_free(r->roles);
    mt_free(r->overlay);
    memset(r, 0, sizeof *r);
}
