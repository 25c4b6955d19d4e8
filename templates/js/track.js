// One device of one rank: what is known of it from the index, and its blocks as they are decoded.
import { fromBase64, inflate } from "./decode.js";
import { exactBlocks } from "./exact.js";
import { bothRanges, decodeOverview, decodePhases, decodeRanges, decodeSites } from "./tables.js";

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

/** Blocks and the worker's code are elements of the page. @type {TrackIo} */
export const pageIo = {
  text: (id) => document.getElementById(id)?.textContent?.trim() ?? null,
  worker: () => {
    const code = document.getElementById("mt-worker")?.textContent;
    if (!code || typeof Worker === "undefined") return null;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    try {
      return new Worker(url);
    } catch {
      return null;
    } finally {
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    }
  },
  decode: (...of) => /** @type {any} */ (globalThis).mtDecode(...of),
};

/** How many of the first values are <= x. @param {ArrayLike<number>} a never decreasing @param {number} x @returns {number} */
export function upperBound(a, x, lo = 0, hi = a.length) {
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if (a[mid] <= x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

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
    /** @type {Exact|null} */
    this.exact = null;
    /** What could not be read, for people. @type {string[]} */
    this.errors = [];
    /** @type {Promise<void>|null} */
    this.loading = null;
    this.loaded = false;
    /** @type {Promise<Exact|null>|null} */
    this.decoding = null;
  }

  /** Overviews, stacks and phases: small, and needed first. @returns {Promise<void>} */
  load() { return this.loading ??= this.loadTables(); }

  async loadTables() {
    const known = { roles: this.index.roles.length, phases: this.index.phases.length, groups: this.meta.groups.length };
    this.overviewEvent = await this.table("e", (u8) => decodeOverview(u8, known));
    this.overviewTime = await this.table("o", (u8) => decodeOverview(u8, known));
    this.sites = await this.table("s", (u8) => decodeSites(u8, known));
    this.phases = await this.table("p", (u8) => decodePhases(u8, known.phases));
    const nvtx = await this.table("n", decodeRanges);
    if (this.phases && nvtx) this.phases.ranges = bothRanges(this.phases.ranges, nvtx);
    this.loaded = true;
  }

  /** @template T @param {string} name @param {(u8: Uint8Array) => T} decode @returns {Promise<T|null>} */
  async table(name, decode) {
    const text = this.io.text(`mt-t${this.meta.id}-${name}`);
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
    const text = error instanceof Error ? error.message : String(error);
    if (!this.errors.includes(text)) this.errors.push(text);
  }

  /** True where the page carries operations of this track. */
  get hasExact() { return this.meta.runs.length > 0 && this.meta.level !== "overview" && this.meta.level !== "withheld"; }

  /** @param {(done: number) => void} [onProgress] 0 to 1 @returns {Promise<Exact|null>} null: see errors */
  loadExact(onProgress = () => {}) { return this.decoding ??= this.decodeAll(onProgress); }

  /** @param {(done: number) => void} onProgress @returns {Promise<Exact|null>} */
  async decodeAll(onProgress) {
    await this.load();
    if (!this.hasExact || !this.sites) return null;
    try {
      const x = await this.inWorker(onProgress) ?? await this.io.decode(this.meta, this.io.text, async (done) => {
        onProgress(done);
        await new Promise((go) => setTimeout(go));
      });
      for (let b = 0; b < x.nBlocks; b++) if (x.bSite[b] >= this.sites.nSites) throw new Error("The data in this page is damaged: a block of memory has no site.");
      this.exact = x;
    } catch (error) {
      this.fail(error);
    }
    return this.exact;
  }

  /** @param {(done: number) => void} onProgress @returns {Promise<Exact|null>} null: no worker, decode here */
  inWorker(onProgress) {
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
        if (data.progress !== undefined) return onProgress(data.progress);
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

  /** The last operation at or before an event; -1 = the state before the first. @param {number} ev @returns {number} -1: not in any run */
  opOfEvent(ev) {
    const x = this.exact;
    if (!x) return -1;
    const run = x.runs.findLast((r) => ev >= r.first) ?? x.runs[0];
    if (ev < run.first) return ev === run.first - 1 ? run.op0 : -1;
    if (ev >= run.first + run.events) return ev < this.meta.events ? -1 : run.op1 - 1;
    return upperBound(x.event, ev, run.op0, run.op1) - 1;
  }

  /** The last operation at or before a tick. @param {number} tick @returns {number} -1: none */
  opOfTick(tick) {
    const x = this.exact;
    return x?.tickX ? Math.max(upperBound(x.tickX, tick) - 1, 0) : -1;
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
