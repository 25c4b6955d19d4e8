/* setup/from_trace.c -- what a trace says that the run was set to: the commands and environments of
 * its processes, the allocator's own settings. */
#include "analysis/setup/settings.h"
#include "parser/model/driver.h"

#include <stdio.h>
#include <string.h>

static bool seen_command(const struct mt_driver *d, uint32_t upto, mt_str_id command)
{
    for (uint32_t i = 0; i < upto && i < 4096; i++)
        if (d->processes.p[i].command == command)
            return true;
    return false;
}

static enum mt_rc add_driver(struct mt_runconf *rc, const struct mt_trace *t, struct mt_err *err)
{
    enum { MAX_COMMANDS = 256 };
    const struct mt_driver *d = t->driver;
    char source[64];
    enum mt_rc r = MT_OK, added;
    unsigned n = 0;
    for (uint32_t i = 0; i < d->processes.n && n < MAX_COMMANDS && r == MT_OK; i++) {
        const struct mt_process *p = &d->processes.p[i];
        const char *env = "env.";
        if (p->rank >= 0)
            (void)snprintf(source, sizeof source, "command of rank %d", (int)p->rank);
        else
            (void)snprintf(source, sizeof source, "command of pid %u", (unsigned)p->pid);
        if (p->command != 0 && !seen_command(d, i, p->command)) {
            n++;
            r = mt_conf_args(&rc->conf, mt_str(t, p->command), mt_str_len(t, p->command), source,
                             false, err);
        }
        for (uint32_t k = 0; r == MT_OK && k < p->n_attrs; k++) {
            const struct mt_process_attr *a = &d->attrs.p[p->first_attr + k];
            if (strncmp(mt_str(t, a->key), env, 4) != 0)
                continue;
            rc->env_known = true;
            (void)snprintf(source, sizeof source,
                           p->rank >= 0 ? "environment of rank %d" : "environment of pid %d",
                           p->rank >= 0 ? (int)p->rank : (int)p->pid);
            r = mt_conf_env(&rc->conf, mt_str(t, a->key) + 4, mt_str(t, a->value), source, err);
        }
    }
    added = mt_runconf_added(rc, MT_FROM_COMMAND, err); /* also of what was read of a part */
    return r == MT_OK ? added : r;
}

enum mt_rc mt_runconf_own(struct mt_config *own, const struct mt_trace *t, struct mt_err *err)
{
    enum mt_rc r = MT_OK;
    char source[64] = "the snapshot";
    if (t->meta.rank >= 0)
        (void)snprintf(source, sizeof source, "the snapshot of rank %d", (int)t->meta.rank);
    for (uint32_t i = 0; i < t->settings.n && r == MT_OK; i++)
        r = mt_conf_allocator(own, mt_str(t, t->settings.p[i].key),
                              mt_str(t, t->settings.p[i].value), source, err);
    return r;
}

/* text as to has it: the last one given out, an equal one there, or a copy. NULL = out of memory */
static const char *kept(struct mt_config *to, const char *had, const char *text)
{
    return had != NULL && strcmp(had, text) == 0
               ? had
               : mt_arena_strndup(&to->strings, text, strlen(text));
}

static bool merge(struct mt_config *to, const struct mt_conf_entry *e, const char *source)
{
    struct mt_conf_entry *slot = NULL;
    for (uint32_t i = 0; i < to->entries.n && slot == NULL; i++)
        if (strcmp(to->entries.p[i].key, e->key) == 0)
            slot = &to->entries.p[i];
    if (slot == NULL) {
        const char *key = kept(to, NULL, e->key);
        if (key == NULL || (slot = MT_VEC_PUSH(&to->entries)) == NULL)
            return false;
        *slot = (struct mt_conf_entry){.key = key, .form = e->form};
    }
    slot->source = source;
    slot->is_variable = e->is_variable;
    slot->value = kept(to, slot->value, e->value);
    return slot->value != NULL;
}

/* Of each key one entry, however many snapshots there are: a thousand ranks say the same. */
static enum mt_rc add_snapshot(struct mt_runconf *rc, const struct mt_trace *t, struct mt_err *err)
{
    struct mt_config own = {.n_bytes = 0}, *to = &rc->snapshots;
    enum mt_rc r = mt_runconf_own(&own, t, err);
    const char *source = NULL;
    for (uint32_t i = 0; i < own.entries.n && r == MT_OK; i++) {
        if (source == NULL)
            source = kept(to, to->entries.n != 0 ? to->entries.p[0].source : NULL,
                          own.entries.p[i].source);
        if (source == NULL || !merge(to, &own.entries.p[i], source))
            r = mt_fail(err, MT_ENOMEM, "out of memory");
    }
    mt_conf_done(&own);
    return r;
}

enum mt_rc mt_runconf_add_trace(struct mt_runconf *rc, const struct mt_trace *t, struct mt_err *err)
{
    return t->driver != NULL ? add_driver(rc, t, err) : add_snapshot(rc, t, err);
}
