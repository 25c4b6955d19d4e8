/* The straight line through trace entries (pickle/fast.c, pickle/stacks.c) against the machine that
 * looks at one opcode at a time: fed byte by byte the reader never takes the straight line, so both
 * must say the same of any stream. */
#include "tests/unit/mt_test.h"
#include "tests/unit/pickle_compare.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

static void store(struct bytes *b, uint32_t at)
{
    unsigned char s[5] = {'r', (unsigned char)at, (unsigned char)(at >> 8), 0, 0};
    if (at < 256) {
        s[0] = 'q';
        put(b, s, 2);
    } else {
        put(b, s, 5);
    }
}

static void get(struct bytes *b, uint32_t at)
{
    unsigned char s[5] = {'j', (unsigned char)at, (unsigned char)(at >> 8), 0, 0};
    if (at < 256) {
        s[0] = 'h';
        put(b, s, 2);
    } else {
        put(b, s, 5);
    }
}

/* Numbers of keys, and of frames: bytes in them look like the end of a list, a get, the end of a
 * dict. */
static const char *const keys[] = {"action",        "addr",   "size",    "stream", "time_us",
                                   "user_metadata", "frames", "pool_id", "odd"};
enum { N_KEYS = sizeof keys / sizeof *keys, KEY0 = 60000, ALLOC = 61000, FREED, OWN = 62000 };
static const uint32_t frames[] = {0x65,   0x68,   0x6a,   0x75,   0x7d, 0x6865, 0x6565,
                                  0x7565, 0x656a, 0x0165, 0x2865, 300,  301,    302};
enum { N_FRAMES = sizeof frames / sizeof *frames };

static void list(struct bytes *b, uint32_t which)
{
    uint32_t n = 1 + which * 7 % 23;
    P(b, "]");
    if (which % 3 == 0)
        store(b, OWN + 100 + which);
    P(b, "(");
    for (uint32_t i = 0; i < n; i++)
        get(b, frames[(which * 31 + i * (1 + which % 5)) % N_FRAMES]);
    P(b, "e");
}

static void value(struct bytes *b, uint32_t key, uint32_t own, bool wild)
{
    switch (key) {
    case 0: get(b, below(2) != 0 ? (uint32_t)ALLOC : (uint32_t)FREED); break;
    case 5:
        if (wild && below(4) == 0) {
            text(b, "x");
            store(b, frames[below(N_FRAMES)]); /* a number that stood for a frame */
        } else if (wild && own != 0 && below(12) == 0) {
            get(b, own); /* the entry itself, or one before it */
        } else {
            text(b, "m");
        }
        break;
    case 6:
        if (wild && below(16) == 0) { /* a number stands for another frame from here on */
            P(b, "](");
            frame(b, "later", "l.py", (int)below(9));
            store(b, frames[below(N_FRAMES)]);
            P(b, "e");
        } else {
            list(b, below(6));
        }
        break;
    case 7: P(b, "K\0K\1\x86"); break;
    default: num(b, (int32_t)below(1u << 20) * 512);
    }
}

static void pairs(struct bytes *b, uint32_t own, bool wild)
{
    uint32_t from = wild ? below(3) : 0, n = wild && below(5) == 0 ? below(N_KEYS) : N_KEYS - 2;
    P(b, "(");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = (i + from) % N_KEYS;
        get(b, KEY0 + key);
        value(b, key, own, wild);
    }
    if (wild && below(200) == 0)
        get(b, KEY0); /* half a pair */
    P(b, "u");
}

static void entry(struct bytes *b, uint32_t i, bool wild)
{
    /* its number, or that of the one before */
    uint32_t own = i != 0 ? OWN + 200 + (i - 1 + i % 2) % 50 : 0;
    P(b, "}");
    if (i % 2 != 0)
        store(b, own);
    else if (wild && i % 7 == 0)
        P(b, "\x94");
    pairs(b, own, wild);
    if (wild && below(9) == 0)
        pairs(b, own, wild);
    if (wild && below(20) == 0)
        P(b, "\x95\0\0\0\0\0\0\0\0");
    if (wild && below(60) == 0)
        P(b, "e("); /* another batch */
}

/* Everything is defined in the first entry. */
static void stream(struct bytes *b, uint32_t n, bool wild)
{
    trace_open(b);
    P(b, "}(");
    for (uint32_t k = 0; k < N_KEYS; k++) {
        text(b, keys[k]);
        store(b, KEY0 + k);
        if (k == 0) {
            text(b, "alloc");
            store(b, ALLOC);
        } else if (k == 6) {
            P(b, "](");
            for (uint32_t i = 0; i < N_FRAMES; i++) {
                char name[16];
                (void)snprintf(name, sizeof name, "f%u", i);
                frame(b, name, "f.py", (int)i + 1);
                store(b, frames[i]);
            }
            P(b, "e");
        } else if (k == 5) {
            text(b, "free_completed");
            store(b, FREED);
        } else {
            num(b, 512);
        }
    }
    P(b, "u");
    for (uint32_t i = 0; i < n; i++)
        entry(b, i, wild);
    trace_close(b);
}

MT_TEST(regular_entries)
{
    struct bytes b = {NULL, 0, 0};
    struct result r;
    state = 7;
    stream(&b, 400, false);
    compare(&b, b.n);
    r = read_bytes(&b);
    MT_CHECK(r.t != NULL && r.t->devices.n == 1 && r.t->devices.p[0].events.n == 401 &&
             r.t->n_distinct_stacks == 7);
    mt_trace_free(r.t);
}

MT_TEST(every_cut)
{
    struct bytes b = {NULL, 0, 0};
    state = 8;
    stream(&b, 12, false);
    for (size_t n = 0; n < b.n; n++)
        compare(&b, n);
    free(b.p);
}

MT_TEST(wild_entries)
{
    uint32_t n_read = 0;
    for (uint32_t seed = 1; seed <= 400; seed++) {
        struct bytes b = {NULL, 0, 0};
        struct result r;
        state = seed * UINT64_C(0x9e3779b97f4a7c15);
        stream(&b, 1 + below(60), true);
        compare(&b, b.n);
        for (int cut = 0; cut < 4; cut++)
            compare(&b, below((uint32_t)b.n));
        r = read_bytes(&b);
        n_read += r.t != NULL && r.rc == MT_OK;
        mt_trace_free(r.t);
    }
    MT_CHECK(n_read > 20); /* not all end in an error */
}

/* PyTorch writes compile_context as a new text in every event: every length, both opcodes, stored
 * by either pickler or not at all, twice in a row and changed. */
MT_TEST(texts_written_out)
{
    struct bytes b = {NULL, 0, 0};
    state = 10;
    stream(&b, 0, false);
    b.n -= 4; /* "eeu." */
    for (uint32_t i = 0; i < 41 * 2 * 3 * 3; i++) {
        unsigned char n = (unsigned char)(i / 18 % 41), same = (unsigned char)(i % 3 == 2);
        const unsigned char short_head[2] = {0x8c, n}, long_head[5] = {'X', n, 0, 0, 0};
        P(&b, "}\x94(");
        get(&b, KEY0 + 1);
        num(&b, (int32_t)i * 512);
        get(&b, KEY0 + 5);
        if (i / 3 % 2 == 0)
            put(&b, short_head, sizeof short_head);
        else
            put(&b, long_head, sizeof long_head);
        for (unsigned char k = 0; k < n; k++)
            put(&b, &(char){(char)('a' + (k + same) % 26)}, 1);
        if (i / 6 % 3 == 0)
            P(&b, "\x94");
        else if (i / 6 % 3 == 1)
            store(&b, OWN + 300 + i);
        get(&b, KEY0);
        get(&b, ALLOC);
        P(&b, "u");
    }
    P(&b, "eeu.");
    compare(&b, b.n);
    for (size_t n = b.n - 400; n < b.n; n++)
        compare(&b, n);
    free(b.p);
}

/* The same text once more is taken without a look at its letters, and has a number all the same. */
MT_TEST(texts_have_numbers)
{
    struct bytes b = {NULL, 0, 0};
    struct result r;
    uint32_t next = N_KEYS + 2 + N_FRAMES; /* number of what is stored next */
    state = 11;
    stream(&b, 0, false);
    b.n -= 4; /* "eeu." */
    for (uint32_t i = 0; i < 20; i++) {
        P(&b, "}\x94(");
        get(&b, KEY0 + 1);
        num(&b, (int32_t)i * 512);
        get(&b, KEY0 + 5);
        text(&b, i < 10 ? "N/A" : "abcd");
        P(&b, "\x94");
        get(&b, KEY0);
        get(&b, ALLOC);
        P(&b, "u}\x94(");
        get(&b, KEY0 + 5);
        get(&b, next + 1);
        P(&b, "u");
        next += 3;
    }
    P(&b, "eeu.");
    compare(&b, b.n);
    r = read_bytes(&b);
    /* "N/A" is none, and the first entry has one */
    MT_CHECK_EQ(r.t != NULL ? r.t->notes.n : 0, 21);
    mt_trace_free(r.t);
    free(b.p);
}

/* A number as CPython writes it: the fewest bytes. */
static void least(struct bytes *b, int64_t v)
{
    unsigned char s[10] = {0x8a, 1};
    unsigned n = 1;
    if (v >= 0 && v < 256) {
        s[0] = 'K';
        s[1] = (unsigned char)v;
        put(b, s, 2);
    } else if (v >= 0 && v < 65536) {
        s[0] = 'M';
        s[1] = (unsigned char)v;
        s[2] = (unsigned char)(v >> 8);
        put(b, s, 3);
    } else if (v == (int32_t)v) {
        num(b, (int32_t)v);
    } else {
        while (n < 8 && v >> (8 * n - 1) != 0 && v >> (8 * n - 1) != -1)
            n++;
        s[1] = (unsigned char)n;
        for (unsigned i = 0; i < n; i++)
            s[2 + i] = (unsigned char)((uint64_t)v >> 8 * i);
        put(b, s, 2 + n);
    }
}

/* Numbers as CPython gives them, one after the other: keys, two actions, frames. */
enum { KEPT_ALLOC = N_KEYS, KEPT_FREED, KEPT_FRAMES, KEPT = 0x80 };

static void kept_open(struct bytes *b)
{
    trace_open(b);
    P(b, "}(");
    for (uint32_t k = 0; k < N_KEYS; k++) {
        text(b, keys[k]);
        P(b, "\x94K\1");
    }
    for (uint32_t k = KEPT_ALLOC; k < KEPT_FRAMES; k++) {
        get(b, 0);
        text(b, k == KEPT_ALLOC ? "alloc" : "free_completed");
        P(b, "\x94");
    }
    get(b, 6);
    P(b, "](");
    for (uint32_t i = KEPT_FRAMES; i < KEPT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%u", i);
        frame(b, name, "f.py", (int)i);
        P(b, "\x94");
    }
    P(b, "eu");
}

/* An entry as CPython writes it, in one of `n` kinds; *next: the number of what it stores next. */
static void kept_entry(struct bytes *b, uint32_t kind, uint32_t *next)
{
    /* numbers that look like the end of a list, a get, the end of a dict, and others */
    static const uint32_t of[] = {0x65, 0x68, 0x6a, 0x75, 0x7d, 12, 13, 14, 15, 16, 17};
    static const int64_t sizes[] = {0,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    512 << 20,
                                    INT64_C(5) << 30,
                                    -1,
                                    INT64_C(1) << 55,
                                    INT64_C(1) << 60,
                                    INT64_MIN};
    const bool has_text = kind % 2 == 0, is_stored = kind % 3 != 0;
    P(b, "}\x94(");
    *next += 1;
    get(b, 0);
    get(b, kind % 4 < 2 ? (uint32_t)KEPT_ALLOC : (uint32_t)KEPT_FREED);
    get(b, 1);
    least(b, (INT64_C(0x7f) << 40) + below(1u << 30));
    get(b, 2);
    least(b, sizes[below(below(3) != 0 ? 6 : 11)]);
    get(b, 3);
    least(b, kind / 4 % 2 != 0 ? INT64_C(0x55) << 40 : 0);
    if (kind % 5 != 4) {
        get(b, 4);
        least(b, INT64_C(1764000000000000) + below(1u << 30));
    }
    if (has_text) {
        get(b, 5);
        text(b, kind % 6 == 4 ? "x" : "");
        P(b, "\x94");
        *next += 1;
    }
    if (below(40) == 0) { /* one of those before: an entry, a text or a list */
        get(b, 5);
        get(b, *next - 3 - below(6));
    }
    if (below(30) == 0) {
        get(b, 6);
        get(b, *next - 3 - below(6));
        P(b, "u");
        return;
    }
    get(b, 6);
    put(b, is_stored ? "]\x94(" : "](", is_stored ? 3 : 2);
    *next += is_stored;
    for (uint32_t which = below(below(10) == 0 ? 300 : 8), i = 0; i < 1 + which % 9; i++)
        get(b, of[(which * 31 + i * (1 + which % 3)) % (sizeof of / sizeof *of)]);
    P(b, "eu");
    if (below(50) == 0)
        P(b, "e("); /* another batch */
}

/* Entries of a few kinds, taken by their kind: with numbers of every width, those that no device
 * has, stores that are counted on, and another kind in between. */
MT_TEST(kinds_of_entries)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct bytes b = {NULL, 0, 0};
        uint32_t next = KEPT, kinds = 1 + seed % 14;
        state = seed * UINT64_C(0x9e3779b97f4a7c15);
        kept_open(&b);
        for (uint32_t i = 0; i < 300; i++)
            kept_entry(&b, below(kinds), &next);
        if (seed % 3 == 0) { /* a number gets another meaning */
            P(&b, "}\x94(");
            next++;
            get(&b, 5);
            text(&b, "free_requested");
            store(&b, seed % 2 == 0 ? (uint32_t)KEPT_ALLOC : 0x65);
            P(&b, "u");
            for (uint32_t i = 0; i < 100; i++)
                kept_entry(&b, below(kinds), &next);
        }
        P(&b, "eeu.");
        compare(&b, b.n);
        for (uint32_t i = 0; i < 40; i++)
            compare(&b, b.n - 1 - below(seed == 1 ? (uint32_t)b.n - 1 : 3000));
        free(b.p);
    }
}

/* A number that gets another meaning: the same bytes are another stack. */
MT_TEST(a_list_whose_numbers_changed)
{
    struct bytes b = {NULL, 0, 0};
    struct result r;
    state = 9;
    stream(&b, 0, false);
    b.n -= 4; /* "eeu." */
    for (int i = 0; i < 3; i++) {
        P(&b, "}(");
        get(&b, KEY0 + 6);
        list(&b, 2);
        P(&b, "u");
    }
    P(&b, "}(");
    get(&b, KEY0 + 6);
    P(&b, "](");
    for (uint32_t i = 0; i < N_FRAMES; i++) {
        frame(&b, "other", "o.py", (int)i + 1);
        store(&b, frames[i]);
    }
    P(&b, "eu");
    for (int i = 0; i < 3; i++) {
        P(&b, "}(");
        get(&b, KEY0 + 6);
        list(&b, 2);
        P(&b, "u");
    }
    trace_close(&b);
    compare(&b, b.n);
    r = read_bytes(&b);
    MT_CHECK(r.t != NULL && r.t->devices.n == 1 && r.t->devices.p[0].events.n == 8);
    if (r.t != NULL && r.t->devices.n == 1 && r.t->devices.p[0].events.n == 8) {
        const struct mt_device *d = &r.t->devices.p[0];
        MT_CHECK_EQ(mt_event_at(d, 1)->stack, mt_event_at(d, 3)->stack);
        MT_CHECK(mt_event_at(d, 3)->stack != mt_event_at(d, 5)->stack);
        MT_CHECK_EQ(mt_event_at(d, 5)->stack, mt_event_at(d, 7)->stack);
    }
    mt_trace_free(r.t);
}

MT_MAIN(MT_RUN(regular_entries) MT_RUN(every_cut) MT_RUN(wild_entries) MT_RUN(texts_written_out)
            MT_RUN(texts_have_numbers) MT_RUN(kinds_of_entries)
                MT_RUN(a_list_whose_numbers_changed))
