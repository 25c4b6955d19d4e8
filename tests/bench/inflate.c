/* inflate.c -- how fast the zlib of this machine inflates a gzip file when nobody looks at the
 * result: the floor for reading one. usage: inflate FILE; all members, one after the other; exit
 * status 0 when the whole file was good. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { IN_SIZE = 256 * 1024, OUT_SIZE = 256 * 1024 };
static unsigned char in_buf[IN_SIZE], out_buf[OUT_SIZE];

int main(int argc, char **argv)
{
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
    fclose(f);
    return rc == Z_STREAM_END ? 0 : 1;
}
