/* nsys/db.c -- the database: its bytes in memory, opened so that nothing in it runs, and one SELECT
 * at a time.
 *
 * The file is anybody's: views and triggers are off, its schema is not trusted, and nobody but this
 * room's own SELECTs is heard. Pages that point at each other end at a number of steps. */
#include "parser/nsys/impl.h"

#include "parser/base/text.h"
#include "parser/late/late.h"

#include <limits.h>
#include <string.h>

enum {
    STEPS = 1000000, /* of SQLite's machine between two looks at how many there were */
    HEAP = 256 << 20 /* bytes that SQLite itself may hold: its cache is 2 MiB */
};
/* A row takes some 30 steps; a page of 512 bytes, the smallest, holds fewer than 128. */
#define STEPS_A_BYTE 64

int mt_ns_nomem(struct mt_ns *m)
{
    m->fatal = true;
    mt_fail(m->err, MT_ENOMEM, "out of memory after %llu MiB (--max-memory)",
            (unsigned long long)(mt_mem_used() >> 20));
    return 0;
}

/* All of the stream. What is cut is still a database. */
static int load(struct mt_ns *m)
{
    struct mt_source *s = m->src;
    size_t cap = 0;
    for (;;) {
        size_t n = mt_source_need(s, 1);
        if (n == 0)
            return 1;
        if (m->n_bytes + n > cap) {
            size_t want = cap < 1 << 20 ? 1 << 20 : cap + cap / 2;
            unsigned char *p;
            want = want < m->n_bytes + n ? m->n_bytes + n : want;
            p = mt_realloc(m->bytes, want);
            if (p == NULL)
                return mt_ns_nomem(m);
            m->bytes = p;
            cap = want;
        }
        memcpy(m->bytes + m->n_bytes, s->cur, n);
        m->n_bytes += n;
        s->cur += n;
    }
}

static int too_long(void *arg)
{
    struct mt_ns *m = arg;
    return (m->steps += STEPS) > STEPS + (uint64_t)m->n_bytes * STEPS_A_BYTE;
}

/* No function of SQL, no table that is none, nothing that writes. */
static int allowed(void *arg, int action, const char *a, const char *b, const char *c,
                   const char *d)
{
    (void)arg, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static int refuse(struct mt_ns *m, int rc)
{
    m->fatal = true;
    if (rc == MT_NO_SQLITE) {
        mt_fail(m->err, MT_EINPUT,
                "an SQLite database, as Nsight Systems exports, and " MT_SQLITE_REMEDY
                "; install that");
        return 0;
    }
    mt_fail(m->err, MT_EINPUT,
            "an SQLite database, as Nsight Systems exports, that cannot be opened: %s",
            m->db != NULL ? sqlite3_errmsg(m->db) : "out of memory");
    return 0;
}

int mt_ns_open(struct mt_ns *m)
{
    int rc;
    if (!load(m))
        return 0;
    if (m->n_bytes >= 20 && m->bytes[18] == 2) /* its log of writes is another file */
        m->bytes[18] = m->bytes[19] = 1;
    sqlite3_hard_heap_limit64(HEAP);
    if ((rc = mt_ns_open_bytes(m)) != SQLITE_OK)
        return refuse(m, rc);
    sqlite3_db_config(m->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(m->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(m->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(m->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(m->db, SQLITE_LIMIT_LENGTH,
                  m->lim->max_string < INT_MAX ? (int)m->lim->max_string : INT_MAX);
    sqlite3_limit(m->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(m->db, STEPS, too_long, m);
    /* sorting in memory: no file is made beside it */
    if ((rc = sqlite3_exec(m->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL)) != SQLITE_OK)
        return refuse(m, rc);
    sqlite3_set_authorizer(m->db, allowed, NULL);
    return 1;
}

void mt_ns_close(struct mt_ns *m)
{
    sqlite3_close(m->db);
    mt_free(m->bytes);
}

static void damaged(struct mt_ns *m, const char *what)
{
    char text[160];
    mt_printable(text, sizeof text, what, strlen(what));
    mt_trace_diag(m->t, MT_DIAG_DAMAGE, false, 0,
                  "the database is damaged after %llu rows (%s): what follows in that table is "
                  "missing",
                  (unsigned long long)m->n_rows, text);
}

bool mt_ns_has(struct mt_ns *m, const char *table)
{
    sqlite3_stmt *s = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(m->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1",
                           -1, &s, NULL) == SQLITE_OK &&
        sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC) == SQLITE_OK)
        found = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    return found;
}

sqlite3_stmt *mt_ns_select(struct mt_ns *m, const char *const *texts)
{
    for (; *texts != NULL && !m->fatal; texts++) {
        sqlite3_stmt *s = NULL;
        int rc = sqlite3_prepare_v2(m->db, *texts, -1, &s, NULL);
        if (rc == SQLITE_OK)
            return s;
        if (rc == SQLITE_NOMEM)
            mt_ns_nomem(m);
    }
    return NULL;
}

int mt_ns_next(struct mt_ns *m, sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW && m->n_rows >= m->lim->max_events) {
        m->fatal = true;
        mt_fail(m->err, MT_ELIMIT, "more than %llu rows (raise --max-events)",
                (unsigned long long)m->lim->max_events);
        return 0;
    }
    if (rc == SQLITE_ROW) {
        m->n_rows++;
        return 1;
    }
    if (rc == SQLITE_NOMEM)
        return mt_ns_nomem(m);
    if (rc != SQLITE_DONE)
        damaged(m, sqlite3_errmsg(m->db));
    return 0;
}

int mt_ns_text(struct mt_ns *m, sqlite3_stmt *s, int column, size_t most, mt_str_id *id)
{
    const unsigned char *p = sqlite3_column_text(s, column);
    int n = sqlite3_column_bytes(s, column);
    size_t len = p != NULL && n > 0 ? (size_t)n : 0;
    *id = mt_strpool_add(&m->t->str, len != 0 ? (const char *)p : "", len < most ? len : most);
    return *id != MT_STR_FAIL || mt_ns_nomem(m);
}
