/* table.h -- headings, paragraphs and tables of what is said of saved reports, in text, Markdown
 * and HTML. Every byte of an input passes the escaping of the format. */
#ifndef MT_SAVED_TABLE_H
#define MT_SAVED_TABLE_H

#include "parser/base/mem.h"
#include "render/base/out.h"

#include <stdbool.h>

enum mt_paper_format { MT_PAPER_TEXT, MT_PAPER_MD, MT_PAPER_HTML };
struct mt_paper {
    struct mt_out *o;
    enum mt_paper_format format;
    size_t width;  /* of text */
    uint32_t most; /* rows of a table of holders; of other lists four times as many; 0 = all */
};

void mt_paper_title(const struct mt_paper *k, const char *words);
void mt_paper_heading(const struct mt_paper *k, const char *words);
/* NULL and "" say nothing. */
void mt_paper_line(const struct mt_paper *k, const char *words);
void mt_paper_item(const struct mt_paper *k, const char *words); /* of a list */
void mt_paper_code(const struct mt_paper *k, const char *line);  /* to type, below an item */

void mt_paper_left_out(const struct mt_paper *k, uint32_t n); /* "and 7 more"; 0 says nothing */

/* A table that is written when all of it is there. heads: '#' before one is a column of numbers. */
enum { MT_GRID_COLUMNS = 6 };
struct mt_grid {
    const char *heads[MT_GRID_COLUMNS];
    unsigned n;
    MT_VEC(struct mt_grid_cell {
        char *words;
        int64_t n; /* bytes, which a page has exactly */
        bool has_n;
    }) cells;
    bool failed;
};
void mt_grid_cell(struct mt_grid *g, const char *words); /* a copy is kept */
void mt_grid_bytes(struct mt_grid *g, bool is_known, uint64_t n);
void mt_grid_change(struct mt_grid *g, bool is_known, int64_t n); /* "+1.2 GiB", "-3.0 MiB" */
/* Writes it under its heading, nothing where it has no row, and gives its memory back. */
void mt_grid_put(struct mt_grid *g, const struct mt_paper *k, const char *heading);

#endif
