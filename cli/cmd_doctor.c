/* cmd_doctor.c -- whether this machine can record, and what to do where it cannot. */
#include "capture/capture.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "render/base/escape.h"

#include <string.h>

static const char *const states[] = {
    [MT_CHECK_OK] = "ok", [MT_CHECK_NOTE] = "note", [MT_CHECK_BAD] = "bad"};

enum { VARIABLES = 5 };

/* Lists the variables that `memtrace capture` sets, for launches in which they are set by hand.
 * spool: the folder; NULL = it has yet to be made. */
static uint32_t list_variables(const struct mt_places *p, const char *spool,
                               const char *out[VARIABLES][2])
{
    uint32_t n = 0;
    if (p->inject == NULL)
        return 0;
    out[n][0] = "CUDA_INJECTION64_PATH";
    out[n++][1] = p->inject;
    out[n][0] = "NVTX_INJECTION64_PATH";
    out[n++][1] = p->inject;
    if (p->site != NULL) {
        out[n][0] = "PYTHONPATH";
        out[n++][1] = p->site;
    }
    out[n][0] = "MEMTRACE_SPOOL";
    out[n++][1] = spool != NULL ? spool : "/path/of/an/existing/folder";
    if (spool != NULL) {
        out[n][0] = "MEMTRACE_SPOOL_MAKE";
        out[n++][1] = "1";
    }
    return n;
}

static void put(struct mt_out *o, const char *s) { mt_term(o, s, strlen(s)); }

static bool has_driver(const struct mt_checks *c)
{
    for (uint32_t i = 0; i < c->list.n; i++)
        if (strcmp(c->list.p[i].name, "libcuda") == 0)
            return c->list.p[i].state == MT_CHECK_OK;
    return false;
}

static void print_text(struct mt_out *o, const struct mt_checks *c, const struct mt_places *places)
{
    const char *vars[VARIABLES][2];
    uint32_t n = list_variables(places, NULL, vars);
    for (uint32_t i = 0; i < c->list.n; i++) {
        const struct mt_check *k = &c->list.p[i];
        mt_putf(o, "%-5s %-13s ", states[k->state], k->name);
        put(o, k->text);
        mt_putc(o, '\n');
        if (k->remedy != NULL) {
            mt_puts(o, "                    -> ");
            put(o, k->remedy);
            mt_putc(o, '\n');
        }
    }
    if (!c->can_capture)
        mt_puts(o, "\n'memtrace capture' does not work here; see 'bad' above.\n");
    else
        mt_puts(o, has_driver(c) ? "\n'memtrace capture' works here.\n"
                                 : "\n'memtrace capture' works here, but without a GPU driver a "
                                   "job makes no calls to record.\n");
    if (n == 0)
        return;
    mt_puts(o, "\nFor workers that do not inherit the environment (Ray's runtime_env, containers), "
               "the variables are:\n");
    for (uint32_t i = 0; i < n; i++) {
        mt_putf(o, "  %s=", vars[i][0]);
        put(o, vars[i][1]);
        mt_putc(o, '\n');
    }
}

static void json_string(struct mt_out *o, const char *key, const char *value)
{
    mt_putf(o, "\"%s\": ", key);
    if (value != NULL)
        mt_json_str(o, value, strlen(value));
    else
        mt_puts(o, "null");
}

static void print_json(struct mt_out *o, const struct mt_checks *c, const struct mt_places *places)
{
    const char *vars[VARIABLES][2];
    uint32_t n = list_variables(places, NULL, vars);
    for (uint32_t i = 0; i < c->list.n; i++) {
        const struct mt_check *k = &c->list.p[i];
        mt_putc(o, '{');
        json_string(o, "check", k->name);
        mt_puts(o, ", ");
        json_string(o, "state", states[k->state]);
        mt_puts(o, ", ");
        json_string(o, "text", k->text);
        mt_puts(o, ", ");
        json_string(o, "remedy", k->remedy);
        mt_puts(o, "}\n");
    }
    mt_putf(o, "{\"can_capture\": %s, \"environment\": {", c->can_capture ? "true" : "false");
    for (uint32_t i = 0; i < n; i++) {
        mt_puts(o, i > 0 ? ", " : "");
        json_string(o, vars[i][0], vars[i][1]);
    }
    mt_puts(o, "}}\n");
}

static void print_ray(struct mt_out *o, const struct mt_places *places, const char *spool)
{
    const char *vars[VARIABLES][2];
    uint32_t n = list_variables(places, spool, vars);
    mt_puts(o, "{\"env_vars\": {");
    for (uint32_t i = 0; i < n; i++) {
        mt_puts(o, i > 0 ? ", " : "");
        json_string(o, vars[i][0], vars[i][1]);
    }
    mt_puts(o, "}}\n");
}

/* What is in the way is said here; what a machine lacks that has no GPU is no matter. */
static enum mt_exit ray(const struct mt_cli *c)
{
    struct mt_places places;
    struct mt_output out;
    struct mt_err err;
    enum mt_exit status = MT_EXIT_FAILED;
    char *spool = NULL;
    enum mt_rc rc;
    memset(&err, 0, sizeof err);
    rc = mt_places_find(&places, &err);
    if (rc == MT_OK && places.inject == NULL)
        rc = mt_fail(&err, MT_EIO,
                     "libmemtrace_inject.so is neither beside memtrace nor in ../lib/memtrace: "
                     "this build cannot record");
    if (rc == MT_OK)
        rc = c->spool != NULL ? mt_spool_at(&spool, c->spool, &err)
                              : mt_spool_new(&spool, NULL, &err);
    if (rc != MT_OK) {
        mt_say_err(NULL, &err);
    } else if (mt_output_open(&out, NULL, false)) {
        print_ray(&out.out, &places, spool);
        status = mt_output_commit(&out, false);
        mt_say("the workers of a node record into %s, which is made; memtrace has to be at this "
               "path on every node. Afterwards, on each: memtrace collect %s -o trace.%%h.gz",
               spool, spool);
    }
    mt_free(spool);
    mt_places_done(&places);
    return status;
}

enum mt_exit mt_cmd_doctor(const struct mt_cli *c)
{
    struct mt_checks checks;
    struct mt_places places;
    struct mt_output out;
    struct mt_err err;
    enum mt_exit status = MT_EXIT_FAILED;

    if (c->ray)
        return ray(c);
    memset(&err, 0, sizeof err);
    if (mt_doctor(&checks, &err) != MT_OK) {
        mt_say_err(NULL, &err);
        mt_checks_done(&checks);
        return status;
    }
    (void)mt_places_find(&places, &err); /* a failure is one of the checks */
    if (mt_output_open(&out, NULL, false)) {
        if (c->json)
            print_json(&out.out, &checks, &places);
        else
            print_text(&out.out, &checks, &places);
        status = mt_output_commit(&out, false);
        if (status == MT_EXIT_OK && !checks.can_capture)
            status = MT_EXIT_FAILED;
    }
    mt_places_done(&places);
    mt_checks_done(&checks);
    return status;
}
