/* setup/cards.h -- how much of a card's memory a program can have, by the card's name: the rows of
 * rules/cards.json and of an overlay. The number of gigabytes in a name is more than that. */
#ifndef MT_SETUP_CARDS_H
#define MT_SETUP_CARDS_H

#include "analysis/base/rule_read.h"

struct mt_card {
    const char *name;
    const char *const *also; /* ends with NULL */
    uint64_t bytes;          /* what the driver calls the device's total memory */
    uint32_t sold_gb;        /* the number that stands in its name and in shops */
};
/* Zeroed is empty. The texts are the overlay's or built in, and live as long as this. */
struct mt_cards {
    MT_VEC(struct mt_card) rows; /* those of the overlay first */
    MT_VEC(const char *) makers; /* words that may stand before a name */
    struct mt_arena arena;
};
/* overlay: text of a --rules file and its name for messages; NULL = the built-in rows alone. MT_OK
 * or an error in err; mt_cards_done() frees in both cases. */
enum mt_rc mt_cards_load(struct mt_cards *c, const char *overlay, size_t n, const char *name,
                         struct mt_err *err);
void mt_cards_done(struct mt_cards *c);

/* The card of that name, whatever its case, blanks and dashes: "H100-80", "NVIDIA H100 80GB HBM3",
 * "rtx4090"; NULL = none. */
const struct mt_card *mt_cards_find(const struct mt_cards *c, const char *name);
/* The first card that is sold as one of so many GB; NULL = none. */
const struct mt_card *mt_cards_sold(const struct mt_cards *c, uint64_t gb);

#endif
