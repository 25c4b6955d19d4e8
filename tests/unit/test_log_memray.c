/* What `memray stats --json` says, a key a line and all in one. */
#include "mt_test.h"
#include "parser/log/log.h"

static struct mt_log l;

static const char text[] =
    "{\n  \"total_num_allocations\": 5123,\n  \"total_bytes_allocated\": 987654321,\n"
    "  \"allocation_size_histogram\": [\n    {\n      \"min_bytes\": 0,\n      \"max_bytes\": 36,\n"
    "      \"count\": 12\n    }\n  ],\n"
    "  \"allocator_type_distribution\": {\n    \"MALLOC\": 5000,\n    \"MMAP\": 123\n  },\n"
    "  \"top_allocations_by_size\": [\n"
    "    {\n      \"location\": \"init:/job/megatron/actor.py:92\",\n      \"size\": 600000000\n   "
    " },\n"
    "    {\n      \"location\": \"<stack trace unavailable>\",\n      \"size\": 4096\n    }\n  ],\n"
    "  \"top_allocations_by_count\": [\n"
    "    {\n      \"location\": \"fetch:/job/tokens.py:18\",\n      \"count\": 600\n    }\n  ],\n"
    "  \"metadata\": {\n    \"start_time\": \"2026-01-02 03:00:00.123000+00:00\",\n"
    "    \"total_allocations\": 10246,\n    \"total_frames\": 300,\n"
    "    \"peak_memory\": 912345678,\n    \"command_line\": \"memray run \\\"x y\\\".py\",\n"
    "    \"pid\": 4711,\n    \"python_allocator\": \"pymalloc\"\n  }\n}\n";

static void read_text(const char *s)
{
    struct mt_source *src = NULL;
    struct mt_err err;
    memset(&err, 0, sizeof err);
    memset(&l, 0, sizeof l);
    MT_CHECK_EQ(mt_source_mem(&src, s, strlen(s)), MT_OK);
    MT_CHECK_EQ(mt_log_read(&l, src, NULL, NULL, &err), MT_OK);
    mt_source_free(src);
}

static void check(uint64_t line_of_head)
{
    MT_ASSERT(l.facts.n == 3);
    MT_CHECK_EQ(l.facts.p[0].kind, MT_LOG_HEAP);
    MT_CHECK_EQ(l.facts.p[0].line, line_of_head);
    MT_CHECK_EQ(l.facts.p[0].value[0], 912345678);
    MT_CHECK_EQ(l.facts.p[0].value[1], 987654321);
    MT_CHECK_EQ(l.facts.p[0].value[2], 5123);
    MT_CHECK_EQ(l.facts.p[0].pid, 4711);
    MT_CHECK_EQ(l.facts.p[1].kind, MT_LOG_HEAP_PLACE);
    MT_CHECK_STR(l.facts.p[1].text, "megatron/actor.py:92 init");
    MT_CHECK_EQ(l.facts.p[1].value[0], 600000000);
    MT_CHECK_STR(l.facts.p[2].text, "<stack trace unavailable>");
    MT_CHECK_EQ(l.facts.p[2].value[0], 4096);
    mt_log_done(&l);
}

MT_TEST(a_key_a_line)
{
    read_text(text);
    check(2);
}

MT_TEST(in_one_line)
{
    char one[sizeof text];
    size_t n = 0;
    for (const char *p = text; *p != '\0'; p++)
        if (*p != '\n')
            one[n++] = *p;
    one[n] = '\0';
    read_text(one);
    check(1);
}

/* Keys of other objects are nobody's. */
MT_TEST(not_of_memray)
{
    read_text("{\"peak_memory\": 5, \"pid\": 3, \"location\": \"a:b:3\", \"size\": 7}\n");
    MT_CHECK_EQ(l.facts.n, 0);
    mt_log_done(&l);
}

/* Cut anywhere: what was read stays, and no value is another's. */
MT_TEST(cut)
{
    char part[sizeof text];
    for (size_t n = 0; n < sizeof text; n++) {
        memcpy(part, text, n);
        part[n] = '\0';
        read_text(part);
        MT_CHECK(l.facts.n <= 4);
        for (uint32_t i = 1; i < l.facts.n; i++)
            MT_CHECK_EQ(l.facts.p[i].kind, MT_LOG_HEAP_PLACE);
        mt_log_done(&l);
    }
}

MT_MAIN(MT_RUN(a_key_a_line) MT_RUN(in_one_line) MT_RUN(not_of_memray) MT_RUN(cut))
