/* assets.h -- the rule files, embedded at build time. */
#ifndef MT_ASSETS_H
#define MT_ASSETS_H

#include <stddef.h>

struct mt_asset {
    const char *name;          /* path below analysis/rules/: "fixes/verl.json" */
    const unsigned char *data; /* not NUL-terminated */
    size_t size;
};

extern const struct mt_asset mt_rule_assets[]; /* ends with a NULL name */

#endif
