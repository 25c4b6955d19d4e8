/* dump.h -- what a trace holds, before anything is analysed. */
#ifndef MT_DUMP_H
#define MT_DUMP_H

#include "parser/model/trace.h"
#include "render/base/out.h"

#include <stdbool.h>

/* `memtrace dump`: one JSON object per line of the normalised model, the golden form of every
 * reader. Independent of how the file was encoded: two encodings of one snapshot give the same
 * bytes (meta lines of encoding are left out unless with_meta). */
void mt_render_dump(const struct mt_trace *t, struct mt_out *o, bool with_meta);
/* `memtrace info`: format, producer, devices, ranks, events, time span, frames present,
 * completeness. */
void mt_render_info(const struct mt_trace *t, struct mt_out *o);
void mt_render_info_json(const struct mt_trace *t, struct mt_out *o);

#endif
