/* parts.h -- what the files of capture/ give each other. */
#ifndef MT_CAPTURE_PARTS_H
#define MT_CAPTURE_PARTS_H

#include "capture/capture.h"

#include <stddef.h>
#include <sys/types.h>

/* text.c: printf into memory from mt_malloc(); NULL when out of memory. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
char *
mt_text(const char *fmt, ...);
/* "dir/name" */
char *mt_path_join(const char *dir, const char *name);
const char *mt_base_name(const char *path);
/* 1 when fd was read to the end or n bytes; *got says how many. 0 = error in errno. */
int mt_read_at(int fd, void *buf, size_t n, uint64_t offset, size_t *got);
/* Whether open() failed because no such file of ours is there (none, a link, a socket). Any other
 * reason is an error: a part that cannot be read is not one that is missing. */
bool mt_is_absent(int error);

/* ---- env.c: the one file that asks for the environment ---- */

const char *mt_capture_env(const char *name); /* NULL when unset */
char **mt_capture_environ(void);
pid_t mt_parent_of(pid_t pid); /* 0 = unknown */

/* ---- asker.c ---- */

/* The process that asks NVML for those of the job, which must not do so themselves. Where it cannot
 * be started there are no samples of the devices; each process of the job says so. */
struct mt_asker {
    pid_t pid; /* -1 = none */
    int life;  /* it ends when this is closed */
};
/* library: libmemtrace_inject.so. Before the command is started. */
void mt_asker_start(struct mt_asker *a, const char *library, const char *spool);
void mt_asker_stop(struct mt_asker *a); /* kills and reaps it */

/* ---- launch.c ---- */

/* Who holds the injection variables: what to call it, and the variable that says so. false = they
 * are free or ours. */
struct mt_holder {
    const char *variable, *value;
    const char *tool; /* "NVIDIA Nsight Systems (nsys)"; "another tool" */
};
bool mt_injection_holder(struct mt_holder *h);

/* ---- launch_file.c ---- */

struct mt_variable {
    const char *name;
    char *value; /* mt_free() it; NULL = leave as it is */
};
enum { MT_VARIABLES = 8 };
/* The variables by which a recorder is told what it is to do. False: out of memory. */
bool mt_variables(struct mt_variable out[MT_VARIABLES], const struct mt_launch_opts *o,
                  const char *spool);
/* What a collector has to know when this process is no longer there to tell it. attached: the
 * process of o->argv, which ran already; 0 = it is started. */
enum mt_rc mt_launch_file(const struct mt_launch_opts *o, const char *spool, uint32_t attached,
                          struct mt_err *err);

/* ---- table.c: u64 -> two u64, open addressing ---- */

struct mt_cell {
    uint64_t key, a, b;
    uint32_t c;
    bool used;
};
struct mt_table {
    struct mt_cell *cell;
    uint32_t n, cap;
};
struct mt_cell *mt_table_find(const struct mt_table *t, uint64_t key);
struct mt_cell *mt_table_put(struct mt_table *t,
                             /* found or new with a = b = 0; NULL when out of memory or full */
                             uint64_t key);
void mt_table_drop(struct mt_table *t, uint64_t key);
void mt_table_done(struct mt_table *t);

/* ---- members.c: the gzip members of a file, each with one chunk ---- */

struct mt_chunk { /* header fields and the whole chunk */
    uint64_t uid, seq, realtime, monotonic, dropped;
    uint32_t used, records, pid;
    uint16_t kind;
    const unsigned char *raw; /* header included; used + MT_WIRE_HEADER bytes */
};
/* Reads the header of raw[0..n). False: no chunk of this version, or it is longer than n. */
bool mt_chunk_parse(struct mt_chunk *c, const unsigned char *raw, size_t n);
/* Bytes of whole records in [p, p + n): n unless the last one is cut. */
size_t mt_chunk_whole(const unsigned char *p, size_t n);

struct mt_members {
    int fd;
    unsigned char *buf, *raw; /* buf: compressed bytes of the file from `offset` on */
    size_t have, at, cap;
    uint64_t offset;
    bool eof, cut; /* cut: the last member is not whole */
    uint64_t n_bad, bad_bytes;
    int error; /* errno of a failed read */
    void *z;
};
struct mt_member {
    const unsigned char *gz;
    size_t n_gz;
    struct mt_chunk chunk;
};
bool mt_members_open(struct mt_members *m, int fd); /* false: out of memory */
/* An open one goes on with another file, from that byte on. */
void mt_members_from(struct mt_members *m, int fd, uint64_t offset);
/* The next whole member; damaged ones are skipped and counted. false at the end or on an error. */
bool mt_members_next(struct mt_members *m, struct mt_member *out);
void mt_members_done(struct mt_members *m);

/* ---- trace_out.c: the file that is written ---- */

struct mt_trace_out {
    int fd;
    char *target, *part; /* part NULL: written in place (a device, a pipe) */
    bool force;
    uint64_t bytes;
    int error; /* errno of the first failed write; nothing is written after it */
    unsigned char *gz;
    size_t gz_cap;
    void *z[2];
};
enum mt_rc mt_trace_out_open(struct mt_trace_out *o, const char *path, bool force,
                             struct mt_err *err);
void mt_trace_out_raw(struct mt_trace_out *o, const void *data, size_t n);
/* One chunk, header included, as one member. fast: little effort, for what is large. */
void mt_trace_out_chunk(struct mt_trace_out *o, const unsigned char *raw, bool fast);
/* Gives the file its name: *path is where it is in the end, beside the wanted name when that
 * appeared meanwhile. */
enum mt_rc mt_trace_out_commit(struct mt_trace_out *o, char **path, struct mt_err *err);
void mt_trace_out_discard(struct mt_trace_out *o); /* harmless after a commit */

/* Chunks of our own. Records are added; a full chunk is written and the next begun. Out of memory
 * is kept in failed. */
struct mt_chunk_out {
    struct mt_trace_out *out;
    unsigned char *p;
    size_t n, cap;
    uint64_t uid, seq, realtime, monotonic, time; /* time: of the last timed record */
    uint32_t pid, records;
    uint16_t kind;
    bool failed, fast;
};
void mt_chunk_out_init(struct mt_chunk_out *c, struct mt_trace_out *out, uint64_t uid,
                       enum mt_wire_kind kind, uint32_t pid);
struct mt_payload { /* of one record: small things only */
    unsigned char p[4096];
    size_t n;
};
void mt_pay_u(struct mt_payload *p, uint64_t v);
void mt_pay_s(struct mt_payload *p, int64_t v);
void mt_pay_str(struct mt_payload *p, const char *s, size_t n); /* cut where it does not fit */
void mt_chunk_out_record(struct mt_chunk_out *c, enum mt_wire_type type,
                         const struct mt_payload *p);
void mt_chunk_out_blob(struct mt_chunk_out *c, enum mt_wire_type type, const void *p, size_t n);
/* Begins the payload of a timed record at monotonic time t. Must be followed by
 * mt_chunk_out_record() of it. */
void mt_chunk_out_timed(struct mt_chunk_out *c, struct mt_payload *p, uint64_t t);
void mt_chunk_out_attr(struct mt_chunk_out *c, const char *key, const char *value);
void mt_chunk_out_number(struct mt_chunk_out *c, const char *key, uint64_t v);
void mt_chunk_out_flush(struct mt_chunk_out *c);
void mt_chunk_out_done(struct mt_chunk_out *c); /* flushes and frees */

/* ---- spool_read.c: what is left in a spool file ---- */

struct mt_slot {
    struct mt_chunk chunk; /* raw points into p */
    unsigned char *p;
    bool taken; /* the .gz has it */
};
struct mt_spool {
    bool there, whole_header, running;
    uint64_t uid, clockdiff, dropped;
    uint32_t pid;
    MT_VEC(struct mt_slot) slots; /* by kind and seq */
    /* slots in use whose content is no chunk */
    uint32_t n_bad;
    /* activity buffers still with CUPTI: act_state of each */
    uint32_t act_size, n_acts, stride2, stridep, act_first;
    uint64_t act_offset;
    unsigned char *act_state;
    int fd;
    int error; /* errno of what could not be read; 0 = all could */
};
/* Reads path; absent is fine. False only on out of memory. */
bool mt_spool_read(struct mt_spool *s, const char *path);
void mt_spool_done(struct mt_spool *s);
/* Emits the activity records that CUPTI had not given back; returns how many. Sets s->error. */
uint64_t mt_spool_activity(struct mt_spool *s, struct mt_chunk_out *out);

/* ---- tally.c: what the records of one process say ---- */

struct mt_tally_module {
    char *path;
    unsigned char build_id[32];
    uint32_t n_build_id;
};
struct mt_tally_status {
    uint16_t code;
    uint8_t level;
    char *text;
};
/* Told of each record as it is added up, for who looks while the process runs. Times are
 * CLOCK_REALTIME ns; a row is whatever `owner` gave. */
struct mt_watch {
    void *arg;
    /* who holds what a call of that stack takes on the GPU of that ordinal (UINT64_MAX = not said)
     */
    uint32_t (*owner)(void *arg, uint64_t stack, uint64_t ordinal);
    /* a row holds so many bytes more, or fewer */
    void (*moved)(void *arg, uint32_t row, int64_t bytes, uint64_t time);
    void (*failed)(void *arg, uint64_t result, uint64_t bytes, uint32_t row, uint64_t time);
    /* every record; payload: behind time and thread where it begins with them */
    void (*record)(void *arg, uint64_t type, const unsigned char *payload, const unsigned char *end,
                   uint64_t time, uint64_t tid);
};
/* How far the newest chunk was read. */
struct mt_tally_at {
    uint64_t seq, time, tid, addr, handle, context, pool, corr;
    uint32_t used;
    bool begun;
};
struct mt_tally {
    uint64_t calls, failures, ranges, held, peak, losses[8], loss_bytes;
    uint64_t chunks, missing, next_seq, dropped, records;
    uint64_t first_realtime, last_realtime, last_monotonic, realtime,
        monotonic;                /* the last two: clock pair of the last chunk */
    uint64_t ordinals;            /* bit per CUDA ordinal in use */
    uint64_t now;                 /* CLOCK_REALTIME of the last call */
    const struct mt_watch *watch; /* NULL = nobody looks */
    struct mt_tally_at at;        /* mt_tally_more() */
    bool has_cuda, ended, started, driver_seen;
    int32_t rank;
    uint32_t rank_from;
    char *host, *visible;
    MT_VEC(char *) argv;
    MT_VEC(struct mt_tally_module) modules; /* by id - 1; path NULL = not seen */
    MT_VEC(struct mt_tally_status) statuses;
    /* frames: (module << 40 | offset) hashed; a = module, b = offset */
    struct mt_table blocks, handles, maps, frames;
};
/* The first record of a checkpoint's chunk says from which chunk on the recording is left; 0 where
 * the chunk is none. */
uint64_t mt_checkpoint_first(const struct mt_chunk *c);
void mt_tally_init(struct mt_tally *t);
void mt_tally_chunk(struct mt_tally *t, const struct mt_chunk *c);
char *mt_tally_name(const struct mt_tally *t);    /* short name of the program */
char *mt_tally_devices(const struct mt_tally *t); /* "GPUs 0,1"; "" = none; NULL = out of memory */
/* The same as mt_tally_chunk() for a chunk that still grows: what was not there the last time. Only
 * the header and those bytes of c->raw have to be there. Chunks come in the order of their seq; one
 * that was gone through, or is older, changes nothing. */
void mt_tally_more(struct mt_tally *t, const struct mt_chunk *c);
void mt_tally_done(struct mt_tally *t);
/* NULL when there is none */
const char *mt_tally_status_text(const struct mt_tally *t, enum mt_wire_status code);

/* ---- symbols.c: names for (module, offset) from the files of this machine ---- */

struct mt_symbols;
struct mt_symbols *mt_symbols_new(void);
/* Name of the function that holds the return address, demangled; NULL when unknown. The string
 * lives until the next call. */
const char *mt_symbols_find(struct mt_symbols *s, const struct mt_tally_module *m, uint64_t offset);
void mt_symbols_free(struct mt_symbols *s);

/* ---- elf_file.c: what an ELF file says about itself ---- */

struct mt_elf_facts {
    bool is_elf, is_64, is_static; /* static: a program without an interpreter */
    uint16_t machine;
    unsigned glibc_major, glibc_minor; /* newest GLIBC_x.y it asks for; 0 = none */
};
bool mt_elf_read(const char *path, struct mt_elf_facts *out); /* false: cannot be opened */
/* e_machine of this program; 0 = unknown */
uint16_t mt_elf_here(void);

/* ---- ask_python.c ---- */

struct mt_python_facts {
    /* NULL = no python3; no PyTorch; no libcupti among its packages */
    char *version, *torch, *cupti;
    bool honours_path; /* it took sitecustomize from `site` in PYTHONPATH */
};
void mt_ask_python(struct mt_python_facts *f, const char *site);
void mt_python_facts_done(struct mt_python_facts *f);

/* ---- scan.c: the files of a spool directory ---- */

struct mt_found {      /* one process image */
    char *host, *stem; /* stem: "mt-host-pid-uid" */
    uint64_t uid, start, bytes;
    uint32_t pid;
    bool has_gz, has_spool;
    /* of a recording that keeps the newest (wire.h, spool file): the numbered files, ascending */
    MT_VEC(uint64_t) numbers;
};
struct mt_found_file { /* to be attached */
    char *name;
    const char *kind; /* "torch_snapshot", "text" */
    char *host;
    uint64_t uid, bytes; /* uid 0 = not said by the name */
    uint32_t pid;
};
struct mt_scan {
    MT_VEC(struct mt_found) processes; /* by host, start, pid, uid */
    MT_VEC(struct mt_found_file) files;
    bool has_launch;
    uint64_t bytes;
};
#define MT_LAUNCH_FILE "mt-launch.gz"
/* Left by a `memtrace capture` inside another: a line with the path of each inner trace. */
#define MT_INNER_FILE "mt-inner.txt"
/* Those in the spool directory dir, printable, with a blank between them; NULL = none. mt_free()
 * it. */
char *mt_inner_traces(const char *dir);
enum mt_rc mt_scan_dir(struct mt_scan *s, const char *dir, struct mt_err *err);
void mt_scan_done(struct mt_scan *s);
/* The numbered files that a process has by now. Returns an errno, 0 = all of them. */
int mt_scan_numbers(struct mt_found *f, const char *dir);
/* True while the process that owns this spool file lives. */
bool mt_spool_locked(const char *path);

/* ---- reasons.c: why less was recorded than hoped for ---- */

/* For one process; NULL = nothing to complain about. */
char *mt_why_process(const struct mt_tally *t);
/* For a capture whose processes used no GPU: a work that was handed to others; NULL = no sign of
 * that. */
char *mt_why_no_gpu(char *const *argv);
/* For a capture without any event. */
char *mt_why_nothing(const struct mt_tally *tallies, uint32_t n, const struct mt_collect_opts *o);

#endif
