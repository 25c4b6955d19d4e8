/* libsqlite3.c -- the functions of SQLite that the program calls, each by the name it has there: a
 * row that is missing here fails at link time. Parameters have the names of its header. Where the
 * library is missing, the first call of a reader says so, sqlite3_initialize() with
 * SQLITE_NOTFOUND, and no other follows. */
#include "parser/late/impl.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
/* not to be seen by the library itself, which finds its own functions by these names */
#pragma GCC visibility push(hidden)
#include <sqlite3.h>
#pragma GCC visibility pop

#define GIVES(F)                                                                                   \
    F(NULL, const char *, sqlite3_libversion, (void), ())                                          \
    F(SQLITE_NOTFOUND, int, sqlite3_initialize, (void), ())                                        \
    F(-1, sqlite3_int64, sqlite3_hard_heap_limit64, (sqlite3_int64 n), (n))                        \
    F(SQLITE_NOTFOUND, int, sqlite3_vfs_register, (sqlite3_vfs * v, int makeDflt), (v, makeDflt))  \
    F(SQLITE_NOTFOUND, int, sqlite3_vfs_unregister, (sqlite3_vfs * v), (v))                        \
    F(SQLITE_NOTFOUND, int, sqlite3_open_v2,                                                       \
      (const char *name, sqlite3 **db, int flags, const char *vfs), (name, db, flags, vfs))        \
    F(SQLITE_OK, int, sqlite3_close, (sqlite3 * db), (db))                                         \
    F("no SQLite", const char *, sqlite3_errmsg, (sqlite3 * db), (db))                             \
    F(-1, int, sqlite3_limit, (sqlite3 * db, int id, int newVal), (db, id, newVal))                \
    F(SQLITE_NOTFOUND, int, sqlite3_set_authorizer,                                                \
      (sqlite3 * db,                                                                               \
       int (*xAuth)(void *, int, const char *, const char *, const char *, const char *),          \
       void *pUserData),                                                                           \
      (db, xAuth, pUserData))                                                                      \
    F(SQLITE_NOTFOUND, int, sqlite3_exec,                                                          \
      (sqlite3 * db, const char *sql, int (*callback)(void *, int, char **, char **), void *ctx,   \
       char **errmsg),                                                                             \
      (db, sql, callback, ctx, errmsg))                                                            \
    F(SQLITE_NOTFOUND, int, sqlite3_prepare_v2,                                                    \
      (sqlite3 * db, const char *sql, int n, sqlite3_stmt **ppStmt, const char **tail),            \
      (db, sql, n, ppStmt, tail))                                                                  \
    F(SQLITE_NOTFOUND, int, sqlite3_bind_text,                                                     \
      (sqlite3_stmt * s, int at, const char *text, int n, void (*done)(void *)),                   \
      (s, at, text, n, done))                                                                      \
    F(SQLITE_NOTFOUND, int, sqlite3_step, (sqlite3_stmt * s), (s))                                 \
    F(SQLITE_OK, int, sqlite3_finalize, (sqlite3_stmt * pStmt), (pStmt))                           \
    F(SQLITE_NULL, int, sqlite3_column_type, (sqlite3_stmt * s, int iCol), (s, iCol))              \
    F(0, int, sqlite3_column_bytes, (sqlite3_stmt * s, int iCol), (s, iCol))                       \
    F(0, sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt * s, int iCol), (s, iCol))             \
    F(NULL, const unsigned char *, sqlite3_column_text, (sqlite3_stmt * s, int iCol), (s, iCol))

#define GIVES_NOTHING(F)                                                                           \
    F(sqlite3_progress_handler, (sqlite3 * db, int steps, int (*ask)(void *), void *ctx),          \
      (db, steps, ask, ctx))

static struct {
    GIVES(MT_LATE_SLOT)
    GIVES_NOTHING(MT_LATE_SLOT_OF_NOTHING)
    __typeof__(sqlite3_db_config) *sqlite3_db_config;
    bool is_there;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void)
{
    void *library = dlopen(MT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    real.is_there = library != NULL &&
                    mt_late_find(library, &real.sqlite3_db_config, "sqlite3_db_config")
                        GIVES(MT_LATE_FIND) GIVES_NOTHING(MT_LATE_FIND_OF_NOTHING);
}

static bool is_there(void)
{
    (void)pthread_once(&once, open_library);
    return real.is_there;
}

GIVES(MT_LATE_PASS_ON)
GIVES_NOTHING(MT_LATE_PASS_ON_NOTHING)

/* Of its forms the one that switches something on or off, and does not ask what it was. */
int sqlite3_db_config(sqlite3 *db, int op, ...)
{
    va_list args;
    int on;
    va_start(args, op);
    on = va_arg(args, int);
    va_end(args);
    return is_there() ? real.sqlite3_db_config(db, op, on, NULL) : SQLITE_NOTFOUND;
}
