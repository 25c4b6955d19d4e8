/* The pictures of the report: their size, their axes, their colours; and the stacks, folded for
 * people. */
#include "render/view/asked.h"
#include "render/view/palette.h"
#include "render/view/stack.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"
#include "tests/unit/report_fixture.h"

static uint64_t svg_size(const struct mt_svg *s, char **text)
{
    struct mt_out o;
    uint64_t n;
    MT_CHECK(mt_out_mem(&o));
    mt_svg_timeline(&o, s);
    MT_CHECK_EQ(mt_out_finish(&o), 0);
    n = o.used;
    if (text != NULL)
        *text = mt_strndup((const char *)o.buf, o.used);
    mt_out_done(&o);
    return n;
}

MT_TEST(timeline_size)
{
    static struct fixture f;
    struct mt_svg s = {.what = "rank 0"};
    uint64_t seed = 99;
    fx_make(&f, 1, 64, false);
    s.dev = &f.a[0].devices.p[0];
    for (uint32_t c = 0; c < s.dev->timeline.n_columns; c++) { /* noise: no two columns alike */
        uint64_t sum = 0;
        for (uint32_t g = 0; g < s.dev->timeline.n_roles; g++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            sum += s.dev->timeline.live[(size_t)c * s.dev->timeline.n_roles + g] = seed >> 33;
        }
        s.dev->timeline.total[c] = sum;
        s.dev->timeline.reserved[c] = sum + (seed >> 35);
        s.dev->timeline.phase[c] = (uint8_t)(c % 64);
    }
    MT_CHECK(svg_size(&s, NULL) <= MT_SVG_MAX_BYTES);
    s.small = true;
    MT_CHECK(svg_size(&s, NULL) <= MT_SVG_MAX_BYTES);
    fx_done(&f);
}

MT_TEST(timeline_axes)
{
    static struct fixture f;
    struct mt_svg s = {.what = "<rank>"};
    struct mt_timeline *t;
    char *text = NULL;
    fx_make(&f, 1, 10, false);
    s.dev = &f.a[0].devices.p[0];
    t = &f.a[0].devices.p[0].timeline;
    (void)svg_size(&s, &text);
    MT_CHECK_HAS(text, "seconds after the first event at 2026-03-05 08:11:32.031 UTC");
    MT_CHECK_HAS(text, ">GiB</text>");
    MT_CHECK_HAS(text, "Live memory of &lt;rank&gt;");
    MT_CHECK_HAS(text, "role=\"img\"");
    MT_CHECK_HAS(text, mt_color_oom);
    mt_free(text);
    t->has_time = false;
    t->x0 = 0;
    t->x1 = FX_EVENTS - 1;
    f.a[0].devices.p[0].ooms.n = 0;
    f.a[0].devices.p[0].capacity = 0;
    (void)svg_size(&s, &text);
    f.a[0].devices.p[0].ooms.n = 1; /* for fx_done() */
    MT_CHECK_HAS(text, "event number (this trace has no clock)");
    MT_CHECK_HAS(text, ">20,000</text>");
    MT_CHECK(strstr(text, mt_color_oom) == NULL); /* red means out of memory, and nothing else */
    MT_CHECK(strstr(text, "capacity") == NULL);
    mt_free(text);
    t->n_columns = 1; /* a single instant */
    t->x1 = t->x0;
    (void)svg_size(&s, &text);
    MT_CHECK_HAS(text, "</svg>");
    mt_free(text);
    fx_done(&f);
}

MT_TEST(colors)
{
    static struct fixture f;
    struct mt_palette pal;
    bool seen[MT_COLOR_COUNT] = {false};
    fx_make(&f, 1, 60, false);
    mt_palette_build(&pal, &f.r);
    MT_CHECK_EQ(pal.of[MT_PH_UNATTRIBUTED][MT_PH_NONE], MT_COLOR_UNATTRIBUTED);
    MT_CHECK(pal.of[MT_PH_ROLLOUT_KV_ALLOC][MT_PH_NONE] >= MT_COLOR_FIRST);
    MT_CHECK(pal.of[MT_PH_LOGP_OLD][MT_PH_LOGITS] >= MT_COLOR_FIRST);
    for (int a = 0; a < MT_PH_COUNT; a++) {
        for (int b = 0; b < MT_PH_COUNT; b++) {
            if (pal.of[a][b] < MT_COLOR_FIRST)
                continue;
            MT_CHECK(!seen[pal.of[a][b]]);
            seen[pal.of[a][b]] = true;
        }
    }
    for (unsigned c = 0; c < MT_COLOR_COUNT; c++)
        MT_CHECK(strcmp(mt_color_hex(c), mt_color_oom) != 0);
    fx_done(&f);
}

static struct mt_scale checked(struct mt_scale s, uint64_t max, unsigned ticks)
{
    MT_CHECK(s.step > 0 && s.unit > 0);
    MT_CHECK(s.top >= max || max > UINT64_MAX / 2);
    MT_CHECK(s.top / s.step <= ticks || max > UINT64_MAX / 2);
    return s;
}

MT_TEST(scales)
{
    char b[32];
    struct mt_scale s = checked(mt_scale_bytes(UINT64_C(24207167496), 6), UINT64_C(24207167496), 6);
    MT_CHECK_STR(mt_scale_label(&s, s.top, b), "25");
    MT_CHECK_STR(s.name, "GiB");
    s = mt_scale_bytes(FX_GIB + 1, 6);
    MT_CHECK_STR(mt_scale_label(&s, s.step, b), "0.25");
    s = mt_scale_bytes(3 * FX_MIB, 6);
    MT_CHECK_STR(mt_scale_label(&s, s.step, b), "0.5");
    MT_CHECK_STR(s.name, "MiB");
    s = mt_scale_time(UINT64_C(96000000000), 8);
    MT_CHECK_STR(mt_scale_label(&s, s.step * 2, b), "40");
    s = mt_scale_time(UINT64_C(1500000000), 8);
    MT_CHECK_STR(mt_scale_label(&s, s.step, b), "0.2");
    s = mt_scale_events(22330, 8);
    MT_CHECK_STR(mt_scale_label(&s, s.step, b), "5,000");
    for (unsigned i = 0; i < 64; i++) {
        uint64_t max = (UINT64_C(1) << i) + i;
        (void)checked(mt_scale_bytes(max, 6), max, 6);
        (void)checked(mt_scale_time(max, 8), max, 8);
        (void)checked(mt_scale_events(max, 8), max, 8);
    }
    (void)checked(mt_scale_bytes(UINT64_MAX, 6), UINT64_MAX, 6);
    (void)checked(mt_scale_events(0, 8), 0, 8);
    MT_CHECK_EQ(mt_scale_px(5, 10, 100), 50);
    MT_CHECK_EQ(mt_scale_px(11, 10, 100), 100);
    MT_CHECK_EQ(mt_scale_px(1, 0, 100), 0);
    MT_CHECK_EQ(mt_scale_px(UINT64_MAX / 2, UINT64_MAX, 100), 49);
}

static void check_widened(uint32_t at, uint32_t wide, const char *want)
{
    static const uint64_t high[] = {3, 1, 9, 2, 2, 8, 4};
    uint32_t pick[] = {0, 1, 2, 3, 4, 5, 6};
    char got[8] = "";
    mt_scale_widen(pick, 7, at, wide, high);
    for (unsigned i = 0; i < 7; i++)
        got[i] = (char)('0' + pick[i]);
    MT_CHECK_STR(got, want);
}

/* It takes from both sides, from what is lower, and goes over nothing that is higher or the end. */
MT_TEST(widened_columns)
{
    check_widened(2, 3, "0222456");
    check_widened(2, 1, "0123456");
    check_widened(2, 99, "2222222");
    check_widened(5, 4, "0125555");
    check_widened(5, 99, "0125555");
    check_widened(6, 3, "0123456");
    check_widened(0, 3, "0023456");
    check_widened(7, 3, "0123456");
}

/* A failure that takes one column of the picture is drawn six pixels wide. */
MT_TEST(a_short_failure_is_seen)
{
    static struct fixture f;
    struct mt_svg s = {.what = "rank 0"};
    struct mt_timeline *t;
    char *text = NULL, *at;
    unsigned long wide = 0;
    fx_make(&f, 1, 1, false);
    s.dev = &f.a[0].devices.p[0];
    t = &f.a[0].devices.p[0].timeline;
    for (uint32_t c = 0; c < t->n_columns; c++) {
        uint64_t v = c == t->n_columns / 2 ? 20 * FX_GIB : FX_GIB;
        for (uint32_t g = 0; g < t->n_roles; g++)
            t->live[(size_t)c * t->n_roles + g] = g == 0 ? v : 0;
        t->total[c] = v;
    }
    f.a[0].devices.p[0].ooms.p[0].time_ns = t->x0 + (t->x1 - t->x0) / 2 + 1000;
    f.a[0].devices.p[0].peak_event = MT_NO_EVENT;
    (void)svg_size(&s, &text);
    at = strstr(text, "v-");
    MT_ASSERT(at != NULL);
    at = strchr(at, 'h');
    MT_ASSERT(at != NULL);
    wide = strtoul(at + 1, NULL, 10);
    if (wide < 6 || wide > 9)
        MT_FAIL_AT("%lu pixels wide: %.60s", wide, at);
    mt_free(text);
    fx_done(&f);
}

static struct mt_asked asked(uint64_t capacity, uint64_t live, uint64_t reserved, uint64_t request,
                             uint64_t left)
{
    struct mt_device_analysis d = {.capacity = capacity, .live_peak = 61 * FX_GIB};
    struct mt_oom oom = {
        .request = request, .device_free = left, .at = {.live = live, .reserved = reserved}};
    struct mt_asked a;
    MT_CHECK(mt_asked_of(&a, &d, &oom) == (request != 0));
    return a;
}

/* What a failed request stands on: all of the device that was not free, as far as it is known. */
MT_TEST(what_a_failed_request_met)
{
    char words[MT_ASKED_WORDS];
    struct mt_asked a = asked(80 * FX_GIB, 60 * FX_GIB, 63 * FX_GIB, 9 * FX_GIB, 7 * FX_GIB);
    MT_CHECK_EQ(a.held, 3 * FX_GIB);
    MT_CHECK_EQ(a.foreign, 10 * FX_GIB);
    MT_CHECK_EQ(mt_asked_reserved(&a), 63 * FX_GIB);
    MT_CHECK_EQ(mt_asked_base(&a), 73 * FX_GIB);
    /* two over the end of the device: 9 asked for, 7 free */
    MT_CHECK_EQ(mt_asked_top(&a), 82 * FX_GIB);
    MT_CHECK_EQ(mt_asked_end(&a), 80 * FX_GIB);
    MT_CHECK_STR(mt_asked_words(words, &a),
                 "60.00 GiB live, 3.00 GiB reserved but free, 10.00 GiB outside PyTorch");
    a = asked(0, 60 * FX_GIB, 60 * FX_GIB, FX_GIB, 7 * FX_GIB); /* the capacity is not known */
    MT_CHECK_EQ(a.foreign, 0);
    MT_CHECK_EQ(mt_asked_end(&a), 67 * FX_GIB);
    MT_CHECK_STR(mt_asked_words(words, &a), "60.00 GiB live");
    a = asked(40 * FX_GIB, 60 * FX_GIB, 50 * FX_GIB, FX_GIB, FX_GIB); /* contradicts */
    MT_CHECK_EQ(a.held + a.foreign, 0);
    /* nobody knows how large it was */
    a = asked(80 * FX_GIB, FX_GIB, FX_GIB, 0, FX_GIB);
    /* of a card that others fill little is drawn */
    a = asked(400 * FX_GIB, 10 * FX_GIB, 12 * FX_GIB, 9 * FX_GIB, 7 * FX_GIB);
    MT_CHECK_EQ(a.foreign, 381 * FX_GIB);
    MT_CHECK_EQ(mt_asked_base(&a), 12 * FX_GIB);
    MT_CHECK_EQ(mt_asked_end(&a), 19 * FX_GIB);
    MT_CHECK(!a.stacked && !a.cut);
    MT_CHECK_EQ(mt_asked_room(&a), mt_asked_top(&a));
    a = asked(0, 61 * FX_GIB, 61 * FX_GIB, 900 * FX_GIB, 7 * FX_GIB);
    /* its beginning is to be seen */
    MT_CHECK(a.cut && mt_asked_room(&a) > 64 * FX_GIB && mt_asked_room(&a) < 70 * FX_GIB);
    a = asked(UINT64_MAX, UINT64_MAX - 5, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    MT_CHECK(mt_asked_top(&a) == UINT64_MAX);
    MT_CHECK_STR(mt_asked_words(words, &(struct mt_asked){.live = UINT64_MAX,
                                                          .held = UINT64_MAX,
                                                          .foreign = UINT64_MAX}),
                 "16.00 EiB live, 16.00 EiB reserved but free, 16.00 EiB outside PyTorch");
}

MT_TEST(a_failed_request_is_drawn)
{
    static struct fixture f;
    struct mt_svg s = {.what = "rank 0"};
    struct mt_oom *oom, *again;
    char *text = NULL, *hatch, *layer, line[80];
    fx_make(&f, 1, 10, false);
    s.dev = &f.a[0].devices.p[0];
    oom = &f.a[0].devices.p[0].ooms.p[0];
    oom->at.live = 70 * FX_GIB;
    oom->at.reserved = 72 * FX_GIB;
    oom->request = 9 * FX_GIB;
    oom->device_free = 5 * FX_GIB;
    (void)svg_size(&s, &text);
    MT_CHECK_HAS(text, ">asked for 9.00 GiB<");
    MT_CHECK_HAS(text, ">reserved but free 2.00 GiB<");
    MT_CHECK_HAS(text, ">outside PyTorch 3.00 GiB<");
    MT_CHECK_HAS(text, ">100</text>"); /* the axis has room for what would have been 84 GiB */
    hatch = strstr(text, "<path class=\"asked\"");
    layer = strstr(text, "<path fill=\"#");
    layer = layer != NULL ? strstr(hatch != NULL ? hatch : text, "<path fill=\"#") : NULL;
    /* beside it, what is higher covers it */
    MT_CHECK(hatch != NULL && layer != NULL && hatch < layer);
    mt_free(text);
    again = MT_VEC_PUSH(&f.a[0].devices.p[0].ooms); /* as where a program tries again at once */
    MT_ASSERT(again != NULL);
    oom = &f.a[0].devices.p[0].ooms.p[0];
    *again = *oom;
    again->label = fx_dup("");
    again->time_ns -= (s.dev->timeline.x1 - s.dev->timeline.x0) / 300;
    (void)svg_size(&s, &text);
    hatch = strstr(text, "<path class=\"asked\"");
    layer = hatch != NULL ? strstr(hatch + 1, "<path class=\"asked\"") : NULL;
    /* one in the picture, one in its key */
    MT_CHECK(layer != NULL && strstr(layer + 1, "<path class=\"asked\"") == NULL);
    MT_CHECK_HAS(text, "At the first OOM:");
    (void)snprintf(line, sizeof line, "<path stroke=\"%s\" stroke-width=\"2\"", mt_color_oom);
    hatch = strstr(text, line);
    MT_CHECK(hatch != NULL && strstr(hatch + 1, line) == NULL);
    mt_free(text);
    oom->request = 900 * FX_GIB; /* a bug: it does not press the curve flat */
    (void)svg_size(&s, &text);
    MT_CHECK_HAS(text, ">80</text>");
    MT_CHECK_HAS(text, ">asked for, cut at the top: 900.00 GiB<");
    mt_free(text);
    oom->at.live = oom->at.reserved = 80 * FX_GIB; /* as high as the axis would be without it */
    (void)svg_size(&s, &text);
    MT_CHECK_HAS(text, ">100</text>");
    MT_CHECK_HAS(text, "<path class=\"asked\"");
    MT_CHECK_HAS(text, ">end of the device<");
    mt_free(text);
    /* where the device ends is not in the picture, nor in the key */
    oom->device_free = 500 * FX_GIB;
    (void)svg_size(&s, &text);
    MT_CHECK(strstr(text, ">end of the device<") == NULL);
    mt_free(text);
    oom->request = f.a[0].devices.p[0].ooms.p[1].request = 0;
    (void)svg_size(&s, &text);
    MT_CHECK(strstr(text, "\"asked\"") == NULL && strstr(text, "At the OOM") == NULL);
    mt_free(text);
    fx_done(&f);
}

MT_TEST(stack_folding)
{
    static struct fixture f;
    struct mt_stack_line l[MT_STACK_LINES];
    char words[MT_LINE_WORDS];
    mt_stack_id stack;
    fx_make(&f, 1, 10, false);
    stack = f.a[0].devices.p[0].ooms.p[0].stack;
    MT_ASSERT(mt_stack_lines(f.trace[0], stack, l) == 7);
    MT_CHECK_STR(mt_stack_line_words(&l[0], words), "\xe2\x80\xa6 2 C++ frames");
    MT_CHECK_STR(mt_stack_line_words(&l[1], words), "\xe2\x80\xa6 1 torch frame");
    MT_CHECK_STR(l[2].v.name, "logprobs_from_logits_v2");
    MT_CHECK_STR(l[2].v.file, "utils/torch_functional.py");
    MT_CHECK_STR(mt_stack_line_words(&l[2], words), "");
    MT_CHECK_STR(mt_stack_line_words(&l[4], words), "\xe2\x80\xa6 2 torch frames");
    MT_CHECK_STR(l[6].v.name, "<module>");
    MT_CHECK_EQ(mt_stack_lines(f.trace[0], 0, l), 0);
    fx_done(&f);
}

MT_MAIN(MT_RUN(timeline_size) MT_RUN(timeline_axes) MT_RUN(colors) MT_RUN(scales)
            MT_RUN(widened_columns) MT_RUN(a_short_failure_is_seen)
                MT_RUN(what_a_failed_request_met) MT_RUN(a_failed_request_is_drawn)
                    MT_RUN(stack_folding))
