/* pack/bytes.h -- columns of numbers, and the compressed blocks that they end in
 * (docs/report-data.md). */
#ifndef MT_PACK_BYTES_H
#define MT_PACK_BYTES_H

#include "render/base/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_PACK_MAX                                                                                \
    ((UINT64_C(1) << 52) -                                                                         \
     1) /* the page counts in doubles, and a difference needs a bit for its sign */

/* A column. What does not fit into memory is dropped and `failed` says so: looked at once, when the
 * block is made. */
struct mt_bytes {
    unsigned char *p;
    size_t n, cap;
    bool failed;
};
/* A compressed block; p NULL = there is none. Where it waits it is its columns still: see
 * mt_blob_wait(). */
enum mt_blob_way { MT_BLOB_MADE, MT_BLOB_QUICK, MT_BLOB_NOISE };
struct mt_blob {
    unsigned char *p;
    uint32_t n;
    enum mt_blob_way waits;
};

bool mt_bytes_room(struct mt_bytes *b, size_t more);
void mt_bytes_done(struct mt_bytes *b);
void mt_put_bytes(struct mt_bytes *b, const void *p, size_t n);

static inline void mt_put_byte(struct mt_bytes *b, unsigned v)
{
    if (b->n < b->cap || mt_bytes_room(b, 1))
        b->p[b->n++] = (unsigned char)v;
}
/* What is larger than the page can count is written as the largest number it can; callers have
 * looked at those that matter. */
static inline void mt_put_var(struct mt_bytes *b, uint64_t v)
{
    v = v < 2 * MT_PACK_MAX ? v : 2 * MT_PACK_MAX;
    if (b->cap - b->n < 10 && !mt_bytes_room(b, 10))
        return;
    for (; v > 127; v >>= 7)
        b->p[b->n++] = (unsigned char)(v | 128);
    b->p[b->n++] = (unsigned char)v;
}
static inline void mt_put_zig(struct mt_bytes *b, int64_t v)
{
    mt_put_var(b, v >= 0 ? (uint64_t)v << 1 : ((uint64_t)(-(v + 1)) << 1) + 1);
}
/* A number in three columns: its two bytes each in one of their own, so that equal kinds of bytes
 * lie together and a reader need not look where a number ends; what is larger goes into the third.
 */
#define MT_WIDE 0xff00u
static inline void mt_put_wide(struct mt_bytes *b, uint64_t v)
{
    /* the first two are as long, and grow together */
    if ((b[0].n >= b[0].cap || b[1].n >= b[1].cap) &&
        (!mt_bytes_room(&b[0], 1) || !mt_bytes_room(&b[1], 1)))
        return;
    b[0].p[b[0].n++] = (unsigned char)(v < MT_WIDE ? v : 0);
    b[1].p[b[1].n++] = (unsigned char)(v < MT_WIDE ? v >> 8 : 255);
    if (v >= MT_WIDE)
        mt_put_var(&b[2], v - MT_WIDE);
}

/* What making a block needs and the next one again, 1.2 MB: kept, a million events' page takes 2 %
 * less CPU time. All zero is the beginning. */
struct mt_press {
    struct mt_bytes all, out;
    struct libdeflate_compressor *deflate;
    struct mt_press_isal *isal;
};
void mt_press_done(struct mt_press *press);

/* n columns as one block; the columns are emptied and keep their memory. 1, or 0 = out of memory.
 */
int mt_blob_make(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n);
/* The same for numbers in which nothing is repeated: frequent ones get short codes and nothing more
 * is tried, which takes a fifth to a tenth of the time and, for these, less room too. */
int mt_blob_noise(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns,
                  unsigned n);
/* As mt_blob_make(), in a third to a fifth of the time and with up to a tenth more room: for what
 * few pages carry. */
int mt_blob_quick(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns,
                  unsigned n);
/* For what hardly any page carries: the columns are kept, to be made by mt_blob_settle() as
 * mt_blob_quick() or mt_blob_noise() would. 1, or 0 = out of memory. */
int mt_blob_wait(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                 enum mt_blob_way way);
#define MT_BLOB_COLUMNS 24 /* most of one that waits */
int mt_blob_settle(struct mt_press *press, struct mt_blob *b);
/* As mt_blob_make() or as mt_blob_noise(), for block after block of one kind: of the first, of the
 * third, which is more like those that follow, and then of every eighth it is found out which takes
 * less room, and those between are made that way. All zero is the beginning. */
struct mt_blob_kind {
    unsigned left; /* until both are made again */
    bool noise, known;
};
int mt_blob_next(struct mt_press *press, struct mt_blob *out, struct mt_bytes *columns, unsigned n,
                 struct mt_blob_kind *kind);
/* A text as a file of gzip; 0 where libdeflate is not there, or memory for it. */
int mt_blob_gzip(struct mt_blob *out, const void *p, size_t n);
void mt_blob_done(struct mt_blob *b);
/* Bytes that it takes in a page, element and all. */
uint64_t mt_blob_cost(const struct mt_blob *b);
/* As text, by parser/base/digits.h. */
void mt_base64(struct mt_out *o, const unsigned char *p, size_t n);
void mt_base85(struct mt_out *o, const unsigned char *p, size_t n);

#endif
