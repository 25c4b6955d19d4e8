// What the picture is stacked by: which sites belong together, in which colour, the heaviest at the bottom.
import { floor, lowerBound } from "./math.js";
import { liveAt, sumBy } from "./query.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./track.js").Index} Index */
/** @typedef {import("./draw.js").Groups} Groups */

/** What each site counts for. @param {import("./tables.js").Sites} s @param {string} by @returns {ArrayLike<number>} */
const siteKeys = (s, by) => by === "phase" ? s.sub.map((v, i) => v ? v - 1 : s.phase[i]) : by === "stack" ? s.labels : s.role; // stacks that read the same are one

/** The most bytes that each key held at one of some moments, the focus, the peak and others spread over the run, most first; with one of its sites.
 *  @param {Track} track @param {ArrayLike<number>} keys @returns {[number, {bytes: number, site: number}][]} */
const heaviest = (track, keys) => {
  const most = new Map(), e = track.exact, { focus, peak } = track.meta;
  if (!e) return [];
  for (const op of [track.opOfEvent(focus.event), track.opOfEvent(peak.event), ...Array.from({ length: 24 }, (_, i) => floor((e.nOps * (i + 0.5)) / 24))]) {
    for (const [key, sum] of sumBy(track, liveAt(track, op), keys)) if (!(most.get(key)?.bytes >= sum.bytes)) most.set(key, sum);
  }
  return [...most].sort((a, b) => b[1].bytes - a[1].bytes || a[0] - b[0]).slice(0, track.index.palette.length - 1);
};

/** Of what the overview tells apart, in its order, where it can. @param {Track} track @param {import("./view.js").By} by @returns {Groups} */
export const groupsOf = (track, by) => {
  const { index, sites: s, meta } = track, stack = by === "stack", kind = by === "phase" ? by : "role", list = index[`${kind}s`], sites = s ? siteKeys(s, by) : [], [other, ...own] = index.palette;
  if (by === "owner") return { names: index.holders.map((h) => h.name), keys: [], colors: index.holders.map((h) => h.color), of: new Uint16Array(0), single: false };
  const top = stack || by === "phase" ? heaviest(track, sites) : meta.groups.map((key) => /** @type {const} */ ([key, { site: 0 }])), at = new Map(top.map(([key], i) => [key, i]));
  const named = top.map(([key, { site }], i) => stack ? { name: s?.label(site) || "no stack recorded", color: own[i], key: "" } : { ...list[key], key: `${kind}:${list[key].id}` });
  // Colours of phases are given out over the whole report: what has none of its own takes one that is free on this track. Roles have theirs for ever.
  const free = own.filter((c) => !named.some((g) => g.color === c));
  return {
    names: [...named.map((g) => g.name), "other"], keys: named.map((g) => g.key), colors: [...named.map(({ color: c }) => c === other && by === "phase" ? free.shift() || c : c), other],
    of: Uint16Array.from(sites, (key) => at.get(key) ?? top.length), single: by === "alloc",
  };
};

/** Index of the stretch of a phase that holds at an event, -1 before the first. @param {Track} track @param {number} event */
export const stretchAt = (track, event) => track.phases ? lowerBound(track.phases.stretches.event, event + 0.5) - 1 : -1;

/** What a place goes by where one word has to do: what happens inside, where the phase around it is not told.
 *  @param {number} phase 0 = not told @param {number} sub + 1, 0 = none */
export const outerOf = (phase, sub) => !phase && sub ? sub - 1 : phase;

/** "actor update (forward)", as the report's own sentences. @param {Index} index @param {number} phase @param {number} sub + 1, 0 = none */
export const pairWords = (index, phase, sub) => {
  const { phases } = index, outer = outerOf(phase, sub);
  return phases[outer].name + (sub && sub - 1 !== outer ? ` (${phases[sub - 1].name})` : "");
};

/** @param {Track} track @param {number} event @returns {string} "" where not known */
export const phaseWords = (track, event) => {
  const i = stretchAt(track, event), p = track.phases;
  return p && i >= 0 ? pairWords(track.index, p.stretches.phase[i], p.stretches.sub[i]) : "";
};
