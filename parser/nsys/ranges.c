/* nsys/ranges.c -- NVTX: ranges and marks, which say the phase. */
#include "parser/nsys/impl.h"

#include <string.h>

enum { MARK = 34, PUSH_POP = 59, START_END = 60, NAME = 512 };

static int range(struct mt_ns *m, sqlite3_stmt *s)
{
    enum { START, END, TYPE, THREAD, TEXT };
    int64_t type = sqlite3_column_int64(s, TYPE), tid = sqlite3_column_int64(s, THREAD);
    uint32_t process;
    struct mt_nvtx *r;
    if (type != MARK && type != PUSH_POP && type != START_END)
        return 1;
    process = mt_ns_process(m, tid);
    r = process != MT_NONE32 ? MT_VEC_PUSH(&m->d->ranges) : NULL;
    if (r == NULL)
        return m->fatal ? 0 : mt_ns_nomem(m);
    memset(r, 0, sizeof *r);
    r->process = process;
    r->tid = (uint32_t)(tid & 0xffffff);
    r->source = MT_WS_NVTX;
    r->is_mark = type == MARK;
    r->is_thread_range = type == PUSH_POP;
    r->t0_ns = mt_ns_time(m, sqlite3_column_int64(s, START));
    if (r->is_mark)
        r->t1_ns = r->t0_ns;
    else if (sqlite3_column_type(s, END) == SQLITE_INTEGER)
        r->t1_ns = mt_ns_time(m, sqlite3_column_int64(s, END));
    return mt_ns_text(m, s, TEXT, NAME, &r->name);
}

/* A name stands in the row or, where many have it, in StringIds. */
int mt_ns_ranges(struct mt_ns *m)
{
    static const char *const texts[] = {
        "SELECT n.start, n.end, n.eventType, n.globalTid, CASE WHEN n.text IS NULL THEN s.value "
        "ELSE n.text END FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = n.textId",
        "SELECT start, end, eventType, globalTid, text FROM NVTX_EVENTS", NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && !m->fatal && mt_ns_next(m, s))
        if (!range(m, s))
            break;
    sqlite3_finalize(s);
    return !m->fatal;
}
