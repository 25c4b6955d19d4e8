/* member.c -- a chunk as one gzip member, whose header says which chunk it is. */
#define _GNU_SOURCE 1
#include "capture/inject/kept.h"

#include <string.h>
#include <sys/mman.h>

static bool prepare(struct mti_packer *k)
{
    if (!k->out) {
        void *p =
            mmap(NULL, MTI_GZ_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return false;
        k->out = p;
    }
    if (!k->ready) {
        memset(&k->z, 0, sizeof k->z);
        k->ready = deflateInit2(&k->z, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    return k->ready && deflateReset(&k->z) == Z_OK;
}

size_t mti_member(struct mti_packer *k, const unsigned char *chunk, uint32_t bytes)
{
    static const unsigned char head[16] = {
        0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 4, 3, 4 + MT_WIRE_EXTRA, 0, 'M', 'T', MT_WIRE_EXTRA, 0};
    if (!prepare(k))
        return 0;
    unsigned char *p = k->out;
    memcpy(p, head, sizeof head);
    memcpy(p + 16, chunk + MT_WH_UID, 8);
    memcpy(p + 24, chunk + MT_WH_SEQ, 8);
    mt_put32(p + 32, bytes);
    memcpy(p + 36, chunk + MT_WH_KIND, 2);
    mt_put16(p + 38, 0);
    k->z.next_in = chunk;
    k->z.avail_in = bytes;
    k->z.next_out = p + MTI_GZ_HEAD;
    k->z.avail_out = MTI_GZ_ROOM - MTI_GZ_HEAD - 8;
    if (deflate(&k->z, Z_FINISH) != Z_STREAM_END)
        return 0;
    mt_put32(k->z.next_out, (uint32_t)crc32(crc32(0, NULL, 0), chunk, bytes));
    mt_put32(k->z.next_out + 4, bytes);
    return (size_t)(k->z.next_out + 8 - p);
}
