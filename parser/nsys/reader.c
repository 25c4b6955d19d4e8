/* nsys/reader.c -- exports of Nsight Systems: the vtable, what is refused, and what such a
 * recording cannot know. */
#include "parser/model/intern.h"
#include "parser/model/reader.h"
#include "parser/nsys/impl.h"

#include <stdio.h>
#include <string.h>

static const char magic[16] = "SQLite format 3";

static int probe(const unsigned char *head, size_t n)
{
    return n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0 ? 100 : 0;
}

static int no_export(struct mt_ns *m)
{
    m->fatal = true;
    mt_fail(m->err, MT_EINPUT,
            "an SQLite database that is no export of Nsight Systems: memtrace reads those, "
            "written by `nsys export --type sqlite report.nsys-rep`");
    return 0;
}

/* Calls that failed are evidence all the same. */
static int no_events(struct mt_ns *m)
{
    bool cuda =
        mt_ns_has(m, "CUPTI_ACTIVITY_KIND_RUNTIME") || mt_ns_has(m, "CUPTI_ACTIVITY_KIND_KERNEL");
    char failed[120] = "";
    m->fatal = true;
    if (m->n_failed != 0)
        snprintf(failed, sizeof failed, "; %llu call%s of CUDA failed with \"out of memory\" in it",
                 (unsigned long long)m->n_failed, m->n_failed == 1 ? "" : "s");
    if (m->n_host != 0)
        mt_fail(
            m->err, MT_EINPUT,
            "an export of Nsight Systems whose %llu memory events are all of host memory that is "
            "not pinned: the processes that it followed held nothing of a GPU",
            (unsigned long long)m->n_host);
    else if (m->memory_usage == MT_NS_ON)
        mt_fail(m->err, MT_EINPUT,
                "an export of Nsight Systems, recorded with --cuda-memory-usage=true, without one "
                "memory event%s: the processes that it followed allocated nothing by CUDA",
                cuda ? "" : ", nor any call of CUDA (--trace=cuda records them)");
    else
        mt_fail(m->err, MT_EINPUT,
                "an export of Nsight Systems without CUDA's memory events%s: `nsys profile "
                "--trace=cuda,nvtx --cuda-memory-usage=true ...` records them, and `nsys export "
                "--type sqlite` writes them out; this one was recorded without "
                "--cuda-memory-usage=true%s%s",
                cuda ? "" : ", nor any call of CUDA",
                cuda || m->memory_usage == MT_NS_OFF ? "" : " or without --trace=cuda", failed);
    return 0;
}

/* By its header the file is longer: of a database that is cut off SQLite reads no table. Source:
 * sqlite.org/fileformat.html, 1.3: page size at 16 (1 = 65536), pages at 28. */
static bool is_shorter(struct mt_ns *m)
{
    const unsigned char *b = m->bytes;
    uint64_t page, pages, whole;
    if (m->n_bytes < 100)
        return false;
    page = (uint64_t)b[16] << 8 | b[17];
    pages = (uint64_t)b[28] << 24 | (uint64_t)b[29] << 16 | (uint64_t)b[30] << 8 | b[31];
    page = page == 1 ? 65536 : page;
    whole = page * pages;
    if (whole <= m->n_bytes)
        return false;
    m->fatal = true;
    mt_fail(m->err, MT_EINPUT,
            "an SQLite database of %llu bytes of which %llu are here: it is cut off, and no table "
            "of it can be read; copy it again",
            (unsigned long long)whole, (unsigned long long)m->n_bytes);
    return true;
}

static int cut(struct mt_ns *m)
{
    m->fatal = true;
    mt_fail_at(m->err, m->src->status, mt_source_offset(m->src),
               "%s; no table of memory events is in what came before", m->src->err.msg);
    return 0;
}

#define NOTE(...) mt_trace_diag(m->t, MT_DIAG_NOTE, false, 0, __VA_ARGS__)

static void say(struct mt_ns *m)
{
    NOTE("Nsight Systems records what CUDA allocates and frees by call (cudaMalloc and its like, "
         "pools, managed, pinned): not what a context, modules and libraries take, nor physical "
         "memory of cuMemCreate (expandable_segments:True, an engine's sleep mode), nor how full "
         "the card was; inside PyTorch's cache it sees nothing, for which "
         "torch.cuda.memory._record_memory_history() records a snapshot");
    if (m->epoch_ns == 0)
        NOTE("the export does not say when the session began: its times cannot be compared with "
             "those of other inputs");
    if (m->n_failed != 0)
        NOTE("%llu call%s failed for want of memory; how much was asked for, Nsight Systems does "
             "not record",
             (unsigned long long)m->n_failed, m->n_failed == 1 ? "" : "s");
    if (m->n_events == 0)
        NOTE("no memory event was recorded, though --cuda-memory-usage=true was given: before the "
             "call that failed CUDA had allocated nothing");
    if (m->d->ranges.n == 0)
        NOTE("no NVTX range was recorded (--trace=nvtx, and ranges in the program): nothing says "
             "what the job was doing");
    if (m->n_host != 0)
        NOTE("%llu events of memory that is not pinned were passed over",
             (unsigned long long)m->n_host);
    if (m->n_odd != 0)
        mt_trace_diag(m->t, MT_DIAG_DAMAGE, false, 0,
                      "%llu events with a kind, operation, size or device that does not exist were "
                      "left out",
                      (unsigned long long)m->n_odd);
}

static bool is_export(struct mt_ns *m)
{
    static const char *const tables[] = {
        "CUDA_GPU_MEMORY_USAGE_EVENTS",   "META_DATA_EXPORT",
        "TARGET_INFO_SESSION_START_TIME", "StringIds",
        "CUPTI_ACTIVITY_KIND_RUNTIME",    "CUPTI_ACTIVITY_KIND_KERNEL"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (mt_ns_has(m, tables[i]))
            return true;
    return false;
}

static int read_all(struct mt_ns *m)
{
    if (!mt_ns_open(m))
        return 0;
    if (m->src->status != MT_OK && !mt_ns_has(m, "CUDA_GPU_MEMORY_USAGE_EVENTS"))
        return cut(m);
    if (!is_export(m))
        return is_shorter(m) ? 0 : no_export(m);
    if (!mt_ns_session(m) || !mt_ns_events(m) || !mt_ns_failures(m))
        return 0;
    if (m->d->calls.n == 0 || (m->n_events == 0 && m->memory_usage != MT_NS_ON))
        return no_events(m);
    if (!mt_ns_ranges(m) || !mt_ns_processes(m) || !mt_ns_order(m))
        return 0;
    if (m->src->status != MT_OK)
        mt_trace_diag(m->t, MT_DIAG_DAMAGE, true, mt_source_offset(m->src),
                      "%s; everything after it is missing", m->src->err.msg);
    say(m);
    return mt_intern_functions(m->t) || mt_ns_nomem(m);
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct mt_err why = {.rc = MT_EINPUT};
    struct mt_ns m = {.src = src, .lim = lim, .t = t, .err = &why};
    struct mt_intern in;
    int ok;
    t->meta.format = MT_FMT_NSYS;
    memset(&in, 0, sizeof in);
    t->driver = m.d = mt_calloc(1, sizeof *m.d);
    ok = m.d != NULL && mt_intern_init(&in, t) ? read_all(&m) : mt_ns_nomem(&m);
    t->meta.bytes = mt_source_offset(src);
    mt_ns_close(&m);
    mt_intern_done(&in);
    MT_VEC_DONE(&m.cards);
    MT_VEC_DONE(&m.views);
    if (!ok) {
        if (err != NULL)
            *err = why;
        return why.rc;
    }
    t->sealed = true;
    return t->damaged ? MT_WARN : MT_OK;
}

const struct mt_reader mt_reader_nsys = {
    .name = "nsys",
    .desc = "export of Nsight Systems (SQLite): what CUDA allocated, by process",
    .probe = probe,
    .read = read,
};
