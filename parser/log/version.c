/* log/version.c -- which version of a program runs, as it says when it starts. */
#include "parser/log/match.h"

#include <string.h>

/* vLLM's two engines have faults of their own: until 0.8 the older one is the default, and its line
 * does not always say so. */
static const struct {
    const char *before, *program;
} said[] = {
    {"Initializing a V0 LLM engine (v", "vllm-v0"},
    {"Initializing an LLM engine (v", "vllm-v0"},
    {"Initializing a V1 LLM engine (v", "vllm"},
    {"vLLM API server version ", "vllm"},
    {"==((====))==  Unsloth ", "unsloth"},
    /* collect_env, mmcv, YOLO, lists of pip: a program's own words, no "requires torch==" */
    {"PyTorch version: ", "torch"},
    {"PyTorch: ", "torch"},
    {"torch version: ", "torch"},
    {" torch-", "torch"},
    {"torch==", "torch"},
    {"torch  ", "torch"},
    {"PyTorch  ", "torch"},
};

/* What is looked for, fetched or taken away is not what runs: lines of pip. */
static bool is_of_pip(const char *s)
{
    static const char *const words[] = {
        "requires", "Collecting ", "already satisfied",  "Downloading ",        "Using cached ",
        "ninstall", "o matching ", "satisfies the requ", "xisting installation"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(s, words[i]) != NULL)
            return true;
    return false;
}

/* A table sets what it says apart with blanks. */
static const char *behind(const char *s, const char *before)
{
    const char *p = strstr(s, before);
    return p != NULL ? p + strlen(before) + strspn(p + strlen(before), " ") : NULL;
}

bool mt_log_version_number(const char *s, uint64_t *number)
{
    uint64_t v[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        if (*s < '0' || *s > '9')
            return k > 1; /* "0.8" and "0.8rc1": the third number is none */
        for (; *s >= '0' && *s <= '9'; s++)
            v[k] = v[k] < 100000 ? v[k] * 10 + (uint64_t)(*s - '0') : v[k];
        *number = MT_LOG_VERSION(v[0], v[1], v[2]);
        if (*s == '.')
            s++;
        else if (k < 2)
            return k == 1;
    }
    return true;
}

void mt_log_version_line(struct mt_log *l, uint64_t line, const char *s)
{
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *p = behind(s, said[i].before);
        struct mt_log_version *v;
        uint64_t number;
        if (p == NULL || !mt_log_version_number(p, &number) || is_of_pip(s))
            continue;
        for (uint32_t k = 0; k < l->versions.n; k++)
            if (strcmp(l->versions.p[k].program, said[i].program) == 0 &&
                l->versions.p[k].number == number)
                return; /* every worker says it */
        if (l->versions.n >= MT_LOG_MAX_VERSIONS)
            return;
        v = MT_VEC_PUSH(&l->versions);
        l->no_memory |= v == NULL;
        if (v != NULL)
            *v =
                (struct mt_log_version){.program = said[i].program, .number = number, .line = line};
        return;
    }
}
