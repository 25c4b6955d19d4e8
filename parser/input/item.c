/* input/item.c -- one stream: wrappings off, reader found, trace named; or what to say when there
 * is none. */
#include "parser/model/driver.h"
#include "parser/input/impl.h"
#include "parser/input/readers.h"
#include "parser/saved/saved.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 4096 };

static enum mt_rc no_memory(struct mt_err *err) { return mt_fail(err, MT_ENOMEM, "out of memory"); }

static void add_encoding(char enc[64], enum mt_pack p)
{
    size_t n = strlen(enc);
    (void)snprintf(enc + n, 64 - n, "%s%s", n > 0 ? ", " : "", mt_pack_name(p));
}

/* Takes one wrapping off. 1 = done, look again; 0 = a container was opened and holds the item now;
 * < 0 = error. */
static int unwrap(struct mt_input *in, struct mt_item *it, enum mt_pack p, struct mt_err *err)
{
    struct mt_raw *file = it->direct && in->raw.regular ? &in->raw : NULL;
    struct mt_source *up = it->src;
    const struct mt_limits *lim = &in->opts.limits;
    enum mt_rc rc;
    if (it->layers >= MT_MAX_LAYERS)
        return mt_fail(err, MT_EINPUT,
                       "packed more than %d times (%s, and now %s): unpack the outer ones first",
                       MT_MAX_LAYERS, it->encoding, mt_pack_name(p));
    if (p != MT_PACK_TRACE)
        add_encoding(it->encoding, p);
    else if (mt_source_need(up, 2) >= 2 && up->cur[0] != 'M')
        add_encoding(it->encoding, MT_PACK_GZIP);
    it->layers++;
    it->direct = false;
    it->src = NULL;
    if (mt_pack_is_container(p)) {
        struct mt_open_box *x = &in->box[in->n_box];
        if (p == MT_PACK_TRACE)
            rc = mt_trace_open(&x->b, up, file, &in->raw, lim, &in->losses, err);
        else if (p == MT_PACK_HTML)
            rc = mt_html_open(&x->b, up, err);
        else
            rc = mt_archive_open(&x->b, up, p, file, &in->raw, lim, err);
        if (rc != MT_OK)
            return rc;
        x->member = it->member;
        it->member = NULL;
        memcpy(x->encoding, it->encoding, sizeof x->encoding);
        x->layers = it->layers;
        if (in->n_box == 0)
            in->kind = p;
        in->n_box++;
        return 0;
    }
    rc = p == MT_PACK_GZIP
             ? mt_gzip_open(&it->src, up, file, &in->raw, lim->max_ratio, &in->note, err)
             : mt_unpack_open(&it->src, up, p, &in->raw, lim->max_ratio, err);
    if (rc != MT_OK)
        return rc;
    it->src->max_bytes = lim->max_bytes;
    if (file != NULL)
        mt_beside(it->src, file);
    return 1;
}

/* True if the input held a key or record that only a memory snapshot has. */
static bool has_evidence(const struct mt_trace *t)
{
    return t->segments.n > 0 || t->devices.n > 0 || t->blocks.n > 0 || t->meta.has_device_traces ||
           t->meta.has_annotations || t->meta.has_host ||
           (t->driver != NULL && t->driver->n_chunks > 0);
}

static bool is_summary_name(const char *name)
{
    size_t n = name != NULL ? strlen(name) : 0;
    return n > 4 && strcmp(name + n - 4, ".mts") == 0;
}

/* One file of a directory or archive has bytes of no known format. True if its name promises a
 * snapshot: then the failure is reported. */
static bool promises_snapshot(const char *name)
{
    int32_t rank;
    int64_t pid;
    char *host;
    const char *base = name != NULL ? strrchr(name, '/') : NULL;
    base = base != NULL ? base + 1 : name;
    if (is_summary_name(name))
        return true;
    if (base == NULL || (strstr(base, ".pickle") == NULL && strstr(base, ".pkl") == NULL))
        return false;
    mt_name_identity(base, &rank, &pid, &host);
    mt_free(host);
    return rank >= 0 || strstr(base, "snapshot") != NULL || strstr(base, "memory") != NULL;
}

static bool set_identity(const struct mt_input *in, struct mt_meta *m)
{
    const char *names[2] = {m->member, in->path};
    for (int i = 0; i < 2; i++) {
        int32_t rank;
        int64_t pid;
        char *host;
        if (names[i] == NULL)
            continue;
        if (!mt_name_identity(names[i], &rank, &pid, &host))
            return false;
        if (m->rank < 0)
            m->rank = rank;
        if (m->pid < 0)
            m->pid = pid;
        if (m->host == NULL)
            m->host = host;
        else
            mt_free(host);
    }
    if (m->rank < 0)
        m->name_number = mt_name_number(m->member != NULL ? m->member : in->path);
    return true;
}

/* Reads the rest of a stream behind the snapshot, so that its checksum is verified and its end is
 * seen. Stops after a while: a pipe may have no end. */
static void drain(struct mt_source *s)
{
    uint64_t left = UINT64_C(256) << 20;
    while (mt_source_need(s, 1) > 0) {
        size_t n = (size_t)(s->end - s->cur);
        if (n > left)
            return;
        left -= n;
        s->cur = s->end;
    }
}

/* The reader has said so already. */
static bool told(const struct mt_trace *t, const char *msg)
{
    for (uint32_t i = 0; i < t->diags.n; i++)
        if (strstr(mt_str(t, t->diags.p[i].text), msg) != NULL)
            return true;
    return false;
}

static enum mt_rc add_losses(struct mt_losses *l, struct mt_trace *t, enum mt_rc rc)
{
    if (l->n == 0)
        return rc;
    for (uint64_t i = 0; i < l->n && i < MT_MAX_LOSSES; i++)
        mt_trace_diag(t, MT_DIAG_DAMAGE, true, l->list[i].offset, "%s", l->list[i].text);
    if (l->n > MT_MAX_LOSSES)
        mt_trace_diag(t, MT_DIAG_DAMAGE, false, 0,
                      "%llu more places of the trace are damaged like that",
                      (unsigned long long)(l->n - MT_MAX_LOSSES));
    l->n = 0;
    return MT_WARN;
}

static enum mt_rc finish(struct mt_input *in, struct mt_item *it, struct mt_trace *t, enum mt_rc rc,
                         struct mt_err *err)
{
    struct mt_meta *m = &t->meta;
    bool whole;
    if (it->layers > 0)
        drain(it->src);
    if (it->src->status != MT_OK && !told(t, it->src->err.msg)) {
        mt_trace_diag(t, MT_DIAG_DAMAGE, it->src->err.has_offset, it->src->err.offset, "%s",
                      it->src->err.msg);
        rc = MT_WARN;
    }
    if (it->src->eof && in->note != NULL) /* before its end a thread may be at it */
        mt_trace_diag(t, MT_DIAG_NOTE, false, 0, "%s", in->note);
    if (it->chunks)
        rc = add_losses(&in->losses, t, rc);
    m->uid = it->uid;
    /* the chunks of a trace are all of it */
    whole = in->n_box == 0 || (it->chunks && in->n_box == 1);
    if (whole && !in->raw.regular) /* what a pipe held is known only at its end; with members that
                                      would be too late */
        drain(in->raw_src);
    if (whole || in->raw.regular) {
        mt_raw_hash(&in->raw);
        memcpy(m->sha256, in->raw.sha256, sizeof m->sha256);
        m->input_bytes = in->raw.regular ? in->raw.size : in->raw.ended ? in->raw.n_read : 0;
    }
    mt_free(m->input);
    mt_free(m->encoding);
    mt_free(m->member);
    m->member = NULL;
    m->input = mt_strndup(in->path, strlen(in->path));
    m->encoding = mt_strndup(it->encoding, strlen(it->encoding));
    if (it->member != NULL)
        m->member = mt_strndup(it->member, strlen(it->member));
    if (m->input == NULL || m->encoding == NULL || (it->member != NULL && m->member == NULL))
        return no_memory(err);
    if (!set_identity(in, m))
        return no_memory(err);
    /* what is to be said of the trace has to be whole, too */
    return t->n_diags > t->diags.n && t->diags.n < MT_MAX_DIAGS ? no_memory(err) : rc;
}

static bool is_alone(const struct mt_input *in) { return in->dir == NULL && in->n_box == 0; }

static enum mt_rc ignore(struct mt_input *in, const struct mt_item *it)
{
    mt_input_ignore(in, it->member);
    return MT_OK;
}

/* No reader bid for it. */
static enum mt_rc not_taken(struct mt_input *in, struct mt_item *it, struct mt_err *err)
{
    struct mt_source *s = it->src;
    size_t n = mt_source_need(s, HEAD);
    if (s->status == MT_EIO || s->status == MT_ENOMEM || (s->status != MT_OK && n == 0)) {
        *err = s->err;
        return s->status;
    }
    if (is_alone(in)) {
        if (!mt_detect_stream(s, err) && s->status != MT_OK)
            *err = s->err;
        if (it->layers > 0) {
            char msg[MT_ERR_MSG];
            memcpy(msg, err->msg, sizeof msg);
            if (snprintf(err->msg, sizeof err->msg, "inside the %s: %.*s", it->encoding,
                         MT_ERR_MSG - 96, msg) < 0)
                err->msg[0] = '\0';
        }
        return err->rc;
    }
    if (!promises_snapshot(it->member))
        return ignore(in, it);
    in->raw_counts = true; /* a snapshot that cannot be read may be mended elsewhere */
    mt_detect_head(s->cur, n < HEAD ? n : HEAD, n < HEAD, err);
    return MT_EINPUT;
}

static bool in_torch_save(const struct mt_input *in)
{
    return in->n_box > 0 && in->box[in->n_box - 1].b->torch_save;
}

static enum mt_rc read_snapshot(struct mt_input *in, struct mt_item *it,
                                const struct mt_reader *reader, struct mt_trace **out,
                                struct mt_err *err)
{
    unsigned char head[HEAD];
    size_t n = mt_source_need(it->src, HEAD);
    struct mt_trace *t = mt_trace_new();
    struct mt_err what;
    bool ours;
    enum mt_rc rc;
    if (t == NULL)
        return no_memory(err);
    n = n < HEAD ? n : HEAD;
    memcpy(head, it->src->cur, n);
    in->raw_counts = true;
    mt_raw_hash_begin(&in->raw);
    rc = reader->read(it->src, &in->opts.limits, t, err);
    if (rc >= MT_OK) {
        rc = finish(in, it, t, rc, err);
        if (rc < MT_OK)
            mt_trace_free(t);
        else
            *out = t;
        return rc;
    }
    ours = has_evidence(t);
    mt_trace_free(t);
    if (rc != MT_EINPUT || ours || it->chunks)
        return rc;
    if (it->src->status != MT_OK)
        mt_err_context(err, "%.240s", it->src->err.msg);
    if (in_torch_save(in)) {
        char msg[MT_ERR_MSG];
        if (in->dir != NULL || in->n_box > 1)
            return ignore(in, it);
        memcpy(msg, err->msg, sizeof msg);
        return mt_fail(err, MT_EINPUT,
                       "this is a torch.save file (a checkpoint?), and its data.pkl is no memory "
                       "snapshot: name the file that "
                       "torch.cuda.memory._dump_snapshot() wrote (the reader said: %.300s)",
                       msg);
    }
    /* A reader of text bids for any input that starts like its format, a log for example. */
    if (mt_detect_head(head, n, n < HEAD, &what)) {
        *err = what;
        rc = what.rc;
    }
    return is_alone(in) || promises_snapshot(it->member) ? rc : ignore(in, it);
}

/* A report of memtrace's own, for who wants it; beside snapshots it is another file. */
static enum mt_rc read_report(struct mt_input *in, struct mt_item *it, struct mt_err *err)
{
    bool is_named =
        in->dir == NULL && (in->n_box == 0 || (in->n_box == 1 && in->kind == MT_PACK_HTML));
    struct mt_saved *report = NULL;
    enum mt_rc rc;
    int kept;
    if (in->opts.report == NULL)
        return is_named ? mt_fail(err, MT_EINPUT,
                                  "this is a report of memtrace, not a memory snapshot: 'memtrace "
                                  "report --format text' reads it; else name the snapshot that it "
                                  "was made from")
                        : ignore(in, it);
    rc = mt_saved_read(&report, it->src, err);
    if (rc != MT_OK)
        return is_named || is_summary_name(it->member) || rc == MT_ENOMEM ? rc : ignore(in, it);
    kept = in->opts.report(in->opts.report_arg, in->path, it->member, is_named, report);
    if (kept != 1)
        mt_saved_free(report);
    in->n_found += kept == 1;
    return kept < 0 ? no_memory(err) : kept == 0 ? ignore(in, it) : MT_OK;
}

static bool is_report(struct mt_source *s)
{
    size_t n = mt_source_need(s, HEAD);
    return mt_saved_bid(s->cur, n < HEAD ? n : HEAD);
}

/* A trace whose first member is damaged still is one. */
static enum mt_pack sniff(struct mt_source *s)
{
    enum mt_pack p = mt_pack_sniff(s);
    if ((p == MT_PACK_GZIP || (p == MT_PACK_NONE && mt_reader_choose(s) == NULL)) &&
        mt_trace_inside(s))
        return MT_PACK_TRACE;
    return p;
}

enum mt_rc mt_item_read(struct mt_input *in, struct mt_item *it, struct mt_trace **out,
                        struct mt_err *err)
{
    const struct mt_reader *reader;
    bool done = false;
    enum mt_pack p;
    enum mt_rc rc;
    if (it->chunks)
        return read_snapshot(in, it, &mt_reader_native, out, err);
    while ((p = sniff(it->src)) != MT_PACK_NONE) {
        if (in->opts.wanted != NULL && (p == MT_PACK_TRACE || p == MT_PACK_HTML))
            return MT_OK;
        int r = unwrap(in, it, p, err);
        if (r < 0 || it->src == NULL) /* a container holds the source now */
            return (enum mt_rc)r;
    }
    if (!in->opts.text_only && is_report(it->src))
        return read_report(in, it, err);
    rc = mt_text_read(in, it, &done, err);
    if (done)
        return rc;
    reader = mt_reader_choose(it->src);
    return reader != NULL ? read_snapshot(in, it, reader, out, err) : not_taken(in, it, err);
}
