/* cmd_top.c -- jobs that are being recorded, as they go on. */
#include "cli/cli.h"
#include "cli/pid.h"
#include "cli/rules_load.h"
#include "cli/term.h"
#include "cli/top.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int screen_rows(void)
{
    struct winsize w;
    return ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 ? (int)w.ws_row : 0;
}

static bool open_one(struct mt_top *t, const char *dir)
{
    struct mt_live_opts o = {.dir = dir, .arg = t, .owner = mt_top_owner};
    struct mt_live **slot = MT_VEC_PUSH(&t->lives);
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (slot != NULL && mt_live_open(slot, &o, &err) == MT_OK)
        return true;
    t->lives.n -= slot != NULL;
    mt_say("out of memory");
    return false;
}

/* The recordings to look at. False after a message. */
static bool open_all(const struct mt_cli *c, struct mt_top *t)
{
    struct mt_dirs dirs = {0};
    struct mt_err err;
    pid_t pid;
    char *dir = NULL;
    bool ok = true;
    memset(&err, 0, sizeof err);
    if (c->n_inputs != 0 && !mt_is_pid(c->inputs[0], &pid))
        return open_one(t, c->inputs[0]);
    if (c->n_inputs != 0) {
        ok = mt_live_find_of(pid, &dir, &err) == MT_OK;
        if (!ok)
            mt_say_err(NULL, &err);
        ok = ok && open_one(t, dir);
        mt_free(dir);
        return ok;
    }
    if (mt_live_find(&dirs, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        return false;
    }
    if (dirs.list.n == 0)
        mt_say("no job is being recorded here; start one with: memtrace capture -- COMMAND");
    ok = dirs.list.n != 0;
    for (uint32_t i = 0; ok && i < dirs.list.n; i++)
        ok = open_one(t, dirs.list.p[i]);
    mt_dirs_done(&dirs);
    return ok;
}

static bool look(struct mt_top *t)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    for (uint32_t i = 0; i < t->lives.n; i++)
        if (mt_live_refresh(t->lives.p[i], &err) < 0) {
            mt_say_err(NULL, &err);
            return false;
        }
    if (mt_top_add_up(t))
        return true;
    mt_say("out of memory");
    return false;
}

/* Of those that were found, some may have ended since. */
static void drop_those_over(struct mt_top *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->lives.n; i++)
        if (t->lives.p[i]->has_folder)
            t->lives.p[n++] = t->lives.p[i];
        else
            mt_live_close(t->lives.p[i]);
    t->lives.n = n;
}

static bool is_over(const struct mt_top *t)
{
    for (uint32_t i = 0; i < t->lives.n; i++)
        if (t->lives.p[i]->has_folder)
            return false;
    return true;
}

/* A screen is written over the one before; what is left of that goes. */
static bool put_screen(struct mt_top *t, bool first)
{
    struct mt_out text;
    struct mt_out o;
    bool ok = mt_out_mem(&text) && mt_out_fd(&o, 1);
    if (!ok)
        return false;
    mt_top_text(t, &text, screen_rows());
    (void)mt_out_finish(&text);
    mt_puts(&o, first ? "\033[2J\033[H" : "\033[H");
    for (const char *at = (const char *)text.buf, *line; at != NULL && *at != '\0'; at = line) {
        size_t n = strcspn(at, "\n");
        line = at + n + (at[n] == '\n');
        mt_put(&o, at, n);
        mt_puts(&o, "\033[K\n");
    }
    mt_puts(&o, "\033[J");
    ok = mt_out_finish(&o) == 0;
    mt_out_done(&o);
    mt_out_done(&text);
    return ok;
}

static bool put_plain(struct mt_top *t, bool json)
{
    struct mt_out o;
    bool ok;
    if (!mt_out_fd(&o, 1))
        return false;
    if (json)
        mt_top_json(t, &o);
    else
        mt_top_text(t, &o, 0);
    ok = mt_out_finish(&o) == 0;
    mt_out_done(&o);
    return ok;
}

static enum mt_exit show(const struct mt_cli *c, struct mt_top *t)
{
    const struct timespec pause = {.tv_sec = c->interval != 0 ? (time_t)c->interval : 1};
    bool screen = !c->json && !c->once && isatty(1) == 1, again = screen || (c->json && !c->once);
    if (!look(t))
        return MT_EXIT_FAILED;
    if (is_over(t)) {
        mt_say("%s: there is no such folder: no recording goes on there", t->lives.p[0]->dir);
        return MT_EXIT_FAILED;
    }
    drop_those_over(t);
    for (bool first = true;; first = false) {
        if (!(first ? mt_top_add_up(t) : look(t)))
            return MT_EXIT_FAILED;
        if (!(screen ? put_screen(t, first) : put_plain(t, c->json))) {
            mt_say("standard output cannot be written: %s", strerror(errno));
            return MT_EXIT_FAILED;
        }
        if (!again || is_over(t))
            return MT_EXIT_OK;
        (void)nanosleep(&pause, NULL);
    }
}

enum mt_exit mt_cmd_top(const struct mt_cli *c)
{
    struct mt_top t;
    struct mt_cli_rules rules;
    struct mt_driverdiag_opts o = {0};
    struct mt_err err;
    enum mt_exit status = mt_cli_rules_load(&rules, c);
    memset(&t, 0, sizeof t);
    memset(&err, 0, sizeof err);
    if (status != MT_EXIT_OK)
        return status;
    t.phases = rules.rules.phases;
    if (mt_owner_rules_new(&t.rules, &o, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        status = MT_EXIT_FAILED;
    } else {
        status = open_all(c, &t) ? show(c, &t) : MT_EXIT_FAILED;
    }
    mt_top_done(&t);
    mt_cli_rules_done(&rules);
    return status;
}
