/* again.h -- a report that was read back, said again: what a person asks first, from its numbers
 * and sentences. */
#ifndef MT_SAVED_AGAIN_H
#define MT_SAVED_AGAIN_H

#include "parser/saved/report.h"
#include "render/saved/table.h"

/* name: of the file that it was read from */
void mt_saved_again(const struct mt_saved *s, const char *name, const struct mt_paper *k);
/* The same as a page, with every rank in a strip where there are several. */
void mt_saved_page(const struct mt_saved *s, const char *name, const char *version,
                   const struct mt_paper *k);
/* What `info` says of it. */
void mt_saved_info(const struct mt_saved *s, const char *input, const char *member,
                   struct mt_out *o);
void mt_saved_info_json(const struct mt_saved *s, const char *input, const char *member,
                        struct mt_out *o);

#endif
