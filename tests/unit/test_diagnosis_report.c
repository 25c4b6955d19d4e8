/* What the text and the Markdown report say of a diagnosis, also with names that try to break them;
 * the words both share. */
#include "parser/base/mem.h"
#include "render/md/md.h"
#include "render/text/text.h"
#include "render/view/diagnosis.h"
#include "tests/unit/diag_fixture.h"

enum format { TEXT, MARKDOWN };

static char *report_of(const struct mt_report *r, enum format format)
{
    struct mt_out o;
    char *text = NULL;
    struct mt_report wide = *r;
    wide.columns = 100;
    wide.in_full = true;
    if (!mt_out_mem(&o))
        return NULL;
    if (format == TEXT)
        mt_render_text(&wide, &o);
    else
        mt_render_md(r, &o);
    if (mt_out_finish(&o) == 0)
        text = mt_strndup((const char *)o.buf, o.used);
    mt_out_done(&o);
    return text;
}

static void in_order(const char *text, const char *const *words, size_t n)
{
    const char *at = text;
    for (size_t i = 0; at != NULL && i < n; i++) {
        at = strstr(at, words[i]);
        if (at == NULL)
            MT_FAIL_AT("\"%s\" is missing or too early", words[i]);
    }
}

MT_TEST(text)
{
    static const char *const words[] = {
        "One giant tensor: the request is logits of 4096 tokens",
        "  The request that failed, innermost frame first:\n    utils/torch_functional.py:",
        "more frames (--format json --frames all)",
        "Change first",
        "Set now: recipe/metrics.py:41 append_metrics",
        "Frees: about 6.00 GiB (4.00 GiB to 7.00 GiB; confidence: medium)",
        "Frees: not computed: host memory, not the card's",
        "=> With this setting: about 6.00 GiB less",
        "Would the request have fitted?",
        "  no   Without fragmentation",
        "  yes  With the engine asleep (37.00 GiB)",
        "Numbers",
        "What the memory is for",
        "KV cache                      23.00 GiB",
        "parameters                     4.00 GiB",
        "1.00 GiB waiting to be freed",
        "allocated before recording",
        "unknown                       40.00 GiB",
        "How it is known: 27.00 GiB by frames.",
        "Without a role: 40.00 GiB of a phase that is only guessed",
        "4096 tokens x a vocabulary of 151936 split by 2 x 4 bytes",
        "Expected beside measured",
        "- parameters in actor update: 4.00 GiB measured, 4.00 GiB expected: as expected",
        "4 x 1 GiB",
        "! gradients in actor update: 12.00 GiB measured, at most 4.00 GiB expected: 8.00 GiB",
        "recipe/metrics.py:41 append_metrics",
        "- not known for KV cache in rollout generation (4.00 GiB measured): the",
        "Phases",
        "Each phase at its highest",
        "recipe/metrics.py:41 append_metrics",
        "at the peak: KV cache 8.00 GiB, parameters 1.00 GiB",
        "\"Left behind\" was allocated",
        "Steps",
        "9 steps, found by annotations.",
        "Grows from step to step",
        "+1.00 GiB per step  recipe/metrics.py:41 append_metrics",
        "fit 99 %, confidence good",
        "What was checked",
        "  ! Weight sync", /* what asks for something first */
        "Bytes 3.00 GiB, Times 1,234",
        "and 1 more rows",
        "FSDP gathers",
        "What keeps segments from being given back",
        "72.0 MiB of 80.0 MiB free in 4 of them, held by 8.0 MiB",
        "18.0 MiB of 20.0 MiB free in 1 of them",
        "All advice",
        "Of the saving: At most."};
    static struct diag_fixture x;
    char *s;
    fxd_make(&x, false);
    s = report_of(&x.f.r, TEXT);
    MT_ASSERT(s != NULL);
    in_order(s, words, sizeof words / sizeof *words);
    mt_free(s);
    fxd_done(&x);
}

MT_TEST(markdown)
{
    static const char *const words[] = {
        "One giant tensor",
        "<details><summary>Frames of the request that failed</summary>\n\n- "
        "`utils/torch_functional.",
        "\n</details>\n\n",
        "**Change first**",
        "; set now: `recipe/metrics.py:41 append_metrics`; frees about 6.00 GiB",
        "**With this setting",
        "| With the engine asleep (37.00 GiB) | yes |  |",
        "| KV cache | 23.00 GiB |",
        "| parameters | actor update | 4.00 GiB | 4.00 GiB | as expected | 4 x 1 GiB |",
        ("| gradients | actor update | 12.00 GiB | at most 4.00 GiB | **8.00 GiB more** | 4 x 1 "
         "GiB; recipe"),
        "- not known for KV cache in rollout generation (4.00 GiB measured): the card",
        "of no use",
        "| step of 9 |",
        "| 1 | 0 B | 9.00 GiB | 1.00 GiB |",
        "| +1.00 GiB | `recipe/metrics.py:41 append_metrics` | weight-sync buffers |",
        "**Weight sync, to act on.**",
        "| Who | Bytes | Times | Why |\n|---|---:|---:|---|\n",
        "| 3.00 GiB | 1,234 | - |",
        "**FSDP gathers.** Fine.",
        "| 4 | 72.0 MiB | 8.0 MiB |"};
    static struct diag_fixture x;
    char *s;
    fxd_make(&x, false);
    s = report_of(&x.f.r, MARKDOWN);
    MT_ASSERT(s != NULL);
    in_order(s, words, sizeof words / sizeof *words);
    MT_CHECK(strlen(s) < 60000);
    mt_free(s);
    fxd_done(&x);
}

MT_TEST(hostile)
{
    static struct diag_fixture x;
    char *s;
    fxd_make(&x, true);
    s = report_of(&x.f.r, TEXT);
    MT_ASSERT(s != NULL);
    MT_CHECK(strchr(s, '\033') == NULL);
    MT_CHECK(strchr(s, '\r') == NULL);
    mt_free(s);
    s = report_of(&x.f.r, MARKDOWN);
    MT_ASSERT(s != NULL);
    MT_CHECK(strchr(s, '\033') == NULL);
    for (const char *tag = strstr(s, "<b"); tag != NULL;
         tag = strstr(tag + 1, "<b")) /* in code only */
        MT_CHECK(tag > s && tag[-1] == '>');
    mt_free(s);
    fxd_done(&x);
}

MT_TEST(nothing_to_say)
{
    static struct fixture f;
    char *s;
    fx_make(&f, 1, 10, false);
    s = report_of(&f.r, TEXT);
    MT_ASSERT(s != NULL);
    MT_CHECK(strstr(s, "What the memory is for") == NULL);
    MT_CHECK(strstr(s, "Each phase at its highest") == NULL);
    MT_CHECK(strstr(s, "Would the request") == NULL);
    MT_CHECK(strstr(s, "What was checked") == NULL);
    MT_CHECK(strstr(s, "Frees") == NULL);
    mt_free(s);
    fx_done(&f);
}

/* Which device the sections are about, and the other ones; at most so many, then a count. */
MT_TEST(other_devices)
{
    static const uint32_t ranks[] = {1, 2, FX_RANKS};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        static struct fixture f;
        char *t, *m;
        const struct mt_device_analysis *d;
        uint32_t rank = 0, device = UINT32_MAX, n = 0;
        fx_make(&f, ranks[i], 10, false);
        while ((d = mt_next_other(&f.r, &rank, &device)) != NULL) {
            n++;
            MT_CHECK(d != mt_diagnosis_device(f.r.diagnosis));
        }
        MT_CHECK_EQ(n, ranks[i] - 1);
        MT_CHECK_EQ(mt_has_others(&f.r), ranks[i] > 1);
        t = report_of(&f.r, TEXT);
        m = report_of(&f.r, MARKDOWN);
        MT_ASSERT(t != NULL && m != NULL);
        MT_CHECK_EQ(strstr(t, "The sections from here on are about rank 0, device 0.") != NULL,
                    ranks[i] > 1);
        MT_CHECK_EQ(strstr(t, "The other devices") != NULL, ranks[i] > 1);
        MT_CHECK_EQ(strstr(t, "  rank 1, device 0: live at ") != NULL, ranks[i] > 1);
        MT_CHECK_EQ(strstr(t, "and 3 more (see --format json)") != NULL, ranks[i] == FX_RANKS);
        MT_CHECK_EQ(strstr(m, "From here on about rank 0, device 0.") != NULL, ranks[i] > 1);
        MT_CHECK_EQ(strstr(m, "- rank 1, device 0: live at ") != NULL, ranks[i] > 1);
        MT_CHECK_EQ(strstr(m, "- and 3 more devices") != NULL, ranks[i] == FX_RANKS);
        mt_free(t);
        mt_free(m);
        fx_done(&f);
    }
}

MT_TEST(words)
{
    uint64_t bytes[MT_ROLE_COUNT] = {0};
    uint8_t order[MT_ROLE_COUNT];
    char buf[256];
    uint32_t row[6];
    struct mt_role_facts f = {0};
    struct mt_what_if w = {.text = buf};
    struct mt_saving s = {
        .known = true, .conf = MT_FIX_LOW, .bytes = 5, .low = 5, .high = 5, .to_come = -1};
    MT_CHECK_EQ(mt_role_order(bytes, order), 0);
    MT_CHECK_STR(mt_role_words_list(buf, sizeof buf, bytes, 3), "-");
    bytes[MT_ROLE_BEFORE] = 100;
    bytes[MT_ROLE_UNKNOWN] = 200;
    bytes[MT_ROLE_PARAM] = 1;
    bytes[MT_ROLE_TEMP] = 2;
    MT_CHECK_EQ(mt_role_order(bytes, order), 4);
    MT_CHECK_EQ(order[0], MT_ROLE_TEMP);
    MT_CHECK_EQ(order[1], MT_ROLE_PARAM);
    MT_CHECK_EQ(order[2], MT_ROLE_BEFORE);
    MT_CHECK_EQ(order[3], MT_ROLE_UNKNOWN);
    MT_CHECK_STR(mt_role_words_list(buf, sizeof buf, bytes, 2),
                 "temporaries 2 B, parameters 1 B, others 300 B");
    MT_CHECK_STR(mt_role_words_list(buf, 20, bytes, 4), "temporaries 2 B, pa");
    for (unsigned i = 0; i < 9; i++)
        (void)MT_VEC_PUSH(&f.steps);
    MT_CHECK_EQ(mt_step_rows(&f, row, 6), 6);
    MT_CHECK_EQ(row[2], 2);
    MT_CHECK_EQ(row[3], 6);
    MT_CHECK_EQ(row[5], 8);
    MT_VEC_DONE(&f.steps);
    MT_CHECK_STR(mt_saving_words(buf, &s), "about 5 B (confidence: low)");
    s.known = false;
    MT_CHECK_STR(mt_saving_words(buf, &s), "");
    (void)snprintf(buf, sizeof buf, "If so the request would have fitted.");
    {
        char out[64];
        MT_CHECK_STR(mt_what_if_condition(out, sizeof out, &w), "If so");
        MT_CHECK_STR(mt_what_if_condition(out, 4, &w), "If ");
    }
    MT_CHECK_STR(mt_slope_words(buf, -3.0), "+0 B");
    MT_CHECK_STR(mt_slope_words(buf, 1e300), "+0 B");
}

/* A stretch has one name everywhere: of a phase that is not told what happens inside. */
MT_TEST(stretches)
{
    struct mt_phase_row row[] = {
        {.phase = MT_PH_UNATTRIBUTED, .sub = MT_PH_FORWARD, .n_allocs = 9, .alloc_bytes = 600},
        {.phase = MT_PH_TRAIN, .sub = MT_PH_OPTIMIZER, .n_allocs = 9, .alloc_bytes = 900},
        {.phase = MT_PH_UNATTRIBUTED, .sub = MT_PH_BACKWARD, .n_allocs = 9, .alloc_bytes = 300},
        {.phase = MT_PH_UNATTRIBUTED, .sub = MT_PH_NONE, .n_allocs = 9, .alloc_bytes = 100}};
    struct mt_device_analysis d = {.phases = {.p = row, .n = 4}};
    char name[MT_WORDS];
    MT_CHECK_STR(mt_occ_name(name, &d, MT_PH_UNATTRIBUTED), "forward, backward");
    MT_CHECK_STR(mt_occ_name(name, &d, MT_PH_TRAIN), "training");
    row[3].alloc_bytes = 2000;
    MT_CHECK_STR(mt_occ_name(name, &d, MT_PH_UNATTRIBUTED), "unattributed");
}

MT_MAIN(MT_RUN(text) MT_RUN(markdown) MT_RUN(hostile) MT_RUN(nothing_to_say) MT_RUN(other_devices)
            MT_RUN(words) MT_RUN(stretches))
