/* rule_tables.c -- runs while memtrace is built: rule_tables OUT.c FOLDER NAME... turns the rule
 * files FOLDER/NAME, read by cJSON, into the tables of analysis/base/rule_json.h. A file that is no
 * JSON ends the build. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each text stands in the pool once. */
struct text {
    char *s;
    unsigned long at;
};
static void *texts; /* of tsearch() */
static unsigned long pool_size = 1;
static FILE *pool, *numbers;
static size_t pool_len, numbers_len;
static char *pool_text, *numbers_text;
static unsigned n_numbers;

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "rule_tables: %s\n", what);
    exit(1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct text *)a)->s, ((const struct text *)b)->s);
}

static void put_literal(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s != '\0'; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if (*s >= ' ' && *s <= '~' && *s != '?')
            fputc(*s, f);
        else
            fprintf(f, "\\%03o", (unsigned)(unsigned char)*s);
    fputs("\\0\"\n", f);
}

/* Where it stands; 0 is the empty text. */
static unsigned long text_at(const char *s)
{
    struct text *t, **found;
    if (*s == '\0')
        return 0;
    need((t = calloc(1, sizeof *t)) != NULL && (t->s = strdup(s)) != NULL, "out of memory");
    need((found = tsearch(t, &texts, by_text)) != NULL, "out of memory");
    if (*found != t) {
        free(t->s);
        free(t);
        return (*found)->at;
    }
    t->at = pool_size;
    pool_size += strlen(s) + 1;
    put_literal(pool, s);
    return t->at;
}

static void free_text(void *p)
{
    free(((struct text *)p)->s);
    free(p);
}

static unsigned count(const cJSON *node)
{
    unsigned n = 1;
    const cJSON *c;
    cJSON_ArrayForEach(c, node) n += count(c);
    return n;
}

static unsigned long value_of(const cJSON *node)
{
    if (cJSON_IsString(node))
        return text_at(node->valuestring);
    if (cJSON_IsNumber(node)) {
        fprintf(numbers, "    %.17g,\n", node->valuedouble);
        return n_numbers++;
    }
    return cJSON_IsTrue(node) || node->child != NULL;
}

/* In the order of the file: what is in an object or a list comes right after it. */
static void put_rows(FILE *out, const cJSON *node)
{
    const cJSON *c;
    fprintf(out, "    {%luu, %luu, %uu, %d},\n", node->string != NULL ? text_at(node->string) : 0,
            value_of(node), node->next != NULL ? count(node) : 0, node->type & 0xff);
    cJSON_ArrayForEach(c, node) put_rows(out, c);
}

static cJSON *read_file(const char *folder, const char *name)
{
    char path[4096], *text = NULL;
    size_t len = 0;
    FILE *f;
    cJSON *root;
    need(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path, "path too long");
    f = fopen(path, "rb");
    if (f == NULL || getdelim(&text, &len, '\0', f) < 0) {
        perror(path);
        exit(1);
    }
    fclose(f);
    root = cJSON_ParseWithOpts(text, NULL, 1);
    if (root == NULL) {
        const char *bad = cJSON_GetErrorPtr();
        unsigned line = 1;
        for (const char *p = text; bad != NULL && p < bad; p++)
            line += *p == '\n';
        fprintf(stderr, "%s:%u: no JSON\n", path, line);
        exit(1);
    }
    free(text);
    return root;
}

int main(int argc, char **argv)
{
    FILE *out;
    unsigned *rows;
    need(argc > 3, "usage: rule_tables OUT.c FOLDER NAME...");
    need((out = fopen(argv[1], "w")) != NULL, "the output cannot be written");
    need((rows = calloc((size_t)argc, sizeof *rows)) != NULL, "out of memory");
    need((pool = open_memstream(&pool_text, &pool_len)) != NULL, "out of memory");
    need((numbers = open_memstream(&numbers_text, &numbers_len)) != NULL, "out of memory");
    fputs("/* Made by cmake/rule_tables.c from analysis/rules/. */\n#include "
          "\"analysis/base/rule_json.h\"\n",
          out);
    for (int i = 3; i < argc; i++) {
        cJSON *root = read_file(argv[2], argv[i]);
        rows[i] = count(root);
        fprintf(out, "\nstatic const struct mt_rule_row rows_%d[] = {\n", i);
        put_rows(out, root);
        fputs("};\n", out);
        cJSON_Delete(root);
    }
    fputs("\nconst struct mt_rule_file mt_rule_files[] = {\n", out);
    for (int i = 3; i < argc; i++)
        fprintf(out, "    {\"%s\", rows_%d, %uu},\n", argv[i], i, rows[i]);
    need(fclose(pool) == 0 && fclose(numbers) == 0, "out of memory");
    fprintf(out,
            "    {0},\n};\nconst double mt_rule_numbers[] = {\n%s    0};\nconst char "
            "mt_rule_text[] = \"\\0\"\n%s;\nconst uint32_t mt_rule_text_size = sizeof "
            "mt_rule_text;\n",
            numbers_text, pool_text);
    need(ferror(out) == 0 && fclose(out) == 0, "the output cannot be written");
    free(rows);
    free(pool_text);
    free(numbers_text);
    tdestroy(texts, free_text);
    return 0;
}
