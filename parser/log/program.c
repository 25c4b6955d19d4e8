/* log/program.c -- the script that a log says was started: of a command line, of a launcher's own
 * line about it. The name of its file alone: folders and modules may tell more than is asked. */
#include "parser/log/match.h"

#include <string.h>

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

size_t mt_log_script_name(const char *s, const char *end, const char **name)
{
    const char *p = end;
    while (p > s && in_name(p[-1]))
        p--;
    if (p > s && p[-1] == '\\' && strncmp(p, "x5c", 3) == 0) /* as a log keeps a backslash */
        p += 3;
    *name = p;
    return end - p > 3 && end - p < 48 && (p == s || strchr("/\\ \t'\"=c", p[-1]) != NULL)
               ? (size_t)(end - p)
               : 0;
}

static void first_script(struct mt_log *l, const char *s)
{
    for (const char *p = s; (p = strstr(p, ".py")) != NULL;) {
        const char *end = p + 3, *name;
        size_t n = strchr(" '\"\\", *end) != NULL ? mt_log_script_name(s, end, &name) : 0;
        p = end;
        /* "accelerate/commands/launch.py train.py" */
        if (n == 0 || (n == 9 && memcmp(name, "launch.py", 9) == 0 && strstr(end, ".py") != NULL))
            continue;
        memcpy(l->program, name, n);
        l->program[n] = '\0';
        return;
    }
}

void mt_log_program_line(struct mt_log *l, const char *s)
{
    const char *p, *command, *list;
    size_t n = strlen(s);
    if (l->program[0] != '\0' || strstr(s, ".py") == NULL)
        return;
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\r'))
        n--;
    p = strstr(s, " cmd = ");
    command = mt_log_command_at(s);
    list = mt_log_command_list(s);
    if (p != NULL) /* DeepSpeed's launcher */
        first_script(l, p + 7);
    else if (command != NULL)
        first_script(l, command);
    else if (list != NULL)
        first_script(l, list);
    else if (n > 10 && memcmp(s + n - 10, ".py FAILED", 10) == 0 && strchr(s, '(') == NULL)
        first_script(l, s); /* torch.distributed.elastic */
}
