/* profiler/log.c -- pages of entries. A log is read while the trace that comes of it grows, so most
 * of its pages are of those that the system has back at once: of two gigabytes of trace the peak is
 * a third higher without. */
#include "parser/profiler/impl.h"

enum { FIRST = 4096, LATER = 65536 }; /* bytes, all of a page */

struct mt_pf_page {
    struct mt_pf_page *next;
    size_t n, cap;
    uint8_t bytes[];
};

static struct mt_pf_page *page_new(size_t size)
{
    struct mt_pf_page *p = size == LATER ? mt_malloc_pages(size) : mt_malloc(size);
    if (p != NULL)
        *p = (struct mt_pf_page){.cap = size - sizeof *p};
    return p;
}

static void page_free(struct mt_pf_page *p)
{
    size_t size = p->cap + sizeof *p;
    if (size == LATER)
        mt_free_pages(p, size);
    else
        mt_free(p);
}

uint8_t *mt_pf_log_room(struct mt_pf_log *l)
{
    struct mt_pf_page *p = l->last;
    size_t size = p == NULL ? FIRST : LATER;
    if (p != NULL && p->cap - p->n >= MT_PF_ENTRY)
        return p->bytes + p->n;
    if ((p = page_new(size)) == NULL)
        return NULL;
    if (l->last != NULL)
        l->last->next = p;
    else
        l->first = p;
    l->last = p;
    return p->bytes;
}

void mt_pf_log_wrote(struct mt_pf_log *l, const uint8_t *end)
{
    l->last->n = (size_t)(end - l->last->bytes);
    l->n++;
}

const uint8_t *mt_pf_log_next(struct mt_pf_log *l)
{
    while (l->first != NULL && l->read == l->first->n) {
        struct mt_pf_page *p = l->first;
        l->first = p->next;
        l->read = 0;
        page_free(p);
    }
    if (l->first == NULL)
        l->last = NULL;
    return l->first != NULL ? l->first->bytes + l->read : NULL;
}

void mt_pf_log_read(struct mt_pf_log *l, const uint8_t *end)
{
    l->read = (size_t)(end - l->first->bytes);
    l->n--;
}

void mt_pf_log_done(struct mt_pf_log *l)
{
    while (l->first != NULL) {
        struct mt_pf_page *p = l->first;
        l->first = p->next;
        page_free(p);
    }
    l->last = NULL;
    l->n = 0;
}
