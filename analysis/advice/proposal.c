/* advice/proposal.c -- what a card would change: the value that is set, the value to type instead,
 * and whether there is anything to type at all. */
#include "analysis/advice/weigh.h"

#include "analysis/base/frames.h"
#include "analysis/setup/keys.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <string.h>

/* A condition: mt_metrics_have_roles() says when one that is not known counts as held. */
bool mt_weigh_may_hold(const struct mt_advice_query *q, const struct mt_fix_expr *e)
{
    struct mt_value v = mt_weigh_ask(q, e);
    return e->e == NULL || (v.known ? v.v != 0 : !mt_weigh_computes(q));
}

bool mt_weigh_is_off(const struct mt_advice_query *q, const struct mt_fix_card *card)
{
    struct mt_value off = mt_weigh_ask(q, &card->unless);
    return mt_weigh_holds(off) && off.conf > MT_CONF_CARRIED;
}

/* An older PyTorch, as a log tells it, stops at the line. */
static bool has_torch(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    struct mt_value newest = mt_metric_get(q->metrics, "torch_at_most", 13);
    return l->since == 0 || !newest.known || newest.v >= l->since;
}

bool mt_advice_line_holds(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    return mt_weigh_may_hold(q, &l->when) && mt_weigh_divides_ranks(q, l) && has_torch(q, l);
}

/* ---- what is set already ---- */

static bool is_shown(const struct mt_advice *a, uint32_t i) { return (a->lines >> i & 1) != 0; }

static bool is_number(const char *s) { return *s >= '0' && *s <= '9'; }

/* "sglang:d2t2" in quotes is sglang:d2t2. */
static bool same_bare(const char *a, size_t n_a, const char *b, size_t n_b)
{
    if (n_a >= 2 && (*a == '"' || *a == '\'') && a[n_a - 1] == *a)
        a++, n_a -= 2;
    if (n_b >= 2 && (*b == '"' || *b == '\'') && b[n_b - 1] == *b)
        b++, n_b -= 2;
    return mt_same_text(a, n_a, b, n_b);
}

bool mt_weigh_same_value(const char *set, const char *want)
{
    struct mt_value a = mt_setting_number(set), b = mt_setting_number(want);
    if (want[0] == 0 || mt_runconf_is_true(want))
        return mt_runconf_is_true(set);
    if (mt_runconf_is_false(want))
        return mt_runconf_is_false(set);
    return (a.known && b.known && a.v >= b.v && a.v <= b.v && *set >= '0' && *set <= '9') ||
           same_bare(set, strlen(set), want, strlen(want));
}

/* A line in words that are one switch of Python's ("packing=True"): the run has that on. */
static bool is_on(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    const char *eq = strchr(l->value, '=');
    size_t n = eq != NULL ? (size_t)(eq - l->value) : 0;
    char flag[128];
    const struct mt_conf_entry *e;
    if (q->conf == NULL || l->syntax != MT_FIX_PYTHON || l->key[0] != 0 || n == 0 || n > 100 ||
        strspn(l->value, "abcdefghijklmnopqrstuvwxyz_0123456789") != n ||
        !mt_runconf_is_true(eq + 1))
        return false;
    (void)snprintf(flag, sizeof flag, "--%.*s", (int)n, l->value);
    e = mt_runconf_look_up(q->conf, flag);
    return e != NULL && !e->is_default && !e->is_variable && mt_runconf_is_true(e->value);
}

/* The run has what this line would type, by itself or as the framework's default. Numbers that are
 * computed are compared when they are. */
static bool is_set(const struct mt_advice_query *q, const struct mt_fix_line *l, bool *by_default)
{
    struct mt_runconf_hit hit;
    if (l->moves != MT_FIX_EITHER)
        return false; /* its number is compared when it is computed */
    if (q->conf == NULL || !mt_fix_is_typed(l) || l->propose.e != NULL || l->layout != NULL ||
        !mt_weigh_find_line(q, l, &hit) || hit.value == NULL || (hit.is_default && !q->conf->any) ||
        !mt_weigh_same_value(hit.value, l->value))
        return false;
    *by_default = hit.is_default;
    return true;
}

/* Takes the lines that are set off the card. What is left may be nothing, or nothing of what the
 * card is about: the lines that change its setting, else those that do not merely go with another.
 */
static bool take_set_off(const struct mt_advice_query *q, struct mt_advice *a, bool *by_default)
{
    uint64_t set = 0, own = 0, main = 0, typed = 0;
    bool one;
    *by_default = true;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if (!is_shown(a, i))
            continue;
        typed |= (uint64_t)mt_fix_is_typed(l) << i;
        main |= (uint64_t)!l->goes_with << i;
        if (!l->goes_with && mt_fix_is_typed(l) && a->card->current[0] != 0 && q->conf != NULL &&
            mt_runconf_has_key(q->conf, a->card->current, l->key))
            own |= 1ull << i;
        /* of a number that moves the rule's own is no target: what is computed decides */
        if (a->card->moves != MT_FIX_EITHER && !l->goes_with && is_number(l->value))
            continue;
        if (is_on(q, l)) {
            set |= 1ull << i;
            *by_default = false;
        } else if (is_set(q, l, &one)) {
            set |= 1ull << i;
            *by_default = *by_default && one;
            if (one && l->when.e != NULL && l->saving != NULL && mt_weigh_computes(q))
                a->contradicted |= 1ull << i;
        }
    }
    own = own != 0 ? own : main;
    if (set == 0 || (own & ~set) == 0)
        return set != 0 && own != 0; /* the lines stay, so that a finding can show them */
    a->lines &= ~set;
    return (a->lines & typed) == 0 && (a->lines & main) == 0;
}

/* ---- current and proposed ---- */

/* What the card's number is now: that of the key that it would type, where it is set, else of the
 * setting however it is spelt. */
static bool find_current(const struct mt_advice_query *q, const struct mt_advice *a,
                         struct mt_runconf_hit *hit)
{
    if (a->card->current[0] == 0 || q->conf == NULL)
        return false;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if (is_shown(a, i) && mt_fix_is_typed(l) && !l->goes_with && !l->as_set &&
            l->layout == NULL && mt_runconf_has_key(q->conf, a->card->current, l->key) &&
            mt_weigh_find_line(q, l, hit) && !hit->is_default &&
            mt_setting_number(hit->value).known)
            return true;
    }
    return mt_runconf_find(q->conf, a->card->current, hit) &&
           (!hit->is_default || q->conf->any); /* nobody showed what the run sets */
}

/* A default stands under the key that the card types, where it types one of that setting. */
static const char *default_key(const struct mt_advice_query *q, const struct mt_advice *a,
                               const struct mt_runconf_hit *hit)
{
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if (is_shown(a, i) && mt_fix_is_typed(l) && !l->goes_with &&
            mt_runconf_has_key(q->conf, a->card->current, l->key))
            return l->key;
    }
    return hit->key != NULL ? hit->key->key : a->card->current;
}

/* "key=16384 (run.yaml:7)", "16384 (default)". 0 = out of memory. */
int mt_weigh_current(const struct mt_advice_query *q, struct mt_advice *a, struct mt_value *current)
{
    struct mt_runconf_hit hit;
    char where[160], text[1024];
    if (!find_current(q, a, &hit))
        return 1;
    *current = mt_setting_number(hit.value);
    a->by_default = hit.is_default;
    if (hit.is_default && current->conf > MT_CONF_CARRIED)
        current->conf = MT_CONF_CARRIED;
    if (hit.is_default)
        (void)snprintf(text, sizeof text, "%.400s: %.200s (default)", default_key(q, a, &hit),
                       hit.value != NULL ? hit.value : "");
    else if (hit.entry != NULL && hit.value != NULL) {
        /* of "fsdp:d4" a part is looked up; shown is what stands there */
        const char *shown = hit.key != NULL && hit.key->part != NULL && hit.entry->value != NULL
                                ? hit.entry->value
                                : hit.value;
        (void)snprintf(text, sizeof text, "%.400s%s%.400s (%s)", hit.entry->key,
                       shown[0] != 0 ? ": " : "", shown,
                       mt_runconf_where(where, sizeof where, hit.entry));
    } else
        return 1;
    a->current = mt_strndup(text, strlen(text));
    return a->current != NULL;
}

/* 8192, 0.45: as people write it, in any locale. */
static void number_text(char *buf, size_t cap, double v)
{
    double whole, rest;
    if (v < 0 || v > 1e15)
        v = 0;
    whole = (double)(uint64_t)(v + 0.0005);
    rest = v - whole;
    if (rest < 0.0005)
        (void)snprintf(buf, cap, "%llu", (unsigned long long)whole);
    else {
        unsigned hundredths = (unsigned)(rest * 100 + 0.5);
        if (hundredths % 10 == 0)
            (void)snprintf(buf, cap, "%llu.%u", (unsigned long long)whole, hundredths / 10);
        else
            (void)snprintf(buf, cap, "%llu.%02u", (unsigned long long)whole, hundredths);
    }
}

/* A key as the run wrote it, in the form of its entry; *sep: what stands between it and its value.
 */
static const char *as_written(const struct mt_conf_entry *e, const char *key,
                              char buf[MT_CONF_KEY + 3], const char **sep)
{
    *sep = e->form == MT_CONF_FLAG ? " " : e->form == MT_CONF_PATH ? ": " : "=";
    (void)snprintf(buf, MT_CONF_KEY + 3, "%s%s", e->form == MT_CONF_FLAG ? "--" : "", key);
    return buf;
}

/* The script at hand makes what runs ("llm = LLM(max_model_len=4096)"), which takes a flag as one
 * more argument of that call; nothing has flags. NULL = it is not so. */
static const char *as_argument(const struct mt_advice_query *q, const struct mt_fix_line *l,
                               char buf[MT_CONF_KEY + 3], const char **sep)
{
    const struct mt_config *c = &q->conf->conf;
    bool made = false;
    size_t n = 0;
    for (uint32_t i = 0; i < c->started.n; i++) {
        const char *dot = strrchr(c->started.p[i], '.');
        made |= dot != NULL && dot[1] >= 'A' && dot[1] <= 'Z' &&
                mt_framework_of_start(q->conf->rules, c->started.p[i]) == q->fw->main;
    }
    for (uint32_t i = 0; i < c->entries.n; i++)
        made &= c->entries.p[i].form != MT_CONF_FLAG;
    for (const char *p = l->key + 2; made && *p != '\0' && n < MT_CONF_KEY; p++)
        buf[n++] = *p == '-' ? '_' : *p;
    buf[n] = '\0';
    *sep = made ? "=" : *sep;
    return made ? buf : NULL;
}

/* How the run writes the line's key, where that is another form than the rule's: a program that
 * reads key=value refuses a flag (ultralytics: "imgsz=640"), and one that was started with flags is
 * started with flags again. A line that is "as_set" has the key of the card's setting. NULL: as the
 * rule has it. */
static const char *written_as(const struct mt_advice_query *q, const struct mt_advice *a,
                              const struct mt_fix_line *l, char buf[MT_CONF_KEY + 3],
                              const char **sep)
{
    struct mt_runconf_hit hit;
    if (q->conf == NULL)
        return NULL;
    if (l->as_set)
        return mt_runconf_find(q->conf, a->card->current, &hit) && hit.entry != NULL
                   ? as_written(hit.entry, hit.entry->key, buf, sep)
                   : NULL;
    if ((l->syntax == MT_FIX_PYTHON || l->syntax == MT_FIX_HYDRA) &&
        mt_weigh_find_line(q, l, &hit) && hit.is_prefixed)
        return as_written(hit.entry, hit.entry->key, buf, sep);
    if (l->syntax != MT_FIX_FLAG && l->syntax != MT_FIX_YAML)
        return NULL;
    if (!mt_weigh_find_line(q, l, &hit) || hit.entry == NULL)
        return l->syntax == MT_FIX_FLAG && strncmp(l->key, "--", 2) == 0 &&
                       (is_number(l->value) || l->value[0] == '<')
                   ? as_argument(q, l, buf, sep)
                   : NULL;
    if (hit.is_prefixed)
        return as_written(hit.entry, hit.entry->key, buf, sep);
    if (l->syntax == MT_FIX_FLAG &&
        (hit.entry->form == MT_CONF_OVERRIDE || hit.entry->form == MT_CONF_PYTHON))
        return as_written(hit.entry, hit.entry->key, buf, sep);
    return l->syntax == MT_FIX_YAML &&
                   (hit.entry->form == MT_CONF_FLAG || hit.entry->form == MT_CONF_PYTHON)
               ? as_written(hit.entry, hit.entry->key, buf, sep)
               : NULL;
}

/* Fills what is typed of out. */
static bool make_line(const struct mt_advice_query *q, const struct mt_advice *a,
                      const struct mt_fix_line *l, const char *key, const char *value,
                      struct mt_typed *out)
{
    char own[MT_CONF_KEY + 3];
    const char *sep = l->syntax == MT_FIX_YAML   ? ": "
                      : l->syntax == MT_FIX_FLAG ? " "
                                                 : "=",
               *written = key == l->key || l->as_set ? written_as(q, a, l, own, &sep) : NULL;
    uint8_t form = mt_spell_form(q, a, l);
    const char *name = written != NULL ? written : key;
    struct mt_runconf_hit hit;
    if (l->as_set && q->conf != NULL && mt_runconf_find(q->conf, a->card->current, &hit) &&
        hit.value != NULL)
        value = mt_spell_like(hit.value, value);
    if (form != MT_CONF_FORM_COUNT && strncmp(name, "--", 2) == 0)
        name += 2;
    return mt_spell_line(out, form, sep, name, value);
}

static int write_line(const struct mt_advice_query *q, struct mt_advice *a, uint32_t i,
                      const char *key, const char *value)
{
    struct mt_typed t = {.line = i};
    if (!make_line(q, a, &a->card->set[i], key, value, &t))
        return 0;
    a->proposed = t.text;
    a->proposed_key = t.key;
    a->proposed_value = t.value;
    a->proposed_line = i;
    return 1;
}

static bool has_moved(const struct mt_advice_query *q, const struct mt_fix_line *l)
{
    for (uint32_t i = 0; i < l->n_key_frames; i++) {
        if (mt_trace_has_frame(q->trace, l->key_frames[i].a, l->key_frames[i].b))
            return true;
    }
    return false;
}

static bool is_whole(const char *s) { return is_number(s) && strspn(s, "0123456789") == strlen(s); }

bool mt_weigh_goes(enum mt_fix_way way, double from, double to)
{
    return way == MT_FIX_EITHER || (way == MT_FIX_DOWN ? to < from : to > from);
}

/* The rule's own is a whole number, or says itself that it goes by halves. */
static bool in_steps(const char *value)
{
    return is_whole(value) || strncmp(value, "<half", 5) == 0 || strncmp(value, "<twice", 6) == 0;
}

/* Where no formula gives a number: half of what is set, or twice that; what cannot be halved goes
 * to the rule's own, if that is the right way. */
static struct mt_value step(const struct mt_fix_line *l, enum mt_fix_way way,
                            struct mt_value current, bool *at_end)
{
    struct mt_value to = mt_setting_number(l->value);
    if (in_steps(l->value) && current.v >= 1 && current.v <= (double)(uint64_t)current.v + 0.0005) {
        uint64_t half = (uint64_t)current.v / 2;
        to.v = way == MT_FIX_DOWN ? (double)half : 2 * current.v;
        to.conf = current.conf;
        *at_end = to.v < 1;
    } else
        *at_end = !mt_weigh_goes(way, current.v, to.v);
    return to;
}

/* What is set and not known is put into words: a number of the rule's own could be what the run
 * has, or worse. */
static const char *in_words(const struct mt_fix_line *l, enum mt_fix_way way)
{
    if (!is_whole(l->value))
        return way == MT_FIX_DOWN ? "<lower than it is>" : "<higher than it is>";
    return way == MT_FIX_DOWN ? "<half of its value>" : "<twice its value>";
}

/* What a script sets a variable of the key's name to ("MICRO_BATCH_SIZE=1"), where the command that
 * uses it is not all there. */
static struct mt_value of_variable(const struct mt_advice_query *q, const char *key)
{
    char name[128];
    const struct mt_conf_entry *e;
    size_t n = 0;
    key += strspn(key, "-");
    for (; key[n] != 0 && n + 1 < sizeof name; n++)
        name[n] = (char)(key[n] == '-'                    ? '_'
                         : key[n] >= 'a' && key[n] <= 'z' ? key[n] & ~32
                                                          : key[n]);
    name[n] = 0;
    e = q->conf != NULL && strchr(name, '_') != NULL ? mt_runconf_look_up(q->conf, name) : NULL;
    return e != NULL && e->form == MT_CONF_ENV && !e->is_variable
               ? mt_setting_number(e->value)
               : (struct mt_value){0, false, MT_CONF_NONE};
}

static int propose_step(const struct mt_advice_query *q, struct mt_advice *a,
                        struct mt_value current, struct mt_value *proposed, bool *at_end)
{
    enum mt_fix_way way = a->card->moves;
    for (uint32_t i = 0; i < a->card->n_set && way != MT_FIX_EITHER; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        char number[40];
        if (!is_shown(a, i) || l->goes_with || l->moves != MT_FIX_EITHER || !mt_fix_is_typed(l) ||
            !is_number(l->value))
            continue;
        if (!current.known)
            current = of_variable(q, l->key);
        if (!current.known)
            return write_line(q, a, i, l->key, in_words(l, way));
        *proposed = step(l, way, current, at_end);
        number_text(number, sizeof number, proposed->v);
        return *at_end ? 1 : write_line(q, a, i, l->key, number);
    }
    return 1;
}

/* One such line: off the card where its number cannot go that way any more. */
static int move_line(const struct mt_advice_query *q, struct mt_advice *a, uint32_t i)
{
    const struct mt_fix_line *l = &a->card->set[i];
    struct mt_value none = {0, false, MT_CONF_NONE}, from = mt_weigh_line_number(q, l), to;
    struct mt_typed *t = &a->typed[a->n_typed];
    char number[40];
    const char *value = number;
    bool at_end = false;
    mt_metrics_rule(q->metrics, from, none);
    to = mt_weigh_ask(q, &l->propose);
    if (to.known && from.known) {
        number_text(number, sizeof number, to.v);
        at_end = !mt_weigh_goes(l->moves, from.v, mt_setting_number(number).v);
    } else if (from.known && (is_number(l->value) || in_steps(l->value)))
        to = step(l, l->moves, from, &at_end);
    else if (!to.known)
        value = is_number(l->value) ? in_words(l, l->moves) : l->value;
    if (at_end) {
        a->lines &= ~(1ull << i);
        return 1;
    }
    if (value == number)
        number_text(number, sizeof number, to.v);
    if (mt_weigh_unknown_ranks(q, l) != NULL) {
        value = mt_weigh_unknown_ranks(q, l);
        to.known = false;
    }
    *t = (struct mt_typed){i, NULL, NULL, NULL, from.v, to.v, from.known, to.known};
    if (!make_line(q, a, l, l->key, value, t))
        return 0;
    a->n_typed++;
    return 1;
}

/* *at_end: nothing is left of what the card is about. */
static int move_lines(const struct mt_advice_query *q, struct mt_advice *a, bool *at_end)
{
    uint64_t had = a->lines, main = 0;
    uint32_t n = 0;
    int ok = 1;
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        n += is_shown(a, i) && a->card->set[i].moves != MT_FIX_EITHER;
        main |= (uint64_t)!a->card->set[i].goes_with << i;
    }
    if (n == 0)
        return 1;
    a->typed = mt_calloc(n, sizeof *a->typed);
    if (a->typed == NULL)
        return 0;
    for (uint32_t i = 0; ok && i < a->card->n_set; i++)
        if (is_shown(a, i) && a->card->set[i].moves != MT_FIX_EITHER)
            ok = move_line(q, a, i);
    *at_end = (a->lines & main) == 0;
    a->lines = *at_end ? had : a->lines;
    return ok;
}

/* A line beside the card's own setting, whose number the run has already. */
static bool stands_beside(const struct mt_advice_query *q, const struct mt_advice *a,
                          const struct mt_fix_line *l, const char *number)
{
    struct mt_runconf_hit hit;
    return q->conf != NULL && a->card->current[0] != 0 &&
           !mt_runconf_has_key(q->conf, a->card->current, l->key) &&
           mt_runconf_find(q->conf, l->key, &hit) && !hit.is_default && hit.value != NULL &&
           mt_weigh_same_value(hit.value, number);
}

/* The first shown line with something to compute. *at_end: the number cannot go that way any more,
 * or is what it is already. */
static int propose(const struct mt_advice_query *q, struct mt_advice *a, struct mt_value current,
                   struct mt_value *proposed, bool *at_end)
{
    for (uint32_t i = 0; i < a->card->n_set; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        bool moved = is_shown(a, i) && has_moved(q, l);
        struct mt_value v = {0, false, MT_CONF_NONE};
        char number[40], layout[MT_FIX_LAYOUT];
        const char *key;
        if (is_shown(a, i) && l->layout != NULL) {
            enum mt_layout_found found =
                mt_advice_layout(q->conf, l->layout, layout, sizeof layout, &key);
            *at_end = found == MT_LAYOUT_AT_END;
            return found == MT_LAYOUT_MADE ? write_line(q, a, i, key, layout) : 1;
        }
        if (is_shown(a, i) && l->as_set && l->propose.e == NULL) /* a switch of the run's own */
            return write_line(q, a, i, l->key, l->value);
        if (!is_shown(a, i) || l->moves != MT_FIX_EITHER || (l->propose.e == NULL && !moved))
            continue;
        if (l->propose.e != NULL) {
            v = mt_weigh_ask(q, &l->propose);
            v.known = v.known && v.v >= 0;
        }
        if (v.known && mt_weigh_unknown_ranks(q, l) != NULL)
            return write_line(q, a, i, moved ? l->key_since : l->key, mt_weigh_unknown_ranks(q, l));
        if (!v.known && !moved)
            continue;
        number_text(number, sizeof number, v.v);
        if (v.known && stands_beside(q, a, l, number)) {
            a->lines &= ~(1ull << i);
            continue;
        }
        *proposed = v;
        if (current.known && v.known && !l->goes_with) { /* as it is typed */
            double typed = mt_setting_number(number).v;
            *at_end = !mt_weigh_goes(a->card->moves, current.v, typed) ||
                      (typed >= current.v && typed <= current.v);
        }
        return write_line(q, a, i, moved ? l->key_since : l->key, v.known ? number : l->value);
    }
    return propose_step(q, a, current, proposed, at_end);
}

static void be_cautious(const struct mt_advice_query *q, struct mt_advice *a)
{
    for (uint32_t i = 0; i < a->card->n_set; i++)
        if (is_shown(a, i) && mt_weigh_holds(mt_weigh_ask(q, &a->card->set[i].caution_when)))
            a->cautions |= 1ull << i;
}

/* ---- the card ---- */

/* What the run has already helps no more; where the trace shows what it should prevent, that is
 * worth to be known. */
static enum mt_settled_why settle(const struct mt_advice_query *q, struct mt_advice *a,
                                  bool by_default)
{
    if (!mt_weigh_may_hold(q, &a->card->when))
        return MT_SETTLED_NOT;
    if (!mt_weigh_computes(q) || (!by_default && a->card->finding[0] == 0))
        return MT_SETTLED_SET;
    return mt_weigh_saving(q, a) && (a->saving.known || a->card->finding[0] != 0)
               ? MT_SETTLED_FINDING
               : MT_SETTLED_SET;
}

static int weigh(const struct mt_advice_query *q, struct mt_advice *a, enum mt_settled_why *why)
{
    struct mt_value none = {0, false, MT_CONF_NONE}, current = none, proposed = none;
    bool by_default = false, at_end = false, is_on = take_set_off(q, a, &by_default);

    if (!mt_weigh_current(q, a, &current))
        return -1;
    if (!is_on && !move_lines(q, a, &at_end))
        return -1;
    mt_metrics_rule(q->metrics, current, none);
    if (!is_on && !at_end && !propose(q, a, current, &proposed, &at_end))
        return -1;
    if (is_on || at_end) {
        *why = is_on ? settle(q, a, by_default)
               : mt_weigh_may_hold(q, &a->card->when) &&
                       !mt_weigh_holds(mt_weigh_ask(q, &a->card->unless))
                   ? MT_SETTLED_FLOOR
                   : MT_SETTLED_NOT;
        return 0;
    }
    mt_metrics_rule(q->metrics, current, proposed);
    if (mt_weigh_is_off(q, a->card)) {
        *why = a->card->finding[0] != 0 ? settle(q, a, false) : MT_SETTLED_NOT;
        return 0;
    }
    if (!mt_weigh_may_hold(q, &a->card->when))
        return 0;
    be_cautious(q, a);
    a->made_it = mt_weigh_holds(mt_weigh_ask(q, &a->card->made));
    return !mt_weigh_computes(q) || mt_weigh_saving(q, a);
}

int mt_advice_weigh(const struct mt_advice_query *q, struct mt_advice *a, enum mt_settled_why *why)
{
    struct mt_value none = {0, false, MT_CONF_NONE};
    int worth;
    *why = MT_SETTLED_NOT;
    worth = weigh(q, a, why);
    if (worth > 0 && !mt_spell_lines(q, a))
        worth = -1;
    mt_metrics_rule(q->metrics, none, none);
    return worth;
}
