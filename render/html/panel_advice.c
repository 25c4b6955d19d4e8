/* All advice, in the order to try, folded. */
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/html/kit.h"

#include <string.h>

static bool has(const struct mt_page *p)
{
    uint32_t n;
    (void)mt_diagnosis_advice(p->r->diagnosis, &n);
    return n != 0;
}

static bool says(const char *s) { return s != NULL && s[0] != '\0' && strcmp(s, "none") != 0; }

static void field(struct mt_out *o, const char *name, const char *value)
{
    if (!says(value))
        return;
    mt_putf(o, "<dt>%s</dt><dd>", name);
    mt_h_words(o, value, SIZE_MAX);
    mt_puts(o, "</dd>\n");
}

static const char *checked_words(enum mt_fix_status s)
{
    switch (s) {
    case MT_FIX_OK: return "exists as written";
    case MT_FIX_MOVED: return "has moved to another name by now";
    case MT_FIX_PARTIAL: return "exists, with a condition that guides leave out";
    case MT_FIX_WRONG: return "does not exist";
    case MT_FIX_NOOP: return "is accepted, without effect";
    case MT_FIX_DOC: return "advice of a document; nothing to check in code";
    }
    return "";
}

static void card(const struct mt_page *p, struct mt_out *o, const struct mt_advice *a)
{
    const struct mt_fix_rule *rule = a->rule;
    char size[32];
    bool code = false;
    mt_puts(o, "<details class=\"advice\"><summary>");
    mt_h_words(o, a->card->title, SIZE_MAX);
    for (uint32_t i = 0; i < a->card->n_set && i < MT_FIX_MAX_LINES && !code; i++) {
        if ((a->lines >> i & 1) == 0 || a->card->set[i].syntax == MT_FIX_TEXT)
            continue;
        mt_putc(o, ' ');
        mt_h_code(o, mt_advice_line(a, i));
        code = true;
    }
    if (a->saving.known)
        mt_putf(o, " <span class=\"frees\">frees about %s</span>",
                mt_fmt_bytes(size, a->saving.bytes));
    mt_puts(o, "</summary>\n");
    mt_h_settings(o, a);
    mt_puts(o, "<dl class=\"fields\">\n");
    mt_h_advice_rows(o, p, mt_section_card, a);
    field(o, "Applies to", rule->for_words);
    mt_puts(o, "<dt>Checked</dt><dd>");
    mt_html_s(o, checked_words(rule->status));
    if (says(rule->checked)) {
        mt_puts(o, ". ");
        mt_h_words(o, rule->checked, SIZE_MAX);
    }
    mt_puts(o, "</dd>\n");
    for (uint32_t i = 0; i < rule->n_contradictions; i++)
        field(o, "Guides disagree", rule->contradictions[i].b);
    mt_puts(o, "</dl>\n</details>\n");
}

/* Of the job, as far as readers look for settings by it. The last takes what belongs to several. */
static const struct stage {
    const char *words;
    uint32_t classes;
} stages[] = {
    {"Model set-up", 1u << MT_FIX_INIT},
    {"Rollout",
     1u << MT_FIX_ROLLOUT_KV_ALLOC | 1u << MT_FIX_ROLLOUT_RUN | 1u << MT_FIX_ROLLOUT_GRAPH},
    {"Log-probs and values", 1u << MT_FIX_LOGP},
    {"Training", 1u << MT_FIX_LOSS | 1u << MT_FIX_FORWARD_BACKWARD | 1u << MT_FIX_BACKWARD |
                     1u << MT_FIX_GRAD_CLIP | 1u << MT_FIX_OPTIMIZER},
    {"Weight synchronisation and switching", 1u << MT_FIX_WEIGHT_SYNC | 1u << MT_FIX_SWITCH},
    {"NCCL", 1u << MT_FIX_NCCL},
    {"Fragmentation", 1u << MT_FIX_FRAGMENTATION},
    {"Checkpoints and validation", 1u << MT_FIX_CHECKPOINT},
    {"Host memory", 1u << MT_FIX_HOST_MEMORY},
    {"For the next trace", 1u << MT_FIX_CAPTURE},
    {"More than one phase", UINT32_MAX},
    {"Further reading", UINT32_MAX},
};
enum {
    N_STAGES = sizeof stages / sizeof *stages,
    ALL_STAGES = N_STAGES - 2,
    FEW = 3,
    READING = N_STAGES - 1,
    TOP = N_STAGES
};

static unsigned stage_of(const struct mt_advice *a)
{
    unsigned s = 0;
    if (a->is_top)
        return TOP;
    if (a->rule->kind == MT_FIX_REFERENCE)
        return READING;
    while (s < ALL_STAGES && (a->rule->phases & ~stages[s].classes) != 0)
        s++;
    return s;
}

static void group(const struct mt_page *p, struct mt_out *o, const struct mt_advice *list,
                  uint32_t n, unsigned stage, const char *heading, bool open)
{
    uint32_t members = 0;
    uint64_t most = 0;
    char b[32];
    for (uint32_t i = 0; i < n; i++) {
        if (stage_of(&list[i]) != stage)
            continue;
        members++;
        if (list[i].saving.known && list[i].saving.bytes > most)
            most = list[i].saving.bytes;
    }
    if (members == 0)
        return;
    mt_putf(o, "<details class=\"stage\"%s><summary>%s <small>%u</small>", open ? " open" : "",
            heading, (unsigned)members);
    if (most != 0 && stage != TOP)
        mt_putf(o, " <span class=\"frees\">up to about %s</span>", mt_fmt_bytes(b, most));
    mt_puts(o, "</summary>\n");
    for (uint32_t i = 0; i < n; i++)
        if (stage_of(&list[i]) == stage)
            card(p, o, &list[i]);
    mt_puts(o, "</details>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(p->r->diagnosis, &n);
    bool top = false;
    for (uint32_t i = 0; i < n; i++)
        top = top || list[i].is_top;
    mt_puts(o, "<p class=\"note\">What fits the framework and the phase of the verdict and has "
               "evidence in the trace, by the phase "
               "in which it takes effect, in the order to try. A saving is what it takes off the "
               "moment that matters.</p>\n");
    group(p, o, list, n, TOP, "Those to change first, in full", false);
    for (unsigned s = 0; s < N_STAGES; s++)
        group(p, o, list, n, s, stages[s].words,
              n <= FEW && !top); /* nothing but this says what to do */
}

const struct mt_panel mt_panel_advice = {"advice", "All advice", has, draw};
