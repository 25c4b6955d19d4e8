/* kept.c -- records of what was let go into chunks of kind KEPT. */
#define _GNU_SOURCE 1
#include "capture/inject/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_ROOM (2u + 8u * MT_VARINT_MAX)

static uint64_t signed_from(uint64_t v, uint64_t from) { return mt_zigzag((int64_t)(v - from)); }

/* Type and length; the record itself lies at w->start, 2 bytes behind the end of the last one. */
void mti_kept_end(struct mti_kept *k, struct mti_w *w)
{
    size_t n = (size_t)(w->p - w->start), head;
    unsigned char text[2 * MT_VARINT_MAX], *at = k->raw + MT_WIRE_HEADER + k->used;
    if (w->type == 0) {
        k->error = k->error ? k->error : EOVERFLOW;
        return;
    }
    head = (size_t)(mt_put_varint(mt_put_varint(text, w->type), n) - text);
    if (at + head != w->start)
        memmove(at + head, w->start, n);
    memcpy(at, text, head);
    k->used += (uint32_t)(head + n);
    k->records++;
}

/* Takes part in mti_kept_begin(), once for each chunk. */
static void put_checkpoint(struct mti_kept *k, uint64_t parts)
{
    const struct mti_checkpoint *c = k->checkpoint;
    struct mti_w w;
    mti_kept_begin(k, &w, MT_WR_CHECKPOINT, HEAD_ROOM);
    mti_u(&w, c->first_seq);
    mti_u(&w, signed_from(c->time, k->monotonic));
    mti_u(&w, signed_from(c->start, k->monotonic));
    mti_u(&w, parts);
    mti_u(&w, c->records);
    mti_u(&w, c->calls);
    mti_u(&w, c->failures);
    mti_kept_end(k, &w);
}

static void open_chunk(struct mti_kept *k)
{
    unsigned char *p = k->raw;
    memset(p, 0, MT_WIRE_HEADER);
    memcpy(p + MT_WH_MAGIC, MT_WIRE_MAGIC, 8);
    mt_put64(p + MT_WH_UID, mti_uid);
    mt_put64(p + MT_WH_SEQ, k->seq);
    mt_put64(p + MT_WH_REALTIME, k->realtime);
    mt_put64(p + MT_WH_MONOTONIC, k->monotonic);
    mt_put32(p + MT_WH_PID, (uint32_t)mti_pid);
    mt_put16(p + MT_WH_KIND, MT_WK_KEPT);
    k->delta = (struct mti_delta){.time = k->monotonic, .tid = (uint64_t)mti_pid};
    k->used = k->records = 0;
    k->open = true;
}

void mti_kept_begin(struct mti_kept *k, struct mti_w *w, unsigned type, size_t room)
{
    /* each chunk keeps room for the record that says how many parts there are */
    size_t rest = type == MT_WR_CHECKPOINT ? 0 : 2 * (size_t)HEAD_ROOM;
    if (k->open && MT_WIRE_HEADER + k->used + room + HEAD_ROOM + rest > MTI_SLOT)
        mti_kept_flush(k, false);
    if (!k->open) {
        open_chunk(k);
        if (k->checkpoint)
            put_checkpoint(k, 0);
    }
    w->start = w->p = k->raw + MT_WIRE_HEADER + k->used + 2;
    /* where a flush has failed nothing is added: the record is lost, and k->error says so */
    w->end = k->error ? w->p : k->raw + MTI_SLOT - MT_VARINT_MAX;
    w->d = &k->delta;
    w->type = type;
}

void mti_kept_raw(struct mti_kept *k, unsigned type, const unsigned char *payload, size_t n)
{
    struct mti_w w;
    mti_kept_begin(k, &w, type, n);
    mti_bytes(&w, payload, n);
    mti_kept_end(k, &w);
}

void mti_kept_timed(struct mti_kept *k, unsigned type, uint64_t time, uint32_t tid,
                    const unsigned char *payload, size_t n)
{
    struct mti_w w;
    mti_kept_begin(k, &w, type, n + 2 * (size_t)MT_VARINT_MAX);
    mti_timed_tid(&w, time, tid);
    mti_bytes(&w, payload, n);
    mti_kept_end(k, &w);
}

void mti_kept_call(struct mti_kept *k, const struct mti_call *c, uint32_t tid)
{
    struct mti_w w;
    mti_kept_begin(k, &w, MT_WR_CALL, MTI_CALL_ROOM);
    mti_put_call(&w, c, tid);
    mti_kept_end(k, &w);
}

/* All of it or, as far as the disk lets us, nothing of it. */
static void write_all(struct mti_kept *k, int fd, const unsigned char *p, size_t n)
{
    struct stat st;
    size_t left = n;
    if (fstat(fd, &st) != 0)
        k->error = errno;
    while (left && !k->error) {
        ssize_t done = write(fd, p, left);
        if (done > 0) {
            p += done;
            left -= (size_t)done;
        } else if (done == 0 || errno != EINTR) {
            k->error = done == 0 ? ENOSPC : errno;
        }
    }
    if (!k->error)
        k->bytes += n;
    else if (left < n && ftruncate(fd, st.st_size) != 0)
        k->error = errno; /* half a member stays; readers find the next by its header */
}

static void append(struct mti_kept *k, size_t n)
{
    int fd = open(k->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        k->error = errno;
        return;
    }
    write_all(k, fd, k->packer->out, n);
    if (close(fd) != 0 && !k->error)
        k->error = errno;
}

void mti_kept_flush(struct mti_kept *k, bool last)
{
    if (last && k->checkpoint)
        put_checkpoint(k, k->seq + 1);
    if (!k->open)
        return;
    if (!k->checkpoint)
        k->error = 0;
    mt_put32(k->raw + MT_WH_USED, k->used);
    mt_put32(k->raw + MT_WH_RECORDS, k->records);
    size_t n = mti_member(k->packer, k->raw, MT_WIRE_HEADER + k->used);
    if (n == 0)
        k->error = ENOMEM;
    else if (!k->error)
        append(k, n);
    if (k->error && !k->checkpoint)
        return; /* definitions stay until they can be written */
    k->open = false;
    k->seq++;
    if (k->between)
        k->between();
}
