/* cause.h -- finds why memory ran out: facts/cause.h. */
#ifndef MT_CAUSE_CAUSE_H
#define MT_CAUSE_CAUSE_H

#include "analysis/facts/cause.h"
#include "analysis/roles/roles.h"

/* Per device, while the working set w is there; f are the roles of the same device. mt_cause_done()
 * frees. MT_OK or MT_ENOMEM. */
struct mt_role_rules;
enum mt_rc mt_cause_make(struct mt_cause *out, const struct mt_roles *w,
                         const struct mt_role_facts *f, const struct mt_device_analysis *d,
                         struct mt_phaser *ph, const struct mt_role_rules *rules);
void mt_cause_done(struct mt_cause *c);

#endif
