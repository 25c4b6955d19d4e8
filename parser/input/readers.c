#include "parser/input/readers.h"

const struct mt_reader *const mt_readers[] = {
#define MT_READER(n) &mt_reader_##n,
#include "parser/input/readers.def"
#undef MT_READER
    NULL,
};

const struct mt_reader *mt_reader_choose(struct mt_source *src)
{
    const struct mt_reader *best = NULL;
    size_t n = mt_source_need(src, 4096);
    int best_bid = 0;
    if (n > 4096)
        n = 4096;
    for (const struct mt_reader *const *r = mt_readers; *r != NULL; r++) {
        int bid = (*r)->probe(src->cur, n);
        if (bid > best_bid) {
            best_bid = bid;
            best = *r;
        }
    }
    return best;
}
