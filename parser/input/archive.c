/* input/archive.c -- everything but gzip through libarchive, as a stream: nothing is ever written
 * to disk.
 *
 * Each layer is opened with the one format or filter its first bytes call for, so that no other
 * code of the library runs on the input. Its allocations are its own; the limits on bytes, ratio
 * and members are kept here. */
#include "parser/base/strpool.h"
#include "parser/input/impl.h"
#include "parser/late/late.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#define MAX_TRIES 16
#define ENCRYPTED "this %s is encrypted: unpack it with its password first, and name what comes out"

struct arc {
    struct mt_box box; /* first member: a pointer to the box is one to the arc */
    struct archive *a;
    struct mt_source *up;
    struct mt_raw *file; /* what `up` reads, when that can be read at any place; else NULL */
    bool spooled;        /* `up` is a stream held in memory */
    uint64_t size;       /* of the file or spool */
    const struct mt_raw *raw;
    locale_t utf8; /* names are decoded as UTF-8 whatever the locale of the process */
    uint64_t out;  /* unpacked bytes of all members */
    uint32_t max_ratio;
    int n_failed;
    bool over;
    bool in_entry; /* the current member has bytes left */
    bool lost;     /* a member broke the whole archive: `why` */
    struct mt_err why;
    bool up_ended, past_end;
    bool told_encrypted;
    struct mt_strpool names; /* of the files of a tar so far: what a hard link in it can mean */
    uint64_t zeros;          /* how many zero bytes the stream ends with, as far as it was read */
    /* what libarchive was given last, how many zeros came right before it, and where it ends */
    const unsigned char *fed;
    size_t n_fed;
    uint64_t zeros_before, fed_end;
    bool tars_only;
    bool ended; /* by an end mark with other bytes behind it */
    /* the block libarchive gave last */
    const unsigned char *blk;
    size_t left;
    uint64_t pos, hole; /* in the member; zeros before the block, of a sparse file */
};

static la_ssize_t cb_read(struct archive *a, void *ctx, const void **buf)
{
    struct arc *c = ctx;
    size_t n = mt_source_need(c->up, 1);
    size_t k = n;
    (void)a;
    *buf = c->fed = c->up->cur;
    c->n_fed = n;
    c->fed_end += n;
    c->zeros_before = c->zeros;
    while (k > 0 && c->up->cur[k - 1] == 0)
        k--;
    c->zeros = k == 0 ? c->zeros + n : n - k;
    c->up_ended = n == 0;
    c->up->cur = c->up->end; /* stays readable until the next call */
    /* a broken stream looks like its end here; fail() then says what broke */
    return (la_ssize_t)n;
}

static la_int64_t cb_seek(struct archive *a, void *ctx, la_int64_t offset, int whence)
{
    struct arc *c = ctx;
    uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_END ? c->size : mt_source_offset(c->up);
    (void)a;
    if ((offset < 0 && (uint64_t)-offset > base) ||
        (offset > 0 && (uint64_t)offset > INT64_MAX - base))
        return ARCHIVE_FATAL;
    base = offset < 0 ? base - (uint64_t)-offset : base + (uint64_t)offset;
    /* a member that says it is longer than what is left of the file */
    c->past_end = base > c->size;
    c->zeros = c->zeros_before = 0;
    c->n_fed = 0;
    c->fed_end = base;
    if (c->spooled ? mt_spool_seek(c->up, base) : mt_raw_seek(c->file, c->up, base))
        return (la_int64_t)base;
    return ARCHIVE_FATAL;
}

/* What broke: the stream below knows better than the archive library. */
static enum mt_rc fail(struct arc *c, struct mt_err *err)
{
    char text[256];
    const char *msg = archive_error_string(c->a);
    if (c->up->status != MT_OK) {
        if (err != NULL)
            *err = c->up->err;
        return c->up->status;
    }
    if (msg == NULL)
        msg = "no reason given";
    if (archive_errno(c->a) == ENOMEM)
        return mt_fail(err, MT_ENOMEM, "out of memory while unpacking %s",
                       mt_pack_name(c->box.kind));
    mt_printable(text, sizeof text, msg, strlen(msg));
    if (strstr(msg, "ncrypted") != NULL)
        return mt_fail(err, MT_EINPUT, ENCRYPTED " (libarchive: %s)", "archive", text);
    if (c->up_ended && !mt_pack_is_container(c->box.kind))
        return mt_fail(err, MT_EINPUT,
                       "the %s stream ends early at compressed offset %llu: the file is cut short "
                       "(a copy that did not finish, or "
                       "a writer that died); %llu bytes could be unpacked, the last block before "
                       "the cut is lost with the rest",
                       mt_pack_name(c->box.kind), (unsigned long long)mt_source_offset(c->up),
                       (unsigned long long)c->out);
    if (strstr(msg, "nsupported") != NULL || strstr(msg, "not supported") != NULL)
        return mt_fail(err, MT_EINPUT,
                       "it is packed in a way that the libarchive of this machine does not know "
                       "(%s): unpack it first",
                       text);
    return mt_fail(err, MT_EINPUT,
                   "the %s data is damaged or cut short at compressed offset %llu (libarchive: %s)",
                   mt_pack_name(c->box.kind), (unsigned long long)mt_source_offset(c->up), text);
}

static enum mt_rc check_ratio(const struct arc *c, struct mt_err *err)
{
    uint64_t in = c->spooled        ? c->size
                  : c->file != NULL ? c->file->n_read
                                    : mt_source_offset(c->up);
    return mt_ratio_check(c->out, in, c->raw, c->max_ratio, err);
}

/* The archive is broken: members behind this one cannot be reached. The next call reports it, even
 * if this member could be used. */
static void give_up(struct arc *c, const struct mt_err *err)
{
    c->over = c->lost = true;
    c->in_entry = false;
    c->why = *err;
}

/* Gets the next block of the member. Sets in_entry to false at its end. */
static enum mt_rc next_block(struct arc *c, struct mt_err *err)
{
    const void *blk = NULL;
    size_t len = 0;
    la_int64_t off = 0;
    int r = ARCHIVE_RETRY;
    enum mt_rc rc;
    for (int i = 0; i < MAX_TRIES && r == ARCHIVE_RETRY; i++)
        r = archive_read_data_block(c->a, &blk, &len, &off);
    if (r == ARCHIVE_EOF) {
        c->in_entry = false;
        /* some filters take the early end of what they read for its end */
        return c->up->status != MT_OK ? fail(c, err) : MT_OK;
    }
    if (r != ARCHIVE_OK || off < 0 || (uint64_t)off < c->pos) {
        rc = fail(c, err);
        c->in_entry = false;
        if (r == ARCHIVE_FATAL)
            give_up(c, err);
        return rc;
    }
    c->blk = blk;
    c->left = len;
    c->hole = (uint64_t)off - c->pos;
    return MT_OK;
}

static size_t entry_read(void *ctx, unsigned char *dst, size_t n, enum mt_rc *rc,
                         struct mt_err *err)
{
    struct arc *c = ctx;
    size_t got = 0;
    while (got < n && c->in_entry) {
        size_t k = n - got;
        if (c->hole > 0) {
            k = c->hole < k ? (size_t)c->hole : k;
            memset(dst + got, 0, k);
            c->hole -= k;
        } else if (c->left > 0) {
            k = c->left < k ? c->left : k;
            memcpy(dst + got, c->blk, k);
            c->blk += k;
            c->left -= k;
        } else if (got > 0 || (*rc = next_block(c, err)) != MT_OK) {
            break;
        } else {
            continue;
        }
        c->pos += k;
        c->out += k;
        got += k;
    }
    if (got > 0 && *rc == MT_OK && (*rc = check_ratio(c, err)) != MT_OK)
        give_up(c, err);
    return got;
}

/* libarchive skips members of a tar and of a seekable zip without unpacking them. In other formats
 * skipping unpacks, so the limit on the ratio has to be checked here too. */
static void leave_entry(struct arc *c)
{
    bool cheap = c->box.kind == MT_PACK_TAR || (c->box.kind == MT_PACK_ZIP && c->file != NULL);
    struct mt_err err;
    while (c->in_entry && !cheap) {
        c->pos += c->hole + c->left;
        c->out += c->left;
        c->hole = c->left = 0;
        if (check_ratio(c, &err) != MT_OK)
            give_up(c, &err);
        else if (next_block(c, &err) != MT_OK) /* of no matter: this member is left anyway */
            break;
    }
    c->in_entry = false;
    c->hole = c->left = 0;
}

/* The name of a member, or of what it is a hard link to. */
static char *entry_name(struct arc *c, struct archive_entry *e, bool target)
{
    locale_t old = c->utf8 != (locale_t)0 ? uselocale(c->utf8) : (locale_t)0;
    const char *s = target ? archive_entry_hardlink_utf8(e) : archive_entry_pathname_utf8(e);
    char *name;
    if (s == NULL)
        s = target ? archive_entry_hardlink(e) : archive_entry_pathname(e);
    if (s == NULL || s[0] == '\0')
        s = "(a member without a name)";
    name = mt_strndup(s, strlen(s));
    if (old != (locale_t)0)
        uselocale(old);
    return name;
}

/* Where libarchive looked for a header that it could not read, a tar's end mark stands, which is
 * two blocks of zeros: what follows is no other archive, and of no matter. */
static bool is_behind_end(const struct arc *c)
{
    enum { MARK = 1024 };
    uint64_t begin = c->fed_end - c->n_fed, n = 0;
    la_int64_t at = archive_read_header_position(c->a);
    size_t i = 0;
    if (c->box.kind != MT_PACK_TAR || c->tars_only || c->up->status != MT_OK || at < 0)
        return false;
    if ((uint64_t)at < begin) {
        if (begin - (uint64_t)at > c->zeros_before)
            return false;
        n = begin - (uint64_t)at;
    } else {
        i = (size_t)((uint64_t)at - begin);
    }
    for (; i < c->n_fed && n < MARK && c->fed[i] == 0; i++)
        n++;
    return n >= MARK;
}

static int next_header(struct arc *c, struct archive_entry **e)
{
    locale_t old = c->utf8 != (locale_t)0 ? uselocale(c->utf8) : (locale_t)0;
    int r = ARCHIVE_RETRY;
    for (int i = 0; i < MAX_TRIES && r == ARCHIVE_RETRY; i++) {
        r = archive_read_next_header(c->a, e);
        if (i == 0 && r != ARCHIVE_OK && r != ARCHIVE_WARN && r != ARCHIVE_EOF)
            c->ended = is_behind_end(c);
        if (c->ended)
            r = ARCHIVE_EOF;
    }
    if (old != (locale_t)0)
        uselocale(old);
    return r;
}

static bool is_file(struct archive_entry *e)
{
    unsigned type = archive_entry_filetype(e);
    return (type == AE_IFREG || type == 0) && archive_entry_hardlink(e) == NULL &&
           archive_entry_symlink(e) == NULL;
}

/* A hard link is another name of a file, and the file is read once. A link whose file is not in the
 * archive is a loss. */
static enum mt_rc link_of(struct arc *c, struct archive_entry *e, char **name, struct mt_err *err)
{
    char *target = NULL;
    enum mt_rc rc = MT_OK;
    if (archive_entry_hardlink(e) == NULL) {
        c->box.n_links += archive_entry_symlink(e) != NULL;
        return MT_OK;
    }
    if ((target = entry_name(c, e, true)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (c->n_failed >= MAX_TRIES ||
        mt_strpool_find(&c->names, target, strlen(target)) != MT_STR_FAIL) {
        c->box.n_links++;
    } else {
        char shown[256];
        c->n_failed++;
        *name = entry_name(c, e, false);
        mt_printable(shown, sizeof shown, target, strlen(target));
        rc = *name == NULL ? mt_fail(err, MT_ENOMEM, "out of memory")
                           : mt_fail(err, MT_EINPUT,
                                     "it is a hard link to %s, which does not stand before it in "
                                     "this archive: its bytes are not "
                                     "there; pack both, or only this one",
                                     shown);
    }
    mt_free(target);
    return rc;
}

static int arc_next(struct mt_box *b, struct mt_source **src, char **name, struct mt_err *err)
{
    struct arc *c = (struct arc *)b;
    struct archive_entry *e = NULL;
    enum mt_rc rc;
    int r;
    *name = NULL;
    leave_entry(c);
    if (c->lost) {
        c->lost = false;
        *err = c->why;
        (void)snprintf(err->msg, sizeof err->msg,
                       "files of this %s archive that may follow were not read: %.600s",
                       mt_pack_name(b->kind), c->why.msg);
        return c->why.rc;
    }
    do {
        if (c->over)
            return 0;
        r = next_header(c, &e);
        if (r == ARCHIVE_EOF) {
            c->over = true;
            if (c->up->status != MT_OK)
                return fail(c, err);
            if (b->kind == MT_PACK_TAR && !c->ended &&
                ((c->up_ended && c->zeros < 512) ||
                 c->past_end)) /* cut between two members: libarchive takes it for whole */
                return mt_fail(
                    err, MT_EINPUT,
                    "the tar archive ends early at offset %llu, without its end mark: it was cut "
                    "short, and files that followed are missing",
                    (unsigned long long)(c->past_end ? c->size : mt_source_offset(c->up)));
            return 0;
        }
        if (r != ARCHIVE_OK && r != ARCHIVE_WARN) {
            c->over = r == ARCHIVE_FATAL || ++c->n_failed >= MAX_TRIES;
            return fail(c, err);
        }
        if ((rc = link_of(c, e, name, err)) != MT_OK)
            return rc;
    } while (!is_file(e) || (c->told_encrypted && archive_entry_is_encrypted(e)));
    *name = entry_name(c, e, false);
    if (*name == NULL ||
        (b->kind == MT_PACK_TAR && mt_strpool_add(&c->names, *name, strlen(*name)) == MT_STR_FAIL))
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (b->kind == MT_PACK_ZIP && mt_is_data_pkl(*name))
        b->torch_save = true;
    if (archive_entry_is_encrypted(e)) {
        c->told_encrypted = true;
        return mt_fail(err, MT_EINPUT, ENCRYPTED, "member (and maybe others of the archive)");
    }
    c->in_entry = true;
    c->pos = 0;
    rc = mt_source_new(src, entry_read, NULL, c);
    return rc == MT_OK ? 1 : (int)mt_fail(err, rc, "out of memory");
}

static void arc_close(struct mt_box *b)
{
    struct arc *c = (struct arc *)b;
    if (c->a != NULL)
        archive_read_free(c->a);
    if (c->utf8 != (locale_t)0)
        freelocale(c->utf8);
    mt_source_free(c->up);
    mt_strpool_done(&c->names);
    mt_free(c);
}

/* ARCHIVE_WARN from these calls means that libarchive would run an external program: refuse. */
static int enable(struct archive *a, enum mt_pack kind)
{
    switch (kind) {
    case MT_PACK_XZ: return archive_read_support_filter_xz(a);
    case MT_PACK_LZMA: return archive_read_support_filter_lzma(a);
    case MT_PACK_ZSTD: return archive_read_support_filter_zstd(a);
    case MT_PACK_BZIP2: return archive_read_support_filter_bzip2(a);
    case MT_PACK_LZ4: return archive_read_support_filter_lz4(a);
    case MT_PACK_TAR: return archive_read_support_format_tar(a);
    case MT_PACK_ZIP: return archive_read_support_format_zip(a);
    case MT_PACK_7Z: return archive_read_support_format_7zip(a);
    case MT_PACK_NONE:
    case MT_PACK_GZIP:
    case MT_PACK_HTML:
    case MT_PACK_TRACE: break;
    }
    return ARCHIVE_FATAL;
}

/* tars_only: what follows the end mark of a tar has to be another one. */
static enum mt_rc open_archive(struct mt_box **out, struct mt_source *up, enum mt_pack kind,
                               struct mt_raw *file, const struct mt_raw *raw,
                               const struct mt_limits *lim, bool tars_only, struct mt_err *err)
{
    struct arc *c;
    enum mt_rc rc = MT_OK;
    locale_t old = (locale_t)0;
    bool spooled = kind == MT_PACK_7Z && file == NULL;
    if (spooled && (rc = mt_spool_open(&up, up, lim->max_memory / 8, err)) != MT_OK)
        return rc;
    c = mt_calloc(1, sizeof *c);
    if (c == NULL) {
        mt_source_free(up);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    c->box.next = arc_next;
    c->box.close = arc_close;
    c->box.kind = kind;
    c->up = up;
    c->file = file;
    c->spooled = spooled;
    c->size = spooled ? mt_spool_size(up) : file != NULL ? file->size : 0;
    c->raw = raw;
    c->max_ratio = lim->max_ratio;
    c->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    c->a = archive_read_new();
    if (c->a == NULL && errno == MT_NO_LIBRARY) {
        rc = mt_fail(err, MT_EINPUT,
                     "it is packed with %s, and " MT_LIBARCHIVE_REMEDY
                     ": install that, or unpack the file first",
                     mt_pack_name(kind));
        goto out;
    }
    if (c->a == NULL || !mt_strpool_init(&c->names)) {
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
        goto out;
    }
    if (enable(c->a, kind) != ARCHIVE_OK ||
        (!mt_pack_is_container(kind) && archive_read_support_format_raw(c->a) != ARCHIVE_OK)) {
        rc = mt_fail(err, MT_EINPUT,
                     "it is packed with %s, which the libarchive of this machine was built "
                     "without: unpack it first",
                     mt_pack_name(kind));
        goto out;
    }
    /* what `tar` of several nodes wrote to one pipe: another archive follows the end mark */
    c->tars_only = tars_only;
    if (kind == MT_PACK_TAR)
        (void)archive_read_set_format_option(c->a, "tar", "read_concatenated_archives", "1");
    archive_read_set_read_callback(c->a, cb_read);
    if (file != NULL || spooled)
        archive_read_set_seek_callback(c->a, cb_seek);
    archive_read_set_callback_data(c->a, c);
    if (c->utf8 != (locale_t)0)
        old = uselocale(c->utf8);
    if (archive_read_open1(c->a) != ARCHIVE_OK)
        rc = fail(c, err);
    if (old != (locale_t)0)
        uselocale(old);
out:
    if (rc != MT_OK)
        arc_close(&c->box);
    else
        *out = &c->box;
    return rc;
}

enum mt_rc mt_archive_open(struct mt_box **out, struct mt_source *up, enum mt_pack kind,
                           struct mt_raw *file, const struct mt_raw *raw,
                           const struct mt_limits *lim, struct mt_err *err)
{
    return open_archive(out, up, kind, file, raw, lim, false, err);
}

enum mt_rc mt_tars_open(struct mt_box **out, struct mt_source *up, const struct mt_raw *raw,
                        const struct mt_limits *lim, struct mt_err *err)
{
    return open_archive(out, up, MT_PACK_TAR, NULL, raw, lim, true, err);
}

/* libarchive sees a compressed file as an archive of one member; here it becomes a stream. */
static void unpack_close(void *ctx)
{
    struct arc *c = ctx;
    arc_close(&c->box);
}

enum mt_rc mt_unpack_open(struct mt_source **out, struct mt_source *up, enum mt_pack kind,
                          const struct mt_raw *raw, uint32_t max_ratio, struct mt_err *err)
{
    struct mt_limits lim = MT_LIMITS_DEFAULT;
    struct mt_box *b = NULL;
    struct archive_entry *e = NULL;
    struct arc *c;
    enum mt_rc rc;
    int r;
    lim.max_ratio = max_ratio;
    rc = mt_archive_open(&b, up, kind, NULL, raw, &lim, err);
    if (rc != MT_OK || b == NULL)
        return rc;
    c = (struct arc *)b;
    r = next_header(c, &e);
    if (r != ARCHIVE_OK && r != ARCHIVE_WARN && r != ARCHIVE_EOF) {
        rc = fail(c, err);
        arc_close(b);
        return rc;
    }
    c->in_entry = r != ARCHIVE_EOF; /* EOF: compressed emptiness */
    rc = mt_source_new(out, entry_read, unpack_close, c);
    return rc == MT_OK ? MT_OK : mt_fail(err, rc, "out of memory");
}
