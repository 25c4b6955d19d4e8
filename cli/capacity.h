/* capacity.h -- what --capacity says: a size, or the name of a card. */
#ifndef MT_CLI_CAPACITY_H
#define MT_CLI_CAPACITY_H

#include "cli/rules_load.h"

/* Whether the word is a size that a card can have. What is smaller may be a name: "4090", "910B" is
 * no number of bytes. */
bool mt_capacity_is_size(const char *word, uint64_t *bytes);
/* Fills r->capacity, when the rules are loaded. MT_EXIT_OK, or with a message printed what the
 * command returns. */
enum mt_exit mt_capacity_read(struct mt_cli_rules *r, const struct mt_cli *c);

#endif
