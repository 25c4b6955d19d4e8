/* jsonw.h -- streaming JSON: commas, indentation and escaping in one place. Integers are written
 * exactly, never as doubles. */
#ifndef MT_JSONW_H
#define MT_JSONW_H

#include "render/base/out.h"

#include <stdbool.h>

struct mt_jsonw {
    struct mt_out *o;
    bool pretty; /* two spaces per level; else one line */
    bool dense;  /* one line, for mt_json_pretty() to bring the others back */
    bool was_pretty;
    int depth;
    bool first[32]; /* no value yet at this level */
    bool after_key;
};

void mt_jw_init(struct mt_jsonw *w, struct mt_out *o, bool pretty);
void mt_jw_open(struct mt_jsonw *w, char bracket);  /* '{' or '[' */
void mt_jw_close(struct mt_jsonw *w, char bracket); /* '}' or ']' */
/* The same for one that is in one line in every form; not empty, and none in another. */
void mt_jw_open_line(struct mt_jsonw *w, char bracket);
void mt_jw_close_line(struct mt_jsonw *w, char bracket);
void mt_jw_key(struct mt_jsonw *w, const char *key); /* a literal of the program: not escaped */
void mt_jw_str(struct mt_jsonw *w, const char *s, size_t n);
void mt_jw_s(struct mt_jsonw *w, const char *s); /* NULL writes null */
void mt_jw_u(struct mt_jsonw *w, uint64_t v);
void mt_jw_i(struct mt_jsonw *w, int64_t v);
void mt_jw_b(struct mt_jsonw *w, bool v);
void mt_jw_null(struct mt_jsonw *w);

/* key and value at once */
void mt_jw_ku(struct mt_jsonw *w, const char *key, uint64_t v);
void mt_jw_ki(struct mt_jsonw *w, const char *key, int64_t v);
void mt_jw_known(struct mt_jsonw *w, const char *key, bool is_known, uint64_t v); /* else null */
void mt_jw_ks(struct mt_jsonw *w, const char *key, const char *s);
void mt_jw_kb(struct mt_jsonw *w, const char *key, bool v);

#endif
