/* The tables that audits fill: rows of cells, bytes by stack. */
#include "analysis/audit/impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *mt_step_words(char buf[32], uint32_t step)
{
    if (step == UINT32_MAX)
        (void)snprintf(buf, 32, "-");
    else
        (void)snprintf(buf, 32, "step %u", step + 1);
    return buf;
}

struct mt_site *mt_site_of(struct mt_sites *s, mt_stack_id stack, bool *ok)
{
    struct mt_site *site;
    uint32_t at, unused;
    bool had;
    *ok = true;
    if (mt_addrmap_get(&s->at, (uint64_t)stack << 9, &at))
        return &s->v.p[at];
    if (s->v.n >= MT_AUDIT_MAX) {
        s->left_out++;
        return NULL;
    }
    site = MT_VEC_PUSH(&s->v);
    *ok = site != NULL && mt_addrmap_put(&s->at, (uint64_t)stack << 9, s->v.n - 1, &had, &unused);
    if (!*ok)
        return NULL;
    site->stack = stack;
    return site;
}

static int by_bytes(const void *pa, const void *pb)
{
    const struct mt_site *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

void mt_sites_sort(struct mt_sites *s)
{
    mt_addrmap_done(&s->at);
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_bytes);
}

struct mt_audit *mt_audit_new(struct mt_audits *out, const char *id, const char *title,
                              const char *const *headings)
{
    struct mt_audit *a = MT_VEC_PUSH(&out->v);
    if (a == NULL)
        return NULL;
    a->id = id;
    a->title = title;
    a->event = MT_NO_LINK;
    while (a->n_columns < MT_AUDIT_COLUMNS && headings[a->n_columns] != NULL) {
        a->column[a->n_columns] = headings[a->n_columns];
        a->n_columns++;
    }
    return a;
}

int mt_audit_add(struct mt_audit *a, const char *cells, ...)
{
    struct mt_audit_row *row;
    va_list ap;
    int ok = 1;
    if (a->rows.n >= MT_AUDIT_ROWS) {
        a->rows_left_out++;
        return 1;
    }
    row = MT_VEC_PUSH(&a->rows);
    if (row == NULL)
        return 0;
    for (uint32_t i = 0; i < MT_AUDIT_COLUMNS; i++)
        row->cell[i].kind = MT_CELL_NONE;
    va_start(ap, cells);
    for (uint32_t i = 0; i < MT_AUDIT_COLUMNS && cells[i] != '\0'; i++) {
        struct mt_cell *c = &row->cell[i];
        if (cells[i] == 't') {
            const char *s = va_arg(ap, const char *);
            c->kind = MT_CELL_TEXT;
            c->text = mt_strndup(s, strlen(s));
            ok = ok && c->text != NULL;
        } else if (cells[i] == 'b' || cells[i] == 'c') {
            c->kind = cells[i] == 'b' ? MT_CELL_BYTES : MT_CELL_COUNT_;
            c->number = va_arg(ap, uint64_t);
        }
    }
    va_end(ap);
    return ok;
}

int mt_audit_say(struct mt_audit *a, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mt_free(a->sentence);
    a->sentence = mt_strndup(text, strlen(text));
    return a->sentence != NULL;
}
