/* The JSON reader on what is damaged, too large, or no snapshot at all. */
#include "tests/unit/json_sample.h"

static const struct layout torch_layout = {", ", ": ", -1, 0};

/* Every prefix: no crash, no leak, nothing that was whole is lost again, always told, and no more
 * work than the whole file. */
static uint64_t truncate_all(const char *s, size_t n)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct result whole = read_with(s, n, (size_t)1 << 20, false, &lim);
    uint64_t most = 0, held, steps = whole.steps;
    int n_warn = 0;
    MT_CHECK_EQ(whole.rc, MT_OK);
    MT_CHECK(steps > 50);
    done(&whole);
    held = mt_mem_used();
    while (n > 0 && (s[n - 1] == '\n' ||
                     s[n - 1] == ' ')) /* without the blanks at its end a text is still whole */
        n--;
    for (size_t cut = 0; cut < n; cut += MT_TEST_STRIDE) {
        struct result r = read_with(s, cut, (size_t)1 << 20, false, &lim);
        MT_CHECK(r.rc == MT_WARN || r.rc == MT_EINPUT);
        if (r.rc == MT_WARN) {
            n_warn++;
            MT_CHECK(r.t->damaged && r.t->sealed && r.t->n_diags > 0);
            MT_CHECK(n_events(r.t) >= most); /* nothing that was whole is lost again */
            most = n_events(r.t);
            MT_CHECK_EQ(r.t->diags.p[0].offset, cut);
            MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "the JSON text ends");
        } else {
            MT_CHECK_EQ(n_warn, 0);
            MT_CHECK(r.err.msg[0] != '\0');
        }
        MT_CHECK(r.steps <= 10 * steps);
        done(&r);
        MT_CHECK_EQ(mt_mem_used(), held);
    }
    MT_CHECK(n_warn > (int)(n / MT_TEST_STRIDE) / 2);
    return most;
}

/* A sample of the project, which is small enough to be read once for each of its bytes. */
static char *sample_file(size_t *n)
{
    unsigned char *p = mt_slurp(MT_SAMPLES "/tiny.json", n);
    return p != NULL && *n <= 16384 ? (char *)p : NULL;
}

MT_TEST(truncated_at_every_byte)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    char *s = make_sample(torch_layout), *file;
    size_t n = strlen(s), n_file = 0;
    MT_CHECK_EQ(truncate_all(s, n), 24);
    file = sample_file(&n_file);
    MT_ASSERT(file != NULL);
    MT_CHECK(truncate_all(file, n_file) > 0);
    free(file);
    {
        size_t at = (size_t)(strstr(s, "\"oom\"") - s);
        struct result r = read_with(s, at, 100, false, &lim);
        MT_ASSERT(r.rc == MT_WARN);
        MT_CHECK_EQ(n_events(r.t), 5);
        MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text),
                     "in the trace of device 1, after 5 whole entries");
        MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text),
                     "not reached, if the file had them: allocator_settings, external_annotations");
        done(&r);
        r = read_with(s, at, 100, true, &lim);
        MT_ASSERT(r.rc == MT_WARN);
        MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "the disk is gone");
        done(&r);
        r = read_with(s, n, 100, true, &lim); /* broken after the last bracket: whole, but said */
        MT_ASSERT(r.rc == MT_WARN);
        MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text),
                     "the disk is gone; the snapshot before it is whole");
        done(&r);
        r = read_with(s, 5, 100, true, &lim);
        MT_CHECK_EQ(r.rc, MT_EIO);
        MT_CHECK_HAS(r.err.msg, "the disk is gone");
        done(&r);
    }
    free(s);
}

static void flip_all(char *s, size_t n)
{
    static const unsigned char flips[] = {0x02, 0x20, 0x81};
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct result whole = read_with(s, n, (size_t)1 << 20, false, &lim);
    uint64_t held, steps = whole.steps;
    int n_ok = 0, n_warn = 0, n_bad = 0;
    MT_CHECK_EQ(whole.rc, MT_OK);
    done(&whole);
    held = mt_mem_used();
    for (size_t i = 0; i < n; i += MT_TEST_STRIDE) {
        for (size_t k = 0; k < sizeof flips; k++) {
            struct result r;
            s[i] = (char)(s[i] ^ flips[k]);
            r = read_with(s, n, (size_t)1 << 20, false, &lim);
            MT_CHECK(r.rc == MT_OK || r.rc == MT_WARN || r.rc == MT_EINPUT);
            MT_CHECK((r.rc == MT_WARN) == (r.t != NULL && r.t->damaged));
            MT_CHECK(r.rc >= 0 || r.err.msg[0] != '\0');
            MT_CHECK(r.steps <= 10 * steps);
            n_ok += r.rc == MT_OK;
            n_warn += r.rc == MT_WARN;
            n_bad += r.rc < 0;
            if (r.t != NULL)
                free(content(r.t)); /* every id must be in range */
            done(&r);
            MT_CHECK_EQ(mt_mem_used(), held);
            s[i] = (char)(s[i] ^ flips[k]);
        }
    }
    printf("# %d flips harmless, %d damaged, %d refused\n", n_ok, n_warn, n_bad);
    MT_CHECK(n_ok > 0 && n_warn > 0 && n_bad > 0);
}

MT_TEST(every_byte_flipped)
{
    char *s = make_sample(torch_layout);
    size_t n = 0;
    flip_all(s, strlen(s));
    free(s);
    s = sample_file(&n);
    MT_ASSERT(s != NULL);
    flip_all(s, n);
    free(s);
}

/* Brackets of the wrong kind make the end of a stack seem far away: looking for it must not be
 * repeated for each of them. */
MT_TEST(ends_that_lie)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    uint64_t steps[2];
    lim.max_depth = 1000000; /* each of them seems to open three brackets more */
    for (int lying = 0; lying < 2; lying++) {
        struct text o = {NULL, 0, 0};
        struct result r;
        put(&o, "{\"segments\": [], \"device_traces\": [[");
        for (int i = 0; i < 4000; i++)
            put(&o,
                "%s{\"action\": \"alloc\", \"addr\": %d, \"size\": 512, \"frames\": [{\"name\": "
                "\"f%d\", \"x\": %s}]}",
                i ? ", " : "", 512 * (i + 1), i, lying ? "[[[[}}}]" : "[[[[]]]]");
        put(&o, "]]}");
        r = read_with(o.p, o.n, (size_t)1 << 20, false, &lim);
        MT_CHECK_EQ(r.rc, MT_OK);
        MT_CHECK(r.t != NULL && n_events(r.t) == 4000);
        steps[lying] = r.steps;
        done(&r);
        free(o.p);
    }
    printf("# %llu steps, lying %llu\n", (unsigned long long)steps[0],
           (unsigned long long)steps[1]);
    MT_CHECK(steps[1] <= 2 * steps[0]);
}

MT_TEST(damage_says_where)
{
    struct result r = read_text(
        "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": 2} {\"x\": 1}]]}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_EQ(n_events(r.t), 1);
    MT_CHECK_EQ(r.t->diags.p[0].offset, 62);
    MT_CHECK_HAS(
        mt_str(r.t, r.t->diags.p[0].text),
        "damaged in the trace of device 0, after 1 whole entries: expected ',' or ']', found \"{");
    done(&r);
    r = read_text("{\"segments\": [], \"device_traces\": [[{\"addr\": 1-2}]]}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "found \"1-2}]]}\"");
    done(&r);
    r = read_text("{\"segments\": [], \"device_traces\": [[{\"frames\": [{\"name\": \"\\q\"}]}]]}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "expected an escape");
    done(&r);
    r = read_text("{\"segments\": [], \"x\": [1, {\"y\": 2], \"device_traces\": []}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_EQ(r.t->diags.p[0].has_offset, true);
    done(&r);
    r = read_text("{\"segments\": [],}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "expected a key");
    done(&r);
}

static void refuses(const char *text, enum mt_rc rc, const char *says)
{
    struct result r = read_text(text);
    MT_CHECK_EQ(r.rc, rc);
    MT_CHECK_HAS(r.err.msg, says);
    done(&r);
}

MT_TEST(other_files_are_named)
{
    refuses("", MT_EINPUT, "empty");
    refuses("{}", MT_EINPUT, "an object without keys");
    refuses("[]", MT_EINPUT, "a list without objects");
    refuses("[1, 2, \"x\", null]", MT_EINPUT, "a list without objects");
    refuses("{\"a\": 1, \"b\": {\"z\": 2}}", MT_EINPUT,
            "JSON, but not a memory snapshot: an object with the keys \"a\", \"b\"; expected");
    refuses("{\"a\": 1, \"b\\u0007\": [2], \"c\": 1, \"d\": 1, \"e\": 1}", MT_EINPUT,
            "\"a\", \"b\\x07\", \"c\", \"d\", ...");
    refuses("[{\"ph\": \"X\", \"ts\": 1}, {\"other\": 1}]", MT_EINPUT,
            "a list whose first object is one with the keys \"ph\", \"ts\"");
    refuses("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\"}]}", MT_EINPUT,
            "a Chrome trace");
    refuses("{\"cells\": [], \"metadata\": {}, \"nbformat\": 4}", MT_EINPUT, "Jupyter notebook");
    refuses("{\"text\": \"hi\", \"segments\": [{\"id\": 0, \"start\": 0.5}]}", MT_EINPUT,
            "\"text\", \"segments\"");
    refuses("{\"a\": ", MT_EINPUT, "ends before");
    refuses("{\"a\" 1}", MT_EINPUT, "expected ':'");
    refuses("hello", MT_EINPUT, "expected '{' or '['");
}

/* Values of the wrong kind are passed over, whatever they hold. */
MT_TEST(wrong_kinds)
{
    struct result r = read_text("{\"segments\": {\"a\": [1]}, \"device_traces\": [null, {\"x\": "
                                "1}, 7, \"s\", [5, [], \"x\", {\"action\": "
                                "\"alloc\", \"addr\": 4096, \"size\": 512, \"frames\": {\"name\": "
                                "1}, \"pool_id\": [\"a\", 5], "
                                "\"stream\": [1]}]], \"allocator_settings\": [1, {\"a\": {}}], "
                                "\"external_annotations\": 3}");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->devices.n, 1);
    MT_CHECK_EQ(r.t->devices.p[0].ordinal, 4);
    MT_CHECK_EQ(mt_event_at(&r.t->devices.p[0], 0)->flags, 0);
    MT_CHECK_EQ(mt_event_at(&r.t->devices.p[0], 0)->stack, 0);
    done(&r);
    r = read_text("{\"device_traces\": [[{\"frames\": [1, {\"name\": \"f\", \"frames\": "
                  "[{\"name\": \"g\"}], \"line\": \"x\"}, [], {}], "
                  "\"action\": \"alloc\", \"size\": 1, \"addr\": 1}]]}");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(n_events(r.t), 1);
    MT_CHECK_STR(
        mt_str(r.t,
               r.t->frames.p[r.t->stacks.p[mt_event_at(&r.t->devices.p[0], 0)->stack].frame].name),
        "f");
    done(&r);
}

MT_TEST(keys_that_come_twice)
{
    struct result r =
        read_text("{\"segments\": [], \"device_traces\": [[{\"size\": 1, \"action\": \"alloc\", "
                  "\"addr\": 2, \"size\": 3}]], "
                  "\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 2, \"size\": 3}]]}");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_EQ(n_events(r.t), 1);
    MT_CHECK_EQ(mt_event_at(&r.t->devices.p[0], 0)->size, 3); /* the last one wins, as in Python */
    MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "\"device_traces\" comes twice");
    done(&r);
}

MT_TEST(after_the_end)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct result r = read_text("{\"device_traces\": []}\n{\"device_traces\": []}\n");
    MT_ASSERT(r.rc == MT_WARN);
    MT_CHECK_EQ(r.t->diags.p[0].offset, 22);
    MT_CHECK_HAS(mt_str(r.t, r.t->diags.p[0].text), "another JSON document");
    done(&r);
    r = read_text("{\"device_traces\": []} -- end");
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->n_diags, 1);
    done(&r);
    r = read_with("{\"device_traces\": []}\0\0\0\n", 25, 3, false, &lim);
    MT_ASSERT(r.rc == MT_OK);
    MT_CHECK_EQ(r.t->n_diags, 0);
    done(&r);
}

static void limited(const char *text, const struct mt_limits *lim, const char *option)
{
    struct result r = read_with(text, strlen(text), (size_t)1 << 20, false, lim);
    MT_CHECK_EQ(r.rc, MT_ELIMIT);
    MT_CHECK_HAS(r.err.msg, option);
    done(&r);
}

MT_TEST(limits_name_their_option)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    size_t n = 1000000;
    char *deep = malloc(n + 200);
    static const char *const prefix[] = {"{\"segments\": [], \"x\": ",
                                         "{\"segments\": [], \"allocator_settings\": ",
                                         "",
                                         "{\"device_traces\": [[{\"frames\": ",
                                         "{\"device_traces\": [[{\"frames\": [{\"x\": ",
                                         "{\"device_traces\": [[{\"frames\": [{\"name\": "};
    MT_ASSERT(deep != NULL);
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++) {
        size_t k = strlen(prefix[i]);
        memcpy(deep, prefix[i], k);
        memset(deep + k, '[', n - k);
        deep[n] = '\0';
        limited(deep, &lim, "--max-depth");
        for (size_t m = k; m + 5 <= n; m += 5) /* a dict and a list in turn */
            memcpy(deep + m, i == 1 ? "{\"a\":" : "{\"\":[", 5);
        deep[n] = '\0';
        if (i != 2 && i != 3)
            limited(deep, &lim, "--max-depth");
    }
    free(deep);
    lim.max_string = 20;
    limited(
        "{\"segments\": [], \"device_traces\": [[{\"user_metadata\": \"123456789012345678901\"}]]}",
        &lim, "--max-string");
    limited("{\"segments\": [], \"device_traces\": [[{\"frames\": [{\"name\": "
            "\"123456789012345678901\"}]}]]}",
            &lim, "--max-string");
    limited("{\"segments\": [], \"device_traces\": [[{\"size\": 123456789012345678901234567890}]]}",
            &lim, "--max-string");
    lim.max_string = 1 << 20;
    lim.max_frames = 2;
    limited("{\"device_traces\": [[{\"frames\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": "
            "\"a\"}]}]]}",
            &lim, "--max-frames");
    lim.max_events = 1;
    limited("{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": 1}, {\"action\": "
            "\"alloc\", \"addr\": 1, "
            "\"size\": 1}]]}",
            &lim, "--max-events");
}

MT_TEST(every_allocation_can_fail)
{
    const struct mt_limits lim = MT_LIMITS_DEFAULT;
    char *s = make_sample(torch_layout);
    uint64_t used = mt_mem_used(), n = 0;
    for (;;) {
        struct result r;
        mt_mem_fail_after(++n);
        r = read_with(s, strlen(s), 1000, false, &lim);
        mt_mem_fail_after(0);
        if (r.rc == MT_OK) {
            done(&r);
            break;
        }
        MT_CHECK_EQ(r.rc, MT_ENOMEM);
        done(&r);
        MT_CHECK_EQ(mt_mem_used(), used);
        MT_ASSERT(n < 5000);
    }
    printf("# %llu allocations\n", (unsigned long long)n - 1);
    MT_CHECK(n > 20);
    MT_CHECK_EQ(mt_mem_used(), used);
    free(s);
}

MT_MAIN(MT_RUN(truncated_at_every_byte) MT_RUN(every_byte_flipped) MT_RUN(ends_that_lie)
            MT_RUN(damage_says_where) MT_RUN(other_files_are_named) MT_RUN(wrong_kinds)
                MT_RUN(keys_that_come_twice) MT_RUN(after_the_end) MT_RUN(limits_name_their_option)
                    MT_RUN(every_allocation_can_fail))
