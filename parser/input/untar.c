#include "parser/input/untar.h"

#include "parser/input/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 65536 };

/* 0, or errno. */
static int write_all(int fd, const unsigned char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k < 0 ? errno : ENOSPC;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static enum mt_rc copy(int fd, struct mt_source *src, const char *name, struct mt_err *err)
{
    size_t n;
    while ((n = mt_source_need(src, 1)) > 0) {
        int e;
        n = n < BLOCK ? n : BLOCK;
        if ((e = write_all(fd, src->cur, n)) != 0)
            return mt_fail(err, MT_EIO, "%s cannot be written: %s", name, strerror(e));
        src->cur += n;
    }
    if (src->status != MT_OK)
        *err = src->err;
    return src->status;
}

static enum mt_rc write_file(struct mt_untar *u, struct mt_source *src, const char *name,
                             struct mt_err *err)
{
    char path[4096];
    enum mt_rc rc;
    int fd;
    if (snprintf(path, sizeof path, "%s/%s", u->dir, name) >= (int)sizeof path)
        return mt_fail(err, MT_EINPUT, "its name is too long");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST
                   ? mt_fail(err, MT_EINPUT, "%s is in it, and was in what came before", name)
                   : mt_fail(err, MT_EIO, "%s cannot be written: %s", path, strerror(errno));
    rc = copy(fd, src, name, err);
    if (close(fd) != 0 && rc == MT_OK)
        rc = mt_fail(err, MT_EIO, "%s cannot be written: %s", path, strerror(errno));
    u->n_files++;
    return rc;
}

/* One member; a negative r is what next() said of it. */
static enum mt_rc take(struct mt_untar *u, struct mt_source *src, const char *member,
                       struct mt_err *err)
{
    const char *slash = strrchr(member, '/');
    const char *name = slash != NULL ? slash + 1 : member;
    if (!u->is_wanted(name))
        return MT_OK;
    if (!mt_budget_file(u->opts->budget, &u->opts->limits))
        return mt_fail(err, MT_ELIMIT, "more than %u files; raise --max-members",
                       u->opts->limits.max_members);
    src->max_bytes = u->opts->limits.max_bytes;
    return write_file(u, src, name, err);
}

static enum mt_rc walk(struct mt_untar *u, struct mt_box *box, struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    for (;;) {
        struct mt_source *src = NULL;
        char *name = NULL;
        struct mt_err why;
        int r;
        memset(&why, 0, sizeof why);
        r = box->next(box, &src, &name, &why);
        if (r == 1)
            r = (int)take(u, src, name, &why);
        else if (r == 0)
            return rc;
        mt_source_free(src);
        mt_free(name);
        if (r < 0) {
            rc = (enum mt_rc)r;
            *err = why;
        }
        if (r < 0 && rc != MT_EINPUT)
            return rc;
    }
}

/* Takes the wrappings off. *src is owned by *box afterwards. */
static enum mt_rc open_tar(struct mt_box **box, struct mt_source *src, const struct mt_raw *raw,
                           const struct mt_limits *lim, struct mt_err *err)
{
    for (uint32_t layer = 0; layer < MT_MAX_LAYERS; layer++) {
        enum mt_pack p = mt_pack_sniff(src);
        enum mt_rc rc;
        if (p == MT_PACK_TAR)
            return mt_tars_open(box, src, raw, lim, err);
        if (p == MT_PACK_NONE || mt_pack_is_container(p))
            break;
        rc = p == MT_PACK_GZIP ? mt_gzip_open(&src, src, NULL, raw, lim->max_ratio, NULL, err)
                               : mt_unpack_open(&src, src, p, raw, lim->max_ratio, err);
        if (rc != MT_OK)
            return rc;
    }
    mt_source_free(src);
    return mt_fail(err, MT_EINPUT, "it is no tar file");
}

enum mt_rc mt_untar(struct mt_untar *u, const char *path, struct mt_err *err)
{
    struct mt_raw raw;
    struct mt_source *src = NULL;
    struct mt_box *box = NULL;
    struct mt_err why;
    char shown[MT_INPUT_SHOWN];
    enum mt_rc rc;
    memset(&why, 0, sizeof why);
    rc = mt_raw_open(&raw, path, false, u->opts, &why);
    if (rc == MT_OK) {
        rc = mt_raw_source(&raw, &src);
        if (rc == MT_OK)
            rc = open_tar(&box, src, &raw, &u->opts->limits, &why);
        if (rc == MT_OK)
            rc = walk(u, box, &why);
        if (box != NULL)
            box->close(box);
        mt_raw_close(&raw);
    }
    if (rc == MT_OK)
        return rc;
    return mt_fail(err, rc, "%s: %s",
                   strcmp(path, "-") == 0 ? "standard input" : mt_input_shown(shown, path),
                   why.msg);
}
