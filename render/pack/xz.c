#include "render/pack/xz.h"

#include "parser/base/mem.h"
#include "parser/late/late.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>

static la_ssize_t take(struct archive *a, void *ctx, const void *p, size_t n)
{
    struct mt_bytes *b = ctx;
    mt_put_bytes(b, p, n);
    if (!b->failed)
        return (la_ssize_t)n;
    archive_set_error(a, ENOMEM, "out of memory");
    return -1;
}

/* *known: libarchive has xz. What fails behind that fails for memory, whatever errno it has: the
 * bytes are in memory on both sides. */
static bool pack(struct archive *a, struct archive_entry *e, const char *level, struct mt_bytes *to,
                 const void *p, size_t n, bool *known)
{
    *known = archive_write_add_filter_xz(a) == ARCHIVE_OK || archive_errno(a) == ENOMEM;
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (la_int64_t)n);
    return *known &&
           archive_write_set_filter_option(a, "xz", "compression-level", level) == ARCHIVE_OK &&
           archive_write_set_format_raw(a) == ARCHIVE_OK &&
           archive_write_set_bytes_in_last_block(a, 1) == ARCHIVE_OK && /* no padding */
           archive_write_open(a, to, NULL, take, NULL) == ARCHIVE_OK &&
           archive_write_header(a, e) == ARCHIVE_OK &&
           archive_write_data(a, p, n) == (la_ssize_t)n && archive_write_close(a) == ARCHIVE_OK;
}

static int pack_at(struct mt_blob *out, const char *level, const void *p, size_t n)
{
    struct archive *a = archive_write_new();
    int error = a == NULL && errno == MT_NO_LIBRARY ? MT_NO_LIBRARY : ENOMEM;
    struct archive_entry *e = a != NULL ? archive_entry_new() : NULL;
    struct mt_bytes to = {.p = NULL};
    bool known = true;
    if (a != NULL && e != NULL && pack(a, e, level, &to, p, n, &known) && to.n <= UINT32_MAX) {
        out->p = to.p;
        out->n = (uint32_t)to.n;
        to = (struct mt_bytes){.p = NULL};
        error = 0;
    } else if (!known) {
        error = ENOTSUP;
    }
    mt_bytes_done(&to);
    if (e != NULL)
        archive_entry_free(e);
    if (a != NULL)
        (void)archive_write_free(a);
    return error;
}

/* From level 4 on the search is by trees, by which a short report takes 5 % less room than by 2; at
 * 6 it takes 8 % less again, which is 1 KB of a page, and twice the time. A long one takes 7 % more
 * by 4 than by 2, and more than twice the time. Level 4 asks for about 50 MB of addresses, of which
 * a short report touches little; where they are not to be had (ulimit -v), level 1 asks for a
 * fifth. */
int mt_blob_xz(struct mt_blob *out, const void *p, size_t n)
{
    enum { LONG = 1 << 18 };
    int error = pack_at(out, n > LONG ? "2" : "4", p, n);
    return error == ENOMEM ? pack_at(out, "1", p, n) : error;
}
