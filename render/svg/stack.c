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

void mt_stack_failed(struct mt_stack_bar *b, uint64_t bytes, const char *name)
{
    rect(b, bytes, "fill", mt_color_oom, name);
}

void mt_stack_line(struct mt_stack_bar *b, uint64_t bytes)
{
    uint32_t x = x_of(b, bytes);
    mt_putf(b->o, "<rect x=\"%" PRIu32 "\" width=\"4\" height=\"%u\" fill=\"currentColor\"/>",
            x > WIDE - 4 ? WIDE - 4 : x, b->height);
}

void mt_stack_close(struct mt_stack_bar *b) { mt_puts(b->o, "</svg>"); }

void mt_stack_roles(struct mt_stack_bar *b, const uint64_t bytes[MT_ROLE_COUNT],
                    const uint8_t *order, unsigned n, const struct mt_role_palette *pal)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned role = order != NULL ? order[i] : i;
        mt_stack_part(b, bytes[role], mt_color_hex(pal->of[role]),
                      mt_role_words((enum mt_role)role));
    }
}
