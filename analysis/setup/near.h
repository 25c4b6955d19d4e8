/* setup/near.h -- keys that are nearly those of the run's framework: a letter off, or at the top
 * level where they belong below a section. */
#ifndef MT_SETUP_NEAR_H
#define MT_SETUP_NEAR_H

#include "analysis/setup/settings.h"

/* What somebody probably meant with an entry that no framework is known to have; NULL = nothing, or
 * the framework of the run is not proven, or what was meant is set as well. */
const struct mt_runconf_key *mt_runconf_near(const struct mt_runconf *rc, uint32_t entry);

#endif
