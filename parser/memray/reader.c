/* memray/reader.c -- what memray records: the vtable, and what is said about damage. */
#include "parser/model/reader.h"
#include "parser/memray/impl.h"

#include <string.h>

static int probe(const unsigned char *head, size_t n)
{
    return n >= 11 && memcmp(head, "memray\0", 7) == 0 && head[7] != 0 && head[8] == 0 ? 100 : 0;
}

static enum mt_rc not_read(struct mt_mr *m, struct mt_err *err)
{
    if (m->end == MT_MR_FATAL)
        return *err = m->why, m->why.rc;
    if (m->version != 0 && (m->version < 7 || m->version > 13))
        return mt_fail(err, MT_EINPUT,
                       "a recording of memray in its format %u: memtrace reads 7 to 13 (memray 1.1 "
                       "to 1.20). `memray stats --json` of the memray that wrote it says its peak",
                       m->version);
    if (m->src->status != MT_OK)
        return mt_fail_at(err, m->src->status, mt_source_offset(m->src),
                          "%s; no allocation of a memray recording came before", m->src->err.msg);
    if (m->end == MT_MR_BROKEN)
        return mt_fail_at(err, MT_EINPUT, m->why.offset,
                          "a recording of memray that is damaged before its first allocation: %s",
                          m->why.msg);
    if (m->end == MT_MR_CUT)
        return mt_fail_at(err, MT_EINPUT, mt_source_offset(m->src),
                          "a recording of memray that ends before its first allocation: the "
                          "process was killed while it began, or a copy failed");
    return mt_fail(err, MT_EINPUT,
                   "a recording of memray (host memory; the GPU's is recorded by "
                   "torch.cuda.memory._record_memory_history()) without an allocation: nothing was "
                   "allocated while it ran%s",
                   m->end == MT_MR_KILLED ? ", or the process was killed while it began" : "");
}

static void say_end(struct mt_mr *m)
{
    unsigned long long n = m->n_records;
    switch (m->end) {
    case MT_MR_CUT:
        if (m->src->status != MT_OK)
            mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, mt_source_offset(m->src),
                          "%s; this is after %llu whole records: everything after it is missing",
                          m->src->err.msg, n);
        else
            mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, mt_source_offset(m->src),
                          "the recording ends after %llu whole records: everything after it is "
                          "missing; a copy failed, or the disk was full",
                          n);
        break;
    case MT_MR_BROKEN:
        mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, m->why.offset,
                      "the recording is damaged after %llu whole records: %s; everything after it "
                      "was left out",
                      n, m->why.msg);
        break;
    case MT_MR_KILLED:
        mt_trace_diag(m->t, MT_DIAG_NOTE, false, 0,
                      "the process did not end its recording: it was killed (as when the host runs "
                      "out of memory), or still ran when the file was copied; what is live at the "
                      "end was live then");
        break;
    case MT_MR_GOING:
    case MT_MR_TRAILER:
    case MT_MR_FATAL: break;
    }
}

static int build(struct mt_mr *m)
{
    if (m->is_aggregated && !mt_mr_aggregated_build(m))
        return 0;
    if (!mt_mr_name_threads(m))
        return 0;
    mt_mr_say(m);
    if (m->end == MT_MR_FATAL)
        return 0;
    mt_build_totals(m->b, MT_DEV_CPU, 0, mt_mr_live_end(m), 0, 0);
    return mt_build_finish(m->b) || mt_mr_refused(m);
}

static enum mt_rc run(struct mt_mr *m, struct mt_err *err)
{
    bool head = mt_mr_head(m);
    if (head && !mt_build_trace_begin(m->b, 0, MT_DEV_CPU))
        (void)mt_mr_refused(m);
    else if (head && m->is_aggregated)
        mt_mr_aggregated(m);
    else if (head)
        mt_mr_records(m);
    m->t->meta.bytes = mt_source_offset(m->src);
    if (m->end == MT_MR_FATAL || (m->is_aggregated ? !mt_mr_aggregated_any(m) : m->n_allocs == 0))
        return not_read(m, err);
    say_end(m);
    if (m->pid > 0)
        m->t->meta.pid = m->pid;
    if (!build(m))
        return *err = m->why, m->why.rc;
    return m->t->damaged ? MT_WARN : MT_OK;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct mt_mr *m = mt_calloc(1, sizeof *m);
    enum mt_rc rc;
    if (m == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    t->meta.format = MT_FMT_MEMRAY;
    m->src = src;
    m->t = t;
    m->lim = lim;
    m->b = mt_builder_new(t, lim);
    rc = m->b != NULL ? run(m, err) : mt_fail(err, MT_ENOMEM, "out of memory");
    mt_builder_free(m->b);
    mt_mr_stacks_done(m);
    mt_mr_heap_done(m);
    mt_mr_aggregated_done(m);
    mt_free(m);
    return rc;
}

const struct mt_reader mt_reader_memray = {
    .name = "memray",
    .desc = "recording of memray: the memory of the host",
    .probe = probe,
    .read = read,
};
