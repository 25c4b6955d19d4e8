// Tables that a click on a heading sorts: falling (numbers) or rising (text), the other way, and back as they came.

import { UNITS_OF_TIME } from "./filter.js";
import { FMT_UNITS } from "./format.js";
import { pAll, pButton, pSet } from "./panel_dom.js";

const SORT_UNITS = /** @type {Record<string, number>} */ ({ ...UNITS_OF_TIME, ...Object.fromEntries(FMT_UNITS.map((u, i) => [u, 1024 ** i])), "%": 1 });

/** The number that a cell stands for; NaN for text, -Infinity for nothing.
 * @param {string} text @param {string} [title] with the exact number, "1,234 bytes" @returns {number} */
export const sortKey = (text, title = "") => {
  const exact = /^(-?[\d,]+) bytes$/.exec(title), t = exact ? exact[1] : text.trim().replace(/^event /, "").replace("\u2212", "-");
  if (t === "" || t === "-") return -Infinity;
  let sum = 0, read = 0;
  for (const [all, number, unit] of t.matchAll(/([+-]?[\d,]*\.?\d+) ?([%\w\u00b5]*) ?/gy)) {
    sum += +number.replaceAll(",", "") * (SORT_UNITS[unit] ?? NaN);
    read += all.length;
  }
  return read === t.length ? sum : NaN;
};

/** The order of rows with these keys; equal ones keep theirs.
 * @param {{n: number, text: string}[]} keys @param {boolean} falling @returns {number[]} */
export const sortOrder = (keys, falling) => {
  const by = keys.some(k => Number.isNaN(k.n)) ? "text" : "n", sign = falling ? -1 : 1;
  return [...keys.keys()].sort((a, b) => {
    const x = keys[a][by], y = keys[b][by];
    return x < y ? -sign : x > y ? sign : 0;
  });
};

/** Makes buttons of headings. @param {HTMLElement[]} heads @param {(column: number, falling: boolean) => void} sort column -1: as they came */
export const sortHeads = (heads, sort) => {
  heads.forEach((th, column) => {
    const words = th.textContent || "#", ways = ["ascending", "descending"];
    if (words === "#") return;
    if (th.classList.contains("n")) ways.reverse();
    pSet(th, pButton(words, () => {
      const next = ways[ways.indexOf(th.getAttribute("aria-sort") || "") + 1];
      for (const h of heads) h.removeAttribute("aria-sort");
      if (next) th.setAttribute("aria-sort", next);
      sort(next ? column : -1, next === "descending");
    }, { class: "sort", title: "Sort by this column" }));
  });
};

export const initTables = () => {
  for (const table of pAll("table")) {
    const heads = pAll("thead th", table), body = table.tBodies[0], all = body ? [...body.rows] : [];
    const rows = all.filter(r => !r.classList.contains("sum")), last = all.filter(r => !rows.includes(r));
    if (rows.length < 2 || rows.some(r => r.cells.length !== heads.length)) continue;
    sortHeads(heads, (column, falling) => {
      const keys = column < 0 ? [] : rows.map(r => {
        const { textContent, title } = r.cells[column], text = (textContent || "").trim();
        return { n: sortKey(text, title), text: text.toLowerCase() };
      });
      body.append(...column < 0 ? rows : sortOrder(keys, falling).map(i => rows[i]), ...last);
    });
  }
};
