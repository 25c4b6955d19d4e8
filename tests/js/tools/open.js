// A track as a page would have it, without a page.
import assert from "node:assert/strict";
import { Track } from "../../../templates/js/track.js";
import { encodeOverview, encodePhases, encodeSites, encodeTrack, ioOf } from "./encode.js";

export const roles = ["parameters", "kv_cache", "unknown"].map((id, i) => ({ id, name: id.replace("_", " "), color: ["#2e44b3", "#ff9f41", "#398a5b"][i] }));
export const phases = ["rollout", "update", "forward"].map((id) => ({ id, name: `${id} phase`, color: "#6cb2ff" }));
const frames = [{ name: "malloc", file: "alloc.cpp", line: 0, kind: 2 }, { name: "forward", file: "verl/model.py", line: 7 }, { name: "main", file: "main.py", line: 1 }];
const stacks = [[2, 0], [1, 1], [0, 2]];
const sites = Array.from({ length: 20 }, (_, i) => ({ stack: i % 4, role: i % 3, phase: i % 2, sub: i % 4, lane: 0, label: i % 4 ? `site ${i % 4}` : "" }));

/** An overview of n buckets that share the axis, from what the track should hold. */
function overview(made, axis, n) {
  const end = axis === "t" ? made.meta.time.end : made.meta.events, put = () => new Array(n).fill(0);
  const o = { axis, x0: 0, x1: end, events: put(), high: put(), low: put(), reserved: put(), pending: put(), event: put(), phase: put(), groups: [put(), put()] };
  let live = made.meta.start.live, at = 0;
  for (let i = 0; i < n; i++) {
    o.high[i] = o.low[i] = live;
    o.event[i] = at - 1;
    for (; at < made.expect.length; at++) {
      const e = made.expect[at];
      if ((axis === "t" ? e.tick : e.event) >= ((i + 1) * end) / n && i < n - 1) break;
      live = e.total;
      o.events[i] += e.op === "free" ? 2 : 1;
      if (live > o.high[i]) [o.high[i], o.event[i]] = [live, e.event];
      o.low[i] = Math.min(o.low[i], live);
    }
    o.groups[0][i] = Math.floor(o.high[i] / 3);
    o.groups[1][i] = o.high[i] - o.groups[0][i];
  }
  return o;
}

/** @returns {Promise<{track: Track, made: any}>} */
export async function openTrack({ exact = true, ...spec }) {
  const made = encodeTrack(spec);
  made.meta.groups = [1];
  made.meta.label = "rank 0";
  made.meta.axis = made.meta.time ? "t" : "e";
  const index = { v: 1, title: "t", version: "0", roles, phases, holders: [], palette: ["#c9ced6", "#2e44b3", "#ff9f41", "#398a5b", "#6cb2ff"], tracks: [made.meta], ledgers: [] };
  const blocks = {
    "mt-t0-s": encodeSites({ frames, stacks, sites }), "mt-t0-e": encodeOverview(overview(made, "e", 64)),
    "mt-t0-p": encodePhases({ stretches: [[0, 0, 0], [100, 1, 3], [900, 0, 0]], steps: [0, 100], ranges: [] }),
  };
  if (made.meta.time) blocks["mt-t0-o"] = encodeOverview(overview(made, "t", 64));
  const track = new Track(index, made.meta, ioOf(exact ? made.blocks : {}, blocks));
  await track.load();
  assert.deepEqual(track.errors, []);
  if (exact) assert.ok(await track.loadExact(), track.errors.join());
  return { track, made, index };
}
