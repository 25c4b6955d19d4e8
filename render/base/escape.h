/* escape.h -- the only escaping code of the project: whatever comes from an input goes through one
 * of these. All of them turn bytes that are not UTF-8 into U+FFFD and control characters into
 * visible forms, so that no output can be broken by a name. */
#ifndef MT_ESCAPE_H
#define MT_ESCAPE_H

#include "analysis/base/words.h"
#include "render/base/out.h"

/* text and double-quoted attribute values */
void mt_html(struct mt_out *o, const char *s, size_t n);
void mt_html_s(struct mt_out *o, const char *s);
/* with its quotes; also safe inside a <script> */
void mt_json_str(struct mt_out *o, const char *s, size_t n);
/* inline Markdown text: no markup, no table break, no HTML */
void mt_md(struct mt_out *o, const char *s, size_t n);
/* `code`, also when s holds backquotes */
void mt_md_code(struct mt_out *o, const char *s, size_t n);
/* into no markup: what the page's script shows as text */
void mt_seen(struct mt_out *o, const char *s, size_t n);
/* terminal: no escape sequences get through */
void mt_term(struct mt_out *o, const char *s, size_t n);

/* The longest prefix of s of at most max bytes that does not split a character; how many columns s
 * takes in a terminal or a fixed font after one of the above (wide characters count as one). */
size_t mt_utf8_cut(const char *s, size_t n, size_t max);
size_t mt_utf8_columns(const char *s, size_t n);
/* Bytes of s that stand on one line of `room` columns: up to a blank, or the first word whole where
 * it alone is longer. */
size_t mt_utf8_line(const char *s, size_t room);

/* The last n parts of a path: of "run/rank0.pickle" one is "rank0.pickle"; a folder's own name
 * stays. */
const char *mt_last_parts(const char *path, unsigned n);

/* Numbers as the sentences of the analysis have them. buf of 32. */
static inline char *mt_fmt_bytes(char *buf, uint64_t bytes) { return mt_words_bytes(buf, bytes); }
static inline char *mt_fmt_count(char *buf, uint64_t n) { return mt_words_count(buf, n); }
static inline char *mt_fmt_percent(char *buf, uint64_t part, uint64_t whole)
{
    return mt_words_percent(buf, part, whole);
}
char *mt_fmt_seconds(char *buf, uint64_t ns); /* "12.345 s", "3.2 ms" */
/* "2026-03-05 08:11:32.031 UTC"; buf of 40 */
char *mt_fmt_utc(char *buf, uint64_t ns);

#endif
