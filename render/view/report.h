/* report.h -- what a report is made of.
 *
 * All renderers (render/html, text, md, json, dump, export) are pure: same input, same bytes; no
 * clock, locale, working directory or hash seed enters. Every byte of the input passes one of the
 * escaping functions of render/base/escape.h. Errors are those of the sink (out->error). */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include "analysis/run/diagnose.h"
#include "render/base/out.h"
#include "analysis/advice/lines.h"
#include "analysis/phases/phases.h"

struct mt_packs; /* render/pack/pack.h */

struct mt_report {
    const struct mt_diagnosis *diagnosis;
    /* tracks for the page, by mt_rank.order; NULL = the history is not packed */
    const struct mt_packs *packs;
    const char *title;   /* NULL = made from the input's name */
    const char *command; /* the command line without its output path; "" = unknown */
    const char *version; /* "0.1.0" */
    /* of a page, in bytes: detail is given up to keep it; 0 = as large as it gets */
    uint64_t max_size;
    int columns; /* of the terminal; 0 = 80 */
    bool color;  /* ANSI colours */
};

#endif
