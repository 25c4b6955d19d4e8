// The picture of memory over time: what a frame shows and when one is drawn.
import { blockAt, inksOf, matchedIn, paintExact, paintOverview, rgbOf, Stack, inkOf } from "./draw.js";
import { parseFilter } from "./filter.js";
import { groupsOf, ownerGroups } from "./groups.js";
import { bucketsOf, byteAxis, columnsOf, eventOfX, hasExact, NO_OP, overviewOf, stepsOf, xOfEvent } from "./layout.js";
import { drawAxes, drawFlags, drawLine, drawPhases, drawRanges, drawSteps, flagsOf, pxOf, themeNow } from "./marks.js";
import { pCanvas, pEl } from "./panel_dom.js";
import { liveAt } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Index} Index */
/** @typedef {import("./layout.js").Columns} Columns */
/** A frame that was drawn. `reserved` and `used`: the highest of those lines. @typedef {{c: Columns, buckets: Int32Array|null, top: number, ms: number, rough: boolean, reserved: number, used: number}} Frame */

// While the view moves, what is drawn exactly: at most so many events, and only what takes at most so many ms.
const TL_FAST = 150000, TL_MS = 24;

export class Timeline {
  /** @param {View} view @param {Index} index */
  constructor(view, index) {
    this.view = view;
    this.index = index;
    this.ledger = /** @type {{of: import("./tables.js").Ledger, t0: string}|null} */ (null);
    this.base = /** @type {HTMLCanvasElement} */ (pEl("canvas", { class: "tl-base", "aria-hidden": "true" }));
    this.over = /** @type {HTMLCanvasElement} */ (pEl("canvas", { class: "tl-over", tabindex: 0, role: "application", "aria-label": "Memory over time", "aria-describedby": "tl-said" }));
    this.plot = document.createElement("canvas");
    this.theme = themeNow();
    this.box = { left: 58, top: 34, width: 100, height: 100, band: 0, lanes: 0, laneAt: 0, bottom: 0 };
    this.frame = /** @type {Frame|null} */ (null);
    this.seen = /** @type {import("./marks.js").Flag[]} */ ([]);
    this.hover = /** @type {{x: number, y: number}|null} */ (null);
    this.select = /** @type {[number, number]|null} */ (null);
    this.wanted = 0;
    this.moving = 0;
    this.pace = 0; // ms per event of the exact frames so far
    this.after = /** @type {(() => void)[]} */ ([]);
    this.image = /** @type {ImageData|null} */ (null);
    this.drawn = { lo: 0, hi: 0 };
    this.match = /** @type {Uint8Array|null} */ (null);
    this.owners = /** @type {import("./tables.js").Overview|null} */ (null);
    this.found = { error: /** @type {string|null} */ (null), blocks: 0 };
    this.groups = groupsOf(view.track, index, view.by);
    this.stack = new Stack(view.track, this.groups);
    this.inks = inksOf(this.groups, new Uint32Array(0), [0, 0, 0], [0, 0, 0]);
    this.plain = this.roleInks = new Uint32Array(1);
    this.flags = flagsOf(view.track);
    this.reset();
  }

  /** Forgets what depends on the track, its data or what it is stacked by. */
  reset() {
    const { view, index } = this;
    this.owners = this.ownersNow();
    this.groups = this.owners ? ownerGroups(index) : groupsOf(view.track, index, view.by === "owner" ? "role" : view.by);
    this.stack = new Stack(view.track, this.owners ? groupsOf(view.track, index, "role") : this.groups);
    this.flags = flagsOf(view.track);
    this.recolor();
    this.search();
  }

  /** The ledger as an overview of this track's axis, while it is what the picture shows.
   *  @returns {import("./tables.js").Overview|null} */
  ownersNow() {
    const { ledger, view } = this, time = view.track.meta.time;
    if (!ledger || view.by !== "owner" || view.axis !== "t" || !time) return null;
    const { n, t0, t1, used, phase, holders } = ledger.of, none = new Float64Array(n).fill(NaN), shift = Number(BigInt(ledger.t0) - BigInt(time.t0_ns));
    const tick = (/** @type {number} */ us) => (us * 1000 + shift) / time.tick_ns;
    return { n, axis: "t", x0: tick(t0), x1: tick(t1), g: holders.length, events: none, high: used, low: used, reserved: none, pending: none, event: none, phase, groups: holders };
  }

  /** What the overview of the picture is. */
  get overview() { return this.owners || overviewOf(this.view.track, this.view.axis); }

  /** Bytes of each group at the cursor; null where they are not known. @returns {Float64Array|null} */
  bytesAtCursor() {
    const { track, cursor } = this.view, e = track.exact, out = new Float64Array(this.groups.names.length), o = this.owners;
    if (o) {
      const [i] = bucketsOf(o, xOfEvent(track, cursor, "t"), xOfEvent(track, cursor, "t"), 1);
      return out.map((_, g) => o.groups[g][i]);
    }
    if (!e || !hasExact(track, cursor)) return null;
    for (const b of liveAt(track, track.opOfEvent(cursor))) out[this.groups.of[e.bSite[b]]] += e.bSize[b];
    return out;
  }

  recolor() {
    const t = (this.theme = themeNow()), page = rgbOf(t.page), ink = rgbOf(t.ink);
    const stacks = this.view.track.sites ? this.view.track.sites.stack : new Uint32Array(0);
    const sites = this.owners ? groupsOf(this.view.track, this.index, "role") : this.groups;
    this.inks = inksOf(sites, stacks, page, ink);
    this.plain = Uint32Array.of(inkOf(rgbOf("#9aa3ad"), page, 1, 1));
    this.roleInks = Uint32Array.from((this.owners ? this.groups : groupsOf(this.view.track, this.index, "role")).colors, (c) => inkOf(rgbOf(c), page, 1, 1));
  }

  /** Which blocks the search finds. */
  search() {
    const { track, query } = this.view, f = query ? parseFilter(query) : null, e = track.exact;
    this.match = null;
    this.found = { error: f && f.error, blocks: 0 };
    if (!f || f.error || f.empty || !e) return;
    this.match = f.mask(track);
    this.found.blocks = this.match.reduce((n, hit) => n + hit, 0);
  }

  /** Sizes of the canvases, and where on them things are. @returns {boolean} false while there is no room */
  place() {
    const w = this.over.clientWidth, h = this.over.clientHeight, b = this.box;
    if (w < 150 || h < 120) return false;
    const p = this.view.track.phases, depth = p ? Math.min(3, p.ranges.lane.reduce((m, l) => Math.max(m, l + 1), 0)) : 0;
    b.width = w - b.left - 12;
    b.lanes = depth;
    b.bottom = h - 24;
    b.laneAt = b.bottom - depth * 14 - 2;
    b.band = b.laneAt - (p && p.stretches.n ? 24 : 2);
    b.height = b.band - 4 - b.top;
    return b.height > 30;
  }

  /** Asks for a frame. @param {boolean} moving an exact one follows when the movement stops */
  draw(moving = false) {
    if (moving) {
      clearTimeout(this.moving);
      this.moving = setTimeout(() => {
        this.moving = 0;
        if (this.frame && this.frame.rough) this.draw();
      }, 80 + Math.min(this.inView() * this.pace, 400)); // a longer frame waits for a longer rest
    }
    if (!this.wanted) {
      this.wanted = requestAnimationFrame(() => {
        this.wanted = 0;
        this.paint();
      });
    }
  }

  inView() {
    const { track, axis, lo, hi } = this.view;
    return eventOfX(track, hi, axis) - eventOfX(track, lo, axis);
  }

  /** True where a frame of the exact events would take too long in a movement. */
  isHeavy() { return this.moving !== 0 && this.view.track.exact !== null && this.inView() > Math.min(TL_FAST, TL_MS / this.pace); }

  paint() {
    const { view, box } = this, { track, axis, lo, hi } = view, t0 = performance.now(), g = this.place() ? pCanvas(this.base) : null;
    if (!g) return;
    const dpr = devicePixelRatio || 1, w = Math.max(1, Math.round(box.width * dpr)), h = Math.max(1, Math.round(box.height * dpr));
    const rough = this.isHeavy(), last = this.frame, o = this.overview;
    if (rough && last && view.by !== "role" && !this.owners) { // stretched for the moment: only roles have an overview
      const d = this.drawn, sx = box.width / (hi - lo);
      g.save();
      g.beginPath();
      g.rect(box.left, box.top, box.width, box.height);
      g.clip();
      g.drawImage(this.plot, box.left + (d.lo - lo) * sx, box.top, (d.hi - d.lo) * sx, box.height);
      g.restore();
      this.frame = { ...last, rough: true };
      drawAxes(g, box, view, this.theme, last.top);
    } else {
      const c = rough || this.owners ? { ...columnsOf(track, axis, 0, 0, 0), lo, hi, n: w, op: new Int32Array(w).fill(NO_OP), exact: false } : columnsOf(track, axis, lo, hi, w);
      const buckets = o && !c.exact ? bucketsOf(o, lo, hi, w) : null, live = this.lines(c, buckets, o);
      let most = c.most;
      for (let x = 0; x < w; x++) {
        if (buckets && o && c.op[x] === NO_OP) most = Math.max(most, o.high[buckets[x]]);
      }
      // Lines far above what is live would press it flat: they leave the picture, and the legend says where they are.
      const lines = [live.reserved, ...(live.used ? [live.used] : [])].map((v) => v.reduce((m, b) => (b > m ? b : m), 0)), far = most * 3;
      for (const v of lines) if (v <= far) most = Math.max(most, v);
      const cap = track.meta.capacity, room = cap > most && cap < most * 1.5 ? cap * 1.02 : most * 1.03;
      const top = rough && last ? last.top : this.niceTop(room);
      this.pixels(c, buckets, o, w, h, top, rough);
      g.drawImage(this.plot, box.left, box.top, box.width, box.height);
      this.frame = { c, buckets, top, ms: 0, rough, reserved: lines[0], used: lines[1] || 0 };
      drawAxes(g, box, view, this.theme, top);
      this.drawLines(g, c, live, top);
    }
    drawSteps(g, box, view, this.theme);
    drawPhases(g, box, view, this.index);
    drawRanges(g, box, view, this.theme);
    this.seen = drawFlags(g, box, view, this.theme, this.flags);
    this.frame.ms = performance.now() - t0;
    if (!rough && this.frame.c.exact) this.pace = (this.pace + this.frame.ms / Math.max(this.frame.c.events, 5000)) / 2;
    this.drawOver();
    for (const fn of this.after) fn();
  }

  /** @param {number} bytes */
  niceTop(bytes) {
    const { top, ticks } = byteAxis(bytes, Math.max(2, Math.floor(this.box.height / 42)));
    const step = ticks[1].at;
    return top - bytes > step * 0.5 ? Math.max(bytes, top - step * 0.5) : top;
  }

  /** @param {Columns} c @param {Int32Array|null} buckets @param {import("./tables.js").Overview|null} o */
  lines(c, buckets, o) {
    const { track } = this.view, e = track.exact, none = new Float64Array(c.n).fill(NaN);
    const reserved = e ? stepsOf(e.reserved, c) : none.slice(), pending = e && e.pending.op.length > e.runs.length ? stepsOf(e.pending, c) : none.slice();
    const matched = this.match ? matchedIn(track, c, this.match) : null;
    for (let x = 0; buckets && o && x < c.n; x++) {
      if (c.op[x] !== NO_OP) continue;
      reserved[x] = o.reserved[buckets[x]];
      pending[x] = o.pending[buckets[x]];
    }
    return { reserved, pending, matched, used: this.owners ? null : this.deviceUsed(c) };
  }

  /** The stacked part, as pixels. @param {Columns} c @param {Int32Array|null} buckets @param {import("./tables.js").Overview|null} o
   *  @param {number} w @param {number} h @param {number} top @param {boolean} rough */
  pixels(c, buckets, o, w, h, top, rough) {
    const { plot, view } = this, g = plot.getContext("2d");
    if (!g) return;
    if (plot.width !== w || plot.height !== h || !this.image) {
      plot.width = w;
      plot.height = h;
      this.image = g.createImageData(w, h);
    }
    const px = new Uint32Array(this.image.data.buffer), roles = view.by !== "phase" && view.by !== "stack";
    px.fill(0);
    // A search cannot be told where there is only the overview: all of it fades.
    const colors = this.match ? new Uint32Array(o ? o.g : 0).fill(this.inks.fade) : roles ? this.roleInks : this.plain;
    if (buckets && o) paintOverview({ of: buckets, bytes: roles ? this.groups.order.map((i) => o.groups[i]) : [o.high], colors }, c, px, h, h / top);
    if (view.track.exact && !rough && !this.owners) paintExact(this.stack, c, px, h, h / top, this.inks, this.match, view.pin);
    g.putImageData(this.image, 0, 0);
    this.drawn = { lo: view.lo, hi: view.hi };
  }

  /** @param {CanvasRenderingContext2D} g @param {Columns} c @param {ReturnType<Timeline["lines"]>} l @param {number} top */
  drawLines(g, c, l, top) {
    const { box, theme, view } = this, cap = view.track.meta.capacity, base = box.top + box.height;
    g.save();
    g.beginPath();
    g.rect(box.left, box.top - 2, box.width, box.height + 4);
    g.clip();
    drawLine(g, box, l.reserved, top, theme.ink, 1.3, [5, 3]);
    if (l.pending.some((v) => v > 0)) drawLine(g, box, l.pending, top, theme.warn, 1.2, [2, 2]);
    if (l.used) drawLine(g, box, l.used, top, theme.edge, 1.5, []);
    // Where frees are missing, blocks stand in the picture that are long gone: the line says what was live.
    const e = view.track.meta.lost ? view.track.exact : null;
    if (e) drawLine(g, box, Float64Array.from(c.op, (op) => (op === NO_OP ? NaN : e.total[op])), top, theme.ink, 1.2, []);
    if (l.matched) {
      drawLine(g, box, l.matched, top, theme.page, 3, []);
      drawLine(g, box, l.matched, top, theme.ink, 1.2, []);
    }
    if (cap > 0 && cap <= top) {
      g.fillStyle = theme.ink;
      g.fillRect(box.left, Math.round(base - (cap / top) * box.height), box.width, 2);
    }
    g.restore();
  }

  /** What the driver says is used of the GPU, for the columns: only where the clocks are the same one. @param {Columns} c */
  deviceUsed(c) {
    const { ledger, view } = this, time = view.track.meta.time;
    if (!ledger || view.axis !== "t" || !time) return null;
    const out = new Float64Array(c.n).fill(NaN), ns = Number(BigInt(time.t0_ns) - BigInt(ledger.t0)), tick = time.tick_ns / 1000, { n, t0, t1, used } = ledger.of;
    for (let x = 0; x < c.n; x++) {
      const us = ns / 1000 + (c.lo + ((x + 0.5) * (c.hi - c.lo)) / c.n) * tick, i = Math.floor(((us - t0) / (t1 - t0)) * n);
      if (i >= 0 && i < n) out[x] = used[i];
    }
    return out;
  }

  /** What changes with the pointer: cursors, selection, cross hair. */
  drawOver() {
    const g = this.frame && pCanvas(this.over), { view, box, theme } = this;
    if (!g) return;
    const inside = (/** @type {number} */ x) => Math.min(Math.max(x, box.left), box.left + box.width), tall = box.bottom - box.top;
    const at = (/** @type {number} */ ev) => pxOf(box, view, xOfEvent(view.track, ev, view.axis));
    const range = this.select ? this.select.map((x) => pxOf(box, view, x)) : view.range ? view.range.map(at) : null;
    if (range) {
      const a = inside(Math.min(...range)), b = inside(Math.max(...range));
      g.fillStyle = theme.edge;
      g.globalAlpha = 0.16;
      g.fillRect(a, box.top, b - a, tall);
      g.globalAlpha = 1;
      for (const x of [a, b]) g.fillRect(x - 0.5, box.top, 1, tall);
    }
    g.font = "600 11px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "middle";
    for (const [ev, name] of /** @type {[number|null, string][]} */ ([[view.mark, "A"], [view.cursor, view.mark === null ? "" : "B"]])) {
      const x = ev === null ? NaN : at(ev);
      if (!(x >= box.left - 1 && x <= box.left + box.width + 1)) continue;
      g.fillStyle = theme.page;
      g.fillRect(x - 1.5, box.top, 3, tall);
      g.fillStyle = theme.edge;
      g.fillRect(x - 0.75, box.top, 1.5, tall);
      g.beginPath();
      g.arc(x, box.top + tall, name ? 7 : 4, 0, 7);
      g.fill();
      g.fillStyle = theme.page;
      if (name) g.fillText(name, x, box.top + tall + 0.5);
    }
    if (this.hover) {
      g.fillStyle = theme.soft;
      g.fillRect(Math.round(this.hover.x), box.top, 1, tall);
    }
  }

  /** The axis' value under a pixel. @param {number} px */
  xAt(px) { return this.view.lo + ((px - this.box.left) / this.box.width) * (this.view.hi - this.view.lo); }

  /** What is under a point: the moment that its column shows, and the block there.
   *  @param {number} px @param {number} py @returns {{event: number, op: number, block: number|null, name: string, bytes: number}|null} */
  hit(px, py) {
    const { box, frame, view } = this, e = view.track.exact;
    if (!frame || px < box.left || px > box.left + box.width || py < box.top - 30 || py > box.bottom) return null;
    const col = Math.min(frame.c.n - 1, Math.max(0, Math.floor(((px - box.left) / box.width) * frame.c.n))), op = frame.c.op[col];
    const bytes = py <= box.top + box.height ? ((box.top + box.height - py) / box.height) * frame.top : -1;
    const out = { event: eventOfX(view.track, this.xAt(px), view.axis), op, block: /** @type {number|null} */ (null), name: "", bytes: 0 };
    if (op !== NO_OP && e) {
      const run = e.runs.find((r) => op < r.op1);
      out.event = run && op === run.op0 ? run.first - 1 : e.event[op];
      out.block = blockAt(this.stack, op, bytes);
      return out;
    }
    const o = this.overview, i = frame.buckets ? frame.buckets[col] : -1;
    if (!o || i < 0) return out;
    if (!this.owners) out.event = o.event[i];
    let sum = 0;
    for (const [k, gr] of this.groups.order.entries()) {
      sum += o.groups[gr][i];
      if (bytes < 0 || sum <= bytes || (view.by !== "role" && view.by !== "alloc" && !this.owners)) continue;
      [out.name, out.bytes] = [this.groups.names[k], o.groups[gr][i]];
      break;
    }
    return out;
  }
}
