#include "render/html/what_if.h"

#include "render/base/escape.h"
#include "render/html/card.h"
#include "render/view/choices.h"
#include "render/view/diagnosis.h"

static void choice(struct mt_out *o, const struct mt_choices *c, uint32_t i,
                   const struct mt_advice *a)
{
    char size[32];
    uint32_t line = mt_saving_line(a);
    /* autocomplete: a page that is loaded again begins with its own answer */
    mt_putf(o, "<input type=\"checkbox\" autocomplete=\"off\" id=\"if%u\"%s><label for=\"if%u\">",
            (unsigned)i, i < c->n_first ? " checked" : "", (unsigned)i);
    mt_h_words(o, a->card->title, SIZE_MAX);
    if (line < a->card->n_set && a->card->set[line].syntax != MT_FIX_TEXT) {
        mt_putc(o, ' ');
        mt_h_code(o, mt_advice_line(a, line));
    }
    mt_putf(o, " <small>%s</small></label>\n", mt_fmt_bytes(size, a->saving.bytes));
}

/* Which of the boxes are ticked, as classes and, for who has no style, as words. */
static void names(struct mt_out *o, const struct mt_choices *c, uint32_t set)
{
    const char *before = " class=\"";
    mt_puts(o, "<div");
    for (uint32_t i = 0; i < c->n; i++, before = " ")
        mt_putf(o, "%s%c%u", before, (set >> i & 1) != 0 ? 'y' : 'n', (unsigned)i);
    mt_putf(o, "\"><p><span class=\"set-of\">%s", set == 0 ? "Nothing changed" : "With ");
    before = "";
    for (uint32_t i = 0; i < c->n; i++) {
        if ((set >> i & 1) == 0)
            continue;
        mt_putf(o, "%s%u", before, (unsigned)i + 1);
        before = " + ";
    }
    mt_puts(o, ":</span> ");
}

static void answer(const struct mt_page *p, struct mt_out *o, const struct mt_choices *c,
                   uint32_t set)
{
    const struct mt_outcome *with = &c->with[set];
    char words[MT_OUTCOME_WORDS];
    names(o, c, set);
    mt_putf(o, "<b class=\"%s\">%s</b></p>",
            !with->fits_known    ? ""
            : with->lacking == 0 ? "fits"
                                 : "lacks",
            mt_outcome_words(words, c, set));
    mt_h_card_with(p, o, mt_outcome_needed(c, set), with->fits_known, with->lacking == 0);
    mt_puts(o, "</div>\n");
}

/* Values that somebody names are counted when the report is made. */
static void tried(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_tried_list *t = &p->r->diagnosis->tried;
    uint64_t saved = t->together.saving.bytes;
    if (t->n == 0) {
        mt_puts(o, "<p class=\"note\">Another value: <code>memtrace report --try "
                   "KEY=VALUE</code></p>\n");
        return;
    }
    if (t->together.sentence == NULL || !t->together.saving.known)
        return;
    mt_puts(o, "<div class=\"tried\"><p><a href=\"#tried\">What was tried</a>: ");
    mt_h_words(o, t->together.sentence, 1000);
    mt_puts(o, "</p>");
    mt_h_card_with(p, o, t->needed - (saved < t->needed ? saved : t->needed),
                   t->together.fits_known, t->together.fits);
    mt_puts(o, "</div>\n");
}

void mt_h_what_if(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_analysis *a = p->rank->analysis;
    const struct mt_choices *c = &a->choices;
    if (c->n == 0)
        return;
    mt_puts(o, "<fieldset class=\"whatif\"><legend>What if? Tick what you would change</legend>\n");
    for (uint32_t i = 0; i < c->n; i++)
        choice(o, c, i, &a->advice.p[c->of[i]]);
    mt_puts(o, "<div class=\"outcome\" role=\"status\">\n");
    for (uint32_t set = 0; set < 1u << c->n; set++)
        answer(p, o, c, set);
    mt_puts(o, "</div>\n");
    tried(p, o);
    mt_puts(o, "</fieldset>\n");
}
