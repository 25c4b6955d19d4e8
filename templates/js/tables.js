// The blocks that describe a track: overview, stacks and sites, phases; and the ledger of a GPU.
import { allSteps, allSums, allVars, badBlock, columns, VarReader } from "./decode.js";

/**
 * @typedef {object} Overview n buckets that share x0 .. x1 equally; each shows the state at its highest instant
 * @property {number} n @property {"t"|"e"} axis @property {number} x0 @property {number} x1 ticks or events
 * @property {number} g groups, the last is "other"
 * @property {Float64Array} events @property {Float64Array} high @property {Float64Array} low
 * @property {Float64Array} reserved @property {Float64Array} pending
 * @property {Float64Array} event of the highest instant; -1 = before the first event
 * @property {Float64Array} phase coarse phase + 1; 0 = none
 * @property {Float64Array[]} groups bytes of each group
 */

/** @param {Float64Array} a @param {number} n @returns {Float64Array} */
function sized(a, n) {
  if (a.length !== n) throw badBlock("two columns of a table differ in length");
  return a;
}

/** @param {Float64Array} a @param {number} limit @returns {Float64Array} */
function inside(a, limit) {
  for (let i = 0; i < a.length; i++) if (a[i] >= limit) throw badBlock("a reference points to nothing");
  return a;
}

/** @param {Uint8Array} u8 inflated @param {{groups: number, phases: number}} known @returns {Overview} */
export function decodeOverview(u8, known) {
  const c = columns(u8, 8), h = new VarReader(c[0]);
  const n = h.next(), axis = h.next(), x0 = h.next(), x1 = h.next(), g = h.next();
  if (n > 65536 || axis > 1 || x1 < x0 || g > known.groups + 1 || c.length < 8 + g) throw badBlock("an overview has an impossible header");
  const event = sized(allSums(c[6]), n).map((v) => v - 1);
  return {
    n, axis: axis === 1 ? "t" : "e", x0, x1, g, event,
    events: sized(allVars(c[1]), n), high: sized(allSums(c[2]), n), low: sized(allSums(c[3]), n),
    reserved: sized(allSums(c[4]), n), pending: sized(allSums(c[5]), n),
    phase: inside(sized(allVars(c[7]), n), known.phases + 1),
    groups: c.slice(8, 8 + g).map((col) => sized(allSums(col), n)),
  };
}

/** @typedef {{name: string, file: string, line: number, python: boolean, internal: boolean}} Frame */
/** @typedef {{stream: number|null, pool: string|null, label: string}} Lane null = not recorded */

const UNSEEN = /[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** A name in which what is not seen, or turns the text around, is written out, as render/escape.c does. @param {string} s @returns {string} */
export function seenText(s) {
  return s.replace(UNSEEN, (ch) => {
    const c = Number(ch.codePointAt(0));
    return c < 32 ? String.fromCharCode(0x2400 + c) : c === 127 ? "\u2421" : `U+${c.toString(16).toUpperCase().padStart(4, "0")}`;
  });
}

/** Strings, decoded when they are asked for. */
class Strings {
  /** @param {Uint8Array} sizes @param {Uint8Array} bytes */
  constructor(sizes, bytes) {
    this.ends = allSteps(sizes);
    this.n = this.ends.length;
    if (this.n > 0 && this.ends[this.n - 1] > bytes.length) throw badBlock("the names are cut");
    this.bytes = bytes;
    /** @type {(string|undefined)[]} */
    this.cache = [];
  }

  /** @param {number} i @returns {string} */
  at(i) { return this.cache[i] ??= seenText(new TextDecoder().decode(this.bytes.subarray(i ? this.ends[i - 1] : 0, this.ends[i]))); }
}

/** Stacks, and what the analysis says of the allocations made there. */
export class Sites {
  /** @param {Uint8Array} u8 inflated @param {{roles: number, phases: number}} known */
  constructor(u8, known) {
    const c = columns(u8, 19);
    this.strings = new Strings(c[0], c[1]);
    const n = this.strings.n;
    this.fName = inside(allVars(c[2]), n);
    const nFrames = this.fName.length;
    this.fFile = inside(sized(allVars(c[3]), nFrames), n);
    this.fLine = sized(allVars(c[4]), nFrames);
    this.fKind = sized(allVars(c[5]), nFrames);
    this.sFrame = inside(allVars(c[6]), nFrames);
    this.nStacks = this.sFrame.length + 1;
    this.sUp = sized(allVars(c[7]), this.nStacks - 1);
    for (let i = 1; i < this.nStacks; i++) {
      // The caller comes earlier, so that walking up always ends.
      if (this.sUp[i - 1] < 1 || this.sUp[i - 1] > i) throw badBlock("a stack is its own caller");
    }
    this.stack = Uint32Array.from(inside(allVars(c[8]), this.nStacks));
    this.nSites = this.stack.length;
    this.role = Uint8Array.from(inside(sized(allVars(c[9]), this.nSites), known.roles));
    this.phase = Uint8Array.from(inside(sized(allVars(c[10]), this.nSites), known.phases));
    this.sub = Uint8Array.from(inside(sized(allVars(c[11]), this.nSites), known.phases + 1));
    this.lane = Uint32Array.from(inside(sized(allVars(c[12]), this.nSites), allVars(c[14]).length));
    this.labels = inside(sized(allVars(c[13]), this.nSites), n);
    const stream = new VarReader(c[14]), high = allVars(c[15]), low = allVars(c[16]), sure = allVars(c[17]);
    const names = inside(allVars(c[18]), n);
    /** @type {Lane[]} */
    this.lanes = Array.from(names, (s, i) => ({
      stream: sure[i] === 2 ? (stream.zig(), null) : stream.zig(), pool: sure[i] === 1 ? `${high[i]},${low[i]}` : null, label: this.string(s),
    }));
    if (!stream.end) throw badBlock("the lanes differ in length");
  }

  /** @param {number} i @returns {string} */
  string(i) { return this.strings.at(i); }

  /** Where it was allocated, in one line; "" where no stack was recorded. @param {number} site @returns {string} */
  label(site) { return this.string(this.labels[site]); }

  /** @param {number} f @returns {Frame} */
  frame(f) {
    const kind = this.fKind[f];
    return {
      name: this.string(this.fName[f]), file: this.string(this.fFile[f]), line: this.fLine[f],
      python: kind % 2 === 1, internal: kind % 4 > 1,
    };
  }

  /** Frame numbers of a stack, innermost first. @param {number} stack @returns {number[]} */
  frameIds(stack) {
    const out = [];
    for (let s = stack; s > 0; s -= this.sUp[s - 1]) out.push(this.sFrame[s - 1]);
    return out;
  }

  /** Innermost first. @param {number} stack @returns {Frame[]} */
  frames(stack) { return this.frameIds(stack).map((f) => this.frame(f)); }
}

/** @param {Uint8Array} u8 inflated @param {{roles: number, phases: number}} known @returns {Sites} */
export function decodeSites(u8, known) { return new Sites(u8, known); }

/**
 * @typedef {object} Phases
 * @property {{n: number, event: Float64Array, phase: Float64Array, sub: Float64Array}} stretches sub: + 1, 0 = none
 * @property {{n: number, first: Float64Array, last: Float64Array, peak: Float64Array}} steps
 * @property {{n: number, first: Float64Array, last: Float64Array, phase: Float64Array, peak: Float64Array, peakEvent: Float64Array,
 *   retained: Float64Array}} occurrences peakEvent: NaN = not inside
 * @property {{n: number, name: string[], t0: Float64Array, t1: Float64Array, lane: Float64Array}} ranges in ticks
 */

/** @param {Float64Array} a @param {Uint8Array} col @returns {Float64Array} */
const plus = (a, col) => sized(allVars(col), a.length).map((v, i) => a[i] + v);

/** Name, first tick, length, lane; lengths and text of the names. @param {Uint8Array[]} c @returns {Phases["ranges"]} */
function rangesOf(c) {
  const text = new Strings(c[4], c[5]), t0 = allSteps(c[1]), n = t0.length;
  return { n, name: Array.from(inside(sized(allVars(c[0]), n), text.n), (i) => text.at(i)), t0, t1: plus(t0, c[2]), lane: sized(allVars(c[3]), n) };
}

/** @param {Uint8Array} u8 inflated @returns {Phases["ranges"]} */
export function decodeRanges(u8) { return rangesOf(columns(u8, 6)); }

/** Two sets of ranges as one, in order of time; those of b lie in the lanes below a's.
 *  @param {Phases["ranges"]} a @param {Phases["ranges"]} b @returns {Phases["ranges"]} */
export function bothRanges(a, b) {
  const below = a.lane.reduce((m, l) => Math.max(m, l + 1), 0), order = Array.from({ length: a.n + b.n }, (_, i) => i);
  const get = (/** @type {"t0"|"t1"|"lane"} */ key) => (/** @type {number} */ i) => i < a.n ? a[key][i] : b[key][i - a.n] + (key === "lane" ? below : 0);
  order.sort((i, j) => get("t0")(i) - get("t0")(j) || i - j);
  return { n: order.length, name: order.map((i) => i < a.n ? a.name[i] : b.name[i - a.n]), t0: Float64Array.from(order, get("t0")),
    t1: Float64Array.from(order, get("t1")), lane: Float64Array.from(order, get("lane")) };
}

/** @param {Uint8Array} u8 inflated @param {number} nPhases @returns {Phases} */
export function decodePhases(u8, nPhases) {
  const c = columns(u8, 18), event = allSteps(c[0]), s = allSteps(c[3]), o = allSteps(c[6]);
  return {
    stretches: {
      n: event.length, event, phase: inside(sized(allVars(c[1]), event.length), nPhases),
      sub: inside(sized(allVars(c[2]), event.length), nPhases + 1),
    },
    steps: { n: s.length, first: s, last: plus(s, c[4]), peak: sized(allVars(c[5]), s.length) },
    occurrences: {
      n: o.length, first: o, last: plus(o, c[7]), phase: inside(sized(allVars(c[8]), o.length), nPhases),
      peak: sized(allVars(c[9]), o.length), peakEvent: sized(allVars(c[10]), o.length).map((v, i) => v ? o[i] + v - 1 : NaN),
      retained: sized(allVars(c[11]), o.length),
    },
    ranges: rangesOf(c.slice(12, 18)),
  };
}

/**
 * @typedef {{n: number, t0: number, t1: number, used: Float64Array, named: Float64Array, phase: Float64Array, holders: Float64Array[]}} Ledger
 * t0, t1 in microseconds since the ledger's t0_ns; phase: + 1, 0 = none
 */

/** @param {Uint8Array} u8 inflated @param {number} nHolders @returns {Ledger} */
export function decodeLedger(u8, nHolders) {
  const c = columns(u8, 4 + nHolders), h = new VarReader(c[0]), n = h.next(), t0 = h.next(), t1 = h.next();
  return {
    n, t0, t1, used: sized(allSums(c[1]), n), named: sized(allSums(c[2]), n), phase: sized(allSums(c[3]), n),
    holders: c.slice(4, 4 + nHolders).map((col) => sized(allSums(col), n)),
  };
}
