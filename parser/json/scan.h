/* json/scan.h -- where a JSON array or object ends, found without parsing it, and the hash of its
 * bytes.
 *
 * Nearly all bytes of a snapshot in JSON are stacks seen before. Finding the closing bracket
 * (strings and escapes respected) and hashing the bytes is all that such a stack costs, so both are
 * vectorised: AVX2 where the CPU has it (asked at run time), SSE2 on any x86-64, plain C elsewhere.
 * The three give the same answer for every input, JSON or not. */
#ifndef MT_JSON_SCAN_H
#define MT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State between two calls, so that the text may come in pieces cut anywhere. */
struct mt_json_scan {
    uint64_t in_str; /* all bits set inside a string, else 0 */
    uint64_t esc;    /* 1 when the next byte is escaped */
    uint32_t depth;  /* brackets open */
    uint32_t max_depth;
    bool too_deep; /* max_depth was met: the scan stopped */
};

/* Reads on from p; returns one past the bracket that brings depth to 0, or NULL when [p, end) was
 * used up (or too deep). */
typedef const unsigned char *mt_json_end_fn(struct mt_json_scan *st, const unsigned char *p,
                                            const unsigned char *end);

struct mt_json_hash {
    uint64_t lo, hi;
};

enum mt_json_impl { MT_JSON_SCALAR, MT_JSON_SSE2, MT_JSON_AVX2, MT_JSON_N_IMPL };

struct mt_json_simd {
    mt_json_end_fn *array_end;                            /* counts [ and ] only */
    mt_json_end_fn *any_end;                              /* counts brackets and braces alike */
    struct mt_json_hash (*hash)(const void *p, size_t n); /* XXH3, 128 bits */
};

/* the fastest that runs here */
const struct mt_json_simd *mt_json_simd(void);
/* NULL when it does not run here */
const struct mt_json_simd *mt_json_simd_get(enum mt_json_impl impl);
/* Test hook: what mt_json_simd() returns to this thread from now on; NULL = choose again. */
void mt_json_simd_force(const struct mt_json_simd *simd);

struct mt_json_hash mt_json_hash_base(const void *p, size_t n);
struct mt_json_hash mt_json_hash_avx2(const void *p, size_t n);

#endif
