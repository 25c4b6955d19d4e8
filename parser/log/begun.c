/* log/begun.c -- what an engine says that it begins, loading, capturing graphs, and a trainer,
 * saving a checkpoint. Where no line says that it ended, a failure that follows was in it. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

static const struct {
    enum mt_log_kind kind;
    const char *words, *text;
} lines[] = {
    {MT_LOG_SGLANG_BEGUN, "Load weight begin", "load"},
    {MT_LOG_SGLANG_BEGUN, "uda graph begin", "capture"},
    {MT_LOG_SGLANG_BEGUN, "CUDA graph begin", "capture"},
    {MT_LOG_SGLANG_BEGUN, "Capturing batches (bs=", "capture"},
    {MT_LOG_VLLM_BEGUN, "Starting to load model", "load"},
    {MT_LOG_VLLM_BEGUN, "Capturing CUDA graph", "capture"},
    {MT_LOG_VLLM_BEGUN, "Capturing the model for CUDA graphs", "capture"},
};

/* That it ended, of loading alone or of all that an engine does before it serves. */
static const struct {
    const char *words, *with, *ends; /* ends: the text of the beginning; NULL = any */
} ended[] = {
    {"Loading weights took", NULL, "load"},       {"Model loading took", NULL, "load"},
    {"checkpoint shards: 100%", NULL, "load"},    {"Capturing ", "100%|", "capture"},
    {"Application startup complete", NULL, NULL}, {"fired up and ready", NULL, NULL},
    {"Uvicorn running on", NULL, NULL},           {"\"POST /", NULL, NULL},
};

static bool names_state(const char *s)
{
    static const char *const words[] = {"heckpoint", "ckpt",     " model",
                                        "state",     "ptimizer", "weights"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(s, words[i]) != NULL)
            return true;
    return false;
}

/* "Saving model checkpoint to ...", "saving checkpoint at iteration 100", and "Saved ..." or
 * "Model weights saved in ..." behind it. */
static bool save_begins(const char *s)
{
    const char *p = strstr(s, "aving ");
    return p != NULL && p > s && (p[-1] | 32) == 's' && names_state(p) &&
           strstr(s, "ot saving") == NULL && strstr(s, "efore saving") == NULL &&
           strstr(s, "fter saving") == NULL && strstr(s, "fter Saving") == NULL;
}

static bool save_ended(const char *s)
{
    const char *p = strstr(s, "aved ");
    if (strstr(s, "onfiguration saved in") != NULL) /* the first file of several */
        return false;
    return (p != NULL && p > s && (p[-1] | 32) == 's' &&
            (names_state(s) || strstr(p, "aved in ") == p || strstr(p, "aved to ") == p)) ||
           strstr(s, "inished saving") != NULL || strstr(s, "successfully saved") != NULL;
}

static bool of_one(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }

static void has_ended(struct mt_log *l, struct mt_log_fact *f)
{
    l->n_begun -= f->value[3] == MT_LOG_NONE;
    f->value[3] = 1;
}

static void end(struct mt_log *l, const char *s)
{
    l->ended_save |= save_ended(s);
    for (uint32_t k = l->facts.n; l->n_begun != 0 && k-- > 0 && save_ended(s);)
        if (l->facts.p[k].kind == MT_LOG_SAVE_BEGUN)
            has_ended(l, &l->facts.p[k]);
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++) {
        struct mt_log_writer who;
        if (strstr(s, ended[i].words) == NULL ||
            (ended[i].with != NULL && strstr(s, ended[i].with) == NULL))
            continue;
        l->ended_load |= ended[i].ends == NULL || ended[i].ends[0] == 'l';
        l->ended_capture |= ended[i].ends == NULL || ended[i].ends[0] == 'c';
        if (l->n_begun == 0)
            return;
        who = mt_log_writer(s, NULL);
        for (uint32_t k = l->facts.n; k-- > 0;) {
            struct mt_log_fact *f = &l->facts.p[k];
            if ((f->kind == MT_LOG_VLLM_BEGUN || f->kind == MT_LOG_SGLANG_BEGUN) &&
                (ended[i].ends == NULL || strcmp(f->text, ended[i].ends) == 0) &&
                of_one(f->pid, who.pid) && of_one(f->rank, who.rank))
                has_ended(l, f);
        }
        return;
    }
}

static int begins(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    struct mt_log_writer who;
    got batch;
    end(l, s);
    if (save_begins(s)) {
        f = mt_log_add(l, MT_LOG_SAVE_BEGUN, number, s);
        if (f != NULL) {
            mt_log_keep_text(f, "save", 4);
            f->ended_above = l->ended_save;
            l->n_begun++;
        }
        return 1;
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strstr(s, lines[i].words) == NULL)
            continue;
        if (strstr(s, "100%|") != NULL)
            return 1;
        who = mt_log_writer(s, NULL);
        /* a bar that moves is one beginning */
        if (f == NULL || f->kind != lines[i].kind || strcmp(f->text, lines[i].text) != 0 ||
            f->pid != who.pid || f->rank != who.rank || f->value[3] != MT_LOG_NONE) {
            f = mt_log_add(l, lines[i].kind, number, s);
            if (f == NULL)
                return 1;
            l->n_begun++;
            f->ended_above = lines[i].text[0] == 'l' ? l->ended_load : l->ended_capture;
            mt_log_keep_text(f, lines[i].text, strlen(lines[i].text));
            f->value[0] = mt_log_value(s, "avail mem=%b");
        }
        if (mt_log_find(s, "Capturing batches (bs=%n avail_mem=%b", &batch) != NULL) {
            f->value[1] = batch.v[1];
            f->value[2] = batch.v[0];
        }
        return 1;
    }
    return 0;
}

int mt_log_begun(struct mt_log *l, uint64_t number, const char *line)
{
    uint32_t n = l->facts.n;
    if (!begins(l, number, line))
        return 0;
    /* "OOM when saving the model" is a person's line of a failure, and begins nothing */
    if (mt_log_bare(l, number, line) && l->facts.n == n + 2 &&
        l->facts.p[n].kind == MT_LOG_SAVE_BEGUN && mt_log_is_talk(&l->facts.p[n + 1])) {
        l->facts.p[n] = l->facts.p[n + 1];
        l->facts.n--;
        l->n_begun--;
    }
    return 1;
}

void mt_log_begun_below(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->facts.n; i++) {
        struct mt_log_fact *f = &l->facts.p[i];
        if (f->kind == MT_LOG_VLLM_BEGUN || f->kind == MT_LOG_SGLANG_BEGUN ||
            f->kind == MT_LOG_SAVE_BEGUN)
            f->value[3] = f->ended_above ? 1 : MT_LOG_NONE;
    }
}
