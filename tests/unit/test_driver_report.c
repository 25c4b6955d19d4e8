/* Reports of what the driver saw, without any snapshot and with one: every format, also with names
 * that try to break it. */
#include "render/html/html.h"
#include "render/json/json.h"
#include "render/md/md.h"
#include "render/text/text.h"
#include "parser/base/mem.h"
#include "render/view/driver.h"
#include "tests/unit/build_driver.h"
#include "tests/unit/form_check.h"
#include "tests/unit/mt_test.h"
#include "tests/unit/report_fixture.h"
#include "frameworks.h"

#define HOSTILE "<script>alert(1)</script>\"'&| *_`\n\033[31m{{title}}"

static struct mt_rules rules;

static struct mt_trace *driver(const char *name, unsigned n_failures)
{
    struct bd x = bd_new();
    struct mt_status *s;
    struct mt_loss *l;
    char stack[256];
    (void)bd_gpu(&x, name, "GPU-1", 80 * BD_GIB);
    (void)bd_gpu(&x, name, "GPU-2", 80 * BD_GIB);
    (void)bd_process(&x, name, 1, name, -1, MT_NONE32);
    bd_range(&x, "update_actor", BD_T0, BD_T0 + 2 * BD_S);
    (void)bd_process(&x, name, 4711, name, 3, 0);
    (void)snprintf(stack, sizeof stack, "%s.so:%s|python3:main",
                   name[0] == '<' ? "<b>&" : "libplain", name[0] == '<' ? "<i>'" : "f");
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, 20 * BD_GIB, BD_TORCH);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x2000, 10 * BD_GIB, stack);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3; i++) {
            (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, BD_GIB, 10 + i, BD_CUMEM);
            (void)bd_vmm(&x, MT_WO_VMM_MAP, BD_GIB * (100 + i), BD_GIB, 10 + i, BD_CUMEM);
        }
        for (unsigned i = 0; i < 3 && round == 0; i++) {
            (void)bd_vmm(&x, MT_WO_VMM_UNMAP, BD_GIB * (100 + i), BD_GIB, 0, BD_CUMEM);
            (void)bd_vmm(&x, MT_WO_VMM_RELEASE, 0, 0, 10 + i, BD_CUMEM);
        }
    }
    bd_sample(&x, 0, 40 * BD_GIB, MT_WY_PERIODIC);
    bd_use(&x, 4711, 34 * BD_GIB);
    bd_use(&x, 77, 5 * BD_GIB);
    for (unsigned i = 0; i < n_failures; i++)
        bd_call(&x, MT_WO_MEM_ALLOC, 0, 60 * BD_GIB, stack)->result = 2;
    (void)bd_process(&x, name, 4712, name, 4, 1);
    (void)bd_call(&x, MT_WO_MEM_ALLOC, 0x1000, BD_GIB, BD_CUBLAS);
    (void)bd_call(&x, MT_WO_MEM_FREE, 0x77, 0, NULL);
    s = BD_PUSH(&x.d->statuses);
    *s = (struct mt_status){
        .text = bd_str(&x, name), .process = 2, .code = MT_ST_SUBSCRIBER_BUSY, .level = 2};
    l = BD_PUSH(&x.d->losses);
    *l = (struct mt_loss){1, MT_LO_RECORDS, 12, 0};
    return bd_done(&x);
}

struct made {
    struct mt_trace *t;
    struct mt_driverdiag *j;
    struct mt_diagnosis whole;
    struct mt_report r;
    char *text;
};

static struct made make(const char *name, unsigned n_failures)
{
    struct made m;
    struct mt_driverdiag_opts o;
    struct mt_err err = {.rc = MT_OK};
    const struct mt_trace *list[1];
    memset(&m, 0, sizeof m);
    memset(&o, 0, sizeof o);
    if (rules.phases == NULL && mt_rules_load(&rules, NULL, 0, NULL, &err) < 0)
        abort();
    o.phases = rules.phases;
    m.t = driver(name, n_failures);
    list[0] = m.t;
    if (mt_driverdiag_make(&m.j, list, 1, NULL, 0, &o, &err) < 0)
        abort();
    m.whole.driver = m.j;
    m.whole.opts.rules = &rules;
    MT_CHECK(mt_quality_make(&m.whole));
    m.r.command = "";
    m.r.version = "0";
    return m;
}

static const char *render(struct made *m, char format)
{
    struct mt_out o;
    if (m->r.diagnosis == NULL)
        m->r.diagnosis = &m->whole;
    m->r.in_full = true;
    mt_free(m->text);
    m->text = NULL;
    if (!mt_out_mem(&o))
        abort();
    if (format == 'h')
        mt_render_html(&m->r, &o);
    else if (format == 't')
        mt_render_text(&m->r, &o);
    else if (format == 'm')
        mt_render_md(&m->r, &o);
    else
        mt_render_json(&m->r, &o);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    m->text = mt_strndup((const char *)o.buf, o.used);
    MT_CHECK_EQ(strlen(m->text), o.used);
    mt_out_done(&o);
    return m->text;
}

static void done(struct made *m)
{
    mt_free(m->text);
    mt_quality_done(&m->whole.quality);
    mt_driverdiag_free(m->j);
    mt_trace_free(m->t);
}

static unsigned count(const char *hay, const char *needle)
{
    unsigned n = 0;
    for (const char *p = hay; (p = strstr(p, needle)) != NULL; p += strlen(needle))
        n++;
    return n;
}

/* How often a word stands in the page, its scripts left out: the worker's is before the text, the
 * others behind it. */
static unsigned before_scripts(const char *page, const char *word)
{
    const char *worker = strstr(page, "<script id=\"mt-worker\""), *end;
    unsigned n = 0;
    if (worker != NULL)
        page = strstr(worker, "</script>") + 1;
    end = strstr(page, "<script");
    for (const char *s = strstr(page, word); s != NULL && (end == NULL || s < end);
         s = strstr(s + 1, word))
        n++;
    return n;
}

MT_TEST(page_of_a_driver_trace_alone)
{
    struct made m = make("node1", 1);
    const char *s = render(&m, 'h');
    MT_CHECK_HAS(s, "<h1>Rank 3 (node1, pid 4711) on GPU 0 of node1 ran out of GPU memory during "
                    "actor update (update_actor): libplain.so "
                    "asked the driver for <span class=\"q\">60.00 GiB</span> of a device of <span "
                    "class=\"q\">80.00 GiB</span>");
    MT_CHECK_HAS(s, "Out of memory, in a driver call");
    MT_CHECK_HAS(s, "Begin with the largest holder"); /* no rule fits, and that is said */
    MT_CHECK_HAS(s, "id=\"ledger\"");
    MT_CHECK_HAS(s, "id=\"failures\"");
    MT_CHECK_HAS(s, "id=\"sleep\"");
    MT_CHECK_HAS(s, "id=\"jobphases\"");
    MT_CHECK_HAS(s, "id=\"processes\"");
    MT_CHECK_HAS(s, "Not everything was recorded.");
    MT_CHECK_HAS(s, "because another profiler holds CUPTI");
    MT_CHECK_HAS(s, "12 records were lost while recording");
    MT_CHECK_HAS(s, "other processes");
    MT_CHECK_HAS(s, "memtrace trace"); /* the format of the input */
    MT_CHECK(strstr(s, "id=\"reconcile\"") == NULL && strstr(s, "id=\"owners\"") == NULL);
    MT_CHECK(before_scripts(s, " style=") == 0 && before_scripts(s, "{{") == 0);
    MT_CHECK_HAS(s, "id=\"mt-g0\">"); /* its ledger, for the script */
    MT_CHECK_EQ(count(s, "<section"), count(s, "</section>"));
    MT_CHECK_EQ(count(s, "<table"), count(s, "</table>"));
    MT_CHECK_EQ(count(s, "<svg"), count(s, "</svg>"));
    MT_CHECK_EQ(count(s, "<details"), count(s, "</details>"));
    MT_CHECK_EQ(count(s, "<tr"), count(s, "</tr>"));
    done(&m);
}

MT_TEST(page_without_a_failure)
{
    struct made m = make("node1", 0);
    const char *s = render(&m, 'h');
    MT_CHECK(strstr(s, "Begin with the largest holder") == NULL);
    MT_CHECK_HAS(s, "No allocation failed: GPU 0 of node1 was fullest with 40.00 GiB of 80.00 GiB "
                    "during actor update: PyTorch holds 20.00 "
                    "GiB, other libraries 10.00 GiB, other processes 5.00 GiB, engine pools 3.00 "
                    "GiB, unexplained 2.00 GiB.");
    MT_CHECK(strstr(s, "id=\"failures\"") == NULL);
    done(&m);
}

/* A recording and a snapshot of one job: which of the two is the headline of the page, and that the
 * other is there as well. */
MT_TEST(which_sentence_leads)
{
    static const struct {
        /* the driver saw a failure; so did the snapshot; within seconds of one another */
        bool failed, snapshot_failed, near;
        /* of the peak of PyTorch's books; UINT32_MAX = there is none */
        uint32_t rank;
        unsigned unmapped; /* MiB of it */
        bool driver;       /* what the driver saw leads */
    } by[] = {
        {false, false, false, UINT32_MAX, 0, false}, {false, false, false, 0, 12288, true},
        {false, false, false, 1, 12288, false},      {false, false, false, 0, 200, false},
        {false, true, false, 0, 12288, false},       {false, true, false, UINT32_MAX, 0, false},
        {true, false, false, UINT32_MAX, 0, true},   {true, true, false, UINT32_MAX, 0, true},
        {true, true, true, UINT32_MAX, 0, false},
    };
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct made m = make("node1", by[i].failed);
        struct fixture f;
        const char *s, *h1, *snapshot = "<b>The snapshot:</b> ", *driver = "<b>The driver:</b> ";
        char first[64], second[64];
        memset(&f, 0, sizeof f);
        fx_make(&f, 2, 10, false);
        f.whole.driver = m.j;
        f.whole.opts.rules = &rules;
        f.a[f.whole.primary].verdict.kind = by[i].snapshot_failed ? MT_V_OOM_CAPACITY : MT_V_PEAK;
        if (by[i].near)
            f.a[f.whole.primary].devices.p[0].ooms.p[0].time_ns =
                m.j->ooms.p[m.j->oom].time_ns + BD_S;
        if (by[i].rank != UINT32_MAX) {
            struct mt_books_peak *p = BD_PUSH(&m.j->books_peaks);
            *p = (struct mt_books_peak){.rank = f.whole.primary + by[i].rank,
                                        .reserved = 62 * BD_GIB,
                                        .unmapped = by[i].unmapped * FX_MIB};
        }
        (void)snprintf(first, sizeof first, "%.20s", m.j->sentence);
        (void)snprintf(second, sizeof second, "%.20s", f.a[f.whole.primary].verdict.sentence);
        m.r = f.r;
        s = render(&m, 'h');
        h1 = strstr(s, "<h1>");
        MT_ASSERT(h1 != NULL);
        MT_CHECK_EQ(strncmp(h1 + 4, by[i].driver ? first : second, 20), 0);
        MT_CHECK_EQ(strstr(s, snapshot) != NULL, by[i].driver);
        MT_CHECK_EQ(strstr(s, driver) != NULL, !by[i].driver);
        s = strstr(s, by[i].driver ? snapshot : driver);
        MT_ASSERT(s != NULL);
        MT_CHECK_EQ(strncmp(s + strlen(by[i].driver ? snapshot : driver),
                            by[i].driver ? second : first, 20),
                    0);
        f.whole.driver = NULL;
        fx_done(&f);
        done(&m);
    }
}

MT_TEST(text_and_markdown)
{
    struct made m = make("node1", 1);
    const char *s = render(&m, 't');
    MT_CHECK_HAS(s, "OUT OF MEMORY\n  Rank 3 (node1, pid 4711)");
    MT_CHECK_HAS(s, "     40.00 GiB  used on the device: the sum\n");
    MT_CHECK_HAS(s, "      2.00 GiB  unexplained\n");
    MT_CHECK_HAS(s, "engine pools went to sleep: 3.00 GiB, 0 B held afterwards");
    MT_CHECK_HAS(s, "engine pools woke: 3.00 GiB");
    for (const char *p = s, *end; (end = strchr(p, '\n')) != NULL; p = end + 1)
        MT_CHECK(end - p < 400);
    s = render(&m, 'm');
    MT_CHECK_HAS(s, "| 2.00 GiB |  | unexplained |  |");
    MT_CHECK_HAS(s, "not survived");
    done(&m);
}

MT_TEST(rows_have_their_cells)
{
    struct made m = make("job", 1);
    m.r.diagnosis = &m.whole;
    MT_CHECK(check_forms(&m.r) > 40);
    done(&m);
}

MT_TEST(json)
{
    struct made m = make("node1", 1);
    const char *s = render(&m, 'j');
    MT_CHECK_HAS(s, "\"kind\": \"driver_oom\"");
    MT_CHECK_HAS(s, "\"from\": \"driver\"");
    MT_CHECK_HAS(s, "\"unexplained_bytes\": 2147483648");
    MT_CHECK_HAS(s, "\"is\": \"wake\"");
    MT_CHECK_HAS(s, "\"request_bytes\": 64424509440");
    MT_CHECK_EQ(count(s, "{"), count(s, "}"));
    done(&m);
}

/* The one that the sentence is about is among those listed, wherever it came. */
MT_TEST(failures_without_end)
{
    struct made m = make("node1", 1500);
    const char *s = render(&m, 'j');
    MT_CHECK_EQ(m.j->ooms.n, 1500);
    MT_CHECK_EQ(m.j->oom, 1499);
    MT_CHECK_HAS(s, "\"failure_count\": 1500");
    MT_CHECK_HAS(s, "\"failure\": 1023");
    MT_CHECK_EQ(count(s, "\"in_wake\""), 1024);
    MT_CHECK_EQ(count(s, "\"fatal\": true"), 1);
    done(&m);
}

MT_TEST(names_that_try_to_break_out)
{
    struct made m = make(HOSTILE, 1);
    const char *s = render(&m, 'h');
    MT_CHECK(strchr(s, '\033') == NULL && strstr(s, "<b>&.so") == NULL &&
             strstr(s, "<i>'") == NULL);
    /* Of scripts there are the page's own alone, and no name ends the index or
     * begins another. */
    MT_CHECK_EQ(before_scripts(s, "<footer>"), 1);
    MT_CHECK_EQ(count(s, "<script"), count(s, "<script type=\"application/json\"") +
                                         count(s, "<script type=\"text/plain\"") + 2);
    MT_CHECK_EQ(count(s, "<script"), count(s, "</script>"));
    s = strstr(s, "id=\"mt-index\">");
    MT_ASSERT(s != NULL);
    MT_CHECK(strncmp(strchr(s, '<'), "</script>\n<script type=\"text/plain\"", 35) == 0);
    s = render(&m, 'h');
    MT_CHECK_HAS(s, "&lt;script");
    MT_CHECK(strchr(render(&m, 't'), '\033') == NULL);
    s = render(&m, 'm');
    MT_CHECK(strstr(s, "<script") == NULL && strchr(s, '\033') == NULL);
    s = render(&m, 'j');
    MT_CHECK(strchr(s, '\033') == NULL && strstr(s, "</script>") == NULL);
    done(&m);
}

MT_TEST(same_bytes_every_time)
{
    struct made a = make("node1", 1), b = make("node1", 1);
    static const char formats[] = "htmj";
    for (unsigned i = 0; i < 4; i++)
        MT_CHECK_STR(render(&a, formats[i]), render(&b, formats[i]));
    done(&a);
    done(&b);
}

/* Ranges of one phase in several processes that overlap are one. */
MT_TEST(phases_of_several_processes)
{
    static struct mt_driver_phase list[] = {
        {.phase = MT_PH_ROLLOUT_GENERATE, .t0_ns = 100, .t1_ns = 200, .peak_named = 5},
        {.phase = MT_PH_ROLLOUT_GENERATE, .t0_ns = 110, .t1_ns = 150, .peak_named = 9},
        {.phase = MT_PH_WEIGHT_SYNC, .t0_ns = 180, .t1_ns = 220, .peak_named = 2},
        {.phase = MT_PH_ROLLOUT_GENERATE, .t0_ns = 190, .t1_ns = 210, .peak_named = 7},
        {.phase = MT_PH_ROLLOUT_GENERATE, .t0_ns = 300, .t1_ns = 310, .peak_named = 1},
    };
    struct mt_driverdiag j;
    struct mt_phase_sum sum[MT_PH_COUNT];
    memset(&j, 0, sizeof j);
    j.phases.p = list;
    j.phases.n = sizeof list / sizeof *list;
    MT_ASSERT(mt_driver_phase_sums(&j, sum) == 2);
    MT_CHECK_EQ(sum[0].phase, MT_PH_ROLLOUT_GENERATE);
    MT_CHECK_EQ(sum[0].n, 2);
    MT_CHECK_EQ(sum[0].ns, 120);
    MT_CHECK_EQ(sum[0].peak, 9);
    MT_CHECK_EQ(sum[1].n, 1);
    MT_CHECK_EQ(sum[1].ns, 40);
}

/* Phases too short for their names are numbers in the picture of the ledger; the legend has every
 * name in full, in lines that it has room for. */
MT_TEST(the_legend_has_every_phase)
{
    enum { ROOM = 1106 / 7 };
    struct made m = make("node1", 1);
    struct mt_ledger *l = &m.j->ledgers.p[0];
    const char *s, *line;
    unsigned n = 0;
    for (uint32_t c = 0; c < l->n_columns; c++)
        l->phase[c] = (uint8_t)(MT_PH_UNATTRIBUTED + c / 10 % 20);
    s = render(&m, 'h');
    line = strstr(s, ">Phases: 1 ");
    MT_ASSERT(line != NULL);
    for (const char *end; line != NULL && n < 40;
         line = strncmp(end, "</text>\n<text x=", 16) == 0 ? strchr(end + 8, '>') : NULL) {
        end = strchr(line, '<');
        MT_CHECK((size_t)(end - line) <= ROOM);
        for (const char *p = line; p < end; p++)
            n += *p == ',';
    }
    MT_CHECK(n >= 17);
    done(&m);
}

MT_TEST(out_of_memory_while_drawing)
{
    struct made m = make("node1", 1);
    for (uint64_t n = 1; n < 60; n++) {
        struct mt_out o;
        uint64_t used = mt_mem_used();
        mt_mem_fail_after(n);
        if (mt_out_mem(&o)) {
            m.r.diagnosis = &m.whole;
            mt_render_html(&m.r, &o);
            (void)mt_out_finish(&o);
        }
        mt_mem_fail_after(0);
        mt_out_done(&o);
        MT_CHECK_EQ(mt_mem_used(), used);
    }
    done(&m);
}

MT_MAIN(MT_RUN(page_of_a_driver_trace_alone) MT_RUN(page_without_a_failure)
            MT_RUN(which_sentence_leads) MT_RUN(text_and_markdown) MT_RUN(rows_have_their_cells)
                MT_RUN(json) MT_RUN(failures_without_end) MT_RUN(names_that_try_to_break_out)
                    MT_RUN(same_bytes_every_time) MT_RUN(phases_of_several_processes)
                        MT_RUN(the_legend_has_every_phase) MT_RUN(out_of_memory_while_drawing))
