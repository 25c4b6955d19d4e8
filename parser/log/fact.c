/* log/fact.c -- one fact, and who wrote its line. */
#include "parser/log/match.h"

#include <string.h>

int32_t mt_log_small(uint64_t v) { return v <= INT32_MAX ? (int32_t)v : -1; }

/* Lines that are printed again and again: a failure has to find room behind them. */
static bool is_repeated(enum mt_log_kind k)
{
    return k == MT_LOG_TORCH_USAGE || k == MT_LOG_HOST_USAGE || k == MT_LOG_COUNTERS ||
           k == MT_LOG_CARD || k == MT_LOG_CARD_PROC || k == MT_LOG_RETRIED ||
           k == MT_LOG_VLLM_BEGUN || k == MT_LOG_SGLANG_BEGUN || k == MT_LOG_SAVE_BEGUN;
}

bool mt_log_is_of_start(enum mt_log_kind k)
{
    return (k >= MT_LOG_VLLM_WEIGHTS && k <= MT_LOG_VLLM_GRAPHS) || k == MT_LOG_VLLM_BEGUN ||
           k == MT_LOG_SGLANG_BEGUN || (k >= MT_LOG_SGLANG_WEIGHTS && k <= MT_LOG_SGLANG_GRAPHS);
}

struct mt_log_fact *mt_log_blank(struct mt_log *l, enum mt_log_kind kind, uint64_t number)
{
    struct mt_log_fact *f;
    if (l->facts.n >= (is_repeated(kind) ? MT_LOG_MAX_FACTS / 4 * 3 : MT_LOG_MAX_FACTS)) {
        l->n_dropped++;
        return NULL;
    }
    f = MT_VEC_PUSH(&l->facts);
    if (f == NULL) {
        l->no_memory = true;
        return NULL;
    }
    f->kind = kind;
    f->line = number;
    for (int i = 0; i < MT_LOG_VALUES; i++)
        f->value[i] = MT_LOG_NONE;
    f->gpu = f->rank = -1;
    f->pid = -1;
    return f;
}

/* First hole of the pattern where it matches before `end`. */
static uint64_t before(const char *s, const char *end, const char *pattern)
{
    struct mt_log_got g;
    const char *e = mt_log_find(s, pattern, &g);
    return e != NULL && (end == NULL || e <= end) ? g.v[0] : MT_LOG_NONE;
}

struct mt_log_writer mt_log_writer(const char *s, const char *end)
{
    static const char *const ranks[] = {
        "[rank%n", "[Rank %n", "Rank %n:", "Worker rank=%n", "RankID:%n", " Rank %n INFO:"};
    static const char *const pids[] = {"pid=%n", "(PID:%n,", "[PID: %n]"};
    uint64_t pid = MT_LOG_NONE, rank = MT_LOG_NONE;
    for (size_t i = 0; i < sizeof pids / sizeof *pids && pid == MT_LOG_NONE; i++)
        pid = before(s, end, pids[i]);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && rank == MT_LOG_NONE; i++)
        rank = before(s, end, ranks[i]);
    if (rank == MT_LOG_NONE) /* people copy a line without its first letter */
        rank = mt_log_value_at(s, "rank%n]");
    return (struct mt_log_writer){pid <= INT32_MAX ? (int64_t)pid : -1,
                                  rank != MT_LOG_NONE ? mt_log_small(rank) : -1};
}

/* "RefWorker" of "(RefWorker pid=7, ip=...) text", "ActorWorker(reference-0)" of
 * "(ActorWorker(reference-0) pid=7)". */
void mt_log_name(char out[32], const char *s)
{
    const char *end = strstr(s, " pid="), *p = end;
    int depth = 0;
    while (p != NULL && p > s && end - p < 64) {
        p--;
        if (*p == '(' && depth-- == 0) {
            mt_printable(out, 32, p + 1, strcspn(p + 1, " "));
            return;
        }
        depth += *p == ')';
    }
}

bool mt_log_is_talk(const struct mt_log_fact *f)
{
    return (f->kind == MT_LOG_TORCH_OOM || f->kind == MT_LOG_HOST_OOM) &&
           strcmp(f->text, "talk") == 0;
}

/* Kinds that a traceback can lead to. */
bool mt_log_has_stack(enum mt_log_kind k)
{
    return k == MT_LOG_TORCH_OOM || (k >= MT_LOG_NCCL_OOM && k <= MT_LOG_CUBLAS_OOM) ||
           (k >= MT_LOG_VLLM_STARTUP && k <= MT_LOG_VLLM_MEASURE) || k == MT_LOG_SGLANG_NO_KV ||
           k == MT_LOG_POOL_REFUSED || k == MT_LOG_HOST_OOM || k == MT_LOG_SGLANG_KV_FULL ||
           k == MT_LOG_ILLEGAL || k == MT_LOG_WORKSPACE;
}

void mt_log_keep_text(struct mt_log_fact *f, const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == ' ')
        n--;
    mt_printable(f->text, sizeof f->text, p, n);
}
