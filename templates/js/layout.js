// Where things are: scales with their ticks, events and times to pixels, and which state each pixel column shows.

import { K_FREE } from "./kinds.js";
import { FMT_UNITS, fmtCount } from "./format.js";
import { eventOfOp } from "./query.js";
import { abs, ceil, clamp, floor, lowerBound, max, min, round } from "./math.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./tables.js").Overview} Overview */
/** @typedef {{at: number, label: string}} Tick */

/** The least of 1, 2, 5, 10, 20 ... that is not below v. @param {number} v */
const niceStep = (v) => {
  const p = 10 ** floor(Math.log10(v));
  return p * ([1, 2, 5].find((f) => v <= p * f) || 10);
};

/** The axis of bytes from 0, in one binary unit. @param {number} bytes @param {number} n at most so many steps
 *  @returns {{top: number, unit: string, ticks: Tick[]}} */
export const byteAxis = (bytes, n) => {
  let u = 0;
  while (u < 4 && bytes >= 1024 ** (u + 1)) u++;
  const unit = 1024 ** u, want = bytes / unit / n, step = (u && [0.25, 0.5].find((v) => v >= want)) || max(1, niceStep(want));
  const count = max(ceil(bytes / unit / step), 1), digits = step < 0.5 ? 2 : step < 1 ? 1 : 0;
  return { top: count * step * unit, unit: FMT_UNITS[u], ticks: Array.from({ length: count + 1 }, (_, i) => ({ at: i * step * unit, label: (i * step).toFixed(digits) })) };
};

/** Ticks of [lo, hi] where 1 s, or one event, is `unit` long: all in one unit, and no two with the same words.
 *  @param {number} lo @param {number} hi @param {number} unit @param {number} n @param {boolean} seconds @returns {Tick[]} */
export const spanTicks = (lo, hi, unit, n, seconds) => {
  const far = max(abs(lo), abs(hi)) / unit, small = !seconds || far >= 1 ? 0 : far >= 1e-3 ? 1 : 2;
  const one = unit / 1000 ** small, w = (hi - lo) / one;
  if (!(w > 0) || n < 1) return [];
  const step = seconds ? niceStep(w / n) : max(1, round(niceStep(w / n)));
  const digits = clamp(-floor(Math.log10(step) + 1e-9), 0, 12), ticks = /** @type {Tick[]} */ ([]), from = ceil(lo / one / step - 1e-6), to = hi / one / step + 1e-6;
  for (let k = 0; k < 100 && from + k <= to; k++) {
    const v = (from + k) * step;
    ticks.push({ at: clamp(v * one, lo, hi), label: seconds ? `${v.toFixed(digits)} ${["s", "ms", "\u00b5s"][small]}` : fmtCount(v) });
  }
  return ticks;
};

/** The running number of events before each bucket, and of all. @param {Overview} o */
const eventSums = (o) => {
  let sum = 0;
  return o.sums ??= Float64Array.from([0, ...o.events], (n) => (sum += n));
};

/** True where the exact events hold this one. @param {Track} track @param {number} event */
export const hasExact = (track, event) => track.opOfEvent(event) >= 0;

/** Where an event lies on the axis: to the bucket where there is only the overview.
 *  @param {Track} track @param {number} event @param {"t"|"e"} axis @returns {number} */
export const xOfEvent = (track, event, axis) => {
  if (axis === "e") return max(event, 0);
  if (event < 0) return 0;
  const e = track.exact, at = track.opOfEvent(event);
  // The request of a whole free has the time of the free.
  if (e && at >= 0) return track.xOf(e.kind[at + 1] === K_FREE && e.event[at + 1] === event + 1 ? at + 1 : at, "t");
  const o = track.overview.t;
  if (!o) return 0;
  const i = clamp(lowerBound(eventSums(o), event + 1) - 1, 0, o.n - 1);
  return o.x0 + ((o.x1 - o.x0) * (i + 0.5)) / o.n;
};

/** The last event at or before x. @param {Track} track @param {number} x @param {"t"|"e"} axis @returns {number} */
export const eventOfX = (track, x, axis) => {
  const o = track.overview.t, e = track.exact;
  let event = axis === "e" ? floor(x) : -1;
  if (axis === "t" && o) {
    const place = ((x - o.x0) / (o.x1 - o.x0 || 1)) * o.n, i = clamp(floor(place), 0, o.n - 1);
    event = round(eventSums(o)[i] + o.events[i] * clamp(place - i, 0, 1)) - 1;
  }
  const run = axis === "t" && runOfX(track, x, axis);
  if (run && e?.xs.t) {
    event = eventOfOp(e, max(lowerBound(e.xs.t, x + 0.001, run.op0, run.op1) - 1, run.op0));
  }
  return clamp(event, -1, track.meta.events - 1);
};

/** The stretch of the axis, in ticks or events, of which a run knows every state. @param {Track} track
 *  @param {import("./exact.js").Run} r @param {ArrayLike<number>} xs @returns {[number, number]} */
const reachOf = (track, r, xs) => [r.first === 0 ? -Infinity : xs[r.op0], r.first + r.events >= track.meta.events ? Infinity : xs[r.op1 - 1]];

/** @param {Track} track @param {number} at @param {"t"|"e"} axis */
export const runOfX = (track, at, axis) => {
  const e = track.exact, xs = e?.xs[axis];
  return e && xs ? e.runs.find((r) => {
    const [begin, end] = reachOf(track, r, xs);
    return r.op1 > r.op0 && at >= begin && at <= end;
  }) : undefined;
};

/**
 * What each column shows: op is the operation after whose end it is, NO_OP where only the overview knows;
 * from/to: the operations in the column, `to` exclusive.
 * @typedef {{lo: number, hi: number, n: number, op: Int32Array, from: Int32Array, to: Int32Array, events: number,
 *   most: number, live: number, exact: boolean}} Columns
 */
export const NO_OP = -1;
/** By kind of operation: whether a block is born or goes. */
export const SIGN = Int8Array.of(1, -1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0);

/** Each column gets its highest instant: of the states that hold in it, the one it comes in with included.
 *  @param {Track} track @param {"t"|"e"} axis @param {number} lo @param {number} hi @param {number} n
 *  @param {boolean} [bare] without the exact events @returns {Columns} */
export const columnsOf = (track, axis, lo, hi, n, bare) => {
  const c = {
    lo, hi, n, op: new Int32Array(n).fill(NO_OP), from: new Int32Array(n), to: new Int32Array(n), events: 0, most: 0, live: 0,
    exact: false,
  };
  const e = track.exact, xs = e?.xs[axis];
  if (!e || !xs || bare) return c;
  const { total, kind } = e, w = (hi - lo) / n;
  for (const r of e.runs) {
    if (r.op1 <= r.op0) continue;
    const [begin, end] = reachOf(track, r, xs);
    if (end < lo || begin >= hi) continue;
    let i = lowerBound(xs, lo, r.op0, r.op1), live = 0;
    const first = i, lastCol = min(n - 1, floor((end - lo) / w));
    for (let col = max(0, floor((begin - lo) / w)); col <= lastCol; col++) {
      const limit = col === n - 1 ? floor(hi) + 1 : lo + (col + 1) * w, from = i; // positions are whole numbers: up to hi, hi included
      let best = max(i - 1, r.op0), top = total[best];
      for (; i < r.op1 && xs[i] < limit; i++) {
        if (total[i] > top) {
          top = total[i];
          best = i;
        }
        live += SIGN[kind[i]];
        if (live > c.live) c.live = live;
      }
      if (top > c.most) c.most = top;
      c.op[col] = best;
      c.from[col] = from;
      c.to[col] = i;
    }
    const done = (/** @type {number} */ op) => op > r.op0 ? e.event[op] + 1 : r.first;
    if (i > first) c.events += done(i - 1) - done(max(first - 1, r.op0));
  }
  c.exact = !c.op.includes(NO_OP);
  return c;
};

/** For each column the bucket of the overview with the highest instant, of those that lie in it.
 *  @param {Overview} o @param {number} lo in ticks or events @param {number} hi @param {number} n @returns {Int32Array} */
export const bucketsOf = (o, lo, hi, n) => {
  const out = new Int32Array(n), w = (hi - lo) / n, scale = o.n / (o.x1 - o.x0 || 1);
  for (let col = 0; col < n; col++) {
    const a = clamp(floor((lo + col * w - o.x0) * scale), 0, o.n - 1);
    const b = clamp(ceil((lo + (col + 1) * w - o.x0) * scale) - 1, a, o.n - 1);
    let best = a;
    for (let i = a + 1; i <= b; i++) if (o.high[i] > o.high[best]) best = i;
    out[col] = best;
  }
  return out;
};

/** What column x shows, shown by `wide` columns where those beside it are lower: a moment that matters is not to be looked for.
 *  @param {Int32Array} cells what each column shows @param {ArrayLike<number>} high of what may be shown @param {number} x @param {number} wide */
export const widen = (cells, high, x, wide) => {
  const it = cells[x];
  if (it === undefined) return;
  let from = x, to = x;
  while (cells[from - 1] === it) from--;
  while (cells[to + 1] === it) to++;
  for (let was = -1; was !== to - from && to - from + 1 < wide; ) {
    was = to - from;
    if (high[cells[from - 1]] < high[it]) cells[--from] = it;
    if (high[cells[to + 1]] < high[it]) cells[++to] = it;
  }
};

/** The highest of a series of steps in each column. @param {{op: Uint32Array, bytes: Float64Array}} steps @param {Columns} c
 *  @returns {Float64Array} NaN where there is only the overview */
export const stepsOf = (steps, c) => {
  const out = new Float64Array(c.n).fill(NaN);
  let i = -1;
  for (let col = 0; col < c.n; col++) {
    if (c.op[col] === NO_OP) continue;
    if (i < 0) i = lowerBound(steps.op, c.from[col]);
    while (i < steps.op.length && steps.op[i] < c.from[col]) i++; // a gap between two runs
    let top = i > 0 ? steps.bytes[i - 1] : 0;
    for (; i < steps.op.length && steps.op[i] < c.to[col]; i++) top = max(top, steps.bytes[i]);
    out[col] = top;
  }
  return out;
};
