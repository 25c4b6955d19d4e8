/* log/npu_record.c -- memory_record.csv of torch_npu's profiler: what the parts of a process had
 * allocated and reserved on an NPU, a row for each change. APP is the whole process, as the driver
 * counts it; PTA is PyTorch's pool, GE that of CANN's graph engine. Only the highest of each is
 * kept: a table has hundreds of thousands of rows. Sources: _memory_view_parser.py,
 * _npu_mem_bean.py and _ge_memory_record_bean.py of torch_npu's profiler (Ascend/pytorch). CANN's
 * own table (memory_record_*.csv) has the same columns in KB. */
#include "parser/log/match.h"

#include <string.h>

enum { PARTS = 64 }; /* of one table: parts times devices */

static const char *of_head(const char *s, uint8_t *shift)
{
    static const char mib[] = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB)",
                      kib[] = "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB)";
    const char *p = strstr(s, mib);
    *shift = p != NULL ? 20 : 10;
    return p != NULL ? p : strstr(s, kib);
}

/* The cell that begins at s, without its blanks; *behind: the next one, NULL = it is the last. */
static size_t cell(const char *s, const char **behind)
{
    const char *comma = strchr(s, ',');
    size_t n = comma != NULL ? (size_t)(comma - s) : strlen(s);
    *behind = comma != NULL ? comma + 1 : NULL;
    while (n > 0 && (s[n - 1] == '\t' || s[n - 1] == ' ' || s[n - 1] == '\r'))
        n--;
    return n;
}

/* A number of the unit of the table, as bytes: all of its decimals count, 512 bytes have eleven. */
static uint64_t amount(const struct mt_log *l, const char *s, size_t n)
{
    uint64_t whole = 0, part = 0, scale = 1;
    size_t i = 0;
    for (; i < n && mt_log_is_digit(s[i]) && whole < UINT64_C(1) << 40; i++)
        whole = whole * 10 + (uint64_t)(s[i] - '0');
    if (i == 0)
        return MT_LOG_NONE;
    if (i < n && s[i] == '.')
        for (i++; i < n && mt_log_is_digit(s[i]); i++)
            if (scale < UINT64_C(1000000000000)) {
                part = part * 10 + (uint64_t)(s[i] - '0');
                scale *= 10;
            }
    if (i < n)
        return MT_LOG_NONE;
    return (whole << l->npu_record.shift) + ((part << l->npu_record.shift) + scale / 2) / scale;
}

/* The fact of that part on that device in the table that is read; a new one where it has none. */
static struct mt_log_fact *fact_of(struct mt_log *l, uint64_t line, const char *part, size_t n,
                                   int32_t device)
{
    struct mt_log_fact *f;
    for (uint32_t i = l->npu_record.first; i < l->facts.n; i++) {
        f = &l->facts.p[i];
        if (f->kind == MT_LOG_NPU_RECORD && f->gpu == device && strlen(f->text) == n &&
            memcmp(f->text, part, n) == 0)
            return f;
    }
    if (l->npu_record.n >= PARTS || (f = mt_log_blank(l, MT_LOG_NPU_RECORD, line)) == NULL)
        return NULL;
    l->npu_record.n++;
    f->gpu = device;
    f->platform = 'N';
    mt_log_keep_text(f, part, n);
    return f;
}

static void higher(uint64_t *most, uint64_t v)
{
    if (v != MT_LOG_NONE && (*most == MT_LOG_NONE || v > *most))
        *most = v;
}

static bool row(struct mt_log *l, uint64_t line, const char *s)
{
    const char *part, *at, *next = s, *npu = strstr(s, ",NPU:");
    size_t n_part, n;
    uint64_t allocated, reserved, device = npu != NULL ? mt_log_value_at(npu + 5, "%n") : 0;
    struct mt_log_fact *f;
    if (npu == NULL || device == MT_LOG_NONE)
        return false;
    for (int i = 0; i < l->npu_record.skip && next != NULL; i++)
        cell(next, &next);
    if ((part = next) == NULL || (n_part = cell(part, &next)) == 0 || n_part > 31 || next == NULL)
        return false;
    cell(next, &next); /* the time */
    if ((at = next) == NULL)
        return false;
    n = cell(at, &next);
    allocated = amount(l, at, n);
    if ((at = next) == NULL)
        return false;
    n = cell(at, &next);
    reserved = amount(l, at, n);
    if (allocated == MT_LOG_NONE && reserved == MT_LOG_NONE)
        return false;
    if (memchr(part, '+', n_part) != NULL) /* "PTA+GE": a sum of others */
        return true;
    if ((f = fact_of(l, line, part, n_part, mt_log_small(device))) == NULL)
        return true;
    if (reserved != MT_LOG_NONE && (f->value[1] == MT_LOG_NONE || reserved > f->value[1]))
        f->line = line;
    higher(&f->value[0], allocated);
    higher(&f->value[1], reserved);
    return true;
}

int mt_log_npu_record(struct mt_log *l, uint64_t line, const char *s)
{
    uint8_t shift;
    const char *head = of_head(s, &shift);
    if (head != NULL) {
        l->npu_record.on = true;
        l->npu_record.shift = shift;
        l->npu_record.skip = 0;
        for (const char *p = s; p < head; p++)
            l->npu_record.skip += *p == ',';
        l->npu_record.first = l->facts.n;
        l->npu_record.n = 0;
        return 1;
    }
    return l->npu_record.on && row(l, line, s);
}
