// Questions, answered slowly and surely by the test itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { lifeOf, parseFilter, parseSize, parseTime } from "../../templates/js/filter.js";
import { bytesOf, diffBetween, groupLive, liveAt, nextEvent, segmentsAt, treeOf } from "../../templates/js/query.js";
import { Track } from "../../templates/js/track.js";
import { dice, encodeOverview, encodePhases, encodeSites, encodeTrack, ioOf, madeEvents } from "./tools/encode.js";

const roles = ["parameters", "kv_cache", "unknown"].map((id, i) => ({ id, name: id.replace("_", " "), color: `#00000${i}` }));
const phases = ["rollout", "update", "forward"].map((id, i) => ({ id, name: `${id} phase`, color: `#10000${i}` }));
const frames = [{ name: "malloc", file: "alloc.cpp", line: 0, kind: 2 }, { name: "forward", file: "verl/model.py", line: 7 }, { name: "generate", file: "vllm/engine.py", line: 9 },
  { name: "main", file: "main.py", line: 1 }, { name: "<img onerror=x>", file: "\u2028</script>", line: 2 ** 31, kind: 3 }];
const stacks = [[3, 0], [1, 1], [0, 2], [2, 1], [0, 4], [4, 0]];
const sites = Array.from({ length: 20 }, (_, i) => ({ stack: i % 7, role: i % 3, phase: i % 2, sub: i % 4, lane: i % 2, label: i % 7 ? `site ${i % 7}` : "" }));
const lanes = ["not recorded", "private pool (2, 1), default stream, mostly graphs", "default pool, stream 0x7f"];
const index = (...tracks) => ({ v: 1, title: "t", version: "0", roles, phases, holders: [], tracks, ledgers: [] });

async function open(spec) {
  const made = encodeTrack(spec);
  const track = new Track(index(made.meta), made.meta, ioOf(made.blocks, { "mt-t0-s": encodeSites({ frames, stacks, sites, lanes }) }));
  assert.ok(await track.loadExact(), track.errors.join());
  return { track, x: track.exact, made };
}

/** What is live after op, the slow way. */
function slowLive(x, op) {
  const run = x.runs.findLast((r) => r.op0 <= op), out = [];
  for (let b = run.block0; b < run.block1; b++) if ((b < run.blockBorn || x.bBegin[b] <= op) && x.bEnd[b] > op) out.push(b);
  return out;
}

test("what is live, at any operation", async () => {
  const { track, x } = await open({ events: [...madeEvents(120000, { old: 40, live: 90 })], old: Array.from({ length: 40 }, (_, i) => ({ site: i % 20, size: 100 * i, addr: 512 * i })) });
  assert.ok(x.nOps > 70000, "several checkpoints");
  const d = dice(5);
  for (const op of [0, 1, x.nOps - 1, 32767, 32768, 32769, 65536, ...Array.from({ length: 60 }, () => d(x.nOps))]) {
    const live = liveAt(track, op);
    assert.deepEqual([...live], slowLive(x, op));
    assert.equal(live.reduce((s, b) => s + x.bSize[b], 0), x.total[op]);
  }
  for (const op of [-1, x.nOps, NaN]) assert.equal(liveAt(track, op).length, 0);
});

test("groups add up to the live bytes, and name themselves", async () => {
  const { track, x } = await open({ events: [...madeEvents(3000)] });
  const op = 1500, live = liveAt(track, op);
  for (const by of ["role", "phase", "stack"]) {
    const groups = groupLive(track, live, by);
    assert.equal(groups.reduce((s, g) => s + g.bytes, 0), x.total[op]);
    assert.equal(groups.reduce((s, g) => s + g.count, 0), live.length);
    for (let i = 1; i < groups.length; i++) assert.ok(groups[i - 1].bytes >= groups[i].bytes);
  }
  const byRole = groupLive(track, live, "role");
  assert.deepEqual(new Set(byRole.map((g) => g.label)), new Set(["parameters", "kv cache", "unknown"]));
  assert.equal(byRole.find((g) => g.label === "kv cache").color, "#000001");
  assert.ok(groupLive(track, live, "stack").some((g) => g.label === "(no stack recorded)"));
  const kv = parseFilter("role:kv").mask(track);
  assert.deepEqual(groupLive(track, live.filter((b) => kv[b]), "role"), byRole.filter((g) => g.label === "kv cache"));
});

test("what is new and what is gone, inside a run and over a gap", async () => {
  const events = [...madeEvents(4000, { rare: false })];
  for (const windows of [null, [[0, 800], [1500, 2500]]]) {
    const { track, x } = await open({ events, windows });
    const a = track.opOfEvent(300), b = track.opOfEvent(3000);
    assert.ok(a > 0 && b > a);
    const { born, gone } = diffBetween(track, a, b), key = (list) => list.map((i) => x.bEvent[i]).sort();
    const A = slowLive(x, a), B = slowLive(x, b), inA = new Set(A.map((i) => x.bEvent[i])), inB = new Set(B.map((i) => x.bEvent[i]));
    assert.deepEqual(key([...born]), key(B.filter((i) => !inA.has(x.bEvent[i]))));
    assert.deepEqual(key([...gone]), key(A.filter((i) => !inB.has(x.bEvent[i]))));
    assert.equal(bytesOf(track, born) - bytesOf(track, gone), x.total[b] - x.total[a]);
    assert.equal(groupLive(track, born, "role").reduce((s, g) => s + g.bytes, 0), bytesOf(track, born));
    const back = diffBetween(track, b, a);
    assert.deepEqual(back.born, born, "the order of the cursors does not matter");
  }
});

test("the way from event to event", async () => {
  const { track, x } = await open({ events: [...madeEvents(500)] });
  const events = [...new Set(x.event)];
  let ev = -1;
  for (const want of events) assert.equal(ev = nextEvent(track, ev, 1), want);
  assert.equal(nextEvent(track, ev, 1), ev);
  for (const want of events.slice(0, -1).reverse()) assert.equal(ev = nextEvent(track, ev, -1), want);
  assert.equal(nextEvent(track, 0, -1), -1);
});

test("events and ticks to operations", async () => {
  const { track, x, made } = await open({ events: [...madeEvents(2000)], windows: [[100, 400], [1000, 200]] });
  assert.equal(track.opOfEvent(99), 0, "the state before the first window");
  assert.equal(track.opOfEvent(50), -1);
  assert.equal(track.opOfEvent(700), -1, "between the windows");
  assert.equal(track.opOfEvent(made.meta.events), -1, "behind the last");
  for (let op = 1; op < x.nOps; op++) {
    if (x.kind[op] === 13) continue;
    const found = track.opOfEvent(x.event[op]);
    assert.equal(x.event[found], x.event[op]);
    assert.equal(track.xOf(op, "t"), x.xs.t[op]);
    assert.equal(track.xOf(op, "e"), x.event[op]);
  }
  assert.equal(track.seconds(2e6), 2);
});

test("trees of frames add up, from both ends, with machinery folded or not", async () => {
  const { track, x } = await open({ events: [...madeEvents(2000)] });
  const op = 1000, live = liveAt(track, op), total = x.total[op];
  for (const bottomUp of [false, true]) for (const foldInternal of [false, true]) {
    const root = treeOf(track, live, { bottomUp, foldInternal }), names = new Set();
    assert.equal(root.bytes, total);
    assert.equal(root.count, live.length);
    const walk = (n) => {
      names.add(n.name);
      if (n.children.length) assert.ok(n.children.reduce((s, c) => s + c.bytes, 0) <= n.bytes);
      n.children.forEach(walk);
    };
    walk(root);
    assert.equal(root.children.reduce((s, c) => s + c.bytes, 0), total);
    assert.equal(names.has("malloc"), !foldInternal);
    assert.ok(names.has("(no stack recorded)") && names.has("forward"));
    assert.ok(names.has(foldInternal ? "site 6" : "<img onerror=x>"), "a stack that is all machinery keeps its label");
    assert.ok(root.children.some((c) => c.name === (bottomUp ? foldInternal ? "forward" : "malloc" : "main")));
  }
  assert.equal(treeOf(track, []).children.length, 0);
  // Of changes: nets add up, widths are of more and less together, and the same blocks on both sides are no change.
  const { born, gone } = diffBetween(track, 500, 1000), change = treeOf(track, born, { gone });
  assert.equal(change.net, bytesOf(track, born) - bytesOf(track, gone));
  const check = (n) => {
    assert.equal(n.net, n.own + n.children.reduce((s, c) => s + c.net, 0));
    assert.equal(n.bytes, Math.abs(n.own) + n.children.reduce((s, c) => s + c.bytes, 0));
    n.children.forEach(check);
  };
  check(change);
  assert.ok(change.bytes > Math.abs(change.net));
  assert.deepEqual(treeOf(track, live, { gone: live }).children, []);
});

test("segments: those of the start, less what was freed, with what was mapped", async () => {
  const M = 1 << 20, seg = (op, addr, size, lane = 0) => ({ op, tick: 0, addr: addr * M, size: size * M, lane });
  const { track } = await open({
    segments0: [{ addr: 10 * M, size: 2 * M, lane: 1 }, { addr: 12 * M, size: 2 * M, lane: 1 }, { addr: 40 * M, size: 4 * M, lane: 0, map: true }],
    events: [seg("segment_alloc", 20, 2), seg("segment_alloc", 22, 2), seg("segment_map", 30, 2), seg("segment_map", 32, 2), seg("segment_map", 34, 2, 1),
      { op: "alloc", tick: 0, site: 0, size: 512, addr: 33 * M }, { op: "alloc", tick: 0, site: 0, size: 512, addr: 30 * M }, { op: "alloc", tick: 0, site: 0, size: 512, addr: 99 * M },
      { ...seg("segment_unmap", 31, 1) }, seg("segment_free", 20, 2), seg("segment_map", 44, 1), seg("segment_alloc", 20, 1)],
  });
  const short = (op) => segmentsAt(track, op).map((s) => [s.addr / M, s.size / M, s.lane, s.blocks.length]);
  assert.deepEqual(short(0), [[10, 2, 1, 0], [12, 2, 1, 0], [40, 4, 0, 0]]);
  assert.deepEqual(short(8), [[10, 2, 1, 0], [12, 2, 1, 0], [20, 2, 0, 0], [22, 2, 0, 0], [30, 4, 0, 2], [34, 2, 1, 0], [40, 4, 0, 0]]);
  assert.deepEqual(short(12), [[10, 2, 1, 0], [12, 2, 1, 0], [20, 1, 0, 0], [22, 2, 0, 0], [30, 1, 0, 1], [32, 2, 0, 1], [34, 2, 1, 0], [40, 5, 0, 0]]);
  const without = await open({ events: [...madeEvents(100)], addresses: false });
  assert.equal(segmentsAt(without.track, 5), null);
});

test("words of the search field", async () => {
  assert.equal(parseSize("64M"), 64 * 2 ** 20);
  assert.equal(parseSize("64MiB"), 64 * 2 ** 20);
  assert.equal(parseSize("1.5gb"), 1.5 * 2 ** 30);
  assert.equal(parseSize("100"), 100);
  for (const bad of ["", "M", "6x", "1e5", "-1", "64 apples"]) assert.ok(Number.isNaN(parseSize(bad)), bad);
  assert.deepEqual([parseTime("10s"), parseTime("5ms"), parseTime("2min"), parseTime("3"), parseTime("1h")], [10, 0.005, 120, 3, 3600]);
  assert.ok(Number.isNaN(parseTime("5 parsecs")) && Number.isNaN(parseTime("5constructor")));
  for (const good of ["<module>", "<lambda>", "std::vector", "job.py:12"]) assert.equal(parseFilter(good).error, null, good);
  for (const bad of ["size:>1G", "event:3", ">x", "life:10s", "life:>x", "role:", "!"]) assert.ok(parseFilter(bad).error, bad);
  assert.equal(parseFilter("  ").mask, null);

  const { track, x } = await open({ events: [...madeEvents(3000)], old: [{ site: 1, size: 5e6, addr: 0 }] });
  const hits = (text) => { const f = parseFilter(text); assert.equal(f.error, null, text); const m = f.mask(track); assert.ok(m.length === x.nBlocks && m.every((v) => v < 2)); return all.filter((b) => m[b]); };
  const all = Array.from({ length: x.nBlocks }, (_, b) => b), by = (test) => all.filter((b) => test(sites[x.bSite[b]], b));
  const names = (site) => { const out = []; for (let s = site.stack; s; s = stacks[s - 1][1]) out.push(frames[stacks[s - 1][0]]); return out; };
  assert.deepEqual(hits("role:KV"), by((s) => s.role === 1));
  assert.deepEqual(hits("!role:kv"), by((s) => s.role !== 1));
  assert.deepEqual(hits("phase:update"), by((s) => s.phase === 1 || s.sub === 2));
  assert.deepEqual(hits("file:verl/"), by((s) => names(s).some((f) => f.file.includes("verl/"))));
  assert.deepEqual(hits("generate"), by((s) => names(s).some((f) => f.name === "generate")));
  assert.deepEqual(hits("\"kv cache\""), by((s) => s.role === 1));
  assert.deepEqual(hits("lane:graphs"), by((s) => s.lane === 1));
  assert.deepEqual(hits(">1M"), by((_, b) => x.bSize[b] > 2 ** 20));
  assert.deepEqual(hits("<=1MiB"), by((_, b) => x.bSize[b] <= 2 ** 20));
  const one = x.bSize[10];
  assert.ok(!hits(`>${one}`).includes(10) && hits(`>=${one}`).includes(10) && !hits(`<${one}`).includes(10));
  assert.deepEqual(hits("never-freed"), by((_, b) => x.bEnd[b] === 0xffffffff));
  assert.deepEqual(hits("life:>20ms"), by((_, b) => lifeOf(track, b).s > 0.02));
  assert.ok(hits("life:<1ms").every((b) => lifeOf(track, b).exact), "a block whose end is not seen has no known short life");
  assert.deepEqual(hits("role:kv >1M !file:vllm"), by((s, b) => s.role === 1 && x.bSize[b] > 2 ** 20 && !names(s).some((f) => f.file.includes("vllm"))));

  const other = await open({ events: [...madeEvents(50)] });
  assert.equal(parseFilter("role:kv").mask(other.track).length, other.x.nBlocks, "of another track");
  assert.deepEqual(hits("role:kv"), by((s) => s.role === 1), "and of this one again");
});

test("tables come back, and broken ones leave the rest of the page alone", async () => {
  const made = encodeTrack({ events: [...madeEvents(100)] });
  made.meta.groups = [1, 0];
  const o = { axis: "t", x0: 5, x1: 99, events: [3, 0, 2], high: [9, 9, 4], low: [1, 1, 2], reserved: [10, 10, 10], pending: [0, 0, 1], event: [-1, -1, 7], phase: [0, 0, 3], groups: [[5, 5, 2], [4, 4, 1], [0, 0, 1]] };
  const blocks = {
    ...made.blocks, "mt-t0-o": encodeOverview(o), "mt-t0-e": encodeOverview({ ...o, axis: "e" }), "mt-t0-s": encodeSites({ frames, stacks, sites, lanes }),
    "mt-t0-p": encodePhases({ stretches: [[0, 1, 0], [10, 2, 3]], steps: [2, 10], ranges: [["step 1", 4, 9, 0], ["\u00e9", 4, 5, 1]] }),
  };
  const opened = async (changes) => { const t = new Track(index(made.meta), made.meta, ioOf(blocks, changes)); await t.loadExact(); return t; };
  const t = await opened({});
  assert.deepEqual(t.errors, []);
  for (const [k, v] of Object.entries(o)) assert.deepEqual(JSON.stringify(t.overview.t[k], (_, a) => ArrayBuffer.isView(a) ? [...a] : a), JSON.stringify(v), k);
  assert.equal(t.overview.e.axis, "e");
  assert.deepEqual(t.axisRange("t"), [5, 99]);
  assert.deepEqual([...t.phases.stretches.event], [0, 10]);
  assert.deepEqual([...t.phases.steps.first], [2, 10]);
  assert.deepEqual(t.phases.ranges.name, ["step 1", "\u00e9"]);
  assert.deepEqual([...t.phases.ranges.t1], [9, 5]);
  assert.deepEqual(t.sites.frames(3).map((f) => f.name), ["malloc", "forward", "main"]);
  assert.deepEqual(t.sites.frames(6), [{ name: "<img onerror=x>", file: "\u2028</script>", line: 2 ** 31, python: true, internal: true }]);
  assert.deepEqual(t.sites.lanes, lanes);

  const bad = { "mt-t0-o": encodeOverview({ ...o, phase: [0, 0, 4] }), "mt-t0-c0": "AAAA" }, broken = await opened(bad);
  assert.equal(broken.exact, null);
  assert.equal(broken.overview.t, null);
  assert.ok(broken.overview.e && broken.sites && broken.errors.length === 2);
  const loop = await opened({ "mt-t0-s": encodeSites({ frames, stacks: [[3, 1]], sites: [], lanes }) });
  assert.match(loop.errors.join(), /its own caller/);
  const few = await opened({ "mt-t0-s": encodeSites({ frames, stacks, sites: sites.slice(0, 5), lanes }) });
  assert.match(few.errors.join(), /no site/);
  assert.ok(few.exact === null && few.overview.t);
  for (const change of [{ x1: 1 }, { high: [1, 2] }, { groups: Array(9).fill([1, 1, 1]) }]) assert.equal((await opened({ "mt-t0-o": encodeOverview({ ...o, ...change }) })).overview.t, null);
});
