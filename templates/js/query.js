// Questions about the blocks of a track at an operation, or between two.
import { NONE } from "./decode.js";
import { K_ALLOC, K_FREE_DONE, K_FREE_REQ, K_LOST, K_SEG_ALLOC, K_SEG_MAP, K_START } from "./exact.js";
import { upperBound } from "./track.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./exact.js").Exact} Exact */
/** @typedef {import("./exact.js").Run} Run */
/** @typedef {"role"|"phase"|"stack"|"alloc"} GroupBy */
/** @typedef {{key: number, label: string, color: string, bytes: number, count: number}} Group */
/** @typedef {{blocks: Uint32Array, bytes: number, count: number, by: (by: GroupBy) => Group[]}} BlockSum */
/** @typedef {{match: (track: Track, block: number) => boolean, mask?: (track: Track) => Uint8Array}} BlockTest */

/** @param {Exact} x @param {number} op @returns {Run} */
export function runOf(x, op) {
  let r = x.runs.length - 1;
  while (r > 0 && x.runs[r].op0 > op) r--;
  return x.runs[r];
}

/** Live sets at some operations, so that any other is near one. @type {WeakMap<Exact, Map<Run, {ops: number[], sets: Uint32Array[]}>>} */
const liveMarks = new WeakMap();

/**
 * The blocks of `from`, and those born in the run after the operation `after`, that are live after `op`.
 * @param {Exact} x @param {Run} run @param {Uint32Array} from @param {number} after @param {number} op @returns {Uint32Array}
 */
function liveFrom(x, run, from, after, op) {
  const { bEnd, bBegin } = x;
  const b0 = upperBound(bBegin, after, run.blockBorn, run.block1), b1 = upperBound(bBegin, op, b0, run.block1);
  const out = new Uint32Array(from.length + b1 - b0);
  let n = 0;
  for (let i = 0; i < from.length; i++) if (bEnd[from[i]] > op) out[n++] = from[i];
  for (let b = b0; b < b1; b++) if (bEnd[b] > op) out[n++] = b;
  return out.slice(0, n);
}

/** @param {Exact} x @param {Run} run */
function liveMarksOf(x, run) {
  let all = liveMarks.get(x);
  if (!all) liveMarks.set(x, all = new Map());
  let m = all.get(run);
  if (m) return m;
  // Farther apart where much is live: together they stay about as large as one column of the operations.
  /** @type {Uint32Array} */
  let set = Uint32Array.from({ length: run.blockBorn - run.block0 }, (_, i) => run.block0 + i);
  m = { ops: [run.op0], sets: [set] };
  for (let at = run.op0, op; (op = at + Math.max(32768, 2 * set.length)) < run.op1; at = op) {
    set = liveFrom(x, run, set, at, op);
    m.ops.push(op);
    m.sets.push(set);
  }
  all.set(run, m);
  return m;
}

/** The last live sets that were asked for: every part of the page asks for that of the cursor. */
const liveLast = /** @type {WeakMap<Exact, Map<number, Uint32Array>>} */ (new WeakMap());

/** The blocks that are live after an operation, oldest first; not to be changed. @param {Track} track @param {number} op @returns {Uint32Array} */
export function liveAt(track, op) {
  const x = track.exact;
  if (!x || !(op >= 0 && op < x.nOps)) return new Uint32Array(0);
  let last = liveLast.get(x), set = last?.get(op);
  if (!last) liveLast.set(x, last = new Map());
  if (set) return set;
  const run = runOf(x, op), m = liveMarksOf(x, run), i = upperBound(m.ops, op) - 1;
  set = liveFrom(x, run, m.sets[i], m.ops[i], op);
  if (last.size >= 2) last.delete(/** @type {number} */ (last.keys().next().value));
  last.set(op, set);
  return set;
}

/** A colour for what has none of its own; equal keys, equal colours. @param {number} key @returns {string} */
export function hashColor(key) {
  const h = Math.imul(key + 1, 2654435761) >>> 0;
  return `hsl(${h % 360} 50% ${48 + (h >>> 16) % 16}%)`;
}

/** Where a site is, for people. @param {Track} track @param {number} site @returns {string} */
export function siteLabel(track, site) { return track.sites?.label(site) || "(no stack recorded)"; }

/** The number of a block's group. @param {Track} track @param {GroupBy} by @returns {(block: number) => number} */
export function groupKey(track, by) {
  const s = track.sites, x = track.exact;
  if (!s || !x || by === "alloc") return (b) => b;
  const of = by === "role" ? s.role : by === "phase" ? s.phase : s.labels;
  return (b) => of[x.bSite[b]];
}

/** @param {Track} track @param {GroupBy} by @param {number} key @param {number} block one of the group @returns {{label: string, color: string}} */
export function groupName(track, by, key, block) {
  const { roles, phases } = track.index, site = track.exact ? track.exact.bSite[block] : 0;
  if (by === "role" || by === "phase") {
    const named = (by === "role" ? roles : phases)[key];
    return { label: named.name, color: named.color };
  }
  return { label: siteLabel(track, site), color: by === "alloc" ? roles[track.sites?.role[site] ?? 0].color : hashColor(key) };
}

/**
 * Blocks by what they have in common, most bytes first.
 * @param {Track} track @param {ArrayLike<number>} blocks @param {GroupBy} by @param {BlockTest|null} [filter] @returns {Group[]}
 */
export function groupLive(track, blocks, by, filter = null) {
  const x = track.exact, key = groupKey(track, by);
  /** @type {Map<number, Group>} */
  const found = new Map();
  for (let i = 0; x && i < blocks.length; i++) {
    const b = blocks[i], k = key(b);
    if (filter && !filter.match(track, b)) continue;
    let g = found.get(k);
    if (!g) found.set(k, g = { key: k, bytes: 0, count: 0, ...groupName(track, by, k, b) });
    g.bytes += x.bSize[b];
    g.count++;
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes || a.key - b.key);
}

/** @param {Track} track @param {Uint32Array} blocks @returns {BlockSum} */
function sumOf(track, blocks) {
  const size = track.exact?.bSize ?? [];
  let bytes = 0;
  for (const b of blocks) bytes += size[b];
  return { blocks, bytes, count: blocks.length, by: (by) => groupLive(track, blocks, by) };
}

/** A block's identity over the runs. @param {Exact} x @param {number} b @returns {string|number} */
function identity(x, b) { return x.bEvent[b] || `${x.bSite[b]}:${x.bSize[b]}:${x.bAddr ? x.bAddr[b] : ""}`; }

/**
 * What is live after the later operation and was not after the earlier one, and the other way round.
 * @param {Track} track @param {number} opA @param {number} opB @returns {{born: BlockSum, gone: BlockSum}}
 */
export function diffBetween(track, opA, opB) {
  const x = track.exact, from = Math.min(opA, opB), to = Math.max(opA, opB), a = liveAt(track, from), b = liveAt(track, to);
  if (!x || from < 0) return { born: sumOf(track, new Uint32Array(0)), gone: sumOf(track, new Uint32Array(0)) };
  if (runOf(x, from) === runOf(x, to)) {
    return {
      born: sumOf(track, b.filter((i) => x.bBegin[i] !== NONE && x.bBegin[i] > from)),
      gone: sumOf(track, a.filter((i) => x.bEnd[i] <= to)),
    };
  }
  // Each run has its own entries: the same block is known by the event of its allocation, older ones by what they look like.
  const without = (/** @type {Uint32Array} */ list, /** @type {Uint32Array} */ other) => {
    /** @type {Map<string|number, number>} */
    const have = new Map();
    for (const i of other) have.set(identity(x, i), (have.get(identity(x, i)) ?? 0) + 1);
    return list.filter((i) => {
      const left = have.get(identity(x, i)) ?? 0;
      have.set(identity(x, i), left - 1);
      return left <= 0;
    });
  };
  return { born: sumOf(track, without(b, a)), gone: sumOf(track, without(a, b)) };
}

/** What was allocated in operations opA .. opB, by stack: also what is gone again. @param {Track} track @param {number} opA @param {number} opB @param {GroupBy} [by] @returns {Group[]} */
export function ownersIn(track, opA, opB, by = "stack") {
  const x = track.exact;
  if (!x) return [];
  /** @type {number[]} */
  const born = [];
  for (let op = Math.max(opA, 0); op <= opB && op < x.nOps; op++) if (x.kind[op] === K_ALLOC) born.push(x.ref[op]);
  return groupLive(track, born, by);
}

/** The event of the next (dir 1) or previous (-1) operation. @param {Track} track @param {number} ev @param {number} dir @returns {number} */
export function nextEvent(track, ev, dir) {
  const x = track.exact;
  if (!x || x.nOps === 0) return Math.max(-1, Math.min(ev + dir, track.meta.events - 1));
  let op = dir > 0 ? upperBound(x.event, ev) : upperBound(x.event, ev - 1) - 1;
  if (dir > 0 && x.kind[op] === K_START && op + 1 < runOf(x, op).op1) op++;
  op = Math.max(0, Math.min(op, x.nOps - 1));
  return x.kind[op] === K_START ? x.event[op] - 1 : x.event[op];
}

/** Live blocks' bytes that a filter matches, after every operation. @param {Track} track @param {BlockTest} filter @returns {Float64Array} */
export function matchedBytes(track, filter) {
  const x = track.exact, out = new Float64Array(x ? x.nOps : 0);
  if (!x) return out;
  const { bSize, ref, kind } = x, hit = filter.mask ? filter.mask(track) : Uint8Array.from(bSize, (_, b) => Number(filter.match(track, b)));
  for (const run of x.runs) {
    let sum = 0;
    for (let b = run.block0; b < run.blockBorn; b++) sum += hit[b] * bSize[b];
    for (let op = run.op0; op < run.op1; op++) {
      const k = kind[op], b = ref[op];
      if (k === K_ALLOC) sum += hit[b] * bSize[b];
      else if (k < K_FREE_REQ || k === K_FREE_DONE || k === K_LOST) sum -= hit[b] * bSize[b];
      out[op] = sum;
    }
  }
  return out;
}

/** @typedef {{name: string, file: string, line: number, internal: boolean, bytes: number, count: number, children: TreeNode[]}} TreeNode */

/**
 * Blocks as a tree of frames, outermost at the root; bottom-up, the allocating frame first.
 * @param {Track} track @param {ArrayLike<number>} blocks @param {{bottomUp?: boolean, foldInternal?: boolean}} [how] @returns {TreeNode}
 */
export function treeOf(track, blocks, { bottomUp = false, foldInternal = true } = {}) {
  /** @typedef {TreeNode & {at: Map<number|string, any>}} Building */
  const s = track.sites, x = track.exact;
  /** @type {(name: string, file?: string, line?: number, internal?: boolean) => Building} */
  const node = (name, file = "", line = 0, internal = false) => ({ name, file, line, internal, bytes: 0, count: 0, children: [], at: new Map() });
  const root = node("all"), none = -1;
  if (!s || !x) return root;
  // Blocks of one stack go down the tree together.
  /** @type {Map<number, {bytes: number, count: number, site: number}>} */
  const stacks = new Map();
  for (let i = 0; i < blocks.length; i++) {
    const b = blocks[i], k = s.stack[x.bSite[b]];
    let t = stacks.get(k);
    if (!t) stacks.set(k, t = { bytes: 0, count: 0, site: x.bSite[b] });
    t.bytes += x.bSize[b];
    t.count++;
  }
  // Folded: Python of the job and its libraries; a stack without any is named as the tables name it.
  /** @param {number[]} all @param {number} site @returns {(number|string)[]} */
  const own = (all, site) => {
    const python = all.filter((f) => (s.fKind[f] & 3) === 1), label = s.label(site);
    return python.length || !label ? python : [label];
  };
  for (const [stack, t] of stacks) {
    const all = s.frameIds(stack), seen = foldInternal ? own(all, t.site) : all;
    /** @type {(number|string)[]} */
    const path = seen.length ? seen : all.length ? all.slice(0, 1) : [none];
    if (!bottomUp) path.reverse();
    let n = root;
    n.bytes += t.bytes;
    n.count += t.count;
    for (const f of path) {
      let next = n.at.get(f);
      if (!next) {
        const info = typeof f === "string" || f === none ? null : s.frame(f);
        n.at.set(f, next = info ? node(info.name, info.file, info.line, info.internal) : node(f === none ? "(no stack recorded)" : String(f)));
        n.children.push(next);
      }
      n = next;
      n.bytes += t.bytes;
      n.count += t.count;
    }
  }
  const todo = [root];
  for (let n = todo.pop(); n; n = todo.pop()) {
    n.at.clear();
    n.children.sort((a, b) => b.bytes - a.bytes);
    for (const child of n.children) todo.push(/** @type {Building} */ (child));
  }
  return root;
}

/** @typedef {{addr: number, size: number, lane: number, blocks: Uint32Array}} Segment blocks by address */

/**
 * The segments after an operation, by address, with their live blocks; null where the page has no addresses.
 * @param {Track} track @param {number} op @returns {Segment[]|null}
 */
export function segmentsAt(track, op) {
  const x = track.exact, run = x && op >= 0 && op < x.nOps ? runOf(x, op) : null;
  if (!x || !run || !x.bAddr || !x.special.addr || !run.segments) return null;
  // Everything that gave or took address space, latest last; the latest that covers an address decides.
  /** @type {{a: number, e: number, lane: number, there: boolean, map: boolean}[]} */
  const acts = [];
  const at = x.special.addr, g = run.segments;
  for (let i = 0; i < g.addr.length; i++) acts.push({ a: g.addr[i], e: g.addr[i] + g.size[i], lane: g.lane[i], there: true, map: g.expandable[i] === 1 });
  // The reserved bytes change at these operations and at the START of each run.
  const steps = x.reserved.op;
  for (let i = upperBound(steps, run.op0); i < steps.length && steps[i] <= op; i++) {
    const k = x.kind[steps[i]], s = x.ref[steps[i]];
    acts.push({ a: at[s], e: at[s] + x.special.size[s], lane: x.special.lane?.[s] ?? 0, there: k === K_SEG_ALLOC || k === K_SEG_MAP, map: k === K_SEG_MAP });
  }
  const edges = Float64Array.from(acts.flatMap((c) => [c.a, c.e])).sort().filter((v, i, all) => i === 0 || v !== all[i - 1]);
  const owner = new Int32Array(edges.length).fill(-1), skip = Uint32Array.from(edges, (_, i) => i);
  const free = (/** @type {number} */ i) => {
    let r = i;
    while (skip[r] !== r) r = skip[r] = skip[skip[r]];
    return r;
  };
  for (let i = acts.length - 1; i >= 0; i--) {
    const last = upperBound(edges, acts[i].e) - 1;
    for (let c = free(upperBound(edges, acts[i].a) - 1); c < last; c = free(c)) {
      owner[c] = i;
      skip[c] = c + 1;
    }
  }
  /** @type {Segment[]} */
  const out = [];
  let before = -1;
  for (let c = 0; c + 1 < edges.length; c++) {
    const i = owner[c], act = i < 0 ? null : acts[i], prev = before < 0 ? null : acts[before], last = out[out.length - 1];
    before = act?.there ? i : -1;
    if (!act?.there) continue;
    // Pages mapped behind one another are one expandable segment.
    const joins = prev && last.lane === act.lane && (prev === act || (act.map && prev.map));
    if (joins) last.size += edges[c + 1] - edges[c];
    else out.push({ addr: edges[c], size: edges[c + 1] - edges[c], lane: act.lane, blocks: new Uint32Array(0) });
  }
  const addr = x.bAddr, live = liveAt(track, op).slice().sort((p, q) => addr[p] - addr[q]);
  for (let i = 0, b = 0; i < out.length; i++) {
    while (b < live.length && addr[live[b]] < out[i].addr) b++;
    const b0 = b;
    while (b < live.length && addr[live[b]] < out[i].addr + out[i].size) b++;
    out[i].blocks = live.slice(b0, b);
  }
  return out;
}
