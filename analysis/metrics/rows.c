/* metrics/rows.c -- what a row of metrics.json comes to for a device, or for a log's traceback. */
#include "analysis/metrics/rows.h"

#include "analysis/base/frames.h"
#include "analysis/base/glob.h"
#include "analysis/base/operation.h"
#include "analysis/facts/cause.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/framework.h"
#include "analysis/setup/settings.h"
#include "parser/base/mem.h"
#include "parser/base/text.h"

#include <string.h>

static bool is_started(const struct mt_runconf *conf, const char *pattern)
{
    for (uint32_t i = 0; conf != NULL && i < conf->conf.started.n; i++)
        if (mt_framework_is_start(pattern, conf->conf.started.p[i]))
            return true;
    return false;
}

/* Defaults show nothing: they hold for whoever sets nothing. */
static bool is_set_to(const struct mt_runconf *conf, const char *setting, const char *word)
{
    const char *value = conf != NULL ? mt_runconf_get(conf, setting) : NULL;
    char small[256];
    size_t n = 0;
    if (value == NULL || strchr(word, '*') == NULL)
        return value != NULL && mt_same_word(value, word);
    for (; n < sizeof small && value[n] != '\0'; n++)
        small[n] = (char)(value[n] >= 'A' && value[n] <= 'Z' ? value[n] | 32 : value[n]);
    return value[n] == '\0' && mt_glob(word, small, n);
}

static bool is_said(const struct mt_runconf *conf, const char *word)
{
    return conf != NULL && conf->says != NULL && conf->says(conf->says_of, word);
}

static bool is_tried(const struct mt_runconf *conf, const char *pattern)
{
    return conf != NULL && conf->tries != NULL && conf->tries(conf->says_of, pattern);
}

static bool is_kept(const struct mt_runconf *conf, const char *pattern)
{
    return conf != NULL && conf->keeps != NULL && conf->keeps(conf->says_of, pattern);
}

static bool is_seen(const struct mt_metric_row *row, const struct mt_trace *t,
                    const struct mt_runconf *conf)
{
    for (uint32_t i = 0; i < row->n_frames; i++) {
        const struct mt_metric_frame *f = &row->frames[i];
        if (f->code[0] != '\0')
            continue;
        if (f->started[0] != '\0'   ? is_started(conf, f->started)
            : f->said[0] != '\0'    ? is_said(conf, f->said)
            : f->tried[0] != '\0'   ? is_tried(conf, f->tried)
            : f->kept[0] != '\0'    ? is_kept(conf, f->kept)
            : f->setting[0] != '\0' ? is_set_to(conf, f->setting, f->is)
                                    : t != NULL && mt_trace_has_frame(t, f->file, f->function))
            return true;
    }
    return false;
}

/* Which frames of a row any function of the trace is: bit i of frame i, the last bit of all from
 * there on. Most rows have none, and their stacks need no walk. Operations are asked of each stack.
 */
enum { LAST_WAY = 63 };
struct ways {
    uint64_t frames;
    bool operations; /* the row may have some */
};
static const struct ways all_ways = {UINT64_MAX, true};
static struct ways ways(const struct mt_metric_row *row, const struct mt_trace *t)
{
    struct ways there = {0, row->n_frames > LAST_WAY};
    for (uint32_t i = 0; i < row->n_frames && i < LAST_WAY; i++) {
        const struct mt_metric_frame *f = &row->frames[i];
        if (f->operation[0] != '\0')
            there.operations = true;
        else if (f->code[0] == '\0' && mt_trace_goes_through(t, f->file, f->function))
            there.frames |= UINT64_C(1) << i;
    }
    if (row->n_frames > LAST_WAY)
        there.frames |= UINT64_C(1) << LAST_WAY;
    return there;
}
static bool any_way(struct ways there) { return there.frames != 0 || there.operations; }

/* Whether a frame is one of the row's that `there` has, by file and function. */
static bool is_frame(const struct mt_metric_row *row, uint64_t there, const struct mt_trace *t,
                     mt_frame_id id)
{
    for (uint32_t i = 0; i < row->n_frames; i++) {
        const struct mt_metric_frame *f = &row->frames[i];
        if ((there >> (i < LAST_WAY ? i : LAST_WAY) & 1) != 0 && f->operation[0] == '\0' &&
            f->code[0] == '\0' && mt_frame_is(t, id, f->file, f->function))
            return true;
    }
    return false;
}

/* A recording without PyTorch's operators, as of Python's frames alone, names few operations: what
 * it does not name may be any. */
static bool has_operators(const struct mt_trace *t)
{
    static const char space[] = "at::_ops::";
    for (uint32_t i = 0; i < t->frames.n; i++)
        if (strncmp(mt_str(t, t->frames.p[i].name), space, sizeof space - 1) == 0)
            return true;
    return false;
}

static bool is_operation(const struct mt_metric_row *row, const struct mt_trace *t, mt_stack_id s)
{
    char made_by[128] = "";
    bool asked = false, told = false;
    for (uint32_t i = 0; i < row->n_frames; i++) {
        if (row->frames[i].operation[0] == '\0')
            continue;
        if (!asked && !(told = mt_stack_operation(t, s, made_by, sizeof made_by)))
            made_by[0] = '\0';
        asked = true;
        if (strcmp(row->frames[i].operation, "none") == 0) {
            if (!told && !has_operators(t))
                return true;
        } else if (mt_glob(row->frames[i].operation, made_by, strlen(made_by)))
            return true;
    }
    return false;
}

/* met: by frame, 1 = is_frame() has said no, for stacks share their frames. May be NULL. */
static bool goes_through(const struct mt_metric_row *row, struct ways there,
                         const struct mt_trace *t, mt_stack_id s, uint8_t *met)
{
    for (mt_stack_id at = s; there.frames != 0 && at != 0; at = t->stacks.p[at].parent) {
        mt_frame_id id = t->stacks.p[at].frame;
        if (met != NULL && met[id] != 0)
            continue;
        if (is_frame(row, there.frames, t, id))
            return true;
        if (met != NULL)
            met[id] = 1;
    }
    return there.operations && is_operation(row, t, s);
}

static bool has_code(const struct mt_metric_row *row, const char *code)
{
    for (uint32_t i = 0; code != NULL && i < row->n_frames; i++)
        if (row->frames[i].code[0] != '\0' && strstr(code, row->frames[i].code) != NULL)
            return true;
    return false;
}

/* The request that failed at the focus, where it went through a frame of the row. */
static const struct mt_oom *asked(const struct mt_metric_row *row,
                                  const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return d->focus_is_oom && d->ooms.n != 0 &&
                   goes_through(row, all_ways, t, d->ooms.p[0].stack, NULL)
               ? &d->ooms.p[0]
               : NULL;
}

static double through(const struct mt_metric_row *row, const struct mt_device_analysis *d,
                      const struct mt_trace *t)
{
    const struct mt_oom *o = row->with_request ? asked(row, d, t) : NULL;
    double bytes = o != NULL ? (double)o->request : 0, largest = bytes;
    struct ways there = ways(row, t);
    uint8_t *met = there.frames != 0 ? mt_calloc((size_t)t->frames.n + 1, 1) : NULL;
    for (uint32_t i = 0; any_way(there) && i < d->by_stack.n; i++) {
        const struct mt_stack_share *w = &d->by_stack.p[i];
        if (!goes_through(row, there, t, w->stack, met))
            continue;
        bytes += (double)w->bytes;
        largest = (double)w->largest > largest ? (double)w->largest : largest;
    }
    mt_free(met);
    return row->how == MT_METRIC_LIVE ? bytes : largest;
}

/* The frame that an owner is named by is one of the row's. */
static bool is_site(const struct mt_metric_row *row, const struct mt_trace *t,
                    struct mt_file_kinds *kinds, mt_stack_id s)
{
    mt_frame_id at;
    if (mt_stack_site(t, kinds, s, &at) != MT_SITE_PYTHON)
        return false;
    for (uint32_t i = 0; i < row->n_frames; i++) {
        const struct mt_metric_frame *f = &row->frames[i];
        if ((f->function[0] == '\0' || strcmp(mt_str(t, t->frames.p[at].name), f->function) == 0) &&
            strstr(mt_str(t, t->frames.p[at].file), f->file) != NULL)
            return true;
    }
    return false;
}

static double single(const struct mt_metric_row *row, const struct mt_device_analysis *d,
                     const struct mt_trace *t)
{
    struct mt_file_kinds kinds = {0};
    double bytes = 0;
    if (!mt_file_kinds_init(&kinds, t))
        return 0;
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if (o->blocks == 1 && (double)o->bytes > bytes && is_site(row, t, &kinds, o->stack))
            bytes = (double)o->bytes;
    }
    mt_file_kinds_done(&kinds);
    return bytes;
}

/* Whether a block as large as logits, or a request for one, went through a frame of the row. Whole
 * ones are an eighth of the largest or more, for that may be of twice the type, and of a pass four
 * times as long: a layer's output may be rows of the vocabulary by chance. */
static bool makes_logits(const struct mt_metric_row *row, const struct mt_device_analysis *d,
                         const struct mt_trace *t)
{
    enum { PART = 8 };
    struct ways there = ways(row, t);
    uint64_t least = 0;
    for (uint32_t i = 0; row->how == MT_METRIC_WHOLE && i < d->roles.logits_by.n; i++)
        if (d->roles.logits_by.p[i].most / PART > least)
            least = d->roles.logits_by.p[i].most / PART;
    for (uint32_t i = 0; any_way(there) && i < d->roles.logits_by.n; i++)
        if (d->roles.logits_by.p[i].most >= least &&
            goes_through(row, there, t, d->roles.logits_by.p[i].stack, NULL))
            return true;
    return false;
}

static bool is_made_so(const struct mt_made *w, enum mt_metric_how how)
{
    switch ((int)how) {
    case MT_METRIC_SPREAD: return w->how == MT_MADE_SPREAD;
    case MT_METRIC_ROWS: return w->how == MT_MADE_SPREAD && w->rows != 0;
    case MT_METRIC_SQUARE: return w->how == MT_MADE_SPREAD && w->square != 0;
    case MT_METRIC_JOINED: return w->how == MT_MADE_JOINED;
    default: return w->how == MT_MADE_WIDENED;
    }
}

/* A line of a program or trainer that others wrote: no line to change. */
static bool is_others(const struct mt_framework_rules *rules, const struct mt_trace *t,
                      mt_stack_id s)
{
    mt_frame_id at;
    const char *file;
    mt_fw of;
    if (rules == NULL || mt_stack_site(t, NULL, s, &at) != MT_SITE_PYTHON)
        return false;
    file = mt_str(t, t->frames.p[at].file);
    of = mt_framework_of_path(rules, file, strlen(file));
    return of != MT_FW_NONE && mt_framework_at(rules, of)->kind < MT_FWK_LIBRARY;
}

/* The most that one line made in the row's way, by an operation that the row names. What a change
 * of the line helps is the job's own. */
static double made(const struct mt_metric_row *row, const struct mt_device_analysis *d,
                   const struct mt_trace *t, const struct mt_framework_rules *rules)
{
    uint64_t most = 0;
    for (uint32_t i = 0; d->cause != NULL && i < d->cause->n_made; i++) {
        const struct mt_made *w = &d->cause->made[i];
        if (w->bytes > most && is_made_so(w, row->how) &&
            goes_through(row, all_ways, t, w->stack, NULL) &&
            (row->how == MT_METRIC_SPREAD || !is_others(rules, t, w->stack)))
            most = w->bytes;
    }
    return (double)most;
}

struct mt_value mt_metric_row_of(const struct mt_metric_row *row,
                                 const struct mt_device_analysis *d, const struct mt_trace *t,
                                 const struct mt_runconf *conf,
                                 const struct mt_framework_rules *rules)
{
    struct mt_value v = {0, true, MT_CONF_MARKED};
    switch (row->how) {
    case MT_METRIC_SEEN:
        v.v = is_seen(row, t, conf);
        v.known = t != NULL;
        break;
    case MT_METRIC_ASKED: v.v = t != NULL && asked(row, d, t) != NULL; break;
    case MT_METRIC_LIVE:
    case MT_METRIC_LARGEST: v.v = t != NULL ? through(row, d, t) : 0; break;
    case MT_METRIC_SINGLE: v.v = t != NULL ? single(row, d, t) : 0; break;
    case MT_METRIC_LOGITS:
    case MT_METRIC_WHOLE: v.v = t != NULL && makes_logits(row, d, t); break;
    case MT_METRIC_SPREAD:
    case MT_METRIC_ROWS:
    case MT_METRIC_SQUARE:
    case MT_METRIC_JOINED:
    case MT_METRIC_WIDENED: v.v = t != NULL ? made(row, d, t, rules) : 0; break;
    case MT_METRIC_IS: v.known = false; break;
    }
    return v;
}

struct mt_value mt_metric_row_is(const struct mt_metric_row *row, mt_expr_lookup lookup, void *arg)
{
    struct mt_value v = mt_expr_eval(row->is, lookup, arg);
    v.conf = v.conf < MT_CONF_INFERRED ? v.conf : MT_CONF_INFERRED;
    return v;
}

struct mt_value mt_metric_of_failure(const struct mt_metric_rules *r, const struct mt_trace *t,
                                     const char *code, const struct mt_runconf *conf,
                                     const char *name, size_t n)
{
    const struct mt_value none = {0, false, MT_CONF_NONE};
    const struct mt_metric_row *row, *other;
    int at = mt_metric_row_find(r, name, n);
    if (at < 0)
        return none;
    row = mt_metric_row_at(r, (uint32_t)at);
    if (row->how != MT_METRIC_SEEN && row->how != MT_METRIC_ASKED) /* the stack is the request's */
        return none;
    if (is_seen(row, t, conf) || has_code(row, code))
        return (struct mt_value){1, true, MT_CONF_MARKED};
    for (uint32_t i = 0; row->one_of[0] != '\0' && i < mt_metric_rules_count(r); i++) {
        other = mt_metric_row_at(r, i);
        if (strcmp(other->one_of, row->one_of) == 0 && is_seen(other, t, conf))
            return (struct mt_value){0, true, MT_CONF_MARKED};
    }
    return none;
}
