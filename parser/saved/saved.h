/* saved.h -- a report of memtrace, read back: what `report --format json` wrote, or what a page
 * carries of it.
 *
 * A page has it without blanks, with its keys short (parser/base/json_words.h) and its numbers
 * apart (parser/base/apart.h), which are put back here; a file has it as it was written.
 * Thread-safety: a report belongs to one thread at a time. */
#ifndef MT_SAVED_H
#define MT_SAVED_H

#include "parser/base/source.h"

struct cJSON;

enum { MT_SAVED_SCHEMA = 1 }; /* the schema_version that is read, and written */
#define MT_SAVED_MOST (UINT64_C(256) << 20)

struct mt_saved {
    char *text; /* NUL-terminated */
    size_t n;
    struct cJSON *root; /* an object; parser/saved/value.h reads it */
};

/* Whether text that begins with these bytes is such a report. */
bool mt_saved_bid(const unsigned char *p, size_t n);
/* Reads src to its end. MT_EINPUT: damaged, of a version that is not read, or no report after all;
 * MT_ELIMIT: more than MT_SAVED_MOST, or than
 * bounds.h allows; MT_ENOMEM. The message says what to do. */
enum mt_rc mt_saved_read(struct mt_saved **out, struct mt_source *src, struct mt_err *err);
/* The same of a text, which is copied. */
enum mt_rc mt_saved_text(struct mt_saved **out, const char *text, size_t n, struct mt_err *err);
void mt_saved_free(struct mt_saved *s); /* NULL is fine */

#endif
