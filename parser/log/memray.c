/* log/memray.c -- what `memray stats --json` writes: the peak of one process's host memory, and the
 * lines that allocated most. The recording itself is read by parser/memray.
 *
 * An object of numbers, of rows {"location": "init:/job/actor.py:92", "size": n}, and of
 * "metadata", a key a line or all in one. Rows by "count" are passed over. Source:
 * src/memray/reporters/stats.py. */
#include "parser/log/match.h"

#include <string.h>

/* Lines from the first to the last: ten of a histogram, five by size and five by count, unless -n
 * asks for more. */
enum { LENGTH = 400 };

/* The object that is being read; NULL = none. */
static struct mt_log_fact *open_one(struct mt_log *l, uint64_t number)
{
    for (uint32_t i = l->facts.n; i-- > 0;) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (f->kind == MT_LOG_HEAP)
            return number - f->line <= LENGTH ? f : NULL;
        if (f->kind != MT_LOG_HEAP_PLACE)
            return NULL;
    }
    return NULL;
}

static size_t string_length(const char *p)
{
    size_t n = 0;
    while (p[n] != '\0' && p[n] != '"')
        n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
    return n;
}

/* "init:/job/megatron/actor.py:92" -> "megatron/actor.py:92 init": as a frame is named elsewhere.
 */
static void keep_place(struct mt_log_fact *f, const char *p, size_t n)
{
    const char *colon = memchr(p, ':', n), *file;
    char words[sizeof f->text];
    size_t all, name, dirs = 0;
    if (colon == NULL || (size_t)(colon + 1 - p) == n) {
        mt_log_keep_text(f, p, n);
        return;
    }
    for (file = p + n; file > colon + 1 && (file[-1] != '/' || ++dirs < 2); file--)
        ;
    all = (size_t)(p + n - file);
    name = (size_t)(colon - p);
    if (all >= sizeof words - 1)
        all = sizeof words - 2;
    if (name > sizeof words - all - 1)
        name = sizeof words - all - 1;
    memcpy(words, file, all);
    words[all] = ' ';
    memcpy(words + all + 1, p, name);
    mt_log_keep_text(f, words, all + 1 + name);
}

/* A row is a fact once its size is known: its place stands before that. */
static void place(struct mt_log *l, uint64_t number, const char *p)
{
    struct mt_log_fact *f;
    if (*p == '"' && (f = mt_log_blank(l, MT_LOG_HEAP_PLACE, number)) != NULL)
        keep_place(f, p + 1, string_length(p + 1));
}

static struct mt_log_fact *last_place(struct mt_log *l)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    return f != NULL && f->kind == MT_LOG_HEAP_PLACE && f->value[0] == MT_LOG_NONE ? f : NULL;
}

/* One key of the object; p behind its first quote. False where it is none of interest. */
static bool key(struct mt_log *l, uint64_t number, const char *p)
{
    static const struct {
        const char *key;
        uint8_t at;
    } numbers[] = {{"total_bytes_allocated", 1}, {"total_num_allocations", 2}, {"peak_memory", 0}};
    struct mt_log_fact *f = open_one(l, number), *row;
    const char *v;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t n;
        if ((v = mt_log_json_value(p, numbers[i].key)) == NULL)
            continue;
        n = mt_log_value_at(v, "%n");
        /* the first key opens it */
        if (numbers[i].at == 2 && (f == NULL || f->value[2] != MT_LOG_NONE))
            f = mt_log_blank(l, MT_LOG_HEAP, number);
        if (f == NULL || n == MT_LOG_NONE)
            return f != NULL;
        f->value[numbers[i].at] = n;
        return true;
    }
    if (f == NULL)
        return false;
    row = last_place(l);
    if ((v = mt_log_json_value(p, "location")) != NULL)
        place(l, number, v);
    else if (row != NULL && (v = mt_log_json_value(p, "size")) != NULL)
        row->value[0] = mt_log_value_at(v, "%n");
    else if (row != NULL && mt_log_json_value(p, "count") != NULL)
        l->facts.n--;
    else if ((v = mt_log_json_value(p, "pid")) != NULL && mt_log_value_at(v, "%n") <= INT32_MAX)
        f->pid = (int64_t)mt_log_value_at(v, "%n");
    else if ((v = mt_log_json_value(p, "command_line")) != NULL && *v == '"')
        mt_log_keep_text(f, v + 1, string_length(v + 1));
    else
        return false;
    return true;
}

int mt_log_memray(struct mt_log *l, uint64_t number, const char *s)
{
    bool found = false;
    if (open_one(l, number) == NULL && strstr(s, "\"total_num_allocations\"") == NULL)
        return 0;
    for (const char *p = s; (p = strchr(p, '"')) != NULL;) {
        found |= key(l, number, ++p);
        p += string_length(p);
        p += *p == '"';
    }
    return found;
}
