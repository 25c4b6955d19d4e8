/* collect_files.c -- files of a spool directory that go into the trace as they are: snapshots and
 * texts, in parts. */
#include "capture/collect_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART                                                                                       \
    (15u << 16) /* of an attached file: with the record that names it, it has to fit into one      \
                   chunk (CHUNK_FULL) */

/* The process that an attached file belongs to: by uid, else the last of its pid. */
static struct mt_collected *owner_of(struct mt_collect_job *j, const struct mt_found_file *f)
{
    struct mt_collected *found = NULL;
    for (uint32_t i = 0; i < j->c->processes.n; i++) {
        struct mt_collected *p = &j->c->processes.p[i];
        if (f->uid != 0 ? p->uid == f->uid
                        : p->pid == f->pid && f->pid != 0 && strcmp(p->host, f->host) == 0)
            found = p;
    }
    return found;
}

static enum mt_rc attach(struct mt_collect_job *j, const struct mt_found_file *f, uint64_t id,
                         uint64_t *orphan_seq, uint64_t *seqs)
{
    char *path = mt_path_join(j->o->dir, f->name);
    unsigned char *buf = mt_malloc(PART);
    struct mt_collected *owner = owner_of(j, f);
    uint64_t *seq = owner != NULL ? &seqs[owner - j->c->processes.p] : orphan_seq;
    uint64_t total = f->bytes, parts = total == 0 ? 1 : (total + PART - 1) / PART;
    enum mt_rc rc = MT_OK;
    struct stat st;
    int fd = -1;

    if (path == NULL || buf == NULL) {
        rc = mt_collect_no_memory(j);
    } else if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0 ||
               fstat(fd, &st) != 0) {
        rc = mt_is_absent(errno) ? MT_OK : mt_collect_unread(j, f->name, errno);
        j->c->n_damaged++;
    } else if (!S_ISREG(st.st_mode)) {
        j->c->n_damaged++;
    } else {
        for (uint64_t part = 0; part < parts; part++) {
            struct mt_payload p = {.n = 0};
            struct mt_chunk_out out;
            size_t got = 0,
                   want = total - part * PART < PART ? (size_t)(total - part * PART) : PART;
            if (!mt_read_at(fd, buf, want, part * PART, &got)) {
                rc = mt_collect_unread(j, f->name, errno);
                break;
            }
            if (got < want)
                j->c->n_damaged++; /* it shrank: the rest is missing, and the part numbers say so */
            mt_chunk_out_init(&out, &j->out, owner != NULL ? owner->uid : 0, MT_WK_ATTACH, f->pid);
            out.seq = *seq;
            out.realtime =
                owner != NULL ? j->tallies[owner - j->c->processes.p].realtime : j->last_ns;
            out.monotonic = owner != NULL ? j->tallies[owner - j->c->processes.p].monotonic : 0;
            out.fast = true;
            mt_pay_u(&p, id);
            mt_pay_u(&p, part);
            mt_pay_u(&p, parts);
            mt_pay_u(&p, total);
            mt_pay_str(&p, f->name, strlen(f->name));
            mt_pay_str(&p, f->kind, strlen(f->kind));
            mt_chunk_out_record(&out, MT_WR_ATTACH, &p);
            mt_chunk_out_blob(&out, MT_WR_BLOB, buf, got);
            mt_chunk_out_done(&out);
            *seq = out.seq;
            if (got < want || !mt_collect_go_on(j, f->name, got))
                break;
        }
        if (strcmp(f->kind, "text") != 0) {
            j->c->n_snapshots++;
            if (owner != NULL)
                owner->snapshots++;
        } else {
            j->c->n_texts++;
        }
    }
    if (fd >= 0)
        (void)close(fd);
    mt_free(buf);
    mt_free(path);
    return rc;
}

enum mt_rc mt_collect_files(struct mt_collect_job *j)
{
    uint64_t orphans = 0, *seqs = mt_calloc((size_t)j->c->processes.n + 1, sizeof *seqs);
    enum mt_rc rc = seqs != NULL ? MT_OK : mt_collect_no_memory(j);
    for (uint32_t i = 0; rc == MT_OK && i < j->scan.files.n && !j->stopped; i++)
        rc = attach(j, &j->scan.files.p[i], i + 1, &orphans, seqs);
    mt_free(seqs);
    return rc;
}
