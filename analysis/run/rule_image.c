#define _GNU_SOURCE /* mremap() */
#include "analysis/run/rule_image.h"

#include "analysis/base/rule_json.h"
#include "analysis/run/rules.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char *moved; /* where the image is now; NULL = where the build put it */

static void move(void)
{
#if defined(MREMAP_FIXED) && defined(MAP_FIXED_NOREPLACE) && UINTPTR_MAX > UINT32_MAX
    const size_t n = mt_rule_image.n * sizeof *mt_rule_image.word;
    void *from, *got, *to; /* from: nothing else is in these pages */
    memcpy(&from, &mt_rule_image.word, sizeof from);
    to = (void *)(uintptr_t)MT_RULE_IMAGE_AT; /* NOLINT(performance-no-int-to-ptr): to be mapped */
    if (sysconf(_SC_PAGESIZE) != MT_RULE_IMAGE_PAGE || (uintptr_t)from % MT_RULE_IMAGE_PAGE != 0)
        return;
    got = mmap(to, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
               -1, 0); /* that nobody else is there */
    if (got == to && mremap(from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
        moved = to;
    else if (got != MAP_FAILED)
        (void)munmap(got, n);
#endif
}

static const unsigned char *place(void)
{
    return moved != NULL ? moved : (const unsigned char *)mt_rule_image.word;
}

enum mt_rc mt_rule_image_copy(struct mt_rules *r, struct mt_err *err)
{
    const struct mt_rule_image *image = &mt_rule_image;
    unsigned char *block = mt_malloc(image->n * sizeof *image->word);
    if (block == NULL) {
        memset(r, 0, sizeof *r);
        return mt_fail(err, MT_ENOMEM, "out of memory while loading the rules");
    }
    memcpy(block, place(), image->n * sizeof *image->word);
    /* not through a pointer to words: the block is read as the loaders' structs */
    for (uint32_t i = 0; i < image->n_own; i++) {
        uintptr_t w;
        unsigned char *at = block + image->own[i] * sizeof w;
        memcpy(&w, at, sizeof w);
        w = w - (uintptr_t)MT_RULE_IMAGE_AT + (uintptr_t)block;
        memcpy(at, &w, sizeof w);
    }
    memcpy(r, block, sizeof *r);
    r->image = r->block = block;
    return MT_OK;
}

enum mt_rc mt_rules_load(struct mt_rules *r, const char *overlay, size_t n, const char *name,
                         struct mt_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (overlay != NULL || mt_rule_image.n == 0)
        return mt_rules_read(r, overlay, n, name, err);
    (void)pthread_once(&once, move);
    if (moved == NULL)
        return mt_rule_image_copy(r, err);
    memcpy(r, moved, sizeof *r);
    r->image = moved;
    r->block = NULL;
    return MT_OK;
}
