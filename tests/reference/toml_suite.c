/* toml_suite.c -- for each file named on standard input, a line each: whether the TOML reader takes
 * it, and then its settings as "key<TAB>value", ended by an empty line. Values have their line ends
 * and tabs as \n and \t. tests/reference/toml_suite.py runs the public suite through it. */
#include "parser/conf/conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const char *s)
{
    for (; s != NULL && *s != '\0'; s++) {
        if (*s == '\n' || *s == '\t' || *s == '\\')
            (void)printf("\\%c", *s == '\n' ? 'n' : *s == '\t' ? 't' : '\\');
        else
            (void)putchar(*s);
    }
}

static char *load(const char *path, size_t *n)
{
    enum { MOST = 1 << 22 };
    FILE *f = fopen(path, "rb");
    char *text = malloc(MOST);
    if (f == NULL || text == NULL)
        exit(1);
    *n = fread(text, 1, MOST, f);
    (void)fclose(f);
    return text;
}

int main(void)
{
    char path[4096];
    while (fgets(path, sizeof path, stdin) != NULL) {
        struct mt_config c;
        struct mt_err err = {.rc = MT_OK};
        size_t n = 0;
        char *text;
        enum mt_rc rc;
        path[strcspn(path, "\n")] = '\0';
        text = load(path, &n);
        memset(&c, 0, sizeof c);
        rc = mt_conf_file(&c, text, n, "x.toml", &err);
        (void)printf("%s\t%s\n", rc == MT_OK ? "valid" : "invalid", err.msg);
        for (uint32_t i = 0; rc == MT_OK && i < c.entries.n; i++) {
            put(c.entries.p[i].key);
            (void)putchar('\t');
            put(c.entries.p[i].value);
            (void)putchar('\n');
        }
        (void)putchar('\n');
        mt_conf_done(&c);
        free(text);
    }
    return 0;
}
