/* dump/impl.h -- what the files of dump and info share. */
#ifndef MT_DUMP_IMPL_H
#define MT_DUMP_IMPL_H

#include "parser/model/driver.h"
#include "render/base/jsonw.h"

struct mt_dump {
    const struct mt_trace *t;
    struct mt_jsonw w;
    uint32_t *number; /* stack id -> its number in this dump, 0 = not written yet */
    uint32_t n;
};

/* ---- lines.c ---- */

/* One line: {"type": type, ...} */
void mt_dump_begin(struct mt_dump *d, const char *type);
void mt_dump_end(struct mt_dump *d);
void mt_dump_str(struct mt_dump *d, const char *key, mt_str_id id);
/* writes the stack's own line when it is new; 0 = no stack */
uint32_t mt_dump_stack(struct mt_dump *d, mt_stack_id s);

/* dump/driver.c: all lines of a driver model */
void mt_dump_driver(struct mt_dump *d);
/* info_driver.c: what follows the name of the input */
void mt_info_driver(const struct mt_trace *t, struct mt_out *o);
/* the members of its object */
void mt_info_driver_json(const struct mt_trace *t, struct mt_jsonw *w);
const char *mt_format_name(enum mt_format f);

#endif
