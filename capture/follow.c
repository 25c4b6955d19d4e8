/* follow.c -- follows the files of a recording while it goes on: new processes of the folder, and
 * of each what was written since the last look. The finished chunks are in its .gz or in numbered
 * files, which only grow until they go; the newest are in the slots of its .spool, which are used
 * again. What is read of a slot counts only if it held the same chunk before and after. */
#include "capture/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS_MAX = 256 };

struct mt_live_files {
    struct mt_members members; /* one for all: it holds megabytes */
    bool has_members;
    unsigned char *buf;      /* a chunk */
    char *locks;             /* /proc/locks */
    struct timespec changed; /* of the folder, when it was listed */
    struct mt_symbols *symbols;
};

/* ---- slots ---- */

struct slot {
    uint64_t seq, offset;
    struct mt_chunk chunk; /* as its header was when it was listed */
};

static bool read_head(int fd, uint64_t offset, uint32_t size, const struct mt_live_process *p,
                      unsigned char *buf, struct mt_chunk *c)
{
    size_t got;
    if (!mt_read_at(fd, buf, MT_WIRE_HEADER, offset, &got) || got < MT_WIRE_HEADER)
        return false;
    (void)mt_chunk_parse(c, buf, MT_WIRE_HEADER);
    return c->raw != NULL && c->uid == p->uid && c->kind == MT_WK_PROCESS &&
           c->used <= size - MT_WIRE_HEADER;
}

static int by_seq(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* The chunks that are in slots, by their seq. *size: of a slot. */
static uint32_t list_slots(struct mt_live *l, const struct mt_live_process *p, int fd,
                           struct slot *slots)
{
    unsigned char page[MT_SPOOL_PAGE];
    uint32_t n = 0, chunk, chunks;
    size_t got;
    if (fd < 0 || !mt_read_at(fd, page, sizeof page, 0, &got) || got < sizeof page ||
        memcmp(page, MT_SPOOL_MAGIC, 8) != 0)
        return 0;
    chunk = mt_get32(page + MT_SP_CHUNK);
    chunks = mt_get32(page + MT_SP_CHUNKS);
    if (chunk <= MT_WIRE_HEADER || chunk > MT_WIRE_MAX_CHUNK || chunks > SLOTS_MAX)
        return 0;
    for (uint32_t i = 0; i < chunks; i++) {
        struct slot *s = &slots[n];
        s->offset = MT_SPOOL_PAGE + (uint64_t)i * chunk;
        if (mt_get32(page + MT_SP_STATES + 4 * (size_t)i) == MT_SS_FREE ||
            !read_head(fd, s->offset, chunk, p, l->files->buf, &s->chunk))
            continue;
        s->seq = s->chunk.seq;
        n++;
    }
    if (n > 1)
        qsort(slots, n, sizeof *slots, by_seq);
    return n;
}

/* What is new in a slot. False: it holds another chunk by now, which is in the .gz. */
static bool take_slot(struct mt_live *l, struct mt_live_process *p, int fd, const struct slot *s)
{
    struct mt_tally *t = &p->read->tally;
    bool goes_on = t->at.begun && t->at.seq == s->seq;
    uint32_t from = goes_on ? t->at.used : 0;
    unsigned char *buf = l->files->buf, head[MT_WIRE_HEADER];
    struct mt_chunk c = s->chunk, after;
    size_t got;
    if (c.used <= from || (!goes_on && s->seq < t->next_seq))
        return true;
    if (!mt_read_at(fd, buf + MT_WIRE_HEADER + from, c.used - from,
                    s->offset + MT_WIRE_HEADER + from, &got) ||
        got < c.used - from ||
        !read_head(fd, s->offset, c.used + MT_WIRE_HEADER + MT_WIRE_MAX_CHUNK, p, head, &after) ||
        after.seq != c.seq || after.used < c.used)
        return false;
    c.raw = buf;
    mt_tally_more(t, &c);
    l->n_bytes += got;
    return true;
}

/* ---- finished chunks ---- */

static int open_part(const struct mt_live *l, const struct mt_live_process *p, const char *ending)
{
    char *path = mt_text("%s/%s%s", l->dir, p->stem, ending);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    mt_free(path);
    return fd;
}

/* What is new in a file, which is closed. A member that is only half there is read again. */
static void read_members(struct mt_live *l, struct mt_live_process *p, int fd, uint64_t *at)
{
    struct mt_members *m = &l->files->members;
    struct mt_member one;
    struct stat st;
    if (fd < 0)
        return;
    mt_members_from(m, fd, *at);
    while (fstat(fd, &st) == 0 && (uint64_t)st.st_size > *at && mt_members_next(m, &one)) {
        if (one.chunk.uid == p->uid)
            mt_tally_more(&p->read->tally, &one.chunk);
        l->n_bytes += one.n_gz;
        *at = m->offset + m->at;
    }
    (void)close(fd);
}

static int open_numbered(const struct mt_live *l, const struct mt_live_process *p, uint64_t number)
{
    char ending[32];
    snprintf(ending, sizeof ending, ".%llu.gz", (unsigned long long)number);
    return open_part(l, p, ending);
}

/* The lowest of the numbered files that is not below `least`; false = there is none. */
static bool first_number(const struct mt_live *l, const struct mt_live_process *p, uint64_t least,
                         uint64_t *number)
{
    struct mt_found f = {.stem = p->stem};
    bool found = false;
    if (mt_scan_numbers(&f, l->dir) == 0)
        for (uint32_t k = 0; !found && k < f.numbers.n; k++)
            if (f.numbers.p[k] >= least) {
                *number = f.numbers.p[k]; /* they ascend */
                found = true;
            }
    MT_VEC_DONE(&f.numbers);
    return found;
}

/* The first of the numbered files; the one that was there when the folder was listed may be let go
 * by now. -1 = there is none. */
static int open_first(const struct mt_live *l, const struct mt_live_process *p)
{
    struct mt_live_read *r = p->read;
    int fd = open_numbered(l, p, r->number);
    while (fd < 0 && first_number(l, p, r->number + 1, &r->number))
        fd = open_numbered(l, p, r->number);
    return fd;
}

/* The numbered files from the one that was read last to the one that grows. Whether there is a next
 * one is asked before one is read: from then on that one does not grow. */
static void read_numbered(struct mt_live *l, struct mt_live_process *p, int fd)
{
    struct mt_live_read *r = p->read;
    for (;;) {
        int next = open_numbered(l, p, r->number + 1);
        if (fd < 0 && next < 0) { /* let go behind our back */
            if (!first_number(l, p, r->number + 1, &r->number))
                return;
            r->number_at = 0;
            fd = open_numbered(l, p, r->number);
            continue;
        }
        read_members(l, p, fd, &r->number_at);
        if (next < 0)
            return;
        fd = next;
        r->number++;
        r->number_at = 0;
    }
}

/* Chunks move from the slots into the numbered files and from there into the checkpoint (.base.gz)
 * and the definitions (.gz): the first file is opened before these are read. */
static void read_finished(struct mt_live *l, struct mt_live_process *p)
{
    struct mt_live_read *r = p->read;
    uint64_t base = 0;
    int fd;
    if (r->is_numbered) {
        read_numbered(l, p, open_numbered(l, p, r->number));
        return;
    }
    if (r->gz_at == 0 && (fd = open_first(l, p)) >= 0) {
        r->is_numbered = true;
        if (!r->tally.at.begun) { /* else it was followed from its first chunk on */
            read_members(l, p, open_part(l, p, ".base.gz"), &base);
            read_members(l, p, open_part(l, p, ".gz"), &r->gz_at);
        }
        read_numbered(l, p, fd);
        return;
    }
    read_members(l, p, open_part(l, p, ".gz"), &r->gz_at);
}

/* Whether chunks that were not read yet are not in a slot any more. */
static bool has_left_slots(const struct mt_live_process *p, const struct slot *slots, uint32_t n)
{
    const struct mt_tally *t = &p->read->tally;
    return n == 0 || (t->at.begun ? slots[0].seq > t->at.seq : slots[0].seq > 0);
}

static void refresh_process(struct mt_live *l, struct mt_live_process *p)
{
    struct slot slots[SLOTS_MAX];
    int spool = open_part(l, p, ".spool");
    bool locked =
        mt_locks_has(l->files->locks, spool); /* before the look: what it wrote last is seen */
    uint32_t n = list_slots(l, p, spool, slots);
    if (has_left_slots(p, slots, n))
        read_finished(l, p);
    for (uint32_t i = 0; i < n; i++)
        if (!take_slot(l, p, spool, &slots[i]))
            break; /* those behind it come next time, in their order */
    if (spool >= 0)
        (void)close(spool);
    if (!locked || p->read->tally.ended)
        mt_live_process_end(p);
}

/* ---- the folder ---- */

static struct mt_live_process *find(const struct mt_live *l, const struct mt_found *f)
{
    for (uint32_t i = 0; i < l->processes.n; i++)
        if (l->processes.p[i]->uid == f->uid && strcmp(l->processes.p[i]->stem, f->stem) == 0)
            return l->processes.p[i];
    return NULL;
}

/* New processes, when something in the folder has changed. */
static enum mt_rc list_folder(struct mt_live *l, struct mt_err *err)
{
    struct mt_scan scan;
    struct stat st;
    enum mt_rc rc;
    if (stat(l->dir, &st) != 0) {
        l->has_folder = false;
        for (uint32_t i = 0; i < l->processes.n; i++)
            mt_live_process_end(l->processes.p[i]);
        return MT_OK;
    }
    l->has_folder = true;
    if (st.st_mtim.tv_sec == l->files->changed.tv_sec &&
        st.st_mtim.tv_nsec == l->files->changed.tv_nsec)
        return MT_OK;
    rc = mt_scan_dir(&scan, l->dir, err);
    if (rc != MT_OK)
        return rc;
    l->files->changed = st.st_mtim;
    for (uint32_t i = 0; i < scan.processes.n && rc == MT_OK; i++) {
        struct mt_live_process **slot;
        if (find(l, &scan.processes.p[i]) != NULL)
            continue;
        slot = MT_VEC_PUSH(&l->processes);
        if (slot == NULL || (*slot = mt_live_process_new(l, &scan.processes.p[i])) == NULL) {
            l->processes.n -= slot != NULL;
            rc = mt_fail(err, MT_ENOMEM, "out of memory");
        }
    }
    mt_scan_done(&scan);
    return rc;
}

enum mt_rc mt_live_refresh(struct mt_live *l, struct mt_err *err)
{
    enum mt_rc rc = list_folder(l, err);
    mt_free(l->files->locks); /* a list of the moment */
    l->files->locks = mt_locks_read();
    if (rc == MT_OK && l->files->locks == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == MT_OK && l->has_folder && i < l->processes.n; i++)
        if (!l->processes.p[i]->ended)
            refresh_process(l, l->processes.p[i]);
    return rc;
}

enum mt_rc mt_live_open(struct mt_live **out, const struct mt_live_opts *o, struct mt_err *err)
{
    struct mt_live *l = *out = mt_calloc(1, sizeof *l);
    if (l == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    l->o = *o;
    l->dir = mt_strndup(o->dir, strlen(o->dir));
    l->files = mt_calloc(1, sizeof *l->files);
    if (l->files != NULL) {
        l->files->buf = mt_malloc(MT_WIRE_MAX_CHUNK);
        l->files->has_members = mt_members_open(&l->files->members, -1);
    }
    if (l->dir != NULL && l->files != NULL && l->files->buf != NULL && l->files->has_members)
        return MT_OK;
    mt_live_close(l);
    *out = NULL;
    return mt_fail(err, MT_ENOMEM, "out of memory");
}

void mt_live_close(struct mt_live *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->processes.n; i++)
        mt_live_process_free(l->processes.p[i]);
    MT_VEC_DONE(&l->processes);
    if (l->files != NULL) {
        mt_free(l->files->buf);
        mt_free(l->files->locks);
        if (l->files->has_members)
            mt_members_done(&l->files->members);
        mt_symbols_free(l->files->symbols);
    }
    mt_free(l->files);
    mt_free(l->dir);
    mt_free(l);
}

const char *mt_live_function(struct mt_live_process *p, const struct mt_live_frame *f)
{
    struct mt_live_files *files = p->live->files;
    const struct mt_tally *t = &p->read->tally;
    const char *name = NULL;
    if (files->symbols == NULL)
        files->symbols = mt_symbols_new();
    if (files->symbols != NULL && f->module > 0 && f->module <= t->modules.n)
        name = mt_symbols_find(files->symbols, &t->modules.p[f->module - 1], f->offset);
    return name != NULL ? name : "";
}
