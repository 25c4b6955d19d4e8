#include "render/saved/check.h"

#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <string.h>

static const char *mark(const struct mt_checked *k)
{
    return k->is_over ? "FAIL  " : k->is_unknown ? "?     " : "ok    ";
}

void mt_check_text(const struct mt_check *c, struct mt_out *o)
{
    for (uint32_t i = 0; i < c->rows.n; i++) {
        struct mt_sentence words = {"", 0};
        mt_checked_words(&c->rows.p[i], &words);
        mt_puts(o, mark(&c->rows.p[i]));
        mt_term(o, words.buf, words.n);
        mt_putc(o, '\n');
    }
}

/* https://docs.github.com/actions: workflow commands. A line end, and in properties ':' and ',',
 * are written as %XX. */
static void put_escaped(struct mt_out *o, const char *s, bool is_property)
{
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '%' || c < 32 || (is_property && (c == ':' || c == ',')))
            mt_putf(o, "%%%02X", c);
        else
            mt_putc(o, *s);
    }
}

void mt_check_github(const struct mt_check *c, struct mt_out *o)
{
    uint32_t n_ok = c->rows.n - c->n_over - c->n_unknown;
    for (uint32_t i = 0; i < c->n_over + c->n_unknown; i++) {
        const struct mt_checked *k = &c->rows.p[i];
        struct mt_sentence words = {"", 0};
        char file[512];
        unsigned long line;
        mt_checked_words(k, &words);
        mt_puts(o, "::error title=");
        put_escaped(o,
                    k->is_unknown                 ? "memory not known"
                    : k->limit.of == MT_LIMIT_OOM ? "out of memory"
                                                  : "memory over its limit",
                    true);
        if (k->site != NULL && mt_site_place(k->site, file, sizeof file, &line)) {
            mt_puts(o, ",file=");
            put_escaped(o, file, true);
            mt_putf(o, ",line=%lu", line);
        }
        mt_puts(o, "::");
        put_escaped(o, words.buf, false);
        mt_putc(o, '\n');
    }
    mt_putf(o, "::notice title=memtrace check::%u over, %u not known, %u kept\n",
            (unsigned)c->n_over, (unsigned)c->n_unknown, (unsigned)n_ok);
}

void mt_check_junit(const struct mt_check *c, struct mt_out *o)
{
    mt_putf(o,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "<testsuite name=\"memtrace check\" tests=\"%u\" failures=\"%u\">\n",
            (unsigned)c->rows.n, (unsigned)(c->n_over + c->n_unknown));
    for (uint32_t i = 0; i < c->rows.n; i++) {
        const struct mt_checked *k = &c->rows.p[i];
        struct mt_sentence words = {"", 0};
        mt_checked_words(k, &words);
        mt_puts(o, "<testcase classname=\"memtrace\" name=\"");
        mt_html_s(o, k->limit.name);
        mt_puts(o, k->limit.has_base ? " (baseline)\"" : "\"");
        if (k->is_over || k->is_unknown) {
            mt_puts(o, "><failure message=\"");
            mt_html_s(o, words.buf);
            mt_puts(o, "\"/></testcase>\n");
        } else {
            mt_puts(o, "/>\n");
        }
    }
    mt_puts(o, "</testsuite>\n</testsuites>\n");
}

void mt_check_json(const struct mt_check *c, struct mt_out *o)
{
    struct mt_jsonw w;
    mt_jw_init(&w, o, true);
    mt_jw_open(&w, '{');
    mt_jw_ku(&w, "schema_version", 1);
    mt_jw_kb(&w, "passed", c->n_over + c->n_unknown == 0);
    mt_jw_ku(&w, "over", c->n_over);
    mt_jw_ku(&w, "unknown", c->n_unknown);
    mt_jw_key(&w, "limits");
    mt_jw_open(&w, '[');
    for (uint32_t i = 0; i < c->rows.n; i++) {
        const struct mt_checked *k = &c->rows.p[i];
        bool is_size = k->limit.of != MT_LIMIT_OOM;
        struct mt_sentence words = {"", 0};
        char file[512];
        unsigned long line = 0;
        bool has_line = k->site != NULL && mt_site_place(k->site, file, sizeof file, &line);
        mt_checked_words(k, &words);
        mt_jw_open(&w, '{');
        mt_jw_ks(&w, "limit", k->limit.name);
        mt_jw_ks(&w, "set_in", k->limit.set_in[0] != '\0' ? k->limit.set_in : NULL);
        mt_jw_key(&w, "over");
        if (k->is_unknown)
            mt_jw_null(&w);
        else
            mt_jw_b(&w, k->is_over);
        mt_jw_ks(&w, "sentence", words.buf);
        mt_jw_known(&w, "max_bytes", is_size, k->limit.max);
        mt_jw_known(&w, "bytes", k->occurs, k->bytes);
        mt_jw_known(&w, "baseline_bytes", k->limit.has_base, k->limit.base);
        mt_jw_ks(&w, "device", k->device[0] != '\0' ? k->device : NULL);
        mt_jw_ks(&w, "phase_name", k->phase);
        mt_jw_ks(&w, "site", k->site);
        mt_jw_ks(&w, "file", has_line ? file : NULL);
        mt_jw_known(&w, "line", has_line, line);
        mt_jw_close(&w, '}');
    }
    mt_jw_close(&w, ']');
    mt_jw_close(&w, '}');
    mt_putc(o, '\n');
}
