/* card.h -- the card at the moment that matters as one bar against its limit: what held it by role,
 * what PyTorch reserved and did not use, what others held, what was asked for, and where the card
 * ends; below it each part with its bytes. */
#ifndef MT_HTML_CARD_H
#define MT_HTML_CARD_H

#include "render/html/kit.h"

/* False where a log or the driver speaks, and where no device or no byte of it is known. */
bool mt_h_has_card(const struct mt_page *p);
/* Of the page's device; only where there is one. */
void mt_h_card(const struct mt_page *p, struct mt_out *o);
/* Below it, on its scale: what would be needed with some settings. Nothing where bytes alone do not
 * decide whether the request fits, as holes do. */
void mt_h_card_with(const struct mt_page *p, struct mt_out *o, uint64_t needed, bool fits_known,
                    bool fits);

#endif
