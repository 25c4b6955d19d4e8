// The segments at the cursor, to scale: what PyTorch holds from the driver, what in it is live and for what, and which block keeps it.

import { fmtBytes, fmtCount, fmtPercent } from "./format.js";
import { momentStart } from "./panel_cursor.js";
import { pCanvas, pEl, pHelp, pLater, pSwatch } from "./panel_dom.js";
import { segmentsAt } from "./query.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */
/** @typedef {{addr: number, size: number, lane: number, blocks: ArrayLike<number>}} Segment */
/** @typedef {{seg: number, line: number, x: number, w: number, from: number}} SegPiece from: offset of its first byte */

const SEG_ROW = 18, SEG_GAP = 3;

/** Lays segments side by side onto lines of that width; one that is longer goes on in the next line.
 * @param {number[]} sizes @param {number} width @param {number} perPx bytes of a pixel @returns {SegPiece[]} */
export function segmentPieces(sizes, width, perPx) {
  /** @type {SegPiece[]} */
  const out = [];
  let line = 0, x = 0;
  sizes.forEach((size, seg) => {
    let left = Math.min(Math.max(size / perPx, 2), width * 400), from = 0;
    if (x > 0 && x + left > width) { line++; x = 0; }
    while (left > 0) {
      const w = Math.min(left, width - x);
      out.push({ seg, line, x, w, from });
      from += w * perPx;
      left -= w;
      x += w + SEG_GAP;
      if (x >= width) { line++; x = 0; }
    }
  });
  return out;
}

/** Bytes of live blocks, and the largest of them where at least half of the segment is free: it keeps the rest from the device.
 * @param {Segment} s @param {Float64Array} sizes of blocks @returns {{live: number, pin: number}} pin: block or -1 */
export function segmentUse(s, sizes) {
  let live = 0, pin = -1;
  for (let i = 0; i < s.blocks.length; i++) {
    const b = s.blocks[i];
    live += sizes[b];
    if (pin < 0 || sizes[b] > sizes[pin]) pin = b;
  }
  return { live, pin: live * 2 <= s.size ? pin : -1 };
}

/** @param {import("./track.js").Track} track @param {number} lane */
function laneWords(track, lane) {
  const l = track.sites?.lanes[lane], stream = l?.stream;
  if (!l) return "not recorded";
  const pool = l.pool === null ? "pool not recorded" : l.pool === "0,0" ? "default pool" : `private pool ${l.pool}`;
  return `${pool}, ${stream === null || stream === undefined ? "stream not recorded" : stream === 0 ? "default stream" : `stream 0x${stream.toString(16)}`}${l.label ? `, mostly ${l.label}` : ""}`;
}

/** @param {PanelCtx} ctx */
export function initSegments(ctx) {
  const section = document.getElementById("segments"), { view } = ctx;
  if (!section || !ctx.tracks.some(t => t.hasExact)) return;
  let seen = false, stale = true, filled = false;
  const words = pEl("p", { class: "moment" }), maps = pEl("div"), legend = pEl("p", { class: "legend" }), said = pEl("p", { class: "said", "aria-live": "polite" });
  const box = pEl("div", { class: "segmap" }, pEl("h3", {}, "Segments at the cursor"), words, legend, maps, said,
    pHelp("Each bar is a segment that PyTorch got from the driver, as long as its bytes, by pool and stream. Coloured: live blocks, by what they are for. Pale: free, and of use only to requests of the same pool and stream. " +
      "A segment goes back to the device only when nothing in it is live: where at least half of one is free, the bar under it marks its largest live block. Arrow keys go from segment to segment."));
  box.hidden = true;
  section.append(box);

  /** @param {Segment[]} segs of one lane @param {number} perPx @param {number} width @param {string} name */
  const map = (segs, perPx, width, name) => {
    const track = view.track, x = /** @type {import("./track.js").Exact} */ (track.exact), sites = track.sites, roles = ctx.index.roles;
    const pieces = segmentPieces(segs.map(s => s.size), width, perPx), lines = pieces[pieces.length - 1].line + 1;
    const canvas = pEl("canvas", { tabindex: 0, role: "img", "aria-label": `Segments of ${name}` });
    canvas.style.height = `${lines * SEG_ROW}px`;
    const style = getComputedStyle(document.documentElement);
    const use = segs.map(s => segmentUse(s, x.bSize));
    let at = -1;
    const draw = () => {
      const g = /** @type {CanvasRenderingContext2D} */ (pCanvas(canvas, width, lines * SEG_ROW));
      for (const p of pieces) {
        const s = segs[p.seg], y = p.line * SEG_ROW, to = p.from + p.w * perPx;
        g.fillStyle = style.getPropertyValue("--fill");
        g.fillRect(p.x, y, p.w, SEG_ROW - 6);
        for (let i = 0; i < s.blocks.length; i++) {
          const b = s.blocks[i], off = x.bAddr ? x.bAddr[b] - s.addr : 0, a = Math.max(off, p.from), e = Math.min(off + x.bSize[b], to);
          if (e <= a) continue;
          const px = p.x + (a - p.from) / perPx, pw = Math.max((e - a) / perPx, 0.5);
          g.fillStyle = sites ? roles[sites.role[x.bSite[b]]].color : "#888";
          g.fillRect(px, y, pw, SEG_ROW - 6);
          if (b === use[p.seg].pin) {
            g.fillStyle = style.getPropertyValue("--ink");
            g.fillRect(px, y + SEG_ROW - 5, Math.max(pw, 3), 2);
          }
        }
        g.strokeStyle = style.getPropertyValue(p.seg === at ? "--ink" : "--soft");
        g.lineWidth = p.seg === at ? 2 : 0.5;
        g.strokeRect(p.x + 0.25, y + 0.25, Math.max(p.w - 0.5, 0.5), SEG_ROW - 6.5);
      }
    };
    /** @param {number} seg @param {number} off offset of the pointer in it, or NaN */
    const say = (seg, off) => {
      const s = segs[seg], u = use[seg];
      let text = `Segment at 0x${s.addr.toString(16)}, ${name}: ${fmtBytes(s.size)}, ${fmtBytes(u.live)} live in ${fmtCount(s.blocks.length)} block${s.blocks.length === 1 ? "" : "s"}`;
      for (let i = 0; i < s.blocks.length; i++) {
        const b = s.blocks[i], o = x.bAddr ? x.bAddr[b] - s.addr : 0;
        if (!(off >= o && off < o + x.bSize[b]) && !(Number.isNaN(off) && b === u.pin)) continue;
        text += `. ${Number.isNaN(off) ? "Held by" : "Here"}: ${fmtBytes(x.bSize[b])}`;
        if (sites) text += ` of ${roles[sites.role[x.bSite[b]]].name}, ${sites.label(x.bSite[b]) || "no stack recorded"}`;
        break;
      }
      said.textContent = `${text}.`;
      if (at !== seg) { at = seg; draw(); }
    };
    canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ e) => {
      const k = width / canvas.clientWidth, px = e.offsetX * k, line = Math.floor(e.offsetY / SEG_ROW);
      const p = pieces.find(q => q.line === line && px >= q.x && px <= q.x + q.w);
      if (p) say(p.seg, p.from + (px - p.x) * perPx);
    });
    canvas.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
      const step = e.key === "ArrowRight" || e.key === "ArrowDown" ? 1 : e.key === "ArrowLeft" || e.key === "ArrowUp" ? -1 : 0;
      if (!step) return;
      e.preventDefault();
      e.stopPropagation();
      say(Math.min(Math.max(at + step, 0), segs.length - 1), NaN);
    });
    draw();
    return canvas;
  };

  const update = () => {
    const { track } = view, op = track.exact ? track.opOfEvent(view.cursor) : -1;
    const segs = op >= 0 ? /** @type {Segment[]} */ (segmentsAt(track, op) || []) : [];
    stale = !seen && filled; // once it is filled unseen, so that nothing moves when it comes into sight
    box.hidden = segs.length === 0;
    if (box.hidden || stale) return;
    filled = true;
    const x = /** @type {import("./track.js").Exact} */ (track.exact), total = segs.reduce((s, q) => s + q.size, 0), width = Math.max(maps.clientWidth, 200);
    const live = segs.reduce((s, q) => s + segmentUse(q, x.bSize).live, 0), perPx = Math.max(total / (width * 24), 4096), roles = new Set();
    /** @type {Map<number, Segment[]>} */
    const lanes = new Map();
    for (const s of segs) {
      if (!lanes.has(s.lane)) lanes.set(s.lane, []);
      lanes.get(s.lane)?.push(s);
      for (let i = 0; i < s.blocks.length && track.sites; i++) roles.add(track.sites.role[x.bSite[s.blocks[i]]]);
    }
    words.textContent = `${momentStart(track, view.cursor)}: ${fmtBytes(total)} in ${fmtCount(segs.length)} segment${segs.length === 1 ? "" : "s"}, ${fmtBytes(total - live)} of it (${fmtPercent(total - live, total)}) not in use.`;
    legend.replaceChildren(...[...roles].sort((a, b) => a - b).map(r => pEl("span", {}, pSwatch(ctx.index.roles[r].color), ctx.index.roles[r].name)));
    const size = (/** @type {Segment[]} */ l) => l.reduce((s, q) => s + q.size, 0);
    said.textContent = "";
    maps.replaceChildren(...[...lanes].sort((a, b) => size(b[1]) - size(a[1])).slice(0, 24).map(([lane, list]) => {
      const name = laneWords(track, lane);
      return pEl("figure", {}, pEl("figcaption", {}, `${name}: ${fmtBytes(size(list))} in ${fmtCount(list.length)} segment${list.length === 1 ? "" : "s"}`), map(list.sort((a, b) => b.size - a.size || a.addr - b.addr), perPx, width, name));
    }));
    if (lanes.size > 24) maps.append(pEl("p", { class: "note" }, `${lanes.size - 24} more pools and streams are not drawn.`));
  };
  const later = pLater(80, update);
  view.on(changed => {
    if (changed.has("track")) {
      filled = false;
      view.track.loadExact().then(later);
    }
    if (changed.has("track") || changed.has("cursor")) later();
  });
  new IntersectionObserver(entries => {
    seen = entries[entries.length - 1].isIntersecting;
    if (seen && stale) update();
  }, { rootMargin: "400px" }).observe(section);
  document.addEventListener("mt-theme", later);
  addEventListener("resize", later);
  view.track.loadExact().then(later);
}
