#include "analysis/run/rules.h"

#include "analysis/base/rule_read.h"
#include "analysis/ledger/driver.h"
#include "analysis/setup/cards.h"
#include "analysis/setup/settings.h"

#include <string.h>

static enum mt_rc check_cards(const char *overlay, size_t n, const char *name, struct mt_err *err)
{
    struct mt_cards c = {0};
    enum mt_rc rc = mt_cards_load(&c, overlay, n, name, err);
    mt_cards_done(&c);
    return rc;
}

enum mt_rc mt_rules_read(struct mt_rules *r, const char *overlay, size_t n, const char *name,
                         struct mt_err *err)
{
    enum mt_rc rc;
    memset(r, 0, sizeof *r);
    rc = mt_rule_size(overlay != NULL ? n : 0, name, err);
    if (rc >= 0)
        rc = mt_framework_rules_load(&r->frameworks, overlay, n, name, err);
    if (rc >= 0)
        rc = mt_runconf_new(&r->settings, r->frameworks, err);
    if (rc >= 0)
        mt_framework_share(r->frameworks, r->settings);
    if (rc >= 0)
        rc = mt_phase_rules_load(&r->phases, r->frameworks, overlay, n, name, err);
    if (rc >= 0)
        rc = mt_fix_rules_load(&r->fixes, r->frameworks, overlay, n, name, err);
    if (rc >= 0)
        rc = mt_role_rules_load(&r->roles, overlay, n, name, err);
    if (rc >= 0 && overlay != NULL)
        rc = mt_lib_rules_check(overlay, n, name, err);
    if (rc >= 0 && overlay != NULL)
        rc = check_cards(overlay, n, name, err);
    if (rc < 0) {
        mt_rules_done(r);
        return rc;
    }
    r->overlay = overlay;
    r->overlay_name = name;
    r->overlay_len = n;
    return MT_OK;
}

void mt_rules_done(struct mt_rules *r)
{
    if (r->image != NULL) { /* its expressions are compiled: nothing was allocated since */
        mt_free(r->block);
    } else {
        mt_phase_rules_free(r->phases);
        mt_fix_rules_free(r->fixes);
        mt_role_rules_free(r->roles);
        mt_runconf_free(r->settings);
        mt_framework_rules_free(r->frameworks);
    }
    memset(r, 0, sizeof *r);
}
