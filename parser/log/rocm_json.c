/* log/rocm_json.c -- what `rocm-smi --showmeminfo vram --json` writes: {"card0": {"VRAM Total
 * Memory (B)": "21458059264", "VRAM Total Used Memory (B)": "27856896", ...}}, all in one line or a
 * key a line. Source: rocm_smi.py (ROCm/rocm_smi_lib). */
#include "parser/log/match.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 60 }; /* lines of one card: its names and whatever else was asked for */

/* The card whose object is open: its fact, made with the first number. */
static struct mt_log_fact *fact(struct mt_log *l, uint64_t number)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    if (f != NULL && f->kind == MT_LOG_CARD && f->platform == 'H' && f->gpu == l->card &&
        f->line >= l->card_line)
        return f;
    if ((f = mt_log_blank(l, MT_LOG_CARD, number)) == NULL)
        return NULL;
    f->gpu = l->card;
    f->platform = 'H';
    mt_log_keep_text(f, "rocm-smi", 8);
    return f;
}

static bool key(struct mt_log *l, uint64_t number, const char *p)
{
    static const struct {
        const char *key;
        uint8_t at;
    } numbers[] = {{"VRAM Total Used Memory (B)", 0}, {"VRAM Total Memory (B)", 1}};
    const char *v;
    uint64_t n = strncmp(p, "card", 4) == 0 ? mt_log_value_at(p + 4, "%n") : MT_LOG_NONE;
    if (n != MT_LOG_NONE) {
        char name[32];
        (void)snprintf(name, sizeof name, "card%llu", (unsigned long long)n);
        if ((v = mt_log_json_value(p, name)) == NULL || *v != '{')
            return false;
        l->card = mt_log_small(n);
        l->card_line = number;
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct mt_log_fact *f;
        if ((v = mt_log_json_value(p, numbers[i].key)) == NULL)
            continue;
        n = mt_log_value_at(v + (*v == '"'), "%n");
        if (n == MT_LOG_NONE || l->card_line == 0 || number - l->card_line > LENGTH)
            return false;
        if ((f = fact(l, number)) != NULL)
            f->value[numbers[i].at] = n;
        return true;
    }
    return false;
}

int mt_log_rocm_json(struct mt_log *l, uint64_t number, const char *s)
{
    bool found = false;
    if (strstr(s, "\"card") == NULL && strstr(s, "\"VRAM Total ") == NULL)
        return 0;
    for (const char *p = s; (p = strchr(p, '"')) != NULL;) {
        found |= key(l, number, ++p);
        if ((p = strchr(p, '"')) == NULL)
            break;
        p++;
    }
    return found;
}
