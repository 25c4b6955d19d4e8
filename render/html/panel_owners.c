/* Who held the memory at the moment that matters: by readable stack. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/view/stack.h"

#include <string.h>

enum { SHOWN = 25, NAME_MAX_BYTES = 200 };

static bool has(const struct mt_page *p) { return p->dev != NULL && p->dev->owners.n > 0; }

static void put_stack(struct mt_out *o, const struct mt_trace *t, mt_stack_id stack)
{
    struct mt_stack_line lines[MT_STACK_LINES];
    uint32_t n = mt_stack_lines(t, stack, lines);
    char words[MT_LINE_WORDS];
    mt_puts(o, "<ol class=\"stack\">\n");
    for (uint32_t i = 0; i < n; i++) {
        if (lines[i].kind != MT_LINE_FRAME) {
            mt_putf(o, "<li class=\"fold\">%s</li>\n", mt_stack_line_words(&lines[i], words));
            continue;
        }
        mt_puts(o, "<li>");
        mt_h_name(o, lines[i].v.name, NAME_MAX_BYTES);
        if (lines[i].v.file[0] != '\0') {
            mt_puts(o, " <small>");
            mt_h_name(o, lines[i].v.file, NAME_MAX_BYTES);
            if (lines[i].v.line != 0)
                mt_putf(o, ":%u", (unsigned)lines[i].v.line);
            mt_puts(o, "</small>");
        }
        mt_puts(o, "</li>\n");
    }
    mt_puts(o, "</ol>");
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) : 0;
}

/* Who called the frame that the owner is named by: tells equal labels apart. For an installed
 * package its way through itself says little, so the first frame outside its folder is taken. */
static void put_caller(struct mt_out *o, const struct mt_trace *t, const struct mt_owner *w)
{
    struct mt_frame_view v;
    const char *named = NULL;
    bool package = false;
    for (mt_stack_id i = w->stack; i != 0; i = t->stacks.p[i].parent) {
        const char *file = mt_str(t, t->frames.p[t->stacks.p[i].frame].file);
        size_t n = folder_length(file);
        mt_frame_describe(t, t->stacks.p[i].frame, &v);
        if (!v.is_python || v.is_internal)
            continue;
        if (named == NULL) {
            named = file;
            package = strstr(file, "-packages/") != NULL;
            continue;
        }
        if (package && n == folder_length(named) && strncmp(file, named, n) == 0)
            continue;
        mt_puts(o, " <small>from ");
        mt_h_name(o, v.file, NAME_MAX_BYTES);
        mt_putf(o, ":%u ", (unsigned)v.line);
        mt_h_name(o, v.name, NAME_MAX_BYTES);
        mt_puts(o, "</small>");
        return;
    }
}

static void row(const struct mt_page *p, struct mt_out *o, uint32_t i, bool with_stack)
{
    const struct mt_device_analysis *d = p->dev;
    const struct mt_owner *w = &d->owners.p[i];
    enum mt_phase phase = (enum mt_phase)w->attr.phase, sub = (enum mt_phase)w->attr.sub;
    mt_putf(o, "<tr><td class=\"n\">%u</td><th scope=\"row\">", (unsigned)i + 1);
    if (with_stack && w->stack != 0) {
        mt_puts(o, "<details><summary>");
        mt_h_name(o, w->label, NAME_MAX_BYTES);
        put_caller(o, p->rank->trace, w);
        mt_puts(o, "</summary>\n");
        put_stack(o, p->rank->trace, w->stack);
        mt_puts(o, "</details>");
    } else {
        mt_h_name(o, w->label, NAME_MAX_BYTES);
        put_caller(o, p->rank->trace, w);
    }
    mt_puts(o, "</th>");
    mt_h_td_bytes(o, w->bytes);
    mt_h_td_share(o, w->bytes, d->focus.live, p->pal.of[phase][sub]);
    mt_h_td_count(o, w->blocks);
    mt_h_td_bytes(o, w->largest);
    mt_puts(o, "<td>");
    mt_h_swatch(o, p->pal.of[phase][sub]);
    mt_html_s(o, MT_PHASE_CELL(phase, sub));
    if (w->birth != MT_BIRTH_IN_TRACE) {
        mt_puts(o, d->end_state_only ? "" : " <small>older than the trace</small>");
    }
    mt_puts(o, "</td></tr>\n");
}

/* What the script shows at its cursor, empty: the page without a script has no dead control. */
static void at_cursor(const struct mt_page *p, struct mt_out *o)
{
    static const char *const what[] = {"live", "Live at B",    "new", "New since A",
                                       "gone", "Gone since A", NULL};
    static const char *const by[] = {"role",  "Role",  "phase", "Phase of birth",
                                     "stack", "Stack", NULL};
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
              "first moment (A), move the cursor to a second one (B), and see what is new and what "
              "is gone. What the "
              "timeline\xe2\x80\x99s search finds, and a range selected there, narrow this too.");
    mt_puts(o, "</div></template>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"#",       "Allocated by", "#Bytes", "#Share",
                                        "#Blocks", "#Largest",     "Born in"};
    const struct mt_device_analysis *d = p->dev;
    uint32_t shown = d->owners.n < SHOWN ? d->owners.n : SHOWN;
    uint64_t more = d->n_owners_all > d->owners.n ? d->n_owners_all - d->owners.n : 0;
    char a[32], b[32];
    if (mt_page_has_timeline(p))
        at_cursor(p, o);
    mt_putf(o,
            "<p class=\"note\">%s live %s, by the innermost frame of the job\xe2\x80\x99s own "
            "code. Open a row for its stack, "
            "innermost frame first.",
            mt_fmt_bytes(a, d->focus.live), mt_focus_words(d));
    mt_h_of(o, p, "owners table");
    mt_puts(o, "</p>\n");
    mt_h_table(o, "Owners", heads, sizeof heads / sizeof *heads);
    for (uint32_t i = 0; i < shown; i++)
        row(p, o, i, true);
    mt_h_table_end(o);
    if (shown < d->owners.n) {
        mt_putf(o, "<details class=\"more\"><summary>%u smaller owners</summary>\n",
                (unsigned)(d->owners.n - shown));
        mt_h_table(o, "Smaller owners", heads, sizeof heads / sizeof *heads);
        for (uint32_t i = shown; i < d->owners.n; i++)
            row(p, o, i, false);
        mt_h_table_end(o);
        mt_puts(o, "</details>\n");
    }
    if (more > 0)
        mt_putf(o, "<p class=\"note\">%s more owners hold %s together.</p>\n",
                mt_fmt_count(a, more), mt_fmt_bytes(b, d->owners_rest_bytes));
}

const struct mt_panel mt_panel_owners = {"owners", "Who holds the memory", has, draw};
