/* view/diagnosis.h -- what every renderer says of one device's diagnosis in the same way: savings,
 * cause, roles, occurrences, steps. */
#ifndef MT_VIEW_DIAGNOSIS_H
#define MT_VIEW_DIAGNOSIS_H

#include "analysis/audit/audit.h"
#include "analysis/cause/cause.h"
#include "analysis/expected/expected.h"
#include "render/view/palette.h"
#include "render/view/view.h"

/* ---- savings ---- */

#define MT_SAVING_WORDS 160
/* "about 2.10 GiB (1.50 GiB to 2.10 GiB; confidence: medium)"; "" when none was computed. */
char *mt_saving_words(char buf[MT_SAVING_WORDS], const struct mt_saving *s);
/* Why a piece of advice has no number of bytes, in words; "" when it has one or nothing is known of
 * the reason. */
const char *mt_saving_missing(const struct mt_advice *a);
/* "enough alone", "1.20 GiB short alone"; "" where nothing failed or nothing was computed. */
char *mt_enough_words(char buf[MT_SAVING_WORDS], const struct mt_advice *a);
/* The line of the card that its bytes are of, else the first that applies; n_set = none does. */
uint32_t mt_saving_line(const struct mt_advice *a);
enum { MT_SETTLED_WORDS = 1600 };
/* "Or one of these, each enough alone: a=1 (2.10 GiB), b=2 (3.00 GiB)": what stands behind the
 * settings to change first; NULL where there is none. */
const char *mt_instead_words(char buf[MT_SETTLED_WORDS], const struct mt_advice_list *list);
/* What fits the failure and is nothing to type, one sentence each: what the trace contradicts, what
 * is at its end, what is set. *at begins at 0; NULL = no more. */
const char *mt_settled_next(char buf[MT_SETTLED_WORDS], const struct mt_advice_list *list,
                            uint32_t *at);
struct mt_tried;
/* What a setting that was tried would do, as the end of "KEY=VALUE: ...". */
const char *mt_tried_words(char buf[MT_SETTLED_WORDS], const struct mt_tried *t);

/* ---- cause ---- */

/* Of the verdict's device, where the snapshot has the headline; NULL when there is none, or nothing
 * is to be said of it. */
const struct mt_cause *mt_report_cause(const struct mt_report *r);
/* Its sentence; NULL when there is none. */
const char *mt_report_cause_sentence(const struct mt_report *r);
/* "With the engine asleep ..." without its answer, which stands in a column of its own; buf of cap.
 */
char *mt_what_if_condition(char *buf, size_t cap, const struct mt_what_if *w);
/* enum mt_conf for people: "high", "good", "fair", "low", "none" */
const char *mt_conf_phrase(unsigned conf);

/* Segments that blocks of one place, role and phase hold. */
struct mt_pin_group {
    const struct mt_pin *first;
    uint64_t n, free, largest_free, block_bytes, total;
};
#define MT_PIN_GROUPS 16
/* In the order of their first segment; returns how many. */
unsigned mt_pin_groups(const struct mt_cause *c, struct mt_pin_group out[MT_PIN_GROUPS]);

/* ---- roles ---- */

/* "KV cache 27.00 GiB, parameters 3.81 GiB, others 12.0 MiB": the max largest. "-" when there are
 * none. */
char *mt_role_words_list(char *buf, size_t cap, const uint64_t bytes[MT_ROLE_COUNT], unsigned max);
bool mt_has_roles(const struct mt_device_analysis *d);
/* Whether anything is known of other moments than the one that matters. */
bool mt_roles_have_past(const struct mt_device_analysis *d);
/* Of the bytes of a role those that the phase never touches. */
uint64_t mt_role_idle(unsigned role, uint64_t bytes, enum mt_phase phase);
/* How the roles are known, how long the blocks live, and what is not known, one sentence each;
 * returns how many. */
enum { MT_ROLE_NOTES = 7, MT_ROLE_NOTE = 512 };
unsigned mt_role_notes(char notes[MT_ROLE_NOTES][MT_ROLE_NOTE], const struct mt_device_analysis *d);

/* "3.81 GiB", "at most 4.00 GiB", "not known": what was expected of a role. */
char *mt_expect_bytes(char buf[48], const struct mt_expect *e);
/* "as expected", "12.00 MiB more", "less": measured beside it; "" when nothing was expected. */
char *mt_expect_answer(char buf[48], const struct mt_expect *e);
bool mt_has_expected(const struct mt_device_analysis *d);

/* ---- the devices that the verdict is not about ---- */

/* Whether more than one device was read, so that it has to be said which one a section is about. */
bool mt_has_others(const struct mt_report *r);
/* The next device after (rank i, device j) that the verdict is not about; starts with *i = 0, *j =
 * UINT32_MAX. NULL = no more. */
const struct mt_device_analysis *mt_next_other(const struct mt_report *r, uint32_t *i, uint32_t *j);
/* "live at the peak 12.00 GiB: KV cache 8.00 GiB, others 4.00 GiB; 3 steps; to act on: Weight sync"
 */
char *mt_device_words(char *buf, size_t cap, const struct mt_device_analysis *d);

/* ---- occurrences and steps ---- */

/* What "left behind" and "of no use" mean, in one sentence each. */
const char *mt_occ_note(const struct mt_device_analysis *d);
/* What would fail first where nothing failed; NULL when it did, or nothing is known. */
const char *mt_forecast_sentence(const struct mt_device_analysis *d);

/* All occurrences of one phase. */
struct mt_occ_sum {
    enum mt_phase phase;
    uint64_t n, alloc_bytes;
    const struct mt_occurrence *top; /* with the highest peak */
    uint64_t retained, useless;      /* the most of any occurrence */
};
/* The name of a stretch of one coarse phase; where that is not told, of what happens in such
 * stretches: "forward, backward". */
const char *mt_occ_name(char buf[MT_WORDS], const struct mt_device_analysis *d, unsigned phase);
/* In order of first occurrence; returns how many, at most MT_PH_COUNT. */
unsigned mt_occ_sums(const struct mt_role_facts *f, struct mt_occ_sum out[MT_PH_COUNT]);
/* Which steps a table of at most max rows shows: the first ones and the last ones. Returns how
 * many; indices of steps. */
uint32_t mt_step_rows(const struct mt_role_facts *f, uint32_t *out, uint32_t max);
/* "1.204 s": length of a stretch; "-" without a clock. */
char *mt_span_words(char buf[MT_WORDS], uint64_t t0_ns, uint64_t t1_ns);
/* "+1.20 GiB"; rounded to a whole number of bytes. */
char *mt_slope_words(char buf[40], double slope);
unsigned mt_fit_percent(const struct mt_growth *g);

/* A cell of an audit's table as text: buf of 64, or the text of the cell itself. */
const char *mt_cell_words(char buf[64], const struct mt_cell *c);
bool mt_cell_is_number(const struct mt_audit *a, uint32_t column);

#endif
