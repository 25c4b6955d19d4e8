/* input/members.c -- the gzip members of a trace, one at a time. A member is handed out only if its
 * checksum and header are right; a damaged one is lost without those behind it. Offsets are of the
 * compressed stream. */
#include "parser/input/trace.h"

#include <stdio.h>
#include <string.h>

enum { GZIP_HEADER = 40, GZIP_LEAST = GZIP_HEADER + 8, LOOK = 65536 };

static bool is_member(const unsigned char *p)
{
    static const unsigned char extra[6] = {28, 0, 'M', 'T', MT_WIRE_EXTRA, 0};
    return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && p[3] == 4 &&
           memcmp(p + 10, extra, sizeof extra) == 0;
}

const unsigned char *mt_member_find(const unsigned char *p, const unsigned char *end)
{
    while ((size_t)(end - p) >= 16) {
        p = memchr(p, 0x1f, (size_t)(end - p) - 15);
        if (p == NULL)
            return NULL;
        if (is_member(p))
            return p;
        p++;
    }
    return NULL;
}

bool mt_trace_inside(struct mt_source *s)
{
    size_t n = mt_source_need(s, LOOK);
    return mt_member_find(s->cur, s->cur + (n < LOOK ? n : LOOK)) != NULL;
}

void mt_lose(struct mt_losses *l, uint64_t offset, const char *text)
{
    if (l->n < MT_MAX_LOSSES) {
        l->list[l->n].offset = offset;
        (void)snprintf(l->list[l->n].text, sizeof l->list[l->n].text, "%s", text);
    }
    l->n++;
}

static const char *kind_name(unsigned kind)
{
    switch (kind) {
    case MT_WK_PROCESS: return "chunk";
    case MT_WK_ATTACH: return "part of attached files";
    case MT_WK_COLLECT: return "chunk of the collector about it";
    case MT_WK_LAUNCH: return "chunk of the launcher";
    case MT_WK_KEPT: return "chunk of what was kept";
    default: return "chunk of an unknown kind";
    }
}

static void lose_member(struct mt_members *m, const unsigned char *h, uint64_t at, const char *why)
{
    char text[sizeof m->losses->list[0].text];
    (void)snprintf(text, sizeof text, "%s: %s %llu of process %016llx is lost", why,
                   kind_name(mt_get16(h + 36)), (unsigned long long)mt_get64(h + 24),
                   (unsigned long long)mt_get64(h + 16));
    mt_lose(m->losses, at, text);
}

static bool header_agrees(const struct mt_members *m, const unsigned char *h)
{
    const unsigned char *c = m->chunk;
    if (m->n < MT_WIRE_HEADER || memcmp(c, MT_WIRE_MAGIC, 7) != 0)
        return false;
    if (c[7] != (unsigned char)MT_WIRE_MAGIC[7]) /* another version: the reader says so */
        return true;
    return mt_get64(c + MT_WH_UID) == mt_get64(h + 16) &&
           mt_get64(c + MT_WH_SEQ) == mt_get64(h + 24) &&
           mt_get16(c + MT_WH_KIND) == mt_get16(h + 36) &&
           m->n == (uint64_t)MT_WIRE_HEADER + mt_get32(c + MT_WH_USED);
}

static bool room_for(struct mt_members *m, size_t n)
{
    size_t cap = n > 2 * m->cap ? n : 2 * m->cap;
    unsigned char *p;
    if (n <= m->cap)
        return true;
    p = mt_realloc(m->chunk, cap);
    if (p == NULL) {
        m->rc = mt_fail(&m->err, MT_ENOMEM,
                        "out of memory while unpacking a trace (raise --max-memory)");
        return false;
    }
    m->chunk = p;
    m->cap = cap;
    return true;
}

/* One way of inflate_member(), below. */
static size_t inflate_by(struct mt_members *m, bool through_zlib, const char **why, size_t *used)
{
    struct mt_source *up = m->up;
    uint32_t raw = mt_get32(up->cur + 32);
    size_t have = (size_t)(up->end - up->cur), pos = 0;
    size_t room = (size_t)raw + 1; /* one more, to see that it is not longer */
    unsigned char *out = m->chunk;
    enum mt_inflated how = MT_INFLATE_MORE;
    *used = 1;
    *why = "a damaged gzip member";
    m->n = 0;
    if (!mt_inflater_begin(&m->f, up->cur, have, through_zlib))
        return 0;
    while (how == MT_INFLATE_MORE && room > 0) {
        const unsigned char *in;
        size_t left;
        if (pos == have) {
            size_t more = mt_source_need(up, have + 1);
            if (more == have) {
                *why = "the trace is cut short";
                *used = have;
                return 0;
            }
            have = more;
        }
        in = up->cur + pos;
        left = have - pos;
        how = mt_inflater_run(&m->f, &in, &left, &out, &room);
        pos = have - left;
        if (pos > 2 * (size_t)raw + LOOK) /* blocks without content, one after the other */
            break;
    }
    *used = pos;
    m->n = raw + 1 - room;
    if (how != MT_INFLATE_END || m->n != raw)
        return 0;
    *why = "a gzip member that is not what its header says";
    return header_agrees(m, up->cur) ? pos : 0;
}

/* Inflates the member at up->cur into m->chunk without consuming it. Returns its compressed size, 0
 * when it is damaged; *why says how. *used: how far into the stream the attempt looked. */
static size_t inflate_member(struct mt_members *m, const char **why, size_t *used)
{
    uint32_t raw = mt_get32(m->up->cur + 32);
    size_t n;
    *used = 1;
    *why = "a damaged gzip member";
    m->n = 0;
    if (raw < MT_WIRE_HEADER || raw > MT_WIRE_MAX_CHUNK || !room_for(m, (size_t)raw + 1))
        return 0;
    n = inflate_by(m, false, why, used);
    return n == 0 && m->f.by_isal ? inflate_by(m, true, why, used) : n;
}

/* Passes over `least` bytes and on to the next member; says so unless it is padding at the end. */
static void skip(struct mt_members *m, size_t least, bool told)
{
    struct mt_source *up = m->up;
    uint64_t at = mt_source_offset(up);
    const unsigned char *q;
    bool zeros = true;
    char text[120];
    do {
        size_t left = mt_source_need(up, 16);
        q = least < left ? mt_member_find(up->cur + least, up->end) : NULL;
        if (q != NULL)
            left = (size_t)(q - up->cur);
        else if (left >= 16 && least + 15 <= left)
            left -= 15; /* a member may begin there */
        for (size_t i = 0; i < left && zeros; i++)
            zeros = up->cur[i] == 0;
        up->cur += left;
        least = least > left ? least - left : 0;
    } while (q == NULL && mt_source_need(up, 16) >= 16);
    for (; q == NULL && up->cur < up->end; up->cur++)
        zeros = zeros && *up->cur == 0;
    if (told || (zeros && q == NULL))
        return;
    (void)snprintf(text, sizeof text, "%llu bytes are no member of a trace and were passed over",
                   (unsigned long long)(mt_source_offset(up) - at));
    mt_lose(m->losses, at, text);
}

int mt_member_next(struct mt_members *m)
{
    struct mt_source *up = m->up;
    m->n = 0;
    if (m->size != 0)
        up->cur += m->size;
    m->size = 0;
    while (m->rc == MT_OK && mt_source_need(up, 1) > 0) {
        const char *why;
        size_t used;
        if (mt_source_need(up, GZIP_LEAST) < GZIP_LEAST || !is_member(up->cur)) {
            skip(m, 1, false);
            continue;
        }
        m->at = mt_source_offset(up);
        m->size = inflate_member(m, &why, &used);
        m->out += m->n;
        if (m->rc == MT_OK &&
            (m->rc = mt_ratio_check(m->out, m->at + used, m->raw, m->max_ratio, &m->err)) != MT_OK)
            m->size = 0;
        if (m->size != 0)
            return 1;
        if (m->rc != MT_OK)
            break;
        if (up->status != MT_OK && *why == 't')
            break; /* said by the stream itself */
        lose_member(m, up->cur, m->at, why);
        /* Search again right behind the damage, because the failed attempt may have run into good
         * members. What may be read
         * twice in vain is bounded: a hostile file could nest magics. */
        m->wasted += m->n;
        skip(m, m->wasted < (UINT64_C(64) << 20) + 8 * m->at || used < 1 ? 1 : used, true);
    }
    m->n = 0;
    if (m->rc == MT_OK && up->status != MT_OK) {
        m->rc = up->status;
        m->err = up->err;
    }
    return 0;
}
