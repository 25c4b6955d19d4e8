/* Events of a Chrome trace. */
#include "render/export/impl.h"

#include "render/base/jsonw.h"

#include <string.h>

void mt_chrome_ts(struct mt_chrome *c, bool by_time, uint64_t x)
{
    uint64_t ns = x > c->t0_ns ? x - c->t0_ns : 0;
    mt_jw_key(c->w, "ts");
    if (by_time && ns % 1000 != 0) { /* microseconds, with the rest as decimals */
        mt_jw_u(c->w, ns / 1000);
        mt_putf(c->w->o, ".%03u", (unsigned)(ns % 1000));
    } else {
        mt_jw_u(c->w, by_time ? ns / 1000 : x);
    }
}

void mt_chrome_open(struct mt_chrome *c, const char *ph, const char *name, size_t n_name,
                    uint32_t tid)
{
    mt_jw_open(c->w, '{');
    mt_jw_ks(c->w, "ph", ph);
    mt_jw_ku(c->w, "pid", c->pid);
    mt_jw_ku(c->w, "tid",
             /* never that of a process: such a thread is its main one */
             tid != 0 ? (uint64_t)c->pid * MT_CHROME_TIDS + tid : 0);
    mt_jw_key(c->w, "name");
    mt_jw_str(c->w, name, n_name);
}

void mt_chrome_close(struct mt_chrome *c)
{
    mt_jw_close(c->w, '}');
    mt_putc(c->w->o, '\n');
}

void mt_chrome_name(struct mt_chrome *c, const char *what, uint32_t tid, const char *name)
{
    mt_chrome_open(c, "M", what, strlen(what), tid);
    mt_jw_key(c->w, "args");
    mt_jw_open(c->w, '{');
    mt_jw_ks(c->w, "name", name);
    mt_jw_close(c->w, '}');
    mt_chrome_close(c);
}

void mt_chrome_counter(struct mt_chrome *c, const char *name, bool by_time, uint64_t x,
                       int64_t value)
{
    mt_chrome_open(c, "C", name, strlen(name), 0);
    mt_chrome_ts(c, by_time, x);
    mt_jw_key(c->w, "args");
    mt_jw_open(c->w, '{');
    mt_jw_ki(c->w, "bytes", value); /* Perfetto calls the track by both: "reserved bytes" */
    mt_jw_close(c->w, '}');
    mt_chrome_close(c);
}

/* What began before ts 0 is drawn from there, and still ends when it ended. */
void mt_chrome_dur(struct mt_chrome *c, bool by_time, uint64_t x0, uint64_t x1)
{
    uint64_t from = by_time && x0 < c->t0_ns ? c->t0_ns : x0, d = x1 > from ? x1 - from : 0;
    mt_jw_key(c->w, "dur");
    mt_jw_u(c->w, by_time ? d / 1000 : d);
    if (by_time && d % 1000 != 0)
        mt_putf(c->w->o, ".%03u", (unsigned)(d % 1000));
}

void mt_chrome_slice(struct mt_chrome *c, const char *name, size_t n_name, uint32_t tid,
                     bool by_time, uint64_t x0, uint64_t x1)
{
    mt_chrome_open(c, "X", name, n_name, tid);
    mt_chrome_ts(c, by_time, x0);
    mt_chrome_dur(c, by_time, x0, x1);
    mt_chrome_close(c);
}

void mt_chrome_process(struct mt_chrome *c, const char *name)
{
    c->pid++;
    mt_chrome_name(c, "process_name", 0, name);
    /* in the order of the file, not by how many slices each has */
    mt_chrome_open(c, "M", "process_sort_index", 18, 0);
    mt_jw_key(c->w, "args");
    mt_jw_open(c->w, '{');
    mt_jw_ku(c->w, "sort_index", c->pid);
    mt_jw_close(c->w, '}');
    mt_chrome_close(c);
}
