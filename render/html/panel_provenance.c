/* What this report was made from, and by what. */
#include "render/base/escape.h"
#include "render/html/kit.h"

#include <inttypes.h>

static bool has(const struct mt_page *p)
{
    const struct mt_diagnosis *d = p->r->diagnosis;
    return d->ranks.n > 0 || (d->skipped != NULL && d->skipped->unread.n > 0) || d->driver != NULL;
}

/* The i-th of all inputs; NULL behind the last. */
static const struct mt_meta *meta_at(const struct mt_diagnosis *d, uint32_t i)
{
    uint32_t n_drivers = d->driver != NULL ? d->driver->drivers.n : 0;
    if (i < n_drivers)
        return &d->driver->drivers.p[i]->meta;
    i -= n_drivers;
    if (i < d->ranks.n)
        return &d->ranks.p[i].trace->meta;
    i -= d->ranks.n;
    return i < d->earlier.n ? &d->earlier.p[i].trace->meta : NULL;
}

static void input(struct mt_out *o, const struct mt_meta *m, bool has_hashes)
{
    char words[MT_WORDS];
    mt_puts(o, "<tr><th scope=\"row\">");
    mt_h_name(o, m->input, 400);
    if (m->member != NULL) {
        mt_puts(o, " <small>");
        mt_h_name(o, m->member, 400);
        mt_puts(o, "</small>");
    }
    mt_puts(o, "</th>");
    if (m->input_bytes != 0)
        mt_h_td_bytes(o, m->input_bytes);
    else
        mt_h_td_text(o, "-");
    mt_puts(o, "<td>");
    mt_html_s(o, mt_format_words(words, m));
    if (m->encoding != NULL && m->encoding[0] != '\0') {
        mt_puts(o, " in ");
        mt_h_text(o, m->encoding, 100);
    }
    mt_puts(o, "</td>");
    mt_h_td_bytes(o, m->bytes);
    mt_puts(o, "<td>");
    if (m->rank >= 0)
        mt_putf(o, "rank %" PRId32 " ", m->rank);
    if (m->pid >= 0)
        mt_putf(o, "pid %" PRId64 " ", m->pid);
    if (m->host != NULL) {
        mt_puts(o, "host ");
        mt_h_name(o, m->host, 100);
    }
    if (m->rank < 0 && m->pid < 0 && m->host == NULL)
        mt_puts(o, "-");
    if (has_hashes) {
        mt_puts(o, "</td><td><code>");
        mt_html_s(o, m->sha256[0] != '\0' ? m->sha256 : "not computed");
        mt_puts(o, "</code>");
    }
    mt_puts(o, "</td></tr>\n");
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    static const char *const heads[] = {"Input",     "#Size",         "Format",
                                        "#Snapshot", "From its name", "SHA-256 of the input"};
    const struct mt_report *r = p->r;
    const struct mt_meta *m;
    if (r->diagnosis->ranks.n > 0 || r->diagnosis->driver != NULL) {
        bool has_hashes = false;
        for (uint32_t i = 0; (m = meta_at(r->diagnosis, i)) != NULL; i++)
            has_hashes |= m->sha256[0] != '\0';
        mt_h_table(o, "Inputs", heads, sizeof heads / sizeof *heads - !has_hashes);
        for (uint32_t i = 0; (m = meta_at(r->diagnosis, i)) != NULL; i++)
            input(o, m, has_hashes);
        mt_h_table_end(o);
    }
    mt_h_rows(o, p, mt_section_files, NULL);
    mt_h_rows(o, p, mt_section_config, NULL);
    mt_puts(o, "<dl class=\"fields\">\n<dt>Made by</dt><dd>memtrace ");
    mt_html_s(o, r->version);
    mt_puts(o, "</dd>\n");
    if (r->command != NULL && r->command[0] != '\0') {
        mt_puts(o, "<dt>Command</dt><dd><code>");
        mt_h_words(o, r->command, 4000);
        mt_puts(o, "</code></dd>\n");
    }
    mt_puts(o, "<dt>Units</dt><dd>KiB, MiB, GiB: powers of 1024. \xe2\x80\x9cLive\xe2\x80\x9d is "
               "what callers asked for, from "
               "allocation to "
               "completed free; \xe2\x80\x9creserved\xe2\x80\x9d is what PyTorch holds from the "
               "driver.</dd>\n</dl>\n");
}

const struct mt_panel mt_panel_provenance = {"provenance", "Provenance", has, draw};
