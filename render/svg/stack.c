#include "render/svg/stack.h"

#include "render/base/escape.h"
#include "render/svg/scale.h"

#include <inttypes.h>

enum { WIDE = 2000 };

static uint32_t x_of(const struct mt_stack_bar *b, uint64_t bytes)
{
    return bytes >= b->whole ? WIDE : mt_scale_px(bytes, b->whole, WIDE);
}

void mt_stack_open(struct mt_stack_bar *b, struct mt_out *o, uint64_t whole, unsigned height,
                   const char *label)
{
    *b = (struct mt_stack_bar){o, whole != 0 ? whole : 1, 0, height};
    mt_putf(o,
            "<svg class=\"stackbar\" width=\"100%%\" height=\"%u\" viewBox=\"0 0 %d %u\" "
            "preserveAspectRatio=\"none\" "
            "role=\"img\" ",
            height, WIDE, height);
    mt_puts(o, "aria-label=\"");
    mt_html_s(o, label);
    mt_puts(o, "\">");
}

static void rect(struct mt_stack_bar *b, uint64_t bytes, const char *paint, const char *value,
                 const char *name)
{
    char words[32];
    uint32_t from = x_of(b, b->sum), to;
    b->sum = bytes > UINT64_MAX - b->sum ? UINT64_MAX : b->sum + bytes;
    to = x_of(b, b->sum);
    if (to <= from)
        return;
    mt_putf(b->o, "<rect x=\"%" PRIu32 "\" width=\"%" PRIu32 "\" height=\"%u\" %s=\"%s\"", from,
            to - from, b->height, paint, value);
    if (name == NULL) {
        mt_puts(b->o, "/>");
        return;
    }
    mt_puts(b->o, "><title>");
    mt_html_s(b->o, name);
    mt_putf(b->o, ": %s</title></rect>", mt_fmt_bytes(words, bytes));
}

void mt_stack_part(struct mt_stack_bar *b, uint64_t bytes, const char *fill, const char *name)
{
    rect(b, bytes, "fill", fill, name);
}

void mt_stack_gap(struct mt_stack_bar *b, uint64_t bytes, const char *name)
{
    rect(b, bytes, "fill=\"currentColor\" fill-opacity", ".12", name);
}

/* Lines over the last part, which takes what width the bar has: strokes keep theirs. */
static void hatch(struct mt_stack_bar *b, uint32_t from, const char *stroke, const char *opacity)
{
    enum { STEP = 16, SLANT = 24 };
    uint32_t to = x_of(b, b->sum);
    if (to <= from)
        return;
    mt_putf(b->o,
            "<path class=\"hatch\" fill=\"none\" stroke=\"%s\" stroke-opacity=\"%s\" "
            "vector-effect=\"non-scaling-stroke\" d=\"",
            stroke, opacity);
    for (uint32_t x = from + STEP / 2; x < to; x += STEP) { /* steep ones, cut at the right edge */
        uint32_t run = to - x < SLANT ? to - x : SLANT;
        mt_putf(b->o, "M%" PRIu32 " %ul%" PRIu32 "-%u", x, b->height, run,
                (unsigned)(b->height * run / SLANT));
    }
    mt_puts(b->o, "\"/>");
}

void mt_stack_idle(struct mt_stack_bar *b, uint64_t bytes, const char *fill, const char *name)
{
    uint32_t from = x_of(b, b->sum);
    rect(b, bytes, "fill", fill, name);
    hatch(b, from, "#fff", ".7");
}

void mt_stack_foreign(struct mt_stack_bar *b, uint64_t bytes, const char *name)
{
    uint32_t from = x_of(b, b->sum);
    mt_stack_gap(b, bytes, name);
    hatch(b, from, "currentColor", ".45");
}

void mt_stack_asked(struct mt_stack_bar *b, uint64_t bytes, const char *name)
{
    uint32_t from = x_of(b, b->sum);
    rect(b, bytes, "fill-opacity=\".16\" fill", mt_color_oom, name);
    hatch(b, from, mt_color_oom, "1");
}

void mt_stack_line(struct mt_stack_bar *b, uint64_t bytes)
{
    uint32_t x = x_of(b, bytes);
    mt_putf(b->o, "<rect x=\"%" PRIu32 "\" width=\"4\" height=\"%u\" fill=\"currentColor\"/>",
            x > WIDE - 4 ? WIDE - 4 : x, b->height);
}

void mt_stack_close(struct mt_stack_bar *b) { mt_puts(b->o, "</svg>"); }

void mt_stack_roles(struct mt_stack_bar *b, const uint64_t bytes[MT_ROLE_COUNT],
                    const uint8_t *order, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned role = order != NULL ? order[i] : i;
        mt_stack_part(b, bytes[role], mt_color_hex(mt_role_color(role)),
                      mt_role_words((enum mt_role)role));
    }
}
