/* input/pack.c -- tells wrappings apart by their first bytes; file names are never asked. */
#include "parser/input/impl.h"
#include "parser/model/wire.h"

#include <string.h>

const char *mt_pack_name(enum mt_pack p)
{
    static const char *const names[] = {
        [MT_PACK_NONE] = "",     [MT_PACK_GZIP] = "gzip", [MT_PACK_XZ] = "xz",
        [MT_PACK_LZMA] = "lzma", [MT_PACK_ZSTD] = "zstd", [MT_PACK_BZIP2] = "bzip2",
        [MT_PACK_LZ4] = "lz4",   [MT_PACK_TAR] = "tar",   [MT_PACK_ZIP] = "zip",
        [MT_PACK_7Z] = "7z",     [MT_PACK_HTML] = "html", [MT_PACK_TRACE] = "memtrace trace",
    };
    return names[p];
}

static const struct {
    enum mt_pack pack;
    uint8_t n;
    unsigned char magic[8];
} magics[] = {
    {MT_PACK_GZIP, 3, {0x1f, 0x8b, 8}},
    {MT_PACK_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
    {MT_PACK_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}},
    {MT_PACK_LZ4, 4, {4, 0x22, 0x4d, 0x18}},
    {MT_PACK_LZ4, 4, {2, 0x21, 0x4c, 0x18}},
    {MT_PACK_7Z, 6, {'7', 'z', 0xbc, 0xaf, 0x27, 0x1c}},
    {MT_PACK_ZIP, 4, {'P', 'K', 3, 4}},
    {MT_PACK_ZIP, 4, {'P', 'K', 5, 6}},
    {MT_PACK_ZIP, 8, {'P', 'K', 7, 8, 'P', 'K', 3, 4}}, /* split archive in one piece */
};

/* The header of a tar member holds a checksum over its 512 bytes, written in octal: stronger
 * evidence than any magic. */
static bool is_tar(const unsigned char *p, size_t n)
{
    uint32_t sum = 0, want = 0;
    size_t i = 148;
    int digits = 0;
    if (n < 512 || p[0] == 0)
        return false;
    for (size_t k = 0; k < 512; k++)
        sum += k >= 148 && k < 156 ? ' ' : p[k];
    while (i < 156 && (p[i] == ' ' || p[i] == 0))
        i++;
    for (; i < 156 && p[i] >= '0' && p[i] <= '7'; i++, digits++)
        want = want * 8 + (uint32_t)(p[i] - '0');
    return digits > 0 && want == sum;
}

static bool is_bzip2(const unsigned char *p, size_t n)
{
    static const unsigned char block[6] = {0x31, 0x41, 0x59, 0x26, 0x53, 0x59},
                               last[6] = {0x17, 0x72, 0x45, 0x38, 0x50, 0x90};
    return n >= 10 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9' &&
           (memcmp(p + 4, block, 6) == 0 || memcmp(p + 4, last, 6) == 0);
}

/* .lzma has no magic: properties byte, dictionary size, then the length or -1. Only the common
 * encoders' form is taken. */
static bool is_lzma(const unsigned char *p, size_t n)
{
    static const unsigned char unknown[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    return n >= 14 && p[0] == 0x5d && p[1] == 0 && p[2] == 0 && p[13] == 0 &&
           (memcmp(p + 5, unknown, 8) == 0 || (p[10] == 0 && p[11] == 0 && p[12] == 0));
}

static bool starts_with_tag(const unsigned char *p, size_t n, const char *tag)
{
    size_t len = strlen(tag);
    if (n < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]) != tag[i])
            return false;
    return true;
}

static bool is_html(const unsigned char *p, size_t n)
{
    static const char *const tags[] = {"<!doctype html", "<html", "<head", "<body", "<script"};
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3, n -= 3;
    while (n > 0 && (*p == ' ' || (*p >= 9 && *p <= 13)))
        p++, n--;
    /* a page saved by a browser starts with a comment about that */
    if (starts_with_tag(p, n, "<!--")) {
        for (size_t i = 4; i + 2 < n; i++)
            if (memcmp(p + i, "-->", 3) == 0)
                return is_html(p + i + 3, n - i - 3);
        return false;
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (starts_with_tag(p, n, tags[i]))
            return true;
    return false;
}

enum mt_pack mt_pack_sniff(struct mt_source *s)
{
    size_t n = mt_source_need(s, 4096);
    const unsigned char *p = s->cur;
    if (n > 4096)
        n = 4096;
    if (n >= 7 && memcmp(p, MT_WIRE_MAGIC, 7) == 0)
        return MT_PACK_TRACE;
    if (n >= 16 && memcmp(p, "\x1f\x8b\x08\x04", 4) == 0 &&
        memcmp(p + 10, "\x1c\0MT\x18\0", 6) == 0)
        return MT_PACK_TRACE;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (n >= magics[i].n && memcmp(p, magics[i].magic, magics[i].n) == 0)
            return magics[i].pack;
    if (is_bzip2(p, n))
        return MT_PACK_BZIP2;
    if (is_lzma(p, n))
        return MT_PACK_LZMA;
    if (is_tar(p, n))
        return MT_PACK_TAR;
    return is_html(p, n) ? MT_PACK_HTML : MT_PACK_NONE;
}

enum mt_rc mt_ratio_check(uint64_t out, uint64_t in, const struct mt_raw *raw, uint32_t max_ratio,
                          struct mt_err *err)
{
    uint64_t least = in, n_read;
    if (out <= MT_RATIO_AFTER || max_ratio == 0)
        return MT_OK;
    if (raw != NULL && (n_read = raw->n_read) < least)
        least = n_read;
    if (out / max_ratio < least)
        return MT_OK;
    return mt_fail_at(err, MT_ELIMIT, out,
                      "it unpacks to more than %u times its size (%llu bytes out of %llu so far), "
                      "as a zip bomb does; if it is "
                      "none, raise --max-ratio",
                      max_ratio, (unsigned long long)out, (unsigned long long)least);
}

bool mt_is_data_pkl(const char *name)
{
    const char *base = strrchr(name, '/');
    return strcmp(base != NULL ? base + 1 : name, "data.pkl") == 0;
}
