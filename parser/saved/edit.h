/* edit.h -- the text of a report with lists cut, values put in place of others, and members added.
 * Numbers stay as they are written: no value passes a double. */
#ifndef MT_SAVED_EDIT_H
#define MT_SAVED_EDIT_H

#include "parser/base/text.h"

#include <stdint.h>

struct mt_saved_edit {
    const char *path; /* "devices[].ooms[].frames"; of a member of the whole: "quality" */
    uint32_t most;    /* members of that list; UINT32_MAX = all of them */
    /* instead of the value; NULL = it stays */
    const char *put;
    const char *after; /* members ("\"key\":1") that follow it; NULL = none */
    const char *last;  /* members of that list, added at its end; NULL = none */
};

/* Adds to *out the text without blanks, as n edits say; the text is one that was read
 * (mt_saved_text). An edit whose path does not occur does nothing. out->failed: out of memory. */
void mt_saved_edited(struct mt_text *out, const char *text, size_t size,
                     const struct mt_saved_edit *edits, uint32_t n);

#endif
