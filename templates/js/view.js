// The one state of the page: what is looked at, and who wants to know. Panels read it, nobody keeps a copy.
import { eventOfX, xOfEvent } from "./layout.js";
import { clamp, max, min, round } from "./math.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {"role"|"phase"|"stack"|"alloc"|"owner"} By owner: of the device's memory, where the driver's calls were recorded */
/**
 * lo and hi are in units of the axis (ticks or event numbers); cursor, mark and range in events (-1: before the first);
 * pin is the index of a block.
 * @typedef {{track: Track, axis: "t"|"e", lo: number, hi: number, by: By, cursor: number, mark: number|null,
 *   pin: number|null, range: [number, number]|null, query: string}} ViewState
 */
/** @typedef {(changed: Set<string>, view: View) => void} ViewListener */

/** @type {By[]} */
export const BYS = ["role", "phase", "stack", "alloc", "owner"];

/** Keeps [lo, hi] inside [first, last], and no narrower than `least`, without changing its width where it fits.
 *  @param {number} lo @param {number} hi @param {number} first @param {number} last @param {number} least
 *  @returns {[number, number]} */
export const clampSpan = (lo, hi, first, last, least) => {
  if (!(hi >= lo)) [lo, hi] = [hi, lo];
  if (!Number.isFinite(lo) || !Number.isFinite(hi)) return [first, last];
  const w = max(hi - lo, min(least, last - first));
  if (w >= last - first) return [first, last];
  const at = clamp((lo + hi - w) / 2, first, last - w);
  return [at, at + w];
};

export class View {
  /** @type {By} */
  by = "role";
  /** @type {number|null} */
  mark = null;
  /** @type {number|null} */
  pin = null;
  /** @type {[number, number]|null} */
  range = null;
  query = "";
  /** @type {Partial<ViewState>|null} */
  asked = null;
  /** @type {ViewListener[]} */
  listeners = [];
  /** @type {Set<string>|null} */
  queued = null;

  /** @param {Track} track */
  constructor(track) {
    this.track = track;
    this.axis = track.meta.axis;
    const [lo, hi] = track.home(this.axis);
    this.lo = lo;
    this.hi = hi;
    this.cursor = track.meta.focus.event;
  }

  /** @param {ViewListener} fn */
  on(fn) { this.listeners.push(fn); }

  /** How far the axis goes. @returns {[number, number]} */
  span() { return this.track.axisRange(this.axis); }

  /** What the picture shows where it is not exact. @returns {import("./tables.js").Overview|null} */
  get overview() { return this.by === "owner" ? this.track.ledger : this.track.overview[this.axis]; }

  /** The operations that it shows: none where it is of the driver's calls. */
  get exact() { return this.by === "owner" ? null : this.track.exact; }

  isWhole() { return this.lo <= this.span()[0] && this.hi >= this.span()[1]; }

  /** Where a fresh page begins. */
  isHome() { return this.axis === this.track.meta.axis && `${this.track.home(this.axis)}` === `${[this.lo, this.hi]}`; }

  /** The last event at or before x on the axis. @param {number} x @returns {number} */
  eventAt(x) { return eventOfX(this.track, x, this.axis); }

  /** Where an event is on the axis. @param {number} event @returns {number} */
  xOf(event) { return xOfEvent(this.track, event, this.axis); }

  /** @param {number} by */
  shift(by) { this.set({ lo: this.lo + by, hi: this.hi + by }); }

  /** The moments in view and at the cursor, on another track, where both have times and these are among its own.
   *  @param {Track} track @returns {Partial<ViewState>} */
  onClockOf(track) {
    const { time } = this.track.meta, other = track.meta.time;
    if (!time || !other) return {};
    const there = (/** @type {number} */ event) => (xOfEvent(this.track, event, "t") * time.tick_ns + Number(BigInt(time.t0_ns) - BigInt(other.t0_ns))) / other.tick_ns;
    const [lo, hi, at] = [...this.axis === "t" ? [this.lo, this.hi].map((x) => this.eventAt(x)) : [this.lo, this.hi], this.cursor].map(there), [first, last] = track.axisRange("t");
    return lo < last && hi > first ? { axis: "t", lo, hi, cursor: eventOfX(track, at, "t") } : {};
  }

  /** Changes some of the state; listeners hear once of all that differs. A listener may set again. Another track is shown when its
   *  tables are there: they say how far its axes go. Of several asked for, the last.
   *  @param {Partial<ViewState>} patch */
  set(patch) {
    const me = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (this)), track = patch.track || this.track, moved = track !== this.track, by = patch.by || this.by;
    if (patch.track) this.asked = patch;
    if (moved && !track.loaded) {
      track.load().then(() => { if (this.asked === patch) this.set(patch); });
      return;
    }
    const next = moved ? { axis: track.meta.axis, cursor: track.meta.focus.event, mark: null, pin: null, range: null, ...patch } : { ...patch };
    if (moved && patch.lo === undefined && !this.isWhole() && !this.isHome()) Object.assign(next, this.onClockOf(track));
    if (by === "owner") { // known by time, and of some tracks
      if (track.ledger && patch.axis !== "e") next.axis = "t";
      else next.by = "role";
    }
    const axis = (next.axis = track.meta.time ? next.axis || this.axis : "e"), [first, last] = track.axisRange(axis), other = moved || axis !== this.axis;
    if (other && !moved && next.lo === undefined && !this.isWhole()) { // the same part on the other axis
      next.lo = xOfEvent(track, this.eventAt(this.lo), axis);
      next.hi = xOfEvent(track, this.eventAt(this.hi), axis);
    }
    if (other || next.lo !== undefined || next.hi !== undefined) {
      const [lo, hi] = moved ? track.home(axis) : other ? [first, last] : [this.lo, this.hi];
      [next.lo, next.hi] = clampSpan(next.lo ?? lo, next.hi ?? hi, first, last, axis === "t" ? 10 : 4);
    }
    const event = (/** @type {number} */ v) => Number.isFinite(v) ? clamp(round(v), -1, track.meta.events - 1) : -1;
    if (next.cursor !== undefined) next.cursor = event(next.cursor);
    if (typeof next.mark === "number") next.mark = event(next.mark);
    if (next.range) {
      const [a, b] = next.range.map(event).sort((p, q) => p - q);
      next.range = a === b ? null : [a, b];
    }
    const changed = new Set(Object.keys(next).filter((key) => !sameValue(me[key], /** @type {any} */ (next)[key])));
    if (changed.size === 0) return;
    Object.assign(this, next);
    this.tell(changed);
  }

  /** @param {Set<string>} changed */
  tell(changed) {
    if (this.queued) {
      for (const key of changed) this.queued.add(key);
      return;
    }
    for (let rounds = 0; changed.size > 0 && rounds < 8; rounds++) {
      this.queued = new Set();
      try {
        for (const fn of this.listeners) fn(changed, this);
      } finally {
        changed = this.queued;
        this.queued = null;
      }
    }
  }
}

/** @param {unknown} a @param {unknown} b */
const sameValue = (a, b) => a === b || (Array.isArray(a) && String(a) === String(b));
