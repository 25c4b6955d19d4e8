#include "cli/rules_field.h"
#include "render/base/escape.h"

#include <string.h>

void mt_rules_field(struct mt_out *o, const char *label, const char *text, int width)
{
    size_t at = 15;
    bool first = true;
    if (text == NULL || text[0] == '\0')
        return;
    mt_putf(o, "    %-11s", label);
    while (*text != '\0') {
        size_t n = strcspn(text, " \n");
        if (!first && at + 1 + n > (size_t)width) {
            mt_puts(o, "\n               ");
            at = 15;
        } else if (!first) {
            mt_putc(o, ' ');
            at++;
        }
        mt_term(o, text, n);
        at += n;
        first = false;
        text += n;
        text += strspn(text, " \n");
    }
    mt_putc(o, '\n');
}

const char *mt_rules_status(char status)
{
    switch (status) {
    case 'G': return "the function is in the framework's source";
    case 'R': return "the function was read in an excerpt of the source";
    case 'D': return "the frame was seen in a recorded snapshot";
    case 'U': return "from memory: low confidence";
    default: return "";
    }
}
