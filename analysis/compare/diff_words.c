/* What a diff says in one sentence, and of promises. */
#include "analysis/compare/diff.h"

#include "analysis/base/roles.h"

#include <string.h>

const char *mt_diff_role_words(const char *id)
{
    int role = mt_role_find(id, strlen(id));
    return role >= 0 ? mt_role_words((enum mt_role)role) : id;
}

const struct mt_diff_figure mt_diff_figures[] = {
    {"request_bytes", "asked for"},
    {"capacity_bytes", "size of the card"},
    {"device_free_bytes", "free on the device"},
    {"torch_allocated_bytes", "allocated by PyTorch"},
    {"torch_reserved_bytes", "reserved by PyTorch"},
    {"torch_unallocated_bytes", "reserved, not allocated"},
    {"private_pool_bytes", "allocated in private pools"},
    {"process_bytes", "held by this process"},
    {"outside_torch_bytes", "of this process, outside PyTorch"},
    {"other_bytes", "held by other processes"},
    {"allowed_bytes", "limit of the process"},
    {NULL, NULL},
};

const char *mt_diff_log_words(const char *key)
{
    for (const struct mt_diff_figure *f = mt_diff_figures; f->key != NULL; f++)
        if (strcmp(f->key, key) == 0)
            return f->words;
    return key;
}

static uint64_t size_of(int64_t n) { return n < 0 ? 0 - (uint64_t)n : (uint64_t)n; }

bool mt_diff_counts(const struct mt_diff *d, const struct mt_compare_row *r, uint64_t share)
{
    uint64_t size = size_of(mt_compare_change(r));
    const struct mt_diff_side *a = &d->side[0], *b = &d->side[1];
    uint64_t whole = a->has_peak && a->peak != 0 ? a->peak : b->peak;
    return size != 0 && (whole == 0 || mt_words_ratio(size, whole, 1000) >= share);
}

/* "logits and their gradient -23.18 GiB, KV cache -1.35 GiB" */
static void add_changes(struct mt_diff *d)
{
    enum { MOST = 3 };
    int n = 0;
    for (uint32_t i = 0; i < d->roles.list.n && n < MOST; i++) {
        const struct mt_compare_row *r = &d->roles.list.p[i];
        int64_t change = mt_compare_change(r);
        if (!mt_diff_counts(d, r, 10))
            continue;
        mt_words_add(&d->sentence, "%s%s %c%s", n++ == 0 ? ": " : ", ",
                     mt_diff_role_words(r->label), change < 0 ? '-' : '+',
                     MT_BYTES(size_of(change)));
    }
}

/* "asked for -700.0 MiB, free on the device +12.0 MiB" */
static void add_log_changes(struct mt_diff *d)
{
    enum { MOST = 3 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->log.list.n && n < MOST; i++) {
        const struct mt_compare_row *r = &d->log.list.p[i];
        int64_t change = mt_compare_change(r);
        if (r->in[0] && r->in[1] && change != 0)
            mt_words_add(&d->sentence, "%s%s %c%s", n++ == 0 ? " By the logs: " : ", ",
                         mt_diff_log_words(r->label), change < 0 ? '-' : '+',
                         MT_BYTES(size_of(change)));
    }
    mt_words_add(&d->sentence, n != 0 ? "." : "");
}

static void add_end(struct mt_diff *d)
{
    const struct mt_diff_side *a = &d->side[0], *b = &d->side[1];
    if (a->ran_out == 1 && b->ran_out == 0)
        mt_words_add(&d->sentence, " It no longer runs out of memory.");
    else if (a->ran_out == 0 && b->ran_out == 1)
        mt_words_add(&d->sentence, " It runs out of memory, which the first did not.");
    else if (a->ran_out == 1 && b->ran_out == 1)
        mt_words_add(&d->sentence, " It still runs out of memory.");
    if (b->ran_out == 1 && b->request != 0)
        mt_words_add(&d->sentence, " Then it asked for %s%s%s.", MT_BYTES(b->request),
                     a->request != 0 ? ", the first for " : "",
                     a->request != 0 ? MT_BYTES(a->request) : "");
}

void mt_diff_sentence(struct mt_diff *d)
{
    const struct mt_diff_side *a = &d->side[0], *b = &d->side[1];
    int64_t change = (int64_t)(b->peak - a->peak);
    if (d->is_equal) {
        mt_words_add(&d->sentence,
                     d->side[0].device != NULL
                         ? "The two say the same of every role, phase, holder, rank, setting "
                           "and warning."
                     : d->log.list.n != 0 ? "The two logs say the same of the failure, setting for "
                                            "setting and number for number."
                                          : "The two say the same; no number of memory is in "
                                            "either.");
        return;
    }
    if (!a->has_peak || !b->has_peak) {
        mt_words_add(&d->sentence, "The peak is not known of %s, so that no peak can be compared.",
                     a->has_peak   ? "the second"
                     : b->has_peak ? "the first"
                                   : "either");
        add_log_changes(d);
        add_end(d);
        return;
    }
    if (change == 0)
        mt_words_add(&d->sentence, "Both hold %s at the moment that matters", MT_BYTES(a->peak));
    else
        mt_words_add(&d->sentence, "The second run %s %s%s, %s %s than the first (%s)",
                     b->ran_out == 1 ? "holds" : "peaks at", MT_BYTES(b->peak),
                     b->ran_out == 1 ? " when it runs out" : "", MT_BYTES(size_of(change)),
                     change < 0 ? "less" : "more", MT_BYTES(a->peak));
    add_changes(d);
    mt_words_add(&d->sentence, ".");
    add_end(d);
}

static bool has_words(const char *s) { return s != NULL && s[0] != '\0'; }

/* One piece of advice has several lines to type: the bytes are promised once for all of them. */
static bool is_one_promise(const struct mt_diff_promise *a, const struct mt_diff_promise *b)
{
    return a->bytes == b->bytes && a->low == b->low && a->high == b->high;
}

static void add_promise(const struct mt_diff *d, uint32_t i, struct mt_sentence *out)
{
    const struct mt_diff_promise *p = &d->promises.p[i];
    mt_words_add(out, "%sPromised by the first report for ", i > 0 ? " " : "");
    for (uint32_t k = i; k < d->promises.n; k++) {
        const struct mt_diff_promise *q = &d->promises.p[k];
        if (is_one_promise(p, q))
            mt_words_add(out, "%s%s%s%s", k > i ? " with " : "", q->key,
                         has_words(q->value) ? "=" : "", has_words(q->value) ? q->value : "");
    }
    mt_words_add(out, ": %s", MT_BYTES(p->bytes));
    if (p->low != p->high)
        mt_words_add(out, " (%s to %s)", MT_BYTES(p->low), MT_BYTES(p->high));
    if (p->now == NULL)
        mt_words_add(out, "; the second run has a value not known.");
    else
        mt_words_add(out, "; the second run has %s%s.", p->now[0] != '\0' ? "" : "it set", p->now);
}

static void add_measured(const struct mt_diff *d, struct mt_sentence *out)
{
    const char *in = d->measured_in != NULL ? d->measured_in : "that phase";
    const char *more = d->measured < 0 ? " more" : "", *blank = out->n > 0 ? " " : "";
    const char *all = d->settings.n > 1 ? ", all changes together," : "";
    if (d->is_gone)
        mt_words_add(out,
                     "%sMeasured%s at the highest of the whole run: %s%s; in %s, the second "
                     "run allocates nothing on the device.",
                     blank, all, MT_BYTES(size_of(d->measured)), more, in);
    else
        mt_words_add(out, "%sMeasured%s in %s: %s%s.", blank, all, in,
                     MT_BYTES(size_of(d->measured)), more);
}

static void add_fit(const struct mt_diff_fit *f, bool is_first, struct mt_sentence *out)
{
    mt_words_add(out, "%s%s%s%s%s, %s", is_first ? " " : "; or ", f->title,
                 has_words(f->text) ? " (" : "", has_words(f->text) ? f->text : "",
                 has_words(f->text) ? ")" : "", MT_BYTES(f->bytes));
    if (f->low != f->high)
        mt_words_add(out, " (%s to %s)", MT_BYTES(f->low), MT_BYTES(f->high));
}

/* Without a setting that differs it is the bytes that tell what was changed, and they do not prove
 * it. */
static void add_fits(const struct mt_diff *d, struct mt_sentence *out)
{
    enum { MOST = 3 };
    bool is_reserved = true;
    if (d->fits.n == 0)
        return;
    for (uint32_t i = 0; i < d->fits.n; i++)
        is_reserved &= d->fits.p[i].is_reserved;
    if (is_reserved)
        mt_words_add(out, "Measured at the most reserved bytes: %s less.",
                     MT_BYTES(size_of(d->reserved)));
    else
        add_measured(d, out);
    mt_words_add(out, " Of what the first report promised and the second no longer advises, this "
                      "fits:");
    for (uint32_t i = 0; i < d->fits.n && i < MOST; i++)
        add_fit(&d->fits.p[i], i == 0, out);
    mt_words_add(out, ".");
}

void mt_diff_promised(const struct mt_diff *d, struct mt_sentence *out)
{
    for (uint32_t i = 0; i < d->promises.n; i++) {
        bool is_said = false;
        for (uint32_t k = 0; k < i; k++)
            is_said |= is_one_promise(&d->promises.p[k], &d->promises.p[i]);
        if (!is_said)
            add_promise(d, i, out);
    }
    if (d->promises.n != 0 && d->is_measured)
        add_measured(d, out);
    add_fits(d, out);
}
