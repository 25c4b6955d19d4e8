/* Annotations, settings, unknown keys, and whether this is a snapshot at all. */
#include "parser/base/num.h"
#include "parser/model/builder_impl.h"

#include <stdio.h>

void mt_build_totals(struct mt_builder *b, enum mt_device_kind kind, int32_t ordinal,
                     uint64_t live_end, uint64_t reserved_end, uint64_t memory)
{
    for (uint32_t i = 0; i < b->t->devices.n; i++) {
        struct mt_device *d = &b->t->devices.p[i];
        if (d->kind != kind || d->ordinal != ordinal)
            continue;
        d->has_totals = true;
        d->live_end = live_end;
        d->reserved_end = reserved_end;
        d->memory = memory;
    }
}

int mt_build_annotation(struct mt_builder *b, const struct mt_rec *r)
{
    struct mt_mark *m;
    uint64_t t = u64_of(r, MT_K_TIME_US);
    if (!has(r, MT_K_NAME) || !has(r, MT_K_STAGE) || !has(r, MT_K_TIME_US)) {
        b->n_bad_records++;
        return 1;
    }
    if ((m = MT_VEC_PUSH(&b->marks)) == NULL)
        return mt_b_nomem(b);
    m->name = str_of(r, MT_K_NAME);
    m->is_end = str_of(r, MT_K_STAGE) == b->end_id;
    m->device = (int32_t)(i64_of(r, MT_K_DEVICE) & 0x7fffffff);
    m->time_ns = t < UINT64_MAX / 1000 ? t * 1000 : 0;
    return 1;
}

int mt_b_value_text(struct mt_builder *b, struct mt_val v, mt_str_id *id)
{
    char buf[40];
    int n = 0;
    switch (v.type) {
    case MT_T_STR: *id = v.id; return 1;
    case MT_T_NONE: n = snprintf(buf, sizeof buf, "None"); break;
    case MT_T_BOOL: n = snprintf(buf, sizeof buf, "%s", v.i ? "True" : "False"); break;
    case MT_T_INT: n = snprintf(buf, sizeof buf, "%lld", (long long)v.i); break;
    case MT_T_UINT: n = snprintf(buf, sizeof buf, "%llu", (unsigned long long)v.u); break;
    case MT_T_FLOAT: /* the shortest form that reads back as the same number */
        for (int prec = 1; prec <= 17; prec++) {
            double back;
            n = snprintf(buf, sizeof buf, "%.*g", prec, v.d);
            back = mt_num_double((const unsigned char *)buf, n > 0 ? (size_t)n : 0);
            if (!(back < v.d || back > v.d))
                break;
        }
        break;
    case MT_T_BIG: n = snprintf(buf, sizeof buf, "(a number over 64 bits)"); break;
    case MT_T_ABSENT:
    case MT_T_STACK:
    case MT_T_FRAME:
    case MT_T_PAIR:
    case MT_T_OTHER: n = snprintf(buf, sizeof buf, "(...)"); break;
    }
    return mt_build_str(b, buf, n > 0 ? (size_t)n : 0, id);
}

int mt_build_setting(struct mt_builder *b, mt_str_id prefix, mt_str_id key, struct mt_val v)
{
    struct mt_setting *s;
    mt_str_id value;
    if (b->t->settings.n >= 4096) {
        b->n_bad_records++;
        return 1;
    }
    if (!mt_b_value_text(b, v, &value))
        return 0;
    if (prefix != 0) {
        char buf[512];
        int n = snprintf(buf, sizeof buf, "%s.%s", mt_str(b->t, prefix), mt_str(b->t, key));
        if (n < 0 || (size_t)n >= sizeof buf) {
            b->n_bad_records++;
            return 1;
        }
        if (!mt_build_str(b, buf, (size_t)n, &key))
            return 0;
    }
    if ((s = MT_VEC_PUSH(&b->t->settings)) == NULL)
        return mt_b_nomem(b);
    s->key = key;
    s->value = value;
    b->t->meta.has_settings = true;
    return 1;
}

int mt_build_ring(struct mt_builder *b, enum mt_key key, int32_t device, struct mt_val v)
{
    struct mt_ring *r = &b->ring_all;
    if (v.type != MT_T_INT && v.type != MT_T_BOOL && v.type != MT_T_UINT)
        return 1;
    if (device >= 0) {
        if (device >= MAX_ORDINAL)
            return 1;
        while (b->ring.n <= (uint32_t)device) {
            struct mt_ring *fresh = MT_VEC_PUSH(&b->ring);
            if (fresh == NULL)
                return mt_b_nomem(b);
            fresh->overflowed = -1;
        }
        r = &b->ring.p[device];
    }
    if (key == MT_K_TRACE_ALLOC_MAX_ENTRIES)
        r->max = v.u;
    else if (key == MT_K_TRACE_ALLOC_OVERFLOWED)
        r->overflowed = v.u != 0;
    return 1;
}

int mt_build_unknown_key(struct mt_builder *b, const void *s, size_t n)
{
    mt_str_id id;
    if (b->t->unknown_keys.n >= 64 && (id = mt_strpool_find(&b->t->str, s, n)) == MT_STR_FAIL)
        return 1;
    return mt_build_str(b, s, n > 200 ? 200 : n, &id) &&
           mt_b_count(b, &b->t->unknown_keys.p, &b->t->unknown_keys.n, &b->t->unknown_keys.cap, id);
}

void mt_build_saw_key(struct mt_builder *b, enum mt_key k)
{
    if (k != MT_K_DEVICE_TRACES && k != MT_K_TRACES && k != MT_K_HOST_TRACES)
        b->in_trace = false;
    b->in_segments = k == MT_K_SEGMENTS;
    if (k == MT_K_SEGMENTS)
        b->saw_segments = true;
    if (k == MT_K_DEVICE_TRACES)
        b->saw_traces = b->t->meta.has_device_traces = true;
    if (k == MT_K_EXTERNAL_ANNOTATIONS)
        b->t->meta.has_annotations = true;
    if (k == MT_K_HOST_SEGMENTS || k == MT_K_HOST_TRACES)
        b->t->meta.has_host = true;
}

void mt_build_saw_bare_list(struct mt_builder *b) { b->t->meta.is_bare_list = true; }

bool mt_build_is_snapshot(const struct mt_builder *b)
{
    /* other JSON has "segments" too (speech transcripts): then its records have no address and
     * total_size */
    return b->saw_traces || b->n_valid_segments > 0 ||
           (b->saw_segments && b->n_segment_records == 0);
}
