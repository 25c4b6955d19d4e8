/* run/told_model.c -- the well-known model that somebody's prose names, where no setting does. */
#include "analysis/run/read_log.h"

#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"
#include "analysis/setup/settings.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, SEVERAL = -2, WORDS = 4, LONGEST = 120 };

static bool is_part(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' || c == '-' ||
           c == '_' || c == '/';
}

/* Bytes of a word of a name at p: a '.' that ends it ends a sentence. */
static size_t word_at(const char *p)
{
    size_t n = 0;
    while (is_part(p[n]))
        n++;
    while (n > 0 && (p[n - 1] == '.' || p[n - 1] == '-' || p[n - 1] == '/'))
        n--;
    return n;
}

static bool has_digit(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] >= '0' && p[i] <= '9')
            return true;
    return false;
}

/* As it is, or as one word: "Qwen 2.5-72B" is a Qwen2.5-72B. */
static int find_name(const struct mt_models *m, const char *name)
{
    char joined[LONGEST];
    size_t n = 0;
    int one = mt_models_find(m, name);
    if (one >= 0 || strchr(name, ' ') == NULL)
        return one;
    for (const char *p = name; *p != '\0'; p++)
        if (*p != ' ')
            joined[n++] = *p;
    joined[n] = '\0';
    return mt_models_find(m, joined);
}

/* The model that the words from p on name, as many of them as make one: "Llama 3 8B" is no Llama-3.
 * *used: their bytes. */
static int find_at(const struct mt_models *m, const char *p, size_t *used)
{
    int found = NONE;
    size_t end = 0;
    for (int words = 0; words < WORDS; words++) {
        size_t n = word_at(p + end);
        char name[LONGEST];
        int one;
        if (n == 0 || end + n >= sizeof name)
            break;
        end += n;
        memcpy(name, p, end);
        name[end] = '\0';
        one = has_digit(name, end) ? find_name(m, name) : NONE;
        if (one >= 0) {
            found = one;
            *used = end;
        }
        if (p[end] != ' ')
            break;
        end++;
    }
    return found;
}

static void look(const struct mt_models *m, const char *text, int *found)
{
    for (const char *p = text; *p != '\0';) {
        size_t n = word_at(p);
        int one = n > 0 ? find_at(m, p, &n) : NONE;
        if (one >= 0 && *found != SEVERAL)
            *found =
                *found == NONE || m->names.p[*found].row == m->names.p[one].row ? one : SEVERAL;
        p += n > 0 ? n : 1;
    }
}

/* "Qwen2.5-3B works, 7B does not": which of them it is about is not told. */
static bool is_size(const struct mt_run_shape *s, double billions)
{
    double n = billions * 1e9;
    return billions <= 0 ? billions >= 0 : s->params > 0.8 * n && s->params < 1.25 * n;
}

void mt_logs_told_model(const struct mt_logs *logs, struct mt_runconf *conf)
{
    struct mt_frameworks none = {.rules = conf->rules, .main = MT_FW_NONE};
    struct mt_runconf_hit hit;
    struct mt_run_shape shape;
    struct mt_trace *empty;
    int found = NONE;
    conf->spoken = 0;
    if (conf->has_shape || mt_runconf_find(conf, "model_path", &hit))
        return;
    for (uint32_t f = 0; f < logs->files.n; f++)
        for (uint32_t i = 0; i < logs->files.p[f].log.prose.n; i++)
            look(&conf->models, logs->files.p[f].log.prose.p[i].text, &found);
    if (found < 0 || (empty = mt_trace_new()) == NULL)
        return;
    conf->spoken = 1 + found;
    mt_run_shape_make(&shape, empty, &none, conf);
    for (uint32_t f = 0; f < logs->files.n; f++) {
        struct mt_logdiag_sizes told;
        mt_logdiag_sizes(&told, &logs->files.p[f].log);
        if (!is_size(&shape, told.billions))
            conf->spoken = 0;
    }
    mt_trace_free(empty);
}
