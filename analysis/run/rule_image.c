#include "analysis/run/rule_image.h"

#include "analysis/base/rule_json.h"
#include "analysis/run/rules.h"

#include <string.h>

/* Not through a pointer to words: the block is read as the loaders' structs. */
static void point(unsigned char *block, const uint32_t *word, uint32_t n, const void *base)
{
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t w;
        unsigned char *at = block + word[i] * sizeof w;
        memcpy(&w, at, sizeof w);
        w += (uintptr_t)base;
        memcpy(at, &w, sizeof w);
    }
}

static enum mt_rc copy(struct mt_rules *r, const struct mt_rule_image *image, struct mt_err *err)
{
    unsigned char *block = mt_malloc(image->n * sizeof *image->word);
    if (block == NULL) {
        memset(r, 0, sizeof *r);
        return mt_fail(err, MT_ENOMEM, "out of memory while loading the rules");
    }
    memcpy(block, image->word, image->n * sizeof *image->word);
    point(block, image->own, image->n_own, block);
    point(block, image->text, image->n_text, mt_rule_text);
    memcpy(r, block, sizeof *r);
    r->image = block;
    return MT_OK;
}

enum mt_rc mt_rules_load(struct mt_rules *r, const char *overlay, size_t n, const char *name,
                         struct mt_err *err)
{
    return overlay == NULL && mt_rule_image.n != 0 ? copy(r, &mt_rule_image, err)
                                                   : mt_rules_read(r, overlay, n, name, err);
}
