#include "render/saved/table.h"

#include "render/base/escape.h"
#include "render/base/folders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is for a ticket names no folders. */
static void put_md_words(const struct mt_paper *k, const char *s, size_t n, bool is_code)
{
    struct mt_out m;
    char *copy = mt_strndup(s, n);
    const char *shown = copy != NULL ? mt_without_folders(&m, copy, NULL, NULL) : "";
    if (is_code)
        mt_md_code(k->o, shown, strlen(shown));
    else
        mt_md(k->o, shown, strlen(shown));
    if (copy == NULL)
        k->o->error = k->o->error != 0 ? k->o->error : ENOMEM;
    else {
        k->o->error = k->o->error != 0 ? k->o->error : m.error;
        mt_out_done(&m);
    }
    mt_free(copy);
}

static void put(const struct mt_paper *k, const char *s, size_t n)
{
    switch (k->format) {
    case MT_PAPER_TEXT: mt_term(k->o, s, n); break;
    case MT_PAPER_MD: put_md_words(k, s, n, false); break;
    case MT_PAPER_HTML: mt_html(k->o, s, n); break;
    }
}

/* Words of text broken at spaces; further lines stand below the first one's. */
static void put_wrapped(const struct mt_paper *k, size_t indent, const char *s)
{
    size_t room = k->width > indent + 20 ? k->width - indent : 20;
    while (*s != '\0') {
        size_t n = mt_utf8_line(s, room);
        put(k, s, n);
        for (s += n; *s == ' '; s++)
            ;
        if (*s != '\0')
            mt_putf(k->o, "\n%*s", (int)indent, "");
    }
    mt_putc(k->o, '\n');
}

void mt_paper_title(const struct mt_paper *k, const char *words)
{
    static const char *const before[] = {"memtrace  ", "### memtrace: ", "<h1>"};
    static const char *const behind[] = {"\n", "\n\n", "</h1>\n"};
    mt_puts(k->o, before[k->format]);
    put(k, words, strlen(words));
    mt_puts(k->o, behind[k->format]);
}

void mt_paper_heading(const struct mt_paper *k, const char *words)
{
    static const char *const before[] = {"\n", "**", "<h2>"};
    static const char *const behind[] = {"\n", "**\n\n", "</h2>\n"};
    mt_puts(k->o, before[k->format]);
    put(k, words, strlen(words));
    mt_puts(k->o, behind[k->format]);
}

void mt_paper_line(const struct mt_paper *k, const char *words)
{
    if (words == NULL || words[0] == '\0')
        return;
    if (k->format == MT_PAPER_TEXT) {
        mt_puts(k->o, "  ");
        put_wrapped(k, 2, words);
        return;
    }
    mt_puts(k->o, k->format == MT_PAPER_HTML ? "<p>" : "");
    put(k, words, strlen(words));
    mt_puts(k->o, k->format == MT_PAPER_HTML ? "</p>\n" : "\n\n");
}

void mt_paper_item(const struct mt_paper *k, const char *words)
{
    if (k->format == MT_PAPER_TEXT) {
        mt_puts(k->o, "  - ");
        put_wrapped(k, 4, words);
        return;
    }
    mt_puts(k->o, k->format == MT_PAPER_HTML ? "<p class=\"item\">" : "- ");
    put(k, words, strlen(words));
    mt_puts(k->o, k->format == MT_PAPER_HTML ? "</p>\n" : "\n");
}

void mt_paper_code(const struct mt_paper *k, const char *line)
{
    size_t n = strlen(line);
    mt_puts(k->o,
            k->format == MT_PAPER_HTML
                ? "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"To type\"><pre>"
            : k->format == MT_PAPER_MD ? "  "
                                       : "      ");
    if (k->format == MT_PAPER_MD)
        put_md_words(k, line, n, true);
    else
        put(k, line, n);
    mt_puts(k->o, k->format == MT_PAPER_HTML ? "</pre></div>\n" : "\n");
}

void mt_paper_left_out(const struct mt_paper *k, uint32_t n)
{
    char words[80];
    (void)snprintf(words, sizeof words, "and %u more (--format json has all)", (unsigned)n);
    mt_paper_line(k, n != 0 ? words : NULL);
}

/* ---- tables ---- */

static void add_cell(struct mt_grid *g, const char *words, bool has_n, int64_t n)
{
    struct mt_grid_cell *slot = MT_VEC_PUSH(&g->cells);
    if (slot != NULL)
        *slot = (struct mt_grid_cell){mt_strndup(words, strlen(words)), n, has_n};
    g->failed |= slot == NULL || slot->words == NULL;
}

void mt_grid_cell(struct mt_grid *g, const char *words) { add_cell(g, words, false, 0); }

void mt_grid_bytes(struct mt_grid *g, bool is_known, uint64_t n)
{
    char words[32];
    add_cell(g, is_known ? mt_fmt_bytes(words, n) : "-", is_known, (int64_t)n);
}

void mt_grid_change(struct mt_grid *g, bool is_known, int64_t n)
{
    char words[40] = "", bytes[32];
    uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    if (is_known && n != 0)
        (void)snprintf(words, sizeof words, "%c%s", n < 0 ? '-' : '+', mt_fmt_bytes(bytes, size));
    add_cell(g, is_known && n == 0 ? "0" : words, is_known, n);
}

static bool is_number(const struct mt_grid *g, unsigned c) { return g->heads[c][0] == '#'; }

static const char *head_of(const struct mt_grid *g, unsigned c)
{
    return g->heads[c] + is_number(g, c);
}

static void put_padded(const struct mt_paper *k, const char *s, size_t width, bool is_right,
                       bool is_last)
{
    struct mt_out m;
    if (mt_out_mem(&m)) {
        mt_term(&m, s, strlen(s));
        if (mt_out_finish(&m) == 0) {
            size_t columns = mt_utf8_columns((const char *)m.buf, m.used);
            int blanks = columns < width ? (int)(width - columns) : 0;
            if (is_right)
                mt_putf(k->o, "%*s", blanks, "");
            mt_put(k->o, m.buf, m.used);
            if (!is_right && !is_last)
                mt_putf(k->o, "%*s", blanks, "");
        }
    }
    k->o->error = k->o->error != 0 ? k->o->error : m.error;
    mt_out_done(&m);
}

static void put_text(const struct mt_grid *g, const struct mt_paper *k)
{
    size_t width[MT_GRID_COLUMNS] = {0};
    for (unsigned c = 0; c < g->n; c++)
        width[c] = strlen(head_of(g, c));
    for (uint32_t i = 0; i < g->cells.n; i++) {
        size_t w = mt_utf8_columns(g->cells.p[i].words, strlen(g->cells.p[i].words)),
               *most = &width[i % g->n];
        *most = w > *most ? w : *most;
    }
    mt_puts(k->o, "  ");
    for (unsigned c = 0; c < g->n; c++) {
        mt_puts(k->o, c > 0 ? "  " : "");
        put_padded(k, head_of(g, c), width[c], is_number(g, c), c + 1 == g->n);
    }
    for (uint32_t i = 0; i < g->cells.n; i++) {
        unsigned c = i % g->n;
        mt_puts(k->o, c > 0 ? "  " : "\n  ");
        put_padded(k, g->cells.p[i].words, width[c], is_number(g, c), c + 1 == g->n);
    }
    mt_putc(k->o, '\n');
}

static void put_md(const struct mt_grid *g, const struct mt_paper *k)
{
    for (unsigned c = 0; c < g->n; c++)
        mt_putf(k->o, "| %s ", head_of(g, c));
    mt_puts(k->o, "|\n");
    for (unsigned c = 0; c < g->n; c++)
        mt_puts(k->o, is_number(g, c) ? "|---:" : "|---");
    for (uint32_t i = 0; i < g->cells.n; i++) {
        mt_puts(k->o, i == 0 ? "|\n| " : i % g->n == 0 ? " |\n| " : " | ");
        put(k, g->cells.p[i].words, strlen(g->cells.p[i].words));
    }
    mt_puts(k->o, " |\n\n");
}

static void put_html(const struct mt_grid *g, const struct mt_paper *k, const char *heading)
{
    mt_puts(k->o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
    put(k, heading, strlen(heading));
    mt_puts(k->o, "\"><table><thead><tr>");
    for (unsigned c = 0; c < g->n; c++)
        mt_putf(k->o, "<th%s>%s</th>", is_number(g, c) ? " class=\"n\"" : "", head_of(g, c));
    mt_puts(k->o, "</tr></thead><tbody>");
    for (uint32_t i = 0; i < g->cells.n; i++) {
        unsigned c = i % g->n;
        mt_puts(k->o, c == 0 ? "\n<tr>" : "");
        mt_puts(k->o, is_number(g, c) ? "<td class=\"n\"" : "<td");
        if (g->cells.p[i].has_n)
            mt_putf(k->o, " title=\"%" PRId64 " bytes\"", g->cells.p[i].n);
        mt_putc(k->o, '>');
        put(k, g->cells.p[i].words, strlen(g->cells.p[i].words));
        mt_puts(k->o, c + 1 == g->n ? "</td></tr>" : "</td>");
    }
    mt_puts(k->o, "</tbody></table></div>\n");
}

void mt_grid_put(struct mt_grid *g, const struct mt_paper *k, const char *heading)
{
    if (g->failed && k->o->error == 0)
        k->o->error = ENOMEM;
    if (g->n != 0 && g->cells.n != 0 && !g->failed) {
        mt_paper_heading(k, heading);
        if (k->format == MT_PAPER_TEXT)
            put_text(g, k);
        else if (k->format == MT_PAPER_MD)
            put_md(g, k);
        else
            put_html(g, k, heading);
    }
    for (uint32_t i = 0; i < g->cells.n; i++)
        mt_free(g->cells.p[i].words);
    MT_VEC_DONE(&g->cells);
}
