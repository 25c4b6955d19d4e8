// A name as text of Markdown: the rule of render/base/escape.c (mt_md), held to it by tests/golden/markdown.tsv.

/** @param {string} c @returns {boolean} */
const isWord = (c) => /^[0-9A-Za-z\u0080-\uffff]$/.test(c);
/** @param {string} c @returns {boolean} */
const isDigit = (c) => c >= "0" && c <= "9";
/** @type {Record<string, string>} */
const ALWAYS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\", "`": "\\`", "*": "\\*", "[": "\\[", "]": "\\]", "|": "\\|", "~": "\\~", "$": "\\$" };

/** What is not seen, or changes the order of what is: is_hidden() of C. @param {number} c @returns {boolean} */
const isHidden = (c) =>
  (c >= 0x80 && c < 0xa0) || c === 0xad || c === 0x61c || c === 0x180e || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
  c === 0xfeff || (c >= 0xfff0 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff) || (c & 0xfffe) === 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);

/** The form that is seen, or nothing: put_visible() of C. @param {number} c @returns {string} */
const visible = (c) => {
  if (c < 0x20 || c === 0x7f) return String.fromCharCode(0x2400 + (c === 0x7f ? 0x21 : c));
  if (c >= 0xd800 && c <= 0xdfff) return "\ufffd";
  return isHidden(c) ? "U+" + c.toString(16).toUpperCase().padStart(4, "0") : "";
};

/** What stands for the character at i. @param {string} s @param {number} i @returns {string} */
const mdChar = (s, i) => {
  const c = s[i], before = s[i - 1] ?? "", after = s[i + 1] ?? "", start = s.slice(0, i);
  if (ALWAYS[c]) return ALWAYS[c];
  if (c === "_") return isWord(before) && isWord(after) ? c : "\\_";
  if (c === ":") return after === "/" ? "\\:" : c;
  if (c === "@") return isWord(after) ? "@&#8203;" : c;
  if (c === "#") return isDigit(after) ? "\\#&#8203;" : i ? c : "\\#";
  if ((c === "-" || c === "+" || c === "=") && !i) return "\\" + c;
  if (c === "-" && isDigit(after) && /gh$/i.test(start)) return "-&#8203;";
  if (c === "." && /www$/i.test(start)) return "\\.";
  if ((c === "." || c === ")") && (after === "" || after === " " || after === "\t") && /^[0-9]+$/.test(start)) return "\\" + c;
  return c;
};

/** @param {string} s @returns {string} */
export const mdText = (s) => {
  let out = "";
  for (let i = 0; i < s.length; i++) {
    const c = s.codePointAt(i) ?? 0;
    out += visible(c) || (c > 0xffff ? String.fromCodePoint(c) : mdChar(s, i));
    if (c > 0xffff) i++;
  }
  return out;
};
