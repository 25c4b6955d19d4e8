/* inflate.h -- gzip members through ISA-L where this machine has it, else through zlib; zlib data
 * through zlib. ISA-L is
 * believed only as long as it finds nothing wrong: what it says of damage, and how far it came
 * before, differs from zlib. So a member that it stumbles over is to be unpacked once more, through
 * zlib, and the words and bytes are the same on every machine. Who cannot read a member twice asks
 * for zlib. One thread at a time. */
#ifndef MT_INPUT_INFLATE_H
#define MT_INPUT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

struct inflate_state;

struct mt_inflater {
    z_stream z;
    bool z_on;
    struct inflate_state *isal; /* NULL: not here, or not asked for */
    bool by_isal;               /* the member at hand */
};

enum mt_inflated {
    MT_INFLATE_MORE,  /* wants input, or room */
    MT_INFLATE_END,   /* of the member; CRC and length are right */
    MT_INFLATE_AGAIN, /* ISA-L failed: what this call wrote is worth nothing; begin through zlib */
    MT_INFLATE_DAMAGED, /* says zlib: z.msg, or NULL; up to there the bytes are good */
    MT_INFLATE_NO_MEMORY
};

/* False: no memory. twice: the caller can read a member a second time. */
bool mt_inflater_open(struct mt_inflater *f, bool twice);
void mt_inflater_close(struct mt_inflater *f); /* zeroed, or opened in vain, is fine */
/* A member that begins with the n bytes at p; through_zlib: ISA-L stumbled over it. */
bool mt_inflater_begin(struct mt_inflater *f, const unsigned char *p, size_t n, bool through_zlib);
/* From *in to *out; both are moved on, and *n_in and *n_out are what is left. */
enum mt_inflated mt_inflater_run(struct mt_inflater *f, const unsigned char **in, size_t *n_in,
                                 unsigned char **out, size_t *n_out);
#endif
