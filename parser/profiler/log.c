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

static void close_last(struct mt_pf_log *l)
{
    if (l->last != NULL)
        l->last->n = (size_t)(l->at - l->last->bytes);
}

/* A new last page. */
uint8_t *mt_pf_log_page(struct mt_pf_log *l)
{
    struct mt_pf_page *p = page_new(l->last == NULL ? FIRST : LATER);
    if (p == NULL)
        return NULL;
    close_last(l);
    if (l->last != NULL)
        l->last->next = p;
    else
        l->first = p;
    l->last = p;
    l->stop = p->bytes + p->cap;
    return l->at = p->bytes;
}

/* Gives the page back that was read, and goes on to the next. All of a run is read, sorted and
 * written again behind what was read: then the page goes on. */
const uint8_t *mt_pf_log_turn(struct mt_pf_log *l)
{
    close_last(l);
    while (l->first != NULL) {
        struct mt_pf_page *p = l->first;
        const uint8_t *from = l->from != NULL ? l->from : p->bytes;
        l->till = p->bytes + p->n;
        if (from != l->till)
            return l->from = from;
        l->first = p->next;
        l->from = l->till = NULL;
        page_free(p);
    }
    l->last = NULL;
    l->at = l->stop = NULL;
    return NULL;
}

void mt_pf_log_done(struct mt_pf_log *l)
{
    while (l->first != NULL) {
        struct mt_pf_page *p = l->first;
        l->first = p->next;
        page_free(p);
    }
    *l = (struct mt_pf_log){.first = NULL};
}
