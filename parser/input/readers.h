/* readers.h -- every reader of readers.def, and who of them takes an input. */
#ifndef MT_READERS_H
#define MT_READERS_H

#include "parser/model/reader.h"

#define MT_READER(n) extern const struct mt_reader mt_reader_##n;
#include "parser/input/readers.def"
#undef MT_READER

extern const struct mt_reader *const mt_readers[]; /* NULL-terminated */

/* The highest bidder for the first bytes of src, or NULL. Consumes nothing. */
const struct mt_reader *mt_reader_choose(struct mt_source *src);

#endif
