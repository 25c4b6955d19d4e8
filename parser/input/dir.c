/* input/dir.c -- the files of a directory tree, in byte order of their names. Symbolic links are
 * not followed: a link out of the tree leads to what the user did not name, and a link inside it to
 * a file that is read anyway. */
#include "parser/input/impl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct level {
    char *rel; /* "" = the root, else it ends with '/' */
    MT_VEC(char *) name;
    uint32_t at;
};

struct mt_dir {
    char *root;
    MT_VEC(struct level) level;
    uint64_t n_links;
    uint32_t max_depth;
};

static char *join(const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *s = mt_malloc(n);
    if (s != NULL)
        (void)snprintf(s, n, "%s%s%s", a, b, c);
    return s;
}

static char *join_path(const char *root, const char *rel)
{
    size_t n = strlen(root);
    return join(root, n > 0 && root[n - 1] == '/' ? "" : "/", rel);
}

static void pop(struct mt_dir *d)
{
    struct level *l = &d->level.p[--d->level.n];
    for (uint32_t i = 0; i < l->name.n; i++)
        mt_free(l->name.p[i]);
    MT_VEC_DONE(&l->name);
    mt_free(l->rel);
}

void mt_dir_close(struct mt_dir *d)
{
    if (d == NULL)
        return;
    while (d->level.n > 0)
        pop(d);
    MT_VEC_DONE(&d->level);
    mt_free(d->root);
    mt_free(d);
}

static int by_bytes(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Takes ownership of rel. The names listed before an error are still walked. */
static enum mt_rc push(struct mt_dir *d, char *rel, const char *path, struct mt_err *err)
{
    enum mt_rc rc = MT_OK;
    struct level *l = MT_VEC_PUSH(&d->level);
    DIR *dp = NULL;
    if (l == NULL) {
        mt_free(rel);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    l->rel = rel;
    dp = opendir(path);
    if (dp == NULL) {
        rc = mt_fail(err, MT_EIO, "cannot open the directory: %s", strerror(errno));
        goto out;
    }
    for (;;) {
        char **slot;
        const struct dirent *e;
        errno = 0;
        e = readdir(dp);
        if (e == NULL) {
            if (errno != 0)
                rc = mt_fail(err, MT_EIO, "cannot list the whole directory: %s", strerror(errno));
            break;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        slot = MT_VEC_PUSH(&l->name);
        if (slot == NULL || (*slot = mt_strndup(e->d_name, strlen(e->d_name))) == NULL) {
            l->name.n -= slot != NULL;
            rc = mt_fail(err, MT_ENOMEM, "out of memory while listing the directory");
            break;
        }
    }
    if (l->name.n > 0)
        qsort(l->name.p, l->name.n, sizeof *l->name.p, by_bytes);
out:
    if (dp != NULL)
        closedir(dp);
    return rc;
}

enum mt_rc mt_dir_open(struct mt_dir **out, const char *path, const struct mt_limits *lim,
                       struct mt_err *err)
{
    struct mt_dir *d = mt_calloc(1, sizeof *d);
    char *rel = mt_strndup("", 0);
    enum mt_rc rc;
    if (d == NULL || rel == NULL || (d->root = mt_strndup(path, strlen(path))) == NULL) {
        mt_free(rel);
        mt_dir_close(d);
        return mt_fail(err, MT_ENOMEM, "out of memory");
    }
    d->max_depth = lim->max_depth;
    rc = push(d, rel, path, err);
    if (rc != MT_OK) {
        mt_dir_close(d);
        return rc;
    }
    *out = d;
    return MT_OK;
}

/* Goes into a directory; rel is copied. */
static enum mt_rc enter(struct mt_dir *d, const char *rel, const char *path, struct mt_err *err)
{
    char *sub;
    if (d->level.n >= d->max_depth)
        return mt_fail(err, MT_ELIMIT,
                       "more than %u directories inside each other; deeper ones were not read "
                       "(raise --max-depth)",
                       d->max_depth);
    sub = join(rel, "/", "");
    if (sub == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    return push(d, sub, path, err);
}

int mt_dir_next(struct mt_dir *d, char **rel, char **path, struct mt_err *err)
{
    *rel = *path = NULL;
    while (d->level.n > 0) {
        struct level *l = &d->level.p[d->level.n - 1];
        enum mt_rc rc = MT_OK;
        struct stat st;
        if (l->at == l->name.n) {
            pop(d);
            continue;
        }
        *rel = join(l->rel, l->name.p[l->at++], "");
        *path = *rel != NULL ? join_path(d->root, *rel) : NULL;
        if (*path == NULL) {
            rc = mt_fail(err, MT_ENOMEM, "out of memory");
        } else if (lstat(*path, &st) != 0) {
            rc = mt_fail(err, MT_EIO, "cannot look at it: %s", strerror(errno));
        } else if (S_ISREG(st.st_mode)) {
            return 1;
        } else if (S_ISDIR(st.st_mode)) {
            rc = enter(d, *rel, *path, err);
        } else {
            d->n_links += S_ISLNK(st.st_mode);
        }
        mt_free(*path);
        *path = NULL;
        if (rc != MT_OK)
            return rc;
        mt_free(*rel);
        *rel = NULL;
    }
    return 0;
}

uint64_t mt_dir_links(const struct mt_dir *d) { return d->n_links; }
