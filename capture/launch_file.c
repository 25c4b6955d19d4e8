/* launch_file.c -- what is said of a recording to those who make it: its settings, for the recorder
 * in the processes, and a first file of the spool, for who collects it. */
#include "capture/inject/redact.h"
#include "capture/parts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *number(uint64_t v) { return mt_text("%llu", (unsigned long long)v); }

/* At least one. */
static uint64_t mebibytes(uint64_t bytes) { return bytes >> 20 != 0 ? bytes >> 20 : 1; }

bool mt_variables(struct mt_variable out[MT_VARIABLES], const struct mt_launch_opts *o,
                  const char *spool)
{
    const struct mt_variable all[MT_VARIABLES] = {
        {"MEMTRACE_SPOOL", mt_text("%s", spool)},
        {"MEMTRACE_STACKS", o->no_stacks ? mt_text("0") : NULL},
        {"MEMTRACE_MEMORY2", o->memory2 ? mt_text("1") : NULL},
        {"MEMTRACE_TORCH", o->no_torch ? mt_text("0") : NULL},
        {"MEMTRACE_MAX_MB", o->max_bytes != 0 ? number(mebibytes(o->max_bytes)) : NULL},
        {"MEMTRACE_KEEP_MB", o->keep_bytes == UINT64_MAX ? number(0)
                             : o->keep_bytes != 0        ? number(mebibytes(o->keep_bytes))
                                                         : NULL},
        {"MEMTRACE_LAST_S", o->last_s != 0 ? number(o->last_s) : NULL},
        {"MEMTRACE_FLUSH_MS", o->flush_ms != 0 ? number(o->flush_ms) : NULL},
    };
    memcpy(out, all, sizeof all);
    return all[0].value != NULL;
}

static uint64_t realtime(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What a collector has to know when this process is no longer there to tell it. */
enum mt_rc mt_launch_file(const struct mt_launch_opts *o, const char *spool, uint32_t attached,
                          struct mt_err *err)
{
    struct mt_trace_out file;
    struct mt_chunk_out out;
    struct mti_redact state = {0};
    char *path = mt_path_join(spool, MT_LAUNCH_FILE), *final = NULL;
    char text[4000], key[32];
    struct timespec mono;
    enum mt_rc rc;

    if (path == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    rc = mt_trace_out_open(&file, path, false, err);
    mt_free(path);
    if (rc != MT_OK) {
        mt_trace_out_discard(&file);
        return rc;
    }
    mt_chunk_out_init(&out, &file, 0, MT_WK_LAUNCH, (uint32_t)getpid());
    (void)clock_gettime(CLOCK_MONOTONIC, &mono);
    out.realtime = realtime();
    out.monotonic = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec;
    if (o->version != NULL)
        mt_chunk_out_attr(&out, "version", o->version);
    if (gethostname(text, sizeof text) == 0)
        mt_chunk_out_attr(&out, "host", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)out.realtime);
    mt_chunk_out_attr(&out, "start_realtime_ns", text);
    for (unsigned i = 0; i < 4096 && o->argv[i] != NULL; i++) {
        snprintf(key, sizeof key, "argv.%u", i);
        mti_redact_arg(&state, o->argv[i], text, sizeof text);
        mt_chunk_out_attr(&out, key, text);
    }
    if (attached != 0)
        mt_chunk_out_number(&out, "attached", attached);
    mt_chunk_out_attr(&out, "setting.stacks", o->no_stacks ? "0" : "1");
    mt_chunk_out_attr(&out, "setting.torch", o->no_torch ? "0" : "1");
    mt_chunk_out_attr(&out, "setting.memory2", o->memory2 ? "1" : "0");
    if (o->max_bytes != 0)
        mt_chunk_out_number(&out, "setting.max_mb", o->max_bytes >> 20);
    if (o->keep_bytes != 0)
        mt_chunk_out_number(&out, "setting.keep_mb",
                            o->keep_bytes == UINT64_MAX ? 0 : mebibytes(o->keep_bytes));
    if (o->last_s != 0)
        mt_chunk_out_number(&out, "setting.last_s", o->last_s);
    if (o->flush_ms != 0)
        mt_chunk_out_number(&out, "setting.flush_ms", o->flush_ms);
    mt_chunk_out_done(&out);
    rc = mt_trace_out_commit(&file, &final, err);
    mt_trace_out_discard(&file);
    mt_free(final);
    return rc;
}
