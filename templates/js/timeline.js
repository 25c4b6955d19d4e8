// The picture of memory over time: what a frame shows and when one is drawn. A page has one.
import { blockAt, inkOf, inksOf, matchedIn, paintExact, paintOverview, paintRequest, rgbOf, Stack } from "./draw.js";
import { parseFilter, unknownWord } from "./filter.js";
import { groupsOf } from "./groups.js";
import { bucketsOf, byteAxis, columnsOf, NO_OP, stepsOf, widen } from "./layout.js";
import { drawAxes, drawFlags, drawLine, drawPhases, drawRanges, drawSteps, drawStory, showSpan, themeNow } from "./marks.js";
import { floor, max, min, round } from "./math.js";
import { pAll, pCanvas, pFind } from "./panel_dom.js";
import { eventOfOp, liveAt, sumBy } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** A frame that was drawn. `reserved` and `used`: the highest of those lines; `seen`: flags in view; `named`: ranges in view.
 *  @typedef {{c: import("./layout.js").Columns, buckets: Int32Array|null, top: number, ms: number, rough: boolean, reserved: number, used: number,
 *    seen: import("./marks.js").Seen[], named: import("./marks.js").Named[]}} Frame */

// While the view moves, what is drawn exactly: at most so many events, and only what takes at most so many ms.
const TL_FAST = 150000, TL_MS = 24;
/** Where the picture begins on its canvas; to its right there are 12 pixels, below it 24. The style sheet has the same. */
export const LEFT = 58, TOP = 34;

/** @type {View} */
let view;
/** @type {HTMLCanvasElement} */
let base;
/** @type {HTMLElement} */
let over;
/** @type {() => void} */
let after;
/** @type {import("./draw.js").Groups} */
export let groups;
/** The last one. @type {Frame|null} */
export let frame = null;
/** Which blocks the search finds. @type {Uint8Array|null} */
export let match = null;
export let found = { error: /** @type {string|null} */ (null), blocks: 0 };
export const box = { w: 100, h: 100, band: 0, lanes: 0, laneAt: 0, bottom: 0, steps: 2 };
/** What the pointer does: the place that it is over, in the picture's pixels, and the range that it draws, in the axis. */
export const pointed = { hover: /** @type {{x: number, y: number}|null} */ (null), range: /** @type {number[]|null} */ (null) };

/** Of the picture, as it was when it last changed: to ask while a frame is made would lay out the page once more. */
export let size = [0, 0];
export const measure = () => { size = [over.clientWidth, over.clientHeight]; };

const plot = document.createElement("canvas");
/** @type {Stack} */
let stack;
/** @type {import("./draw.js").Inks} */
let inks;
/** Colours of the overview's groups. @type {Uint32Array} */
let plain;
/** Of what a failed request met. @type {number[]} */
let askInks;
/** @type {import("./marks.js").Theme} */
let theme;
/** @type {ImageData|null} */
let image = null;
let drawn = [0, 1], wanted = 0, moving = 0, pace = 0; // the part in `plot`; pace: ms per event of the exact frames so far

/** @param {View} v @param {HTMLElement} host @param {() => void} onFrame */
export const beginTimeline = (v, host, onFrame) => {
  view = v;
  base = pFind(".tl-base", host);
  over = pFind(".tl-over", host);
  after = onFrame;
  measure();
};

/** Forgets what depends on the track, its data or what it is stacked by. */
export const reset = () => {
  const { track, by } = view;
  groups = groupsOf(track, by);
  stack = new Stack(track, groups);
  recolor();
  search();
};

/** True where the overview knows the groups. */
const isGrouped = () => view.by !== "phase" && view.by !== "stack";

/** Bytes of each group at the cursor; null where they are not known. @returns {Float64Array|null} */
export const bytesAtCursor = () => {
  const { track, cursor, by, overview: o } = view, out = new Float64Array(groups.names.length), op = track.opOfEvent(cursor), x = view.xOf(cursor);
  if (o && by === "owner") return out.map((_, g) => o.groups[g][bucketsOf(o, x, x, 1)[0]]);
  if (op < 0) return null;
  for (const [g, { bytes }] of sumBy(track, liveAt(track, op), groups.of)) out[g] = bytes;
  return out;
};

export const recolor = () => {
  theme = themeNow();
  const page = rgbOf(theme.card);
  inks = inksOf(groups, view.track.sites?.stack || new Uint32Array(0), page, rgbOf(theme.ink));
  askInks = [theme.ink, theme.soft, theme.soft, theme.oom].map((c, i) => inkOf(rgbOf(c), page, i === 1 ? 0.35 : 1, 1));
  plain = isGrouped() ? inks.group : Uint32Array.of(inkOf([154, 163, 173], page, 1, 1));
};

/** Which blocks the search finds. */
export const search = () => {
  const { track, query } = view, { error, mask } = parseFilter(query);
  match = track.exact && mask ? mask(track) : null;
  const blocks = match ? match.reduce((n, is) => n + is, 0) : 0;
  found = { error: error ?? (match && !blocks ? unknownWord(track, query) : null), blocks };
};

/** Sizes of the canvas, and where on it things are. @returns {boolean} false while there is no room */
const place = () => {
  const [w, h] = size, p = view.track.phases;
  if (w < 150 || h < 120) return false;
  box.w = w - LEFT - 12;
  box.bottom = h - TOP - 24;
  box.lanes = p ? min(3, p.ranges.lane.reduce((m, l) => max(m, l + 1), 0)) : 0;
  box.laneAt = box.bottom - box.lanes * 14 - 2;
  box.band = box.laneAt - (p?.stretches.n ? 24 : 2);
  box.h = box.band - 4;
  box.steps = max(2, floor(box.h / 42));
  return box.h > 30;
};

/** Asks for a frame. @param {boolean} move an exact one follows when the movement stops */
export const draw = (move = false) => {
  if (move) {
    clearTimeout(moving);
    moving = setTimeout(() => {
      moving = 0;
      if (frame?.rough) draw();
    }, 80 + min(inView() * pace, 400)); // a longer frame waits for a longer rest
  }
  wanted ||= requestAnimationFrame(() => {
    wanted = 0;
    paint();
  });
};

const inView = () => view.eventAt(view.hi) - view.eventAt(view.lo);

/** The top of the picture: where an axis ends, or half a step below. @param {number} bytes */
const niceTop = (bytes) => {
  const { top, ticks } = byteAxis(bytes, box.steps), half = ticks[1].at / 2;
  return top - bytes > half ? top - half : top;
};

export const paint = () => {
  const { track, axis, lo, hi, by, exact: e, overview: o } = view, t0 = performance.now(), g = place() ? pCanvas(base, ...size) : null, last = frame;
  if (!g) return;
  const dpr = devicePixelRatio || 1, w = round(box.w * dpr), h = round(box.h * dpr), pen = { g, box, view, c: theme };
  // A frame of the exact events would take too long in a movement.
  const rough = Boolean(moving && e && inView() > min(TL_FAST, TL_MS / pace));
  g.translate(LEFT, TOP);
  if (rough && last && by !== "role") { // stretched for the moment: only roles have an overview
    const k = plot.width / (drawn[1] - drawn[0]);
    g.drawImage(plot, (lo - drawn[0]) * k, 0, (hi - lo) * k, plot.height, 0, 0, box.w, box.h);
    frame = { ...last, rough };
    drawAxes(pen, last.top);
  } else {
    const c = columnsOf(track, axis, lo, hi, w, rough || !e), cap = track.meta.capacity;
    const buckets = o && !c.exact ? bucketsOf(o, lo, hi, w) : null;
    const wide = round(11 * dpr), asks = /** @type {[number[], number][]} */ ([]);
    for (const { kind, from, request } of track.meta.marks) if (/oom|peak/.test(kind)) {
      const x = floor(((view.xOf(from) - lo) / (hi - lo)) * w);
      if (e) widen(c.op, e.total, x, wide);
      if (buckets && o) widen(buckets, o.high, x, wide);
      if (request && x >= 0 && x <= w) asks.push([request, x]);
    }
    /** A line: of the exact events, else of the overview. @param {import("./exact.js").Curve|null|undefined} curve @param {Float64Array|undefined} known */
    const line = (curve, known) => {
      const v = curve ? stepsOf(curve, c) : new Float64Array(w).fill(NaN);
      if (buckets && known) c.op.forEach((op, x) => { if (op === NO_OP) v[x] = known[buckets[x]]; });
      return v;
    };
    const most = (/** @type {Float64Array} */ v, from = 0) => v.reduce((m, b) => (b > m ? b : m), from);
    const reserved = line(e?.reserved, o?.reserved), pending = line(e && e.pending.op.length > e.runs.length ? e.pending : null, o?.pending), used = usedIn(c);
    // Lines far above what is live would press it flat: they leave the picture, and the legend says where they are.
    const live = most(line(null, o?.high), c.most), lines = [most(reserved), used ? most(used) : 0];
    const high = max(live, ...lines.filter((v) => v <= live * 3), ...asks.map(([r]) => r[5]));
    const top = rough && last ? last.top : niceTop(cap > high && cap < high * 1.5 ? cap * 1.02 : high * 1.03);
    if (plot.width !== w || plot.height !== h || !image) {
      plot.width = w;
      plot.height = h;
      image = new ImageData(w, h);
    }
    const px = new Uint32Array(image.data.buffer);
    px.fill(0);
    // A search cannot be told where there is only the overview: all of it fades.
    if (buckets && o) paintOverview({ of: buckets, bytes: isGrouped() ? o.groups : [o.high], colors: match ? plain.map(() => inks.fade) : plain }, c, px, h, h / top);
    if (e && !rough) paintExact(stack, c, px, h, h / top, inks, match, view.pin);
    for (const [request, x] of asks) paintRequest(request, x, wide, px, w, h, h / top, askInks);
    plot.getContext("2d")?.putImageData(image, 0, 0);
    drawn = [lo, hi];
    g.drawImage(plot, 0, 0, box.w, box.h);
    frame = { c, buckets, top, ms: 0, rough, reserved: lines[0], used: lines[1], seen: [], named: [] };
    drawAxes(pen, top);
    g.save();
    g.beginPath();
    g.rect(0, -2, box.w, box.h + 4);
    g.clip();
    const matched = match && matchedIn(track, c, match);
    for (const [v, color, width, dash] of /** @type {[Float64Array|null, string, number, number[]?][]} */ ([
      [reserved, theme.ink, 1.3, [5, 3]], [pending, theme.warn, 1.2, [2, 2]], [used, theme.edge, 1.5],
      // Where frees are missing, blocks stand in the picture that are long gone: the line says what was live.
      [track.meta.lost && e ? Float64Array.from(c.op, (op) => (op === NO_OP ? NaN : e.total[op])) : null, theme.ink, 1.2],
      [matched, theme.card, 3], [matched, theme.ink, 1.2],
    ])) if (v && most(v)) drawLine(pen, v, top, color, width, dash);
    if (cap > 0 && cap <= top) {
      g.fillStyle = theme.ink;
      g.fillRect(0, round((1 - cap / top) * box.h), box.w, 2);
    }
    g.restore();
  }
  drawSteps(pen);
  drawPhases(pen);
  frame.named = drawRanges(pen);
  frame.seen = [...drawFlags(pen, track.meta.marks, frame.top), ...drawStory(pen, track.meta.story)];
  frame.ms = performance.now() - t0;
  if (!rough && frame.c.exact) pace = (pace + frame.ms / max(frame.c.events, 5000)) / 2;
  drawOver();
  after();
};

/** What the driver says is used of the GPU, for the columns: only where the clocks are the same one. @param {import("./layout.js").Columns} c */
const usedIn = (c) => {
  const l = view.axis === "t" && view.by !== "owner" ? view.track.ledger : null, unit = (c.hi - c.lo) / c.n;
  return l && Float64Array.from(bucketsOf(l, c.lo, c.hi, c.n), (i, x) => {
    const at = c.lo + (x + 0.5) * unit;
    return at >= l.x0 && at < l.x1 ? l.high[i] : NaN;
  });
};

/** What changes with the pointer: cursors, selection, cross hair. */
export const drawOver = () => {
  const { lo, hi, mark, cursor, range } = view, at = (/** @type {number|null} */ ev) => ev === null ? NaN : view.xOf(ev), { hover } = pointed;
  const put = [pointed.range || range?.map(at) || [NaN], [at(mark)], [at(cursor)], [hover ? xAt(hover.x) : NaN]];
  over.classList.toggle("two", mark !== null);
  pAll("i", over).forEach((el, i) => showSpan(el, [lo, hi], put[i][0], put[i][1]));
};

/** The axis' value under a pixel of the picture. @param {number} px */
export const xAt = (px) => view.lo + (px / box.w) * (view.hi - view.lo);

/** What is under a point of the picture: the moment that its column shows, and the block there.
 *  @param {number} px @param {number} py @returns {{event: number, op: number, block: number|null, name: string, bytes: number}|null} */
export const hit = (px, py) => {
  const { exact: e, overview: o } = view;
  if (!frame || px < 0 || px > box.w || py < -30 || py > box.bottom) return null;
  const { c, buckets, top } = frame, col = min(c.n - 1, floor((px / box.w) * c.n)), op = c.op[col], bytes = py <= box.h ? (1 - py / box.h) * top : -1;
  const out = { event: view.eventAt(xAt(px)), op, block: /** @type {number|null} */ (null), name: "", bytes: 0 };
  if (op !== NO_OP && e) {
    out.event = eventOfOp(e, op);
    out.block = blockAt(stack, op, bytes);
    return out;
  }
  const i = buckets ? buckets[col] : -1;
  if (!o || i < 0) return out;
  out.event = o.event[i] ?? out.event;
  if (bytes < 0 || !isGrouped()) return out;
  let sum = 0;
  const k = o.groups.findIndex((of) => (sum += of[i]) > bytes);
  if (k >= 0) [out.name, out.bytes] = [groups.names[k], o.groups[k][i]];
  return out;
};
