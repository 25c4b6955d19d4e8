/* formats.h -- the output formats of a report: formats.def is the one table of them. */
#ifndef MT_FORMATS_H
#define MT_FORMATS_H

#include "render/view/report.h"

enum mt_format_choice {
#define MT_FORMAT(id, name, ending, words, render, traits) MT_FORMAT_##id,
#include "cli/formats.def"
#undef MT_FORMAT
    MT_FORMAT_COUNT
};
enum {
    /* Several MB that a browser opens: it goes to a file of its own, carries the exact events, and
     * gives up detail to stay below --max-size. */
    MT_FORMAT_IS_PAGE = 1,
    MT_FORMAT_IN_COLOR = 2 /* on a terminal that has colours */
};
struct mt_report_format {
    const char *name;
    void (*render)(const struct mt_report *r, struct mt_out *o);
    unsigned traits;
};
extern const struct mt_report_format mt_report_formats[MT_FORMAT_COUNT + 1]; /* ends with NULL */

#endif
