/* Bytes as digits, the numbers of a JSON text behind it, its keys in two bytes; and back. */
#include "parser/base/apart.h"
#include "parser/base/digits.h"
#include "parser/base/json_words.h"
#include "render/pack/bytes.h"
#include "tests/unit/mt_test.h"

/* The digits of these bytes; mt_out_done() */
static bool written(struct mt_out *o, unsigned base, const unsigned char *p, size_t n)
{
    if (!mt_out_mem(o))
        return false;
    (base == 64 ? mt_base64 : mt_base85)(o, p, n);
    return mt_out_finish(o) == 0;
}

/* All bytes of a text of digits, or -1. */
static long decoded(unsigned base, const char *text, unsigned char *out)
{
    struct mt_digits d;
    long n = 0;
    int got = 0;
    mt_digits_begin(&d, base);
    for (; *text != '\0' && (base == 85 || *text != '=') && got >= 0; text++) {
        got = mt_digits_add(&d, (unsigned char)*text, out + n);
        n += got > 0 ? got : 0;
    }
    if (got >= 0)
        got = mt_digits_end(&d, out + n);
    return got < 0 ? -1 : n + got;
}

MT_TEST(there_and_back)
{
    unsigned char bytes[64], back[80];
    for (unsigned base = 64; base <= 85; base += 21)
        for (unsigned seed = 0; seed < 4; seed++)
            for (size_t n = 0; n < sizeof bytes; n++) {
                struct mt_out o;
                for (size_t i = 0; i < n; i++)
                    bytes[i] = (unsigned char)(seed == 0 ? 0 : seed == 1 ? 255 : i * 151 + seed);
                MT_CHECK(written(&o, base, bytes, n));
                MT_CHECK_EQ(o.used,
                            base == 64 ? (n + 2) / 3 * 4 : n / 4 * 5 + (n % 4 ? n % 4 + 1 : 0));
                MT_CHECK(strpbrk((const char *)o.buf, "<>&\"'\\") == NULL);
                MT_CHECK_EQ(decoded(base, (const char *)o.buf, back), (long)n);
                MT_CHECK(memcmp(back, bytes, n) == 0);
                mt_out_done(&o);
            }
}

MT_TEST(known_digits)
{
    struct mt_out o;
    MT_CHECK(written(&o, 85, (const unsigned char *)"\x86\x4f\xd2\x6f\xb5\x59\xf7\x5b", 8));
    MT_CHECK_STR((const char *)o.buf,
                 "hELLOwORLD"); /* Z85's example, whose case is the other way round */
    mt_out_done(&o);
}

MT_TEST(what_is_no_digit)
{
    unsigned char out[16];
    MT_CHECK_EQ(decoded(85, "00000", out), 4);
    MT_CHECK_EQ(decoded(85, "|NsC0", out), 4); /* 2^32 - 1 */
    MT_CHECK(out[0] == 255 && out[3] == 255);
    MT_CHECK_EQ(decoded(85, "|NsC1", out), -1);
    MT_CHECK_EQ(decoded(85, "~~~~~", out), -1);
    MT_CHECK_EQ(decoded(85, "00000~~~~", out), -1);
    MT_CHECK_EQ(decoded(85, "0000<", out), -1);
    MT_CHECK_EQ(decoded(85, "000000", out), -1); /* one digit is no byte */
    MT_CHECK_EQ(decoded(64, "AAAAA", out), -1);
    MT_CHECK_EQ(decoded(64, "AA-A", out), -1);
    MT_CHECK_EQ(decoded(64, "", out), 0);
}

MT_TEST(runs)
{
    static const unsigned char text[] = "TWFuTWFuTWF";
    const unsigned char *p = text;
    unsigned char out[16];
    struct mt_digits d;
    mt_digits_begin(&d, 64);
    MT_CHECK_EQ(mt_digits_run(&d, &p, text + 11, out, 16), 6u);
    MT_CHECK(p == text + 8 && memcmp(out, "ManMan", 6) == 0);
    p = text;
    MT_CHECK_EQ(mt_digits_run(&d, &p, text + 11, out, 5), 3u); /* room for one group */
    MT_CHECK(p == text + 4);
    mt_digits_begin(&d, 85);
    MT_CHECK_EQ(mt_digits_run(&d, &p, text + 11, out, 16), 0u);
}

static bool comes_back(const char *text)
{
    struct mt_text apart = {0}, again = {0};
    bool same;
    mt_apart(&apart, text, strlen(text));
    same = mt_together(&again, apart.p, apart.n) && again.n == strlen(text) &&
           memcmp(again.p, text, again.n) == 0;
    mt_text_done(&apart);
    mt_text_done(&again);
    return same;
}

MT_TEST(numbers_apart)
{
    static const char text[] =
        "{\"a 1\":[1,-20,0,3.5e+7],\"b\\\"2\":{\"c\":\"7,8\"},\"d\":[],\"e\":null,\"f\":00}";
    struct mt_text t = {0};
    mt_apart(&t, text, sizeof text - 1);
    MT_CHECK_STR(
        t.p, "\x1e{\"a 1\":[0,0,0,0],\"b\\\"2\":{\"c\":\"7,8\"},\"d\":[],\"e\":null,\"f\":0}\x1e"
             "1,-20,0,3.5e+7,00,");
    mt_text_done(&t);
    MT_CHECK(comes_back(text));
    MT_CHECK(comes_back("7"));
    MT_CHECK(comes_back("{}"));
    MT_CHECK(comes_back("{\"a\":\"cut 1\\"));
    MT_CHECK(comes_back("[1,2"));
}

MT_TEST(numbers_that_do_not_fit)
{
    static const char *const numbers[] = {"1,",  "1,2,3,",  "",         "1,2",
                                          ",1,", "1,true,", "\"a\",1,", "1\x1e,2,"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct mt_text t = {0};
        char text[64];
        (void)snprintf(text, sizeof text, "\x1e[0,0]\x1e%s", numbers[i]);
        MT_CHECK(!mt_together(&t, text, strlen(text)));
        MT_CHECK(!mt_together(&t, text + 1, strlen(text + 1)));
        mt_text_done(&t);
    }
    MT_CHECK(!mt_together(&(struct mt_text){0}, "", 0));
    MT_CHECK(!mt_together(&(struct mt_text){0}, "\x1e", 1));
    MT_CHECK(!mt_together(&(struct mt_text){0}, "\x1e[0]", 4));
}

/* Pages that were written count on the place of a word: the list grows at its end alone. */
MT_TEST(words_stay_where_they_are)
{
    enum { FIRST = 372 };
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t n = 0;
    for (; mt_json_word(n) != NULL; n++)
        for (const char *p = mt_json_word(n); n < FIRST; p++) {
            h = (h ^ (unsigned char)(*p != '\0' ? *p : '\n')) * UINT64_C(0x100000001b3);
            if (*p == '\0')
                break;
        }
    MT_CHECK(n >= FIRST);
    MT_CHECK_EQ(h, UINT64_C(0xc6f51388f800d2fa));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            MT_CHECK(strcmp(mt_json_word(i), mt_json_word(k)) != 0);
}

MT_TEST(words_short_and_long)
{
    static const char text[] =
        "{\"verdict\":{\"no key of "
        "ours\":\"verdict\",\"device\":0,\"\":1},\"a\\\"device\":[\"device\"],\"verdict\"";
    struct mt_text s = {0}, again = {0};
    mt_json_words_short(&s, text, sizeof text - 1);
    MT_CHECK(s.n == sizeof text - 1 - (strlen("\"verdict\":") - 2) - (strlen("\"device\":") - 2));
    MT_CHECK(mt_json_words_long(&again, s.p, s.n));
    MT_CHECK_STR(again.p, text);
    mt_text_done(&again);
    again.max = 20; /* what it becomes is bounded */
    MT_CHECK(mt_json_words_long(&again, s.p, s.n) && again.cut && again.n <= 20);
    mt_text_done(&again);
    mt_text_done(&s);
}

MT_TEST(words_that_are_none)
{
    static const char *const texts[] = {"{\xc0",     "{\xc0\x7f", "{\x80\x80",
                                        "{\xff\xff", "{\xc5\xff", "{\"a\":\xc0"};
    struct mt_text t = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        MT_CHECK(!mt_json_words_long(&t, texts[i], strlen(texts[i])));
        mt_text_done(&t);
    }
    MT_CHECK(mt_json_words_long(&t, "{\"\xc0\xff\":\"\xff", 8)); /* in a string it is a letter */
    mt_text_done(&t);
}

MT_MAIN(MT_RUN(there_and_back) MT_RUN(known_digits) MT_RUN(what_is_no_digit) MT_RUN(runs)
            MT_RUN(numbers_apart) MT_RUN(numbers_that_do_not_fit) MT_RUN(words_stay_where_they_are)
                MT_RUN(words_short_and_long) MT_RUN(words_that_are_none))
