/* cmdline.c -- the command line as a report shows it: the options that affect its content, quoted
 * for a shell. */
#include "cli/capacity.h"
#include "cli/options.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

static void add_quoted(struct mt_text *t, const char *s)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    mt_text_add(t, " ", 1);
    if (s[0] != '\0' && strspn(s, plain) == strlen(s)) {
        mt_text_add(t, s, strlen(s));
        return;
    }
    mt_text_add(t, "'", 1);
    for (; *s != '\0'; s++) {
        if (*s == '\'')
            mt_text_add(t, "'\\''", 4);
        else
            mt_text_add(t, s, 1);
    }
    mt_text_add(t, "'", 1);
}

static void format_number(char *buf, size_t cap, uint64_t v, bool is_bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    size_t u = 0;
    while (is_bytes && u < 4 && v % 1024 == 0 && v != 0) {
        v /= 1024;
        u++;
    }
    snprintf(buf, cap, "%llu%s", (unsigned long long)v, units[u]);
}

/* Written from what was understood, not from argv: "--format=json" and "--format json" make the
 * same report. */
static void add_option(struct mt_text *t, const struct mt_cli *c, const struct mt_option *o,
                       const struct mt_cli *defaults)
{
    const void *now = (const char *)c + o->offset, *def = (const char *)defaults + o->offset;
    char name[40], number[32];
    uint64_t bytes;

    snprintf(name, sizeof name, "--%s", o->name);
    switch (o->type) {
    case MT_OPT_FLAG:
        if (*(const bool *)now != *(const bool *)def)
            add_quoted(t, name);
        return;
    case MT_OPT_TEXT:
    case MT_OPT_FILE:
        if (*(const char *const *)now == NULL)
            return;
        add_quoted(t, name);
        add_quoted(t, *(const char *const *)now);
        return;
    case MT_OPT_FILES:
    case MT_OPT_TEXTS:
        /* Settings may hold passwords. Of --args the report shows only what matters, and in a table
         * of its own. */
        for (int i = 0; i < ((const struct mt_strings *)now)->n; i++) {
            add_quoted(t, name);
            add_quoted(t, o->type == MT_OPT_TEXTS ? "..." : ((const struct mt_strings *)now)->p[i]);
        }
        return;
    case MT_OPT_CHOICE:
        if (*(const int *)now == *(const int *)def)
            return;
        add_quoted(t, name);
        add_quoted(t, o->choices[*(const int *)now]);
        return;
    case MT_OPT_FRAMEWORK:
        if (*(const char *const *)now == NULL)
            return;
        add_quoted(t, name);
        add_quoted(t, *(const char *const *)now);
        return;
    case MT_OPT_CARD:
        if (*(const char *const *)now == NULL)
            return;
        add_quoted(t, name);
        if (!mt_capacity_is_size(*(const char *const *)now, &bytes)) {
            add_quoted(t, *(const char *const *)now);
            return;
        }
        format_number(number, sizeof number, bytes, true);
        add_quoted(t, number);
        return;
    case MT_OPT_ORDINAL:
        if (*(const int32_t *)now == *(const int32_t *)def)
            return;
        snprintf(number, sizeof number, "%ld", (long)*(const int32_t *)now);
        break;
    case MT_OPT_SHARE:
        if (*(const uint64_t *)now == *(const uint64_t *)def)
            return;
        snprintf(number, sizeof number, "%llu.%llu%%",
                 (unsigned long long)(*(const uint64_t *)now / 10),
                 (unsigned long long)(*(const uint64_t *)now % 10));
        break;
    case MT_OPT_BYTES:
    case MT_OPT_COUNT:
        if (*(const uint64_t *)now == *(const uint64_t *)def)
            return;
        format_number(number, sizeof number, *(const uint64_t *)now, o->type == MT_OPT_BYTES);
        break;
    case MT_OPT_COUNT32:
        if (*(const uint32_t *)now == *(const uint32_t *)def)
            return;
        snprintf(number, sizeof number, "%lu", (unsigned long)*(const uint32_t *)now);
        break;
    }
    add_quoted(t, name);
    add_quoted(t, number);
}

static void add_inputs(struct mt_text *t, const struct mt_cli *c)
{
    for (int i = 0; i < c->n_inputs; i++)
        add_quoted(t, c->inputs[i]);
}

char *mt_command_line_short(const struct mt_cli *c)
{
    struct mt_cli shown = *c;
    char *line, **inputs = mt_calloc((size_t)c->n_inputs + 1, sizeof *inputs);
    if (inputs == NULL)
        return NULL;
    for (int i = 0; i < c->n_inputs; i++)
        memcpy(&inputs[i], &(const char *){mt_last_parts(c->inputs[i], 1)}, sizeof inputs[i]);
    shown.inputs = inputs;
    for (int i = 0; i < c->logs.n; i++)
        shown.logs.p[i] = mt_last_parts(c->logs.p[i], 1);
    for (int i = 0; i < c->configs.n; i++)
        shown.configs.p[i] = mt_last_parts(c->configs.p[i], 1);
    shown.rules_file = c->rules_file != NULL ? mt_last_parts(c->rules_file, 1) : NULL;
    line = mt_command_line(&shown);
    mt_free(inputs);
    return line;
}

char *mt_command_line(const struct mt_cli *c)
{
    static const struct mt_cli defaults = MT_CLI_DEFAULTS;
    struct mt_text t = {0};
    bool dashed = false; /* a name that looks like an option has to stand after "--" */

    for (int i = 0; i < c->n_inputs; i++)
        dashed |= c->inputs[i][0] == '-' && c->inputs[i][1] != '\0';
    mt_text_add(&t, "memtrace", 8);
    add_quoted(&t, c->command->name);
    if (!dashed)
        add_inputs(&t, c);
    for (const struct mt_option *o = mt_options; o->name != NULL; o++)
        if ((o->commands & c->command->bit) != 0 && !o->not_content)
            add_option(&t, c, o, &defaults);
    if (dashed) {
        mt_text_add(&t, " --", 3);
        add_inputs(&t, c);
    }
    if (t.failed) {
        mt_text_done(&t);
        return NULL;
    }
    return t.p;
}
