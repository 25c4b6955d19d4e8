/* Who allocated: a label, who called it, and the stack to open. */
#include "render/html/kit.h"

#include "render/base/escape.h"
#include "render/view/stack.h"
#include "parser/base/text.h"

#include <string.h>

enum { NAME_MAX_BYTES = 200 };

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
            package = mt_file_is_packaged(file);
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

void mt_h_owner(struct mt_out *o, const struct mt_page *p, uint32_t i, bool with_stack)
{
    const struct mt_owner *w = &p->dev->owners.p[i];
    bool opens = with_stack && w->stack != 0;
    mt_puts(o, opens ? "<details><summary>" : "");
    mt_h_name(o, w->label, NAME_MAX_BYTES);
    put_caller(o, p->rank->trace, w);
    if (!opens)
        return;
    mt_puts(o, "</summary>\n");
    put_stack(o, p->rank->trace, w->forward != 0 ? w->forward : w->stack);
    mt_puts(o, "</details>");
}
