// The segments at the cursor, to scale: what PyTorch holds from the driver, what in it is live and for what, and which block keeps it. As one strip below
// the timeline, as a map by pool and stream in the section of segments.

import { fmtBytes, fmtMany, fmtPercent } from "./format.js";
import { themeNow } from "./marks.js";
import { floor, max, min } from "./math.js";
import { momentStart } from "./panel_cursor.js";
import { pCanvas, pEl, pFill, pFind, pFollow, pSet, pSwatch, pTake } from "./panel_dom.js";
import { segmentsAt } from "./query.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */
/** @typedef {{addr: number, size: number, lane: number, blocks: Uint32Array}} Segment */
/** @typedef {{seg: number, line: number, x: number, w: number, from: number}} SegPiece from: offset of its first byte */

const SEG_ROW = 18, SEG_GAP = 3;

/** Lays segments side by side onto lines of that width; one that is longer goes on in the next line.
 * @param {number[]} sizes @param {number} width @param {number} perPx bytes of a pixel
 * @param {number} [gap] between two; 0: of a strip, where nothing is wider than its bytes @returns {SegPiece[]} */
export const segmentPieces = (sizes, width, perPx, gap = SEG_GAP) => {
  /** @type {SegPiece[]} */
  const out = [];
  let line = 0, x = 0;
  sizes.forEach((size, seg) => {
    let left = min(max(size / perPx, gap && 2), width * 400), from = 0;
    if (x > 0 && x + left > width) { line++; x = 0; }
    while (left > 0) {
      const w = min(left, width - x);
      out.push({ seg, line, x, w, from });
      from += w * perPx;
      left -= w;
      x += w + gap;
      if (x >= width) { line++; x = 0; }
    }
  });
  return out;
};

/** Bytes of live blocks, and the largest of them where at least half of the segment is free: it keeps the rest from the device.
 * @param {Segment} s @param {Float64Array} sizes of blocks @returns {{live: number, pin: number}} pin: block or -1 */
export const segmentUse = (s, sizes) => {
  let live = 0, pin = -1;
  for (const b of s.blocks) {
    live += sizes[b];
    if (pin < 0 || sizes[b] > sizes[pin]) pin = b;
  }
  return { live, pin: live * 2 <= s.size ? pin : -1 };
};

/** @param {{size: number}[]} list */
const sizeOf = (list) => list.reduce((sum, s) => sum + s.size, 0);

/** @param {PanelCtx} ctx */
export const initSegments = ({ view, index: { roles } }) => {
  const box = pTake("segments");
  if (!box) return;
  const [, words, legend, maps, saying] = box.children, section = box.parentElement, strip = pFind(".tl-strip");

  /** @param {Segment[]} segs @param {number} perPx @param {number} width @param {string} name @param {HTMLElement} said where to say what is there
   * @param {boolean} [flat] as a strip */
  const map = (segs, perPx, width, name, said, flat) => {
    const x = /** @type {import("./track.js").Exact} */ (view.track.exact), sites = /** @type {import("./tables.js").Sites} */ (view.track.sites), { bSize, bSite } = x;
    const bAddr = /** @type {Float64Array} */ (x.bAddr), pieces = segmentPieces(segs.map(s => s.size), flat ? Infinity : width, perPx, flat ? 0 : SEG_GAP), high = (pieces[pieces.length - 1].line + 1) * SEG_ROW;
    const color = themeNow(), use = segs.map(s => segmentUse(s, bSize));
    let at = -1;
    const canvas = pEl("canvas", {
      tabindex: 0, role: "img", "aria-label": `Segments of ${name}`,
      pointermove: (/** @type {PointerEvent} */ e) => {
        const px = e.offsetX * width / canvas.clientWidth, line = floor(e.offsetY / SEG_ROW), p = pieces.find(q => q.line === line && px >= q.x && px <= q.x + q.w);
        if (p) say(p.seg, segs[p.seg].addr + p.from + (px - p.x) * perPx);
      },
      keydown: (/** @type {KeyboardEvent} */ e) => {
        const step = ["ArrowLeft", "ArrowUp", "", "ArrowRight", "ArrowDown"].indexOf(e.key) - 2;
        if (step < -2) return;
        e.preventDefault();
        e.stopPropagation();
        say(min(max(at + Math.sign(step), 0), segs.length - 1), -1);
      },
    });
    canvas.style.height = `${high}px`;
    const draw = () => {
      const g = /** @type {CanvasRenderingContext2D} */ (pCanvas(canvas, width, high));
      for (const p of pieces) {
        const s = segs[p.seg], y = p.line * SEG_ROW, begin = s.addr + p.from, end = begin + p.w * perPx;
        g.fillStyle = color.fill;
        g.fillRect(p.x, y, p.w, SEG_ROW - 6);
        for (const b of s.blocks) {
          const from = max(bAddr[b], begin), w = (min(bAddr[b] + bSize[b], end) - from) / perPx, px = p.x + (from - begin) / perPx;
          if (w <= 0) continue;
          g.fillStyle = roles[sites.role[bSite[b]]].color;
          g.fillRect(px, y, max(w, 0.5), SEG_ROW - 6);
          if (b === use[p.seg].pin) {
            g.fillStyle = color.ink;
            g.fillRect(px, y + SEG_ROW - 5, max(w, 3), 2);
          }
        }
        g.strokeStyle = p.seg === at ? color.ink : color.soft;
        g.lineWidth = p.seg === at ? 2 : 0.5;
        if (!flat || p.seg === at) g.strokeRect(p.x + 0.25, y + 0.25, max(p.w - 0.5, 0.5), SEG_ROW - 6.5);
      }
    };
    /** @param {number} seg @param {number} place of the pointer, -1: keys lead there */
    const say = (seg, place) => {
      const s = segs[seg], { live, pin } = use[seg], b = place < 0 ? pin : s.blocks.find(q => place >= bAddr[q] && place < bAddr[q] + bSize[q]) ?? -1;
      pSet(said, `Segment at 0x${s.addr.toString(16)}, ${sites.lanes[s.lane]}: ${fmtBytes(s.size)}, ${fmtBytes(live)} live in ${fmtMany(s.blocks.length, "block")}` +
        (b < 0 ? "." : `. ${place < 0 ? "Held by" : "Here"}: ${fmtBytes(bSize[b])} of ${roles[sites.role[bSite[b]]].name}, ${sites.label(bSite[b]) || "no stack recorded"}.`));
      if (at !== seg) {
        at = seg;
        draw();
      }
    };
    draw();
    return canvas;
  };

  /** Those at the cursor, those of one pool and stream together, the largest first. */
  const now = () => {
    const { track } = view, op = track.opOfEvent(view.cursor);
    return /** @type {Segment[]} */ (op < 0 ? [] : segmentsAt(track, op) || []).sort((a, b) => a.lane - b.lane || b.size - a.size || a.addr - b.addr);
  };
  /** @param {Segment[]} segs */
  const wordsOf = (segs) => {
    const { bSize } = /** @type {any} */ (view.track.exact), total = sizeOf(segs), free = segs.reduce((sum, s) => sum - segmentUse(s, bSize).live, total);
    return `${fmtBytes(total)} in ${fmtMany(segs.length, "segment")}, ${fmtBytes(free)} of it (${fmtPercent(free, total)}) not in use.`;
  };
  const laterStrip = strip && pFollow(strip, view, 40, ["track", "cursor"], () => {
    const segs = now(), [where, p] = strip.children;
    strip.hidden = view.track.exact && !segs.length;
    const width = where.clientWidth; // 0 while it is hidden
    if (segs.length) { // on the scale of the most that was ever held
      pSet(p, `Segments: ${wordsOf(segs)}`);
      pSet(where, map(segs, /** @type {any} */ (view.track.exact).reserved.bytes.reduce((/** @type {number} */ m, /** @type {number} */ v) => max(m, v), sizeOf(segs)) / width, width, "the strip", p, true));
    }
    return segs.length > 0;
  });
  const later = pFollow(section, view, 80, ["track", "cursor"], () => {
    const { track } = view, x = track.exact, sites = track.sites, segs = now();
    box.hidden = !segs.length;
    if (!x || !sites || box.hidden) return false;
    const total = sizeOf(segs), width = max(maps.clientWidth, 200), used = new Set();
    const /** @type {Segment[][]} */ lanes = [];
    for (const s of segs) {
      (lanes[s.lane] ??= []).push(s);
      for (const b of s.blocks) used.add(sites.role[x.bSite[b]]);
    }
    pSet(words, `${momentStart(track, view.cursor)}: ${wordsOf(segs)}`);
    pSet(legend, ...[...used].sort((a, b) => a - b).map(r => pEl("span", pSwatch(roles[r].color), roles[r].name)));
    pSet(saying, "");
    const shown = Object.values(lanes).sort((a, b) => sizeOf(b) - sizeOf(a));
    pSet(maps, ...shown.slice(0, 24).map(list => {
      const name = sites.lanes[list[0].lane];
      return pEl("figure", pEl("figcaption", `${name}: ${fmtBytes(sizeOf(list))} in ${fmtMany(list.length, "segment")}`),
        map(list, max(total / (width * 24), 4096), width, name, saying));
    }));
    if (shown.length > 24) maps.append(pEl("p.note", `${shown.length - 24} more pools and streams are not drawn.`));
    return true;
  });
  const both = () => { later(); laterStrip?.(); };
  pFill(document, { "mt-theme": both });
  pFill(window, { resize: both });
};
