/* json/reader.c -- torch.cuda.memory._snapshot() written by json.dump(): the vtable, and what is
 * said about damage and other files. */
#include "parser/json/walk.h"
#include "parser/model/reader.h"

#include <stdio.h>
#include <string.h>

static size_t skip_space(const unsigned char *s, size_t i, size_t n)
{
    while (i < n && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
        i++;
    return i;
}

static size_t bom(const unsigned char *s, size_t n)
{
    return n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* 1 when s[i..n) can follow '[' in JSON; a log line such as "[2024-01-01 12:00]" cannot. */
static int list_goes_on(const unsigned char *s, size_t i, size_t n)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    if (i == n || s[i] == '{' || s[i] == '[' || s[i] == ']' || s[i] == '"')
        return 1;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t len = strlen(words[k]), have = n - i < len ? n - i : len;
        if (memcmp(s + i, words[k], have) == 0) {
            i = skip_space(s, i + have, n);
            return i == n || s[i] == ',' || s[i] == ']';
        }
    }
    if (s[i] != '-' && s[i] - (unsigned)'0' > 9)
        return 0;
    for (i++; i < n && (s[i] - (unsigned)'0' < 10 || memchr(".eE+-", s[i], 5) != NULL); i++)
        ;
    i = skip_space(s, i, n);
    return i == n || s[i] == ',' || s[i] == ']';
}

static int probe(const unsigned char *head, size_t n)
{
    size_t i = skip_space(head, bom(head, n), n);
    unsigned char first;
    if (i == n)
        return 0;
    first = head[i];
    i = skip_space(head, i + 1, n);
    if (first == '{')
        return i == n ? 20 : head[i] == '"' || head[i] == '}' ? 90 : 0;
    if (first == '[' && list_goes_on(head, i, n))
        return i < n && (head[i] == '{' || head[i] == ']') ? 80 : 30;
    return 0;
}

/* "in the trace of device 0, after 1234 whole entries": the innermost place a reader of the message
 * can find again. */
static void where(const struct mt_json_walk *w, char *buf, size_t cap)
{
    for (uint32_t i = w->lv.n; i-- > 0;) {
        const struct mt_json_level *l = &w->lv.p[i];
        unsigned long long n = l->n;
        switch ((enum mt_schema_role)l->role) {
        case MT_R_TRACE:
            snprintf(buf, cap, "in the trace of device %u, after %llu whole entries",
                     (unsigned)w->ordinal, n);
            return;
        case MT_R_SEGMENTS: snprintf(buf, cap, "in the segments, after %llu whole ones", n); return;
        case MT_R_ANNOTATIONS:
        case MT_R_HOST_SEGMENTS:
        case MT_R_HOST_TRACES:
            snprintf(buf, cap, "in %s, after %llu whole entries",
                     mt_role_name((enum mt_schema_role)l->role), n);
            return;
        case MT_R_TRACES:
            snprintf(buf, cap, "in device_traces, after the traces of %llu devices", n);
            return;
        case MT_R_SETTINGS: snprintf(buf, cap, "in allocator_settings"); return;
        case MT_R_SKIP:
        case MT_R_TOP:
        case MT_R_SEGMENT:
        case MT_R_BLOCKS:
        case MT_R_BLOCK:
        case MT_R_HISTORY:
        case MT_R_HIST:
        case MT_R_EVENT:
        case MT_R_FRAMES:
        case MT_R_FRAME:
        case MT_R_ANNOTATION:
        case MT_R_POOL:
        case MT_R_HOST_SEGMENT:
        case MT_R_TEXT:
        case MT_R_RING: break;
        }
    }
    snprintf(buf, cap, "between the parts of the snapshot");
}

/* Which parts of a snapshot did not come before the damage. */
static void not_reached(const struct mt_json_walk *w, char *buf, size_t cap)
{
    static const enum mt_key parts[] = {MT_K_SEGMENTS, MT_K_DEVICE_TRACES, MT_K_ALLOCATOR_SETTINGS,
                                        MT_K_EXTERNAL_ANNOTATIONS};
    size_t at = 0;
    buf[0] = '\0';
    if (w->saw_bare_list)
        return;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        int n;
        if (w->top_keys >> parts[i] & 1)
            continue;
        n = snprintf(buf + at, cap - at, "%s%s",
                     at ? ", " : "; not reached, if the file had them: ", mt_key_name(parts[i]));
        at += n > 0 && (size_t)n < cap - at ? (size_t)n : 0;
    }
}

static void say_damage(const struct mt_json_walk *w)
{
    const struct mt_json *j = &w->j;
    const struct mt_source *src = j->src;
    char place[160], rest[160];
    bool broken = j->fail == MT_JF_END && src->status != MT_OK;
    where(w, place, sizeof place);
    not_reached(w, rest, sizeof rest);
    if (broken)
        mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "%s; this is %s: everything after it is missing%s", src->err.msg, place,
                      rest);
    else if (j->fail == MT_JF_END)
        mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "the JSON text ends %s: everything after it is missing%s", place, rest);
    else
        mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, j->why.offset,
                      "the JSON text is damaged %s: %s; everything after it was left out%s", place,
                      j->why.msg, rest);
}

static enum mt_rc say_what_it_is(const struct mt_json_walk *w, struct mt_err *err)
{
    static const char want[] =
        "expected \"segments\" or \"device_traces\" as torch.cuda.memory._snapshot() has them";
    const struct mt_json *j = &w->j;
    const struct mt_source *src = j->src;
    char keys[256] = "an object without keys";
    if (w->is_chrome_trace)
        return mt_fail(
            err, MT_EINPUT,
            "a Chrome trace (\"traceEvents\") that does not begin as torch.profiler's do, "
            "so it was not read as one: export it again with export_chrome_trace(), or "
            "put \"traceEvents\" into the first 4 KiB");
    if (j->fail == MT_JF_END && src->status != MT_OK)
        return mt_fail_at(err, src->status, mt_json_offset(j),
                          "%s; nothing of a memory snapshot came before", src->err.msg);
    if (j->fail == MT_JF_END)
        return mt_fail_at(err, MT_EINPUT, mt_json_offset(j), "%s: %s",
                          mt_json_offset(j) == 0
                              ? "the input is empty"
                              : "JSON that ends before anything of a memory snapshot",
                          want);
    if (j->fail == MT_JF_BAD)
        return mt_fail_at(err, MT_EINPUT, j->why.offset,
                          "not JSON, or damaged before anything of a memory snapshot: %s",
                          j->why.msg);
    if (w->is_notebook)
        return mt_fail(err, MT_EINPUT, "a Jupyter notebook, not a memory snapshot: %s", want);
    if (w->n_first_keys > 0)
        snprintf(keys, sizeof keys, "%s with the keys %s%s",
                 w->saw_bare_list ? "a list whose first object is one" : "an object", w->first_keys,
                 w->n_first_keys > 4 ? ", ..." : "");
    else if (w->saw_bare_list)
        snprintf(keys, sizeof keys, "a list without objects");
    return mt_fail(err, MT_EINPUT, "JSON, but not a memory snapshot: %s; %s", keys, want);
}

/* After the document: white space is fine, another document is not read, and a broken stream is
 * said. */
static void trailing(struct mt_json_walk *w)
{
    struct mt_json *j = &w->j;
    const struct mt_source *src = j->src;
    int c = mt_json_space(j);
    while (c == 0) { /* padding */
        j->p++;
        c = mt_json_space(j);
    }
    if (c == '{' || c == '[')
        mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "another JSON document follows the first; only the first was read (give each "
                      "its own file)");
    else if (c >= 0)
        mt_trace_diag(w->t, MT_DIAG_NOTE, true, mt_json_offset(j),
                      "bytes after the end of the snapshot were ignored");
    else if (src->status != MT_OK)
        mt_trace_diag(w->t, MT_DIAG_DAMAGE, true, mt_json_offset(j),
                      "%s; the snapshot before it is whole", src->err.msg);
}

enum mt_rc mt_json_read_steps(struct mt_source *src, const struct mt_limits *lim,
                              struct mt_trace *t, struct mt_err *err, uint64_t *steps)
{
    struct mt_json_walk *w = mt_malloc(sizeof *w);
    enum mt_rc rc;
    if (w == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    t->meta.format = MT_FMT_JSON;
    mt_source_need(src, 3);
    src->cur += bom(src->cur, (size_t)(src->end - src->cur));
    if (!mt_json_walk_init(w, src, lim, t)) {
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
        goto out;
    }
    if (mt_json_walk(w)) {
        if (mt_build_is_snapshot(w->b))
            trailing(w);
    } else if (w->j.fail == MT_JF_STOP) {
        rc = w->j.why.rc;
        if (err != NULL)
            *err = w->j.why;
        goto out;
    }
    t->meta.bytes = mt_json_offset(&w->j);
    if (!mt_build_is_snapshot(w->b)) {
        rc = say_what_it_is(w, err);
        goto out;
    }
    if (w->j.fail != MT_JF_NONE)
        say_damage(w);
    if (!mt_build_finish(w->b)) {
        const struct mt_err *e = mt_builder_err(w->b);
        rc = mt_fail(err, e->rc, "%s", e->msg);
        goto out;
    }
    rc = t->damaged ? MT_WARN : MT_OK;
out:
    if (steps != NULL)
        *steps = w->j.steps;
    mt_json_walk_done(w);
    mt_free(w);
    return rc;
}

static enum mt_rc read(struct mt_source *src, const struct mt_limits *lim, struct mt_trace *t,
                       struct mt_err *err)
{
    return mt_json_read_steps(src, lim, t, err, NULL);
}

const struct mt_reader mt_reader_json = {
    .name = "json",
    .desc = "PyTorch memory snapshot in JSON: json.dump(torch.cuda.memory._snapshot())",
    .probe = probe,
    .read = read,
};
