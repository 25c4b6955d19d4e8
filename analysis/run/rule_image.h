/* run/rule_image.h -- the built-in rules as they are once loaded: the bytes of the loaders' own
 * structs, made while memtrace is built (cmake/rule_image.c), so that a start reads and checks
 * nothing again. With an overlay the rules are read as ever (mt_rules_read()).
 * Private to analysis/run/rule_image.c and what the build makes.
 *
 * A pointer in them holds the address that it has when the image lies at MT_RULE_IMAGE_AT, and the
 * image begins and ends with a page. So its pages are moved there, which is two calls of the
 * kernel; what no rule is asked for is never read from the file. Copied to the heap, with 88,000
 * pointers set, it was 0.3 to 0.8 ms of each start and 1.7 MB. */
#ifndef MT_RUN_RULE_IMAGE_H
#define MT_RUN_RULE_IMAGE_H

#include "parser/base/err.h"

#include <stdint.h>

/* 128 GiB: below what the kernel gives to programs, libraries, heaps and stacks, also where
 * addresses have 39 bits. Where something lies there (a sanitizer's shadow does), or pages are
 * larger, the image is copied. */
#define MT_RULE_IMAGE_AT UINT64_C(0x2000000000)
#define MT_RULE_IMAGE_PAGE 4096

struct mt_rules;
struct mt_rule_image {
    const uintptr_t *word; /* the first ones are a struct mt_rules */
    const uint32_t *own;   /* the words that are pointers, all into the image */
    /* n == 0: none was made, because the build cannot run what it makes, or cannot tell pointers
     * from numbers there */
    uint32_t n, n_own;
};
extern const struct mt_rule_image mt_rule_image;

/* The image as one block of the heap: where its pages cannot be moved. */
enum mt_rc mt_rule_image_copy(struct mt_rules *r, struct mt_err *err);

#endif
