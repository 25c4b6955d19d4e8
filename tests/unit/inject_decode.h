/* inject_decode.h -- what a process left in its folder, .gz and .spool, read by code that shares
 * nothing with the writer but parser/model/wire.h. For inject_core.c and inject_faults.c; its CALL
 * records carry the number of the thread as `offset` and a counter as `size`. */
#ifndef INJECT_DECODE_H
#define INJECT_DECODE_H

#include "capture/inject/inject.h" /* struct mti_delta */
#include "parser/model/wire.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_SEQ 8192u
#define MAX_THREADS 64u

struct got {
    unsigned files_gz, files_spool, uids, members, chunks, gaps, bad, cut, locked;
    uint64_t uid[16];
    /* CALL records; by their `offset` field, which is the number of the thread here */
    uint64_t calls, per_thread[MAX_THREADS];
    /* CALLs of a thread whose `size` is not the one after the last */
    uint64_t disorder;
    uint64_t statuses[32], lost_records, ends, attrs, threads, strings, string_bytes, text_hits,
        time_errors;
    int end_status;
    char last_text[1100];
};

struct chunk {
    uint64_t uid, seq;
    size_t n;
    unsigned char *p;
};
static struct chunk chunks[MAX_SEQ];
static size_t n_chunks;

static void keep(const unsigned char *p, size_t n, struct got *g)
{
    if (n < MT_WIRE_HEADER || memcmp(p, MT_WIRE_MAGIC, 8) != 0 ||
        MT_WIRE_HEADER + mt_get32(p + MT_WH_USED) > n) {
        g->bad++;
        return;
    }
    uint64_t uid = mt_get64(p + MT_WH_UID), seq = mt_get64(p + MT_WH_SEQ);
    n = MT_WIRE_HEADER + mt_get32(p + MT_WH_USED);
    for (size_t i = 0; i < n_chunks; i++)
        if (chunks[i].uid == uid && chunks[i].seq == seq) {
            if (n > chunks[i].n) {
                free(chunks[i].p);
                chunks[i].p = malloc(n);
                memcpy(chunks[i].p, p, chunks[i].n = n);
            }
            return;
        }
    if (n_chunks == MAX_SEQ) {
        g->bad++;
        return;
    }
    struct chunk *c = &chunks[n_chunks++];
    *c = (struct chunk){uid, seq, n, malloc(n)};
    memcpy(c->p, p, n);
}

static unsigned char *slurp(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    unsigned char *p;
    *n = 0;
    if (fd < 0 || fstat(fd, &st) != 0 || !(p = malloc((size_t)st.st_size + 1)))
        return NULL;
    for (ssize_t k; (k = read(fd, p + *n, (size_t)st.st_size - *n)) > 0;)
        *n += (size_t)k;
    close(fd);
    return p;
}

static void read_gz(const char *path, struct got *g)
{
    static unsigned char raw[MT_WIRE_MAX_CHUNK];
    size_t n;
    unsigned char *p = slurp(path, &n);
    for (size_t at = 0; p && at < n;) {
        z_stream z = {.next_in = p + at,
                      .avail_in = (unsigned)(n - at),
                      .next_out = raw,
                      .avail_out = sizeof raw};
        if (n - at < 40) {
            g->cut++;
            break;
        }
        if (mt_get16(p + at + 12) != ('M' | 'T' << 8) || mt_get16(p + at + 14) != MT_WIRE_EXTRA ||
            inflateInit2(&z, 31) != Z_OK) {
            g->bad++;
            break;
        }
        int r = inflate(&z, Z_FINISH);
        size_t used = n - at - z.avail_in, size = sizeof raw - z.avail_out;
        inflateEnd(&z);
        /* a kill in the middle of writing it: the chunk is still in the spool */
        if (r != Z_STREAM_END) {
            g->cut++;
            g->bad += z.avail_in != 0;
            break;
        }
        if (mt_get32(p + at + 32) != size || mt_get64(p + at + 16) != mt_get64(raw + MT_WH_UID) ||
            mt_get64(p + at + 24) != mt_get64(raw + MT_WH_SEQ))
            g->bad++;
        keep(raw, size, g);
        g->members++;
        at += used;
    }
    free(p);
}

static void read_spool(const char *path, struct got *g)
{
    size_t n;
    unsigned char *p = slurp(path, &n);
    int fd = open(path, O_RDWR);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        g->locked++;
    if (fd >= 0)
        close(fd);
    if (p && n >= MT_SPOOL_PAGE && memcmp(p, MT_SPOOL_MAGIC, 8) == 0) {
        size_t size = mt_get32(p + MT_SP_CHUNK), slots = mt_get32(p + MT_SP_CHUNKS),
               acts = mt_get32(p + MT_SP_ACTS);
        if (n != MT_SPOOL_PAGE + slots * size + acts * mt_get32(p + MT_SP_ACT_SIZE))
            g->bad++;
        for (size_t i = 0; i < slots && MT_SPOOL_PAGE + (i + 1) * size <= n; i++)
            if (mt_get32(p + MT_SP_STATES + 4 * i) != MT_SS_FREE)
                keep(p + MT_SPOOL_PAGE + i * size, size, g);
    } else if (n) {
        g->bad++;
    }
    free(p);
}

static void call(const unsigned char *p, const unsigned char *end, struct got *g,
                 struct mti_delta *d, uint64_t *next)
{
    uint64_t v[4] = {0}, size = 0, thread = 0, addr = 0, field = 0;
    for (int i = 0; i < 4; i++)
        if (!mt_get_varint(&p, end, v + i))
            g->bad++;
    for (unsigned bit = 1; bit <= MT_WF_CORR; bit <<= 1) {
        if (!(v[3] & bit))
            continue;
        if (!mt_get_varint(&p, end, &field))
            g->bad++;
        if (bit == MT_WF_SIZE)
            size = field;
        if (bit == MT_WF_OFFSET)
            thread = field;
        if (bit == MT_WF_ADDR)
            addr = d->addr += (uint64_t)mt_unzigzag(field);
    }
    if (p != end || addr != 0x7f0000000000u + size * 512 + thread)
        g->bad++;
    g->calls++;
    if (thread < MAX_THREADS) {
        g->per_thread[thread]++;
        if (size != next[thread])
            g->disorder++;
        next[thread] = size + 1;
    }
}

static void record(unsigned type, const unsigned char *p, const unsigned char *end, struct got *g,
                   struct mti_delta *d, uint64_t *next)
{
    uint64_t v[8] = {0}, t = 0, tid = 0;
    int timed =
        type == MT_WR_CALL || type == MT_WR_STATUS || type == MT_WR_LOSS || type == MT_WR_END;
    if (timed) {
        if (!mt_get_varint(&p, end, &t) || !mt_get_varint(&p, end, &tid))
            g->bad++;
        d->time += (uint64_t)mt_unzigzag(t);
        d->tid += (uint64_t)mt_unzigzag(tid);
        if (d->tid == 0 || d->tid > 5000000 || d->time == 0)
            g->time_errors++;
    }
    switch (type) {
    case MT_WR_STRING:
        if (!mt_get_varint(&p, end, v) || v[0] == 0)
            g->bad++;
        g->strings++;
        g->string_bytes += (uint64_t)(end - p);
        break;
    case MT_WR_ATTR: g->attrs++; break;
    case MT_WR_THREAD: g->threads++; break;
    case MT_WR_STATUS:
        if (!mt_get_varint(&p, end, v) || !mt_get_varint(&p, end, v + 1) ||
            !mt_get_varint(&p, end, v + 2) || v[2] != (uint64_t)(end - p))
            g->bad++;
        if (v[0] < 32)
            g->statuses[v[0]]++;
        snprintf(g->last_text, sizeof g->last_text, "%.*s", (int)(end - p), (const char *)p);
        break;
    case MT_WR_LOSS:
        if (!mt_get_varint(&p, end, v) || !mt_get_varint(&p, end, v + 1) ||
            !mt_get_varint(&p, end, v + 2))
            g->bad++;
        if (v[0] == MT_LO_RECORDS && v[1] > g->lost_records)
            g->lost_records = v[1];
        break;
    case MT_WR_END:
        if (!mt_get_varint(&p, end, v) || !mt_get_varint(&p, end, v + 1))
            g->bad++;
        g->ends++;
        g->end_status = (int)mt_unzigzag(v[1]);
        break;
    case MT_WR_CALL: call(p, end, g, d, next); break;
    default: g->bad++;
    }
}

static void records(const struct chunk *c, struct got *g, uint64_t *next)
{
    const unsigned char *p = c->p + MT_WIRE_HEADER, *end = c->p + c->n;
    struct mti_delta d = {.time = mt_get64(c->p + MT_WH_MONOTONIC),
                          .tid = mt_get32(c->p + MT_WH_PID)};
    uint32_t n = 0;
    uint64_t type, len;
    while (p < end) {
        if (!mt_get_varint(&p, end, &type) || !mt_get_varint(&p, end, &len) ||
            len > (uint64_t)(end - p)) {
            g->bad++;
            break;
        }
        record((unsigned)type, p, p + len, g, &d, next);
        p += len;
        n++;
    }
    /* The number of records is stored just before `used`: a kill may fall between. */
    if (n != mt_get32(c->p + MT_WH_RECORDS) && n + 1 != mt_get32(c->p + MT_WH_RECORDS))
        g->bad++;
}

static int by_seq(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    return x->uid != y->uid ? (x->uid < y->uid ? -1 : 1) : x->seq < y->seq ? -1 : x->seq > y->seq;
}

static struct got decode(const char *dir)
{
    struct got g = {.end_status = -1};
    uint64_t next[MAX_THREADS] = {0};
    char path[4096];
    DIR *d = opendir(dir);
    n_chunks = 0;
    /* The .gz first or the spool first: both orders have to work; a chunk may be in both. */
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (n > 3 && strcmp(e->d_name + n - 3, ".gz") == 0) {
            g.files_gz++;
            read_gz(path, &g);
        } else if (n > 6 && strcmp(e->d_name + n - 6, ".spool") == 0) {
            g.files_spool++;
            read_spool(path, &g);
        }
    }
    if (d)
        closedir(d);
    qsort(chunks, n_chunks, sizeof *chunks, by_seq);
    for (size_t i = 0; i < n_chunks; i++) {
        bool first = i == 0 || chunks[i].uid != chunks[i - 1].uid;
        if (chunks[i].seq != (first ? 0 : chunks[i - 1].seq + 1))
            g.gaps++;
        if (first) {
            memset(next, 0, sizeof next);
            if (g.uids < 16)
                g.uid[g.uids] = chunks[i].uid;
            g.uids++;
        }
        records(&chunks[i], &g, next);
        free(chunks[i].p);
    }
    g.chunks = (unsigned)n_chunks;
    return g;
}

#endif
