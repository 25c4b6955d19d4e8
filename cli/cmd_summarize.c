/* cmd_summarize.c -- one rank, or those of one node, as a file that is merged with others. */
#include "cli/gzip_out.h"
#include "cli/output.h"
#include "cli/pattern.h"
#include "cli/saved_read.h"
#include "parser/saved/summary.h"
#include "parser/saved/value.h"

#include <string.h>

/* Bytes for one device; a summary has as many times that as it has devices, to 1 MiB. */
enum { FOR_DEVICE = 32768, DEVICES = 32 };

/* 0 = out of memory. */
static int pack(struct mt_out *packed, const struct mt_text *text)
{
    struct mt_gzip_out gz;
    if (!mt_out_mem(packed) || !mt_gzip_out_open(&gz, packed))
        return 0;
    mt_put(&gz.out, text->p, text->n);
    mt_gzip_out_close(&gz);
    return mt_out_finish(packed) == 0;
}

static size_t limit_of(const struct mt_saved *s)
{
    size_t n = 0;
    const struct cJSON *d = mt_value_first(mt_value_in(s->root, "devices"));
    for (; d != NULL && n < DEVICES; d = mt_value_next(d))
        n++;
    d = mt_value_first(mt_value_in(mt_value_in(s->root, "ranks"), "rows"));
    for (size_t rows = 0; d != NULL; d = mt_value_next(d)) /* of merged ranks none is left out */
        n = ++rows > n ? rows : n;
    return FOR_DEVICE * (n != 0 ? n : 1);
}

/* Lists are halved until it fits. 0 after a message. */
static int make(struct mt_out *packed, const struct mt_saved *s, bool detail)
{
    size_t limit = limit_of(s);
    for (uint32_t level = 0; level <= MT_SUMMARY_LEVELS; level++) {
        struct mt_text text = {0};
        int ok;
        mt_saved_summary(&text, s, level, detail);
        ok = !text.failed && pack(packed, &text);
        mt_text_done(&text);
        if (!ok) {
            mt_out_done(packed);
            mt_say("out of memory; raise --max-memory");
            return 0;
        }
        if (detail || packed->used <= limit)
            return 1;
        mt_out_done(packed);
    }
    mt_say("what is left of the report without its lists is more than %zu KiB; --detail writes it "
           "whole",
           limit / 1024);
    return 0;
}

static enum mt_exit summarize(const struct mt_cli *c)
{
    struct mt_saved *s = NULL;
    struct mt_saved_seen seen = {false, 0};
    struct mt_output out;
    struct mt_out packed;
    enum mt_exit status;
    if (!mt_output_check(c->output, c->force, c->inputs, c->n_inputs))
        return MT_EXIT_FAILED;
    status = mt_saved_of(&s, c, c->inputs, c->n_inputs, &seen);
    if (status != MT_EXIT_OK)
        return status;
    status = MT_EXIT_FAILED;
    if (make(&packed, s, c->detail)) {
        if (mt_output_open(&out, c->output, c->force)) {
            mt_put(&out.out, packed.buf, packed.used);
            status = mt_output_commit(&out, c->force);
        }
        mt_out_done(&packed);
    }
    if (status == MT_EXIT_OK && strcmp(c->output, "-") != 0 && !c->quiet)
        mt_tell("%s written: %s", c->output,
                mt_value_words(mt_value_in(s->root, "verdict"), "sentence") != NULL
                    ? mt_value_words(mt_value_in(s->root, "verdict"), "sentence")
                    : "no verdict");
    mt_saved_free(s);
    return status == MT_EXIT_OK && seen.damaged ? MT_EXIT_DAMAGED : status;
}

enum mt_exit mt_cmd_summarize(const struct mt_cli *c)
{
    struct mt_cli own = *c;
    char *name;
    bool no_memory;
    enum mt_exit status = MT_EXIT_USAGE;
    if (c->output == NULL) {
        mt_say("summarize: -o names the file that is written, as in -o rank7.mts; - is standard "
               "output");
        return status;
    }
    name = mt_pattern_name(c->output, &no_memory);
    own.output = name;
    if (name != NULL)
        status = summarize(&own);
    else if (no_memory)
        status = MT_EXIT_FAILED;
    mt_free(name);
    return status;
}
