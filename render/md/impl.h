/* md/impl.h -- what the files of the Markdown report share. */
#ifndef MT_MD_IMPL_H
#define MT_MD_IMPL_H

#include "render/view/report.h"

/* what to change first, with bytes */
void mt_md_top(const struct mt_report *r, struct mt_out *o);
void mt_md_cause(const struct mt_report *r, struct mt_out *o); /* evidence and what-ifs */
void mt_md_roles(const struct mt_device_analysis *d, struct mt_out *o);
void mt_md_occurrences(const struct mt_device_analysis *d, struct mt_out *o);
void mt_md_steps(const struct mt_device_analysis *d, struct mt_out *o);
void mt_md_audits(const struct mt_device_analysis *d, struct mt_out *o);
void mt_md_pins(const struct mt_device_analysis *d, struct mt_out *o);
/* which device the next sections are about */
void mt_md_whose(const struct mt_report *r, struct mt_out *o);
void mt_md_others(const struct mt_report *r, struct mt_out *o); /* the other ones, a line each */
void mt_md_run(const struct mt_report *r, struct mt_out *o);
void mt_md_job(const struct mt_report *r, struct mt_out *o);

#endif
