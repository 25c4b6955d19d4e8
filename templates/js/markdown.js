// A name as text of Markdown: the rule of render/base/escape.c (mt_md), held to it by tests/golden/markdown.tsv.

/** @param {string} c @returns {boolean} */
const isWord = (c) => /^[0-9A-Za-z\u0080-\uffff]$/.test(c);
/** @param {string} c @returns {boolean} */
const isDigit = (c) => c >= "0" && c <= "9";
/** @type {Record<string, string>} */
const ALWAYS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\", "`": "\\`", "*": "\\*", "[": "\\[", "]": "\\]", "|": "\\|", "~": "\\~", "$": "\\$" };

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
  for (let i = 0; i < s.length; i++) out += mdChar(s, i);
  return out;
};
