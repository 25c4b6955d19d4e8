/* memray/said.c -- what the report has to know about the recording: what this kind of recording
 * cannot see, and what is told by nothing but it. */
#include "parser/memray/impl.h"

#include <stdio.h>
#include <stdlib.h>

#define NOTE(...) mt_trace_diag(m->t, MT_DIAG_NOTE, false, 0, __VA_ARGS__)

/* "31.5 GiB": for people, beside the exact numbers of the report. */
static const char *bytes(char buf[32], uint64_t n)
{
    static const char unit[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned u = 0;
    uint64_t tenths;
    if (n < 1024) {
        (void)snprintf(buf, 32, "%llu B", (unsigned long long)n);
        return buf;
    }
    for (; n >= UINT64_C(1024) * 1024 && u < 4; u++)
        n >>= 10;
    tenths = (n * 10 + 512) >> 10;
    (void)snprintf(buf, 32, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                   (unsigned long long)(tenths % 10), unit[u + 1]);
    return buf;
}

struct part {
    const char *name;
    uint64_t bytes;
};

static int by_bytes(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static void say_parts(struct mt_mr *m, const char *what, struct part *p, uint32_t n)
{
    enum { SHOWN = 6 };
    char text[600], b[32];
    int used = 0;
    uint32_t i;
    qsort(p, n, sizeof *p, by_bytes);
    for (i = 0; i < n && i < SHOWN && p[i].bytes != 0; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%.60s %s", i ? ", " : "",
                         p[i].name, bytes(b, p[i].bytes));
    if (used != 0)
        NOTE("at the peak, by %s: %s%s", what, text,
             i < n && p[i].bytes != 0 ? ", and smaller ones" : "");
}

static int say_shares(struct mt_mr *m)
{
    struct part kinds[MT_MR_KINDS] = {
        {"malloc and its like", mt_mr_kind_at_peak(m, MT_MR_MALLOC)},
        {"mmap", mt_mr_kind_at_peak(m, MT_MR_MMAP)},
        {"Python's own allocator", mt_mr_kind_at_peak(m, MT_MR_PYTHON)},
    };
    struct part *p = mt_calloc(m->threads.n + 1u, sizeof *p);
    if (p == NULL)
        return mt_mr_nomem(m);
    m->t->meta.mostly_mapped = kinds[MT_MR_MMAP].bytes > m->peak / 2;
    say_parts(m, "where it comes from", kinds, MT_MR_KINDS);
    for (uint32_t i = 0; i < m->threads.n; i++)
        p[i] = (struct part){mt_str(m->t, m->t->frames.p[m->threads.p[i].frame].name),
                             mt_mr_thread_at_peak(m, i + 1)};
    if (m->threads.n > 1)
        say_parts(m, "thread", p, m->threads.n);
    mt_free(p);
    return 1;
}

static void say_rss(struct mt_mr *m)
{
    char b1[32], b2[32], b3[32];
    if (m->rss_high == 0) {
        NOTE("what the process held in all (RSS) was not recorded");
        return;
    }
    NOTE("the process held (RSS) at most %s, and %s when memray last looked before the peak of %s: "
         "%s",
         bytes(b1, m->rss_high), bytes(b2, m->rss_at_peak), bytes(b3, m->peak),
         m->peak > m->rss_at_peak
             ? "an address range that is reserved and not touched (as CUDA reserves them) and a "
               "file that is mapped count in full here, and in RSS only what was touched"
             : "the difference is what was there before the recording, libraries, what the "
               "allocators keep of freed blocks, and what the driver maps itself");
}

static void say_odd(struct mt_mr *m)
{
    char b[32];
    if (m->n_odd != 0)
        NOTE("%llu records with sizes that no process can have were left out",
             (unsigned long long)m->n_odd);
    if (m->n_old_frees != 0)
        NOTE("%llu frees of memory from before the recording were passed over: its size is not "
             "recorded",
             (unsigned long long)m->n_old_frees);
    if (m->n_lost_frees != 0)
        NOTE("%llu blocks were allocated where one was still live: its free was not recorded, and "
             "is taken to have come before",
             (unsigned long long)m->n_lost_frees);
    if (m->n_parts != 0)
        NOTE("%llu times an munmap took a part of a range: the rest counts as a new allocation of "
             "the same code",
             (unsigned long long)m->n_parts);
    if (m->overlaid != 0)
        NOTE("%s were mapped where something was mapped already (as CUDA does in what it has "
             "reserved): memray counts both, and so does this report",
             bytes(b, m->overlaid));
}

void mt_mr_say(struct mt_mr *m)
{
    NOTE("a recording of memray is the memory that one process asked the host for: it knows "
         "nothing of what is on the GPU, which torch.cuda.memory._record_memory_history() and "
         "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") record; nor of other processes "
         "(data loader workers, engines), files in shared memory, or what the driver pins without "
         "asking the C library");
    if (!say_shares(m))
        return;
    say_rss(m);
    if (!m->traces_python && m->allocator == 1)
        NOTE("Python's small objects lie in ranges that Python maps for many of them, so the code "
             "that made a range need not be what fills it: memray's --trace-python-allocators "
             "records each object");
    if (m->is_aggregated)
        NOTE("memray added the recording up (--aggregate): each piece of code has one block for "
             "all of its allocations at the peak and one for those at the end; how often it "
             "allocated, and whose bytes they were between, was not recorded");
    else
        NOTE("times are those at which memray noted the process's size: what happened between two "
             "of them has the time of the first");
    if (m->n_with_native != 0)
        NOTE(
            "native frames are recorded as addresses: libraries and offsets are shown; the names "
            "of functions are in the libraries of the machine that it ran on (memray stats, memray "
            "flamegraph there)");
    else if (m->has_native)
        NOTE("native frames were asked for, and none was recorded");
    else
        NOTE(
            "native frames were not recorded (memray run --native): what libraries allocate stands "
            "under the Python code that called them");
    say_odd(m);
}
