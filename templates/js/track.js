// One device of one rank: what is known of it from the index, and its blocks as they are decoded.
import { xOfEvent } from "./layout.js";
import { max, upperBound } from "./math.js";

/** @typedef {import("./exact.js").TrackMeta} TrackMeta */
/** @typedef {import("./exact.js").Exact} Exact */
/** @typedef {{id: string, name: string, color: string}} Named */
/**
 * @typedef {{v: number, title: string, version: string, roles: Named[], phases: Named[], holders: Named[], palette: string[], tracks: TrackMeta[],
 *   ledgers: {id: number, name: string, capacity: number, t0_ns: string, peak: number}[]}} Index
 */
/**
 * @typedef {{text: (id: string) => string|null, tables: typeof import("./tables.js").readTables,
 *   decode: (meta: TrackMeta, text: (id: string) => string|null, progress: (done: number) => void) => Promise<Exact>}} TrackIo
 * where blocks come from, and what reads them
 */

/** Blocks are elements of the page; what reads them is in worker.js. @type {TrackIo} */
export const pageIo = { text: (id) => document.getElementById(id)?.textContent?.trim() ?? null, ... /** @type {any} */ (globalThis).mtRead };

const SILENCE = 20000; // ms: ten million events are decoded in a tenth of it

export class Track {
  /** @type {import("./tables.js").Sites|null} */
  sites = null;
  /** @type {import("./tables.js").Phases|null} */
  phases = null;
  /** By axis. @type {import("./tables.js").Tables["overview"]} */
  overview = { t: null, e: null };
  /** Who holds the memory of its GPU, where the recording tells. @type {import("./tables.js").Overview|null} */
  ledger = null;
  /** @type {Exact|null} */
  exact = null;
  /** What could not be read, for people. @type {string[]} */
  errors = [];
  loaded = false;
  /** How much of the operations is decoded, 0 to 1. */
  progress = 0;
  /** True while nothing was heard of that for long. */
  stuck = false;
  onProgress = () => {};
  /** By axis: kept, for the clock of events is known better later. @type {Record<string, [number, number]>} */
  homes = {};
  /** @type {Promise<void>|undefined} */
  loading;
  /** @type {Promise<Exact>|undefined} */
  beside;
  /** @type {Promise<Exact|null>|undefined} */
  decoding;

  /** @param {Index} index @param {TrackMeta} meta @param {TrackIo} [io] */
  constructor(index, meta, io = pageIo) {
    this.index = index;
    this.meta = meta;
    this.io = io;
  }

  /** Overviews, stacks and phases: small, and needed first. @returns {Promise<void>} */
  load() {
    return this.loading ??= this.io.tables(this.index, this.meta, this.io.text).then((tables) => { Object.assign(this, tables).loaded = true; });
  }

  /** True where the page carries operations of this track. */
  get hasExact() { return this.meta.runs.length > 0; }

  /** Has the operations decoded beside the page, which has enough to do meanwhile. */
  startExact() {
    if (!this.hasExact || this.beside) return;
    let waiting = 0;
    const hear = (stuck = false) => {
      this.stuck = stuck;
      this.onProgress();
      clearTimeout(waiting);
      waiting = setTimeout(hear, SILENCE, true);
    };
    hear();
    (this.beside = this.io.decode(this.meta, this.io.text, (done) => {
      this.progress = done;
      hear();
    })).catch(() => {}).then(() => clearTimeout(waiting));
  }

  /** @returns {Promise<Exact|null>} null: see errors */
  loadExact() { return this.decoding ??= this.decodeAll(); }

  async decodeAll() {
    this.startExact();
    await this.load();
    const { sites, beside } = this;
    try {
      const x = await beside;
      if (x?.bSite.some((s) => !(s < /** @type {any} */ (sites?.nSites)))) throw new Error("The data in this page is damaged: a block of memory has no site.");
      this.exact = x || null;
    } catch (error) {
      this.errors.push(/** @type {Error} */ (error).message);
    }
    return this.exact;
  }

  /** The last operation at or before an event, or the state before a run. @param {number} ev @returns {number} -1: not in any run */
  opOfEvent(ev) {
    const x = this.exact, run = x?.runs.find((r) => ev >= r.first - 1 && ev < r.first + r.events);
    return x && run ? max(upperBound(x.event, ev, run.op0, run.op1) - 1, run.op0) : -1;
  }

  /** @param {number} op @param {"t"|"e"} axis @returns {number} ticks, or an event */
  xOf(op, axis) {
    return this.exact?.xs[axis]?.[op] ?? 0;
  }

  /** @param {"t"|"e"} axis @returns {[number, number]} ticks, or events */
  axisRange(axis) {
    const o = this.overview[axis];
    if (o) return [o.x0, o.x1];
    return [0, axis === "t" && this.meta.time ? this.meta.time.end : this.meta.events];
  }

  /** What is looked at first: where a request failed, the events before it. @param {"t"|"e"} axis @returns {[number, number]} */
  home(axis) {
    const { home } = this.meta;
    return home ? this.homes[axis] ??= /** @type {[number, number]} */ (home.map((e) => xOfEvent(this, e, axis))) : this.axisRange(axis);
  }

  /** @param {number} ticks @returns {number} */
  seconds(ticks) { return ticks * (this.meta.time?.tick_ns ?? 0) / 1e9; }
}
