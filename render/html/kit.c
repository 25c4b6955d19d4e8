#include "render/html/kit.h"

#include "render/base/escape.h"
#include "render/html/page_plan.h"
#include "render/svg/scale.h"
#include "render/svg/timeline.h"
#include "render/view/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 72 };

bool mt_page_has_timeline(const struct mt_page *p)
{
    return p->dev != NULL && !p->dev->end_state_only && mt_svg_timeline_has(p->dev);
}

bool mt_page_has_calls(const struct mt_page *p)
{
    return !mt_page_has_timeline(p) && p->plan->calls.n != 0;
}

bool mt_page_is_alive(const struct mt_page *p)
{
    for (uint32_t i = 0; i < p->plan->track.n; i++)
        if (!mt_plan_withheld(&p->plan->track.p[i]))
            return true;
    return p->plan->calls.n != 0 || mt_page_has_timeline(p);
}

char *mt_h_calls_name(char *buf, size_t cap, const struct mt_ledger *l)
{
    const char *model = strstr(l->name, " (");
    (void)snprintf(buf, cap, "%.*s: calls of the driver",
                   (int)(model != NULL ? (size_t)(model - l->name) : strlen(l->name)), l->name);
    return buf;
}

bool mt_page_has_devices(const struct mt_page *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->plan->track.n; i++)
        n += !mt_plan_withheld(&p->plan->track.p[i]);
    return n > 1;
}

static bool is_break(char c) { return c == '.' || c == '_' || c == '/' || c == '='; }

/* The length of "--exp" of an option "--exp-avg-dtype" at the begin of a word: a browser would end
 * a line behind those hyphens. 0 = something else. */
static size_t hyphens(const char *s, size_t i, size_t n)
{
    size_t begin = i, end;
    if (i != 0 && s[i - 1] != ' ' && s[i - 1] != '(')
        return 0;
    while (begin < n && s[begin] == '-')
        begin++;
    for (end = begin; end < n && s[end] != '-' && s[end] != ' ' && !is_break(s[end]); end++)
        ;
    return begin >= i + 2 && end > begin ? end - i : 0;
}

static void put_unbroken(struct mt_out *o, const char *s, size_t n)
{
    mt_puts(o, "<span class=\"q\">");
    mt_html(o, s, n);
    mt_puts(o, "</span>");
}

/* s may break after '.', '_', '/', '=' and "::", but not at the begin or the end of a word, nor
 * behind the hyphens of an option. The pieces end in ASCII, so no character is split. */
static void put_breaking(struct mt_out *o, const char *s, size_t n)
{
    size_t from = 0, option;
    bool begun = false;
    for (size_t i = 0; i + 1 < n; i++) {
        if ((option = hyphens(s, i, n)) != 0) {
            mt_html(o, s + from, i - from);
            put_unbroken(o, s + i, option);
            from = i + option;
            begun = true;
            i = from - 1;
            continue;
        }
        bool at = is_break(s[i]) || (s[i] == ':' && i > 0 && s[i - 1] == ':');
        begun = s[i] != ' ' && (begun || !at);
        if (!at || !begun || is_break(s[i + 1]) || s[i + 1] == ' ')
            continue;
        mt_html(o, s + from, i + 1 - from);
        mt_puts(o, "<wbr>");
        from = i + 1;
    }
    mt_html(o, s + from, n - from);
}

void mt_h_text(struct mt_out *o, const char *s, size_t max)
{
    size_t n, cut;
    if (s == NULL)
        return;
    n = strlen(s);
    cut = mt_utf8_cut(s, n, max);
    mt_html(o, s, cut);
    if (cut < n)
        mt_puts(o, "\xe2\x80\xa6");
}

/* The length of "18.55 GiB" at the beginning of s, which no line end may part; 0 = something else.
 */
static size_t quantity(const char *s, size_t n)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "B", "%"};
    size_t digits = n != 0 && s[0] == '(';
    size_t from = digits;
    while (digits < n &&
           (s[digits] == '.' || s[digits] == ',' || (s[digits] >= '0' && s[digits] <= '9')))
        digits++;
    if (digits == from || digits + 1 >= n || s[digits] != ' ')
        return 0;
    for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
        size_t end = digits + 1 + strlen(units[k]);
        if (end <= n && memcmp(s + digits + 1, units[k], end - digits - 1) == 0 &&
            (end == n || !((s[end] >= 'a' && s[end] <= 'z') || (s[end] >= 'A' && s[end] <= 'Z'))))
            return end;
    }
    return 0;
}

/* The length of "--capacity" or "(--capacity)", the word at the beginning of s: a browser would end
 * a line behind its hyphens; 0 = another word. */
static size_t option(const char *s, size_t word)
{
    size_t from = word != 0 && s[0] == '(';
    return word > from + 2 && s[from] == '-' && s[from + 1] == '-' ? word : 0;
}

void mt_h_words(struct mt_out *o, const char *s, size_t max)
{
    enum { LONG = 20 };
    size_t n, cut, unit;
    if (s == NULL)
        return;
    n = strlen(s);
    cut = mt_utf8_cut(s, n, max);
    for (size_t i = 0, end; i < cut; i = end) {
        size_t word = 0;
        while (i + word < cut && s[i + word] != ' ')
            word++;
        end = i + word + (i + word < cut);
        if (word >= LONG) {
            put_breaking(o, s + i, end - i);
        } else if ((unit = quantity(s + i, cut - i)) != 0 || (unit = option(s + i, word)) != 0) {
            put_unbroken(o, s + i, unit);
            end = i + unit;
        } else {
            mt_html(o, s + i, end - i);
        }
    }
    if (cut < n)
        mt_puts(o, "\xe2\x80\xa6");
}

void mt_h_name(struct mt_out *o, const char *s, size_t max)
{
    size_t n, cut;
    if (s == NULL)
        return;
    n = strlen(s);
    cut = mt_utf8_cut(s, n, max);
    mt_puts(o, "<bdi>");
    put_breaking(o, s, cut);
    mt_puts(o, cut < n ? "\xe2\x80\xa6</bdi>" : "</bdi>");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/* Behind the part of s that begins at i: a dot between two words ends one. */
static size_t part_end(const char *s, size_t i, size_t n)
{
    for (; i + 1 < n; i++)
        if (s[i] == '.' && i > 0 && is_word(s[i - 1]) && is_letter(s[i + 1]))
            return i + 1;
    return n;
}

/* One word of a setting in its parts, each a box that is not broken. Those before `key` are pale:
 * which module it is of; what stands from `value` on is strong. */
static void put_parts(struct mt_out *o, const char *s, size_t n, size_t key, size_t value)
{
    for (size_t i = 0, end; i < n; i = end) {
        size_t strong = value > i ? value : i;
        end = part_end(s, i, n);
        strong = strong < end ? strong : end;
        mt_puts(o, end <= key ? "<span class=\"p pale\">" : "<span class=\"p\">");
        put_breaking(o, s + i, strong - i); /* where it is wider than its line */
        if (strong < end) {
            mt_puts(o, i < strong ? "<wbr><b>" : "<b>");
            put_breaking(o, s + strong, end - strong);
            mt_puts(o, "</b>");
        }
        mt_puts(o, "</span>");
    }
}

void mt_h_code(struct mt_out *o, const char *s)
{
    bool is_value = false;                   /* what stands behind "--key" or "key:" */
    bool statement = strchr(s, '(') != NULL; /* of Python: no key */
    mt_puts(o, "<code>");
    while (*s != '\0') {
        size_t n = strcspn(s, " "), eq = strcspn(s, " =("), key = 0;
        bool set = !statement && eq < n && s[eq] == '=';
        bool option = n > 2 && s[0] == '-' && s[1] == '-';
        bool yaml = !statement && n > 1 && s[n - 1] == ':';
        for (size_t i = 0; (set || option || yaml) && i < eq; i = part_end(s, i, eq))
            key = i;
        put_parts(o, s, n, key, set ? eq + 1 : is_value && !option ? 0 : n);
        is_value = yaml || set || option || is_value;
        s += n;
        for (; *s == ' '; s++)
            mt_putc(o, ' ');
    }
    mt_puts(o, "</code>");
}

static void put_link(struct mt_out *o, int64_t since, int64_t event, const char *words)
{
    mt_putf(o, "<a class=\"at\" href=\"#timeline\" data-event=\"%" PRId64 "\"", since);
    if (since < event)
        mt_putf(o, " data-to=\"%" PRId64 "\"", event);
    mt_puts(o, ">");
    mt_html_s(o, words);
    mt_puts(o, "</a>");
}

void mt_h_event(struct mt_out *o, const struct mt_page *p, int64_t event, const char *words)
{
    if (mt_page_has_timeline(p))
        put_link(o, event, event, words);
    else
        mt_html_s(o, words);
}

void mt_h_when(struct mt_out *o, const struct mt_page *p, const char *before, int64_t since,
               int64_t event)
{
    char words[2 * MT_WORDS], a[32], b[32];
    if (event < 0 || since < 0 || !mt_page_has_timeline(p))
        return;
    if (since < event)
        (void)snprintf(words, sizeof words, "events %s to %s", mt_fmt_count(a, (uint64_t)since),
                       mt_fmt_count(b, (uint64_t)event));
    else
        (void)mt_event_words(words, event);
    mt_puts(o, before);
    put_link(o, since, event, words);
}

void mt_h_td_bytes(struct mt_out *o, uint64_t bytes)
{
    char b[32], exact[32];
    mt_putf(o, "<td class=\"n\" title=\"%s bytes\">%s</td>", mt_fmt_count(exact, bytes),
            mt_fmt_bytes(b, bytes));
}

void mt_h_td_bytes_at(struct mt_out *o, uint64_t bytes, int64_t event)
{
    char b[32], exact[32];
    if (event == MT_NO_EVENT) {
        mt_h_td_bytes(o, bytes);
        return;
    }
    mt_putf(o, "<td class=\"n\" title=\"%s bytes\" data-event=\"%" PRId64 "\">%s</td>",
            mt_fmt_count(exact, bytes), event, mt_fmt_bytes(b, bytes));
}

void mt_h_td_count(struct mt_out *o, uint64_t n)
{
    char b[32];
    mt_putf(o, "<td class=\"n\">%s</td>", mt_fmt_count(b, n));
}

void mt_h_td_text(struct mt_out *o, const char *s)
{
    mt_puts(o, "<td class=\"n\">");
    mt_html_s(o, s);
    mt_puts(o, "</td>");
}

void mt_h_swatch(struct mt_out *o, unsigned color)
{
    mt_putf(o,
            "<svg class=\"sw\" width=\"10\" height=\"10\" aria-hidden=\"true\"><rect width=\"10\" "
            "height=\"10\" rx=\"2\" "
            "fill=\"%s\"/></svg> ",
            mt_color_hex(color));
}

void mt_h_td_share(struct mt_out *o, uint64_t part, uint64_t whole, unsigned color)
{
    char b[32];
    mt_putf(o,
            "<td class=\"n share\"><svg width=\"%d\" height=\"8\" aria-hidden=\"true\"><rect "
            "width=\"%d\" height=\"8\" "
            "fill=\"currentColor\" fill-opacity=\".12\"/><rect width=\"%" PRIu32
            "\" height=\"8\" fill=\"%s\"/></svg> ",
            BAR, BAR, mt_scale_px(part, whole, BAR), mt_color_hex(color));
    mt_puts(o, "<span>");
    mt_html_s(o, mt_fmt_percent(b, part, whole));
    mt_puts(o, "</span></td>");
}

void mt_h_table(struct mt_out *o, const char *label, const char *const *heads, unsigned n)
{
    mt_puts(o, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
    mt_html_s(o, label);
    mt_puts(o, "\"><table>\n<thead><tr>");
    for (unsigned i = 0; i < n; i++) {
        bool number = heads[i][0] == '#';
        mt_puts(o, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
        /* "#" alone: numbers of rows */
        mt_html_s(o, heads[i][number] != '\0' ? heads[i] + number : heads[i]);
        mt_puts(o, "</th>");
    }
    mt_puts(o, "</tr></thead>\n<tbody>\n");
}

void mt_h_table_end(struct mt_out *o) { mt_puts(o, "</tbody></table></div>\n"); }

void mt_h_more(struct mt_out *o, uint32_t n)
{
    if (n != 0)
        mt_putf(o, "<p class=\"note\">%" PRIu32 " more are in the JSON report.</p>\n", n);
}

void mt_h_choice(struct mt_out *o, const char *label, const char *name, const char *const *pairs)
{
    mt_putf(o, "<span class=\"choice\" role=\"group\" aria-label=\"%s\">", label);
    for (unsigned i = 0; pairs[i] != NULL; i += 2)
        mt_putf(o,
                "<button type=\"button\" name=\"%s\" value=\"%s\" aria-pressed=\"%s\">%s</button>",
                name, pairs[i], i == 0 ? "true" : "false", pairs[i + 1]);
    mt_puts(o, "</span>");
}

void mt_h_help(struct mt_out *o, const char *words)
{
    mt_puts(o, "<details class=\"help\"><summary>What this picture means</summary>\n<p>");
    mt_puts(o, words);
    mt_puts(o, "</p>\n</details>\n");
}

void mt_h_def(struct mt_out *o, const char *name, const char *value, const char *note)
{
    mt_puts(o, "<div><dt>");
    mt_html_s(o, name);
    mt_puts(o, "</dt><dd>");
    mt_html_s(o, value);
    if (note != NULL && note[0] != '\0') {
        mt_puts(o, " <small>");
        mt_h_words(o, note, SIZE_MAX);
        mt_puts(o, "</small>");
    }
    mt_puts(o, "</dd></div>\n");
}

void mt_h_settings(struct mt_out *o, const struct mt_advice *a)
{
    char note[MT_ADVICE_NOTE];
    bool open = false;
    for (uint32_t i = 0; i < a->card->n_set && i < MT_FIX_MAX_LINES; i++) {
        const struct mt_fix_line *l = &a->card->set[i];
        if ((a->lines >> i & 1) == 0)
            continue;
        mt_puts(o, open ? "" : "<ul class=\"set\">\n");
        open = true;
        mt_puts(o, "<li>");
        if (l->syntax == MT_FIX_TEXT) /* words, nothing to type */
            mt_h_words(o, mt_advice_line(a, i), SIZE_MAX);
        else
            mt_h_code(o, mt_advice_line(a, i));
        if (mt_advice_note(a, i, note)[0] != '\0') {
            mt_puts(o, " <small>");
            mt_h_words(o, note, SIZE_MAX);
            mt_puts(o, "</small>");
        }
        mt_puts(o, "</li>\n");
    }
    if (open)
        mt_puts(o, "</ul>\n");
}

void mt_h_place(struct mt_out *o, const struct mt_page *p, const struct mt_rank *rank,
                const struct mt_device_analysis *d)
{
    char place[1024];
    mt_h_text(o, mt_row_place(p->r, rank, d, place, sizeof place), sizeof place);
}

/* What a section is of, where another device is looked at: 'd' the one of the verdict, 'j' the job,
 * 'a' that of who advises. None of those is what has its own words: the verdict, and above the
 * table of owners what is at the cursor. */
static char owner_of(const struct mt_page *p, const char *slot)
{
    static const struct {
        const char *slot;
        char of;
    } all[] = {{"cause", 'd'},       {"numbers", 'd'},    {"state", 'd'},        {"phases", 'd'},
               {"occurrences", 'd'}, {"roles", 'd'},      {"owners table", 'd'}, {"steps", 'd'},
               {"segments", 'd'},    {"pins", 'd'},       {"audits", 'd'},       {"quality", 'd'},
               {"allocator", 'd'},   {"advice", 'a'},     {"change", 'a'},       {"ledger", 'j'},
               {"failures", 'j'},    {"reconcile", 'j'},  {"sleep", 'j'},        {"jobphases", 'j'},
               {"ranks", 'j'},       {"lint", 'j'},       {"settings", 'j'},     {"log", 'j'},
               {"processes", 'j'},   {"provenance", 'j'}, {"ticket", 'j'}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].slot, slot) == 0)
            return all[i].of != 'a' ? all[i].of
                   : mt_diagnosis_lead(p->r->diagnosis) == MT_LEAD_LOG ||
                           mt_diagnosis_driver_advises(p->r->diagnosis)
                       ? 'j'
                       : 'd';
    return '\0';
}

void mt_h_of(struct mt_out *o, const struct mt_page *p, const char *slot)
{
    char of = owner_of(p, slot);
    if (of == '\0' || !mt_page_has_timeline(p) || !mt_page_has_devices(p))
        return;
    mt_puts(o, " <small class=\"of\">of ");
    if (of == 'd')
        mt_h_place(o, p, p->rank, p->dev);
    else
        mt_puts(o, "the whole job");
    mt_puts(o, "</small>");
}

void mt_h_at_cursor(struct mt_out *o, const struct mt_page *p, const char *words)
{
    mt_putf(o, "<h3>%s", words);
    if (mt_page_has_devices(p)) {
        mt_puts(o, " <small>of <bdi class=\"whose\">");
        mt_h_place(o, p, p->rank, p->dev);
        mt_puts(o, "</bdi></small>");
    }
    mt_puts(o, "</h3>\n");
}
