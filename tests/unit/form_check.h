/* form_check.h -- a sink that holds every row of a report against its form: each cell that the form
 * names is there. */
#ifndef MT_FORM_CHECK_H
#define MT_FORM_CHECK_H

#include "render/sections/sections.h"
#include "tests/unit/mt_test.h"

#include <stdlib.h>
#include <string.h>

static unsigned form_rows;

static inline void form_row(struct mt_sink *k, const char *form, const char *const *cell,
                            const struct mt_datum *datum, unsigned n)
{
    (void)cell;
    form_rows++;
    for (const char *p = form; *p != '\0'; p++) {
        if (*p == '{') {
            const char *end = strchr(p, '}');
            char *behind;
            unsigned long i = strtoul(p + 1, &behind, 10);
            if (end == NULL || behind == p + 1 || (*behind != '}' && *behind != ':') || i >= n)
                MT_FAIL_AT("a cell is not there, or not whole: %s", form);
            else if (k->format == MT_IN_HTML && datum == NULL && *behind == ':' &&
                     strchr("tbcoahv", behind[1]) != NULL)
                MT_FAIL_AT("no datum, which this spec shows: %s", form);
            p = end != NULL ? end : p;
        } else if (*p == '[' && p[1] == '[') {
            p++;
        } else if (*p == '[') {
            MT_CHECK(strchr(p, ']') != NULL);
        }
    }
}

static inline void form_heading(struct mt_sink *k, const char *words)
{
    (void)k;
    MT_CHECK(words[0] != '\0');
}

static inline void form_end(struct mt_sink *k) { (void)k; }

/* Every row of the report in all formats; how many there were. */
static inline unsigned check_forms(const struct mt_report *r)
{
    struct mt_out o = {.error = 0};
    struct mt_sink k = {
        .o = &o, .format = MT_IN_TEXT, .row = form_row, .heading = form_heading, .end = form_end};
    form_rows = 0;
    mt_sections(&k, r);
    k.format = MT_IN_MD;
    mt_sections(&k, r);
    k.format = MT_IN_HTML;
    mt_sections(&k, r);
    return form_rows;
}

#endif
