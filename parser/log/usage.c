/* log/usage.c -- lines that say how much memory is in use: verl, EasyR1, AReaL, slime and Relax,
 * DeepSpeed. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* The text before `end`, from the last of the usual ends of a prefix. */
static void head_text(struct mt_log_fact *f, const char *s, const char *end)
{
    const char *p = end;
    while (p > s && p[-1] != ':' && p[-1] != ']' && p[-1] != ')' && end - p < 90)
        p--;
    while (p < end && *p == ' ')
        p++;
    mt_log_keep_text(f, p, (size_t)(end - p));
}

/* The same with the most of each behind it, which is another moment's. */
static bool with_peaks(const char *s, got *g)
{
    static const char words[] = " memory allocated (GB): %G, max memory allocated (GB): %G, memory "
                                "reserved (GB): %G";
    got most;
    if (mt_log_find(s, words, &most) == NULL)
        return false;
    g->n = 2;
    g->v[0] = most.v[0];
    g->v[1] = most.v[2];
    if (mt_log_find(s, "device memory used/total (GB): %G/%G", &most) != NULL) {
        g->n = 4;
        g->v[2] = most.v[0];
        g->v[3] = most.v[1];
    }
    return true;
}

/* verl: "Before update_actor, memory allocated (GB): 1.2, ..."; AReaL: "Memory-Usage ppo update:
 * memory allocated (GB): 1.2, ..." */
static int usage(struct mt_log *l, uint64_t number, const char *s)
{
    static const char lead[] = "Memory-Usage ";
    got g;
    const char *end = strstr(s, " memory allocated (GB):"), *head;
    struct mt_log_fact *f;
    if (end == NULL || end == s || (end[-1] != ',' && end[-1] != ':') || /* the device came later */
        (!with_peaks(end, &g) &&
         mt_log_find(end,
                     " memory allocated (GB): %G, memory reserved (GB): %G, device memory "
                     "used/total (GB): %G/%G",
                     &g) == NULL &&
         mt_log_find(end, " memory allocated (GB): %G, memory reserved (GB): %G", &g) == NULL))
        return 0;
    head = strstr(s, lead);
    end--;
    f = mt_log_add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f != NULL) {
        memcpy(f->value, g.v, (size_t)g.n * sizeof *g.v);
        if (head != NULL && head < end)
            mt_log_keep_text(f, head + sizeof lead - 1, (size_t)(end - head) - (sizeof lead - 1));
        else
            head_text(f, s, end);
    }
    return 1;
}

/* verl: "Memory usage [After actor update]: Total: 79.19 GB, Allocated: 70.11 GB, Reserved: 76.02
 * GB, Cached: 5.91 GB" */
static int usage_stage(struct mt_log *l, uint64_t number, const char *s)
{
    got g, stage;
    const char *p = mt_log_find(s, "Memory usage [%t]: ", &stage);
    struct mt_log_fact *f;
    if (p == NULL || mt_log_find(p, "Total: %b, Allocated: %b, Reserved: %b, Cached: ", &g) == NULL)
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f != NULL) {
        f->value[0] = g.v[1];
        f->value[1] = g.v[2];
        f->value[3] = g.v[0];
        mt_log_keep_text(f, stage.text, stage.n_text);
    }
    return 1;
}

/* EasyR1, of the device: "Before vllm offload in sharding manager: 58.32 GB / 79.19 GB." */
static int usage_pair(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, " GB / "), *end = p;
    struct mt_log_fact *f;
    got g;
    while (end != NULL && end > s && end[-1] != ':')
        end--;
    if (p == NULL || end == s || mt_log_find(end - 1, ": %b / %b.", &g) == NULL)
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f != NULL) {
        f->value[2] = g.v[0];
        f->value[3] = g.v[1];
        f->form = "torch_usage/pair";
        head_text(f, s, end - 1);
    }
    return 1;
}

/* slime and Relax: "Memory-Usage before offload model: {'gpu': '0', 'total_GB': 79.1, 'free_GB':
 * ..." */
static int usage_dict(struct mt_log *l, uint64_t number, const char *s)
{
    got g;
    const char *p = strstr(s, "Memory-Usage ");
    struct mt_log_fact *f;
    uint64_t total, used;
    if (p == NULL)
        return 0;
    total = mt_log_value(p, "'total_GB': %G");
    used = mt_log_value(p, "'used_GB': %G");
    if (total == MT_LOG_NONE && used == MT_LOG_NONE)
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = mt_log_value(p, "'allocated_GB': %G");
    f->value[1] = mt_log_value(p, "'reserved_GB': %G");
    f->value[2] = used;
    f->value[3] = total;
    if (mt_log_find(p, "Memory-Usage %t:", &g) != NULL)
        mt_log_keep_text(f, g.text, g.n_text);
    if (mt_log_find(p, "'gpu': '%n'", &g) != NULL || mt_log_find(p, "'gpu': %n", &g) != NULL)
        f->gpu = mt_log_small(g.v[0]);
    return 1;
}

/* DeepSpeed, in three lines: what it is of, the GPU, the host. MA is allocated, CA reserved; GB are
 * GiB. */
static int usage_deepspeed(struct mt_log *l, uint64_t number, const char *s)
{
    static const char lead[] = "see_memory_usage] ";
    const char *p = strstr(s, lead);
    struct mt_log_fact *f;
    got g;
    if (p == NULL)
        return 0;
    p += sizeof lead - 1;
    if (mt_log_find(p, "MA %b Max_MA %b CA %b", &g) != NULL) {
        f = mt_log_add(l, MT_LOG_TORCH_USAGE, number, s);
        if (f != NULL) {
            f->value[0] = g.v[0];
            f->value[1] = g.v[2];
            if (l->label_line != 0 && number - l->label_line <= 2)
                memcpy(f->text, l->label, sizeof f->text);
        }
        return 1;
    }
    if (mt_log_find(p, "CPU Virtual Memory: used = %b, percent = %r", &g) != NULL) {
        f = mt_log_add(l, MT_LOG_HOST_USAGE, number, s);
        if (f != NULL) {
            f->value[0] = g.v[0];
            f->value[1] = g.v[1] / 100;
        }
        return 1;
    }
    mt_printable(l->label, sizeof l->label, p, strcspn(p, "\t"));
    l->label_line = number;
    return 1;
}

/* DeepSpeed's inference, when its kernels take their workspace: "Free memory : 7.042725
 * (GigaBytes)", then the total and what is requested, a line each. What is free says how much is
 * used only with the total. */
static int usage_workspace(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    got g;
    if (mt_log_find(s, "Free memory : %G (GigaBytes)", &g) != NULL) {
        l->free_line = number;
        l->free_bytes = g.v[0];
        return 1;
    }
    if (l->free_line == 0 || number != l->free_line + 1 ||
        mt_log_find(s, "Total memory: %G (GigaBytes)", &g) == NULL || g.v[0] < l->free_bytes)
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_USAGE, l->free_line, s);
    if (f != NULL) {
        f->value[2] = g.v[0] - l->free_bytes;
        f->value[3] = g.v[0];
        mt_log_keep_text(f, "before the workspace of DeepSpeed's inference", 45);
    }
    return 1;
}

int mt_log_usage(struct mt_log *l, uint64_t number, const char *s)
{
    return usage(l, number, s) || usage_stage(l, number, s) || usage_dict(l, number, s) ||
           usage_pair(l, number, s) || usage_deepspeed(l, number, s) ||
           usage_workspace(l, number, s);
}
