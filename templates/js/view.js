// The one state of the page: what is looked at, and who wants to know. Panels read it, nobody keeps a copy.
import { clamp, eventOfX, xOfEvent } from "./layout.js";

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

/** Keeps [lo, hi] inside [min, max], and no narrower than `least`, without changing its width where it fits.
 *  @param {number} lo @param {number} hi @param {number} min @param {number} max @param {number} least
 *  @returns {[number, number]} */
export function clampSpan(lo, hi, min, max, least) {
  if (!(hi >= lo)) [lo, hi] = [hi, lo];
  if (!Number.isFinite(lo) || !Number.isFinite(hi)) return [min, max];
  const w = Math.max(hi - lo, Math.min(least, max - min));
  if (w >= max - min) return [min, max];
  const at = clamp((lo + hi - w) / 2, min, max - w);
  return [at, at + w];
}

export class View {
  /** @param {Track} track */
  constructor(track) {
    this.track = track;
    this.axis = track.meta.axis;
    this.lo = this.hi = 0;
    [this.lo, this.hi] = this.span();
    this.by = /** @type {By} */ ("role");
    this.cursor = track.meta.focus ? track.meta.focus.event : -1;
    this.mark = /** @type {number|null} */ (null);
    this.pin = /** @type {number|null} */ (null);
    this.range = /** @type {[number, number]|null} */ (null);
    this.query = "";
    this.asked = /** @type {Partial<ViewState>|null} */ (null);
    this.listeners = /** @type {ViewListener[]} */ ([]);
    this.queued = /** @type {Set<string>|null} */ (null);
  }

  /** @param {ViewListener} fn */
  on(fn) { this.listeners.push(fn); }

  /** How far the axis goes. @returns {[number, number]} */
  span() { return this.track.axisRange(this.axis); }

  isWhole() { return this.lo <= this.span()[0] && this.hi >= this.span()[1]; }

  /** The last event at or before x on the axis. @param {number} x @returns {number} */
  eventAt(x) { return eventOfX(this.track, x, this.axis); }

  /** Where an event is on the axis. @param {number} event @returns {number} */
  xOf(event) { return xOfEvent(this.track, event, this.axis); }

  /** Changes some of the state; listeners hear once of all that differs. A listener may set again. Another track is shown when its
   *  tables are there: they say how far its axes go. Of several asked for, the last.
   *  @param {Partial<ViewState>} patch */
  set(patch) {
    if (patch.track) this.asked = patch;
    if (patch.track && patch.track !== this.track && !patch.track.loaded) {
      patch.track.load().then(() => { if (this.asked === patch) this.set(patch); });
      return;
    }
    const next = { ...patch }, me = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (this));
    const track = next.track || this.track, moved = track !== this.track;
    if (moved) {
      if (next.axis === undefined) next.axis = (next.by || this.by) === "owner" ? "t" : track.meta.axis;
      if (next.cursor === undefined) next.cursor = track.meta.focus ? track.meta.focus.event : -1;
      for (const key of /** @type {const} */ (["mark", "pin", "range"])) if (next[key] === undefined) next[key] = null;
    }
    // Owners are known by time.
    if (next.by === "owner") next.axis ??= "t";
    if (next.axis === "t" && !track.meta.time) next.axis = "e";
    if ((next.axis || this.axis) === "e" && (next.by || this.by) === "owner") next.by = "role";
    const axis = next.axis || this.axis, [min, max] = track.axisRange(axis), other = moved || axis !== this.axis;
    if (other && !moved && next.lo === undefined && !this.isWhole()) { // the same part on the other axis
      next.lo = xOfEvent(track, this.eventAt(this.lo), axis);
      next.hi = xOfEvent(track, this.eventAt(this.hi), axis);
    }
    if (other || next.lo !== undefined || next.hi !== undefined) {
      const lo = next.lo ?? (other ? min : this.lo), hi = next.hi ?? (other ? max : this.hi);
      [next.lo, next.hi] = clampSpan(lo, hi, min, max, axis === "t" ? 10 : 4);
    }
    const last = track.meta.events - 1;
    for (const key of /** @type {const} */ (["cursor", "mark"])) {
      const v = next[key];
      if (typeof v === "number") next[key] = Number.isFinite(v) ? clamp(Math.round(v), -1, last) : -1;
    }
    if (next.range) {
      const [a, b] = next.range.map((v) => clamp(Math.round(v), -1, last));
      next.range = a === b || Number.isNaN(a + b) ? null : [Math.min(a, b), Math.max(a, b)];
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
function sameValue(a, b) {
  return a === b || (Array.isArray(a) && Array.isArray(b) && a[0] === b[0] && a[1] === b[1]);
}
