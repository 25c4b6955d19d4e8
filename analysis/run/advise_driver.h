/* run/advise_driver.h -- advice on a failure that the driver's trace shows. */
#ifndef MT_ADVISE_DRIVER_H
#define MT_ADVISE_DRIVER_H

#include "analysis/ledger/driver.h"

struct mt_fix_rules;
struct mt_runconf;

/* Adds to list what may be advised where the driver's verdict is a failure. framework: enum
 * mt_framework, -1 = not known. MT_OK or MT_ENOMEM. */
enum mt_rc mt_driverdiag_advise(struct mt_advice_list *list, const struct mt_driverdiag *j,
                                const struct mt_fix_rules *rules, const struct mt_runconf *conf,
                                int framework, struct mt_err *err);

#endif
