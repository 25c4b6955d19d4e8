/* nsys/bytes.c -- SQLite's view of a file: bytes in memory that nothing writes to.
 *
 * sqlite3_deserialize() would do, but libraries of before 3.36 (Debian 11, Ubuntu 20.04, RHEL 8)
 * are built without it. */
#include "parser/nsys/impl.h"

#include <stdio.h>
#include <string.h>

struct file {
    sqlite3_file base;
    const unsigned char *bytes;
    sqlite3_int64 n;
};

static int done(sqlite3_file *f)
{
    (void)f;
    return SQLITE_OK;
}

static int done_flags(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

/* What lies behind the end reads as zeros, and is said to. */
static int read_bytes(sqlite3_file *f, void *to, int want, sqlite3_int64 at)
{
    const struct file *m = (const struct file *)f;
    sqlite3_int64 left = at < m->n ? m->n - at : 0;
    size_t n = left < want ? (size_t)left : (size_t)want;
    if (n != 0)
        memcpy(to, m->bytes + at, n);
    memset((char *)to + n, 0, (size_t)want - n);
    return n == (size_t)want ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int no_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    (void)f, (void)from, (void)n, (void)at;
    return SQLITE_READONLY;
}

static int no_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    (void)f, (void)n;
    return SQLITE_READONLY;
}

static int size_of(sqlite3_file *f, sqlite3_int64 *n)
{
    *n = ((const struct file *)f)->n;
    return SQLITE_OK;
}

static int not_reserved(sqlite3_file *f, int *is)
{
    (void)f;
    *is = 0;
    return SQLITE_OK;
}

static int no_control(sqlite3_file *f, int what, void *arg)
{
    (void)f, (void)what, (void)arg;
    return SQLITE_NOTFOUND;
}

static int is_immutable(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = done,
    .xRead = read_bytes,
    .xWrite = no_write,
    .xTruncate = no_truncate,
    .xSync = done_flags,
    .xFileSize = size_of,
    .xLock = done_flags,
    .xUnlock = done_flags,
    .xCheckReservedLock = not_reserved,
    .xFileControl = no_control,
    .xDeviceCharacteristics = is_immutable,
};

/* The database alone: no journal, no file for sorting. */
static int open_bytes(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *got)
{
    const struct mt_ns *m = v->pAppData;
    struct file *to = (struct file *)f;
    (void)name;
    f->pMethods = NULL;
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
        return SQLITE_CANTOPEN;
    *to = (struct file){{&methods}, m->bytes, (sqlite3_int64)m->n_bytes};
    if (got != NULL)
        *got = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int no_delete(sqlite3_vfs *v, const char *name, int sync)
{
    (void)v, (void)name, (void)sync;
    return SQLITE_READONLY;
}

static int is_not_there(sqlite3_vfs *v, const char *name, int flags, int *is)
{
    (void)v, (void)name, (void)flags;
    *is = 0;
    return SQLITE_OK;
}

static int same_path(sqlite3_vfs *v, const char *name, int n, char *out)
{
    (void)v;
    return snprintf(out, (size_t)n, "%s", name) < n ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* No chance and no clock in what is read: the same bytes, the same report. */
static int zeros(sqlite3_vfs *v, int n, char *out)
{
    (void)v;
    memset(out, 0, (size_t)n);
    return n;
}

static int no_sleep(sqlite3_vfs *v, int us)
{
    (void)v, (void)us;
    return 0;
}

static int no_time(sqlite3_vfs *v, double *out)
{
    (void)v;
    *out = 0;
    return SQLITE_OK;
}

static int no_error(sqlite3_vfs *v, int n, char *out)
{
    (void)v, (void)n, (void)out;
    return 0;
}

int mt_ns_open_bytes(struct mt_ns *m)
{
    int rc;
    snprintf(m->vfs_name, sizeof m->vfs_name, "memtrace-%p",
             (void *)m); /* of many that are read at once */
    m->vfs = (sqlite3_vfs){.iVersion = 1,
                           .szOsFile = sizeof(struct file),
                           .mxPathname = 64,
                           .zName = m->vfs_name,
                           .pAppData = m,
                           .xOpen = open_bytes,
                           .xDelete = no_delete,
                           .xAccess = is_not_there,
                           .xFullPathname = same_path,
                           .xRandomness = zeros,
                           .xSleep = no_sleep,
                           .xCurrentTime = no_time,
                           .xGetLastError = no_error};
    rc = sqlite3_initialize();
    if (rc == SQLITE_OK)
        rc = sqlite3_vfs_register(&m->vfs, 0);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_open_v2("bytes", &m->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, m->vfs_name);
    sqlite3_vfs_unregister(&m->vfs); /* the connection keeps it; nobody else finds it */
    return rc;
}
