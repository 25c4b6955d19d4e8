// What the picture is stacked by: which sites belong together, in which colour, the heaviest at the bottom.
import { lowerBound } from "./layout.js";
import { liveAt } from "./query.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./track.js").Index} Index */
/** @typedef {import("./draw.js").Groups} Groups */

const GROUP_COLORS = ["#2e44b3", "#ff9f41", "#398a5b", "#6cb2ff", "#9359fa", "#d5c27c", "#704f19", "#b263b8", "#584974"];
const GROUP_OTHER = "#c9ced6";

/** What a site counts for. @param {import("./tables.js").Sites} s @param {number} site @param {string} by @returns {number} */
function siteGroup(s, site, by) {
  if (by === "phase") return s.sub[site] > 0 ? s.sub[site] - 1 : s.phase[site];
  return by === "stack" ? s.labels[site] : s.role[site]; // stacks that read the same are one
}

/** The most bytes that each key held at one of some moments: the focus, the peak and others spread over the run; and one of its sites.
 *  @param {Track} track @param {string} by @returns {Map<number, {bytes: number, site: number}>} */
function groupWeights(track, by) {
  /** @type {Map<number, {bytes: number, site: number}>} */
  const most = new Map(), e = track.exact, s = track.sites;
  if (!e || !s) return most;
  const ops = [track.meta.focus, track.meta.peak].map((m) => track.opOfEvent(m.event));
  for (let i = 0; i < 24; i++) ops.push(Math.floor((e.nOps * (i + 0.5)) / 24));
  for (const op of ops) {
    const now = /** @type {typeof most} */ (new Map());
    for (const b of liveAt(track, op)) {
      const site = e.bSite[b], key = siteGroup(s, site, by), m = now.get(key);
      if (m) m.bytes += e.bSize[b];
      else now.set(key, { bytes: e.bSize[b], site });
    }
    for (const [key, m] of now) if (!((most.get(key)?.bytes ?? 0) >= m.bytes)) most.set(key, m);
  }
  return most;
}

/** The groups of an overview, the steadiest first: what stays lies at the bottom, what comes and goes on top of it.
 *  @param {import("./tables.js").Overview|null} o @param {number} n @returns {number[]} */
function steadyOrder(o, n) {
  const unrest = Array.from({ length: n }, (_, g) => {
    const v = o && o.groups[g];
    let sum = 0, top = 1;
    for (let i = 1; v && i < v.length; i++) {
      sum += Math.abs(v[i] - v[i - 1]);
      top = Math.max(top, v[i]);
    }
    return sum / top;
  });
  return unrest.map((_, i) => i).sort((a, b) => unrest[a] - unrest[b] || a - b);
}

/** Those who hold the device's memory. @param {Index} index @returns {Groups} */
function ownerGroups({ holders }) {
  return { names: holders.map((h) => h.name), keys: holders.map(() => ""), colors: holders.map((h) => h.color), of: new Uint16Array(0), order: holders.map((_, i) => i), single: false };
}

/** `order`: where a group of the overview is in names. @param {Track} track @param {import("./view.js").By} by @returns {Groups} */
export function groupsOf(track, by) {
  if (by === "owner") return ownerGroups(track.index);
  const { index, sites: s, meta } = track, single = by === "alloc", stack = by === "stack", phase = by === "phase", dict = phase ? index.phases : index.roles;
  const order = steadyOrder(track.overviewEvent || track.overviewTime, meta.groups.length), weights = phase || stack ? groupWeights(track, by) : null;
  const top = weights ? [...weights].sort((a, b) => b[1].bytes - a[1].bytes || a[0] - b[0]).slice(0, GROUP_COLORS.length).map(([key]) => key) : order.map((i) => meta.groups[i]);
  const names = top.map((key) => stack ? s?.label(weights?.get(key)?.site ?? 0) || "no stack recorded" : dict[key].name), keys = top.map((key) => stack ? "" : `${phase ? "phase" : "role"}:${dict[key].id}`);
  const colors = top.map((key, i) => stack ? GROUP_COLORS[i] : dict[key].color);
  // Colours are given out over the whole report: what has none of its own takes one that is free on this track.
  const free = GROUP_COLORS.filter((c) => !colors.includes(c)), at = new Map(top.map((key, i) => [key, i]));
  return {
    names: [...names, "other"], keys: [...keys, ""], colors: [...colors.map((c) => c === GROUP_OTHER ? free.shift() || c : c), GROUP_OTHER],
    of: Uint16Array.from({ length: s ? s.nSites : 0 }, (_, i) => at.get(siteGroup(/** @type {any} */ (s), i, by)) ?? top.length), order: [...order, order.length], single,
  };
}

/** Index of the stretch of a phase that holds at an event, -1 before the first. @param {Track} track @param {number} event */
export function stretchAt(track, event) {
  return track.phases ? lowerBound(track.phases.stretches.event, event + 0.5) - 1 : -1;
}

/** "forward in actor update". @param {Index} index @param {number} phase @param {number} sub + 1, 0 = none @returns {string} */
export function pairWords(index, phase, sub) {
  const { id, name } = index.phases[phase];
  if (sub === 0) return name;
  return id === "unattributed" ? index.phases[sub - 1].name : `${index.phases[sub - 1].name} in ${name}`;
}

/** @param {Track} track @param {number} event @returns {string} "" where not known */
export function phaseWords(track, event) {
  const i = stretchAt(track, event), p = track.phases;
  return p && i >= 0 ? pairWords(track.index, p.stretches.phase[i], p.stretches.sub[i]) : "";
}
