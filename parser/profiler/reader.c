/* profiler/reader.c -- what torch.profiler exports as a Chrome trace: the vtable, and what is said
 * about damage and about recordings without memory. */
#include "parser/profiler/impl.h"
#include "parser/model/reader.h"

#include <string.h>

#define WITH_MEMORY                                                                                \
    "torch.profiler.profile(profile_memory=True, with_stack=True) records the allocations and "    \
    "their Python frames"

static size_t skip_space(const unsigned char *s, size_t i, size_t n)
{
    while (i < n && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
        i++;
    return i;
}

static size_t bom(const unsigned char *s, size_t n)
{
    return n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool has(const unsigned char *s, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if (s[i] == (unsigned char)word[0] && memcmp(s + i, word, len) == 0)
            return true;
    return false;
}

static int probe(const unsigned char *head, size_t n)
{
    size_t i = skip_space(head, bom(head, n), n);
    if (i == n)
        return 0;
    if (head[i] == '{' && has(head + i, n - i, "\"traceEvents\""))
        return 95;
    /* the properties of eight devices are longer than what is looked at */
    if (head[i] == '{' && has(head + i, n - i, "\"deviceProperties\"") &&
        (has(head + i, n - i, "\"schemaVersion\"") || has(head + i, n - i, "\"totalGlobalMem\"")))
        return 95;
    if (head[i] != '[')
        return 0;
    i = skip_space(head, i + 1, n);
    return i < n && head[i] == '{' && has(head + i, n - i, "\"ph\"") &&
                   has(head + i, n - i, "\"ts\"")
               ? 95
               : 0;
}

static enum mt_rc nothing(const struct mt_pf *f, struct mt_err *err)
{
    const struct mt_json *j = &f->j;
    if (j->fail == MT_JF_END && j->src->status != MT_OK)
        return mt_fail_at(err, j->src->status, mt_json_offset(j),
                          "%s; no memory event of a Chrome trace came before", j->src->err.msg);
    if (j->fail != MT_JF_NONE)
        return mt_fail_at(err, MT_EINPUT, j->why.offset,
                          "a Chrome trace (\"traceEvents\", as torch.profiler exports it) that is "
                          "damaged before its first memory event: %s",
                          j->why.msg);
    if (!f->is_trace)
        return mt_fail(err, MT_EINPUT,
                       "a Chrome trace without a list of \"traceEvents\": nothing was recorded");
    if (f->n_other_process != 0 || f->n_bad != 0)
        return mt_fail(err, MT_EINPUT,
                       "a Chrome trace (\"traceEvents\"), none of whose memory events can be "
                       "understood");
    if (f->has_profile_memory)
        return mt_fail(err, MT_EINPUT,
                       "a Chrome trace of torch.profiler (\"traceEvents\") that was recorded with "
                       "profile_memory=True and holds no memory event: nothing was allocated on "
                       "the threads that it followed, or ProfilerActivity.CPU was not among its "
                       "activities, without which none is written");
    return mt_fail(
        err, MT_EINPUT,
        "a Chrome trace (\"traceEvents\", as torch.profiler exports it) without memory "
        "events: it was recorded without profile_memory=True, or it is trace_view.json "
        "of torch_npu's profiler, beside which operator_memory.csv has them. " WITH_MEMORY "; "
        "torch.cuda.memory._record_memory_history() and "
        "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") record more");
}

static void say_damage(const struct mt_pf *f)
{
    const struct mt_json *j = &f->j;
    unsigned long long n = f->n_events;
    if (j->fail == MT_JF_END && j->src->status != MT_OK)
        mt_trace_diag(f->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "%s; this is after %llu whole events of the trace: everything after it is "
                      "missing",
                      j->src->err.msg, n);
    else if (j->fail == MT_JF_END)
        mt_trace_diag(f->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "the trace ends after %llu whole events: everything after it is missing; "
                      "the profiler was stopped while it wrote, or a copy failed",
                      n);
    else
        mt_trace_diag(f->t, MT_DIAG_DAMAGE, true, j->why.offset,
                      "the trace is damaged after %llu whole events: %s; everything after it was "
                      "left out",
                      n, j->why.msg);
}

static enum mt_rc run(struct mt_pf *f, struct mt_err *err)
{
    bool whole = mt_pf_walk(f);
    f->t->meta.bytes = mt_json_offset(&f->j);
    if (!whole && f->j.fail == MT_JF_STOP)
        return *err = f->j.why, f->j.why.rc;
    if (f->n_mem == 0)
        return nothing(f, err);
    if (!whole)
        say_damage(f);
    if (f->pid > 0)
        f->t->meta.pid = f->pid;
    f->j.fail = MT_JF_NONE;
    if (!mt_pf_build(f))
        return *err = f->j.why, f->j.why.rc;
    return f->t->damaged ? MT_WARN : MT_OK;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    struct mt_pf *f = mt_calloc(1, sizeof *f);
    enum mt_rc rc;
    if (f == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    t->meta.format = MT_FMT_PROFILER;
    mt_source_need(src, 3);
    src->cur += bom(src->cur, (size_t)(src->end - src->cur));
    mt_json_init(&f->j, src, lim);
    f->t = t;
    f->lim = lim;
    f->pid = -1;
    f->b = mt_builder_new(t, lim);
    rc = f->b != NULL ? run(f, err) : mt_fail(err, MT_ENOMEM, "out of memory");
    mt_json_done(&f->j);
    mt_builder_free(f->b);
    mt_pf_slices_done(f);
    mt_pf_labels_done(f);
    mt_pf_mem_done(f);
    MT_VEC_DONE(&f->ranges);
    MT_VEC_DONE(&f->props);
    mt_free(f);
    return rc;
}

const struct mt_reader mt_reader_profiler = {
    .name = "profiler",
    .desc = "Chrome trace of torch.profiler with memory events: export_chrome_trace()",
    .probe = probe,
    .read = read,
};
