// What lies around the picture: axes, lines, the bands of phases and ranges, flags of findings, the peak and errors.
import { rgbOf } from "./draw.js";
import { outerOf, stretchAt } from "./groups.js";
import { byteAxis, eventOfX, spanTicks } from "./layout.js";
import { clamp, floor, lowerBound, max, min, round } from "./math.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** The picture's size and what lies below it, in CSS pixels from its upper left corner; `steps` of the axis of bytes at most.
 *  @typedef {{w: number, h: number, band: number, lanes: number, laneAt: number, bottom: number, steps: number}} Box */
/** @typedef {{ink: string, soft: string, line: string, card: string, oom: string, edge: string, fill: string, warn: string}} Theme */
/** request: of one that failed, heights in bytes: what was live, what PyTorch had reserved, what was in use on the device, the request on top of that,
 *  where the device ends, and for what of it the picture has room.
 *  @typedef {{from: number, to: number, text: string, kind: string, request?: number[]}} Flag */
/** One in view; y: as far down as it is all there is to see. @typedef {Flag & {x: number, y: number}} Seen */
/** What is drawn with, and where. @typedef {{g: CanvasRenderingContext2D, box: Box, view: View, c: Theme}} Pen */
/** A rectangle that has a name. @typedef {{x: number, y: number, w: number, text: string}} Named */

const MARK_FONT = "11px system-ui, sans-serif", FLAG_FONT = "600 12px system-ui, sans-serif";

/** @returns {Theme} the colours of the page as they are now */
export const themeNow = () => {
  const css = getComputedStyle(document.documentElement);
  return /** @type {any} */ (Object.fromEntries("ink soft line card oom edge fill warn".split(" ").map((name) => [name, css.getPropertyValue(`--${name}`).trim()])));
};

/** Puts an element over a part of an axis, as far as that is in sight. @param {HTMLElement} el @param {number[]} axis from, to
 *  @param {number} a NaN: nowhere @param {number} [b] */
export const showSpan = (el, [lo, hi], a, b = a) => {
  const at = (/** @type {number} */ x) => clamp((x - lo) / (hi - lo), 0, 1) * 100;
  el.hidden = !(b >= lo && a <= hi);
  el.style.left = `${at(a)}%`;
  el.style.width = `${at(b) - at(a)}%`;
};

/** @param {CanvasRenderingContext2D} g @param {string} color @param {number} x @param {number} y @param {number} w @param {number} h @param {number} [alpha] */
const rect = (g, color, x, y, w, h, alpha = 1) => {
  g.globalAlpha = alpha;
  g.fillStyle = color;
  g.fillRect(x, y, w, h);
  g.globalAlpha = 1;
};

/** @param {CanvasRenderingContext2D} g @param {string} color @param {string} text @param {number} x @param {number} y @param {CanvasTextAlign} [align] */
const write = (g, color, text, x, y, align = "center") => {
  g.fillStyle = color;
  g.textAlign = align;
  g.textBaseline = "middle";
  g.fillText(text, x, y);
};

/** Pixels from the left of the picture. @param {Pen} pen @param {number} x */
const pxOf = ({ box, view }, x) => ((x - view.lo) / (view.hi - view.lo)) * box.w;

/** Pixels of an event. @param {Pen} pen @param {number} event */
const pxOfEvent = (pen, event) => pxOf(pen, pen.view.xOf(event));

/** @param {Pen} pen @param {number} top of the bytes */
export const drawAxes = (pen, top) => {
  const { g, box: { w, h, bottom, steps }, view, c } = pen, bytes = byteAxis(top, steps), time = view.axis === "t";
  g.font = "12px system-ui, sans-serif";
  for (const t of bytes.ticks) {
    const y = round(h - (t.at / top) * h);
    if (y < -1) continue;
    write(g, c.soft, t.label, -7, y + 0.5, "right");
    rect(g, c.line, 0, y, w, 1, 0.5);
  }
  write(g, c.soft, bytes.unit, -7, -14, "right");
  let free = -99;
  for (const t of spanTicks(view.lo, view.hi, time ? 1 / view.track.seconds(1) : 1, max(3, floor(w / 110)), time)) {
    const x = pxOf(pen, t.at), half = g.measureText(t.label).width / 2, at = clamp(x, half - 20, w - half + 8);
    rect(g, c.line, round(x), bottom, 1, 4);
    if (at - half < free) continue; // deep in a long run they are long
    write(g, c.soft, t.label, at, bottom + 13);
    free = at + half + 6;
  }
};

/** A line over the columns, as steps; NaN leaves a gap. @param {Pen} pen @param {ArrayLike<number>} v @param {number} top
 *  @param {string} color @param {number} width @param {number[]} [dash] */
export const drawLine = ({ g, box }, v, top, color, width, dash = []) => {
  const step = box.w / v.length;
  let last = NaN;
  g.beginPath();
  for (let i = 0; i < v.length; i++) {
    const y = box.h - (v[i] / top) * box.h, x = i * step;
    if (Number.isNaN(last)) g.moveTo(x, y);
    else if (y !== last) {
      g.lineTo(x, last);
      g.lineTo(x, y); // to NaN, none
    }
    last = y;
  }
  g.lineTo(box.w, last);
  g.strokeStyle = color;
  g.lineWidth = width;
  g.setLineDash(dash);
  g.stroke();
  g.setLineDash([]);
};

/** Text within a rectangle, or none where it does not fit. @param {CanvasRenderingContext2D} g @param {string} text
 *  @param {number} x @param {number} w @param {number} y @param {string} color */
const writeIn = (g, text, x, w, y, color) => {
  if (w >= 26 && g.measureText(text).width <= w - 6) write(g, color, text, x + w / 2, y);
};

/** Black or white, whichever reads better on a colour. @param {string} hex */
const inkOn = (hex) => {
  const [r, g, b] = rgbOf(hex);
  return r * 0.299 + g * 0.587 + b * 0.114 > 140 ? "#000" : "#fff";
};

/** The phases: coarse ones with their names, and below them, thin, what happens inside. In greys, so that a colour in the picture is a role; but in the
 *  red of errors the one where a request failed. What is stacked by phase has the colours of the phases. @param {Pen} pen */
export const drawPhases = ({ g, box, view, c }) => {
  const { track, by } = view, s = track.phases?.stretches, oom = track.meta.marks.find((m) => m.kind === "oom");
  if (!s?.n) return;
  const failed = oom ? stretchAt(track, oom.from) : -1, placeOf = (/** @type {number} */ i, /** @type {boolean} */ fine) => i < 0 ? -1 : fine ? s.sub[i] - 1 : outerOf(s.phase[i], s.sub[i]);
  const w = floor(box.w), unit = (view.hi - view.lo) / w;
  g.font = MARK_FONT;
  const at = Int32Array.from({ length: w }, (_, x) => stretchAt(track, view.eventAt(view.lo + (x + 0.5) * unit)));
  for (const fine of [false, true]) {
    const y = fine ? box.band + 15 : box.band;
    for (let from = 0, was = -1, x = 0; x <= w; x++) {
      const i = x < w ? at[x] : -1, now = placeOf(i, fine);
      if (now === was) continue;
      if (was >= 0) {
        const { color, name } = track.index.phases[was];
        if (by === "phase") rect(g, color, from, y, x - from, fine ? 5 : 14);
        else {
          rect(g, was === placeOf(failed, fine) ? c.oom : c.soft, from, y, x - from, fine ? 5 : 14, 0.24);
          rect(g, c.card, from, y, 1, fine ? 5 : 14); // where one ends the next begins
        }
        if (!fine) writeIn(g, name, from, x - from, y + 7.5, by === "phase" ? inkOn(color) : c.ink);
      }
      from = x;
      was = now;
    }
  }
};

/** Begin and end of the ranges on an axis; in events they are found once, and again when the exact ones are there.
 *  @param {Track} track @param {import("./tables.js").Phases["ranges"]} r @param {"t"|"e"} axis @returns {ArrayLike<number>[]} */
const rangeEnds = (track, r, axis) => axis === "t" ? [r.t0, r.t1] : r[track.exact ? "known" : "about"] ??= [r.t0, r.t1].map((v) => v.map((t) => eventOfX(track, t, "t")));

/** Annotations and NVTX ranges, a lane for each depth. @param {Pen} pen @returns {Named[]} what is to be seen of them */
export const drawRanges = (pen) => {
  const { g, box, view, c } = pen, { track, axis } = view, r = track.phases?.ranges, out = /** @type {Named[]} */ ([]);
  if (!r) return out;
  const last = new Float64Array(box.lanes).fill(-1), [begin, end] = rangeEnds(track, r, axis);
  g.font = MARK_FONT;
  for (let i = 0; i < r.n && begin[i] < view.hi; i++) {
    const lane = r.lane[i];
    if (lane >= box.lanes || end[i] <= view.lo) continue;
    const a = max(pxOf(pen, begin[i]), 0), b = min(pxOf(pen, end[i]), box.w);
    if (b - a < 1 && b <= last[lane]) continue;
    const x = max(a, last[lane]), w = max(b - x, 1), y = box.laneAt + lane * 14, text = r.name[i];
    last[lane] = x + w;
    rect(g, c.fill, x, y, w, 13);
    rect(g, c.soft, x, y, 1, 13);
    writeIn(g, text, x, w, y + 7, c.ink);
    out.push({ x, y, w, text });
  }
  return out;
};

/** Where steps begin: light lines through the picture. @param {Pen} pen */
export const drawSteps = (pen) => {
  const { g, box, view, c } = pen, s = view.track.phases?.steps;
  if (!s) return;
  const a = lowerBound(s.first, view.eventAt(view.lo)), b = lowerBound(s.first, view.eventAt(view.hi) + 1);
  if (b - a > box.w / 30) return;
  for (let i = a; i < b; i++) {
    const x = round(pxOfEvent(pen, s.first[i]));
    for (let y = 0; y < box.h; y += 6) rect(g, c.ink, x, y, 1, 2, 0.35);
  }
};

/** Triangles and flags above the picture, and at errors a dashed line, because a full one would hide the one column that it marks.
 *  Where the request is drawn it ends there. @param {Pen} pen @param {Flag[]} flags @param {number} top of the bytes @returns {Seen[]} those in view */
export const drawFlags = (pen, flags, top) => {
  const { g, box, c } = pen, taken = /** @type {number[][]} */ ([]), at = (/** @type {number} */ bytes) => (1 - bytes / top) * box.h,
    seen = flags.map((f) => ({ ...f, x: pxOfEvent(pen, f.from), y: f.request ? at(f.request[0]) : 0 })).filter((f) => f.x >= -1 && f.x <= box.w + 1);
  g.font = FLAG_FONT;
  for (const { kind, x, request } of seen) {
    const oom = kind === "oom", peak = kind === "peak", shape = peak ? [0, 3, -6, -6, 6, -6] : oom ? [1, -12, 10, -8, 1, -4] : [0, 3, -4, -3, 0, -9, 4, -3];
    const color = peak ? c.ink : oom ? c.oom : c.warn;
    for (let y = -16; oom && y < (request ? at(request[3]) : box.h); y += 10) rect(g, color, x - 1, y, 2, y < 0 ? 10 : 4);
    g.fillStyle = color;
    g.beginPath();
    for (let i = 0; i < shape.length; i += 2) g.lineTo(x + shape[i], shape[i + 1] - 4);
    g.fill();
  }
  // Names for errors first, then for the peak, where there is room.
  for (const kind of ["oom", "peak"]) for (const f of seen) {
    const label = f.text.replace(/,.*/, ""), w = g.measureText(label).width, from = f.x + 12 + w > box.w ? f.x - 12 - w : f.x + 12;
    if (f.kind !== kind || from < -20 || taken.some(([a, b]) => from < b + 14 && from + w > a - 14)) continue;
    write(g, kind === "oom" ? c.oom : c.ink, label, from, -16, "left");
    taken.push([from, from + w]);
  }
  return seen;
};

/** Numbers of the steps that led to a failure, at their moments; of those outside the picture, at its edge. @param {Pen} pen @param {{event: number, text: string}[]} story @returns {Seen[]} */
export const drawStory = (pen, story) => {
  const { g, box, c } = pen, r = 8;
  let free = 0;
  g.font = "600 11px system-ui, sans-serif";
  return story.map(({ event, text }, i) => {
    const at = pxOfEvent(pen, event), x = clamp(max(at, free), r, box.w + 4), y = 12;
    free = x + 2 * r + 2;
    if (at >= 0 && at <= box.w) rect(g, c.ink, round(at), y, 1, box.h - y, 0.45);
    g.beginPath();
    g.arc(x, y, r, 0, 7);
    g.fillStyle = c.card;
    g.fill();
    g.strokeStyle = c.ink;
    g.lineWidth = 1.5;
    g.setLineDash(at < 0 || at > box.w ? [2, 2] : []);
    g.stroke();
    g.setLineDash([]);
    write(g, c.ink, `${i + 1}`, x, y + 0.5);
    return { from: event, to: event, kind: "step", text: `${i + 1}. ${text}`, x, y: y + r };
  });
};
