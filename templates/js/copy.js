// Ways out of the page: a setting, the report as Markdown, the visible curve as CSV.

import { fmtBytes, fmtCount, fmtPercent } from "./format.js";
import { K_START } from "./exact.js";
import { overviewOf } from "./layout.js";
import { upperBound } from "./track.js";
import { pButton, pEl, pTools } from "./panel_dom.js";
import { cursorOwners } from "./panel_cursor.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @type {PanelCtx} */
let copyCtx;

/** @param {string} text @returns {Promise<boolean>} */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* no such thing on this page, or not allowed: the old way */ }
  const area = pEl("textarea", { class: "offscreen", readonly: true }, text);
  document.body.append(area);
  area.select();
  const ok = document.execCommand("copy");
  area.remove();
  return ok;
}

/** A button that copies what text() gives and says so.
 * @param {string} words @param {() => string} text @param {Record<string, any>} [attrs] */
function copyButton(words, text, attrs) {
  const b = pButton(words, async () => {
    b.textContent = await copyText(text()) ? "Copied" : "Could not copy";
    setTimeout(() => { b.textContent = words; }, 1500);
  }, { "aria-live": "polite", ...attrs });
  return b;
}

/** Text inside a table cell of Markdown. @param {string} s */
function mdCell(s) { return s.replace(/[\\`*_<>[\]|~#&]/g, "\\$&").replace(/\s+/g, " "); }

/** The report for a ticket: what the program wrote, what is looked at now, and the end of the link to it.
 * @param {string} report @param {{title: string, rows: {label: string, bytes: number, count: number}[], live: number}|null} now
 * @param {string} hash @returns {string} */
export function markdownText(report, now, hash) {
  let s = report.trim();
  if (now) {
    s += `\n\n**${mdCell(now.title)}**\n\n| bytes | share | blocks | who |\n|---:|---:|---:|---|\n`;
    for (const r of now.rows) s += `| ${fmtBytes(r.bytes)} | ${fmtPercent(r.bytes, now.live)} | ${fmtCount(r.count)} | ${mdCell(r.label)} |\n`;
  }
  if (hash.length > 1) s += `\n\nThis view: open the report with \`${hash.replace(/[`\s]/g, "")}\` behind its name.`;
  return s + "\n";
}

function markdownNow() {
  const report = document.getElementById("markdown")?.textContent || "";
  return markdownText(report, copyCtx.view && cursorOwners(copyCtx.view, 8), location.hash);
}

/** For the key. @returns {Promise<boolean>} */
export function copyMarkdown() { return copyText(markdownNow()); }

const CSV_ROWS = 200000;

/** The visible part of the curve: each operation where there are few enough, else stretches with their highest instant; the overview
 * where the events are not in the page. @param {import("./view.js").View} view @returns {string} */
export function curveCsv(view) {
  const { track, axis, lo, hi } = view, e = track.exact, out = ["event,seconds,live_bytes,pending_bytes,reserved_bytes,highest_of"];
  /** @param {number} ev @param {number|null} tick @param {number[]} bytes @param {number} n */
  const line = (ev, tick, bytes, n) => out.push(`${ev},${tick === null ? "" : track.seconds(tick).toFixed(6)},${bytes.join(",")},${n}`);
  if (e) {
    const x = axis === "t" && e.tickX ? e.tickX : e.event, a = upperBound(x, Math.ceil(lo) - 1), b = upperBound(x, hi);
    const step = Math.max(1, Math.ceil((b - a) / CSV_ROWS));
    const of = (/** @type {import("./exact.js").Curve} */ c, /** @type {number} */ op) => c.bytes[upperBound(c.op, op) - 1] ?? 0;
    for (let i = a; i < b; i += step) {
      let top = i;
      for (let k = i + 1; k < Math.min(i + step, b); k++) if (e.total[k] > e.total[top]) top = k;
      line(e.kind[top] === K_START ? e.event[top] - 1 : e.event[top], e.tick ? e.tick[top] : null, [e.total[top], of(e.pending, top), of(e.reserved, top)], Math.min(step, b - i));
    }
  } else {
    const o = overviewOf(track, axis);
    for (let i = 0; o && i < o.n; i++) {
      const x = o.x0 + (o.x1 - o.x0) * i / o.n;
      if (x >= lo && x <= hi) line(o.event[i], o.axis === "t" ? x : null, [o.high[i], o.pending[i], o.reserved[i]], o.events[i]);
    }
  }
  return out.join("\n") + "\n";
}

/** @param {PanelCtx} ctx */
export function initCopy(ctx) {
  copyCtx = ctx;
  for (const code of document.querySelectorAll(".set code")) {
    code.after(copyButton("Copy", () => code.textContent || "", { class: "copy", "aria-label": `Copy ${code.textContent}` }));
  }
  if (document.getElementById("markdown")) {
    pTools().append(copyButton("Copy as Markdown", markdownNow, { title: "The report for a ticket, with what is looked at now (key m)" }));
    document.querySelector("#ticket > h2")?.after(copyButton("Copy as Markdown", markdownNow));
  }
}

/** @param {PanelCtx} ctx */
export function initCsv({ view }) {
  document.getElementById("timeline")?.append(pButton("Curve as CSV", () => {
    const href = URL.createObjectURL(new Blob([curveCsv(view)], { type: "text/csv" })), name = view.track.meta.label.replace(/[^\w.-]+/g, "_").slice(0, 80);
    pEl("a", { href, download: `${name || "memtrace"}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }, { class: "csv", title: "The visible part of the curve: events, times, live bytes" }));
}
