/* log/whole_job.c -- words that name a whole job of reinforcement learning. */
#include "analysis/log/whole_job.h"
#include "analysis/log/diagnose.h"

#include <string.h>

static const char *const ways[] = {"ppo", "grpo", "rloo", "dapo", "rlhf", NULL},
                         *const offline[] = {"dpo", "orpo", "kto", "simpo", NULL};

static void drop_words(char *s)
{
    static const char *const jobs[] = {"rl training", "rl post-training", "rlhf training",
                                       "reinforcement learning training", NULL};
    for (const char *const *w = jobs; *w != NULL; w++)
        for (char *p = s; (p = strstr(p, *w)) != NULL; p++)
            if (p == s || !mt_log_is_letter(p[-1]))
                memset(p, '-', strlen(*w));
}

/* "train_ppo_ray.sh": what a file of such a job is called tells the job, and no phase. */
static void drop_files(char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-./";
    static const char *const ends[] = {".sh", ".py", ".yaml", ".yml", NULL};
    for (size_t n; *s != '\0'; s += n + (s[n] != '\0')) {
        char name[128];
        n = strspn(s, letters);
        while (n > 0 && s[n - 1] == '.')
            n--;
        if (n == 0 || n >= sizeof name)
            continue;
        memcpy(name, s, n);
        name[n] = '\0';
        for (const char *const *e = ends; *e != NULL; e++)
            if (n > strlen(*e) && strcmp(name + n - strlen(*e), *e) == 0 &&
                mt_log_has_one(name, ways))
                memset(s, '-', n);
    }
}

void mt_whole_job_drop(char *sentence)
{
    drop_words(sentence);
    drop_files(sentence);
}

/* One of the words, where a word begins: "GRPOTrainer", "main_ppo"; not "dppo". */
static bool names(const char *text, size_t len, const char *const *words)
{
    for (const char *p = text; p < text + len; p++) {
        if (p != text && mt_log_is_letter(p[-1]))
            continue;
        for (const char *const *w = words; *w != NULL; w++) {
            size_t n = 0;
            while ((*w)[n] != '\0' && mt_log_lower(p[n]) == (*w)[n])
                n++;
            if ((*w)[n] == '\0')
                return true;
        }
    }
    return false;
}

static bool has_way(const char *text) { return names(text, strlen(text), ways); }

bool mt_whole_job_trains(const char *sentence, size_t n) { return names(sentence, n, offline); }

bool mt_whole_job_in(const struct mt_log *log, const struct mt_log_fact *f, const char *program)
{
    if (has_way(program) ||
        (f->kind == MT_LOG_TORCH_OOM && mt_log_or_zero(f->value[MT_LO_PRIVATE]) != 0))
        return true;
    for (uint32_t i = 0; i < log->prose.n; i++)
        if (has_way(log->prose.p[i].text))
            return true;
    for (uint32_t i = 0; i < log->settings.n; i++)
        if (log->settings.p[i].text != NULL && has_way(log->settings.p[i].text))
            return true;
    return false;
}
