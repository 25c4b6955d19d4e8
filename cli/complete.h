/* complete.h -- what the completions of all shells have in common. */
#ifndef MT_COMPLETE_H
#define MT_COMPLETE_H

#include "cli/options.h"

/* The values of an option of words, "html text md json"; nothing where any value is taken. */
void mt_complete_values(struct mt_out *o, const struct mt_option *p);

#endif
