// Every operation of a track, decoded: keyframes and chunks to arrays. The same code in the worker and, without one, in the page.
import { allSteps, allSums, allVars, badBlock, columns, fromBase64, inflate, NONE, VarReader, wideVars } from "./decode.js";
import { K_FREE, K_FREE_UNKNOWN, K_LOST, K_OOM, K_SEG_ALLOC, K_SEG_MAP, K_START } from "./kinds.js";
import { floor, max } from "./math.js";

/**
 * @typedef {object} TrackMeta an entry of `tracks` in the index
 * @property {number} id @property {string} label @property {number} [rank] @property {number} [device] @property {string} kind
 * @property {string} [input] @property {boolean} [primary] @property {number} events @property {number} old
 * @property {number} capacity @property {number} addr_unit @property {{t0_ns: string, tick_ns: number, step?: number, end: number}|null} time @property {"t"|"e"} axis the one to begin with
 * @property {number[]} groups @property {string} level @property {string[]} left_out
 * @property {{first: number, events: number, chunks: number}[]} runs @property {{m: number, a: number}[]} chunks
 * @property {{live: number, pending: number, reserved: number}} start @property {{event: number, live: number, tick: number}} peak
 * @property {{event: number, live: number, oom: boolean}} focus
 * @property {{id: string, kind: string, from: number, to: number, text: string, request?: number[]}[]} marks
 * @property {{event: number, text: string}[]} story how a request came to fail @property {[number, number]} [home] events to look at first
 * @property {number} [lost] blocks that end without their free @property {number} [ledger] the id of its GPU's ledger
 */
/**
 * @typedef {object} Run a stretch without a gap: operations op0 .. op1 - 1, of which op0 is its START; blocks block0 .. block1 - 1, of which
 * those from blockBorn on were allocated in it
 * @property {number} op0 @property {number} op1 @property {number} first @property {number} events
 * @property {number} block0 @property {number} blockBorn @property {number} block1
 * @property {number} live0 @property {number} pending0 @property {number} reserved0
 * @property {{addr: Float64Array, size: Float64Array, lane: Float64Array, expandable: Float64Array}|null} segments null = not known
 * @property {{ops: number[], sets: Uint32Array[]}} [near] query.js
 */
/** @typedef {{op: Uint32Array, bytes: Float64Array}} Curve the value from each op on */
/**
 * @typedef {object} Specials what operations of kinds 4 to 11 carry; `ref` of the operation is the index
 * @property {number} n @property {Float64Array} size @property {Float64Array} free @property {Uint32Array} site + 1; 0 = none
 * @property {Float64Array|null} addr NaN = no segment @property {Uint32Array|null} lane
 */
/**
 * @typedef {object} Exact
 * @property {number} nOps @property {Uint8Array} kind @property {Uint32Array} ref
 * @property {Uint32Array} event its (last) event: of a FREE the completion, of a START the first of the run
 * @property {Uint32Array|null} tick as recorded @property {{t: Uint32Array|null, e: Uint32Array}} xs by axis, never decreasing: ticks, events
 * @property {Float64Array} total live bytes after the operation
 * @property {Run[]} runs
 * @property {number} nBlocks @property {Float64Array} bSize @property {Uint32Array} bSite
 * @property {Uint32Array} bBegin op; NONE = before its run @property {Uint32Array} bEnd op of the completed free; NONE = none in its run
 * @property {Uint32Array|null} bReq op of a request that lies apart @property {Float64Array|null} bAddr
 * @property {Uint32Array} bEvent event of the allocation + 1; 0 = before the trace
 * @property {Specials} special @property {Curve} reserved @property {Curve} pending
 */

// Limits against forged pages: bytes of a chunk once it is decompressed (65536 events), operations of a track.
const MOST_CHUNK = 2 ** 23, MOST_OPS = 2 ** 28;

// What a byte of the time column stands for, in ticks.
const EXACT_DT = /* @__PURE__ */ Float64Array.from({ length: 255 }, (_, b) => b < 16 ? b : (8 + (b & 7)) * 2 ** ((b >> 3) - 1));

/** One run's keyframe, inflated. */
class Keyframe {
  /** @param {Uint8Array} u8 @param {number} unit */
  constructor(u8, unit) {
    const c = columns(u8, 11), h = new VarReader(c[0]);
    this.first = h.next();
    this.tick = h.next();
    this.nextId = h.next();
    this.live = h.next();
    this.pending = h.zig();
    this.reserved = h.next();
    const n = h.next(), segments = h.next() - 1;
    this.site = allVars(c[2]);
    this.whole = allVars(c[3]);
    this.rest = allVars(c[4]);
    this.state = allVars(c[5]);
    this.event = allVars(c[6]);
    this.ids = allVars(c[1]);
    for (let i = 1; i < this.ids.length; i++) {
      if (this.ids[i] === 0) throw badBlock("a block is live twice");
      this.ids[i] += this.ids[i - 1];
    }
    if (this.rest.length === 0) this.rest = new Float64Array(n);
    for (const a of [this.ids, this.site, this.whole, this.rest, this.state, this.event]) if (a.length !== n) throw badBlock("a keyframe is cut");
    if (n > 0 && this.ids[n - 1] >= this.nextId) throw badBlock("a keyframe holds a block of the future");
    this.addr = c[7].length ? allSums(c[7]).map((v) => v * unit) : null;
    const at = allSteps(c[8]).map((v) => v * unit), size = allVars(c[9]), lane = allVars(c[10]);
    if ((this.addr && this.addr.length !== n) || (at.length && (at.length !== segments || size.length !== at.length || lane.length !== at.length))) {
      throw badBlock("a keyframe is cut");
    }
    this.segments = at.length || segments === 0 ? { addr: at, size, lane: lane.map((v) => floor(v / 2)), expandable: lane.map((v) => v % 2) } : null;
  }

  /** @param {number} id @returns {number} its place in the keyframe */
  find(id) {
    const ids = this.ids;
    let lo = 0, hi = ids.length - 1;
    if (hi >= 0 && ids[hi] - ids[0] === hi && id >= ids[0] && id <= ids[hi]) return id - ids[0];
    while (lo <= hi) {
      const mid = (lo + hi) >> 1;
      if (ids[mid] === id) return mid;
      if (ids[mid] < id) lo = mid + 1;
      else hi = mid - 1;
    }
    throw badBlock("a free names a block that is not there");
  }
}

/** Collects the inflated blocks of a track, then decodes them into arrays of exactly the right size. */
export class ChunkDecoder {
  /** @param {TrackMeta} meta */
  constructor(meta) {
    this.meta = meta;
    /** @type {{frame: Keyframe, chunks: {c: Uint8Array[], t: Uint8Array[]|null, m: Uint8Array[]|null, a: Uint8Array[]|null}[]}[]} */
    this.parts = [];
    this.ops = 0;
    this.blocks = 0;
    this.hasAddr = true;
    this.places = /** @type {Float64Array} */ (new Float64Array(0));
  }

  /** Addresses that allocations have. @param {Uint8Array} u8 */
  addPlaces(u8) { this.places = allSums(columns(u8, 1)[0]); }

  /** @param {Uint8Array} u8 */
  addRun(u8) {
    const frame = new Keyframe(u8, this.meta.addr_unit);
    if (!frame.addr && frame.ids.length) this.hasAddr = false;
    this.ops++;
    this.blocks += frame.ids.length;
    this.parts.push({ frame, chunks: [] });
  }

  /** @param {Uint8Array} c @param {Uint8Array|null} t @param {Uint8Array|null} m @param {Uint8Array|null} a */
  addChunk(c, t, m, a) {
    const cols = columns(c, 10);
    this.ops += cols[0].length;
    this.blocks += cols[3].length;
    if (!a) this.hasAddr = false;
    this.parts[this.parts.length - 1].chunks.push({ c: cols, t: t && columns(t, 2), m: m && columns(m, 3), a: a && columns(a, 6) });
  }

  /** @param {(done: number) => void|Promise<void>} [progress] @returns {Promise<Exact>} */
  async finish(progress = () => {}) {
    const runs = this.parts;
    if (this.ops > MOST_OPS) throw badBlock("it has more operations than a page can hold");
    const out = new ExactBuilder(this.meta, this.ops, this.blocks, this.hasAddr, this.places);
    for (let r = 0; r < runs.length; r++) {
      out.begin(runs[r].frame, this.meta.runs[r]);
      for (const { c, t, m, a } of runs[r].chunks) {
        out.chunk(c, t, m, a);
        await progress(out.op / this.ops);
      }
      out.end();
      runs[r].chunks = [];
    }
    return out.done();
  }
}

class ExactBuilder {
  /** @param {TrackMeta} meta @param {number} ops @param {number} blocks @param {boolean} hasAddr @param {Float64Array} places */
  constructor(meta, ops, blocks, hasAddr, places) {
    const u32 = (/** @type {number} */ n) => new Uint32Array(n);
    this.unit = meta.addr_unit;
    this.hasAddr = hasAddr;
    this.places = places;
    this.kind = new Uint8Array(ops);
    this.ref = u32(ops);
    this.event = u32(ops);
    this.tick = meta.time ? u32(ops) : null;
    this.total = new Float64Array(ops);
    this.bSize = new Float64Array(blocks);
    this.bSite = u32(blocks);
    this.bBegin = u32(blocks).fill(NONE);
    this.bEnd = u32(blocks).fill(NONE);
    /** @type {Uint32Array|null} */
    this.bReq = null;
    this.bAddr = this.hasAddr ? new Float64Array(blocks) : null;
    this.bEvent = u32(blocks);
    /** @type {Run[]} */
    this.runs = [];
    /** @type {{size: number[], free: number[], site: number[], addr: number[], lane: number[]}} */
    this.special = { size: [], free: [], site: [], addr: [], lane: [] };
    /** @type {{op: number[], bytes: number[]}[]} reserved, pending */
    this.curves = [{ op: [], bytes: [] }, { op: [], bytes: [] }];
    // Where it is: next operation and block, next event, tick, live, reserved and pending bytes.
    this.op = this.block = this.now = this.time = this.live = this.held = this.waiting = 0;
    /** @type {Keyframe|null} */
    this.frame = null;
    this.limit = 0;
    this.room = [u32(0), u32(0)];
    this.back = false;
    this.last = meta.time ? meta.time.end : 0; // an approximate time may lie behind it, and out of the picture
  }

  get run() { return this.runs[this.runs.length - 1]; }

  /** @param {Keyframe} f @param {{first: number, events: number}} want */
  begin(f, want) {
    const n = f.ids.length, b0 = this.block;
    if (f.first !== want.first || f.first + want.events >= NONE) throw badBlock("a run begins elsewhere than the index says");
    this.frame = f;
    this.limit = f.first + want.events;
    this.runs.push({
      op0: this.op, op1: this.op + 1, first: f.first, events: want.events, block0: b0, blockBorn: b0 + n, block1: b0 + n,
      live0: f.live, pending0: f.pending, reserved0: f.reserved, segments: f.segments,
    });
    this.kind[this.op] = K_START;
    this.ref[this.op] = NONE;
    this.event[this.op] = this.now = f.first;
    this.time = f.tick;
    if (this.tick) this.tick[this.op] = f.tick;
    if (this.tick && this.op > 0 && f.tick < this.tick[this.op - 1]) this.back = true;
    this.total[this.op] = this.live = f.live;
    this.held = f.reserved;
    this.waiting = f.pending;
    this.step(0, this.held, true);
    this.step(1, this.waiting, true);
    for (let i = 0; i < n; i++) {
      this.bSize[b0 + i] = f.whole[i] * 512 + f.rest[i];
      this.bSite[b0 + i] = f.site[i];
      this.bEvent[b0 + i] = f.event[i];
      if (this.bAddr && f.addr) this.bAddr[b0 + i] = f.addr[i];
      if (f.state[i] === 1) this.request(b0 + i);
    }
    this.block += n;
    this.op++;
  }

  /** Completions without their requests take no curve below 0. @param {number} which @param {number} bytes @param {boolean} [begin] of a run */
  step(which, bytes, begin) {
    const c = this.curves[which], now = max(bytes, 0);
    if (!begin && c.bytes.at(-1) === now) return;
    c.op.push(this.op);
    c.bytes.push(now);
  }

  /** @param {number} b */
  request(b) {
    this.bReq ??= new Uint32Array(this.bEnd.length).fill(NONE);
    if (this.bReq[b] !== NONE) throw badBlock("a block's free is requested twice");
    this.bReq[b] = this.op;
  }

  /** A block of the keyframe. @param {number} b its place, if all blocks since the first one were there @returns {number} */
  old(b) {
    const { run } = this, f = /** @type {Keyframe} */ (this.frame);
    return run.block0 + f.find(f.nextId + b - run.blockBorn);
  }

  /** The block that lies `back` before the next one. @param {number} back @returns {number} */
  find(back) {
    const b = this.block - back, at = b >= this.run.blockBorn && b < this.block ? b : this.old(b);
    if (this.bEnd[at] !== NONE) throw badBlock("a block is freed twice");
    return at;
  }

  /** Numbers of a chunk, in room that the next one uses again. @param {Uint8Array[]} c @param {number} at see wideVars() @param {number} n how many
   *  @param {number[]} [long] @param {number} [room] @returns {Uint32Array} */
  wide(c, at, n, long, room = 1) {
    if (c[at].length !== n) throw badBlock("the columns of a chunk differ in length");
    if (this.room[room].length < n) this.room[room] = new Uint32Array(n);
    return wideVars(c, at, this.room[room], long);
  }

  // Every loop is a function of its own: what runs for the first time is compiled loop by loop.

  /** @param {Uint8Array[]} c @param {Uint8Array[]|null} t @param {Uint8Array[]|null} m @param {Uint8Array[]|null} a */
  chunk(c, t, m, a) {
    const long = /** @type {number[]} */ ([]), n = c[3].length, codes = this.wide(c, 0, c[0].length, undefined, 0), none = new Uint8Array(0);
    const [more, far, others, addr, lane] = [c[9], t?.[1], a?.[3], a?.[4], a?.[5]].map((u8) => new VarReader(u8 ?? none)), where = a ? { addr, lane, last: 0 } : null, end = this.block + n, size = this.bSize.subarray(this.block, end);
    wideVars(c, 3, this.bSite.subarray(this.block, end));
    sizesOf(this.wide(c, 6, n, long), long, size);
    if (m) plusOf(this.wide(m, 0, n), size);
    if (this.bAddr && a) this.addresses(this.wide(a, 0, n), others, this.bAddr.subarray(this.block, end));
    if (this.tick) this.times(codes.length, t?.[0] ?? none, far);
    this.operations(codes, more, where);
    if (this.now > this.limit) throw badBlock("a chunk holds more events than the index says");
    if (this.block !== end || ![more, far, addr, lane, ...this.bAddr ? [others] : []].every((r) => r.end)) throw badBlock("the columns of a chunk differ in length");
  }

  /** @param {Uint32Array} at @param {VarReader} others @param {Float64Array} out */
  addresses(at, others, out) {
    const { places, unit } = this, most = places.length;
    for (let i = 0, last = 0; i < out.length; i++) {
      if (at[i] > most) throw badBlock("a reference points to nothing");
      out[i] = (at[i] ? places[at[i] - 1] : last += others.zig()) * unit;
    }
  }

  /** @param {number} n @param {Uint8Array} dt @param {VarReader} far of byte 255 */
  times(n, dt, far) {
    const tick = /** @type {Uint32Array} */ (this.tick), { op, last } = this;
    let { time } = this, before = tick[op - 1], back = false;
    if (dt.length < n) throw badBlock("a chunk has too few times");
    for (let i = 0; i < n; i++) {
      const b = dt[i];
      time += b < 255 ? EXACT_DT[b] : far.zig();
      if (!(time >= 0 && time < NONE)) throw badBlock("a time is out of range");
      if (time < before) back = true;
      tick[op + i] = before = time < last ? time : last;
    }
    if (back) this.back = true;
    this.time = time;
  }

  /** @param {Uint32Array} codes @param {VarReader} more
   *  @param {{addr: VarReader, lane: VarReader, last: number}|null} where */
  operations(codes, more, where) {
    const { kind, ref, event, total, bSize, bBegin, bEnd, bEvent } = this, n = codes.length, born = this.run.blockBorn;
    let { op, block, now, live } = this;
    for (let i = 0; i < n; i++, op++) {
      const code = codes[i];
      if (code === 0) {
        ref[op] = block;
        bBegin[block] = op;
        event[op] = now++;
        bEvent[block] = now;
        live += bSize[block++];
      } else if (code > 1) {
        let b = block + 1 - code;
        if (b < born) b = this.old(b);
        if (bEnd[b] !== NONE) throw badBlock("a block is freed twice");
        kind[op] = K_FREE;
        ref[op] = b;
        bEnd[b] = op;
        live -= bSize[b];
        event[op] = now + 1; // the state after it is that of its completion
        now += 2;
      } else {
        this.op = op;
        this.block = block;
        event[op] = now;
        live -= this.other(more, where);
        now += kind[op] === K_LOST ? 0 : 1;
      }
      total[op] = live;
    }
    this.op = op;
    this.block = block;
    this.now = now;
    this.live = live;
  }

  /**
   * A special. @param {VarReader} r @param {{addr: VarReader, lane: VarReader, last: number}|null} where
   * @returns {number} bytes that it takes from the live ones
   */
  other(r, where) {
    const kind = r.next(), s = this.special, op = this.op;
    if (kind < 1 || kind > 12) throw badBlock("an operation of an unknown kind");
    if (kind < 3 || kind === 12) {
      const b = this.find(r.next()), size = this.bSize[b];
      this.kind[op] = kind === 12 ? K_LOST : kind + 1;
      this.ref[op] = b;
      if (kind === 1) {
        this.request(b);
        this.step(1, this.waiting += size);
        return 0;
      }
      this.bEnd[b] = op;
      // The free of a lost block is in no total.
      if (kind === 12) return 0;
      this.step(1, this.waiting -= size);
      return size;
    }
    this.kind[op] = kind < 5 ? K_FREE_UNKNOWN : kind;
    this.ref[op] = s.size.length;
    const size = kind < 11 ? r.next() : 0, segment = kind > 4 && kind < 9;
    s.size.push(size);
    s.free.push(kind === K_OOM ? r.next() : 0);
    s.site.push(kind === K_OOM ? r.next() : 0);
    if (kind < 5) this.step(1, this.waiting += kind === 3 ? size : -size);
    if (segment) this.step(0, this.held += kind === K_SEG_ALLOC || kind === K_SEG_MAP ? size : -size);
    if (this.hasAddr) {
      s.addr.push(segment && where ? (where.last += where.addr.zig()) * this.unit : NaN);
      s.lane.push(segment && where ? where.lane.next() : 0);
    }
    return kind === 4 ? size : 0;
  }

  end() {
    const run = this.run;
    run.op1 = this.op;
    run.block1 = this.block;
    if (this.now !== this.limit) throw badBlock("a run has fewer events than the index says");
  }

  /** @returns {Exact} */
  done() {
    const s = this.special, curve = (/** @type {{op: number[], bytes: number[]}} */ c) => ({ op: new Uint32Array(c.op), bytes: new Float64Array(c.bytes) });
    return {
      nOps: this.op, kind: this.kind, ref: this.ref, event: this.event, tick: this.tick, xs: { t: this.tick && this.back ? rising(this.tick) : this.tick, e: this.event }, total: this.total,
      runs: this.runs, nBlocks: this.block, bSize: this.bSize, bSite: this.bSite, bBegin: this.bBegin, bEnd: this.bEnd, bReq: this.bReq,
      bAddr: this.bAddr, bEvent: this.bEvent,
      special: {
        n: s.size.length, size: new Float64Array(s.size), free: new Float64Array(s.free), site: new Uint32Array(s.site),
        addr: this.hasAddr ? new Float64Array(s.addr) : null, lane: this.hasAddr ? new Uint32Array(s.lane) : null,
      },
      reserved: curve(this.curves[0]), pending: curve(this.curves[1]),
    };
  }
}

/** In units of 512 bytes. @param {Uint32Array} v @param {number[]} long @param {Float64Array} out */
const sizesOf = (v, long, out) => {
  for (let i = 0, k = 0; i < out.length; i++) out[i] = (v[i] === NONE ? long[k++] : v[i]) * 512;
};

/** What is beyond. @param {Uint32Array} v @param {Float64Array} out */
const plusOf = (v, out) => {
  for (let i = 0; i < out.length; i++) out[i] += v[i];
};

/** A clock may go back. @param {Uint32Array} tick @returns {Uint32Array} a copy that never decreases */
const rising = (tick) => {
  const out = tick.slice();
  for (let i = 1; i < out.length; i++) if (out[i] < out[i - 1]) out[i] = out[i - 1];
  return out;
};

/** @param {TrackMeta} meta */
const hasPlaces = (meta) => meta.chunks.some((c) => c.a);

/** @param {TrackMeta} meta @returns {string[]} the blocks that hold its operations */
export const exactBlocks = (meta) => [...hasPlaces(meta) ? [`mt-t${meta.id}-d`] : [], ...meta.runs.map((_, r) => `mt-t${meta.id}-r${r}`), ...meta.chunks.flatMap((c, n) =>
  [`mt-t${meta.id}-c${n}`, ...meta.time ? [`mt-t${meta.id}-t${n}`] : [], ...c.m ? [`mt-t${meta.id}-m${n}`] : [], ...c.a ? [`mt-t${meta.id}-a${n}`] : []])];

/**
 * @param {TrackMeta} meta @param {(id: string) => string|null|undefined} text a block's base64
 * @param {(done: number) => void|Promise<void>} [progress] 0 to 1
 * @returns {Promise<Exact>}
 */
export const decodeExact = async (meta, text, progress = () => {}) => {
  const d = new ChunkDecoder(meta), all = meta.chunks.length;
  const get = async (/** @type {string} */ name) => {
    const t = text(`mt-t${meta.id}-${name}`);
    if (t === null || t === undefined) throw badBlock(`the block ${name} is missing`);
    return inflate(fromBase64(t), /[dr]/.test(name) ? undefined : MOST_CHUNK);
  };
  let n = 0;
  if (hasPlaces(meta)) d.addPlaces(await get("d"));
  for (let r = 0; r < meta.runs.length; r++) {
    d.addRun(await get(`r${r}`));
    for (const end = n + meta.runs[r].chunks; n < end; n++) {
      if (n >= all) throw badBlock("the index names more chunks than there are");
      const { m, a } = meta.chunks[n];
      d.addChunk(await get(`c${n}`), meta.time ? await get(`t${n}`) : null, m ? await get(`m${n}`) : null, a ? await get(`a${n}`) : null);
      await progress((n + 1) / all / 2);
    }
  }
  return d.finish((f) => progress(0.5 + f / 2));
};

/** The buffers of decoded arrays, to be handed over instead of copied. @param {Exact} x @returns {ArrayBuffer[]} */
export const exactBuffers = (x) => {
  const found = new Set();
  const walk = (/** @type {unknown} */ v) => {
    if (ArrayBuffer.isView(v)) found.add(v.buffer);
    else if (v && typeof v === "object") Object.values(v).forEach(walk);
  };
  walk(x);
  return [...found];
};
