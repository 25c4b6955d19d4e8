/* text/impl.h -- what the files of the terminal report share. */
#ifndef MT_TEXT_IMPL_H
#define MT_TEXT_IMPL_H

#include "render/view/report.h"

#include <stddef.h>

struct mt_text {
    struct mt_out *o;
    int width;
    bool color;
};

/* of an ANSI escape; nothing without colours */
void mt_text_style(struct mt_text *x, const char *code);
void mt_text_heading(struct mt_text *x, const char *words);
/* Escapes s once and breaks it at spaces to the width. */
void mt_text_wrap(struct mt_text *x, const char *first, const char *next, const char *s);
/* Escapes s once and cuts it to the width; returns the columns it took. */
size_t mt_text_clipped(struct mt_text *x, const char *s, int width);
void mt_text_padded(struct mt_text *x, const char *s, int width);

/* The sections of what the driver saw (text/driver.c). */
void mt_text_job(struct mt_text *x, const struct mt_report *r);

/* what to change first, with bytes */
void mt_text_top(struct mt_text *x, const struct mt_report *r);
void mt_text_cause(struct mt_text *x, const struct mt_report *r); /* evidence and what-ifs */
void mt_text_roles(struct mt_text *x, const struct mt_device_analysis *d);
void mt_text_occurrences(struct mt_text *x, const struct mt_device_analysis *d);
void mt_text_steps(struct mt_text *x, const struct mt_device_analysis *d);
void mt_text_audits(struct mt_text *x, const struct mt_device_analysis *d);
void mt_text_pins(struct mt_text *x, const struct mt_device_analysis *d);
/* which device the next sections are about */
void mt_text_whose(struct mt_text *x, const struct mt_report *r);
void mt_text_others(struct mt_text *x, const struct mt_report *r); /* the other ones, a line each */
void mt_text_advice(struct mt_text *x, const struct mt_report *r);
void mt_text_lint(struct mt_text *x, const struct mt_report *r);
void mt_text_logs(struct mt_text *x, const struct mt_report *r);
void mt_text_run(struct mt_text *x, const struct mt_report *r);

#endif
