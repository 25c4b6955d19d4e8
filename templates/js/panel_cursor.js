// Who holds memory at the cursor: composition, icicle and tree of what is live, or of what differs between two moments.

import { parseFilter } from "./filter.js";
import { fmtBytes, fmtCount, fmtPercent, fmtTime } from "./format.js";
import { pButton, pChoice, pEl, pHelp, pLater, pNumber, pSwatch, pTable } from "./panel_dom.js";
import { drawIcicle, treeTable } from "./panel_tree.js";
import { diffBetween, groupLive, liveAt, treeOf } from "./query.js";
import { xOfEvent } from "./layout.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */

/** "event 3,737, 4.250 s". @param {Track} track @param {number} event @returns {string} */
export function momentWords(track, event) {
  const at = event < 0 ? "the start" : `event ${fmtCount(event)}`;
  return track.meta.time ? `${at}, ${fmtTime(track.seconds(xOfEvent(track, event, "t")))}` : at;
}

/** The same with the name of the track, where there are several, as the beginning of a sentence. @param {Track} track @param {number} event */
export function momentStart(track, event) {
  const words = momentWords(track, event);
  return track.index.tracks.length > 1 ? `${track.meta.label}, ${words}` : words[0].toUpperCase() + words.slice(1);
}

/** The blocks to speak of, and of which moments: the cursor alone, or a second one (or a range) before it. null: not in the page.
 * @param {View} view @param {string} what "live", "new" or "gone" */
function blocksOf(view, what) {
  const { track } = view, a = view.range ? view.range[0] : view.mark, b = view.range ? view.range[1] : view.cursor;
  const first = a === null ? b : Math.min(a, b), last = a === null ? b : Math.max(a, b);
  const opA = track.opOfEvent(first), opB = track.opOfEvent(last);
  if (!track.exact || opB < 0 || opA < 0) return null;
  const diff = a === null ? null : diffBetween(track, opA, opB);
  let list = diff && what === "new" ? diff.born.blocks : diff && what === "gone" ? diff.gone.blocks : liveAt(track, opB);
  const filter = view.query ? parseFilter(view.query) : null;
  if (filter && !filter.error) list = list.filter(x => filter.match(track, x));
  return { list, diff, first, last, filtered: Boolean(filter && !filter.error), op: opB };
}

/** @param {Track} track @param {Uint32Array} list @returns {number} */
function bytesOf(track, list) {
  let s = 0;
  if (track.exact) for (const b of list) s += track.exact.bSize[b];
  return s;
}

/** The largest owners at the cursor, for the Markdown; null where the events are not in the page.
 * @param {View} view @param {number} n */
export function cursorOwners(view, n) {
  const now = blocksOf(view, "live");
  if (!now) return null;
  const live = bytesOf(view.track, now.list), rows = groupLive(view.track, now.list, "stack");
  return { title: `Live at ${momentWords(view.track, now.last)}: ${fmtBytes(live)}`, live, rows: rows.slice(0, n) };
}

/** @param {{key: any, label: string, color: string, bytes: number, count: number}[]} groups @param {number} whole @param {string} head */
function groupTable(groups, whole, head) {
  const shown = groups.slice(0, 12), rest = groups.slice(12);
  const row = (/** @type {any[]} */ name, /** @type {number} */ bytes, /** @type {number} */ n) => pEl("tr", {}, pEl("th", { scope: "row" }, ...name),
    pNumber(fmtBytes(bytes), `${fmtCount(bytes)} bytes`), pNumber(fmtPercent(bytes, whole)), pNumber(fmtCount(n)));
  const rows = shown.map(g => row([pSwatch(g.color), pEl("bdi", {}, g.label || "no stack recorded")], g.bytes, g.count));
  if (rest.length) rows.push(row([`${fmtCount(rest.length)} more`], rest.reduce((s, g) => s + g.bytes, 0), rest.reduce((s, g) => s + g.count, 0)));
  return pTable(`Live memory by ${head}`, {}, [head, "Bytes", "Share", "Blocks"], rows);
}

/** @param {{label: string, color: string, bytes: number}[]} groups @param {number} whole */
function compositionBar(groups, whole) {
  const bar = pEl("div", { class: "composition", role: "img", "aria-label": "Composition; the table below has the numbers" });
  for (const g of groups.slice(0, 40)) {
    const part = pEl("i", { title: `${g.label}: ${fmtBytes(g.bytes)}` });
    part.style.width = `${g.bytes / whole * 100}%`;
    part.style.background = g.color;
    bar.append(part);
  }
  return bar;
}

/** @param {PanelCtx} ctx */
export function initCursor(ctx) {
  const section = document.getElementById("owners"), { view } = ctx;
  if (!section || !ctx.tracks.some(t => t.hasExact)) return;
  let what = "live", by = "role", bottomUp = false, fold = true, seen = false, stale = true, filled = false, drawing = 0;
  const words = pEl("p", { class: "moment", "aria-live": "polite" }), parts = pEl("div"), said = pEl("p", { class: "said", "aria-live": "polite" });
  const icicle = pEl("div", { class: "icicle", role: "group", "aria-label": "Icicle of live memory: arrow keys, Enter opens, Escape goes back" });
  const tree = pEl("details", { class: "more" }, pEl("summary", {}, "The same as a table"));
  const later = pLater(60, () => update());
  const whats = pChoice("Which blocks", [["live", "Live at B"], ["new", "New since A"], ["gone", "Gone since A"]], what, v => { what = v; later(); });
  const compare = pButton("", () => view.set(view.mark === null && !view.range ? { mark: view.cursor } : { mark: null, range: null }));
  const box = pEl("div", { class: "cursor" }, pEl("h3", {}, "At the cursor"), words,
    pEl("p", { class: "controls" }, compare, whats.box,
      pChoice("Group by", [["role", "Role"], ["phase", "Phase of birth"], ["stack", "Stack"]], by, v => { by = v; later(); }).box,
      pChoice("Direction", [["down", "Callers first"], ["up", "Allocation first"]], "down", v => { bottomUp = v === "up"; later(); }).box,
      pChoice("Frames of libraries", [["1", "Internals folded"], ["0", "All frames"]], "1", v => { fold = v === "1"; later(); }).box),
    parts, icicle, said, tree,
    pHelp("Each box is a function, as wide as the bytes that it and what it called hold at the cursor; below a box is what it called. Click a box to look inside, the topmost to go back. " +
      "Set the cursor in the timeline above. Compare: set a first moment (A), move the cursor to a second one (B), and see what is new and what is gone. What the timeline\u2019s search finds, and a range selected there, narrow this too."));
  section.querySelector("h2")?.after(box);

  /** @param {boolean} [all] whether it is seen or not, and at once */
  const update = (all = false) => {
    const { track } = view;
    box.hidden = !track.hasExact;
    // Once, when the events are there, it is filled unseen: so that what lies below does not move when it comes into sight.
    stale = !seen && !all && filled;
    if (stale || box.hidden) return;
    const now = blocksOf(view, what);
    filled = Boolean(track.exact);
    const two = view.mark !== null || Boolean(view.range);
    whats.box.hidden = !two;
    if (!two && what !== "live") whats.set(what = "live");
    compare.textContent = two ? "End the comparison" : "Set A here, to compare";
    clearTimeout(drawing);
    if (!now) {
      words.textContent = track.exact ? "The exact events of this moment are not in this page; the table below is of the moment that matters."
        : track.errors.length ? `The exact events could not be read: ${track.errors[0]}` : "The exact events are being decoded.";
      parts.replaceChildren();
      icicle.replaceChildren();
      tree.hidden = true;
      return;
    }
    const whole = bytesOf(track, now.list), groups = whole > 0 ? groupLive(track, now.list, /** @type {any} */ (by)) : [];
    const size = `${fmtBytes(whole)} in ${fmtCount(now.list.length)} block${now.list.length === 1 ? "" : "s"}`;
    words.textContent = (now.diff ? `A: ${momentWords(track, now.first)}. B: ${momentWords(track, now.last)}. New: ${fmtBytes(now.diff.born.bytes)} in ${fmtCount(now.diff.born.count)} blocks, ` +
      `gone: ${fmtBytes(now.diff.gone.bytes)} in ${fmtCount(now.diff.gone.count)}. Shown: ${size}` : `${momentStart(track, now.last)}: ${size}`) + (now.filtered ? `, of those that match \u201c${view.query}\u201d.` : ".");
    tree.hidden = whole === 0;
    if (whole === 0) {
      parts.replaceChildren();
      icicle.replaceChildren();
      icicle.style.height = "0";
      return;
    }
    parts.replaceChildren(compositionBar(groups, whole), groupTable(groups, whole, by === "role" ? "Role" : by === "phase" ? "Phase of birth" : "Allocated by"));
    // The tree takes as long again: the page answers in between.
    const grow = () => {
      const root = treeOf(track, now.list, { bottomUp, foldInternal: fold });
      said.textContent = "";
      drawIcicle(icicle, root, text => { said.textContent = text; });
      const table = () => { if (tree.open) tree.replaceChildren(tree.firstChild, treeTable(root)); };
      tree.ontoggle = table;
      table();
    };
    if (all) grow();
    else drawing = setTimeout(grow);
  };
  addEventListener("beforeprint", () => update(true));
  view.on(changed => {
    if (changed.has("track")) {
      filled = false;
      view.track.loadExact().then(later);
    }
    if (["track", "cursor", "mark", "range", "query"].some(k => changed.has(k))) later();
  });
  new IntersectionObserver(entries => {
    seen = entries[entries.length - 1].isIntersecting;
    if (seen && stale) update();
  }, { rootMargin: "400px" }).observe(box);
  view.track.loadExact().then(later);
}
