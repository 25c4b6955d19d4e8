/* The HTML page: safe whatever the names are, whole without a network, well formed, the same bytes
 * every time. */
#include "parser/base/mem.h"
#include "render/html/assets.h"
#include "render/html/html.h"
#include "render/html/kit.h"
#include "tests/unit/diag_fixture.h"

static const char *const slots[] = {
#define MT_PANEL(n) #n,
#define MT_ROWS(n, formats, heading) #n,
#include "render/sections/sections.def"
};

/* The page as malloc'ed text; NULL when rendering reports an error. */
static char *page_of(const struct mt_report *r)
{
    struct mt_out o;
    char *text = NULL;
    if (!mt_out_mem(&o))
        return NULL;
    mt_render_html(r, &o);
    if (mt_out_finish(&o) == 0)
        text = mt_strndup((const char *)o.buf, o.used);
    mt_out_done(&o);
    return text;
}

static unsigned count(const char *s, const char *word)
{
    unsigned n = 0;
    for (s = strstr(s, word); s != NULL; s = strstr(s + 1, word))
        n++;
    return n;
}

static bool is_void(const char *name, size_t n)
{
    static const char *const names[] = {"meta", "wbr", "br", "hr", "img", "link", "input"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
            return true;
    return false;
}

static bool has_event_attribute(const char *tag, size_t n)
{
    for (size_t i = 0; i + 3 < n; i++)
        if (tag[i] == ' ' && tag[i + 1] == 'o' && tag[i + 2] == 'n')
            return true;
    return false;
}

static const char worker_tag[] = "script id=\"mt-worker\"";

static bool is_worker(const char *name)
{
    return strncmp(name, worker_tag, sizeof worker_tag - 1) == 0;
}

/* Every element that opens closes in order; no element or attribute that runs, loads or styles, but
 * for the scripts of the page, which come after all else, and the worker's. Returns the number of
 * elements, or -1 with the reason printed. */
static long check_markup(const char *s)
{
    enum { DEPTH = 64 };
    const char *open[DEPTH];
    size_t len[DEPTH], depth = 0;
    long n = 0;
    bool end_of_text = false, script;
    for (s = strchr(s, '<'); s != NULL; s = strchr(s, '<')) {
        const char *name = s + 1, *end = strchr(s, '>');
        bool closing = *name == '/';
        size_t k;
        if (end == NULL) {
            printf("# a tag that does not end: %.60s\n", s);
            return -1;
        }
        s = end;
        if (*name == '!')
            continue;
        name += closing;
        k = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
        script = k == 6 && memcmp(name, "script", 6) == 0;
        end_of_text = end_of_text || (closing && k == 6 && memcmp(name, "footer", 6) == 0);
        if (k == 0 ||
            (script && !end_of_text && !is_worker(closing && depth > 0 ? open[depth - 1] : name)) ||
            has_event_attribute(name, (size_t)(end - name))) {
            printf("# not allowed: %.60s\n", name - 1);
            return -1;
        }
        if (closing) {
            if (depth == 0 || len[depth - 1] != k || memcmp(open[depth - 1], name, k) != 0) {
                printf("# closes what is not open: %.60s (open: %.20s)\n", name - 2,
                       depth ? open[depth - 1] : "nothing");
                return -1;
            }
            depth--;
        } else {
            n++;
            if (end[-1] == '/' || is_void(name, k))
                continue;
            if (depth == DEPTH) {
                printf("# too deep\n");
                return -1;
            }
            open[depth] = name;
            len[depth++] = k;
            if (k == 5 && memcmp(name, "style", 5) == 0)
                s = strstr(s, "</style>") - 1; /* CSS is no markup */
            if (script)
                s = strstr(s, "</script>") - 1;
        }
    }
    if (depth != 0)
        printf("# left open: %.20s\n", open[depth - 1]);
    return depth == 0 ? n : -1;
}

/* Every id stands once, and what refers to an id finds it. */
static void check_ids(const char *page)
{
    static const char *const refs[] = {"href=\"#", "aria-labelledby=\""};
    char id[128], want[160];
    for (const char *s = strstr(page, " id=\""); s != NULL; s = strstr(s + 1, " id=\"")) {
        (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(s + 5, "\""), s + 5);
        (void)snprintf(want, sizeof want, " id=\"%s\"", id);
        if (count(page, want) != 1)
            MT_FAIL_AT("the id %s stands %u times", id, count(page, want));
    }
    for (size_t k = 0; k < 2; k++) {
        for (const char *s = strstr(page, refs[k]); s != NULL; s = strstr(s + 1, refs[k])) {
            const char *p = s + strlen(refs[k]);
            while (*p != '"') {
                size_t n = strcspn(p, " \"");
                (void)snprintf(want, sizeof want, " id=\"%.*s\"", (int)n, p);
                MT_CHECK(strstr(page, want) != NULL);
                p += n + (p[n] == ' ');
            }
        }
    }
}

/* The scripts have tests of their own. */
static char *without_scripts(const char *whole)
{
    const char *from = strstr(whole, "<script"), *to = from;
    char *page;
    if (is_worker(from + 1))
        to = strstr(from, "</script>") + sizeof "</script>" - 1;
    page = mt_calloc(strlen(whole) + 1, 1);
    if (page != NULL) {
        memcpy(page, whole, (size_t)(from - whole));
        strncat(page, to, to == from ? 0 : (size_t)(strstr(to, "<script") - to));
    }
    return page;
}

static void check_page(const char *whole)
{
    char *page;
    MT_ASSERT(whole != NULL);
    MT_CHECK(check_markup(whole) > 50);
    page = without_scripts(whole);
    MT_ASSERT(page != NULL);
    check_ids(page);
    MT_CHECK_EQ(count(page, "<style>"), 1);
    MT_CHECK_EQ(count(page, " style="), 0);
    MT_CHECK_EQ(count(page, " src="), 0);
    MT_CHECK_EQ(count(page, "<link"), 0);
    MT_CHECK_EQ(count(page, "@import"), 0);
    MT_CHECK_EQ(count(page, "url("), 0);
    MT_CHECK_EQ(count(page, "href=\""), count(page, "href=\"#"));
    MT_CHECK_EQ(count(page, "http"),
                count(page, "http://www.w3.org/2000/svg") + count(page, "http-equiv"));
    if (strstr(page, "<section id=\"timeline\"") != NULL)
        MT_CHECK_HAS(page, "default-src 'none'; script-src 'sha256-");
    else /* nothing to drive */
        MT_CHECK(strstr(page, "script-src") == NULL && strstr(whole, "<script>") == NULL);
    MT_CHECK_HAS(page, "; style-src 'unsafe-inline'; img-src data: blob:; "
                       "base-uri 'none'; form-action 'none'\"");
    for (const unsigned char *s = (const unsigned char *)page; *s != 0; s++) {
        if ((*s < 0x20 && *s != '\n') || *s == 0x7f || *s >= 0xf5) {
            MT_FAIL_AT("byte %02x in the page", *s);
            break;
        }
    }
    mt_free(page);
}

MT_TEST(template_marks)
{
    static const char *const marks[] = {"{{banners}}", "{{contents}}", "{{sections}}", "{{data}}",
                                        "{{csp}}"};
    const struct mt_asset *a = mt_template_assets;
    while (a->name != NULL && strcmp(a->name, "report.html") != 0)
        a++;
    MT_ASSERT(a->name != NULL);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        MT_CHECK_HAS((const char *)a->data, marks[i]);
}

/* The parts that there are stand in their order, in the contents as well. */
static unsigned check_parts(const char *page)
{
    const char *at = page, *named = page;
    unsigned n = 0;
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        char mark[64], link[64];
        (void)snprintf(mark, sizeof mark, "<section id=\"%s\"", slots[i]);
        (void)snprintf(link, sizeof link, "<li><a href=\"#%s\">", slots[i]);
        if (strstr(page, mark) == NULL)
            continue;
        n++;
        at = strstr(at, mark);
        named = strstr(named, link);
        if (at == NULL || named == NULL) {
            MT_FAIL_AT("%s is not in its place", slots[i]);
            break;
        }
    }
    return n;
}

static void check_order(const char *at, const char *const *order, size_t n)
{
    for (size_t i = 0; at != NULL && i < n; i++) {
        const char *next = strstr(at, order[i]);
        if (next == NULL)
            MT_FAIL_AT("\"%s\" is missing or too early", order[i]);
        else
            at = next;
    }
}

MT_TEST(order_and_content)
{
    static const char *const order[] = {"Out of memory: the device was full",
                                        "<h1>Rank 0, device 0 ran out of memory",
                                        "<figure class=\"card\">",
                                        "Change first",
                                        "gpu_<wbr>memory_<wbr>utilization=<wbr><b>0.<wbr>5</b>",
                                        "It is capacity",
                                        "<summary>Frames of the request that failed</summary>",
                                        "<li class=\"fold\">\xe2\x80\xa6 2 C++ frames</li>",
                                        "</ol>\n</details>",
                                        "<nav",
                                        "id=\"timeline\"",
                                        "<svg xmlns",
                                        "id=\"advice\"",
                                        "Those to change first, in full",
                                        "id=\"numbers\"",
                                        "<a class=\"at\" href=\"#timeline\" data-event=\"",
                                        "id=\"phases\"",
                                        "id=\"owners\"",
                                        "id=\"segments\"",
                                        "id=\"settings\"",
                                        "id=\"quality\"",
                                        "id=\"provenance\"",
                                        "id=\"ticket\"",
                                        "<pre id=\"markdown\">\n### memtrace: "};
    static struct fixture f;
    char *page;
    fx_make(&f, 1, 10, false);
    page = page_of(&f.r);
    check_page(page);
    check_order(page, order, sizeof order / sizeof *order);
    MT_ASSERT(page != NULL);
    MT_CHECK(check_parts(page) > 8);
    MT_CHECK(strstr(page, "id=\"ranks\"") == NULL);
    MT_CHECK(strstr(page, "id=\"damage\"") == NULL);
    MT_CHECK(strstr(page, "id=\"state\"") == NULL);
    MT_CHECK(strstr(page, "not.for.this") == NULL); /* a line that does not apply */
    MT_CHECK_HAS(page, "22.50 GiB");
    MT_CHECK_HAS(page, "\xe2\x80\xa6 2 torch frames");
    MT_CHECK_HAS(page, "\xe2\x80\xa6 2 C++ frames");
    MT_CHECK_HAS(page, "1,830 other places hold 700.0 MiB together");
    MT_CHECK_HAS(page, "memtrace report snapshots.tar.gz --capacity 80GiB");
    MT_CHECK_HAS(page, "OOM: asked for 2.32 GiB");
    MT_CHECK_HAS(page, "capacity 80.00 GiB");
    mt_free(page);
    fx_done(&f);
}

MT_TEST(hostile_names)
{
    static struct fixture f;
    char *page;
    fx_make(&f, 3, 60, true);
    page = page_of(&f.r);
    check_page(page);
    MT_ASSERT(page != NULL);
    MT_CHECK_HAS(page,
                 "&lt;/script&gt;&lt;/style&gt;&lt;b onclick=&quot;x()&quot;&gt;&#39;&amp;amp;");
    MT_CHECK_HAS(page, "U+202Eevil{{css}}--&gt;");
    MT_CHECK_EQ(count(page, "onclick=\""), 0);
    MT_CHECK_EQ(count(page, "\xe2\x80\xae"), 0);
    mt_free(page);
    fx_done(&f);
}

#define AT "<a class=\"at\" href=\"#timeline\" data-event=\""

/* Sentences lead to their moments: the cause's once for all, of evidence only another one, and none
 * where it is not known. */
static void check_links(const char *page)
{
    MT_ASSERT(page != NULL);
    MT_CHECK_HAS(page, "What follows is about " AT
                       "4321\">event 4,321</a>, unless it names another.</p>");
    MT_CHECK_EQ(count(page, AT "4321\">"), 1);
    MT_CHECK_HAS(page,
                 "<li>It grew. See " AT "1000\" data-to=\"3000\">events 1,000 to 3,000</a>.</li>");
    MT_CHECK_HAS(page, "<li>It is not known when.</li>");
    MT_CHECK_HAS(page, "(forward), " AT "77\">event 77</a></td>");
    MT_CHECK_HAS(page, "(forward)</td>"); /* a block from before the trace */
    MT_CHECK_HAS(page, "<p class=\"note\">In the timeline: " AT "2109\">event 2,109</a></p>");
    MT_CHECK_EQ(count(page, "In the timeline: "), 1);
    /* what grows: the first and the last step */
    MT_CHECK_HAS(page, "data-event=\"1\">1.00 GiB</td>");
    MT_CHECK_HAS(page, "data-event=\"8\">9.00 GiB</td>");
}

MT_TEST(diagnosis)
{
    static const char *const order[] = {
        "id=\"verdict\"",
        "Frees about <span class=\"q\">6.00 GiB</span>",
        "Frees: not computed: ",
        "What if?",
        "fits: 74.00 GiB needed, 6.00 GiB freed",
        "One giant tensor: the request is logits",
        "id=\"cause\"",
        "With the engine asleep <span class=\"q\">(37.00 GiB</span>)</th>",
        "id=\"advice\"",
        "frees about 6.00 GiB",
        "id=\"roles\"",
        "Waiting to be freed",
        "Expected beside measured",
        "8.00 GiB more",
        "id=\"occurrences\"",
        "Peak, time by time",
        "<svg class=\"spark\" width=\"",
        "The first 9 of all 2,009, in order",
        "<th scope=\"row\" data-event=\"",
        "id=\"steps\"",
        "+1.00 GiB",
        "id=\"audits\"",
        "To act on",
        "FSDP gathers",
        "id=\"pins\""};
    static struct diag_fixture x;
    char *page;
    fxd_make(&x, false);
    page = page_of(&x.f.r);
    check_page(page);
    check_order(page, order, sizeof order / sizeof *order);
    check_links(page);
    mt_free(page);
    fxd_done(&x);
    fxd_make(&x, true);
    page = page_of(&x.f.r);
    check_page(page);
    MT_ASSERT(page != NULL);
    MT_CHECK_EQ(count(page, "onclick=\""), 0);
    MT_CHECK_EQ(count(page, "\xe2\x80\xae"), 0);
    mt_free(page);
    fxd_done(&x);
}

/* What is typed stands in parts that end at dots, the module pale, the value strong; it is never
 * broken behind the hyphens that begin an option. */
#define PART "<span class=\"p\">"
MT_TEST(options_in_code)
{
    static const struct {
        const char *text, *html;
    } cases[] = {
        {"--micro-batch-size 1",
         "<code>" PART "<span class=\"q\">--micro</span>-batch-size</span> " PART
         "<b>1</b></span></code>"},
        {"--a --exp-avg-dtype bf16",
         "<code>" PART "<span class=\"q\">--a</span></span> " PART
         "<span class=\"q\">--exp</span>-avg-dtype</span> " PART "<b>bf16</b></span></code>"},
        {"x--y -- z", "<code>" PART "x--y</span> " PART "--</span> " PART "z</span></code>"},
        {"--", "<code>" PART "--</span></code>"},
        {"--set.a_b=<c>", "<code><span class=\"p pale\"><span class=\"q\">--set</span>.</span>" PART
                          "a_<wbr>b=<wbr><b>&lt;c&gt;</b></span></code>"},
        {"a.b.c=0.5", "<code><span class=\"p pale\">a.</span><span class=\"p pale\">b.</span>" PART
                      "c=<wbr><b>0.<wbr>5</b></span></code>"},
        {"key: x", "<code>" PART "key:</span> " PART "<b>x</b></span></code>"},
        {"f(a=1)", "<code>" PART "f(a=<wbr>1)</span></code>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_out o;
        MT_ASSERT(mt_out_mem(&o));
        mt_h_code(&o, cases[i].text);
        mt_putc(&o, '\0');
        MT_CHECK_EQ(mt_out_finish(&o), 0);
        MT_CHECK_STR((const char *)o.buf, cases[i].html);
        mt_out_done(&o);
    }
}

/* A key may break between its parts, in code and in words; a short word, the end of a sentence and
 * a number may not. */
MT_TEST(long_words)
{
    static const struct {
        const char *text, *html;
    } cases[] = {
        {"", ""},
        {"a.b_c/d short", "a.b_c/d short"},
        {"see actor_rollout_ref.rollout.parallel_size.",
         "see actor_<wbr>rollout_<wbr>ref.<wbr>rollout.<wbr>parallel_<wbr>size."},
        {"c10::CUDACachingAllocator::alloc <b>",
         "c10::<wbr>CUDACachingAllocator::<wbr>alloc &lt;b&gt;"},
        {"--sglang-mem-fraction-static 0.8",
         "<span class=\"q\">--sglang</span>-mem-fraction-static 0.8"},
        {"needs (--use-precision-aware-optimizer=x_y)",
         "needs (<span class=\"q\">--use</span>-precision-aware-optimizer=<wbr>x_<wbr>y)"},
        {"name it (--capacity), with --tp=2 -- or - x--y",
         "name it <span class=\"q\">(--capacity),</span> with <span class=\"q\">--tp=2</span> -- "
         "or - x--y"},
        {"__aaaaaaaaaaaaaaaaaa__ ...................... x",
         "__aaaaaaaaaaaaaaaaaa__ ...................... x"},
        {"18.55 GiB (1.3 MiB), 83 %; 2 B.",
         "<span class=\"q\">18.55 GiB</span> <span class=\"q\">(1.3 MiB</span>), "
         "<span class=\"q\">83 %</span>; <span class=\"q\">2 B</span>."},
        {"2 Bits, 7 blocks, 3  GiB, 4 Gi, () B, 5 ", "2 Bits, 7 blocks, 3  GiB, 4 Gi, () B, 5 "},
        {"in 1,024 KiB", "in <span class=\"q\">1,024 KiB</span>"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaa_b", "aaaaaaaaaaaaaaaaaaaaaaaaaa_<wbr>b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mt_out o;
        MT_ASSERT(mt_out_mem(&o));
        mt_h_words(&o, cases[i].text, SIZE_MAX);
        mt_putc(&o, '\0');
        MT_CHECK_EQ(mt_out_finish(&o), 0);
        MT_CHECK_STR((const char *)o.buf, cases[i].html);
        mt_out_done(&o);
    }
    {
        struct mt_out o;
        MT_ASSERT(mt_out_mem(&o));
        mt_h_words(&o, "one two", 5);
        mt_h_words(&o, NULL, 5);
        mt_putc(&o, '\0');
        MT_CHECK_EQ(mt_out_finish(&o), 0);
        MT_CHECK_STR((const char *)o.buf, "one t\xe2\x80\xa6");
        mt_out_done(&o);
    }
}

MT_TEST(same_bytes)
{
    static struct fixture f, g;
    char *a, *b;
    fx_make(&f, 4, 30, false);
    fx_make(&g, 4, 30, false);
    a = page_of(&f.r);
    b = page_of(&g.r);
    MT_CHECK(a != NULL && b != NULL && strcmp(a, b) == 0);
    mt_free(a);
    mt_free(b);
    fx_done(&f);
    fx_done(&g);
}

MT_TEST(damage_banner)
{
    static struct fixture f;
    char *page;
    fx_make(&f, 2, 10, true);
    f.unread[0] = (struct mt_unread){fx_dup("run/rank7.pickle<b>"),
                                     fx_dup("a git-lfs pointer; run `git lfs pull`")};
    f.skipped.unread.p = f.unread;
    f.skipped.unread.n = 1;
    f.whole.skipped = &f.skipped;
    f.trace[1]->damaged = true;
    mt_trace_diag(f.trace[1], MT_DIAG_DAMAGE, true, 123456, "the file ends inside a <trace> entry");
    mt_quality_done(&f.whole.quality);
    MT_CHECK(mt_quality_make(&f.whole));
    MT_CHECK(f.whole.quality.damaged);
    page = page_of(&f.r);
    check_page(page);
    MT_CHECK_HAS(page, "id=\"damage\"");
    MT_CHECK_HAS(page, "rank7.<wbr>pickle&lt;b&gt;");
    MT_CHECK_HAS(page, "a git-lfs pointer; run `git lfs pull`");
    MT_CHECK_HAS(page, "the file ends inside a &lt;trace&gt; entry <small>(offset 123456)</small>");
    mt_free(page);
    mt_free(f.unread[0].name);
    mt_free(f.unread[0].message);
    fx_done(&f);
}

MT_TEST(many_ranks)
{
    static struct fixture f;
    char *page;
    fx_make(&f, FX_RANKS, 10, false);
    page = page_of(&f.r);
    check_page(page);
    MT_ASSERT(page != NULL);
    MT_CHECK_EQ(count(page, "<svg xmlns"), 1);
    MT_CHECK_EQ(count(page, "<ol class=\"rows\""), 1);
    MT_CHECK_HAS(page, "<summary>4 more</summary>");
    MT_CHECK_HAS(page, "Where each rank is high");
    /* in the table and in the map */
    MT_CHECK_EQ(count(page, "<tr data-place=\"rank 11, device 0\">"), 2);
    MT_CHECK_HAS(page, "rank 11, device 0");
    mt_free(page);
    fx_done(&f);
}

/* Whatever is missing, the page is whole. */
/* A trace of four events without times: each has a quarter of the row's width. Beside one with
 * times all are drawn by event, none is left without a picture. */
MT_TEST(ranks_without_times)
{
    static struct fixture f;
    for (unsigned with_time = 0; with_time < 2; with_time++) {
        char *page;
        fx_make(&f, 2, 10, false);
        for (unsigned i = with_time; i < 2; i++) {
            struct mt_timeline *t = &f.a[i].devices.p[0].timeline;
            t->has_time = false;
            t->x0 = 0;
            t->x1 = 3;
            t->n_columns = 4;
            for (uint32_t c = 0; c < 4; c++) {
                t->total[c] = (c + 1) * 10 * FX_GIB;
                t->events[c] = 1;
            }
        }
        page = page_of(&f.r);
        MT_ASSERT(page != NULL);
        MT_CHECK_HAS(page, "over the same events: not all of them have times");
        MT_CHECK(with_time == 1 || strstr(page, "M0 40V40H0V35H250V30H500V25H750V20H1000V40z"));
        MT_CHECK_EQ(count(page, " d=\"M0 40V40H0V"), count(page, "Live memory, at most"));
        mt_free(page);
        fx_done(&f);
    }
}

MT_TEST(little_data)
{
    static struct fixture f;
    struct mt_device_analysis *d;
    uint32_t owners, pools, ooms;
    char *page;
    fx_make(&f, 1, 10, false);
    d = &f.a[0].devices.p[0];
    owners = d->owners.n;
    pools = d->pools.n;
    ooms = d->ooms.n;
    d->withheld = fx_dup("the live bytes at the start would be negative (<-1>)");
    page = page_of(&f.r);
    check_page(page);
    MT_CHECK_HAS(
        page,
        "No curve over time is drawn: the live bytes at the start would be negative (&lt;-1&gt;).");
    mt_free(page);
    d->end_state_only = true;
    d->capacity = 0;
    d->ooms.n = 0;
    d->focus_is_oom = false;
    d->owners.n = d->pools.n = 0;
    f.a[0].verdict.kind = MT_V_END_STATE;
    f.a[0].advice.n = 0;
    page = page_of(&f.r);
    check_page(page);
    MT_ASSERT(page != NULL);
    MT_CHECK(strstr(page, "id=\"advice\"") == NULL && strstr(page, "id=\"owners\"") == NULL &&
             strstr(page, "id=\"timeline\"") == NULL);
    mt_free(page);
    mt_free(d->withheld);
    d->withheld = NULL;
    memset(&d->focus, 0, sizeof d->focus);
    d->phases.n = 0;
    page = page_of(&f.r);
    check_page(page);
    mt_free(page);
    f.a[0].devices.n = 0; /* a snapshot in which nothing was allocated */
    f.a[0].verdict.kind = MT_V_EMPTY;
    page = page_of(&f.r);
    MT_CHECK(page != NULL && check_markup(page) > 20);
    mt_free(page);
    f.a[0].devices.n = 1;
    d->owners.n = owners; /* for fx_done() */
    d->pools.n = pools;
    d->ooms.n = ooms;
    f.whole.ranks.n = 0;
    page = page_of(&f.r);
    MT_CHECK(page != NULL && check_markup(page) > 5);
    mt_free(page);
    f.whole.ranks.n = 1;
    fx_done(&f);
}

static int refuse(void *ctx, const void *p, size_t n)
{
    (void)p;
    (void)n;
    return *(int *)ctx;
}

/* An error of the sink and a lack of memory at any point are reported, and nothing leaks. */
MT_TEST(failures)
{
    static struct fixture f;
    int err = 28, n_failed = 0;
    struct mt_out o;
    fx_make(&f, 2, 12, true);
    memset(&o, 0, sizeof o);
    o.buf = mt_malloc(256);
    o.cap = 256;
    o.write = refuse;
    o.ctx = &err;
    mt_render_html(&f.r, &o);
    MT_CHECK_EQ(mt_out_finish(&o), 28);
    mt_free(o.buf);
    for (uint64_t at = 1; at < 2000; at++) {
        char *page;
        mt_mem_fail_after(at);
        page = page_of(&f.r);
        mt_mem_fail_after(0);
        if (page != NULL) {
            mt_free(page);
            break;
        }
        n_failed++;
    }
    MT_CHECK(n_failed > 10 && n_failed < 1999);
    fx_done(&f);
}

MT_MAIN(MT_RUN(template_marks) MT_RUN(order_and_content) MT_RUN(hostile_names) MT_RUN(diagnosis)
            MT_RUN(long_words) MT_RUN(options_in_code) MT_RUN(same_bytes) MT_RUN(damage_banner)
                MT_RUN(many_ranks) MT_RUN(ranks_without_times) MT_RUN(little_data) MT_RUN(failures))
