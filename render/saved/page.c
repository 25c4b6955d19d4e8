/* The pages of a diff and of reports that were read back. */
#include "render/base/escape.h"
#include "render/html/assets.h"
#include "render/saved/again.h"
#include "render/saved/diff.h"

#include <errno.h>

static void begin(struct mt_out *o, const char *title)
{
    mt_puts(o,
            "<!doctype html>\n<html lang=\"en\" dir=\"ltr\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    mt_html_s(o, title);
    mt_puts(o, " - memtrace</title>\n<style>\n");
    if (!mt_template_css(o) && o->error == 0)
        o->error = ENOENT; /* built without its templates */
    mt_puts(o, "</style>\n</head>\n<body>\n<main class=\"diff\">\n");
}

static void end(struct mt_out *o, const char *version)
{
    mt_puts(o, "</main>\n<footer>memtrace ");
    mt_html_s(o, version);
    mt_puts(o, ". This page makes no network request.</footer>\n</body>\n</html>\n");
}

void mt_diff_page(const struct mt_diff_report *r, struct mt_out *o)
{
    struct mt_paper k = {.o = o, .format = MT_PAPER_HTML};
    char title[600];
    begin(o, mt_diff_title(r, true, title, sizeof title));
    mt_diff_put(r, &k);
    end(o, r->version);
}

void mt_saved_page(const struct mt_saved *s, const char *name, const char *version,
                   const struct mt_paper *k)
{
    begin(k->o, name);
    mt_saved_again(s, name, k);
    end(k->o, version);
}
