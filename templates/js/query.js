// Questions about the blocks of a track at an operation, or between two.
import { NONE } from "./decode.js";
import { K_SEG_ALLOC, K_SEG_MAP, K_START } from "./kinds.js";
import { abs, floor, max, min, upperBound } from "./math.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./exact.js").Exact} Exact */
/** @typedef {import("./exact.js").Run} Run */
/** @typedef {import("./tables.js").Sites} Sites */
/** @typedef {"role"|"phase"|"stack"} GroupBy */
/** @typedef {{key: number, label: string, color: string, bytes: number, count: number}} Group */

/** What blocks are grouped by, and what such a group is called. */
export const GROUPS = { role: "Role", phase: "Phase of birth", stack: "Allocated by" };

/** The run of an operation. @param {Exact} x @param {number} op @returns {Run} */
export const runOf = (x, op) => x.runs.findLast((r) => r.op0 <= op) ?? x.runs[0];

/** The event that an operation ends with; of a START the one before its run. @param {Exact} x @param {number} op */
export const eventOfOp = ({ kind, event }, op) => event[op] - Number(kind[op] === K_START);

/**
 * The blocks of `from`, and those born in the run after the operation `after`, that are live after `op`.
 * @param {Exact} x @param {Run} run @param {Uint32Array} from @param {number} after @param {number} op @returns {Uint32Array}
 */
const liveFrom = ({ bEnd, bBegin }, run, from, after, op) => {
  const b0 = upperBound(bBegin, after, run.blockBorn, run.block1), b1 = upperBound(bBegin, op, b0, run.block1);
  const out = new Uint32Array(from.length + b1 - b0);
  let n = 0;
  for (let i = 0; i < from.length; i++) if (bEnd[from[i]] > op) out[n++] = from[i];
  for (let b = b0; b < b1; b++) if (bEnd[b] > op) out[n++] = b;
  return out.slice(0, n);
};

/** Live sets at some operations, so that any other is near one. @param {Exact} x @param {Run} run */
const liveMarksOf = (x, run) => {
  if (run.near) return run.near;
  // Farther apart where much is live: together they stay about as large as one column of the operations.
  /** @type {Uint32Array} */
  let set = Uint32Array.from({ length: run.blockBorn - run.block0 }, (_, i) => run.block0 + i);
  const m = (run.near = { ops: [run.op0], sets: [set] });
  for (let at = run.op0, op; (op = at + max(32768, 2 * set.length)) < run.op1; at = op) {
    set = liveFrom(x, run, set, at, op);
    m.ops.push(op);
    m.sets.push(set);
  }
  return m;
};

/** The last live sets that were asked for: every part of the page asks for that of the cursor. @type {{x: Exact, op: number, set: Uint32Array}[]} */
const liveLast = [];

/** The blocks that are live after an operation, oldest first; not to be changed. @param {Track} track @param {number} op @returns {Uint32Array} */
export const liveAt = ({ exact: x }, op) => {
  if (!x || !(op >= 0 && op < x.nOps)) return new Uint32Array(0);
  const known = liveLast.find((l) => l.x === x && l.op === op);
  if (known) return known.set;
  const run = runOf(x, op), m = liveMarksOf(x, run), i = upperBound(m.ops, op) - 1, set = liveFrom(x, run, m.sets[i], m.ops[i], op);
  liveLast.unshift({ x, op, set });
  liveLast.length = min(liveLast.length, 3);
  return set;
};

/** A colour for what has none of its own: light enough for dark text, the same for the same name in every picture. @param {string} name */
export const nameColor = (name) => {
  let h = 7;
  for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${h % 360} 55% 79%)`;
};

/** @param {Track} track @param {ArrayLike<number>} blocks @returns {number} */
export const bytesOf = (track, blocks) => {
  const { bSize } = /** @type {Exact} */ (track.exact);
  let sum = 0;
  for (let i = 0; i < blocks.length; i++) sum += bSize[blocks[i]];
  return sum;
};

/** Bytes and number of blocks by a key of their sites, with one of those sites. @param {Track} track @param {Uint32Array|number[]} blocks
 *  @param {ArrayLike<number>} keys by site @returns {Map<number, {bytes: number, count: number, site: number}>} */
export const sumBy = ({ exact }, blocks, keys) => {
  const { bSize, bSite } = /** @type {Exact} */ (exact), sums = new Map();
  for (const b of blocks) {
    const site = bSite[b], key = keys[site];
    let sum = sums.get(key);
    if (!sum) sums.set(key, sum = { bytes: 0, count: 0, site });
    sum.bytes += bSize[b];
    sum.count++;
  }
  return sums;
};

/** Blocks by what they have in common, most bytes first. @param {Track} track @param {Uint32Array|number[]} blocks @param {GroupBy} by @returns {Group[]} */
export const groupLive = (track, blocks, by) => {
  const s = /** @type {Sites} */ (track.sites);
  return Array.from(sumBy(track, blocks, by === "stack" ? s.labels : s[by]), ([key, { bytes, count }]) => {
    const { name, color } = by === "stack" ? { name: s.string(key) || "(no stack recorded)", color: "" } : track.index[`${by}s`][key];
    return { key, label: name, color: color || nameColor(name), bytes, count };
  }).sort((a, b) => b.bytes - a.bytes || a.key - b.key);
};

/**
 * What is live after the later operation and was not after the earlier one, and the other way round.
 * @param {Track} track @param {number} opA @param {number} opB @returns {{born: Uint32Array, gone: Uint32Array}}
 */
export const diffBetween = (track, opA, opB) => {
  const x = /** @type {Exact} */ (track.exact), from = min(opA, opB), to = max(opA, opB), a = liveAt(track, from), b = liveAt(track, to);
  if (runOf(x, from) === runOf(x, to)) return { born: b.filter((i) => x.bBegin[i] !== NONE && x.bBegin[i] > from), gone: a.filter((i) => x.bEnd[i] <= to) };
  // Each run has its own entries: the same block is known by the event of its allocation, older ones by what they look like.
  const id = (/** @type {number} */ i) => x.bEvent[i] || `${x.bSite[i]}:${x.bSize[i]}:${x.bAddr?.[i]}`;
  const without = (/** @type {Uint32Array} */ list, /** @type {Uint32Array} */ other) => {
    /** @type {Map<string|number, number>} */
    const have = new Map();
    for (const i of other) have.set(id(i), (have.get(id(i)) ?? 0) + 1);
    return list.filter((i) => {
      const left = have.get(id(i)) ?? 0;
      have.set(id(i), left - 1);
      return left <= 0;
    });
  };
  return { born: without(b, a), gone: without(a, b) };
};

/** The event of the next (dir 1) or previous (-1) operation. @param {Track} track @param {number} ev @param {number} dir @returns {number} */
export const nextEvent = ({ exact: x, meta }, ev, dir) => {
  if (!x) return max(-1, min(ev + dir, meta.events - 1));
  let op = dir > 0 ? upperBound(x.event, ev) : upperBound(x.event, ev - 1) - 1;
  if (dir > 0 && x.kind[op] === K_START && op + 1 < runOf(x, op).op1) op++;
  op = max(0, min(op, x.nOps - 1));
  return eventOfOp(x, op);
};

/** @typedef {{name: string, file: string, line: number, bytes: number, net: number, own: number, count: number, children: TreeNode[],
 *  at: Map<number|string, TreeNode>, by: Map<number, number>, color: string}} TreeNode net: the bytes, or what they grew by; own: of that, by itself;
 *  by: bytes by role; color: of the role that most of it is for; children: most bytes first; at: the same by frame */

/** What grew and what shrank, in a tree of both. */
export const GREW = "#d92b2b", SHRANK = "#2b6fd9";

/**
 * Blocks as a tree of frames, outermost at the root; bottom-up, the allocating frame first. With `gone` it is a tree of changes: what each stack, as far
 * as it is shown, holds more or less, without what came and went alike; `bytes` are those of all changes, so that more does not hide less.
 * @param {Track} track @param {Uint32Array|number[]} blocks @param {{bottomUp?: boolean, foldInternal?: boolean, gone?: Uint32Array|null}} [how]
 * @returns {TreeNode}
 */
export const treeOf = (track, blocks, { bottomUp = false, foldInternal = true, gone = null } = {}) => {
  const s = /** @type {Sites} */ (track.sites);
  const node = (/** @type {string} */ name, file = "", line = 0) => /** @type {TreeNode} */ ({ name, file, line, bytes: 0, net: 0, own: 0, count: 0, color: "", children: [], at: new Map(), by: new Map() });
  const all = node("all"), nodes = [all];
  // Blocks of one stack go down the tree together.
  const keys = Float64Array.from(s.stack, (stack, i) => stack * 64 + s.role[i]); // and what it is for
  const sums = sumBy(track, blocks, keys);
  if (gone) for (const [key, less] of sumBy(track, gone, keys)) {
    const { bytes = 0, count = 0 } = sums.get(key) ?? {};
    sums.set(key, { bytes: bytes - less.bytes, count: count - less.count, site: less.site });
  }
  for (const [key, { bytes: net, count, site }] of sums) {
    const stack = floor(key / 64), role = key % 64;
    /** @param {TreeNode} n */
    const add = (n) => {
      n.net += net;
      n.count += count;
      n.by.set(role, (n.by.get(role) ?? 0) + net);
    };
    /** @type {(number|string)[]} */
    let path = s.frameIds(stack);
    // Folded: Python of the job and its libraries; a stack without any is named as the tables name it.
    if (foldInternal) {
      const own = path.filter((f) => s.fKind[/** @type {number} */ (f)] === 1), label = s.label(site);
      path = own.length ? own : label ? [label] : path.slice(0, 1);
    }
    if (!path.length) path = ["(no stack recorded)"];
    if (!bottomUp) path.reverse();
    let n = all;
    add(n);
    for (const f of path) {
      let next = n.at.get(f);
      if (!next) {
        const { name, file, line } = typeof f === "string" ? { name: f } : s.frame(f);
        n.at.set(f, next = node(name, file, line));
        nodes.push(next);
      }
      n = next;
      add(n);
    }
    n.own += net;
  }
  for (const n of nodes.reverse()) { // callees come after their callers
    n.bytes = abs(n.own);
    for (const [f, c] of n.at) if (c.bytes) n.bytes += c.bytes; else n.at.delete(f);
    n.children = [...n.at.values()].sort((a, b) => b.bytes - a.bytes);
    n.color = gone ? n.net > 0 ? GREW : SHRANK : track.index.roles[[...n.by].reduce((a, b) => b[1] > a[1] ? b : a, [0, 0])[0]].color; // of what most of it is for
  }
  return all;
};

/** @typedef {{addr: number, size: number, lane: number, blocks: Uint32Array}} Segment blocks by address */

/**
 * The segments after an operation, by address, with their live blocks; null where the page has no addresses.
 * @param {Track} track @param {number} op @returns {Segment[]|null}
 */
export const segmentsAt = (track, op) => {
  const x = /** @type {Exact} */ (track.exact), run = runOf(x, op), addr = x.bAddr, at = x.special.addr, g = run.segments;
  if (!addr || !at || !g) return null;
  // Everything that gave or took address space, latest last; the latest that covers an address decides.
  /** @type {{a: number, e: number, lane: number, there: boolean, map: boolean}[]} */
  const acts = Array.from(g.addr, (a, i) => ({ a, e: a + g.size[i], lane: g.lane[i], there: true, map: g.expandable[i] === 1 }));
  // The reserved bytes change at these operations and at the START of each run.
  const steps = x.reserved.op;
  for (let i = upperBound(steps, run.op0); i < steps.length && steps[i] <= op; i++) {
    const k = x.kind[steps[i]], s = x.ref[steps[i]], map = k === K_SEG_MAP;
    acts.push({ a: at[s], e: at[s] + x.special.size[s], lane: x.special.lane?.[s] ?? 0, there: k === K_SEG_ALLOC || map, map });
  }
  const edges = Float64Array.from(new Set(acts.flatMap((c) => [c.a, c.e]))).sort(), /** @type {typeof acts} */ owner = [], skip = Uint32Array.from(edges.keys());
  const free = (/** @type {number} */ i) => {
    while (skip[i] !== i) i = skip[i] = skip[skip[i]];
    return i;
  };
  for (const act of acts.reverse()) {
    const last = upperBound(edges, act.e) - 1;
    for (let c = free(upperBound(edges, act.a) - 1); c < last; c = free(c)) {
      owner[c] = act;
      skip[c] = c + 1;
    }
  }
  const live = liveAt(track, op).slice().sort((p, q) => addr[p] - addr[q]), places = Float64Array.from(live, (b) => addr[b]);
  /** @type {Segment[]} */
  const out = [];
  /** @type {typeof acts[0]|undefined} */
  let prev;
  edges.forEach((a, c) => {
    const act = owner[c]?.there ? owner[c] : undefined, size = edges[c + 1] - a;
    // Pages mapped behind one another are one expandable segment.
    if (act && prev && prev.lane === act.lane && (prev === act || (act.map && prev.map))) out[out.length - 1].size += size;
    else if (act) out.push({ addr: a, size, lane: act.lane, blocks: live });
    prev = act;
  });
  for (const s of out) s.blocks = live.subarray(upperBound(places, s.addr - 1), upperBound(places, s.addr + s.size - 1));
  return out;
};
