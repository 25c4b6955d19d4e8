/* log/cards.c -- what the tools of a driver print of whole cards and of the processes on them:
 * nvidia-smi's table and csv, npu-smi's table, rocm-smi's lines and csv; and torch_npu's list of
 * the parts of CANN. MiB are MiB in all of them, also where they print MB. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

enum {
    CELLS = 24, /* columns that are looked at */
    APART = 4,  /* lines of other writers between two rows of one table */
    FAR = 400,  /* between two rows of a tool that is asked again and again */
};

struct cell {
    const char *p;
    size_t n;
};

static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static struct cell trimmed(const char *p, size_t n)
{
    while (n > 0 && is_blank(*p)) {
        p++;
        n--;
    }
    while (n > 0 && is_blank(p[n - 1]))
        n--;
    return (struct cell){p, n};
}

/* The cells of s between separators, trimmed; at most CELLS. sep ' ': any run of blanks. */
static int split(struct cell out[CELLS], const char *s, size_t n, char sep)
{
    int k = 0;
    const char *end = s + n;
    while (k < CELLS) {
        const char *e;
        if (sep == ' ')
            while (s < end && is_blank(*s))
                s++;
        if (sep == ' ' && s == end)
            break;
        e = sep == ' ' ? s : memchr(s, sep, (size_t)(end - s));
        if (sep == ' ')
            while (e < end && !is_blank(*e))
                e++;
        if (e == NULL)
            e = end;
        out[k++] = trimmed(s, (size_t)(e - s));
        if (e == end)
            break;
        s = e + 1;
    }
    return k;
}

static bool is(struct cell c, const char *word)
{
    return c.n == strlen(word) && memcmp(c.p, word, c.n) == 0;
}

static bool has(struct cell c, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= c.n; i++)
        if (memcmp(c.p + i, word, n) == 0)
            return true;
    return false;
}

/* The whole number that c begins with; *rest: what stands behind it. NONE where it has none. */
static uint64_t number(struct cell c, struct cell *rest)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < c.n && mt_log_is_digit(c.p[i]) && v < UINT64_C(1) << 48; i++)
        v = v * 10 + (uint64_t)(c.p[i] - '0');
    if (rest != NULL)
        *rest = trimmed(c.p + i, c.n - i);
    return i != 0 ? v : MT_LOG_NONE;
}

/* "70000 MiB", "70000MiB", and where the head of the column says so, "70000". */
static uint64_t mib(struct cell c, bool bare)
{
    struct cell unit;
    uint64_t v = number(c, &unit);
    return v != MT_LOG_NONE && (is(unit, "MiB") || (bare && unit.n == 0)) ? v << 20 : MT_LOG_NONE;
}

/* ---- readings ---- */

static struct mt_log_fact *reading(struct mt_log *l, uint64_t line, enum mt_log_kind kind,
                                   int32_t gpu, uint64_t a, uint64_t b, const char *tool)
{
    struct mt_log_fact *f = mt_log_blank(l, kind, line);
    if (f == NULL)
        return NULL;
    f->gpu = gpu;
    f->value[0] = a;
    f->value[1] = b;
    f->platform = strcmp(tool, "npu-smi") == 0 ? 'N' : strcmp(tool, "rocm-smi") == 0 ? 'H' : 0;
    if (kind == MT_LOG_CARD)
        mt_log_keep_text(f, tool, strlen(tool));
    return f;
}

static void card(struct mt_log *l, uint64_t line, int32_t gpu, uint64_t used, uint64_t total,
                 const char *tool)
{
    if (used != MT_LOG_NONE || total != MT_LOG_NONE)
        reading(l, line, MT_LOG_CARD, gpu, used, total, tool);
}

static void process(struct mt_log *l, uint64_t line, int32_t gpu, uint64_t pid, uint64_t bytes,
                    struct cell name, const char *tool)
{
    struct mt_log_fact *f;
    if (pid == MT_LOG_NONE || bytes == MT_LOG_NONE)
        return;
    f = reading(l, line, MT_LOG_CARD_PROC, gpu, pid, bytes, tool);
    if (f != NULL)
        mt_log_keep_text(f, name.p, name.n);
}

/* ---- nvidia-smi's table ---- */

/* Where the row begins, behind what a logger puts before it: at the first bar that is followed by
 * its last one. NULL = no row. */
static const char *row_of(const char *s, size_t *n)
{
    const char *b = strchr(s, '|'), *e = strrchr(s, '|');
    if (b == NULL || e == b)
        return NULL;
    *n = (size_t)(e - b) - 1;
    return b + 1;
}

/* "00000000:18:00.0", "0000:C1:00.0". */
static bool is_bus(struct cell c)
{
    return c.n >= 7 && c.p[c.n - 2] == '.' && c.p[c.n - 5] == ':' && mt_log_is_digit(c.p[c.n - 1]);
}

static bool has_bus(const char *s, size_t n)
{
    struct cell word[CELLS];
    int k = split(word, s, n, ' ');
    for (int i = 0; i < k; i++)
        if (is_bus(word[i]))
            return true;
    return false;
}

/* "|   0  NVIDIA H100 80GB HBM3   On  |   00000000:18:00.0 Off |    0 |": which card the next row
 * is of. */
static bool smi_head(struct mt_log *l, uint64_t line, const char *row, size_t n)
{
    struct cell part[CELLS];
    int k = split(part, row, n, '|');
    uint64_t gpu = number(part[0], NULL);
    /* a container writes a bar of its own before the row */
    int at = gpu == MT_LOG_NONE && k > 1;
    if (at == 1)
        gpu = number(part[1], NULL);
    if (k < at + 2 || gpu == MT_LOG_NONE || gpu > 4096 || !has_bus(part[at + 1].p, part[at + 1].n))
        return false;
    l->card = (int32_t)gpu;
    l->card_line = line;
    return true;
}

/* "| N/A   41C    P0   118W /  700W |   80589MiB /  81559MiB |      0%      Default |" */
static bool smi_memory(struct mt_log *l, uint64_t line, const char *row, size_t n)
{
    struct cell part[CELLS];
    int k = split(part, row, n, '|');
    for (int i = 0; i < k; i++) {
        const char *slash = memchr(part[i].p, '/', part[i].n);
        uint64_t used, total;
        if (slash == NULL)
            continue;
        used = mib(trimmed(part[i].p, (size_t)(slash - part[i].p)), false);
        total = mib(trimmed(slash + 1, (size_t)(part[i].p + part[i].n - slash - 1)), false);
        if (used == MT_LOG_NONE || total == MT_LOG_NONE)
            continue;
        card(l, line, l->card_line != 0 && line - l->card_line <= APART ? l->card : -1, used, total,
             "nvidia-smi");
        l->card_line = 0;
        return true;
    }
    return false;
}

/* "|    0   N/A  N/A     12345      C   ray::WorkerDict     42574MiB |", before 2020 without the
 * instances. */
static bool smi_process(struct mt_log *l, uint64_t line, const char *row, size_t n)
{
    struct cell word[CELLS];
    const char *bar = memchr(row, '|', n); /* a container's */
    int k, type = 0;
    if (bar != NULL) {
        n -= (size_t)(bar + 1 - row);
        row = bar + 1;
    }
    k = split(word, row, n, ' ');
    for (int i = 2; i < k && i < 5 && type == 0; i++)
        if (is(word[i], "C") || is(word[i], "G") || is(word[i], "C+G") || is(word[i], "M+C") ||
            is(word[i], "M"))
            type = i;
    if (type == 0 || type + 2 >= k || number(word[0], NULL) > 4096 ||
        mib(word[k - 1], false) == MT_LOG_NONE)
        return false;
    process(l, line, (int32_t)number(word[0], NULL), number(word[type - 1], NULL),
            mib(word[k - 1], false),
            trimmed(word[type + 1].p, (size_t)(word[k - 1].p - word[type + 1].p)), "nvidia-smi");
    return true;
}

static bool smi_row(struct mt_log *l, uint64_t line, const char *s)
{
    size_t n;
    const char *row = row_of(s, &n);
    return row != NULL && (smi_head(l, line, row, n) || smi_memory(l, line, row, n) ||
                           smi_process(l, line, row, n));
}

/* ---- tables whose head says what their columns are ---- */

enum {
    TABLE_NONE,
    TABLE_SMI_CSV,
    TABLE_NPU,
    TABLE_NPU_PROCESSES,
    TABLE_NPU_PARTS,
    TABLE_ROCM,
    TABLE_ROCM_CSV
};

static void begin(struct mt_log *l, uint64_t line, uint8_t form)
{
    memset(&l->columns, 0, sizeof l->columns);
    l->columns.form = form;
    l->columns.line = line;
    l->columns.gpu = l->columns.pid = l->columns.name = l->columns.used = l->columns.total =
        l->columns.free = -1;
}

/* "index, name, memory.used [MiB], memory.total [MiB]"; "pid, process_name, used_gpu_memory
 * [MiB]". */
static bool csv_head(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS];
    int k;
    if (strstr(s, "[MiB]") == NULL ||
        (strstr(s, "memory.") == NULL && strstr(s, "used_gpu_memory") == NULL &&
         strstr(s, "used_memory") == NULL))
        return false;
    k = split(c, s, strlen(s), ',');
    begin(l, line, TABLE_SMI_CSV);
    l->columns.n = k;
    for (int i = 0; i < k; i++) {
        if (is(c[i], "index"))
            l->columns.gpu = i;
        else if (is(c[i], "pid"))
            l->columns.pid = i;
        else if (is(c[i], "process_name") || is(c[i], "name"))
            l->columns.name = i;
        else if (is(c[i], "memory.used [MiB]") || is(c[i], "used_gpu_memory [MiB]") ||
                 is(c[i], "used_memory [MiB]"))
            l->columns.used = i;
        else if (is(c[i], "memory.total [MiB]"))
            l->columns.total = i;
        else if (is(c[i], "memory.free [MiB]"))
            l->columns.free = i;
    }
    if (k == CELLS || (l->columns.used < 0 && l->columns.total < 0 && l->columns.free < 0))
        l->columns.form = TABLE_NONE;
    return l->columns.form != TABLE_NONE;
}

static uint64_t in_column(const struct cell *c, int at)
{
    return at >= 0 ? mib(c[at], true) : MT_LOG_NONE;
}

/* The cells of a row; a process's name may have commas of its own, and then the cells behind it are
 * counted from the row's end. */
static bool csv_cells(struct cell c[CELLS], const struct mt_log_columns *head, const char *s)
{
    size_t n = strlen(s), end = n;
    int k = split(c, s, n, ','), i = head->n, at = head->name;
    const char *name;
    if (k == head->n)
        return true;
    if (k < head->n || at < 0)
        return false;
    name = c[at].p;
    while (--i > at) {
        while (end > 0 && s[end - 1] != ',')
            end--;
        c[i] = trimmed(s + end, n - end);
        n = --end; /* the comma before it */
    }
    c[i] = trimmed(name, n - (size_t)(name - s));
    return true;
}

static bool csv_row(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS];
    uint64_t used, total, free, gpu;
    if (!csv_cells(c, &l->columns, s))
        return false;
    used = in_column(c, l->columns.used);
    total = in_column(c, l->columns.total);
    free = in_column(c, l->columns.free);
    if (used == MT_LOG_NONE && total == MT_LOG_NONE && free == MT_LOG_NONE)
        return false;
    gpu = l->columns.gpu >= 0 ? number(c[l->columns.gpu], NULL) : MT_LOG_NONE;
    if (l->columns.pid >= 0) {
        process(l, line, -1, number(c[l->columns.pid], NULL), used,
                l->columns.name >= 0 ? c[l->columns.name] : (struct cell){"", 0}, "nvidia-smi");
        return true;
    }
    if (used == MT_LOG_NONE && total != MT_LOG_NONE && free != MT_LOG_NONE && free <= total)
        used = total - free; /* what the driver keeps for itself included */
    card(l, line, mt_log_small(gpu), used, total, "nvidia-smi");
    return true;
}

static void keep_chip(struct mt_log *l, int32_t npu, int32_t chip, int32_t device)
{
    if (l->chips.n < (int)(sizeof l->chips.p / sizeof *l->chips.p))
        l->chips.p[l->chips.n++] = (struct mt_log_chip){npu, chip, device};
}

/* Of a process: by the table above, else as many chips on each NPU as were seen. */
static int32_t device_of(struct mt_log *l, int32_t npu, int32_t chip)
{
    int32_t most = chip, device;
    for (int i = 0; i < l->chips.n; i++) {
        const struct mt_log_chip *c = &l->chips.p[i];
        if (c->npu == npu && c->chip == chip)
            return c->device;
        most = c->chip > most ? c->chip : most;
    }
    device = most < 16 && npu < 4096 ? npu * (most + 1) + chip : npu;
    keep_chip(l, npu, chip, device);
    return device;
}

/* npu-smi: two rows a chip; the memory of the card is HBM, where it has some. "| 0  910B3 | OK |
 * 96.5  50  0 / 0 |" and "| 0 | 0000:C1:00.0 | 0  0 / 0  60100/ 65536 |". Newer ones have the
 * number in a cell of its own, "| 0 | Ascend950PR | OK | ..." and "|  |  | 0000:71:00.0 | ...". */
static bool npu_row(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell part[CELLS], id[CELLS];
    size_t n;
    const char *row = row_of(s, &n), *slash = NULL, *b;
    uint64_t used, total;
    int32_t chip = 0, device = l->card;
    int k = row != NULL ? split(part, row, n, '|') : 0, ids, at = l->columns.gpu == 4 ? 4 : 3;
    if (k < at)
        return false;
    ids = split(id, part[k - at].p, part[k - at].n, ' ');
    if (!is_bus(part[k - 2])) { /* the chip's first row */
        if (ids == 0 || number(id[0], NULL) == MT_LOG_NONE)
            return false;
        l->card = mt_log_small(number(id[0], NULL));
        return true;
    }
    if (at == 3 && (ids == 0 || number(id[0], NULL) == MT_LOG_NONE))
        return false;
    for (const char *p = part[k - 1].p; p < part[k - 1].p + part[k - 1].n; p++)
        slash = *p == '/' ? p : slash;
    if (slash == NULL)
        return false;
    for (b = slash; b > part[k - 1].p && is_blank(b[-1]);)
        b--;
    while (b > part[k - 1].p && mt_log_is_digit(b[-1]))
        b--;
    used = mib(trimmed(b, (size_t)(slash - b)), true);
    total = mib(trimmed(slash + 1, (size_t)(part[k - 1].p + part[k - 1].n - slash - 1)), true);
    if (used == MT_LOG_NONE || total == MT_LOG_NONE)
        return false;
    if (ids > 0)
        chip = mt_log_small(number(id[0], NULL));
    /* two chips on one NPU: the second number is the device's */
    if (ids > 1 && number(id[1], NULL) != MT_LOG_NONE)
        device = mt_log_small(number(id[1], NULL));
    keep_chip(l, l->card, chip, device);
    card(l, line, device, used, total, "npu-smi");
    return true;
}

/* "| 0       0 | 12345 | python | 58100 |", newer ones with a column more. */
static bool npu_process(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell part[CELLS], chip = {"", 0};
    size_t n;
    const char *row = row_of(s, &n);
    int k = row != NULL ? split(part, row, n, '|') : 0;
    uint64_t npu = k >= 4 ? number(part[0], &chip) : MT_LOG_NONE, of = number(chip, NULL);
    if (npu == MT_LOG_NONE || mib(part[3], true) == MT_LOG_NONE)
        return k >= 1 && has(part[0], "No running processes");
    process(l, line, device_of(l, mt_log_small(npu), of != MT_LOG_NONE ? mt_log_small(of) : 0),
            number(part[1], NULL), mib(part[3], true), part[2], "npu-smi");
    return true;
}

/* The second line of its head: cells before "Bus-Id", one or two. */
static void npu_head(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell part[CELLS];
    size_t n;
    const char *row = row_of(s, &n);
    int k = row != NULL ? split(part, row, n, '|') : 0;
    begin(l, line, TABLE_NPU);
    l->columns.gpu = k >= 4 && part[k - 3].n == 0 && part[k - 4].n == 0 ? 4 : 3;
    l->chips.n = 0;
}

/* torch_npu writes a CSV beside its snapshot: "moduleName,curMemSize(MB),memPeakSize(MB)" and
 * "HCCL,412.50,824.00" (NPUCachingAllocator.cpp). */
static bool npu_part(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS];
    uint64_t now, peak;
    struct mt_log_fact *f;
    if (split(c, s, strlen(s), ',') != 3 || c[0].n == 0)
        return false;
    now = mt_log_value_at(c[1].p, "%G");
    peak = mt_log_value_at(c[2].p, "%G");
    if (now == MT_LOG_NONE || peak == MT_LOG_NONE)
        return false;
    f = mt_log_blank(l, MT_LOG_NPU_PART, line);
    if (f == NULL)
        return true;
    f->value[0] = now >> 10; /* they are MiB */
    f->value[1] = peak >> 10;
    f->platform = 'N';
    mt_log_keep_text(f, c[0].p, c[0].n);
    return true;
}

/* rocm-smi --showpids: "2342  python  1  64739328  0  0". */
static bool rocm_process(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS], rest;
    int k = split(c, s, strlen(s), ' ');
    uint64_t pid = k >= 6 ? number(c[0], &rest) : MT_LOG_NONE, bytes;
    if (pid == MT_LOG_NONE || rest.n != 0)
        return false;
    bytes = number(c[k - 3], &rest); /* behind it SDMA and occupancy */
    if (bytes == MT_LOG_NONE || rest.n != 0)
        return false;
    process(l, line, -1, pid, bytes, trimmed(c[1].p, (size_t)(c[k - 4].p - c[1].p)), "rocm-smi");
    return true;
}

/* rocm-smi --showmeminfo vram --csv: "device,VRAM Total Memory (B),VRAM Total Used Memory (B)",
 * older ones with "vram". */
static bool rocm_csv_head(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS];
    int k = split(c, s, strlen(s), ',');
    begin(l, line, TABLE_ROCM_CSV);
    l->columns.n = k;
    for (int i = 0; i < k; i++) {
        if (is(c[i], "device"))
            l->columns.gpu = i;
        else if (is(c[i], "VRAM Total Memory (B)") || is(c[i], "vram Total Memory (B)"))
            l->columns.total = i;
        else if (is(c[i], "VRAM Total Used Memory (B)") || is(c[i], "vram Total Used Memory (B)"))
            l->columns.used = i;
    }
    if (k == CELLS || l->columns.gpu < 0 || l->columns.used < 0)
        l->columns.form = TABLE_NONE;
    return l->columns.form != TABLE_NONE;
}

static uint64_t bytes_in(const struct cell *c, int at)
{
    struct cell rest = {"", 0};
    uint64_t v = at >= 0 ? number(c[at], &rest) : MT_LOG_NONE;
    return rest.n == 0 ? v : MT_LOG_NONE;
}

/* "card6,309220868096,9601277952". A card that does not tell its memory ("card0,N/A,N/A") has no
 * fact, and is a row all the same: the cards behind it belong to this table. */
static bool rocm_csv_row(struct mt_log *l, uint64_t line, const char *s)
{
    struct cell c[CELLS], id;
    uint64_t used;
    int k = split(c, s, strlen(s), ',');
    if (k <= l->columns.gpu)
        return false;
    id = c[l->columns.gpu];
    if (id.n <= 4 || memcmp(id.p, "card", 4) != 0 || !mt_log_is_digit(id.p[4]))
        return false;
    used = k == l->columns.n ? bytes_in(c, l->columns.used) : MT_LOG_NONE;
    if (used != MT_LOG_NONE)
        card(l, line, mt_log_small(number((struct cell){id.p + 4, id.n - 4}, NULL)), used,
             bytes_in(c, l->columns.total), "rocm-smi");
    return true;
}

static bool of_columns(struct mt_log *l, uint64_t line, const char *s)
{
    bool is_row = false;
    if (l->columns.form == TABLE_NONE)
        return false;
    switch (l->columns.form) {
    case TABLE_SMI_CSV: is_row = csv_row(l, line, s); break;
    case TABLE_NPU: is_row = npu_row(l, line, s); break;
    case TABLE_NPU_PROCESSES: is_row = npu_process(l, line, s); break;
    case TABLE_NPU_PARTS: is_row = npu_part(l, line, s); break;
    case TABLE_ROCM: is_row = rocm_process(l, line, s); break;
    case TABLE_ROCM_CSV: is_row = rocm_csv_row(l, line, s); break;
    default: break;
    }
    if (is_row)
        l->columns.line = line;
    else if (line - l->columns.line > (l->columns.form == TABLE_SMI_CSV ? FAR : APART))
        l->columns.form = TABLE_NONE;
    return is_row;
}

/* "GPU[0] : VRAM Total Used Memory (B): 10850304"; the total stands in the line before. What the
 * host can see of it, VIS_VRAM, is a part of the same. */
static bool rocm_line(struct mt_log *l, uint64_t line, const char *s)
{
    const char *p = strstr(s, "GPU["), *bytes;
    got gpu, v;
    if (p == NULL || strstr(p, "VIS_VRAM") != NULL || mt_log_find(p, "GPU[%n]", &gpu) == NULL)
        return false;
    if ((bytes = strstr(p, "VRAM Total Memory (B):")) != NULL &&
        mt_log_find(bytes, "(B): %n", &v) != NULL) {
        l->card = mt_log_small(gpu.v[0]);
        l->card_line = line;
        l->card_total = v.v[0];
        return true;
    }
    if ((bytes = strstr(p, "VRAM Total Used Memory (B):")) == NULL ||
        mt_log_find(bytes, "(B): %n", &v) == NULL)
        return false;
    card(l, line, mt_log_small(gpu.v[0]), v.v[0],
         l->card_line != 0 && line - l->card_line <= APART && l->card == mt_log_small(gpu.v[0])
             ? l->card_total
             : MT_LOG_NONE,
         "rocm-smi");
    return true;
}

static bool is_head(struct mt_log *l, uint64_t line, const char *s)
{
    if (strstr(s, "Memory-Usage(MB)") != NULL || strstr(s, " HBM(MB) ") != NULL)
        npu_head(l, line, s);
    else if (strstr(s, "Process memory") != NULL && strstr(s, "Process id") != NULL)
        begin(l, line, TABLE_NPU_PROCESSES);
    else if (strstr(s, "moduleName,curMemSize(MB),memPeakSize(MB)") != NULL)
        begin(l, line, TABLE_NPU_PARTS);
    else if (strstr(s, "VRAM USED") != NULL && strstr(s, "PID") != NULL)
        begin(l, line, TABLE_ROCM);
    else if (strstr(s, " Total Used Memory (B)") != NULL && strchr(s, ',') != NULL)
        return rocm_csv_head(l, line, s);
    else
        return csv_head(l, line, s);
    return true;
}

int mt_log_cards(struct mt_log *l, uint64_t line, const char *s)
{
    return is_head(l, line, s) || of_columns(l, line, s) || smi_row(l, line, s) ||
           rocm_line(l, line, s);
}
