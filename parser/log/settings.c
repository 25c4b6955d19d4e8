/* log/settings.c -- what a log says the run was set to: the command that started it, Hydra's list
 * of overrides, the arguments that programs print when they begin. Kept as the words of a command
 * line, which parser/conf reads. */
#include "parser/log/match.h"
#include "parser/base/text.h"

#include <string.h>

enum {
    MOST = 64,           /* of them in one log */
    MOST_CODE = 16,      /* of those, lines of code */
    LONGEST = 64 * 1024, /* bytes of one */
    DOTTED = 3,          /* lines of others between two rows of one list */
};

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/';
}

/* Bytes of "(TaskRunner pid=9) ", "[rank0]: ", a prompt, the sign of a list: what stands before a
 * command. */
static const char *behind_prefix(const char *s)
{
    for (;;) {
        const char *at, *e;
        s += strspn(s, " \t$#>+`*-!"); /* the last begins a shell's line in a notebook */
        if (*s == '(' || *s == '[') {
            e = strchr(s, *s == '(' ? ')' : ']');
            if (e == NULL)
                return s;
            s = e + 1 + (e[1] == ':');
            continue;
        }
        at = strchr(s, '@'); /* "root@node7:/job# " */
        e = at != NULL ? strpbrk(at, "#$ ") : NULL;
        if (e == NULL || *e == ' ' || at - s > 32)
            return s;
        s = e + 1;
    }
}

struct mt_log_settings *mt_log_settings_item(struct mt_log *l, uint64_t number)
{
    struct mt_log_settings *s;
    if (l->settings.n >= MOST)
        return NULL;
    s = MT_VEC_PUSH(&l->settings);
    if (s == NULL) {
        l->no_memory = true;
        return NULL;
    }
    *s = (struct mt_log_settings){.line = number};
    return s;
}

void mt_log_settings_add(struct mt_log *l, struct mt_log_settings *s, const char *p, size_t n)
{
    char *more = s != NULL && s->n + n <= LONGEST ? mt_realloc(s->text, s->n + n + 1) : NULL;
    if (s == NULL || s->n + n > LONGEST)
        return;
    if (more == NULL) {
        l->no_memory = true;
        return;
    }
    s->text = more;
    memcpy(more + s->n, p, n);
    s->n += n;
    more[s->n] = '\0';
}

static void add_text(struct mt_log *l, struct mt_log_settings *s, const char *p)
{
    mt_log_settings_add(l, s, p, strlen(p));
}

/* As one word of a shell, whatever is in it. */
static void add_quoted(struct mt_log *l, struct mt_log_settings *s, const char *p, size_t n)
{
    add_text(l, s, "'");
    for (const char *end = p + n; p < end;) {
        const char *q = memchr(p, '\'', (size_t)(end - p));
        mt_log_settings_add(l, s, p, (size_t)((q != NULL ? q : end) - p));
        if (q == NULL)
            break;
        add_text(l, s, "'\\''");
        p = q + 1;
    }
    add_text(l, s, "'");
}

void mt_log_code_settings(struct mt_log *l, uint64_t number, const char *file, const char *code)
{
    struct mt_log_settings *s;
    uint32_t n = 0;
    if (mt_file_is_packaged(file) || strstr(file, "/lib/python") != NULL ||
        strchr(code, '=') == NULL || strchr(code, '(') == NULL)
        return;
    for (uint32_t i = 0; i < l->settings.n; i++) {
        if (!l->settings.p[i].is_code)
            continue;
        if (l->settings.p[i].text != NULL && strcmp(l->settings.p[i].text, code) == 0)
            return; /* another rank's */
        n++;
    }
    s = n < MOST_CODE ? mt_log_settings_item(l, number) : NULL;
    if (s == NULL)
        return;
    s->is_code = true;
    add_text(l, s, code);
}

/* ---- values as Python prints them ---- */

/* The end of the value at p: the next comma or closing bracket that is of no bracket and no string
 * within. */
static const char *value_end(const char *p)
{
    int depth = 0;
    for (char quote = 0; *p != '\0'; p++) {
        if (quote != 0) {
            if (*p == '\\' && p[1] != '\0')
                p++;
            else if (*p == quote)
                quote = 0;
        } else if (*p == '\'' || *p == '"') {
            quote = *p;
        } else if (strchr("([{", *p) != NULL) {
            depth++;
        } else if (strchr(")]}", *p) != NULL && depth-- == 0) {
            return p;
        } else if (*p == ',' && depth == 0) {
            return p;
        }
    }
    return p;
}

/* Without its quotes. */
static void bare(const char **p, size_t *n)
{
    while (*n != 0 && (*p)[*n - 1] == ' ')
        --*n;
    if (*n >= 2 && ((*p)[0] == '\'' || (*p)[0] == '"') && (*p)[*n - 1] == (*p)[0]) {
        ++*p;
        *n -= 2;
    }
}

/* " --key='value'"; a key without a value that is one says nothing. */
static void add_flag(struct mt_log *l, struct mt_log_settings *s, const char *key, size_t n_key,
                     const char *value, size_t n)
{
    if (n == 4 && memcmp(value, "None", 4) == 0)
        return;
    add_text(l, s, " --");
    mt_log_settings_add(l, s, key, n_key);
    if (n == 4 && memcmp(value, "True", 4) == 0)
        return;
    add_text(l, s, "=");
    add_quoted(l, s, value, n);
}

/* "a=1, b='x', ..." or "'a': 1, 'b': 'x', ..." up to the bracket that closes them. */
static bool pairs(struct mt_log *l, uint64_t number, const char *p, bool bracket)
{
    struct mt_log_settings *s = NULL;
    bool dots = strstr(p, "...") != NULL;
    while (*p != '\0' && strchr(")]}", *p) == NULL) {
        const char *key, *value, *end;
        size_t n_key, n;
        p += strspn(p, " ,");
        p += *p == '\'' || *p == '"';
        key = p;
        for (n_key = 0; is_word_char(key[n_key]);)
            n_key++;
        p += n_key;
        p += *p == '\'' || *p == '"';
        p += strspn(p, " ");
        end = value_end(p);
        if (n_key == 0 || (*p != '=' && *p != ':')) {
            if (s == NULL)
                return false; /* no pairs */
            p = *end == ',' ? end + 1 : end;
            continue;
        }
        value = p + 1 + strspn(p + 1, " ");
        n = end > value ? (size_t)(end - value) : 0;
        bare(&value, &n);
        if (s == NULL)
            s = mt_log_settings_item(l, number);
        if (n != 0)
            add_flag(l, s, key, n_key, value, n);
        p = *end == ',' ? end + 1 : end;
    }
    if (s != NULL) /* the line ends before the list does, or somebody left a part out */
        s->is_cut = dots || (bracket && *p == '\0');
    return s != NULL;
}

/* Hydra, at every failure: "Error executing job with overrides: ['a.b=c', '+d=[1, 2]']". */
static bool overrides(struct mt_log *l, uint64_t number, const char *s)
{
    static const char words[] = "with overrides: [";
    const char *p = strstr(s, words);
    struct mt_log_settings *to;
    if (p == NULL)
        return false;
    to = mt_log_settings_item(l, number);
    for (p += sizeof words - 1; *p == '\'' || *p == '"'; p += strspn(p, ", ")) {
        const char *end = value_end(p);
        size_t n = (size_t)(end - p);
        const char *text = p;
        bare(&text, &n);
        add_text(l, to, " ");
        add_quoted(l, to, text, n);
        p = *end == ',' ? end + 1 : end;
    }
    return true;
}

/* What programs print of their arguments when they begin: "non-default args: {...}", "Namespace(
 * ...)", "server_args=ServerArgs(...)", "LLM engine (v0.8.5) with config: model='x', ...". */
static bool printed(struct mt_log *l, uint64_t number, const char *s)
{
    static const char *const heads[] = {"non-default args: {", "Namespace(",
                                        "server_args=ServerArgs(", ") with config: "};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const char *p = strstr(s, heads[i]);
        if (p != NULL)
            return pairs(l, number, p + strlen(heads[i]), heads[i][strlen(heads[i]) - 1] != ' ');
    }
    return false;
}

/* ---- commands ---- */

static bool is(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* A program that starts others. */
static bool starts_others(const char *p, size_t n)
{
    static const char *const words[] = {"torchrun", "bash",  "sh",     "srun",  "mpirun",
                                        "mpiexec",  "nohup", "ray",    "sudo",  "env",
                                        "uv",       "tune",  "docker", "podman"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(p, n, words[i]))
            return true;
    return n >= 6 && memcmp(p, "python", 6) == 0;
}

/* "NAME-cli", "NAME-launcher": hardly a word of prose. */
static bool is_named_as_one(const char *p, size_t n)
{
    static const char *const ends[] = {"-cli", "-launcher", "-serve", "-server", "ns-train"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n >= k && memcmp(p + n - k, ends[i], k) == 0)
            return true;
    }
    return false;
}

/* "NAME script.py", "NAME --master_port 1 script.py": a launcher, whatever it is called. Between
 * the two are flags and their values. */
static bool starts_script(const char *p)
{
    bool flag = false;
    for (unsigned words = 0; *p != '\0'; words++) {
        size_t n = strcspn(p, " \t");
        if (n > 3 && memcmp(p + n - 3, ".py", 3) == 0)
            return words != 0;
        if (words == 0 ? !(p[0] >= 'a' && p[0] <= 'z') || n < 3 : p[0] != '-' && !flag)
            return false;
        flag = words != 0 && p[0] == '-' && memchr(p, '=', n) == NULL;
        p += n + strspn(p + n, " \t");
    }
    return false;
}

/* A program that starts others, or "NAME serve", "NAME launch": the line is no prose. */
static bool is_command(const char *s)
{
    static const char *const second[] = {"serve", "launch", "train",  "sft",   "rlhf",
                                         "grpo",  "dpo",    "deploy", "infer", "rollout"};
    const char *p = s, *q;
    size_t n, k;
    for (;;) { /* CUDA_VISIBLE_DEVICES=0 */
        for (n = 0; (p[n] >= 'A' && p[n] <= 'Z') || p[n] == '_' || (p[n] >= '0' && p[n] <= '9');)
            n++;
        if (n == 0 || p[n] != '=')
            break;
        p += strcspn(p, " ");
        p += strspn(p, " ");
        if (strcmp(p, "\\") == 0)
            return true; /* and the command in the next line */
    }
    for (n = 0; is_word_char(p[n]);)
        n++;
    if (p[n] != ' ' && p[n] != '\0')
        return false;
    for (k = n; k > 0 && p[k - 1] != '/';)
        k--;
    if (starts_others(p + k, n - k) || is_named_as_one(p, n) || starts_script(p))
        return true;
    q = p + n + strspn(p + n, " ");
    for (k = 0; is_word_char(q[k]);)
        k++;
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        if (n >= 3 && p[0] >= 'a' && is(q, k, second[i]))
            return true;
    return false;
}

/* "--max-tokens-per-gpu 32768", and nothing else in the line. */
static bool is_flags(const char *p)
{
    size_t words = 1;
    if (strncmp(p, "--", 2) != 0 || p[2] < 'a' || p[2] > 'z')
        return false;
    for (const char *q = p; *q != '\0'; q++)
        words += q[0] == ' ' && q[1] != ' ' && q[1] != '\0' && q[1] != '-' && q[1] != '\\';
    return words <= 2;
}

/* Text of a command without quotation marks of Markdown; a backslash at its end goes on in the next
 * line. */
void mt_log_command_add(struct mt_log *l, struct mt_log_settings *s, uint64_t number, const char *p)
{
    size_t n = strlen(p), from = s != NULL ? s->n : 0;
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    l->command_line = n > 0 && p[n - 1] == '\\' ? number : 0;
    if (s != NULL && n > 0) /* what should follow may not be in the text; nor what stood above */
        s->is_cut = l->command_line != 0 || s->dotted != 0;
    mt_log_settings_add(l, s, p, n - (l->command_line != 0));
    add_text(l, s, " ");
    for (size_t i = from; s != NULL && i < s->n; i++)
        if (s->text[i] == '`')
            s->text[i] = ' ';
}

static bool is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_word_char(p[i]) && p[i] != '=' && p[i] != ':' && p[i] != ',')
            return false;
    return n != 0;
}

const char *mt_log_command_list(const char *s)
{
    for (const char *p = s; (p = strchr(p, '[')) != NULL; p++) {
        const char *word = p + 2;
        size_t n;
        if (p[1] != '\'' && p[1] != '"')
            continue;
        n = strcspn(word, "'\"");
        if (word[n] != p[1] || word[n + 1] != ',')
            continue;
        if (n > 3 && memcmp(word + n - 3, ".py", 3) == 0)
            return p + 1;
        while (n > 0 && memchr(word, '/', n) != NULL) {
            word++;
            n--;
        }
        if (starts_others(word, n))
            return p + 1;
    }
    return NULL;
}

const char *mt_log_command_at(const char *s)
{
    const char *p = behind_prefix(s);
    return is_command(p) ? p : NULL;
}

/* A command as Python prints a list of it, by DeepSpeed's launcher, in
 * subprocess.CalledProcessError:
 * "['/x/bin/python', '-u', 'main.py', '--a', '1']". */
static bool listed(struct mt_log *l, uint64_t number, const char *s)
{
    const char *list = mt_log_command_list(s);
    struct mt_log_settings *to = list != NULL ? mt_log_settings_item(l, number) : NULL;
    if (list == NULL)
        return false;
    for (const char *p = list; *p == '\'' || *p == '"';) {
        const char *end = value_end(p), *text = p;
        size_t n = (size_t)(end - p);
        bare(&text, &n);
        if (to != NULL && text == p) /* the line breaks off within it */
            to->is_cut = true;
        if (text == p)
            break;
        if (is_plain(text, n)) /* what a command starts is no quoted word */
            mt_log_settings_add(l, to, text, n);
        else
            add_quoted(l, to, text, n);
        add_text(l, to, " ");
        p = *end == ',' ? end + 1 + strspn(end + 1, " ") : end;
        if (to != NULL && *p == '\0')
            to->is_cut = true;
    }
    return true;
}

/* A Python script stands before the word at b: what follows it are its arguments. */
static bool behind_script(const char *p, const char *b)
{
    for (const char *q = p; (q = strstr(q, ".py ")) != NULL && q < b; q += 4)
        if (q > p && is_word_char(q[-1]))
            return true;
    return false;
}

static bool has_setting(const char *p)
{
    for (const char *q = p; (q = strstr(q, " --")) != NULL; q += 3)
        if (q[3] >= 'a' && q[3] <= 'z')
            return true;
    if (strstr(p, " -tp ") != NULL || strstr(p, " -pp ") != NULL || strstr(p, " -dp ") != NULL)
        return true;
    for (const char *q = p; (q = strchr(q, '=')) != NULL; q++) { /* a.b=c */
        const char *b = q;
        while (b > p && is_word_char(b[-1]))
            b--;
        if (memchr(b, '.', (size_t)(q - b)) != NULL)
            return true;
        if (q > b && b > p && b[-1] == ' ' && behind_script(p, b)) /* script.py batch_size=4 */
            return true;
    }
    return false;
}

/* A word of prose stands before the first flag or setting: "the serve team says", "docker images of
 * ours". How many words come before it tells nothing: "ray job submit --address x". */
static bool is_talk(const char *p)
{
    static const char *const words[] = {"the", "is",   "are", "was",  "and", "or",   "of",  "that",
                                        "to",  "with", "in",  "for",  "we",  "our",  "has", "have",
                                        "use", "uses", "say", "says", "all", "when", "on",  "will"};
    while (*p != '\0' && *p != '-' && *p != '#') {
        size_t n = strcspn(p, " ");
        if (memchr(p, '=', n) != NULL)
            return false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (is(p, n, words[i]))
                return true;
        p += n + strspn(p + n, " ");
    }
    return false;
}

/* Behind the number that an editor or a listing puts before a line: "  12     a.b=c \\". Only where
 * a command, a flag or a setting follows: of "  --sizes \\", "  2 4 \\" the second line has values.
 */
const char *mt_log_behind_number(const char *s)
{
    const char *from = s + strspn(s, " \t"), *p = from + strspn(from, "0123456789");
    size_t n = (size_t)(p - from);
    if (n == 0 || n > 4)
        return s;
    p += strspn(p, ".:|)");
    if (*p != ' ' && *p != '\t')
        return s;
    p += strspn(p, " \t");
    return strncmp(p, "--", 2) == 0 || memchr(p, '=', strcspn(p, " \t")) != NULL || is_command(p)
               ? p
               : s;
}

static bool command(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p, *dash;
    if (l->command_line != 0 && l->command_line + 1 == number && l->settings.n != 0) {
        s = mt_log_behind_number(s);
        p = s;
        if (*p == '(' || *p == '[')
            p = behind_prefix(s); /* of the process that prints it */
        else
            p += strspn(p, " \t>");
        dash = p > s && p[-1] == '-' ? p - 1 : p; /* the dashes of a flag are none of a list */
        while (dash > s && dash[-1] == '-')
            dash--;
        mt_log_command_add(l, &l->settings.p[l->settings.n - 1], number, dash);
        return true;
    }
    l->command_line = 0;
    p = behind_prefix(mt_log_behind_number(s));
    for (dash = p; dash > s && dash[-1] == '-' && p - dash < 2;)
        dash--;
    if (!(p - dash == 2 && is_flags(dash)) &&
        !(is_command(p) && !is_talk(p) && (has_setting(p) || strchr(p, '\\'))))
        return false;
    mt_log_command_add(l, mt_log_settings_item(l, number), number, p - dash == 2 ? dash : p);
    return true;
}

/* "--max-tokens-per-gpu 9216 --colocate": flags, the first of them with a value. */
static bool is_flag_list(const char *p)
{
    size_t n;
    if (strncmp(p, "--", 2) != 0 || p[2] < 'a' || p[2] > 'z')
        return false;
    n = strcspn(p, " =");
    return p[n] != '\0' && p[n + 1] != '\0' && p[n + 1] != '-' && p[n + 1] != '<';
}

/* A command within a line of prose, between the marks that Markdown has for one. */
static bool marked_command(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = s, *end;
    bool any = false;
    while ((p = strchr(p, '`')) != NULL && p[1] != '`' && (end = strchr(p + 1, '`')) != NULL) {
        char *copy = mt_strndup(p + 1, (size_t)(end - p - 1));
        l->no_memory |= copy == NULL;
        if (copy != NULL && (is_flag_list(copy) || (is_command(copy) && has_setting(copy)))) {
            mt_log_command_add(l, mt_log_settings_item(l, number), number, copy);
            any = true;
        }
        mt_free(copy);
        p = end + 1;
    }
    return any;
}

/* The same behind a colon: "I run: vllm serve ...". Elsewhere in a sentence its end is not known.
 */
static bool spoken_command(struct mt_log *l, uint64_t number, const char *s)
{
    for (const char *p = s; number <= MT_LOG_SAID_LINES && (p = strstr(p, ": ")) != NULL; p += 2) {
        const char *at = p + 2 + strspn(p + 2, " `$");
        if (!is_command(at) || !has_setting(at) || is_talk(at))
            continue;
        mt_log_command_add(l, mt_log_settings_item(l, number), number, at);
        return true;
    }
    return false;
}

/* "  micro_batch_size ................................ 1": arguments as Megatron prints them. */
static bool dotted(struct mt_log *l, uint64_t number, const char *s)
{
    const char *dots = strstr(s, " ...."), *name = dots, *value;
    struct mt_log_settings *to = l->settings.n != 0 ? &l->settings.p[l->settings.n - 1] : NULL;
    size_t n;
    if (dots == NULL)
        return false;
    while (name > s && is_word_char(name[-1]) && name[-1] != '/' && name[-1] != '.')
        name--;
    value = dots + 1 + strspn(dots + 1, ".");
    if (name == dots || value[0] != ' ' || *name < 'a' || *name > 'z' ||
        memchr(name, '-', (size_t)(dots - name)) != NULL)
        return false;
    value += strspn(value, " ");
    n = strlen(value);
    if (n == 0)
        return false;
    if (to == NULL || to->dotted == 0 || number - to->dotted > DOTTED)
        to = mt_log_settings_item(l, number);
    if (to == NULL)
        return true;
    to->dotted = number;
    bare(&value, &n);
    add_flag(l, to, name, (size_t)(dots - name), value, n);
    return true;
}

/* Flags alone in a line are as often what somebody tried: those wait for a word of a log. A
 * variable that goes on in the next line ("GPUS=6 \\") begins a command. */
bool mt_log_may_start(uint64_t number, const char *line)
{
    const char *p = line + strspn(line, " \t>"), *end = strchr(p, '\\');
    bool flag = strncmp(p, "--", 2) == 0;
    return number <= MT_LOG_SAID_LINES &&
           ((!flag && (strstr(p, " --") != NULL || strstr(p, "`--") != NULL)) ||
            (*p >= 'A' && *p <= 'Z' && end != NULL && end[1 + strspn(end + 1, " \t\r\n")] == '\0'));
}

int mt_log_settings_line(struct mt_log *l, uint64_t number, const char *s)
{
    return overrides(l, number, s) || printed(l, number, s) || listed(l, number, s) ||
           dotted(l, number, s) || marked_command(l, number, s) || command(l, number, s) ||
           spoken_command(l, number, s);
}

void mt_log_settings_done(struct mt_log *l)
{
    for (uint32_t i = 0; i < l->settings.n; i++)
        mt_free(l->settings.p[i].text);
    MT_VEC_DONE(&l->settings);
}
