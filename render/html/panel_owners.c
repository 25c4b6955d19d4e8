/* Who held the memory at the moment that matters: by readable stack. */
#include "render/html/kit.h"

static bool has(const struct mt_page *p) { return p->dev != NULL && p->dev->owners.n > 0; }

/* The page without a script has no dead control. */
void mt_h_owners_at_cursor(const struct mt_page *p, struct mt_out *o, const char *roles)
{
    static const char *const what[] = {"net", "Change from A to B", "live", "Live at B",
                                       "new", "New since A",        "gone", "Gone since A",
                                       NULL};
    const char *const by[] = {"role", roles, "phase", "Phase of birth", "stack", "Stack", NULL};
    static const char *const up[] = {"", "Callers first", "1", "Allocation first", NULL};
    static const char *const all[] = {"", "Internals folded", "1", "All frames", NULL};
    mt_puts(o, "<template><div class=\"cursor\">");
    mt_h_at_cursor(o, p, "At the cursor");
    mt_puts(o, "<p class=\"moment\" aria-live=\"polite\"></p>\n<p class=\"controls\"><button "
               "type=\"button\"></button>");
    mt_h_choice(o, "Which blocks", "what", what);
    mt_h_choice(o, "Group by", "by", by);
    mt_h_choice(o, "Direction", "up", up);
    mt_h_choice(o, "Frames of libraries", "all", all);
    mt_puts(o, "</p>\n<div></div>\n<div class=\"icicle\" role=\"group\" aria-label=\"Icicle of "
               "live memory: arrow keys, Enter opens, "
               "Escape goes back\"></div>\n<p class=\"said\" aria-live=\"polite\"></p>\n"
               "<details class=\"more\"><summary>The same as a table</summary></details>\n");
    mt_h_help(o,
              "Each box is a function, as wide as the bytes that it and what it called hold at the "
              "cursor; below a box is what it "
              "called. Click a box to look inside, the topmost to go back. Set the cursor in the "
              "timeline above. Compare: set a "
              "first moment (A), move the cursor to a second one (B), and see what "
              "each stack holds more (red) or less (blue): what came and went alike is no change. "
              "A range selected in the timeline does the same; what its search finds narrows "
              "all of it.");
    mt_puts(o, "</div></template>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    const struct mt_device_analysis *d = p->dev;
    if (mt_page_has_timeline(p))
        mt_h_owners_at_cursor(p, o, "Role");
    mt_putf(o,
            "<p class=\"note\">%s live %s, by the innermost frame of the job\xe2\x80\x99s own "
            "code; a row opens its stack.",
            MT_BYTES(d->focus.live), mt_focus_words(d));
    mt_h_of(o, p, "owners table");
    mt_puts(o, "</p>\n");
    mt_h_rows(o, p, mt_section_owners, d);
}

const struct mt_panel mt_panel_owners = {"owners", "Who holds the memory", has, draw};
