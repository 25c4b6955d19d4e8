/* inflate.c -- how fast this machine inflates a gzip file when nobody looks at the result: the
 * floor for reading one. By zlib, or with -DWITH_ISAL by ISA-L; both check CRC and length. usage:
 * inflate FILE; all members, one after the other; exit status 0 when the whole file was good. */
#include <stdio.h>
#include <string.h>
#ifdef WITH_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum { IN_SIZE = 256 * 1024, OUT_SIZE = 256 * 1024 };
static unsigned char in_buf[IN_SIZE], out_buf[OUT_SIZE];

#ifdef WITH_ISAL
static int inflate_all(FILE *f)
{
    static struct inflate_state z;
    int ended = 0;
    isal_inflate_init(&z);
    z.crc_flag = ISAL_GZIP;
    for (;;) {
        if (z.avail_in == 0) {
            z.next_in = in_buf;
            z.avail_in = (uint32_t)fread(in_buf, 1, sizeof in_buf, f);
        }
        if (ended) {
            if (z.avail_in == 0)
                return 1;
            isal_inflate_reset(&z);
            ended = 0;
        }
        z.next_out = out_buf;
        z.avail_out = OUT_SIZE;
        if (isal_inflate(&z) != ISAL_DECOMP_OK)
            return 0;
        ended = z.block_state == ISAL_BLOCK_FINISH;
        if (!ended && z.avail_in == 0 && z.avail_out != 0 && feof(f))
            return 0; /* truncated */
    }
}
#else
static int inflate_all(FILE *f)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    int rc = inflateInit2(&z, 15 + 16); /* gzip wrapper: the CRC is checked */
    while (rc == Z_OK || rc == Z_STREAM_END) {
        if (z.avail_in == 0) {
            size_t n = fread(in_buf, 1, sizeof in_buf, f);
            if (n == 0)
                break; /* the end, or truncated */
            z.next_in = in_buf;
            z.avail_in = (uInt)n;
        }
        if (rc == Z_STREAM_END && inflateReset(&z) != Z_OK)
            break;
        z.next_out = out_buf;
        z.avail_out = OUT_SIZE;
        rc = inflate(&z, Z_NO_FLUSH);
    }
    inflateEnd(&z);
    return rc == Z_STREAM_END;
}
#endif

int main(int argc, char **argv)
{
    int good;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.gz\n", argv[0]);
        return 2;
    }
    FILE *f = fopen(argv[1], "rb");
    if (!f) {
        perror(argv[1]);
        return 1;
    }
    setvbuf(f, NULL, _IONBF, 0);
    good = inflate_all(f);
    fclose(f);
    return good ? 0 : 1;
}
