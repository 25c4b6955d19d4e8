// Tables that a click on a heading sorts: falling (numbers) or rising (text), the other way, and back as they came.

import { pButton } from "./panel_dom.js";

const SORT_UNITS = /** @type {Record<string, number>} */ ({
  B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, PiB: 1024 ** 5,
  us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, "%": 1
});

/** The number that a cell stands for; NaN for text, -Infinity for nothing.
 * @param {string} text @param {string} [title] with the exact number, "1,234 bytes" @returns {number} */
export function sortKey(text, title = "") {
  const exact = /^(-?[\d,]+) bytes$/.exec(title);
  if (exact) return Number(exact[1].replaceAll(",", ""));
  const t = text.trim().replace(/^event /, "").replace("\u2212", "-");
  if (t === "" || t === "-") return -Infinity;
  let sum = 0, read = 0;
  for (const m of t.matchAll(/([+-]?[\d,]*\.?\d+) ?([%\w\u00b5]*) ?/gy)) {
    sum += Number(m[1].replaceAll(",", "")) * (m[2] === "" ? 1 : SORT_UNITS[m[2]] ?? NaN);
    read += m[0].length;
  }
  return read === t.length ? sum : NaN;
}

/** The order of rows with these keys; equal ones keep theirs.
 * @param {{n: number, text: string}[]} keys @param {boolean} falling @returns {number[]} */
export function sortOrder(keys, falling) {
  const numeric = keys.every(k => !Number.isNaN(k.n)), sign = falling ? -1 : 1;
  return keys.map((_, i) => i).sort((a, b) => {
    const x = keys[a], y = keys[b];
    const d = numeric ? (x.n === y.n ? 0 : x.n < y.n ? -1 : 1) : x.text < y.text ? -1 : x.text > y.text ? 1 : 0;
    return d * sign || a - b;
  });
}

/** @param {HTMLTableElement} table */
function makeSortable(table) {
  const heads = [...table.querySelectorAll("thead th")], body = table.tBodies[0];
  if (!body || !heads.length) return;
  const all = [...body.rows], rows = all.filter(r => !r.classList.contains("sum")), last = all.filter(r => !rows.includes(r));
  if (rows.length < 2 || rows.some(r => r.cells.length !== heads.length)) return;
  heads.forEach((th, column) => {
    const words = th.textContent || "", number = th.classList.contains("n");
    if (words === "" || words === "#") return;
    th.replaceChildren(pButton(words, () => {
      const was = th.getAttribute("aria-sort"), first = number ? "descending" : "ascending";
      const next = !was ? first : was === first ? (number ? "ascending" : "descending") : "";
      for (const h of heads) h.removeAttribute("aria-sort");
      if (next) th.setAttribute("aria-sort", next);
      const keys = rows.map(r => {
        const cell = r.cells[column], text = (cell.textContent || "").trim();
        return { n: sortKey(text, cell.title), text: text.toLowerCase() };
      });
      const order = next ? sortOrder(keys, next === "descending") : rows.map((_, i) => i);
      body.append(...order.map(i => rows[i]), ...last);
    }, { class: "sort", title: "Sort by this column" }));
  });
}

export function initTables() {
  for (const t of document.querySelectorAll("table")) makeSortable(t);
}
