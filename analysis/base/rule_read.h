/* rule_read.h -- strict reading of rule files, built-in ones and overlays: whoever misspells a
 * field learns the file, the row and the field; otherwise it would be a rule that silently is not
 * there.
 *
 * Thread-safety: a reader belongs to one thread. */
#ifndef MT_RULE_READ_H
#define MT_RULE_READ_H

#include "analysis/base/rule_json.h"

#include <stddef.h>

struct mt_framework_rules;

struct mt_rule_reader {
    const char *file, *kind; /* "mine.json", "phase rule": for messages */
    const char *id;          /* of the row; NULL = it has none */
    unsigned index;          /* of the row, from 1; 0 = none is being read */
    /* The texts of an overlay go away with it: those that are kept are copied to the arena. */
    bool is_overlay;
    struct mt_arena *arena;
    struct mt_err *err;
    const struct mt_framework_rules *fw; /* whose names the rows may use; may be NULL */
    void *of;                            /* the loader's own */
};

/* ---- failures ---- */

/* "mine.json: phase rule a: field "level": ..."; a field of NULL leaves that part out. Returns
 * MT_EINPUT. The caller makes bytes of the file in the arguments printable. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum mt_rc
mt_rule_bad(const struct mt_rule_reader *r, const char *field, const char *fmt, ...);
enum mt_rc mt_rule_nomem(const struct mt_rule_reader *r);

/* ---- files ---- */

/* One list of a file. `id` is the field by which messages name a row of `kind`. A list without
 * `row` is allowed, and read elsewhere. */
struct mt_rule_list {
    const char *name, *kind, *id;
    enum mt_rc (*row)(struct mt_rule_reader *r, const cJSON *obj);
};
/* Checks the keys of the root, among them "schema_version", and hands out the rows of the lists,
 * which end with a NULL name. A built-in file has just these lists; an overlay may have those of
 * all loaders, and needs none. */
enum mt_rc mt_rule_read(struct mt_rule_reader *r, const cJSON *root,
                        const struct mt_rule_list *lists);
/* Refuses an overlay of more than 8 MiB before anybody reads it; name NULL = "the rule file". */
enum mt_rc mt_rule_size(size_t n, const char *name, struct mt_err *err);
/* The rows of a list. */
enum mt_rc mt_rule_each(struct mt_rule_reader *r, const cJSON *list, const struct mt_rule_list *of);
/* The built-in file of that name. */
enum mt_rc mt_rule_builtin(struct mt_rule_reader *r, const char *name,
                           const struct mt_rule_list *lists);
/* The text of an overlay; NULL = there is none. A name of NULL is "the rule file". */
enum mt_rc mt_rule_overlay(struct mt_rule_reader *r, const char *text, size_t n, const char *name,
                           const struct mt_rule_list *lists);

/* ---- fields ---- */

/* A field of a struct; a table of them ends with a NULL name and has at most 64. */
struct mt_rule_spec {
    const char *name;
    /* NULL = a text for readers, which is not kept */
    enum mt_rc (*get)(const struct mt_rule_reader *r, const struct mt_rule_spec *f, const cJSON *v,
                      void *out);
    size_t at; /* of what `get` fills, in the struct */
    bool is_needed;
    const void *more; /* for `get`, see there */
    size_t count_at;  /* of the uint32_t for the number of entries; 0 = it is not kept */
};
/* Fills the struct at `out` from an object, and leaves alone what is absent. Refuses unknown and
 * repeated fields and the lack of a needed one. */
enum mt_rc mt_rule_fields(const struct mt_rule_reader *r, const cJSON *obj,
                          const struct mt_rule_spec *specs, void *out);

/* What `get` can be: `out` is where the result goes, `more` what the table says. */
#define MT_RULE_GET(name)                                                                          \
    enum mt_rc name(const struct mt_rule_reader *r, const struct mt_rule_spec *f, const cJSON *v,  \
                    void *out)
MT_RULE_GET(mt_get_text);     /* const char *: one line that is not empty */
MT_RULE_GET(mt_get_any_text); /* const char *: one line */
MT_RULE_GET(mt_get_flag);     /* bool */
MT_RULE_GET(mt_get_letter);   /* char: one of the letters of the text `more` */
MT_RULE_GET(mt_get_word);     /* int or an enum: index in the words `more`, which end with NULL */
MT_RULE_GET(mt_get_bits);     /* uint32_t: a list of words of `more`, the first word being 1 */
MT_RULE_GET(mt_get_texts);    /* const char *const *: a list of texts, ending with NULL */
/* An object: the struct itself; `more` is the table of its fields. */
MT_RULE_GET(mt_get_object);
/* A list of objects: a pointer to structs, behind the last one a zeroed one. `more` is a
 * struct mt_rule_rows. */
MT_RULE_GET(mt_get_rows);
struct mt_rule_rows {
    const struct mt_rule_spec *specs;
    size_t size;
    const void *blank; /* what a struct is before its fields are read */
    /* what is to be done with a struct of which all fields are read; may be NULL */
    enum mt_rc (*done)(const struct mt_rule_reader *r, const char *field, void *row);
};
/* Refuses what is no list or has more than 256 entries: that is a typing error. */
enum mt_rc mt_rule_count(const struct mt_rule_reader *r, const char *field, const cJSON *list,
                         uint32_t *n);

/* A text of the file that lives as long as the arena; NULL = out of memory. */
const char *mt_rule_keep(const struct mt_rule_reader *r, const char *s);
/* The text of a field; NULL = there is none. */
static inline const char *mt_rule_text_of(const cJSON *obj, const char *field)
{
    return cJSON_GetStringValue(mt_rule_field(obj, field));
}
/* The index in words that end with NULL; -1 = none of them. */
int mt_rule_word_find(const char *const *words, const char *s);

#endif
