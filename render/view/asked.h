/* asked.h -- a request that failed, as a stack of bytes: what was live, what PyTorch held beside
 * it, what others held of the device, and on top what was asked for. Together with what was free
 * they end where the device ends. */
#ifndef MT_ASKED_H
#define MT_ASKED_H

#include "analysis/facts/analysis.h"

struct mt_asked {
    uint64_t live;    /* bytes of blocks */
    uint64_t held;    /* reserved by PyTorch and not in use */
    uint64_t foreign; /* outside PyTorch: what of the capacity is neither reserved nor free; 0 where
                         the capacity is not known, or contradicts */
    uint64_t request;
    uint64_t free; /* on the device */
    bool stacked;  /* foreign stands below the request; else, where it would press the curve flat,
                      the request stands on what PyTorch held */
    bool cut;      /* so does the request by itself: a picture has room for its beginning alone */
};
/* False where the size of the request is not known: there is nothing to draw. */
bool mt_asked_of(struct mt_asked *a, const struct mt_device_analysis *d, const struct mt_oom *oom);
/* Heights: of what PyTorch held, of what was in use, of the request on top of it, and of the
 * device. */
uint64_t mt_asked_reserved(const struct mt_asked *a);
uint64_t mt_asked_base(const struct mt_asked *a);
uint64_t mt_asked_top(const struct mt_asked *a);
uint64_t mt_asked_end(const struct mt_asked *a);
/* For what of it a picture has to have room: all, or of one that is cut as much as shows that it is
 * there. */
uint64_t mt_asked_room(const struct mt_asked *a);
/* "60.28 GiB live, 3.00 GiB reserved but free, 2.00 GiB outside PyTorch": what is none is not
 * named. */
enum { MT_ASKED_WORDS = 128 };
char *mt_asked_words(char buf[MT_ASKED_WORDS], const struct mt_asked *a);

#endif
