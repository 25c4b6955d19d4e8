/* kit.h -- what the panels of the page are made of. A panel without data is absent, heading and
 * all.
 *
 * Every byte that comes from an input, from a rule file or from the command line goes through
 * mt_html(); panels write markup of their own with mt_puts() and mt_putf() only. No style
 * attributes: the page has to read without its CSS. */
#ifndef MT_HTML_KIT_H
#define MT_HTML_KIT_H

#include "render/sections/sections.h"
#include "render/view/palette.h"
#include "render/view/report.h"
#include "render/view/view.h"

struct mt_page_plan; /* page_plan.h */
struct mt_page {
    const struct mt_report *r;
    const struct mt_rank *rank;           /* the verdict's; NULL when nothing could be read */
    const struct mt_device_analysis *dev; /* the verdict's; NULL when its rank has none */
    struct mt_palette pal;
    const struct mt_page_plan *plan; /* what it carries for its script */
};

struct mt_panel {
    const char *slot;    /* {{slot}} of the template, and the id of the section */
    const char *heading; /* NULL: the panel brings its own section */
    bool (*has)(const struct mt_page *p);
    void (*draw)(const struct mt_page *p, struct mt_out *o);
};

#define MT_PANEL(n) extern const struct mt_panel mt_panel_##n;
#include "render/sections/sections.def"

/* Whether the page's device has a curve, so that words can link to its timeline. */
bool mt_page_has_timeline(const struct mt_page *p);
/* Whether the page's picture is of calls of the driver, because no device has a curve. */
bool mt_page_has_calls(const struct mt_page *p);
/* Whether there is a history that a script can move in; a page without one has no script. */
bool mt_page_is_alive(const struct mt_page *p);
/* "GPU 0 of node1: calls of the driver" */
char *mt_h_calls_name(char *buf, size_t cap, const struct mt_ledger *l);
/* What the script shows of the blocks at its cursor, empty; roles: what it calls the owner of a
 * block. */
void mt_h_owners_at_cursor(const struct mt_page *p, struct mt_out *o, const char *roles);
/* Whether several devices have a history to look at, so that it has to be said whose one is. */
bool mt_page_has_devices(const struct mt_page *p);

/* Pieces of markup. */
/* a path or a function: isolated (<bdi>), may break inside */
void mt_h_name(struct mt_out *o, const char *s, size_t max);
/* escaped, cut at max bytes; NULL gives nothing */
void mt_h_text(struct mt_out *o, const char *s, size_t max);
/* the same; long words, as keys are, may break as code does */
void mt_h_words(struct mt_out *o, const char *s, size_t max);
/* a cell; its tooltip has the exact number */
void mt_h_td_bytes(struct mt_out *o, uint64_t bytes);
/* The same, of a moment that the timeline can show: the event for the script. */
void mt_h_td_bytes_at(struct mt_out *o, uint64_t bytes, int64_t event);
void mt_h_td_count(struct mt_out *o, uint64_t n);
/* a numeric cell with a text of memtrace's own */
void mt_h_td_text(struct mt_out *o, const char *s);
/* percentage and bar */
void mt_h_td_share(struct mt_out *o, uint64_t part, uint64_t whole, unsigned color);
void mt_h_swatch(struct mt_out *o, unsigned color);
/* words, as a link to the timeline at that event of the page's device; plain where there is none.
 */
void mt_h_event(struct mt_out *o, const struct mt_page *p, int64_t event, const char *words);
/* Where in the timeline that was, after `before`: a stretch or (since = event) a moment of the
 * page's device. MT_NO_LINK gives nothing. */
void mt_h_when(struct mt_out *o, const struct mt_page *p, const char *before, int64_t since,
               int64_t event);
/* The rows of a section, all but its heading; of the verdict's device or of another one. */
void mt_h_rows(struct mt_out *o, const struct mt_page *p, mt_section *section,
               const struct mt_device_analysis *dev);
/* Those of one piece of advice: mt_section_card(), mt_section_first_card(). */
void mt_h_advice_rows(struct mt_out *o, const struct mt_page *p, mt_section *section,
                      const struct mt_advice *a);
/* Those of the section of one GPU's owners. */
void mt_h_ledger_rows(struct mt_out *o, const struct mt_page *p, const struct mt_ledger *l);
/* Whether there are any. dev: NULL = of the verdict's device */
bool mt_h_has_rows(const struct mt_page *p, mt_section *section,
                   const struct mt_device_analysis *dev);
/* Opens a box that scrolls by itself, and a table with these column headings ("#" before a name: a
 * column of numbers). */
void mt_h_table(struct mt_out *o, const char *label, const char *const *heads, unsigned n);
void mt_h_table_end(struct mt_out *o);
/* What a table had no room for, where that is not 0. */
void mt_h_more(struct mt_out *o, uint32_t n);
/* Inside a <template>, for the script: buttons of one name of which one is pressed, at first the
 * first. Values and words, then NULL. */
void mt_h_choice(struct mt_out *o, const char *label, const char *name, const char *const *pairs);
/* "rank 3, device 0" */
void mt_h_place(struct mt_out *o, const struct mt_page *p, const struct mt_rank *rank,
                const struct mt_device_analysis *d);
/* In the heading of that section, where it is of the page's device and the timeline may show
 * another: which device that is. */
void mt_h_of(struct mt_out *o, const struct mt_page *p, const char *slot);
/* The heading of a part that follows the cursor; where there are several devices, with the one that
 * is looked at, which the script keeps right. */
void mt_h_at_cursor(struct mt_out *o, const struct mt_page *p, const char *words);
/* What a picture means, folded; words of memtrace's own. */
void mt_h_help(struct mt_out *o, const char *words);
/* A definition list: name and value; the note may be NULL. */
void mt_h_def(struct mt_out *o, const char *name, const char *value, const char *note);
/* A setting as it is typed: breaks at dots and blanks only, the module pale, the value strong. */
void mt_h_code(struct mt_out *o, const char *s);
/* The i-th owner of the page's device, who called it, and its stack to open. */
void mt_h_owner(struct mt_out *o, const struct mt_page *p, uint32_t i, bool with_stack);
/* The lines of a piece of advice that apply, as they are typed. */
void mt_h_settings(struct mt_out *o, const struct mt_advice *a);

#endif
