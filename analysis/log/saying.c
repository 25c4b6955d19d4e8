/* log/saying.c -- how people say that something is on, was tried or is refused. What stands nearest
 * to its name counts most: a sentence has a trial of one thing and a wish for another. */
#include "analysis/log/saying.h"

#include <stddef.h>
#include <string.h>

enum { WITH = 40, THE = 4 };

static bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

/* One of them begins at `from` or behind it, before `to`; returns the last one, NULL = none does.
 */
static const char *last_of(const char *from, const char *to, const char *const *words)
{
    const char *last = NULL;
    for (const char *p = from; p < to; p++)
        if (mt_log_word_at(p, words) != 0)
            last = p;
    return last;
}

/* ---- clauses ---- */

static bool breaks(const char *p)
{
    static const char *const words[] = {",", ";", ":", "(", " but ", "，", NULL};
    return mt_log_word_at(p, words) != 0;
}

static const char *clause_from(const char *s, const char *at)
{
    const char *from = s;
    for (const char *p = s; p < at; p++)
        if (breaks(p))
            from = p + 1;
    return from;
}

/* What is refused may stand on the other side of a colon. */
static const char *refusal_from(const char *s, const char *at)
{
    while (at > s && (*at == ':' || !breaks(at)))
        at--;
    return at;
}

static const char *refusal_to(const char *end)
{
    while (*end != '\0' && (*end == ':' || !breaks(end)))
        end++;
    return end;
}

/* ---- it is off ---- */

/* Behind what is left of its name, and "is", "was set to". The Chinese ones:
 * set to, now, before, for the time being, still, all, is, too.
 */
static const char *past_links(const char *end)
{
    static const char *const links[] = {
        " ",     "=",         ":",     "(",         "'",       "is ",    "are ",       "was ",
        "were ", "has been ", "been ", "set to ",   "type",    "mode",   "目前",       "现在",
        "之前",  "前面",      "暂时",  "to ",       "设为",    "设成",   "设置为",     "kept ",
        "now ",  "being ",    "left ", "switched ", "turned ", "still ", "currently ", "还",
        "都",    "是",        "也",    NULL};
    size_t n;
    if (strncmp(end, "ing", 3) == 0)
        end += 3;
    end += *end == 's';
    while ((n = mt_log_word_at(end, links)) != 0)
        end += n;
    return end;
}

/* "not enabled", "not on"; "not enough" is said of what is on. */
static bool is_not(const char *behind)
{
    static const char *const states[] = {" enabled", " on",        " used",   " set",
                                         " active",  " turned",    " in use", " there",
                                         " yet",     " an option", NULL};
    return *behind == '\0' || breaks(behind) || mt_log_word_at(behind, states) != 0;
}

/* Right behind it. In Chinese: not on, not enabled, not set, not added, closed, no. */
static bool is_off(const char *end)
{
    static const char *const offs[] = {"off",   "false",   "disabled", "none", "null",
                                       "fp32",  "float32", "no",       "0",    "never",
                                       "unset", "missing", NULL},
                             *const nots[] = {"not", "isn't", "aren't", "wasn't", "weren't", NULL},
                             *const chinese[] = {"没开", "没有开", "没启用",   "没有启用", "没打开",
                                                 "没设", "没有设", "没有打开", "没加",     "没有加",
                                                 "未开", "未启用", "未打开",   "未设",     "关",
                                                 "否",   "❌",      "✗",        NULL};
    const char *p = past_links(end);
    size_t n = mt_log_word_at(p, offs);
    if (n != 0)
        return !is_letter(p[n]) && !mt_log_is_digit(p[n]) && p[n] != '.';
    n = mt_log_word_at(p, nots);
    return n != 0 ? is_not(p + n) : mt_log_word_at(p, chinese) != 0;
}

/* Right before it: it is made to be off, or alone was left out. In Chinese: closed, forbidden,
 * except. */
static bool is_switched_off(const char *s, const char *at)
{
    static const char *const offs[] = {
        "turned off ", "turn off ",   "turning off ", "switched off ",
        "disabled ",   "disable ",    "disabling ",   "removed ",
        "removing ",   "except ",     "except for ",  "everything but ",
        "all but ",    "other than ", "apart from ",  "besides ",
        "关掉",        "关闭",        "关了",         "禁用",
        "除了",        NULL};
    for (const char *p = s; p < at; p++) {
        size_t n = mt_log_word_at(p, offs);
        if (n != 0 && p + n <= at && at - (p + n) <= THE)
            return true;
    }
    return false;
}

/* ---- it is wished, asked about, advised ---- */

bool mt_saying_is_of_others(const char *from, const char *at)
{
    static const char *const others[] = {"someone ",       "somebody ",    "colleague",
                                         "another thread", "other people", "others ",
                                         "别人",           "有人",         NULL},
                             *const own[] = {" i ", " we ", "我", NULL};
    const char *p = last_of(from, at, others);
    return p != NULL && last_of(p + 1, at, own) == NULL;
}

/* Nothing of the sentence was done. */
static bool is_open(const char *s)
{
    static const char *const open[] = {"n't tried",   "not tried", "n't enable", "not enable",
                                       "should i",    "could i",   "can i",      "how to",
                                       "n't already", "if i ",     "haven't",    "没试",
                                       "没有试",      "能否",      "是否可以",   NULL};
    return mt_log_has_one(s, open);
}

/* Behind it: it was done all the same. In Chinese: tried, already, useless, still. */
static bool was_done_then(const char *end)
{
    static const char *const words[] = {
        "tried",       "already",    "not solve", "n't solve", "not help",     "n't help",
        "did nothing", "enabled it", "have it",   "has it",    "turned it on", "use it",
        "no effect",   "no diff",    "still",     "试过",      "试了",         "已经",
        "没用",        "还是",       "仍",        NULL};
    return mt_log_has_one(end, words);
}

static const char *const trials[] = {"tried",       "regardless",     "no matter",
                                     "even with",   "even when",      "even if",
                                     "already",     "n't help",       "not help",
                                     "no effect",   "no difference",  "not solve",
                                     "n't solve",   "without effect", "enable ",
                                     "enabled",     "have reduced",   "also reduced",
                                     "i reduced",   "we reduced",     "reduced my",
                                     "reduced the", "after reducing", "despite",
                                     "i set ",      "we set ",        "have set",
                                     "is set to",   "turned on",      "switched on",
                                     "i lowered",   "we lowered",     "tried lowering",
                                     "i changed",   "we changed",     "i wrap",
                                     "i run with",  "precision:",     "parallelism:",
                                     "settings:",   "config:",        "configuration:",
                                     "still oom",   "still out of",   "still run",
                                     "试过",        "试了",           "已经",
                                     "都试",        "开了",           "打开了",
                                     "开启了",      "已开",           "启用了",
                                     "设成",        "设为",           "设置为",
                                     "改成",        "降到",           "调到",
                                     "还是",        "仍然",           "依然",
                                     "依旧",        "即使",           NULL};

/* The nearest word before it in its clause is of a wish, or of what others advise; where one of a
 * trial is nearer, it was done. "I want to train with X" has X. */
static bool is_wished(const char *from, const char *at)
{
    static const char *const wishes[] = {"want to",  "like to",  "need to",  "going to", "plan ",
                                         "plan to",  "will ",    "would ",   "could ",   "should ",
                                         "might ",   "may ",     "way to",   "about ",   "know ",
                                         "heard of", "you can ", "one can ", "instead ", "想",
                                         "打算",     "要不要",   "是否",     "能不能",   "可以",
                                         "怎么",     "如何",     "应该",     "不知道",   NULL},
                             *const thoughts[] = {"suggest",  "recommend", "advise",   "told me",
                                                  "tells me", "tell me",   "wonder",   "not sure",
                                                  "thinking", "think of",  "consider", "建议",
                                                  "推荐",     "考虑",      NULL},
                             *const withs[] = {" with ", " using ", NULL};
    const char *wish = last_of(from, at, wishes), *with = last_of(from, at, withs),
               *thought = last_of(from, at, thoughts), *trial = last_of(from, at, trials);
    if (trial != NULL && strncmp(trial, "enable ", 7) == 0) /* "way to enable" */
        trial = NULL;
    if (wish != NULL && with != NULL && with > wish)
        wish = NULL;
    return (wish != NULL && (trial == NULL || trial < wish)) ||
           (thought != NULL && (trial == NULL || trial < thought));
}

/* "Just use X": somebody is told to. */
static bool is_ordered(const char *from, const char *at)
{
    static const char *const orders[] = {"use ", "try ", "enable ", NULL}, *const softly[] = {
                                                                               "just ",   "please ",
                                                                               "simply ", "then ",
                                                                               "> ",      " ",
                                                                               NULL};
    size_t n;
    while (from < at && (n = mt_log_word_at(from, softly)) != 0)
        from += n;
    return from < at && mt_log_word_at(from, orders) != 0;
}

/* "X would be next." */
static bool is_guess(const char *end)
{
    static const char *const words[] = {" would ", " could ", " might ", " should ", NULL};
    if (strncmp(end, "ing", 3) == 0)
        end += 3;
    return mt_log_word_at(end, words) != 0;
}

/* In a list, "use X" is what was done. */
static bool is_only_thought(const struct mt_saying *t, const char *at, const char *end)
{
    const char *from = clause_from(t->text, at);
    if (is_open(t->text))
        return true;
    return (is_wished(from, at) || mt_saying_is_of_others(from, at) ||
            (!t->is_set && is_ordered(from, at)) || is_guess(end)) &&
           !was_done_then(end);
}

/* ---- it is on, or was tried ---- */

/* "with X", "using X": it is on, or known to go well or ill. */
static bool is_with(const char *s, const char *at)
{
    static const char *const withs[] = {" with ",     " using ", " use ", " used ",
                                        " enabling ", " doing ", NULL},
                             *const first[] = {"with ", "using ", NULL};
    const char *from = at - s > WITH ? at - WITH : s;
    for (const char *p = from; p < at; p++)
        if (strchr(",.;:", *p) != NULL)
            from = p + 1;
    return last_of(from, at, withs) != NULL || (from == s && mt_log_word_at(s, first) != 0);
}

/* "are on" and no "is only", "is on the host"; "is 1" and no "is 16". */
static bool tells_of_state(const char *s)
{
    static const char *const states[] = {"is on", "are on", "is 1", NULL},
                             *const places[] = {" the ", " a ",    " an ",        " my ",  " our ",
                                                " one ", " cpu",   " gpu",        " cuda", " host",
                                                " disk", " each ", " by default", NULL};
    for (const char *p = s; *p != '\0'; p++) {
        size_t n = mt_log_word_at(p, states);
        if (n != 0 && !is_letter(p[n]) && !mt_log_is_digit(p[n]) && p[n] != '.' &&
            mt_log_word_at(p + n, places) == 0)
            return true;
    }
    return false;
}

/* "I turned X on", "we have X on", "X is used", "X is not enough". */
static bool is_made_on(const char *s, const char *at, const char *end)
{
    static const char *const verbs[] = {"turn", "switch", "have ", "had ",
                                        "has ", "keep",   "kept",  NULL},
                             *const little[] = {" is not enough",
                                                " isn't enough",
                                                " was not enough",
                                                " wasn't enough",
                                                " alone is not",
                                                " alone was not",
                                                " is used",
                                                " are used",
                                                " is in use",
                                                " are in use",
                                                NULL};
    if (strncmp(end, "ing", 3) == 0)
        end += 3;
    return mt_log_word_at(end, little) != 0 || (strncmp(end, " on", 3) == 0 && !is_letter(end[3]) &&
                                                last_of(clause_from(s, at), at, verbs) != NULL);
}

static const char *const refusals[] = {
    "not supported", "unsupported",     "not support ",  "n't support", "not compatible",
    "incompatible",  "cannot be used",  "can't be used", "cannot use ", "can't use ",
    "not available", "not implemented", "不支持",        "不兼容",      NULL};

/* Of the clause that it stands in, or of "it" behind that; of a program's line, anywhere. */
static bool is_refused(const struct mt_saying *t, const char *at, const char *end)
{
    static const char *const later[] = {"cannot use it", "can't use it", "cannot use them",
                                        "can't use them", NULL};
    const char *from = t->is_error ? t->text : refusal_from(t->text, at);
    const char *to = t->is_error ? end + strlen(end) : refusal_to(end);
    return last_of(from, to, refusals) != NULL || last_of(end, end + strlen(end), later) != NULL;
}

/* "If I switch X on, it runs": it is known, and known to help. No "it runs out of memory". */
static bool helps(const struct mt_saying *t, const char *at, const char *end)
{
    static const char *const ifs[] = {"if i ", "if we ", "when i ", "when we ", "once i ", NULL},
                             *const on[] = {"switch", "turn on",   "enable ", "use ",
                                            "add ",   "activate ", NULL},
                             *const verbs[] = {" runs", " works", " trains", " goes through", NULL},
                             *const others[] = {" out", " into", " slow", " on ", NULL};
    const char *from = last_of(t->text, at, ifs);
    if (t->is_asked || from == NULL || last_of(from, at, on) == NULL)
        return false;
    for (const char *p = end; *p != '\0'; p++) {
        size_t n = mt_log_word_at(p, verbs);
        if (n != 0 && !is_letter(p[n]) && mt_log_word_at(p + n, others) == 0 &&
            !mt_log_is_denied(t->text, p))
            return true;
    }
    return false;
}

bool mt_saying_is_so(const struct mt_saying *t, const char *at, const char *end, bool has_number)
{
    bool refused = is_refused(t, at, end), denied;
    if (t->is_error)
        return refused;
    if (!has_number && helps(t, at, end))
        return true;
    denied = mt_log_is_denied(t->text, at) || is_only_thought(t, at, end);
    if (denied || is_off(end) || is_switched_off(t->text, at))
        return refused && !denied;
    if (t->is_asked && !has_number)
        return false;
    return t->is_set || refused || mt_log_has_one(t->text, trials) || tells_of_state(t->text) ||
           is_with(t->text, at) || is_made_on(t->text, at, end);
}

/* ---- it is to stay as it is ---- */

/* A name with one of these before it is another thing: what one step takes may stay, and a pass be
 * smaller. */
static bool is_whole_batch(const char *s, const char *at)
{
    static const char *const wholes[] = {"global ", "effective ", "total ", "mini ", "overall ",
                                         "全局 ",   "全局",       "总",     NULL};
    for (const char *p = at - s > 12 ? at - 12 : s; p < at; p++) {
        size_t n = mt_log_word_at(p, wholes);
        if (n != 0 && p + n == at)
            return true;
    }
    return false;
}

/* The thing is named with its verb, "reducing the batch", and the words stand right before it. The
 * Chinese ones: change, make less, lower, switch off. */
static bool is_right_before(const char *word, const char *at, const char *const *words)
{
    static const char *const verbs[] = {"chang", "reduc",  "lower", "decreas", "less",
                                        "turn",  "disabl", "short", "shrink",  "smaller",
                                        "改",    "减",     "降",    "关",      NULL};
    return at - (word + mt_log_word_at(word, words)) <= THE && mt_log_word_at(at, verbs) != 0;
}

/* What says so. The Chinese ones: cannot be changed, moved, made less, lowered, varied, used; do
 * not want to ...; there is no way to ...; has to stay; does not ...; behind it also: of no use,
 * without effect, fixed. */
static const char *const nots[] = {"can't ",
                                   "cannot ",
                                   "can not ",
                                   "unable to ",
                                   "not able to ",
                                   "without ",
                                   "not allowed to ",
                                   "don't want to ",
                                   "do not want to ",
                                   "not want to ",
                                   "rather not ",
                                   "不能",
                                   "不想",
                                   "无法",
                                   "没法",
                                   NULL};
static const char *const keeping_verbs[] = {"chang",  "reduc", "lower",  "decreas", "shorten",
                                            "shrink", "use ",  "touch",  "drop",    "enable ",
                                            "cut ",   "turn ", "lessen", NULL};
/* Before the thing or behind it. */
static const char *const cannot[] = {"不能改", "不能动", "不能减", "不能降", "不能变",
                                     "不能调", "不能用", "用不了", NULL};
static const char *const keeps[] = {"must keep ",
                                    "i need the ",
                                    "we need the ",
                                    "have to keep ",
                                    "need to keep ",
                                    "want to keep ",
                                    "has to keep ",
                                    "不想改",
                                    "不想动",
                                    "不想减",
                                    "不想降",
                                    "不想用",
                                    "无法改",
                                    "无法降",
                                    "无法减",
                                    "没法改",
                                    "没法降",
                                    "没法用",
                                    "必须保持",
                                    "不改变",
                                    "不降低",
                                    "不减小",
                                    NULL};
static const char *const after[] = {"cannot be ",
                                    "can't be ",
                                    "can not be ",
                                    "must stay",
                                    "has to stay",
                                    "have to stay",
                                    "is fixed",
                                    "are fixed",
                                    "is not an option",
                                    "isn't an option",
                                    "not possible",
                                    "not help",
                                    "n't help",
                                    "no effect",
                                    "no difference",
                                    "没用",
                                    "没有用",
                                    "无效",
                                    "不能再",
                                    "固定",
                                    NULL};

bool mt_saying_keeps(const struct mt_saying *t, const char *at, const char *end)
{
    const char *from = clause_from(t->text, at), *to = end, *not = last_of(from, at, nots);
    if (is_whole_batch(t->text, at))
        return false;
    if (t->is_error)
        return is_refused(t, at, end);
    while (*to != '\0' && (*to == ':' || !breaks(to)))
        to++;
    return last_of(from, at, keeps) != NULL || last_of(from, at, cannot) != NULL ||
           last_of(end, to, cannot) != NULL || last_of(end, to, after) != NULL ||
           (not != NULL &&
            (last_of(not, at, keeping_verbs) != NULL || is_right_before(not, at, nots))) ||
           is_refused(t, at, end);
}

bool mt_saying_may_keep(const struct mt_saying *t)
{
    const char *s = t->text, *end = s + strlen(s);
    return last_of(s, end, nots) != NULL || last_of(s, end, keeps) != NULL ||
           last_of(s, end, cannot) != NULL || last_of(s, end, after) != NULL ||
           last_of(s, end, refusals) != NULL;
}
