// The blocks that describe a track: overview, stacks and sites, phases; and the ledger of a GPU.
import { allSteps, allSums, allVars, badBlock, columns, fromBase64, inflate } from "./decode.js";
import { max } from "./math.js";

/**
 * @typedef {object} Overview n buckets that share x0 .. x1 equally; each shows the state at its highest instant
 * @property {number} n @property {"t"|"e"} axis @property {number} x0 @property {number} x1 ticks or events
 * @property {number} g groups, the last is "other"
 * @property {Float64Array} events @property {Float64Array} high @property {Float64Array} low
 * @property {Float64Array} reserved @property {Float64Array} pending
 * @property {Float64Array} event of the highest instant; -1 = before the first event
 * @property {Float64Array} phase coarse phase + 1; 0 = none
 * @property {Float64Array[]} groups bytes of each group @property {Float64Array} [sums] layout.js
 */

/** A reader of columns: column i has n numbers, where that is known, and all below limit: they point at something.
 *  @param {Uint8Array[]} c */
const reader = (c) => (/** @type {number} */ i, n = -1, limit = Infinity, read = allVars) => {
  const a = read(c[i]);
  if ((n >= 0 && a.length !== n) || a.some((v) => v >= limit)) throw badBlock("the columns of a table do not fit together");
  return a;
};

/** @param {Uint8Array} u8 inflated @param {{groups: number, phases: number}} known @returns {Overview} */
export const decodeOverview = (u8, known) => {
  const c = columns(u8, 8), get = reader(c), [n, axis, x0, x1, g] = get(0, 5), sums = (/** @type {number} */ i) => get(i, n, Infinity, allSums);
  if (x1 < x0 || g > known.groups + 1 || c.length < 8 + g) throw badBlock("an overview has an impossible header");
  return {
    n, axis: axis ? "t" : "e", x0, x1, g, event: sums(6).map((v) => v - 1), events: get(1, n), high: sums(2), low: sums(3), reserved: sums(4), pending: sums(5),
    phase: get(7, n, known.phases + 1), groups: Array.from({ length: g }, (_, i) => sums(8 + i)),
  };
};

/** @typedef {{name: string, file: string, line: number, python: boolean, internal: boolean}} Frame */
/** @typedef {ReturnType<typeof decodeSites>} Sites stacks, and what the analysis says of the allocations made there */

/** Strings, decoded when they are asked for. @param {Uint8Array} sizes @param {Uint8Array} bytes */
const stringsOf = (sizes, bytes) => {
  const ends = allSteps(sizes), /** @type {string[]} */ cache = [];
  return { n: ends.length, at: (/** @type {number} */ i) => cache[i] ??= new TextDecoder().decode(bytes.subarray(ends[i - 1] ?? 0, ends[i])) };
};

/** @param {Uint8Array} u8 inflated @param {{roles: number, phases: number}} known */
export const decodeSites = (u8, known) => {
  const c = columns(u8, 15), get = reader(c), { n, at } = stringsOf(c[0], c[1]);
  const fName = get(2, -1, n), frames = fName.length, fFile = get(3, frames, n), fLine = get(4, frames), fKind = get(5, frames);
  const sFrame = get(6, -1, frames), nStacks = sFrame.length + 1, sUp = get(7, nStacks - 1);
  // The caller comes earlier, so that walking up always ends.
  if (sUp.some((up, i) => up < 1 || up > i + 1)) throw badBlock("a stack is its own caller");
  const stack = Uint32Array.from(get(8, -1, nStacks)), nSites = stack.length, labels = get(13, nSites, n);
  /** Frame numbers of a stack, innermost first. @param {number} s */
  const frameIds = (s) => {
    const out = [];
    for (; s > 0; s -= sUp[s - 1]) out.push(sFrame[s - 1]);
    return out;
  };
  /** @param {number} f @returns {Frame} */
  const frame = (f) => ({ name: at(fName[f]), file: at(fFile[f]), line: fLine[f], python: fKind[f] % 2 > 0, internal: fKind[f] > 1 });
  return {
    nSites, nStacks, nStrings: n, string: at, fName, fFile, fKind, sFrame, sUp, stack, labels, frameIds, frame,
    role: Uint8Array.from(get(9, nSites, known.roles)), phase: Uint8Array.from(get(10, nSites, known.phases)), sub: Uint8Array.from(get(11, nSites, known.phases + 1)),
    lanes: Array.from(get(14, -1, n), at), lane: Uint32Array.from(get(12, nSites, get(14).length)),
    /** Where it was allocated, in one line; "" where no stack was recorded. @param {number} site */
    label: (site) => at(labels[site]),
    /** @param {number} s a stack @returns {Frame[]} innermost first */
    frames: (s) => frameIds(s).map(frame),
  };
};

/**
 * @typedef {object} Phases
 * @property {{n: number, event: Float64Array, phase: Float64Array, sub: Float64Array}} stretches sub: + 1, 0 = none
 * @property {{n: number, first: Float64Array}} steps
 * @property {{n: number, name: string[], t0: Float64Array, t1: Float64Array, lane: number[],
 *   known?: Float64Array[], about?: Float64Array[]}} ranges in ticks; the rest is of marks.js
 */

/** Name, first tick, length, lane; lengths and text of the names. @param {Uint8Array[]} c @returns {Phases["ranges"]} */
const rangesOf = (c) => {
  const text = stringsOf(c[4], c[5]), get = reader(c), t0 = get(1, -1, Infinity, allSteps), n = t0.length;
  return { n, name: Array.from(get(0, n, text.n), text.at), t0, t1: get(2, n).map((v, i) => t0[i] + v), lane: [...get(3, n)] };
};

/** @param {Uint8Array} u8 inflated @returns {Phases["ranges"]} */
export const decodeRanges = (u8) => rangesOf(columns(u8, 6));

/** Two sets of ranges as one, in order of time; those of b lie in the lanes below a's.
 *  @param {Phases["ranges"]} a @param {Phases["ranges"]} b @returns {Phases["ranges"]} */
export const bothRanges = (a, b) => {
  const below = a.lane.reduce((m, l) => max(m, l + 1), 0), t0 = [...a.t0, ...b.t0];
  const order = [...t0.keys()].sort((i, j) => t0[i] - t0[j]);
  /** @template T @param {ArrayLike<T>} p @param {ArrayLike<T>} q */
  const both = (p, q) => order.map((i) => i < a.n ? p[i] : q[i - a.n]);
  return { n: order.length, name: both(a.name, b.name), t0: Float64Array.from(order, (i) => t0[i]), t1: Float64Array.from(both(a.t1, b.t1)), lane: both(a.lane, b.lane.map((l) => l + below)) };
};

/** @param {Uint8Array} u8 inflated @param {number} nPhases @returns {Phases} */
export const decodePhases = (u8, nPhases) => {
  const c = columns(u8, 10), get = reader(c), event = get(0, -1, Infinity, allSteps), n = event.length, first = get(3, -1, Infinity, allSteps);
  return { stretches: { n, event, phase: get(1, n, nPhases), sub: get(2, n, nPhases + 1) }, steps: { n: first.length, first }, ranges: rangesOf(c.slice(4)) };
};

/**
 * @typedef {{n: number, t0: number, t1: number, used: Float64Array, named: Float64Array, phase: Float64Array, holders: Float64Array[]}} Ledger
 * t0, t1 in microseconds since the ledger's t0_ns; phase: + 1, 0 = none
 */

/** @param {Uint8Array} u8 inflated @param {number} nHolders @returns {Ledger} */
export const decodeLedger = (u8, nHolders) => {
  const get = reader(columns(u8, 4 + nHolders)), [n, t0, t1] = get(0, 3), sums = (/** @type {number} */ i) => get(i, n, Infinity, allSums);
  return { n, t0, t1, used: sums(1), named: sums(2), phase: sums(3), holders: Array.from({ length: nHolders }, (_, i) => sums(4 + i)) };
};

/** @typedef {{overview: {t: Overview|null, e: Overview|null}, ledger: Overview|null, sites: Sites|null, phases: Phases|null, errors: string[]}} Tables
 *  `ledger`: who holds the memory of its GPU, where the recording tells, as an overview of no events; `errors`: what could not be read, for people */

/** Everything that is small and needed first. @param {import("./track.js").Index} index @param {import("./exact.js").TrackMeta} meta
 *  @param {(id: string) => string|null|undefined} text @returns {Promise<Tables>} */
export const readTables = async (index, meta, text) => {
  const known = { roles: index.roles.length, phases: index.phases.length, groups: meta.groups.length }, errors = /** @type {string[]} */ ([]);
  /** @template T @param {string} name @param {(u8: Uint8Array) => T} decode @returns {Promise<T|null>} */
  const table = async (name, decode) => {
    const block = text(`mt-${name}`);
    try {
      return typeof block === "string" ? decode(await inflate(fromBase64(block))) : null;
    } catch (error) {
      errors.push(/** @type {Error} */ (error).message);
      return null;
    }
  };
  const own = `t${meta.id}-`, overview = (/** @type {string} */ name) => table(own + name, (u8) => decodeOverview(u8, known)), l = index.ledgers.find((q) => q.id === meta.ledger), { time } = meta;
  const e = await overview("e"), t = await overview("o"), of = l && time && await table(`g${l.id}`, (u8) => decodeLedger(u8, index.holders.length));
  // Of both, the clocks are the same one.
  const tick = (/** @type {number} */ us) => l && time ? (us * 1000 + Number(BigInt(l.t0_ns) - BigInt(time.t0_ns))) / time.tick_ns : 0;
  const sites = await table(`${own}s`, (u8) => decodeSites(u8, known)), phases = await table(`${own}p`, (u8) => decodePhases(u8, known.phases)), nvtx = await table(`${own}n`, decodeRanges);
  if (phases && nvtx) phases.ranges = bothRanges(phases.ranges, nvtx);
  return { overview: { t, e }, ledger: of && /** @type {any} */ ({ n: of.n, x0: tick(of.t0), x1: tick(of.t1), high: of.used, groups: of.holders, event: [] }), sites, phases, errors };
};
