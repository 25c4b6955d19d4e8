#include "render/text/ascii.h"

bool mt_ascii_open(struct mt_out *f, struct mt_out *to)
{
    if (mt_out_mem(f))
        return true;
    to->error = to->error != 0 ? to->error : f->error;
    return false;
}

/* What stands for the character that s begins with; of none that is known "?". */
static const char *look_alike(const char *s)
{
    static const struct {
        const char *from, *to;
    } known[] = {
        {"\xe2\x80\xa6", "..."}, {"\xe2\x80\x9c", "\""}, {"\xe2\x80\x9d", "\""},
        {"\xe2\x80\x98", "'"},   {"\xe2\x80\x99", "'"},  {"\xe2\x80\x93", "-"},
        {"\xe2\x80\x94", "-"},   {"\xe2\x86\x92", "->"}, {"\xc3\x97", "x"},
        {"\xc2\xb7", "."},       {"\xe2\x89\xa4", "<="}, {"\xe2\x89\xa5", ">="},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(s, known[i].from, strlen(known[i].from)) == 0)
            return known[i].to;
    return "?";
}

void mt_ascii_close(struct mt_out *f, struct mt_out *to)
{
    const char *s = mt_out_finish(f) == 0 ? (const char *)f->buf : "";
    to->error = to->error != 0 ? to->error : f->error;
    while (*s != '\0') {
        size_t n = 0;
        while (s[n] != '\0' && (unsigned char)s[n] < 0x80)
            n++;
        mt_put(to, s, n);
        s += n;
        if (*s == '\0')
            break;
        mt_puts(to, look_alike(s));
        for (s++; ((unsigned char)*s & 0xC0) == 0x80; s++) {
        }
    }
    mt_out_done(f);
}
