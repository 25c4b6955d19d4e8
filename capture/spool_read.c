/* spool_read.c -- what a process left in its spool: chunks that never became a member of its .gz,
 * and activity records that CUPTI never gave back. The file is input like any other: every number
 * in it is checked before it is used. */
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS_MAX 256u
#define ACTS_MAX 1024u
#define ACT_MAX (1u << 20)
#define HELD_MAX (64u << 20) /* bytes of chunks taken from one spool */

bool mt_spool_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool locked;
    if (fd < 0)
        return false;
    locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd); /* and our lock with it */
    return locked;
}

/* As mt_read_at(); what fails is remembered. */
static bool read_at(struct mt_spool *s, void *buf, size_t n, uint64_t offset, size_t *got)
{
    bool ok = mt_read_at(s->fd, buf, n, offset, got) != 0;
    if (!ok)
        s->error = errno;
    return ok;
}

static int by_kind_and_seq(const void *a, const void *b)
{
    const struct mt_slot *x = a, *y = b;
    if (x->chunk.kind != y->chunk.kind)
        return x->chunk.kind < y->chunk.kind ? -1 : 1;
    return x->chunk.seq < y->chunk.seq ? -1 : x->chunk.seq > y->chunk.seq;
}

/* Takes the chunk of one slot. false = out of memory. */
static bool take(struct mt_spool *s, uint64_t offset, uint32_t size, size_t *held)
{
    unsigned char head[MT_WIRE_HEADER];
    struct mt_chunk c;
    struct mt_slot *slot;
    unsigned char *p;
    size_t got, whole;

    if (!read_at(s, head, sizeof head, offset, &got) || got < sizeof head) {
        s->n_bad++;
        return true;
    }
    (void)mt_chunk_parse(&c, head, sizeof head); /* what it says of its length is looked at here */
    if (c.raw == NULL || c.uid != s->uid || c.used > size - MT_WIRE_HEADER ||
        *held + c.used > HELD_MAX) {
        s->n_bad++;
        return true;
    }
    if (c.used == 0)
        return true;
    p = mt_malloc(MT_WIRE_HEADER + c.used);
    if (p == NULL)
        return false;
    memcpy(p, head, sizeof head);
    if (!read_at(s, p + MT_WIRE_HEADER, c.used, offset + MT_WIRE_HEADER, &got)) {
        mt_free(p);
        s->n_bad++;
        return true;
    }
    whole = mt_chunk_whole(p + MT_WIRE_HEADER, got);
    if (whole < c.used)
        s->n_bad++;
    if (whole == 0) {
        mt_free(p);
        return true;
    }
    slot = MT_VEC_PUSH(&s->slots);
    if (slot == NULL) {
        mt_free(p);
        return false;
    }
    mt_put32(p + MT_WH_USED, (uint32_t)whole);
    slot->p = p;
    (void)mt_chunk_parse(&slot->chunk, p, MT_WIRE_HEADER + whole);
    *held += whole;
    return true;
}

bool mt_spool_read(struct mt_spool *s, const char *path)
{
    unsigned char page[MT_SPOOL_PAGE];
    uint32_t chunk, chunks, n_states;
    struct stat st;
    size_t got, held = 0;

    memset(s, 0, sizeof *s);
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (s->fd < 0 || fstat(s->fd, &st) != 0) {
        s->error = mt_is_absent(errno) ? 0 : errno;
        return true;
    }
    if (!S_ISREG(st.st_mode))
        return true;
    s->there = true;
    s->running = flock(s->fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!read_at(s, page, sizeof page, 0, &got) || got < sizeof page ||
        memcmp(page, MT_SPOOL_MAGIC, 8) != 0)
        return true;
    s->uid = mt_get64(page + MT_SP_UID);
    s->pid = mt_get32(page + MT_SP_PID);
    s->clockdiff = mt_get64(page + MT_SP_CLOCKDIFF);
    s->dropped = mt_get64(page + MT_SP_DROPPED);
    chunk = mt_get32(page + MT_SP_CHUNK);
    chunks = mt_get32(page + MT_SP_CHUNKS);
    s->act_size = mt_get32(page + MT_SP_ACT_SIZE);
    s->n_acts = mt_get32(page + MT_SP_ACTS);
    s->stride2 = mt_get32(page + MT_SP_STRIDE2);
    s->stridep = mt_get32(page + MT_SP_STRIDEP);
    if (chunk <= MT_WIRE_HEADER || chunk > MT_WIRE_MAX_CHUNK || chunks > SLOTS_MAX ||
        s->n_acts > ACTS_MAX || s->act_size > ACT_MAX)
        return true;
    n_states = chunks + s->n_acts;
    if (MT_SP_STATES + 4 * (size_t)n_states > sizeof page)
        return true;
    s->whole_header = true;
    for (uint32_t i = 0; i < chunks; i++) {
        uint32_t state = mt_get32(page + MT_SP_STATES + 4 * (size_t)i);
        if (state != MT_SS_FREE && !take(s, MT_SPOOL_PAGE + (uint64_t)i * chunk, chunk, &held))
            return false;
    }
    if (s->slots.n > 1)
        qsort(s->slots.p, s->slots.n, sizeof *s->slots.p, by_kind_and_seq);
    s->act_offset = MT_SPOOL_PAGE + (uint64_t)chunks * chunk;
    s->act_state = mt_calloc(s->n_acts + 1, 1);
    if (s->act_state == NULL)
        return false;
    for (uint32_t i = 0; i < s->n_acts; i++)
        s->act_state[i] = mt_get32(page + MT_SP_STATES + 4 * (size_t)(chunks + i)) == MT_SS_FULL;
    return true;
}

void mt_spool_done(struct mt_spool *s)
{
    for (uint32_t i = 0; i < s->slots.n; i++)
        mt_free(s->slots.p[i].p);
    MT_VEC_DONE(&s->slots);
    mt_free(s->act_state);
    if (s->fd >= 0)
        (void)close(s->fd);
    memset(s, 0, sizeof *s);
    s->fd = -1;
}

/* ---- activity records: CUpti_ActivityMemory2 and later, whose first 112 bytes are one layout ----
 */

enum { ACT_MEMORY2 = 49, ACT_POOL = 50, ACT_LEAST = 112 };
enum mem2_at {
    M2_OP = 4,
    M2_KIND = 8,
    M2_CORR = 12,
    M2_ADDR = 16,
    M2_SIZE = 24,
    M2_TIME = 32,
    M2_PC = 40,
    M2_DEVICE = 52,
    M2_CONTEXT = 56,
    M2_STREAM = 60
};

static void emit_memory2(const struct mt_spool *s, const unsigned char *r, struct mt_chunk_out *out,
                         uint64_t delta[2])
{
    struct mt_payload p;
    uint64_t addr = mt_get64(r + M2_ADDR), corr = mt_get32(r + M2_CORR),
             mask = MT_WM_ADDR | MT_WM_SIZE | MT_WM_DEVICE | MT_WM_CORR | MT_WM_PC;
    uint32_t context = mt_get32(r + M2_CONTEXT), stream = mt_get32(r + M2_STREAM);
    uint64_t chunk_seq = out->seq;

    mt_chunk_out_timed(out, &p, mt_get64(r + M2_TIME) - s->clockdiff);
    if (out->seq != chunk_seq || out->records == 0)
        delta[0] = delta[1] = 0; /* a new chunk, a new state */
    mask |= context != UINT32_MAX ? MT_WM_CONTEXT : 0;
    mask |= stream != UINT32_MAX ? MT_WM_STREAM : 0;
    mt_pay_u(&p, mt_get32(r + M2_OP));
    mt_pay_u(&p, mt_get32(r + M2_KIND));
    mt_pay_u(&p, mask);
    mt_pay_s(&p, (int64_t)(addr - delta[0]));
    mt_pay_u(&p, mt_get64(r + M2_SIZE));
    mt_pay_u(&p, mt_get32(r + M2_DEVICE));
    if (context != UINT32_MAX)
        mt_pay_u(&p, context);
    if (stream != UINT32_MAX)
        mt_pay_u(&p, stream);
    mt_pay_s(&p, (int64_t)(corr - delta[1]));
    mt_pay_u(&p, mt_get64(r + M2_PC));
    delta[0] = addr;
    delta[1] = corr;
    mt_chunk_out_record(out, MT_WR_MEMORY2, &p);
}

uint64_t mt_spool_activity(struct mt_spool *s, struct mt_chunk_out *out)
{
    uint64_t n = 0, delta[2] = {0, 0};
    unsigned char *buf;

    if (!s->whole_header || s->stride2 < ACT_LEAST || s->stride2 > 4096 || s->act_size < s->stride2)
        return 0;
    buf = mt_malloc(s->act_size);
    if (buf == NULL) {
        s->error = ENOMEM;
        return 0;
    }
    for (uint32_t i = 0; i < s->n_acts; i++) {
        size_t got = 0, at = 0;
        if (!s->act_state[i] ||
            !read_at(s, buf, s->act_size, s->act_offset + (uint64_t)i * s->act_size, &got))
            continue;
        while (at + s->stride2 <= got) {
            uint32_t kind = mt_get32(buf + at);
            if (kind == ACT_MEMORY2) {
                emit_memory2(s, buf + at, out, delta);
                at += s->stride2;
                n++;
            } else if (kind == ACT_POOL && s->stridep >= 64 && s->stridep <= 4096) {
                at += s->stridep; /* rare, and the driver calls say the same */
            } else {
                break; /* CUPTI zeroes a buffer before it fills it: here it ends */
            }
        }
    }
    mt_free(buf);
    return n;
}
