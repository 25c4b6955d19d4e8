/* log/told_phase.c -- in which phase a failure was, by the words of a text: every statement about
 * it is weighed, and the heaviest one holds. A word that only stands near "out of memory" weighs
 * little; where two such differ, nothing is said. */
#include "analysis/log/clause.h"
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"
#include "analysis/log/whole_job.h"
#include "analysis/phases/phases.h"

#include <string.h>

/* What a statement weighs, of a phase that is one of many; and of one that takes most of a job's
 * time, which people name also of a failure between two of them. */
enum weight {
    BY_METHOD = 90, /* the method that the error's own line names */
    BY_FRAME = 80,  /* a frame of a traceback that was pasted without its error */
    BY_TIME = 50,
    BY_TIME_BROAD = 22, /* "OOM during validation", "when saving, it crashes" */
    BY_NEXT = 45,
    BY_NEXT_BROAD = 21, /* "validation OOM" */
    BY_STEP = 55,
    BY_STEP_BROAD = 30, /* a line of the job's, right before the failure */
    BY_LAST = 35,
    BY_LAST_BROAD = 18, /* the same, where only words tell of the failure */
    BY_SENTENCE = 25,
    BY_SENTENCE_BROAD = 10, /* anywhere in the sentence that tells of it */
    BY_SCRIPT = 9,          /* the code of a script that was pasted does one thing alone */
    BY_DOING = 7,           /* "I am fine-tuning with it": what the job is, not where it failed */
    BY_NOW = 25, /* more: a clause that tells of now, or of what is so behind what is not */
    BY_NOW_MOST = BY_STEP - 1, /* but not more than a line of the job's */
    TITLE = 2,
    OWN_LINE = 1, /* more, for the first line, for the one that tells of it */
    MEMORY_ALONE = 16,
    FAILS_ELSEWHERE = 8 /* less: the sentence says "error", not which */
};

struct votes {
    const struct mt_phase_rules *rules;
    const struct mt_log_fact *f;
    enum mt_phase phase, sub, after;
    uint64_t line, after_line, step;
    int weight;
    bool is_now;             /* the clause that is read tells of now */
    bool is_doing, by_doing; /* the words that are read, and those that hold, say what the job is */
    bool
        is_rl; /* the job generates as often as it trains, or serves: "I train it" tells no phase */
    bool differs; /* another phase weighs as much, and both are broad */
};

static bool is_broad(enum mt_phase p)
{
    return p == MT_PH_TRAIN || p == MT_PH_ROLLOUT_GENERATE || p == MT_PH_INFER;
}

/* It says more of the phase that holds: "OOM in training" in the title, "fails during backward"
 * below it. What only stands in the sentence does not. */
static bool narrows(const struct votes *v, const struct mt_cut_phase *cut, int weight)
{
    return cut->phase == v->phase && v->sub == MT_PH_NONE && cut->sub != MT_PH_NONE &&
           weight >= BY_NEXT_BROAD;
}

static void vote(struct votes *v, const struct mt_cut_phase *cut, int weight, uint64_t line)
{
    if (cut->phase == MT_PH_NONE)
        return;
    weight += (line == 1 ? TITLE : 0) + (line == v->f->line ? OWN_LINE : 0);
    if (cut->phase == MT_PH_ROLLOUT_GENERATE)
        weight++; /* a job that generates also trains: it is the narrower word */
    if (v->is_now && weight < BY_NOW_MOST)
        weight = weight + BY_NOW < BY_NOW_MOST ? weight + BY_NOW : BY_NOW_MOST;
    if (weight == v->weight && cut->phase != v->phase && is_broad(cut->phase))
        v->differs = true;
    if (weight <= v->weight && !narrows(v, cut, weight))
        return;
    if (weight > v->weight) {
        v->differs = false;
        v->weight = weight;
        if (cut->phase == v->phase && cut->sub == MT_PH_NONE && v->sub != MT_PH_NONE)
            return; /* the narrower statement stays, and its line */
    }
    v->phase = cut->phase;
    v->sub = cut->sub;
    v->line = line;
    v->step = 0;
    v->by_doing = v->is_doing;
}

static bool is_small(char c) { return c >= 'a' && c <= 'z'; }

static bool phase_in(const struct votes *v, enum mt_cut_kind kind, const char *s, size_t n,
                     struct mt_cut_phase *cut)
{
    char part[160];
    n = n < sizeof part - 1 ? n : sizeof part - 1;
    memcpy(part, s, n);
    part[n] = '\0';
    return mt_phase_of_cut(v->rules, kind, "", part, cut) && cut->phase != MT_PH_NONE;
}

/* The phase that the fewest of the words name; three more tell which one it is: "loading" of a
 * model, or "loading the checkpoint". Rows of training stand last: one that holds with a word more
 * was put before the others for that. */
static bool nearest_phase(const struct votes *v, const char *s, int reach, struct mt_cut_phase *cut)
{
    struct mt_cut_phase more;
    for (int n = 1; n <= reach; n++) {
        if (!phase_in(v, MT_CUT_SAID, s, mt_clause_words(s, n), cut) &&
            !phase_in(v, MT_CUT_TOLD, s, mt_clause_words(s, n), cut))
            continue;
        if (phase_in(v, MT_CUT_SAID, s, mt_clause_words(s, n + 3), &more) && !is_broad(more.phase))
            *cut = more;
        else if (phase_in(v, MT_CUT_SAID, s, mt_clause_words(s, n + 1), &more) &&
                 more.phase == MT_PH_TRAIN)
            *cut = more; /* another sense of the word: "warmup" of an engine, "warmup steps" */
        return true;
    }
    return false;
}

/* ---- statements ---- */

/* "during X", "when X", in the clause; and what it came after. */
static void by_time(struct votes *v, const char *s, size_t n, int less, uint64_t line)
{
    struct mt_cut_phase cut;
    for (const char *p = s; p < s + n; p++) {
        const struct mt_clause_time *c = mt_clause_time_at(s, p);
        const char *behind = c != NULL ? p + strlen(c->word) : NULL;
        if (c == NULL || !nearest_phase(v, behind, c->reach < 0 ? -c->reach : c->reach, &cut))
            continue;
        if (c->reach > 0 || (c->reach < 0 && mt_clause_is_within(behind)))
            vote(v, &cut, (is_broad(cut.phase) ? BY_TIME_BROAD : BY_TIME) - less, line);
        else if (v->after_line == 0 && !is_broad(cut.phase) &&
                 !mt_phase_is(cut.phase, MT_SETS_UP) && mt_clause_part_fails(s, n)) {
            v->after = cut.phase;
            v->after_line = line;
        }
    }
}

/* Chinese says the time behind: "saving" + when, stage, course, middle. */
static void by_time_behind(struct votes *v, const char *s, size_t n, int less, uint64_t line)
{
    static const char *const times[] = {"\xe6\x97\xb6", "\xe9\x98\xb6\xe6\xae\xb5",
                                        "\xe8\xbf\x87\xe7\xa8\x8b", "\xe4\xb8\xad", NULL};
    enum { BACK = 36 };
    struct mt_cut_phase cut;
    for (const char *const *w = times; *w != NULL; w++)
        for (const char *p = s; (p = strstr(p, *w)) != NULL && p < s + n; p++) {
            const char *from = p - s > BACK ? p - BACK : s;
            if (phase_in(v, MT_CUT_TOLD, from, (size_t)(p - from), &cut) ||
                phase_in(v, MT_CUT_SAID, from, (size_t)(p - from), &cut))
                vote(v, &cut, (is_broad(cut.phase) ? BY_TIME_BROAD : BY_TIME) - less, line);
        }
}

/* Where the words of up to `words` blanks before p begin, in its clause and behind a word of a
 * time, which by_time() has. */
static const char *words_before(const char *s, const char *p, int words)
{
    const char *from = p;
    while (from > s && words > 0 && strchr(",;:", from[-1]) == NULL)
        words -= *--from == ' ';
    for (const char *q = from; q < p; q++) {
        const struct mt_clause_time *c = mt_clause_time_at(s, q);
        if (c != NULL && c->reach > 0)
            return p;
    }
    return from;
}

static void vote_next(struct votes *v, const char *s, size_t n, int less, uint64_t line)
{
    struct mt_cut_phase cut;
    if (phase_in(v, MT_CUT_SAID, s, n, &cut))
        vote(v, &cut, (is_broad(cut.phase) ? BY_NEXT_BROAD : BY_NEXT) - less, line);
}

/* "OOM merging the adapters", "OOM error loading it": the words right behind the failure's. */
static void by_behind(struct votes *v, const char *s, const char *p, uint64_t line)
{
    static const char *const fillers[] = {"error ", "errors ", "issue ", "exception ", NULL};
    while (is_small(*p))
        p++;
    p += *p == ' ';
    for (const char *const *w = fillers; *w != NULL; w++)
        p += strncmp(p, *w, strlen(*w)) == 0 ? strlen(*w) : 0;
    if (mt_clause_time_at(s, p) == NULL)
        vote_next(v, p, mt_clause_words(p, 2), 0, line);
}

/* "validation OOM", "the initialization causes a spike", "loading it on four cards gives OOM": the
 * words right before the failure's, or before what is said of them in a sentence that tells of it,
 * or those that the clause begins with. */
static void by_next(struct votes *v, const char *s, size_t n, uint64_t line)
{
    enum { FIRST = 3 }; /* less, for those that the clause begins with */
    static const char *const failures[] = {
        "oom",     "out of memory", "cuda out of", "runs out of", "ran out of",
        "causes ", "caused ",       "leads to",    "results in",  "triggers ",
        "crashes", "fails",         "hits ",       "throws ",     "gives ",
        "ends in", "ends with",     "stops with",  "dies ",       NULL};
    for (const char *const *w = failures; *w != NULL; w++) {
        const char *p = strstr(s, *w), *from;
        if (p == NULL || p >= s + n || (p > s && is_small(p[-1])))
            continue;
        from = words_before(s, p, 4);
        vote_next(v, from, (size_t)(p - from), 0, line);
        if (mt_clause_time_at(s, s) == NULL && p > s + mt_clause_words(s, 3))
            vote_next(v, s, mt_clause_words(s, 3), FIRST, line);
        if (strcmp(*w, "oom") == 0)
            by_behind(v, s, p, line);
    }
}

/* What the sentence says without "before ..." and "after ...", which is another time. */
static void by_sentence(struct votes *v, const char *s, size_t n, uint64_t line)
{
    char part[MT_SPOKEN_LINE];
    size_t k = 0;
    uint32_t row = 0;
    struct mt_cut_phase cut;
    for (size_t i = mt_clause_behind_after(s, n); i < n;) {
        const struct mt_clause_time *c = mt_clause_time_at(s, s + i);
        if (c != NULL && c->reach <= 0) {
            i += strlen(c->word);
            i += mt_clause_words(s + i, 8);
            continue;
        }
        part[k++] = s[i++];
    }
    part[k] = '\0';
    while (mt_phase_next_cut(v->rules, MT_CUT_TOLD, "", part, &row, &cut))
        vote(v, &cut, is_broad(cut.phase) ? BY_SENTENCE_BROAD : BY_SENTENCE, line);
}

/* "inside `_get_batch_logps`", "in compute_map()": a function that a sentence about the failure or
 * its traceback names, as a frame would. Written as code, it is no other word. Log-probabilities
 * are computed in a loss as well: without the frames around them they tell no phase. */
static void by_function(struct votes *v, const char *s, uint64_t line)
{
    static const char *const ins[] = {"in ",       "inside ", "at ", "within ",
                                      "function ", "method ", NULL};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    struct mt_cut_phase cut;
    for (const char *p = s; *p != '\0'; p++) {
        size_t n = p == s || p[-1] == ' ' ? mt_log_word_at(p, ins) : 0, k;
        const char *name = p + n;
        bool quoted = *name == '`';
        if (n == 0)
            continue;
        for (name += quoted; (k = strspn(name, letters)) != 0 && name[k] == '.'; name += k + 1) {
        }
        if (memchr(name, '_', k) != NULL && (quoted || name[k] == '(') &&
            phase_in(v, MT_CUT_NAME, name, k, &cut) && !mt_phase_is(cut.phase, MT_LOGP))
            vote(v, &cut, is_broad(cut.phase) ? BY_TIME_BROAD : BY_TIME, line);
    }
}

/* Somebody ended the process: words about a failure may be about another one, but for its time. */
static bool is_kill(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_KILLED || f->kind == MT_LOG_RAY_KILL || f->kind == MT_LOG_KERNEL_KILL;
}

/* Takes out of the sentence the phases that it denies, so that they have no vote: "not in the
 * rollout, but ...". Where there was one: true. */
static bool drop_denied(const struct votes *v, char *s)
{
    bool dropped = false;
    struct mt_cut_phase cut;
    for (size_t n, at, from, gone; *s != '\0'; s += n) {
        s += strspn(s, " ,;:");
        n = mt_clause_end(s);
        for (at = 0; (gone = mt_clause_denied(s, n, at, &from)) != 0;) {
            at = from + gone;
            if (!phase_in(v, MT_CUT_SAID, s + from, gone, &cut) &&
                !phase_in(v, MT_CUT_TOLD, s + from, gone, &cut))
                continue;
            memmove(s + from, s + at, strlen(s + at) + 1);
            n -= gone;
            at = from;
            dropped = true;
        }
        n += n == 0 && *s != '\0';
    }
    return dropped;
}

/* How the sentence tells of a failure. */
struct telling {
    bool fails, leads; /* that memory ran out; the error's own line follows */
    bool denies;       /* it says of a phase that it was not there */
    int less;          /* its votes weigh less by so much */
};

static void of_clause(struct votes *v, const char *s, size_t n, const struct telling *t,
                      uint64_t line)
{
    bool but = t->denies && mt_clause_is_but(s);
    if (mt_clause_went_well(s, n) || mt_clause_is_over(s, n))
        return;
    v->is_now = but || mt_clause_is_now(s, n);
    by_time(v, s, n, t->less, line);
    by_time_behind(v, s, n, t->less, line);
    if (but)
        vote_next(v, s, mt_clause_words(s, 4), t->less, line);
    if ((t->fails || t->leads) && !is_kill(v->f))
        by_next(v, s, n, line);
    if (t->fails && !is_kill(v->f))
        by_sentence(v, s, n, line);
    v->is_now = false;
}

/* "I am fine-tuning X", "trying to train it": what somebody does with the program. A phase that
 * takes most of a job's time alone; only one that runs once in a while fails elsewhere as often. */
static void by_doing(struct votes *v, const char *s, size_t n, uint64_t line)
{
    static const char *const doing[] = {"i am ",      "i'm ",      "we are ",    "we're ",
                                        "i was ",     "we were ",  "trying to ", "i try to ",
                                        "we try to ", "tried to ", "want to ",   "when i ",
                                        "when we ",   NULL},
                             *const elsewhere[] = {" later",     "another",       "last week",
                                                   "last month", "yesterday",     "earlier",
                                                   "previously", "in the future", "other model",
                                                   NULL};
    struct mt_cut_phase cut;
    if (mt_log_has_one(s, elsewhere))
        return; /* another time, or another model */
    v->is_doing = true;
    for (const char *p = s; !v->is_rl && p < s + n; p++) {
        size_t k = p == s || p[-1] == ' ' || p[-1] == '(' ? mt_log_word_at(p, doing) : 0;
        if (k == 0)
            continue;
        if (!nearest_phase(v, p + k, 4, &cut))
            cut = (struct mt_cut_phase){
                .phase = mt_whole_job_trains(p + k, mt_clause_words(p + k, 4)) ? MT_PH_TRAIN
                                                                               : MT_PH_NONE,
                .sub = MT_PH_NONE};
        if (is_broad(cut.phase))
            vote(v, &cut, BY_DOING, line);
    }
    v->is_doing = false;
}

/* leads: the error's own line follows. */
static void of_sentence(struct votes *v, char *s, bool leads, uint64_t line)
{
    struct telling t = {.leads = leads};
    bool some;
    t.fails = (line == v->f->line && !mt_log_is_talk(v->f)) || mt_spoken_fails(s);
    some = !t.fails && !leads && mt_clause_names_failure(s);
    t.denies = drop_denied(v, s);
    some |= t.denies;
    if (t.fails || strstr(s, "traceback") != NULL || strstr(s, "stack trace") != NULL)
        by_function(v, s, line);
    t.less = t.fails || leads ? 0 : some ? FAILS_ELSEWHERE : MEMORY_ALONE;
    some |= t.fails || leads || mt_clause_names_memory(s);
    for (size_t n; *s != '\0'; s += n) {
        s += strspn(s, " ,;:(");
        n = mt_clause_end(s);
        if (some)
            of_clause(v, s, n, &t, line);
        if (!mt_clause_went_well(s, n) && !mt_clause_is_over(s, n))
            by_doing(v, s, n, line);
        n += n == 0 && *s != '\0';
    }
}

/* The error's own line stands below that line of a text whose title may say it as well. */
static bool fails_below(const struct mt_log *log, const struct mt_log_fact *f, uint64_t line)
{
    enum { BELOW = 6 };
    for (uint32_t i = 0; i < log->facts.n; i++)
        if (log->facts.p[i].kind == f->kind && log->facts.p[i].line > line &&
            log->facts.p[i].line - line <= BELOW && !mt_log_is_talk(&log->facts.p[i]))
            return true;
    return false;
}

/* "1. On the first card, during set-up:", and the error below; of a sentence, "... I get this
 * message". */
static bool ends_in_colon(const char *s)
{
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    return n > 0 && s[n - 1] == ':';
}

static bool points_below(const char *s)
{
    static const char *const words[] = {" below",     "the following", "this error", "this message",
                                        "such error", "as follows",    "error like", NULL};
    return mt_log_has_one(s, words);
}

/* "File "x.py", line 9, in f" of a traceback that led to no line that is here. */
static void of_frame(struct votes *v, const struct mt_log_prose *p)
{
    const char *file = strstr(p->text, "File \""),
               *end = file != NULL ? strchr(file + 6, '"') : NULL,
               *name = end != NULL ? strstr(end, ", in ") : NULL;
    char path[256], function[64];
    struct mt_cut_phase cut;
    if (name == NULL || end - file - 6 >= (long)sizeof path || strlen(name + 5) >= sizeof function)
        return;
    memcpy(path, file + 6, (size_t)(end - file - 6));
    path[end - file - 6] = '\0';
    memcpy(function, name + 5, strlen(name + 5) + 1);
    function[strcspn(function, " \r\n")] = '\0';
    if ((mt_phase_of_cut(v->rules, MT_CUT_FRAME, path, function, &cut) &&
         cut.phase != MT_PH_NONE) ||
        mt_phase_of_cut(v->rules, MT_CUT_NAME, path, function, &cut))
        vote(v, &cut, BY_FRAME, p->line);
}

/* The code of a script that was pasted does one thing alone. */
static void of_script(struct votes *v, const struct mt_log *log)
{
    struct mt_cut_phase cut, one = {.phase = MT_PH_NONE, .sub = MT_PH_NONE};
    uint64_t line = 0;
    for (uint32_t i = 0; i < log->prose.n; i++) {
        if (strstr(log->prose.p[i].text, "File \"") != NULL)
            return; /* lines of a traceback, which may be of another error */
        if (!mt_phase_of_cut(v->rules, MT_CUT_CALL, "", log->prose.p[i].text, &cut))
            continue;
        if (one.phase != MT_PH_NONE && one.phase != cut.phase)
            return;
        one = cut;
        line = line == 0 ? log->prose.p[i].line : line;
    }
    vote(v, &one, BY_SCRIPT, line);
}

/* The method that the failure's own line names. */
static void of_method(struct votes *v, const struct mt_log *log)
{
    for (uint32_t i = 0; i < log->n_said; i++) {
        const struct mt_log_said *s = &log->said[i];
        struct mt_cut_phase cut;
        if (s->line == v->f->line && (mt_phase_of_cut(v->rules, MT_CUT_METHOD, "", s->text, &cut) ||
                                      mt_phase_of_cut(v->rules, MT_CUT_NAME, "", s->text, &cut)))
            vote(v, &cut, BY_METHOD, s->line);
    }
}

/* Takes out "rollout.n" where a setting of that name is in the text: it names the setting. */
static void drop_keys(char *s, const struct mt_log *log)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    char key[96];
    for (size_t n; *s != '\0'; s += n + (s[n] != '\0')) {
        n = strspn(s, letters);
        while (n > 0 && s[n - 1] == '.') /* the end of a sentence */
            n--;
        if (n < 3 || n >= sizeof key - 1 || memchr(s + 1, '.', n - 2) == NULL)
            continue;
        memcpy(key, s, n);
        memcpy(key + n, "=", 2);
        for (uint32_t i = 0; i < log->settings.n; i++)
            if (log->settings.p[i].text != NULL && strstr(log->settings.p[i].text, key) != NULL) {
                memset(s, '-', n);
                break;
            }
    }
}

/* A program's line, but PyTorch's own sentence, which people quote in theirs. */
static bool is_programs(const char *line)
{
    return mt_spoken_is_logged(line) && strstr(line, "ried to allocate") == NULL;
}

static void of_prose(struct votes *v, const struct mt_log *log)
{
    struct mt_spoken t;
    for (uint32_t i = log->prose.n; mt_log_is_talk(v->f) && i-- > 0;) /* the innermost first */
        of_frame(v, &log->prose.p[i]);
    for (uint32_t i = 0; i < log->prose.n; i++) {
        bool below = fails_below(log, v->f, log->prose.p[i].line),
             leads = below && ends_in_colon(log->prose.p[i].text);
        if (log->prose.p[i].text[0] == '>' || is_programs(log->prose.p[i].text))
            continue;
        mt_spoken_line(&t, log, i);
        mt_whole_job_drop(t.text);
        drop_keys(t.text, log);
        for (char *s; (s = mt_spoken_sentence(&t)) != NULL;)
            of_sentence(v, s, leads || (below && points_below(s)), t.line);
    }
    of_script(v, log);
}

void mt_logdiag_told_phase(struct mt_logdiag *d, const struct mt_log *log,
                           const struct mt_log_fact *f, const struct mt_cut_phase *step,
                           uint64_t step_line, const struct mt_phase_rules *rules)
{
    struct votes v = {.rules = rules, .f = f, .phase = MT_PH_NONE, .after = MT_PH_NONE};
    bool talk = mt_log_is_talk(f);
    v.is_rl = d->serves || mt_whole_job_in(log, f, d->program);
    of_method(&v, log);
    if (f->kind != MT_LOG_STOPPED)
        of_prose(&v, log);
    d->after = v.after;
    d->after_line = v.after_line;
    if (step != NULL) {
        int was = v.weight;
        vote(&v, step,
             is_broad(step->phase) ? (talk ? BY_LAST_BROAD : BY_STEP_BROAD)
                                   : (talk ? BY_LAST : BY_STEP),
             step_line);
        if (v.weight != was)
            v.step = step_line;
    }
    if (v.weight == 0 || v.differs)
        return;
    d->phase = v.phase;
    if (d->sub == MT_PH_NONE)
        d->sub = v.sub;
    if (v.step != 0)
        d->step = v.step;
    else
        d->said = v.line;
    d->said_job = v.by_doing && v.step == 0;
}
