/* log/counters.c -- what PyTorch's allocator counts of itself: the table of
 * torch.cuda.memory_summary() and the dictionary of memory_stats(), printed or as JSON. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* Lines from the first of a table or of a dictionary with a key a line to its last: 28 rows, some
 * 90 keys, and what others write in between. */
enum { LENGTH = 200 };

/* The counters that are being read; NULL = the lines before were of none, or the last ones have
 * this value. */
static struct mt_log_fact *open_one(struct mt_log *l, uint64_t number, const char *text,
                                    enum mt_log_counter which)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    return f != NULL && f->kind == MT_LOG_COUNTERS && number - f->line <= LENGTH &&
                   strcmp(f->text, text) == 0 && f->value[which] == MT_LOG_NONE
               ? f
               : NULL;
}

static void set(struct mt_log *l, uint64_t number, const char *line, const char *text,
                enum mt_log_counter which, uint64_t v)
{
    struct mt_log_fact *f = open_one(l, number, text, which);
    if (f == NULL) {
        f = mt_log_add(l, MT_LOG_COUNTERS, number, line);
        if (f == NULL)
            return;
        mt_log_keep_text(f, text, strlen(text));
    }
    f->value[which] = v;
}

/* "  15159 MB |": a cell of the table. Units to 1.13 are called KB and MB, all are powers of two;
 * "B  " has none. */
static const char *cell(const char *p, uint64_t *out)
{
    static const char units[] = "BKMGTP";
    const char *unit;
    uint64_t v = 0;
    unsigned shift;
    p += strspn(p, " ");
    if (*p < '0' || *p > '9')
        return NULL;
    for (; *p >= '0' && *p <= '9' && v < UINT64_C(1) << 40; p++)
        v = v * 10 + (uint64_t)(*p - '0');
    p += strspn(p, " ");
    unit = *p != '\0' ? strchr(units, *p) : NULL;
    if (unit == NULL)
        return NULL;
    shift = 10u * (unsigned)(unit - units);
    if (shift != 0 && v >> (63 - shift) != 0)
        return NULL;
    p += strspn(p, "BKMGTPi");
    p += strspn(p, " ");
    *out = v << shift;
    return *p == '|' ? p + 1 : NULL;
}

/* "| Allocated memory      |   15159 MB |   15160 MB |   20459 MB |    5300 MB |" */
static bool row(struct mt_log *l, uint64_t number, const char *s)
{
    static const struct {
        const char *name;
        enum mt_log_counter now;
        int peak; /* -1 = not kept */
    } rows[] = {
        {"Allocated memory", MT_LC_ALLOCATED, MT_LC_ALLOCATED_PEAK},
        {"Active memory", MT_LC_ACTIVE, -1},
        {"Requested memory", MT_LC_REQUESTED, -1},
        {"GPU reserved memory", MT_LC_RESERVED, MT_LC_RESERVED_PEAK},
        {"NPU reserved memory", MT_LC_RESERVED, MT_LC_RESERVED_PEAK},
        {"Non-releasable memory", MT_LC_SPLIT, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *p = strstr(s, rows[i].name);
        uint64_t now, peak;
        if (p == NULL)
            continue;
        p += strlen(rows[i].name);
        p += strspn(p, " ");
        if (*p != '|' || (p = cell(p + 1, &now)) == NULL || cell(p, &peak) == NULL)
            return false;
        set(l, number, s, "memory_summary", rows[i].now, now);
        if (rows[i].peak >= 0)
            set(l, number, s, "memory_summary", (enum mt_log_counter)rows[i].peak, peak);
        return true;
    }
    return false;
}

static bool head(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    got g;
    if (mt_log_find(s, " memory summary, device ID %n", &g) != NULL) {
        f = mt_log_add(l, MT_LOG_COUNTERS, number, s);
        if (f != NULL) {
            mt_log_keep_text(f, "memory_summary", 14);
            f->gpu = mt_log_small(g.v[0]);
            f->platform = strstr(s, "NPU memory summary") != NULL ? 'N' : 0;
        }
        return true;
    }
    if (mt_log_find(s, "| CUDA OOMs: %n", &g) == NULL &&
        mt_log_find(s, "| NPU OOMs: %n", &g) == NULL)
        return false;
    set(l, number, s, "memory_summary", MT_LC_OOMS, g.v[0]);
    if (mt_log_find(s, "Malloc retries: %n", &g) != NULL)
        set(l, number, s, "memory_summary", MT_LC_RETRIES, g.v[0]);
    return true;
}

/* The number behind a key, as Python or JSON writes it: "'num_ooms', 1)", "\"num_ooms\": 1". */
static uint64_t behind(const char *p)
{
    p += *p == '"' || *p == '\'';
    p += strspn(p, " ");
    p += *p == ',' || *p == ':';
    p += strspn(p, " ");
    return mt_log_value_at(p, "%n");
}

static bool keys(struct mt_log *l, uint64_t number, const char *s)
{
    static const struct {
        const char *key;
        enum mt_log_counter which;
    } known[] = {
        {"allocated_bytes.all.current", MT_LC_ALLOCATED},
        {"allocated_bytes.all.peak", MT_LC_ALLOCATED_PEAK},
        {"reserved_bytes.all.current", MT_LC_RESERVED},
        {"reserved_bytes.all.peak", MT_LC_RESERVED_PEAK},
        {"requested_bytes.all.current", MT_LC_REQUESTED},
        {"inactive_split_bytes.all.current", MT_LC_SPLIT},
        {"active_bytes.all.current", MT_LC_ACTIVE},
        {"num_alloc_retries", MT_LC_RETRIES},
        {"num_ooms", MT_LC_OOMS},
    };
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].key);
        for (const char *p = s; (p = strstr(p, known[i].key)) != NULL; p += n) {
            uint64_t v = behind(p + n);
            /* "unallocated_bytes.all.current" is another key */
            if (v == MT_LOG_NONE || (p != s && (p[-1] == '_' || (p[-1] | 32) >= 'a')))
                continue;
            set(l, number, s, "memory_stats", known[i].which, v);
            found = true;
        }
    }
    return found;
}

int mt_log_counters(struct mt_log *l, uint64_t number, const char *s)
{
    return head(l, number, s) || row(l, number, s) || keys(l, number, s);
}
