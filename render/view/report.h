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

/* GitHub takes texts of 65,536 characters, and people write above and below this one. */
#define MT_TICKET_SIZE UINT64_C(60000)

struct mt_packs; /* render/pack/pack.h */

/* A memtrace.toml that was read (docs/config.md). */
enum { MT_CONFIG_KEYS = 4 };
struct mt_config_used {
    const char *file;                 /* "memtrace.toml" */
    const char *keys[MT_CONFIG_KEYS]; /* what of it holds where nothing else says it */
    uint32_t n_keys;
};

struct mt_report {
    const struct mt_diagnosis *diagnosis;
    /* tracks for the page, by mt_rank.order; NULL = the history is not packed */
    const struct mt_packs *packs;
    const char *title;   /* NULL = made from the input's name */
    const char *command; /* the command line without its output path; "" = unknown */
    /* the same with the last parts of paths alone, for what is published; NULL = command */
    const char *ticket_command;
    uint64_t ticket_size; /* of Markdown, in bytes; 0 = MT_TICKET_SIZE */
    const char *version;  /* "0.1.0" */
    /* of a page, in bytes: detail is given up to keep it; 0 = as large as it gets */
    uint64_t max_size;
    int columns;                         /* of the terminal; 0 = 80 */
    bool color;                          /* ANSI colours */
    bool in_full;                        /* text: all of it, not one screen */
    bool is_ascii;                       /* text: nothing but ASCII */
    const struct mt_config_used *config; /* nearest first */
    uint32_t n_config;
    const char *link; /* for the footer: an address; NULL = none */
    bool all_frames;  /* JSON: whole stacks, not only the frames of people's own code */
    bool redacted;    /* names were replaced: --redact, --redact-key, memtrace.toml */
};

#endif
