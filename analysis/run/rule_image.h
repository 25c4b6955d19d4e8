/* run/rule_image.h -- the built-in rules as they are once loaded: the bytes of the loaders' own
 * structs, made while memtrace is built (cmake/rule_image.c), so that a start copies them and
 * checks nothing again. With an overlay the rules are read as ever (mt_rules_read()).
 * Private to analysis/run/rule_image.c and what the build makes. */
#ifndef MT_RUN_RULE_IMAGE_H
#define MT_RUN_RULE_IMAGE_H

#include <stdint.h>

struct mt_rule_image {
    const uintptr_t *word; /* the first ones are a struct mt_rules */
    const uint32_t *own;   /* the words that point into the image: they hold how far, in bytes */
    const uint32_t *text;  /* the words that point into mt_rule_text, in the same way */
    /* n == 0: none was made, because the build cannot run what it makes, or cannot tell pointers
     * from numbers there */
    uint32_t n, n_own, n_text;
};
extern const struct mt_rule_image mt_rule_image;

#endif
