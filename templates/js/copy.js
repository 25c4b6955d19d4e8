// Ways out of the page: a setting, the report as Markdown, the visible curve as CSV.

import { fmtBytes, fmtCount, fmtPercent } from "./format.js";
import { mdText } from "./markdown.js";
import { ceil, max, min, upperBound } from "./math.js";
import { eventOfOp } from "./query.js";
import { pAll, pButton, pEl, pFind, pSet } from "./panel_dom.js";
import { cursorOwners } from "./panel_cursor.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @type {PanelCtx} */
let copyCtx;

/** @param {string} text @returns {Promise<boolean>} */
export const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* no such thing on this page, or not allowed: the old way */ }
  const area = pEl("textarea.offscreen", { readonly: true }, text);
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
};

/** A button that copies what text() gives and says so.
 * @param {string} words @param {() => string} text @param {Record<string, any>} [attrs] */
const copyButton = (words, text, attrs) => {
  const b = pButton(words, async () => {
    pSet(b, await copyText(text()) ? "Copied" : "Could not copy");
    setTimeout(() => { pSet(b, words); }, 1500);
  }, { "aria-live": "polite", ...attrs });
  return b;
};

/** Text inside a table cell of Markdown. @param {string} s */
const mdCell = (s) => mdText(s.replace(/\s+/g, " "));

/** The report for a ticket: what the program wrote, what is looked at now, and the end of the link to it.
 * @param {string} report @param {{title: string, rows: {label: string, bytes: number, count: number}[], live: number}|null} now
 * @param {string} hash @returns {string} */
export const markdownText = (report, now, hash) => {
  let s = report.trim();
  if (now) {
    s += `\n\n**${mdCell(now.title)}**\n\n| bytes | share | blocks | who |\n|---:|---:|---:|---|\n`;
    for (const r of now.rows) s += `| ${fmtBytes(r.bytes)} | ${fmtPercent(r.bytes, now.live)} | ${fmtCount(r.count)} | ${mdCell(r.label)} |\n`;
  }
  if (hash.length > 1) s += `\n\nThis view: open the report with \`${hash.replace(/[`\s]/g, "")}\` behind its name.`;
  return s + "\n";
};

const markdownNow = () => {
  const report = pFind("#markdown")?.textContent || "";
  return markdownText(report, copyCtx.view && cursorOwners(copyCtx.view, 8), location.hash);
};

/** For the key. @returns {Promise<boolean>} */
export const copyMarkdown = () => copyText(markdownNow());

const CSV_ROWS = 200000;

/** The visible part of the curve: each operation where there are few enough, else stretches with their highest instant; the overview
 * where the events are not in the page. @param {import("./view.js").View} view @returns {string} */
export const curveCsv = (view) => {
  const { track, axis, lo, hi } = view, e = track.exact, out = ["event,seconds,live_bytes,pending_bytes,reserved_bytes,highest_of"];
  /** @param {number} ev @param {number|null} tick @param {number[]} bytes @param {number} n */
  const line = (ev, tick, bytes, n) => out.push(`${ev},${tick === null ? "" : track.seconds(tick).toFixed(6)},${bytes.join(",")},${n}`);
  if (e) {
    const x = /** @type {Uint32Array} */ (e.xs[axis]), a = upperBound(x, ceil(lo) - 1), b = upperBound(x, hi);
    const step = max(1, ceil((b - a) / CSV_ROWS));
    const of = (/** @type {import("./exact.js").Curve} */ c, /** @type {number} */ op) => c.bytes[upperBound(c.op, op) - 1] ?? 0;
    for (let i = a; i < b; i += step) {
      let top = i;
      for (let k = i + 1; k < min(i + step, b); k++) if (e.total[k] > e.total[top]) top = k;
      line(eventOfOp(e, top), e.tick ? e.tick[top] : null, [e.total[top], of(e.pending, top), of(e.reserved, top)], min(step, b - i));
    }
  } else {
    const o = track.overview[axis];
    for (let i = 0; o && i < o.n; i++) {
      const x = o.x0 + (o.x1 - o.x0) * i / o.n;
      if (x >= lo && x <= hi) line(o.event[i], o.axis === "t" ? x : null, [o.high[i], o.pending[i], o.reserved[i]], o.events[i]);
    }
  }
  return out.join("\n") + "\n";
};

/** What goes behind one command, of all cards that are to be changed first: whole overrides, the first of each key. None where a place
 * is left to fill in, where options stand beside keys (they are of two programs), or where one is not worth a button.
 * @param {string[]} settings @returns {string[]} */
export const overridesOf = (settings) => {
  /** @type {Map<string, string>} */
  const by = new Map();
  for (const s of settings) {
    const m = /^(?:(--[a-zA-Z][\w.-]*)(?:[= ][^\s-]\S*)?|[+~]*([a-z][\w./]*)=[^\s()]+)$/.exec(s), key = m && (m[1] || m[2]);
    if (key && !/<|\.\.\./.test(s) && !by.has(key)) by.set(key, s);
  }
  const keys = [...by.keys()], flags = keys.filter((k) => k.startsWith("--")).length;
  return keys.length > 1 && (!flags || flags === keys.length) ? [...by.values()] : [];
};

/** @param {PanelCtx} ctx */
export const initCopy = (ctx) => {
  copyCtx = ctx;
  for (const code of pAll(".set code")) {
    code.after(copyButton("Copy", () => code.textContent || "", { class: "copy", "aria-label": `Copy ${code.textContent}` }));
  }
  const line = overridesOf(pAll(".first .set code").map((c) => c.textContent || ""));
  if (line.length) pFind(".first")?.after(copyButton(`Copy all ${line.length} as one line`, () => line.join(" "), { class: "csv" }));
  if (pFind("#markdown")) {
    pFind(".tools").append(copyButton("Copy as Markdown", markdownNow, { title: "The report for a ticket, with what is looked at now (key m)" }));
    pFind("#ticket > h2")?.after(copyButton("Copy as Markdown", markdownNow));
  }
};

/** Hands the curve over as a file. @param {import("./view.js").View} view */
export const saveCsv = (view) => {
  const href = URL.createObjectURL(new Blob([curveCsv(view)], { type: "text/csv" })), name = view.track.meta.label.replace(/[^\w.-]+/g, "_").slice(0, 80);
  pEl("a", { href, download: `${name || "memtrace"}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
};
