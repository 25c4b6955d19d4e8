/* What PyTorch holds from the driver, and whether what is free of it could have been used. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/svg/stack.h"

#include <stdio.h>

static bool has(const struct mt_page *p)
{
    return p->dev != NULL && (p->dev->pools.n > 0 || p->dev->focus.reserved != 0);
}

static void focus(struct mt_out *o, const struct mt_device_analysis *d)
{
    const struct mt_state *s = &d->focus;
    char a[32], b[32], name[64], note[128];
    (void)snprintf(name, sizeof name, "Reserved %s", mt_focus_words(d));
    (void)snprintf(note, sizeof note, "%s live", mt_fmt_bytes(b, s->live));
    mt_puts(o, "<dl class=\"cards\">\n");
    mt_h_def(o, name, mt_fmt_bytes(a, s->reserved), note);
    (void)snprintf(note, sizeof note, "%s of it: rounding, unsplit rests and holes",
                   mt_fmt_percent(b, s->reserved_free, s->reserved));
    mt_h_def(o, "Not in use", mt_fmt_bytes(a, s->reserved_free), note);
    if (s->n_segments != 0)
        mt_h_def(o, "Segments", mt_fmt_count(a, s->n_segments), "");
    if (s->holes_known) {
        (void)snprintf(note, sizeof note, "of %s holes", mt_fmt_count(b, s->n_holes));
        mt_h_def(o, "Largest hole", mt_fmt_bytes(a, s->largest_free), note);
    }
    if (d->focus_is_oom && s->holes_known && d->ooms.n != 0 && d->ooms.p[0].request != 0) {
        uint64_t request = d->ooms.p[0].request;
        (void)snprintf(note, sizeof note, "for a request of %s: %s", mt_fmt_bytes(b, request),
                       s->largest_usable >= request ? "large enough" : "too small");
        mt_h_def(o, "Largest hole it could use", mt_fmt_bytes(a, s->largest_usable), note);
        (void)snprintf(note, sizeof note, "%s",
                       s->free_usable >= request ? "enough in sum: fragmentation"
                                                 : "not enough even in sum");
        mt_h_def(o, "All holes it could use", mt_fmt_bytes(a, s->free_usable), note);
    }
    mt_puts(o, "</dl>\n");
}

/* One size beside the request, which is a line across; what it lacks of it stays empty. */
static void size_row(struct mt_out *o, const char *name, uint64_t bytes, uint64_t request,
                     uint64_t whole, bool failed)
{
    struct mt_stack_bar b;
    char words[32];
    mt_putf(o, "<div><dt>%s</dt><dd>", name);
    mt_stack_open(&b, o, whole, 14, "to the scale of the others");
    if (failed)
        mt_stack_asked(&b, bytes, NULL);
    else
        mt_stack_part(&b, bytes, mt_color_hex(MT_COLOR_UNATTRIBUTED), NULL);
    mt_stack_line(&b, request);
    mt_stack_close(&b);
    mt_putf(o, " <span>%s</span></dd></div>\n", mt_fmt_bytes(words, bytes));
}

/* The request that failed and what there was for it, to one scale. */
static void sizes(struct mt_out *o, const struct mt_device_analysis *d)
{
    const struct mt_state *s = &d->focus;
    uint64_t request = d->focus_is_oom && d->ooms.n != 0 ? d->ooms.p[0].request : 0, left, whole;
    if (request == 0 || !s->holes_known)
        return;
    left = d->ooms.p[0].device_free;
    whole = s->free_usable > left ? s->free_usable : left;
    whole = whole > request ? whole : request;
    mt_puts(o, "<dl class=\"bars\">\n");
    size_row(o, "Asked for", request, request, whole, true);
    size_row(o, "Largest hole it could use", s->largest_usable, request, whole, false);
    size_row(o, "All of these holes", s->free_usable, request, whole, false);
    size_row(o, "Free on the device", left, request, whole, false);
    mt_puts(o, "</dl>\n<p class=\"note\">To one scale; the line is the request. Holes that lie "
               "apart do not add up.</p>\n");
}

/* The map of the script, empty. */
static void map(const struct mt_page *p, struct mt_out *o)
{
    mt_puts(o, "<template><div class=\"segmap\" hidden>");
    mt_h_at_cursor(o, p, "Segments at the cursor");
    mt_puts(o, "<p class=\"moment\"></p>\n<p class=\"legend\"></p>\n<div></div>\n<p class=\"said\" "
               "aria-live=\"polite\"></p>\n");
    mt_h_help(o, "Each bar is a segment that PyTorch got from the driver, as long as its bytes, by "
                 "pool and stream. Coloured: live "
                 "blocks, by what they are for. Pale: free, and of use only to requests of the "
                 "same pool and stream. A segment goes "
                 "back to the device only when nothing in it is live: where at least half of one "
                 "is free, the bar under it marks its "
                 "largest live block. Arrow keys go from segment to segment.");
    mt_puts(o, "</div></template>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    focus(o, p->dev);
    sizes(o, p->dev);
    mt_h_rows(o, p, mt_section_pools, p->dev);
    if (mt_page_has_timeline(p) && !p->dev->sums_only)
        map(p, o);
}

const struct mt_panel mt_panel_segments = {"segments", "Segments and fragmentation", has, draw};
