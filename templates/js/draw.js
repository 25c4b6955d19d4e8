// The stacked picture, pixel by pixel: every column is one true state, walked block by block.
import { NO_OP, SIGN } from "./layout.js";
import { clamp, floor, max, min, round } from "./math.js";
import { bytesOf, liveAt, runOf } from "./query.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./layout.js").Columns} Columns */
/** What blocks are told apart by: `of` gives the group of a site, the last group holds the rest.
 * @typedef {{names: string[], keys: string[], colors: string[], of: Uint16Array, single: boolean}} Groups */
/** @typedef {{site: Uint32Array, second: Uint32Array, line: Uint32Array, faded: Uint32Array, group: Uint32Array, pin: number, fade: number}} Inks colours as pixels */

const DRAW_STEPS = 1.5e6;

/** @param {string} hex #rrggbb @returns {[number, number, number]} */
export const rgbOf = (hex) => {
  const v = parseInt(hex.slice(1), 16) || 0;
  return [v >> 16, (v >> 8) & 255, v & 255];
};

/** A colour, pale enough for dark text on it. @param {string} hex */
export const paleOf = (hex) => `rgb(${rgbOf(hex).map((v) => round((v + 255) / 2))})`;

/** A pixel: a over b, made lighter or darker by `shade`. @param {number[]} a @param {number[]} b @param {number} alpha
 *  @param {number} shade @returns {number} */
export const inkOf = (a, b, alpha, shade) => {
  const [r, g, bl] = a.map((v, i) => min(255, max(0, round((v * alpha + b[i] * (1 - alpha)) * shade))));
  return ((255 << 24) | (bl << 16) | (g << 8) | r) >>> 0;
};

/** Colours of all sites: shaded by place in the code, so that neighbours can be told apart and one place keeps its look.
 *  @param {Groups} groups @param {Uint32Array} stacks by site @param {number[]} page @param {number[]} text @returns {Inks} */
export const inksOf = (groups, stacks, page, text) => {
  const base = groups.colors.map(rgbOf), shade = Float64Array.from(stacks, (s) => 0.9 + ((Math.imul(s, 0x9e3779b1) >>> 24) / 255) * 0.2);
  const all = (/** @type {number} */ dim, alpha = 1) => Uint32Array.from(groups.of, (g, i) => inkOf(base[g], page, alpha, dim ? shade[i] * dim : 1));
  return { site: all(1), second: all(groups.single ? 0.84 : 1), line: all(0.75), faded: all(0, 0.13), group: Uint32Array.from(base, (c) => inkOf(c, page, 1, 1)),
    pin: inkOf(text, page, 1, 1), fade: inkOf(text, page, 0.12, 1) };
};

/** The live blocks of a moment as one ring per group (one of all for single allocations), oldest first, that goes on from operation to
 *  operation. Behind the blocks, each ring has a place of its own: its end. */
export class Stack {
  /** @param {Track} track @param {Groups} groups */
  constructor(track, groups) {
    const blocks = track.exact?.nBlocks || 0, n = groups.names.length;
    this.track = track;
    this.of = groups.single ? new Uint16Array(groups.of.length) : groups.of;
    this.next = new Uint32Array(blocks + n);
    this.prev = new Uint32Array(blocks + n);
    this.n = n;
    this.small = new Float64Array(2 * n);
    this.at = -1;
    this.least = 0;
    this.low = 0; // the first group that changed since a column was painted
    this.match = /** @type {Uint8Array|null} */ (null);
  }

  /** Begins anew at an operation. Blocks below `least` bytes are only counted: for each group those that the search finds (all without
   *  one), then the others. @param {number} op @param {number} least @param {Uint8Array|null} match */
  seek(op, least, match) {
    this.match = match;
    for (let at = this.next.length, i = 0; i < this.n; i++) this.next[--at] = this.prev[at] = at;
    this.small.fill(0);
    this.least = least;
    this.low = 0;
    this.at = op;
    for (const b of liveAt(this.track, op)) this.put(b, 1);
  }

  /** Which of the small ones it is of. @param {number} b */
  slot(b) { return this.match && this.match[b] === 0 ? 1 : 0; }

  /** @param {number} b @param {number} sign 1: it is born, -1: it goes */
  put(b, sign) {
    const { next, prev } = this, { nBlocks, bSite, bSize } = /** @type {import("./exact.js").Exact} */ (this.track.exact), g = this.of[bSite[b]], end = nBlocks + g;
    if (g < this.low) this.low = g;
    if (bSize[b] < this.least) {
      this.small[2 * g + this.slot(b)] += sign * bSize[b];
    } else if (sign > 0) {
      next[b] = end;
      next[prev[b] = prev[end]] = b;
      prev[end] = b;
    } else {
      next[prev[b]] = next[b];
      prev[next[b]] = prev[b];
    }
  }

  /** Goes on to a later operation of the same run. @param {number} op */
  forward(op) {
    const { kind, ref } = /** @type {import("./exact.js").Exact} */ (this.track.exact);
    for (let i = this.at + 1; i <= op; i++) if (SIGN[kind[i]]) this.put(ref[i], SIGN[kind[i]]);
    this.at = op;
  }
}

/**
 * Paints the exact columns. Rows count from the top; `scale` is pixels per byte.
 * @param {Stack} stack @param {Columns} c @param {Uint32Array} px @param {number} h @param {number} scale @param {Inks} inks
 * @param {Uint8Array|null} match by block: what a search found, the rest fades @param {number|null} pin
 */
export const paintExact = (stack, c, px, h, scale, inks, match, pin) => {
  const e = /** @type {import("./exact.js").Exact} */ (stack.track.exact), { bSize, bSite, nBlocks } = e, w = c.n, { next, small, n } = stack;
  const sums = new Float64Array(n + 1), floors = new Int32Array(n + 1).fill(h); // under each group, in the last column
  let run = /** @type {import("./exact.js").Run|null} */ (null), before = -1, pictures = 0;
  for (let x = 0; x < w; x++) pictures += c.op[x] !== NO_OP && c.op[x] !== c.op[x - 1] ? 1 : 0;
  for (let x = 0; x < w; x++) {
    const op = c.op[x];
    if (op === NO_OP) continue;
    const r = runOf(e, op);
    if (r !== run) {
      // With very many blocks, those under half a pixel become one band of their group: it bounds the time of a frame.
      stack.seek(op, (liveAt(stack.track, op).length + c.live) * pictures > DRAW_STEPS ? 0.5 / scale : 0, match);
      run = r;
    } else {
      stack.forward(op);
    }
    if (c.op[x - 1] !== before) stack.low = 0;
    before = op;
    let g = stack.low, sum = sums[g], y = floors[g];
    for (let i = x + y * w, end = h * w; i < end; i += w) px[i] = px[i - 1]; // what lies below, often all, is as it was
    for (; g < n; g++) {
      sums[g] = sum;
      floors[g] = y;
      for (const slot of [0, 1]) {
        sum += small[2 * g + slot];
        for (let to = max(0, h - round(sum * scale)); y > to; ) px[--y * w + x] = slot ? inks.fade : inks.group[g];
      }
      for (let b = next[nBlocks + g]; b < nBlocks; b = next[b]) {
        sum += bSize[b];
        const to = max(0, h - floor(sum * scale + 0.5)), tall = y - to, s = bSite[b];
        if (tall <= 0) continue;
        const faded = match !== null && match[b] === 0, ink = b === pin ? inks.pin : faded ? inks.faded[s] : b & 1 ? inks.second[s] : inks.site[s];
        while (y > to) px[--y * w + x] = ink;
        if (tall > 3 && b !== pin && !faded) px[to * w + x] = inks.line[s];
      }
    }
    sums[g] = sum;
    floors[g] = y;
    stack.low = g;
  }
};

/** Paints what only the overview knows. @param {{of: Int32Array, bytes: Float64Array[], colors: Uint32Array}} o
 *  @param {Columns} c @param {Uint32Array} px @param {number} h @param {number} scale */
export const paintOverview = (o, c, px, h, scale) => {
  for (let x = 0; x < c.n; x++) {
    if (c.op[x] !== NO_OP) continue;
    let sum = 0, y = h;
    o.bytes.forEach((bytes, g) => {
      sum += bytes[o.of[x]];
      const to = max(0, h - round(sum * scale));
      for (; y > to; y--) px[(y - 1) * c.n + x] = o.colors[g];
    });
  }
};

/** Paints what a failed request met, from what was live upwards: what PyTorch held beside it, what others held, what was asked for, and where the device
 *  ends. Only where nothing is: what is painted beside it stays as high as it was.
 *  @param {number[]} request as in the index @param {number} x @param {number} wide @param {Uint32Array} px @param {number} w @param {number} h
 *  @param {number} scale @param {number[]} inks of each of these */
export const paintRequest = ([live, reserved, base, top, end], x, wide, px, w, h, scale, inks) => {
  const from = clamp(x - (wide >> 1), 0, w - wide), row = (/** @type {number} */ bytes) => clamp(h - round(bytes * scale), 0, h);
  [[end, end + 2 / scale], [live, reserved], [reserved, base], [base, top]].forEach(([low, high], k) => {
    for (let y = row(high); y < row(low); y++) for (let i = from; i < from + wide; i++) {
      if (!px[y * w + i] && [1, 1, y % (wide >> 1) < wide / 11, (i + y) % (wide >> 1) < wide / 4][k]) px[y * w + i] = inks[k];
    }
  });
};

/** The block at a height above the floor, in bytes, at an operation, as it was painted: small ones at the floor of their group.
 *  @param {Stack} stack @param {number} op @param {number} bytes @returns {number|null} */
export const blockAt = (stack, op, bytes) => {
  const e = stack.track.exact, sums = new Float64Array(3 * stack.n), live = liveAt(stack.track, op);
  if (!e || bytes < 0) return null;
  const row = (/** @type {number} */ b) => 3 * stack.of[e.bSite[b]] + (e.bSize[b] < stack.least ? stack.slot(b) : 2);
  for (const b of live) sums[row(b)] += e.bSize[b];
  const at = sums.findIndex((v) => (bytes -= v) < 0);
  bytes += sums[at];
  return live.find((b) => row(b) === at && (bytes -= e.bSize[b]) < 0) ?? null;
};

/** The most bytes that a search matches in each column. @param {Track} track @param {Columns} c @param {Uint8Array} match
 *  @returns {Float64Array} NaN where only the overview knows */
export const matchedIn = (track, c, match) => {
  const out = new Float64Array(c.n).fill(NaN), e = /** @type {import("./exact.js").Exact} */ (track.exact);
  let run = /** @type {import("./exact.js").Run|null} */ (null), at = -1, sum = 0;
  for (let x = 0; x < c.n; x++) {
    if (c.op[x] === NO_OP) continue;
    const r = runOf(e, c.op[x]);
    if (r !== run) {
      run = r;
      at = max(c.from[x] - 1, r.op0);
      sum = bytesOf(track, liveAt(track, at).filter((b) => match[b]));
    }
    let top = sum;
    while (at + 1 < c.to[x]) {
      const sign = SIGN[e.kind[++at]], b = e.ref[at];
      if (sign && match[b]) sum += sign * e.bSize[b];
      if (sum > top) top = sum;
    }
    out[x] = top;
  }
  return out;
};
