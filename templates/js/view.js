// The one state of the page: what is looked at, and who wants to know. Panels read it, nobody keeps a copy.

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
  const at = Math.min(Math.max((lo + hi - w) / 2, min), max - w);
  return [at, at + w];
}

/** The axis to begin with: events where, over time, most of the width would be waiting. @param {Track} track @returns {"t"|"e"} */
export function firstAxis(track) {
  const o = track.meta.time ? track.overviewTime : null, busy = new Set();
  for (let i = 0; o && i < o.n; i++) if (o.events[i] > 0) busy.add(Math.floor((i * 480) / o.n));
  return o && busy.size * 2 >= Math.min(480, o.n) ? "t" : "e";
}

export class View {
  /** @param {Track} track */
  constructor(track) {
    this.track = track;
    this.axis = firstAxis(track);
    const [lo, hi] = track.axisRange(this.axis);
    this.lo = lo;
    this.hi = hi;
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
      if (next.axis === undefined) next.axis = (next.by || this.by) === "owner" ? "t" : firstAxis(track);
      if (next.cursor === undefined) next.cursor = track.meta.focus ? track.meta.focus.event : -1;
      for (const key of /** @type {const} */ (["mark", "pin", "range"])) if (next[key] === undefined) next[key] = null;
    }
    if (next.axis === "t" && !track.meta.time) next.axis = "e";
    // Owners are known by time.
    if ((next.axis || this.axis) === "e" && (next.by || this.by) === "owner") next.by = "role";
    const axis = next.axis || this.axis, [min, max] = track.axisRange(axis), other = moved || axis !== this.axis;
    if (other || next.lo !== undefined || next.hi !== undefined) {
      const lo = next.lo ?? (other ? min : this.lo), hi = next.hi ?? (other ? max : this.hi);
      [next.lo, next.hi] = clampSpan(lo, hi, min, max, axis === "t" ? 10 : 4);
    }
    const last = track.meta.events - 1;
    for (const key of /** @type {const} */ (["cursor", "mark"])) {
      const v = next[key];
      if (typeof v === "number") next[key] = Number.isFinite(v) ? Math.min(Math.max(Math.round(v), -1), last) : -1;
    }
    if (next.range) {
      const [a, b] = next.range.map((v) => Math.min(Math.max(Math.round(v), -1), last));
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
