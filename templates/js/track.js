// One device of one rank: what is known of it from the index, and its blocks as they are decoded.
import { fromBase64, inflate } from "./decode.js";
import { exactBlocks } from "./exact.js";
import { lowerBound } from "./layout.js";
import { bothRanges, decodeLedger, decodeOverview, decodePhases, decodeRanges, decodeSites } from "./tables.js";

/** @typedef {import("./exact.js").TrackMeta} TrackMeta */
/** @typedef {import("./exact.js").Exact} Exact */
/** @typedef {{id: string, name: string, color: string}} Named */
/**
 * @typedef {{v: number, title: string, version: string, roles: Named[], phases: Named[], holders: Named[], tracks: TrackMeta[],
 *   ledgers: {id: number, name: string, capacity: number, t0_ns: string, peak: number}[]}} Index
 */
/**
 * @typedef {{text: (id: string) => string|null, worker: () => Worker|null, decode: typeof import("./exact.js").decodeExact}} TrackIo
 * where blocks come from, and what decodes them: beside the page, or in it
 */

/** Blocks are elements of the page; the rest is what worker.js left. @type {TrackIo} */
export const pageIo = {
  text: (id) => document.getElementById(id)?.textContent?.trim() ?? null,
  worker: () => /** @type {any} */ (globalThis).mtWorker?.() ?? null,
  decode: (...of) => /** @type {any} */ (globalThis).mtDecode(...of),
};

/** How many of the first values are <= x. @param {ArrayLike<number>} a whole numbers, never decreasing @param {number} x @returns {number} */
export function upperBound(a, x, lo = 0, hi = a.length) { return lowerBound(a, Math.floor(x) + 1, lo, hi); }

export class Track {
  /** @param {Index} index @param {TrackMeta} meta @param {TrackIo} [io] */
  constructor(index, meta, io = pageIo) {
    this.index = index;
    this.meta = meta;
    this.io = io;
    /** @type {import("./tables.js").Sites|null} */
    this.sites = null;
    /** @type {import("./tables.js").Phases|null} */
    this.phases = null;
    /** @type {import("./tables.js").Overview|null} */
    this.overviewTime = null;
    /** @type {import("./tables.js").Overview|null} */
    this.overviewEvent = null;
    /** Who holds the memory of its GPU, where the recording tells. @type {any} */
    this.ledger = null;
    /** @type {Exact|null} */
    this.exact = null;
    /** What could not be read, for people. @type {string[]} */
    this.errors = [];
    /** @type {Promise<void>|null} */
    this.loading = null;
    this.loaded = false;
    /** @type {Promise<Exact|null>|null} */
    this.decoding = null;
    /** What the worker makes of it; null = not asked. @type {Promise<Exact|null>|null} */
    this.beside = null;
    this.onProgress = /** @type {(done: number) => void} */ (() => {});
  }

  /** Overviews, stacks and phases: small, and needed first. @returns {Promise<void>} */
  load() { return this.loading ??= this.loadTables(); }

  async loadTables() {
    const known = { roles: this.index.roles.length, phases: this.index.phases.length, groups: this.meta.groups.length };
    this.overviewEvent = await this.table("e", (u8) => decodeOverview(u8, known));
    this.overviewTime = await this.table("o", (u8) => decodeOverview(u8, known));
    await this.loadLedger();
    this.sites = await this.table("s", (u8) => decodeSites(u8, known));
    this.phases = await this.table("p", (u8) => decodePhases(u8, known.phases));
    const nvtx = await this.table("n", decodeRanges);
    if (this.phases && nvtx) this.phases.ranges = bothRanges(this.phases.ranges, nvtx);
    this.loaded = true;
  }

  /** The ledger as an overview of the axis of time: of both, the clocks are the same one. */
  async loadLedger() {
    const { time, ledger } = this.meta, l = this.index.ledgers.find((q) => q.id === ledger);
    const of = l && time && await this.table("", (u8) => decodeLedger(u8, this.index.holders.length), `mt-g${ledger}`);
    if (!of) return;
    const shift = Number(BigInt(l.t0_ns) - BigInt(time.t0_ns)), tick = (/** @type {number} */ us) => (us * 1000 + shift) / time.tick_ns;
    this.ledger = { n: of.n, x0: tick(of.t0), x1: tick(of.t1), high: of.used, groups: of.holders };
  }

  /** @template T @param {string} name @param {(u8: Uint8Array) => T} decode @param {string} [id] @returns {Promise<T|null>} */
  async table(name, decode, id = `mt-t${this.meta.id}-${name}`) {
    const text = this.io.text(id);
    if (text === null) return null;
    try {
      return decode(await inflate(fromBase64(text)));
    } catch (error) {
      this.fail(error);
      return null;
    }
  }

  /** @param {unknown} error */
  fail(error) {
    const { message } = /** @type {Error} */ (error);
    if (!this.errors.includes(message)) this.errors.push(message);
  }

  /** True where the page carries operations of this track. */
  get hasExact() { return this.meta.runs.length > 0 && this.meta.level !== "overview" && this.meta.level !== "withheld"; }

  /** @param {(done: number) => void} [onProgress] 0 to 1 @returns {Promise<Exact|null>} null: see errors */
  loadExact(onProgress = () => {}) {
    this.onProgress = onProgress;
    return this.decoding ??= this.decodeAll();
  }

  /** Has the operations decoded beside the page, which has enough to do meanwhile. */
  startExact() { if (this.hasExact) (this.beside ??= this.inWorker()).catch(() => {}); }

  /** @returns {Promise<Exact|null>} */
  async decodeAll() {
    this.startExact();
    await this.load();
    if (!this.hasExact || !this.sites) return null;
    try {
      const x = await this.beside ?? await this.io.decode(this.meta, this.io.text, async (done) => {
        this.onProgress(done);
        await new Promise((go) => setTimeout(go));
      });
      for (let b = 0; b < x.nBlocks; b++) if (x.bSite[b] >= this.sites.nSites) throw new Error("The data in this page is damaged: a block of memory has no site.");
      this.exact = x;
    } catch (error) {
      this.fail(error);
    }
    return this.exact;
  }

  /** @returns {Promise<Exact|null>} null: no worker, decode here */
  inWorker() {
    const worker = this.io.worker();
    if (!worker) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      /** @type {Record<string, string>} */
      const blocks = {};
      for (const id of exactBlocks(this.meta)) {
        const text = this.io.text(id);
        if (text !== null) blocks[id] = text;
      }
      worker.onmessage = ({ data }) => {
        if (data.progress !== undefined) return this.onProgress(data.progress);
        worker.terminate();
        if (data.error) reject(new Error(data.error));
        else resolve(data.exact);
      };
      worker.onerror = () => {
        worker.terminate();
        resolve(null);
      };
      worker.postMessage({ track: this.meta, blocks });
    });
  }

  /** The last operation at or before an event, or the state before a run. @param {number} ev @returns {number} -1: not in any run */
  opOfEvent(ev) {
    const x = this.exact, run = x?.runs.find((r) => ev >= r.first - 1 && ev < r.first + r.events);
    return x && run ? Math.max(upperBound(x.event, ev, run.op0, run.op1) - 1, run.op0) : -1;
  }

  /** @param {number} op @param {"t"|"e"} axis @returns {number} ticks, or an event */
  xOf(op, axis) {
    const x = this.exact;
    return x ? axis === "t" && x.tickX ? x.tickX[op] : x.event[op] : 0;
  }

  /** @param {"t"|"e"} axis @returns {[number, number]} ticks, or events */
  axisRange(axis) {
    const o = axis === "t" ? this.overviewTime : this.overviewEvent;
    if (o) return [o.x0, o.x1];
    return [0, axis === "t" && this.meta.time ? this.meta.time.end : this.meta.events];
  }

  /** @param {number} ticks @returns {number} */
  seconds(ticks) { return ticks * (this.meta.time?.tick_ns ?? 0) / 1e9; }
}
