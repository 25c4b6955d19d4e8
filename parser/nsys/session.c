/* nsys/session.c -- what the export says of the session: its clock, its machine, whether memory was
 * to be recorded, the cards, and how processes number them. */
#include "parser/nsys/impl.h"

#include <string.h>
#include <strings.h>

enum { NAME = 200 };

static int clock_of(struct mt_ns *m)
{
    static const char *const texts[] = {"SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME",
                                        NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    if (s != NULL && mt_ns_next(m, s)) {
        int64_t ns = sqlite3_column_int64(s, 0);
        if (ns > 0 && ns < INT64_MAX / 2)
            m->epoch_ns = ns;
    }
    sqlite3_finalize(s);
    return !m->fatal;
}

static int machine(struct mt_ns *m)
{
    static const char *const texts[] = {
        "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'", NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    int ok = 1;
    if (s != NULL && mt_ns_next(m, s))
        ok = mt_ns_text(m, s, 0, NAME, &m->host);
    sqlite3_finalize(s);
    return ok && !m->fatal;
}

static int cards(struct mt_ns *m)
{
    static const char *const texts[] = {
        "SELECT id, name, totalMemory, busLocation, uuid FROM TARGET_INFO_GPU",
        "SELECT id, name, totalMemory, busLocation, NULL FROM TARGET_INFO_GPU",
        "SELECT id, name, totalMemory, NULL, NULL FROM TARGET_INFO_GPU",
        "SELECT id, name, NULL, NULL, NULL FROM TARGET_INFO_GPU", NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && !m->fatal && m->cards.n < 4096 && mt_ns_next(m, s)) {
        struct mt_ns_card *c = MT_VEC_PUSH(&m->cards);
        int64_t total = sqlite3_column_int64(s, 2);
        if (c == NULL)
            mt_ns_nomem(m);
        if (m->fatal)
            break;
        memset(c, 0, sizeof *c);
        c->id = sqlite3_column_int64(s, 0);
        c->gpu.total = total > 0 && total < INT64_C(1) << 50 ? (uint64_t)total : 0;
        c->gpu.host = m->host;
        if (!mt_ns_text(m, s, 1, NAME, &c->gpu.name) || !mt_ns_text(m, s, 3, NAME, &c->gpu.pci) ||
            !mt_ns_text(m, s, 4, NAME, &c->gpu.uuid))
            break;
    }
    sqlite3_finalize(s);
    return !m->fatal;
}

static int views(struct mt_ns *m)
{
    static const char *const texts[] = {"SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE",
                                        NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && m->views.n < 65536 && mt_ns_next(m, s)) {
        struct mt_ns_view *v = MT_VEC_PUSH(&m->views);
        if (v == NULL) {
            mt_ns_nomem(m);
            break;
        }
        *v = (struct mt_ns_view){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                                 sqlite3_column_int64(s, 2)};
    }
    sqlite3_finalize(s);
    return !m->fatal;
}

/* "PROCESS_0:COLLECT_GPU_MEMORY_USAGE" = "true", since 2024; on if it was for one process. */
static int option(struct mt_ns *m)
{
    static const char *const texts[] = {"SELECT name, value FROM META_DATA_CAPTURE", NULL};
    static const char want[] = "COLLECT_GPU_MEMORY_USAGE";
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && m->memory_usage != MT_NS_ON && mt_ns_next(m, s)) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        const char *value = (const char *)sqlite3_column_text(s, 1);
        size_t n = name != NULL ? strlen(name) : 0;
        if (n >= sizeof want - 1 && value != NULL &&
            strcmp(name + n - (sizeof want - 1), want) == 0)
            m->memory_usage =
                strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0 ? MT_NS_ON : MT_NS_OFF;
    }
    sqlite3_finalize(s);
    return !m->fatal;
}

int mt_ns_session(struct mt_ns *m)
{
    return clock_of(m) && option(m) && machine(m) && cards(m) && views(m);
}

/* "/usr/bin/python3.11" -> "python3.11" */
static mt_str_id base_name(struct mt_ns *m, mt_str_id path)
{
    const char *s = mt_str(m->t, path), *slash = strrchr(s, '/');
    return slash != NULL ? mt_strpool_add(&m->t->str, slash + 1, strlen(slash + 1)) : path;
}

int mt_ns_processes(struct mt_ns *m)
{
    static const char *const texts[] = {"SELECT globalPid, name FROM PROCESSES", NULL};
    sqlite3_stmt *s = mt_ns_select(m, texts);
    while (s != NULL && mt_ns_next(m, s)) {
        uint64_t uid = (uint64_t)sqlite3_column_int64(s, 0) >> 24;
        for (uint32_t i = 0; i < m->d->processes.n; i++) {
            struct mt_process *p = &m->d->processes.p[i];
            if (p->uid >> 24 != uid)
                continue;
            if (!mt_ns_text(m, s, 1, NAME, &p->exe))
                break;
            p->name = base_name(m, p->exe);
            if (p->name == MT_STR_FAIL) {
                mt_ns_nomem(m);
                break;
            }
        }
        if (m->fatal)
            break;
    }
    sqlite3_finalize(s);
    return !m->fatal;
}
