// What lies around the picture: axes, lines, the bands of phases and ranges, flags of findings, the peak and errors.
import { fmtBytes } from "./format.js";
import { stretchAt } from "./groups.js";
import { byteAxis, eventOfX, lowerBound, spanTicks, xOfEvent } from "./layout.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Index} Index */
/** Where things are on the canvas, in CSS pixels. @typedef {{left: number, top: number, width: number, height: number,
 *   band: number, lanes: number, laneAt: number, bottom: number}} Box */
/** @typedef {{ink: string, soft: string, line: string, page: string, oom: string, edge: string, fill: string, warn: string}} Theme */
/** @typedef {{x: number, event: number, to: number, text: string, kind: string}} Flag */

const MARK_FONT = "12px system-ui, sans-serif";

/** @returns {Theme} the colours of the page as they are now */
export function themeNow() {
  const css = getComputedStyle(document.documentElement);
  return /** @type {Theme} */ (Object.fromEntries(["ink", "soft", "line", "page", "oom", "edge", "fill", "warn"].map((name) =>
    [name, css.getPropertyValue(`--${name === "page" ? "card" : name}`).trim()])));
}

/** Pixels from the left of the canvas. @param {Box} box @param {View} view @param {number} x */
export function pxOf(box, view, x) { return box.left + ((x - view.lo) / (view.hi - view.lo)) * box.width; }

/** @param {CanvasRenderingContext2D} g @param {Box} box @param {View} view @param {Theme} c @param {number} top of the bytes */
export function drawAxes(g, box, view, c, top) {
  const { left, top: y0, width, height } = box, bytes = byteAxis(top, Math.max(2, Math.floor(height / 42))), base = y0 + height;
  g.font = MARK_FONT;
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (const t of bytes.ticks) {
    const y = Math.round(base - (t.at / top) * height) + 0.5;
    if (y < y0 - 1) continue;
    g.fillStyle = c.soft;
    g.fillText(t.label, left - 7, y);
    g.globalAlpha = 0.5;
    g.fillStyle = c.line;
    g.fillRect(left, y - 0.5, width, 1);
    g.globalAlpha = 1;
  }
  g.fillStyle = c.soft;
  g.fillText(bytes.unit, left - 7, y0 - 14);
  const time = view.axis === "t", unit = time ? 1 / view.track.seconds(1) : 1;
  g.textAlign = "center";
  let free = 0;
  for (const t of spanTicks(view.lo, view.hi, unit, Math.max(3, Math.floor(width / 110)), time)) {
    const x = pxOf(box, view, t.at), half = g.measureText(t.label).width / 2, at = Math.min(Math.max(x, left - 20 + half), left + width - half + 8);
    g.fillStyle = c.line;
    g.fillRect(Math.round(x), box.bottom, 1, 4);
    g.fillStyle = c.soft;
    if (at - half < free) continue; // deep in a long run they are long
    g.fillText(t.label, at, box.bottom + 13);
    free = at + half + 6;
  }
}

/** A line over the columns, as steps; NaN leaves a gap. @param {CanvasRenderingContext2D} g @param {Box} box
 *  @param {ArrayLike<number>} v @param {number} top @param {string} color @param {number} width @param {number[]} dash */
export function drawLine(g, box, v, top, color, width, dash) {
  const n = v.length, step = box.width / n, base = box.top + box.height;
  let open = false, last = NaN;
  g.beginPath();
  for (let i = 0; i < n; i++) {
    const y = base - (v[i] / top) * box.height, x = box.left + i * step;
    if (Number.isNaN(y)) {
      open = false;
    } else if (!open) {
      g.moveTo(x, y);
      open = true;
    } else if (y !== last) {
      g.lineTo(x, last);
      g.lineTo(x, y);
    }
    if (open && (i === n - 1 || Number.isNaN(v[i + 1]))) g.lineTo(x + step, y);
    last = y;
  }
  g.strokeStyle = color;
  g.lineWidth = width;
  g.setLineDash(dash);
  g.stroke();
  g.setLineDash([]);
}

/** Text within a rectangle, or none where it does not fit. @param {CanvasRenderingContext2D} g @param {string} text
 *  @param {number} x @param {number} w @param {number} y @param {string} color */
function textIn(g, text, x, w, y, color) {
  if (w < 26 || g.measureText(text).width > w - 6) return;
  g.fillStyle = color;
  g.fillText(text, x + w / 2, y);
}

/** Black or white, whichever reads better on a colour. @param {string} hex */
function inkOn(hex) {
  const v = parseInt(hex.slice(1), 16) || 0;
  return (v >> 16) * 0.299 + ((v >> 8) & 255) * 0.587 + (v & 255) * 0.114 > 140 ? "#000" : "#fff";
}

/** The phases: coarse ones with their names, and below them, thin, what happens inside.
 *  @param {CanvasRenderingContext2D} g @param {Box} box @param {View} view @param {Index} index */
export function drawPhases(g, box, view, index) {
  const track = view.track, p = track.phases;
  if (!p || p.stretches.n === 0) return;
  const { phase, sub } = p.stretches, w = Math.floor(box.width), unit = (view.hi - view.lo) / w;
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "center";
  g.textBaseline = "middle";
  const at = Int32Array.from({ length: w }, (_, x) => stretchAt(track, eventOfX(track, view.lo + (x + 0.5) * unit, view.axis)));
  for (const fine of [false, true]) {
    let from = 0, was = -1;
    const y = fine ? box.band + 15 : box.band;
    for (let x = 0; x <= w; x++) {
      const i = x < w ? at[x] : -1;
      const now = i < 0 ? -1 : fine ? sub[i] - 1 : phase[i];
      if (now === was) continue;
      if (was >= 0) {
        const { color, name } = index.phases[was];
        g.fillStyle = color;
        g.fillRect(box.left + from, y, x - from, fine ? 5 : 14);
        if (!fine) textIn(g, name, box.left + from, x - from, y + 7.5, inkOn(color));
      }
      from = x;
      was = now;
    }
  }
}

/** Begin and end of the ranges in events: found once. @type {WeakMap<object, {exact: boolean, a: ArrayLike<number>, b: ArrayLike<number>}>} */
const rangeEvents = new WeakMap();

/** Begin and end of the ranges on an axis. @param {import("./track.js").Track} track @param {import("./tables.js").Phases["ranges"]} r
 *  @param {"t"|"e"} axis @returns {{a: ArrayLike<number>, b: ArrayLike<number>}} */
function rangeEnds(track, r, axis) {
  if (axis === "t") return { a: r.t0, b: r.t1 };
  let known = rangeEvents.get(r);
  if (!known || known.exact !== (track.exact !== null)) {
    const events = (/** @type {Float64Array} */ v) => v.map((t) => eventOfX(track, t, "t"));
    rangeEvents.set(r, (known = { exact: track.exact !== null, a: events(r.t0), b: events(r.t1) }));
  }
  return known;
}

/** Annotations and NVTX ranges, a lane for each depth. @param {CanvasRenderingContext2D} g @param {Box} box @param {View} view
 *  @param {Theme} c */
export function drawRanges(g, box, view, c) {
  const track = view.track, r = track.phases && track.phases.ranges;
  if (!r || box.lanes === 0) return;
  const scale = box.width / (view.hi - view.lo), last = new Float64Array(box.lanes).fill(-1), { a: begin, b: end } = rangeEnds(track, r, view.axis);
  g.font = "11px system-ui, sans-serif";
  for (let i = 0; i < r.n && begin[i] < view.hi; i++) {
    const lane = r.lane[i];
    if (lane >= box.lanes || end[i] <= view.lo) continue;
    const a = Math.max((begin[i] - view.lo) * scale, 0), b = Math.min((end[i] - view.lo) * scale, box.width);
    if (b - a < 1 && b <= last[lane]) continue;
    const x = Math.max(a, last[lane]), w = Math.max(b - x, 1), y = box.laneAt + lane * 14;
    last[lane] = x + w;
    g.fillStyle = c.fill;
    g.fillRect(box.left + x, y, w, 13);
    g.fillStyle = c.soft;
    g.fillRect(box.left + x, y, 1, 13);
    textIn(g, r.name[i], box.left + x, w, y + 7, c.ink);
  }
}

/** Where steps begin: light lines through the picture. @param {CanvasRenderingContext2D} g @param {Box} box @param {View} view
 *  @param {Theme} c */
export function drawSteps(g, box, view, c) {
  const { track } = view, s = track.phases && track.phases.steps;
  if (!s || s.n === 0) return;
  const a = lowerBound(s.first, eventOfX(track, view.lo, view.axis)), b = lowerBound(s.first, eventOfX(track, view.hi, view.axis) + 1);
  if (b - a > box.width / 30) return;
  g.fillStyle = c.ink;
  g.globalAlpha = 0.35;
  g.textAlign = "left";
  g.font = "11px system-ui, sans-serif";
  for (let i = a; i < b; i++) {
    const x = Math.round(pxOf(box, view, xOfEvent(track, s.first[i], view.axis)));
    for (let y = box.top; y < box.top + box.height; y += 6) g.fillRect(x, y, 1, 2);
  }
  g.globalAlpha = 1;
}

/** All flags of a track in the order of their moments. @param {import("./track.js").Track} track @returns {Omit<Flag, "x">[]} */
export function flagsOf(track) {
  const { peak, ooms, marks } = track.meta, out = [];
  if (peak.live > 0) out.push({ event: peak.event, to: peak.event, kind: "peak", text: `peak ${fmtBytes(peak.live)}` });
  for (const o of ooms) {
    out.push({ event: o.event, to: o.event, kind: "oom", text: `out of memory: asked for ${fmtBytes(o.request)}, ${fmtBytes(o.free)} free on the device${o.label ? `, by ${o.label}` : ""}` });
  }
  for (const m of marks) {
    if (m.kind === "peak" || (m.kind === "oom" && ooms.some((o) => o.event === m.from))) continue;
    out.push({ event: m.from, to: m.to, kind: m.kind, text: m.text });
  }
  return out.sort((a, b) => a.event - b.event);
}

/** Triangles and flags above the picture, because a line through it would hide the one column that it marks.
 *  @param {CanvasRenderingContext2D} g @param {Box} box @param {View} view @param {Theme} c @param {Omit<Flag, "x">[]} flags
 *  @returns {Flag[]} those in view */
export function drawFlags(g, box, view, c, flags) {
  const seen = /** @type {Flag[]} */ ([]), y = box.top - 4, taken = /** @type {[number, number][]} */ ([]);
  g.font = `600 ${MARK_FONT}`;
  g.textBaseline = "middle";
  for (const f of flags) {
    const x = pxOf(box, view, xOfEvent(view.track, f.event, view.axis));
    if (x < box.left - 1 || x > box.left + box.width + 1) continue;
    seen.push({ ...f, x });
    const oom = f.kind === "oom", shape = f.kind === "peak" ? [0, 3, -6, -6, 6, -6] : oom ? [1, -12, 10, -8, 1, -4] : [0, 3, -4, -3, 0, -9, 4, -3];
    g.fillStyle = f.kind === "peak" ? c.ink : oom ? c.oom : c.warn;
    if (oom) g.fillRect(x - 1, y - 12, 2, box.height + 16);
    g.beginPath();
    for (let i = 0; i < shape.length; i += 2) g.lineTo(x + shape[i], y + shape[i + 1]);
    g.fill();
  }
  // Names for errors first, then for the peak, where there is room.
  for (const f of [...seen].sort((a, b) => Number(b.kind === "oom") - Number(a.kind === "oom"))) {
    const { x } = f;
    const label = f.kind === "oom" ? f.text.replace(/,.*/, "") : f.kind === "peak" ? f.text : "", w = g.measureText(label).width;
    const left = x + 12 + w > box.left + box.width, from = left ? x - 12 - w : x + 12;
    if (!label || from < box.left - 20 || taken.some(([a, b]) => from < b + 14 && from + w > a - 14)) continue;
    g.fillStyle = f.kind === "oom" ? c.oom : c.ink;
    g.textAlign = "left";
    g.fillText(label, from, y - 12);
    taken.push([from, from + w]);
  }
  return seen;
}
