#include "parser/saved/saved.h"

#include "parser/base/apart.h"
#include "parser/base/json_text.h"
#include "parser/base/json_words.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"
#include "parser/saved/bounds.h"
#include "parser/saved/summary.h"
#include "parser/saved/value.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Behind blanks the word, or NULL. */
static const unsigned char *skip(const unsigned char *p, const unsigned char *end, const char *word)
{
    size_t len = strlen(word);
    while (p != NULL && p < end && (*p == ' ' || (*p >= 9 && *p <= 13)))
        p++;
    return p != NULL && (size_t)(end - p) >= len && memcmp(p, word, len) == 0 ? p + len : NULL;
}

/* Other files of memtrace's begin with their schema_version too; a report goes on with its verdict,
 * a summary says first that it is one. What a page has begins as nothing else does. */
bool mt_saved_bid(const unsigned char *p, size_t n)
{
    const unsigned char *end = p + n;
    if (n >= 2 && p[0] == MT_APART && p[1] == '{')
        return true;
    p = skip(skip(skip(p, end, "{"), end, "\"schema_version\""), end, ":");
    while (p != NULL && p < end && (*p == ' ' || *p == '-' || (*p >= '0' && *p <= '9')))
        p++;
    p = skip(p, end, ",");
    return skip(p, end, "\"verdict\"") != NULL || skip(p, end, "\"summary\"") != NULL;
}

static enum mt_rc too_large(struct mt_err *err)
{
    return mt_fail(err, MT_ELIMIT,
                   "a report of memtrace of more than %llu MiB is not read: make it anew of one "
                   "GPU, with --device",
                   (unsigned long long)(MT_SAVED_MOST >> 20));
}

/* As a page has it: its numbers go where they belong, its keys are written out. */
static enum mt_rc whole(struct mt_text *t, struct mt_err *err)
{
    struct mt_text keys = {0}, all = {.max = MT_SAVED_MOST + 1};
    bool fits;
    if (t->n == 0 || t->p[0] != MT_APART)
        return MT_OK;
    fits =
        mt_together(&keys, t->p, t->n) && !keys.failed && mt_json_words_long(&all, keys.p, keys.n);
    mt_text_done(t);
    mt_text_done(&keys);
    if (fits && all.n != 0 && !all.failed && !all.cut) {
        *t = all;
        t->max = 0;
        return MT_OK;
    }
    mt_text_done(&all);
    if (keys.failed || all.failed)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (all.cut)
        return too_large(err);
    return mt_fail(err, MT_EINPUT,
                   "this report of memtrace is damaged, its numbers or keys are not those of its "
                   "text, or a newer memtrace wrote it: copy the file again, or name the snapshot "
                   "that it was made from");
}

static enum mt_rc take(struct mt_saved **out, struct mt_text *t, struct mt_err *err)
{
    struct mt_saved *s;
    struct mt_err why;
    uint64_t version = 0, summary = MT_SUMMARY_VERSION;
    bool is_summary;
    enum mt_rc rc = whole(t, err);
    if (rc != MT_OK)
        return rc;
    memset(&why, 0, sizeof why);
    s = mt_calloc(1, sizeof *s);
    if (s == NULL) {
        mt_text_done(t);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    s->text = t->p;
    s->n = t->n;
    rc = mt_saved_bounds(s->text, s->n, err);
    if (rc != MT_OK) {
        mt_saved_free(s);
        return rc;
    }
    rc = mt_json_text(&s->root, s->text, s->n, NULL, &why);
    if (rc == MT_EINPUT)
        rc = mt_fail_at(err, rc, why.offset,
                        "this report of memtrace is damaged, at %s: copy the file again, or name "
                        "the snapshot that it was made from",
                        why.msg);
    else if (rc != MT_OK)
        rc = mt_fail(err, rc, "out of memory");
    else if (!mt_value_number(s->root, "schema_version", &version) ||
             mt_value_in(s->root, "verdict") == NULL || mt_value_in(s->root, "devices") == NULL)
        rc = mt_fail(err, MT_EINPUT,
                     "this begins as a report of memtrace does, and is none: a verdict and devices "
                     "are not in it");
    else if (version != MT_SAVED_SCHEMA)
        rc = mt_fail(err, MT_EINPUT,
                     "this report of memtrace has the schema_version %llu, and this memtrace reads "
                     "%d: the memtrace that wrote it, or a newer one, reads it",
                     (unsigned long long)version, (int)MT_SAVED_SCHEMA);
    is_summary = rc == MT_OK && mt_saved_is_summary(s);
    if (is_summary && (!mt_value_number(mt_value_in(s->root, "summary"), "version", &summary) ||
                       summary != MT_SUMMARY_VERSION))
        rc = mt_fail(err, MT_EINPUT,
                     "this summary of memtrace has the version %llu, and this memtrace reads %d: "
                     "make it again of the snapshot with this memtrace, or read it with the one "
                     "that wrote it",
                     (unsigned long long)summary, (int)MT_SUMMARY_VERSION);
    if (rc == MT_OK)
        *out = s;
    else
        mt_saved_free(s);
    return rc;
}

enum mt_rc mt_saved_read(struct mt_saved **out, struct mt_source *src, struct mt_err *err)
{
    struct mt_text t = {0};
    *out = NULL;
    mt_text_add(&t, "", 0); /* a text of no bytes is one too */
    while (mt_source_need(src, 1) > 0 && !t.failed && t.n <= MT_SAVED_MOST) {
        mt_text_add(&t, (const char *)src->cur, (size_t)(src->end - src->cur));
        src->cur = src->end;
    }
    if (t.failed || t.n > MT_SAVED_MOST || src->status != MT_OK) {
        bool failed = t.failed;
        mt_text_done(&t);
        if (failed)
            return mt_fail(err, MT_ENOMEM, "out of memory");
        if (src->status == MT_OK)
            return too_large(err);
        if (err != NULL)
            *err = src->err;
        return src->status;
    }
    return take(out, &t, err);
}

enum mt_rc mt_saved_text(struct mt_saved **out, const char *text, size_t n, struct mt_err *err)
{
    struct mt_text t = {0};
    *out = NULL;
    mt_text_add(&t, text, n);
    if (!t.failed)
        return take(out, &t, err);
    mt_text_done(&t);
    return mt_fail(err, MT_ENOMEM, "out of memory");
}

void mt_saved_free(struct mt_saved *s)
{
    if (s == NULL)
        return;
    cJSON_Delete(s->root);
    mt_free(s->text);
    mt_free(s);
}
