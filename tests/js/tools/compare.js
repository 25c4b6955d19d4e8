// Compares what a page's data says with `memtrace dump` of the same file.
import assert from "node:assert/strict";
import { NONE } from "../../../templates/js/decode.js";
import { K_ALLOC, K_FREE, K_FREE_DONE, K_FREE_REQ, K_FREE_UNKNOWN, K_LOST, K_OOM, K_SEG_ALLOC, K_SEG_UNMAP, K_START } from "../../../templates/js/kinds.js";
import { liveAt, segmentsAt } from "../../../templates/js/query.js";
import { upperBound } from "../../../templates/js/math.js";
import { openDump, openReport } from "./page.js";

const ACTIONS = { [K_ALLOC]: "alloc", [K_FREE_REQ]: "free_requested", [K_FREE_DONE]: "free_completed", 5: "segment_alloc", 6: "segment_free", 7: "segment_map", 8: "segment_unmap", 9: "oom", 10: "snapshot" };
const SIGN = { alloc: [1, 0, 0], free_requested: [0, 1, 0], free_completed: [-1, -1, 0], segment_alloc: [0, 0, 1], segment_map: [0, 0, 1], segment_free: [0, 0, -1], segment_unmap: [0, 0, -1] };

/** @param {number} stream */
const streamWords = (stream) => stream ? `stream 0x${BigInt.asUintN(64, BigInt(stream)).toString(16)}` : "default stream";

/** Live, pending, reserved bytes before every event, anchored on the end state. */
function totalsOf({ events, blocks, reserved }) {
  const end = [0, 0, reserved];
  for (const b of blocks) {
    if (b.state !== "inactive") end[0] += b.requested;
    if (b.state === "active_pending_free") end[1] += b.requested;
  }
  // A recording without requests (skip_actions) has nothing that waits.
  const signs = events.some((e) => e.action === "free_requested") ? SIGN : { ...SIGN, free_completed: [-1, 0, 0] };
  const out = [end];
  for (let i = events.length - 1; i >= 0; i--) {
    const sign = signs[events[i].action] ?? [0, 0, 0];
    out.push(out.at(-1).map((v, k) => v - sign[k] * events[i].size));
  }
  return out.reverse();
}

/** Compares one track; returns how many operations were compared. */
function compare(track, dump, stacks) {
  const x = track.exact, { events } = dump, totals = totalsOf(dump), t0 = BigInt(track.meta.time?.t0_ns ?? 0), unknown = [0, 0];
  const at = (curve, op) => curve.bytes[upperBound(curve.op, op) - 1];
  const births = new Map(), places = new Map(), whole = track.meta.level !== "rounded";
  let compared = 0, peak = 0;
  for (const run of x.runs) {
    let next = run.first;
    births.clear();
    for (let op = run.op0; op < run.op1; op++) {
      const kind = x.kind[op], e = events[x.event[op] - Number(kind === K_FREE)], b = x.ref[op], what = `operation ${op}, event ${x.event[op]}`;
      if (kind === K_LOST) {
        births.delete(places.get(b));
        continue;
      }
      if (kind !== K_START) next += kind === K_FREE ? 2 : 1;
      assert.equal(x.event[op], kind === K_START ? next : next - 1, what);
      if (kind === K_FREE) assert.equal(track.opOfEvent(next - 2), op - 1, `${what}: after the request it is live`);
      const [live, pending, reserved] = totals[next];
      if (whole) assert.equal(x.total[op], live, `${what}: live`);
      if (whole && totals[0][1] >= 0) assert.equal(at(x.pending, op), pending, `${what}: pending`);
      assert.equal(at(x.reserved, op), reserved, `${what}: reserved`);
      peak = Math.max(peak, x.total[op]);
      if (kind === K_START) continue;
      compared++;
      if (kind === K_FREE) {
        const done = events[next - 1];
        assert.deepEqual([e.action, done.action, e.addr, e.size], ["free_requested", "free_completed", done.addr, done.size], what);
      } else if (kind === K_FREE_UNKNOWN) {
        assert.match(e.action, /^free_/);
        unknown[0]++;
      } else {
        assert.equal(ACTIONS[kind] ?? e.action, e.action, what);
      }
      if (kind < K_FREE_UNKNOWN) {
        assert.equal(x.bSize[b], whole ? e.size : e.size - e.size % 512, `${what}: size`);
        if (x.bAddr) assert.equal(x.bAddr[b], e.addr, `${what}: address`);
        if (kind === K_ALLOC) births.set(e.addr, b), places.set(b, e.addr);
        else if (births.has(e.addr)) assert.equal(b, births.get(e.addr), `${what}: the block that was allocated there`);
        if (kind === K_FREE || kind === K_FREE_DONE) births.delete(e.addr);
      } else if (kind >= K_SEG_ALLOC && kind <= K_SEG_UNMAP) {
        assert.equal(x.special.size[b], e.size, what);
        if (x.special.addr) assert.equal(x.special.addr[b], e.addr, what);
      } else if (kind === K_OOM) {
        assert.deepEqual([x.special.size[b], x.special.free[b]], [e.size, e.device_free], what);
      }
      if (kind === K_ALLOC) {
        const s = track.sites, frames = s.frames(s.stack[x.bSite[b]]);
        // Long names are cut, and files lose the folders in front.
        assert.equal(frames.length, stacks[e.stack].length, what);
        frames.forEach((f, i) => {
          const [name, file, line] = stacks[e.stack][i];
          assert.ok(f.line === line && name.startsWith(f.name) && (f.name === name || f.name.length > 100) && file.replaceAll("\\", "/").endsWith(f.file), `${what}: ${f.name} ${f.file}, not ${name} ${file}`);
        });
        if (s.lane[x.bSite[b]]) assert.equal(s.lanes[s.lane[x.bSite[b]]].split(", ").find((w) => w.includes("stream")), streamWords(e.stream), what);
      }
      if (e.time_ns && x.tick) {
        const off = Number(t0 + BigInt(x.tick[op]) * BigInt(track.meta.time.tick_ns) - BigInt(Math.round(e.time_ns / 1000)) * 1000n);
        assert.ok(Math.abs(off) <= 201000, `${what}: ${off} ns off`);
      }
    }
    assert.equal(next, run.first + run.events);
  }
  if (track.meta.level === "exact") {
    assert.equal(x.runs.length, 1);
    assert.equal(x.event[x.nOps - 1] + 1, Math.max(events.length, x.nOps > 1 ? 1 : 1), "every event is there");
    assert.equal(peak, track.meta.peak.live, "the peak of the index");
    assert.equal(peak, totals.reduce((m, t) => Math.max(m, t[0]), 0), "the peak of the trace");
  }
  return compared;
}

/** Things that have to fit each other inside the page. */
function inner(track, dump) {
  const x = track.exact, { role, lanes } = track.sites;
  for (const o of [track.overview.t, track.overview.e]) {
    if (!o) continue;
    let high = 0;
    for (let i = 0; i < o.n; i++) {
      high = Math.max(high, o.high[i]);
      assert.ok(o.low[i] <= o.high[i]);
      assert.equal(o.groups.reduce((s, g) => s + g[i], 0), o.high[i], "the groups of a bucket add up");
    }
    assert.equal(high, track.meta.peak.live, "no peak hides in the overview");
    assert.equal(o.events.reduce((s, n) => s + n, 0), track.meta.events);
  }
  if (track.meta.level !== "exact") return;
  const lost = x.kind.includes(K_LOST);
  for (let i = 0; i < 20; i++) {
    const op = Math.floor((x.nOps - 1) * i / 19), live = liveAt(track, op), sum = live.reduce((s, b) => s + x.bSize[b], 0);
    if (!lost) assert.equal(sum, x.total[op], "the live blocks add up");
    for (const b of live) assert.ok(role[x.bSite[b]] < track.index.roles.length);
    const segments = segmentsAt(track, op);
    if (segments) assert.equal(segments.reduce((s, g) => s + g.size, 0), x.reserved.bytes[upperBound(x.reserved.op, op) - 1], "the segments add up");
    const there = (b) => segments.some((g) => x.bAddr[b] >= g.addr && x.bAddr[b] < g.addr + g.size);
    if (segments) assert.deepEqual(segments.flatMap((g) => [...g.blocks]).sort(), [...live.filter(there)].sort(), "every block lies in its segment");
  }
  // What is still there at the end is there with its pool, also where events name none; after mappings ended in parts that is not searched for.
  const last = new Map((segmentsAt(track, x.nOps - 1) ?? []).map((g) => [g.addr, lanes[g.lane]]));
  for (const s of dump.segments) {
    const lane = last.get(s.addr);
    if (!lane || !s.pool || x.kind.includes(K_SEG_UNMAP)) continue;
    const pool = s.pool.some(Boolean) ? `private pool (${s.pool.join(", ")})` : "default pool";
    assert.equal(lane.split(", mostly ")[0], `${pool}, ${streamWords(s.stream)}`, `the pool of the segment at ${s.addr}`);
  }
  const o = track.overview.e;
  for (let i = 0; o && i < o.n; i += 97) {
    const op = track.opOfEvent(o.event[i]);
    if (o.events[i] > 0) assert.equal(x.total[op], o.high[i], "a bucket shows the state at its highest instant");
  }
  assert.ok(x.bEnd.every((op, b) => op === NONE || x.kind[op] === K_LOST || x.ref[op] === b));
}

/** The report of a file against its dump. */
export async function both(file, options = []) {
  const page = openReport(file, options), dump = openDump(file);
  let compared = 0;
  if (!page.index) { // no script, and so no data for one: only where there is no history to move in
    assert.deepEqual([...dump.devices.values()].filter((d) => d.events.length > 0), []);
    return { page, compared };
  }
  for (const track of page.tracks) {
    await track.load();
    assert.deepEqual(track.errors, []);
    if (!track.hasExact) continue;
    await track.loadExact();
    assert.deepEqual(track.errors, []);
    const device = dump.devices.get(`${track.meta.kind} ${track.meta.device}`);
    assert.equal(track.meta.events, device.events.length);
    compared += compare(track, device, dump.stacks);
    inner(track, device);
  }
  return { page, compared };
}
