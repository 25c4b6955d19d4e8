// A name as text of Markdown: the rule of render/base/escape.c (mt_md), held to it by tests/golden/markdown.tsv.

/** What cannot stand as it is. First what is not seen, or changes the order of what is: control characters, halves of a pair, is_hidden() of C. Then
 *  entities; what would be a mention, an issue or one of another project; and what Markdown reads: always, beside what is no word, before a path,
 *  at the beginning, of a link, of a list. `[\0-/:-@[-`{-\x7f]` is what no word has. */
const SPECIAL = /([\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\u{e0000}-\u{e0fff}\p{NChar}])|[&<>]|(@(?=[^\0-/:-@[-`{-\x7f])|#(?=\d)|(?<=gh)-(?=\d))|[\\`*[\]|~$]|(?<![^\0-/:-@[-`{-\x7f])_|_(?![^\0-/:-@[-`{-\x7f])|:(?=\/)|^[-+=#]|(?<=www)\.|(?<=^\d+)[.)](?=[ \t]|$)/giu;

/** The form that is seen: put_visible() of C. @param {number} c */
const visible = (c) => c < 0x80 ? String.fromCharCode(0x2400 + (c === 0x7f ? 0x21 : c)) : (c & ~0x7ff) === 0xd800 ? "\ufffd" : `U+${c.toString(16).toUpperCase().padStart(4, "0")}`;

/** @param {string} s @returns {string} */
export const mdText = (s) => s.replace(SPECIAL, (c, hidden, apart) => hidden ? visible(c.codePointAt(0) ?? 0)
  : apart ? `${c === "#" ? "\\" : ""}${c}&#8203;` : /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c] || `\\${c}`);
