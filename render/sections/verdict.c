/* What comes first: the headline, what to change, why. */
#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/driver.h"
#include "render/view/run.h"
#include "render/view/stack.h"

#include <stdio.h>
#include <string.h>

void mt_section_title(struct mt_sink *k, const struct mt_report *r)
{
    char title[512];
    MT_ROW(k, "%memtrace  {0}", "### memtrace: {0}\n\n", mt_report_title(r, title, sizeof title));
}

#define BECAUSE "<p class=\"because\">{0:w3000}</p>\n"

enum { HEAD = 1024 };

/* A headline of two lines at most: who, when, what was asked for and where. What stands behind the
 * first semicolon is the sentence below it, with a capital. false: there is none. */
static bool split(const char *sentence, char head[HEAD], char first[2], const char **rest)
{
    const char *cut = strstr(sentence, "; ");
    if (cut == NULL || cut - sentence + 2 > HEAD)
        return false;
    memcpy(head, sentence, (size_t)(cut - sentence));
    memcpy(head + (cut - sentence), ".", 2);
    first[0] = cut[2] >= 'a' && cut[2] <= 'z' ? (char)(cut[2] - 'a' + 'A') : cut[2];
    first[1] = '\0';
    *rest = first[0] != '\0' ? cut + 3 : cut + 2;
    return true;
}

/* The sentence of who leads. */
static const char *sentence_of(const struct mt_diagnosis *g, const struct mt_verdict *v)
{
    switch (mt_diagnosis_lead(g)) {
    case MT_LEAD_LOG: return g->logdiag->sentence;
    case MT_LEAD_DRIVER: return g->driver->sentence;
    case MT_LEAD_SNAPSHOT: return v->sentence;
    case MT_LEAD_NOTHING: break;
    }
    return "Nothing could be read.";
}

void mt_section_headline(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_diagnosis *g = r->diagnosis;
    const struct mt_rank *rank = mt_diagnosis_rank(g);
    const struct mt_device_analysis *d = mt_rank_device(rank);
    const struct mt_verdict *v = rank != NULL ? &rank->analysis->verdict : NULL;
    bool log = mt_diagnosis_lead(g) == MT_LEAD_LOG, driver = mt_diagnosis_lead(g) == MT_LEAD_DRIVER;
    bool oom = driver ? mt_driver_failed(g->driver) : d != NULL && d->ooms.n != 0;
    const char *sentence = sentence_of(g, v), *rest;
    char head[HEAD], capital[2], words[MT_WORDS];
    const char *kind = log         ? mt_logdiag_headline(g->logdiag)
                       : driver    ? mt_driver_kind_words(g->driver)
                       : v != NULL ? mt_verdict_words(words, v->kind, d != NULL ? d->cause : NULL)
                                   : NULL;
    mt_heading(k, log ? kind : oom ? "OUT OF MEMORY" : "Verdict", NULL);
    MT_ROW3(k, "  |{0}", "**{0}**\n\n", "[<p class=\"kind\">{1}</p>\n]<h1>{2:w3000}</h1>\n",
            sentence, kind, split(sentence, head, capital, &rest) ? head : sentence);
}

/* Why it is so, and what the others say. */
/* What the sentence says behind its headline; the other formats have it in one. */
void mt_section_rest(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_rank *rank = mt_diagnosis_rank(r->diagnosis);
    const char *rest = NULL;
    char head[HEAD], capital[2];
    bool cut = split(sentence_of(r->diagnosis, rank != NULL ? &rank->analysis->verdict : NULL),
                     head, capital, &rest);
    MT_ROW3(k, NULL, NULL, "<p class=\"because\">{0}{1:w3000}</p>\n", cut ? capital : NULL, rest);
}

void mt_section_because(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_diagnosis *g = r->diagnosis;
    const struct mt_rank *rank = mt_diagnosis_rank(g);
    const struct mt_verdict *v = rank != NULL ? &rank->analysis->verdict : NULL;
    const char *second = mt_report_second(r), *cause = mt_report_cause_sentence(r);
    bool log = mt_diagnosis_lead(g) == MT_LEAD_LOG, driver = mt_diagnosis_lead(g) == MT_LEAD_DRIVER;
    const char *because = log         ? g->logdiag->because
                          : driver    ? g->driver->because
                          : v != NULL ? v->because
                                      : NULL;
    if (driver && v != NULL)
        second = v->sentence;
    MT_ROW(k, NULL, "> {0}\n\n", mt_report_same_job(r));
    MT_ROW3(k, "  |{0}", "{0}\n\n", BECAUSE, because);
    MT_ROW3(k, driver ? NULL : "  |{0}", "{0}\n\n", driver ? NULL : BECAUSE, cause);
    if (second != NULL) {
        MT_ROW3(k, "  |{1}: {0}", "{1}: {0}\n\n",
                "<p class=\"because\"><b>{1}:</b> {0:w3000}</p>\n", second,
                !driver                                     ? "The driver"
                : rank->trace->meta.format == MT_FMT_MEMRAY ? "The host"
                                                            : "The snapshot");
        MT_ROW3(k, "  |{0}", "{0}\n\n", BECAUSE, log ? g->driver->because : NULL);
    }
    if (mt_report_log_second(r) != NULL)
        MT_ROW3(k, "  |The log: {0}", "The log: {0}\n\n",
                "<p class=\"because\"><b>The log:</b> {0:w3000}</p>\n", mt_report_log_second(r));
    MT_ROW(k, "!  |{0}", NULL, mt_report_same_job(r));
    if (r->diagnosis->quality.damaged)
        MT_ROW0(k, "!  The input is damaged or incomplete: see \"Data quality\" below.", NULL);
}

/* The frames of the request that failed: who held the most need not be who asked. */
void mt_section_asked(struct mt_sink *k, const struct mt_report *r)
{
    struct mt_stack_line line[MT_STACK_LINES];
    char words[MT_LINE_WORDS], place[160];
    uint32_t n = mt_report_asked(r, line),
             left = mt_most3(k, k->is_screen ? 3 : 5, MT_STACK_LINES, MT_STACK_LINES);
    uint64_t hidden = 0;
    if (n == 0)
        return;
    MT_ROW0(k, "\n  The request that failed, innermost frame first:",
            "<details><summary>Frames of the request that failed</summary>\n\n");
    MT_NOTE(k, "<details class=\"asked\"><summary>Frames of the request that failed</summary>\n"
               "<ol class=\"stack\">\n");
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_frame_view *v = line[i].kind == MT_LINE_FRAME ? &line[i].v : NULL;
        if ((v == NULL && k->format != MT_IN_HTML) || left == 0) {
            hidden += line[i].n;
            continue;
        }
        left--;
        if (v != NULL)
            (void)snprintf(place, sizeof place, v->line != 0 ? "%s:%u" : "%s", v->file,
                           (unsigned)v->line);
        MT_ROW3(k, "~    [{0} ]{1}", "- [{0:`} ]{1:`200}\n",
                v != NULL ? "<li>{1:n200}[ <small>{0:n200}</small>]</li>\n"
                          : "<li class=\"fold\">{2}</li>\n",
                v != NULL && v->line != 0 ? place : NULL, v != NULL ? v->name : NULL,
                mt_stack_line_words(&line[i], words));
    }
    MT_ROW3(k, "    in the compiled graph {0}", "- in the compiled graph {0:`}\n",
            "<li class=\"fold\">in the compiled graph {0:n80}</li>\n", mt_report_graph(r));
    if (hidden != 0)
        MT_ROW(k,
               k->is_screen ? "    and {0} more frames"
                            : "    and {0} more frames (--format json --frames all)",
               "\nand {0} more frames\n", MT_COUNT(hidden));
    MT_ROW0(k, NULL, "\n</details>\n\n");
    MT_NOTE(k, "</ol>\n</details>\n");
    k->end(k);
}

/* ---- advice ---- */

/* Words that say nothing are no words. */
static const char *said(const char *s) { return s != NULL && strcmp(s, "none") != 0 ? s : NULL; }

static void settings(struct mt_sink *k, const struct mt_advice *a)
{
    char note[MT_ADVICE_NOTE];
    const char *before = ": ";
    for (uint32_t i = 0; i < a->card->n_set && i < MT_FIX_MAX_LINES; i++) {
        if ((a->lines >> i & 1) == 0)
            continue;
        MT_ROW(k,
               a->card->set[i].syntax == MT_FIX_TEXT /* words, nothing to type */
                   ? "       |{0}\n         |{1}"
                   : "$       {0}\n         |{1}",
               "{2}{0:`}[ ({1})]", mt_advice_line(a, i), mt_advice_note(a, i, note), before);
        before = ", ";
    }
}

#define FIELD(name) "<dt>" name "</dt><dd>{0:w3000}</dd>\n"

/* How the page shows them: in a list of fields, or under the title of a setting to change first. */
struct card_html {
    const char *now, *frees, *missing, *why;
};
static const struct card_html as_fields = {FIELD("Set now"),
                                           "<dt>Frees</dt><dd>{0:w3000}[; {1}]</dd>\n",
                                           FIELD("Not computed"), FIELD("Why")};
static const struct card_html as_lines = {
    "<p class=\"now\">Set now: <code>{0:w3000}</code></p>\n",
    "<p class=\"saves\">Frees {0:w3000}[; {1}]</p>\n",
    "<p class=\"saves\"><small>Frees: not computed: {0:w3000}</small></p>\n", "<p>{0:w3000}</p>\n"};

/* The card that stands first: on one screen it alone says why. */
static const struct mt_advice *first_of(const struct mt_report *r)
{
    uint32_t n, i = 0;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    while (i < n && !list[i].is_top)
        i++;
    return i < n ? &list[i] : NULL;
}

static void in_short(struct mt_sink *k, const struct mt_report *r, const struct mt_advice *a,
                     bool whole)
{
    const struct card_html *html = whole ? &as_fields : &as_lines;
    char words[MT_SAVING_WORDS], enough[MT_SAVING_WORDS];
    bool first = !whole && mt_report_no_figures(r) != NULL;
    MT_ROW3(k, "     |Set now: {0}", "; set now: {1:`160}", html->now, said(a->current),
            a->current);
    MT_ROW3(k, "     |Frees: {0}[; {1}]", "; frees {0}[; {1}]", html->frees,
            a->saving.known ? mt_saving_words(words, &a->saving) : NULL,
            a->fits_known ? mt_enough_words(enough, a) : NULL);
    MT_ROW0(k, NULL, "\n");
    MT_ROW3(k, whole ? NULL : "     |Frees: not computed: {0}", NULL, html->missing,
            a->saving.known || first ? NULL : said(mt_saving_missing(a)));
    MT_ROW3(k, k->is_screen && a != first_of(r) ? NULL : "     |{0}", NULL, html->why,
            a->card->why);
}

/* What is to be known before one types it. */
static void in_full(struct mt_sink *k, const struct mt_advice *a)
{
    MT_ROW3(k, "     |Of the saving: {0}", NULL, FIELD("Of the saving"),
            a->saving_of != NULL && a->saving.known ? said(a->saving_of->note) : NULL);
    MT_ROW3(k, "     |Constraints: {0}", NULL, FIELD("Constraints"), said(a->card->constraints));
    MT_ROW3(k, "     |Cost: {0}", NULL, FIELD("Cost"), said(a->card->cost));
    if (said(a->rule->source) != NULL)
        MT_ROW3(k, "     |[[{0:.12}]: {1}", NULL,
                "<dt>Source</dt><dd>{1:w3000} <small>(rule {0})</small></dd>\n", a->rule->id,
                a->rule->source);
}

static void card(struct mt_sink *k, const struct mt_report *r, const struct mt_advice *a,
                 unsigned no, bool whole)
{
    MT_ROW(k, "{1:>3}. |{0}", "{1}. {0}", a->card->title, MT_COUNT(no));
    settings(k, a);
    in_short(k, r, a, whole);
    if (whole)
        in_full(k, a);
}

void mt_section_card(struct mt_sink *k, const struct mt_report *r)
{
    in_short(k, r, k->advice, true);
    in_full(k, k->advice);
}

void mt_section_first_card(struct mt_sink *k, const struct mt_report *r)
{
    in_short(k, r, k->advice, false);
}

void mt_section_first(struct mt_sink *k, const struct mt_report *r)
{
    char first[MT_FIRST];
    unsigned no = 0;
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    const struct mt_combined *after = mt_diagnosis_combined(r->diagnosis);
    for (uint32_t i = 0; i < n; i++) {
        if (!list[i].is_top)
            continue;
        if (no == 0)
            mt_heading(k, mt_report_first(first, r), mt_report_first(first, r));
        card(k, r, &list[i], ++no, false);
    }
    k->end(k);
    if (no != 0 && after != NULL)
        MT_ROW(k, "*  => |{0}", "**{0}**\n\n", after->sentence);
}

/* What is to be said beside the settings to change first. */
void mt_section_beside(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_advice_list *all = mt_diagnosis_advice_list(r->diagnosis);
    char text[MT_SETTLED_WORDS];
    const char *const notes[] = {mt_report_no_first(r), mt_report_no_figures(r),
                                 mt_instead_words(text, all)};
    const char *words;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        MT_ROW3(k, "  |{0}", "{0}\n\n", i == 2 ? NULL : BECAUSE, notes[i]); /* boxes to tick */
    for (uint32_t at = 0; (words = mt_settled_next(text, all, &at)) != NULL;)
        MT_ROW3(k, "  - |{0}", "- {0}\n", "<p class=\"settled\">{0:w3000}</p>\n", words);
    k->end(k);
}

void mt_section_tried(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_diagnosis *d = r->diagnosis;
    const struct mt_lint *l = d->tried_lint;
    char words[MT_SETTLED_WORDS];
    if (d->tried.n != 0)
        mt_heading(k, "What was tried", "What was tried");
    for (uint32_t i = 0; i < d->tried.n; i++) {
        const struct mt_tried *t = &d->tried.p[i];
        MT_ROW3(k, "  - |{0}={1}: {2}\n    |Set now: {3}",
                "- {0:`}={1:`}: {2}[; set now: {3:`160}]\n",
                "<p><code>{0}={1}</code>: {2:w2000}[; set now: <code>{3}</code>]</p>\n", t->key,
                t->value, mt_tried_words(words, t), t->advice.current);
    }
    MT_ROW3(k, "*  => |{0}", "\n**{0}**\n", "<p><strong>{0:w1000}</strong></p>\n",
            d->tried.together.sentence);
    for (uint32_t i = 0; l != NULL && i < l->findings.n; i++) {
        const struct mt_lint_finding *f = &l->findings.p[i];
        if (mt_diagnosis_trips(d, f))
            MT_ROW3(k, "!  - |{0}: {1}\n    |Instead: {2}", "- {0}: {1} {2}\n",
                    "<p class=\"note\">{0}: {1:w1000} {2:w1000}</p>\n",
                    mt_lint_level_name(f->level), f->sentence, f->remedy);
    }
    k->end(k);
}

void mt_section_advice(struct mt_sink *k, const struct mt_report *r)
{
    unsigned no = 0;
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    if (n != 0)
        mt_heading(k, "All advice, in the order to try", NULL);
    for (unsigned pass = 0; pass < 2; pass++) /* those to change first keep their numbers */
        for (uint32_t i = 0; i < n; i++)
            if (list[i].is_top == (pass == 0))
                card(k, r, &list[i], ++no, true);
}

/* ---- cause ---- */

static bool is_of_cause(const struct mt_cause *c, const struct mt_evidence *e)
{
    return e->since == c->event && e->event == c->event;
}

/* What it is, and once for all lines of which moment they tell. */
static void kind(struct mt_sink *k, const struct mt_cause *c)
{
    bool all = true;
    char form[256];
    for (uint32_t i = 0; i < c->evidence.n; i++)
        all = all && is_of_cause(c, &c->evidence.p[i]);
    (void)snprintf(form, sizeof form,
                   c->kind != MT_CAUSE_NONE
                       ? "<p class=\"note\">Cause: {0}; confidence: {1}.{2:h What follows is about "
                         "|%s}</p>\n"
                       : "{2:h<p class=\"note\">What follows is about |%s</p>\n}",
                   all ? "." : ", unless it names another.");
    MT_DATA(k, NULL, NULL, form, mt_as_words(mt_cause_words(c->kind)),
            mt_as_words(mt_conf_phrase(c->conf)), mt_at(mt_as_words(NULL), c->event));
}

static void what_ifs(struct mt_sink *k, const struct mt_cause *c)
{
    char words[1024];
    bool lacks = false;
    if (c->what_ifs.n == 0)
        return;
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        lacks = lacks || !c->what_ifs.p[i].fits;
    mt_heading(k, "Would the request have fitted?", NULL);
    MT_ROW0(k, NULL, "| would the request have fitted | | would lack |\n|---|---|---:|\n");
    MT_NOTE(k, "<h3>Would the request have fitted?</h3>\n");
    if (lacks)
        MT_TABLE(k, "Would the request have fitted?", "If", "#It frees", "Answer", "#Would lack");
    else
        MT_TABLE(k, "Would the request have fitted?", "If", "#It frees", "Answer");
    for (uint32_t i = 0; i < c->what_ifs.n; i++) {
        const struct mt_what_if *w = &c->what_ifs.p[i];
        MT_DATA(k, "  {0:<3}  |{1}", "| {2} | {0} | {3} |\n",
                !w->fits ? "<tr><th scope=\"row\">{2:w1000}</th>{4:t}<td>No</td>{3:t}</tr>\n"
                : lacks  ? "<tr><th scope=\"row\">{2:w1000}</th>{4:t}<td><strong class=\"yes\">Yes"
                           "</strong></td><td></td></tr>\n"
                         : "<tr><th scope=\"row\">{2:w1000}</th>{4:t}<td><strong class=\"yes\">Yes"
                           "</strong></td></tr>\n",
                mt_as_words(w->fits ? "yes" : "no"), mt_as_words(w->text),
                mt_as_words(mt_what_if_condition(words, sizeof words, w)),
                mt_known(!w->fits, mt_as_bytes(w->short_by), NULL), mt_as_bytes(w->freed));
    }
    k->end(k);
}

void mt_section_cause(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_cause *c = mt_report_cause(r);
    if (c == NULL || (c->evidence.n == 0 && c->what_ifs.n == 0))
        return;
    kind(k, c);
    if (c->evidence.n != 0) {
        mt_heading(k, "Why", "Why");
        MT_NOTE(k, "<ul class=\"evidence\">\n");
    }
    for (uint32_t i = 0; i < c->evidence.n && i < mt_most3(k, 12, 8, UINT32_MAX); i++) {
        const struct mt_evidence *e = &c->evidence.p[i];
        struct mt_datum moment = mt_at(mt_as_words(NULL), e->event);
        moment.since = e->since;
        MT_DATA(k, "  - |{0}", "- {0}\n",
                is_of_cause(c, e) ? "<li>{0:w1000}</li>\n" : "<li>{0:w1000}{1:h See |.}</li>\n",
                mt_as_words(e->text), moment);
    }
    if (c->evidence.n != 0)
        MT_NOTE(k, "</ul>\n");
    k->end(k);
    what_ifs(k, c);
}

/* ---- the ends ---- */

/* A ticket shows the answer; GitHub and GitLab open the rest. */
static bool is_folded(const struct mt_report *r)
{
    return mt_diagnosis_device(r->diagnosis) != NULL || r->diagnosis->driver != NULL;
}

void mt_section_fold(struct mt_sink *k, const struct mt_report *r)
{
    if (is_folded(r))
        MT_ROW0(k, NULL, "<details><summary>Numbers, phases, owners</summary>\n\n");
}

void mt_section_unfold(struct mt_sink *k, const struct mt_report *r)
{
    if (is_folded(r))
        MT_ROW0(k, NULL, "</details>\n\n");
}

void mt_section_footer(struct mt_sink *k, const struct mt_report *r)
{
    if (k->is_screen)
        MT_ROW0(k, "\n  >4|There is more: --full has all of it, -o report.html the page.", NULL);
    if (r->link != NULL)
        MT_ROW(k, "\n{0:=}", "\n{0:=}\n\n", r->link);
    MT_ROW(k, "\nmemtrace {0:=}[: {1}]", "<sub>memtrace {0:=}[: {2:`1000}]</sub>\n", r->version,
           r->command, r->ticket_command != NULL ? r->ticket_command : r->command);
}
