#include "analysis/base/rule_json.h"

#include <limits.h>

/* cJSON's fields are not const; nobody writes there. */
static char *text_at(uint32_t at)
{
    const union {
        const char *text;
        char *field;
    } u = {mt_rule_text + at};
    return u.field;
}

static void fill(cJSON *node, const struct mt_rule_row *row)
{
    *node = (cJSON){.next = row->next != 0 ? node + row->next : NULL,
                    .type = row->type,
                    .string = row->name != 0 ? text_at(row->name) : NULL};
    if (row->type == cJSON_String) {
        node->valuestring = text_at(row->value);
    } else if (row->type == cJSON_Number) {
        double v = mt_rule_numbers[row->value];
        node->valuedouble = v;
        node->valueint = v >= INT_MAX ? INT_MAX : v <= INT_MIN ? INT_MIN : (int)v;
    } else if (row->type == cJSON_True) {
        node->valueint = 1;
    } else if (row->value != 0) {
        node->child = node + 1;
    }
}

enum mt_rc mt_rule_json(const char *name, cJSON **root, struct mt_err *err)
{
    const struct mt_rule_file *f = mt_rule_files;
    *root = NULL;
    while (f->name != NULL && strcmp(f->name, name) != 0)
        f++;
    if (f->name == NULL)
        return mt_fail(err, MT_EINTERN, "%s was not built into this program", name);
    if ((*root = mt_malloc(f->n * sizeof **root)) == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory while reading %s", name);
    for (uint32_t i = 0; i < f->n; i++)
        fill(&(*root)[i], &f->row[i]);
    return MT_OK;
}
