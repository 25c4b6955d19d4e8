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
    enum mt_rc r = MT_OK;
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
    return r == MT_OK ? mt_runconf_added(rc, MT_FROM_COMMAND, err) : r;
}

enum mt_rc mt_runconf_add_trace(struct mt_runconf *rc, const struct mt_trace *t, struct mt_err *err)
{
    enum mt_rc r = MT_OK;
    char source[64] = "the snapshot";
    if (t->driver != NULL)
        return add_driver(rc, t, err);
    if (t->meta.rank >= 0)
        (void)snprintf(source, sizeof source, "the snapshot of rank %d", (int)t->meta.rank);
    for (uint32_t i = 0; i < t->settings.n && r == MT_OK; i++)
        r = mt_conf_allocator(&rc->conf, mt_str(t, t->settings.p[i].key),
                              mt_str(t, t->settings.p[i].value), source, err);
    return r == MT_OK ? mt_runconf_added(rc, MT_FROM_SNAPSHOT, err) : r;
}
