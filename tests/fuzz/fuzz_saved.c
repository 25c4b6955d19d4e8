/* Fuzz target of reports that are read back, and of all that is said of one: again, beside another,
 * against limits. */
#include "analysis/compare/check.h"
#include "parser/base/apart.h"
#include "parser/base/json_words.h"
#include "render/base/json_form.h"
#include "render/saved/again.h"
#include "render/saved/check.h"
#include "render/saved/diff.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int forget(void *ctx, const void *p, size_t n)
{
    (void)ctx;
    (void)p;
    (void)n;
    return 0;
}

static void say(const struct mt_saved *s, const struct mt_saved *other)
{
    struct mt_limit limits[4];
    struct mt_diff d;
    struct mt_check c;
    struct mt_err err = {.rc = MT_OK};
    struct mt_out o = {.write = forget};
    struct mt_diff_report r = {.diff = &d, .name = {"a", "b"}, .version = "0"};
    static const char *const names[] = {"peak", "role:logits", "phase:train", "phase:train.left"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (mt_limit_name(&limits[i], names[i], strlen(names[i]), NULL) != MT_OK)
            abort();
    for (int f = MT_PAPER_TEXT; f <= MT_PAPER_HTML; f++)
        mt_saved_again(s, "a", &(struct mt_paper){&o, (enum mt_paper_format)f, 80, 10});
    mt_saved_info(s, "a", NULL, &o);
    mt_saved_info_json(s, "a", "b", &o);
    mt_json_pretty(&o, s->text, s->n);
    if (mt_diff_make(&d, other, s, &err) == MT_OK) {
        mt_diff_put(&r, &(struct mt_paper){&o, MT_PAPER_TEXT, 80, 10});
        mt_diff_page(&r, &o);
        mt_diff_json(&r, &o);
    }
    mt_diff_done(&d);
    if (mt_check_make(&c, s, limits, 4, other, 20, &err) == MT_OK) {
        mt_check_text(&c, &o);
        mt_check_github(&c, &o);
        mt_check_junit(&c, &o);
        mt_check_json(&c, &o);
    }
    mt_check_done(&c);
    if (mt_out_finish(&o) != 0)
        abort();
    mt_out_done(&o);
}

/* As a page carries it, and back. */
static void check_apart(const struct mt_saved *s)
{
    struct mt_text keys = {0}, apart = {0}, again = {0};
    mt_apart(&apart, s->text, s->n);
    if (!apart.failed &&
        (!mt_together(&again, apart.p, apart.n) || again.n != s->n ||
         memcmp(again.p, s->text, s->n) != 0) &&
        !again.failed)
        abort();
    mt_text_done(&again);
    mt_json_words_short(&keys, s->text, s->n);
    if (!keys.failed && mt_json_words_long(&again, keys.p, keys.n) && !again.failed &&
        (again.n != s->n || memcmp(again.p, s->text, s->n) != 0))
        abort();
    mt_text_done(&keys);
    mt_text_done(&apart);
    mt_text_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char plain[] = "{\"schema_version\":1,\"verdict\":{\"kind\":\"peak\",\"device\":0}"
                                ",\"devices\":[{\"device\":0,"
                                "\"focus\":{\"live_bytes\":7},\"roles\":[{\"role\":\"logits\","
                                "\"bytes\":7,\"peak_bytes\":9}]}],"
                                "\"owners\":[{\"device\":0,\"label\":\"a/b.py:3 f\",\"bytes\":7}]}";
    struct mt_source *src = NULL;
    struct mt_err err = {.rc = MT_OK};
    uint64_t held = mt_mem_used();
    struct mt_saved *s = NULL, *other = NULL;
    enum mt_rc rc;
    mt_mem_limit(UINT64_C(256) << 20);
    (void)mt_saved_bid(data, size < 4096 ? size : 4096);
    if (mt_source_mem(&src, data, size) != MT_OK)
        return 0;
    rc = mt_saved_read(&s, src, &err);
    mt_source_free(src);
    if ((rc == MT_OK) != (s != NULL) || (rc < 0 && (err.rc != rc || err.msg[0] == '\0')))
        abort();
    if (s != NULL)
        check_apart(s);
    if (s != NULL && mt_saved_text(&other, plain, sizeof plain - 1, &err) == MT_OK) {
        say(s, other);
        say(other, s);
    }
    mt_saved_free(s);
    mt_saved_free(other);
    if (mt_mem_used() != held)
        abort();
    return 0;
}
