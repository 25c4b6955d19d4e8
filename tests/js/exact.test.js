// Operations: what an independent writer put in is what the reader gets out; and nothing else gets through.
import { upperBound } from "../../templates/js/math.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync, inflateSync } from "node:zlib";
import { allVars, columns, fromBase64, inflate, NONE, VarReader, wideVars } from "../../templates/js/decode.js";
import { decodeExact, exactBlocks, exactBuffers } from "../../templates/js/exact.js";
import { K_ALLOC, K_FREE, K_FREE_DONE, K_FREE_REQ, K_FREE_UNKNOWN, K_LOST, K_OOM, K_OTHER, K_SEG_ALLOC, K_SEG_FREE, K_SEG_MAP, K_SEG_UNMAP,
  K_SNAPSHOT, K_START } from "../../templates/js/kinds.js";
import { Bytes, column, dice, encodeTrack, joined, madeEvents, packed, timeByte, wide } from "./tools/encode.js";

const KINDS = { alloc: K_ALLOC, free: K_FREE, free_requested: K_FREE_REQ, free_completed: K_FREE_DONE, lost: K_LOST, oom: K_OOM, snapshot: K_SNAPSHOT, other: K_OTHER,
  segment_alloc: K_SEG_ALLOC, segment_free: K_SEG_FREE, segment_map: K_SEG_MAP, segment_unmap: K_SEG_UNMAP };
const at = (curve, op) => curve.bytes[upperBound(curve.op, op) - 1];

/** Compares everything; one run that covers the whole track. */
async function same(made, tickNs = 1000) {
  const x = await decodeExact(made.meta, (id) => made.blocks[id]);
  assert.equal(x.nOps, made.expect.length + 1);
  assert.equal(x.kind[0], K_START);
  assert.equal(x.total[0], made.meta.start.live);
  assert.equal(x.nBlocks, made.known.length);
  made.expect.forEach((e, i) => {
    const op = i + 1, unknown = e.op.startsWith("free_") && e.block === null;
    assert.equal(x.kind[op], unknown ? K_FREE_UNKNOWN : KINDS[e.op], `kind of ${op}`);
    assert.equal(x.event[op], e.event + Number(x.kind[op] === K_FREE), `event of ${op}`);
    assert.equal(x.total[op], e.total, `total after ${op}`);
    if (x.tick) assert.ok(Math.abs(x.tick[op] - e.tick) * tickNs <= 200000, `time of ${op}: ${x.tick[op]}, not ${e.tick}`);
    if (e.block !== undefined && e.block !== null) assert.equal(x.ref[op], e.block, `block of ${op}`);
    assert.equal(at(x.pending, op), e.pending, `pending after ${op}`);
    assert.equal(at(x.reserved, op), e.reserved, `reserved after ${op}`);
  });
  made.known.forEach((b, i) => {
    assert.equal(x.bSize[i], b.size);
    assert.equal(x.bSite[i], b.site);
    assert.equal(x.bEvent[i], b.event);
    if (x.bAddr) assert.equal(x.bAddr[i], b.addr);
    assert.equal(x.bBegin[i] === NONE, i < made.old);
  });
  assert.equal(Math.max(...x.total), made.meta.peak.live);
  return x;
}

const old = [{ site: 1, size: 1000, addr: 512 }, { site: 2, size: 2 ** 33 + 7, addr: 0x7fff00000000, pending: true }, { site: 0, size: 0, addr: 1024 }];

test("every kind of operation comes back, in one chunk and in many", async () => {
  const events = [...madeEvents(5000, { old: 1 })];
  for (const chunk of [65536, 512, 3]) {
    const x = await same(encodeTrack({ events, old: [{ site: 3, size: 77, addr: 0 }], chunk, reserved0: 12345 }));
    for (const k of [K_ALLOC, K_FREE, K_FREE_REQ, K_FREE_DONE, K_FREE_UNKNOWN, K_SEG_ALLOC, K_OOM, K_SNAPSHOT, K_OTHER]) assert.ok(x.kind.includes(k), `kind ${k} occurs`);
  }
});

test("blocks of before the trace, pending and lost ones", async () => {
  const x = await same(encodeTrack({
    old, events: [
      { op: "free_completed", tick: 5, block: 1 }, { op: "lost", tick: 9, block: 0 }, { op: "alloc", tick: 9, site: 4, size: 5, addr: 512 },
      { op: "free_requested", tick: 10, block: 2 }, { op: "free_completed", tick: 100000, block: 2 }, { op: "free_requested", tick: 100001, block: 3 },
    ],
  }));
  assert.equal(x.bReq[1], 0);
  assert.equal(x.bEnd[1], 1);
  assert.equal(x.event[2], x.event[3], "what is lost is no event");
  assert.equal(x.bReq[2], 4);
  assert.equal(x.bEnd[2], 5);
  assert.equal(x.bEnd[3], NONE);
});

test("what specials carry", async () => {
  const made = encodeTrack({
    old, events: [{ op: "oom", tick: 1, size: 2 ** 40, free: 123, site: 3 }, { op: "segment_map", tick: 2, size: 4096, addr: 1 << 20, lane: 1 },
      { op: "segment_unmap", tick: 2, size: 4096, addr: 1 << 20, lane: 1 }, { op: "free_completed", tick: 3, block: null, size: 10 }, { op: "oom", tick: 4, size: 5, free: 0 }],
  });
  const { special: s, ref } = await same(made);
  assert.deepEqual([...s.size], [2 ** 40, 4096, 4096, 10, 5]);
  assert.deepEqual([...s.free], [123, 0, 0, 0, 0]);
  assert.deepEqual([...s.site], [4, 0, 0, 0, 0]);
  assert.deepEqual([...s.lane], [0, 1, 1, 0, 0]);
  assert.deepEqual([...s.addr], [NaN, 1 << 20, 1 << 20, NaN, NaN]);
  assert.deepEqual([...ref.slice(1)], [0, 1, 2, 3, 4]);
});

test("no events, no blocks, no times, no addresses, no remainders", async () => {
  await same(encodeTrack({ events: [] }));
  await same(encodeTrack({ events: [], old }));
  const x = await same(encodeTrack({ events: [...madeEvents(300)], times: false, addresses: false }));
  assert.equal(x.tick, null);
  assert.equal(x.bAddr, null);
  const made = encodeTrack({ events: [{ op: "alloc", tick: 0, site: 0, size: 1000, addr: 0 }], remainders: false });
  assert.equal((await decodeExact(made.meta, (id) => made.blocks[id])).bSize[0], 512);
});

test("times stay within 0.2 ms over a long track, and a clock that goes back is kept as it is", async () => {
  const d = dice(3), events = [];
  for (let i = 0, tick = 0; i < 20000; i++) events.push({ op: "other", tick: tick += d(3) ? d(2000) : d(300000) });
  await same(encodeTrack({ events }));
  await same(encodeTrack({ events: events.map((e) => ({ ...e, tick: Math.floor(e.tick / 7) })), tickNs: 7000 }), 7000);
  const back = await same(encodeTrack({ events: [{ op: "other", tick: 100 }, { op: "other", tick: 40 }, { op: "other", tick: 90 }, { op: "other", tick: 3e9 }] }));
  assert.deepEqual([...back.tick], [0, 104, 40, 92, 3e9]);
  assert.deepEqual([...back.xs.t], [0, 104, 104, 104, 3e9]);
});

test("a byte of time stands for what the document says", () => {
  for (const [gap, b, value] of [[0, 0, 0], [15, 15, 15], [16, 16, 16], [17, 17, 18], [18, 17, 18], [250, 48, 256], [100000, 116, 98304]]) assert.deepEqual(timeByte(gap, 1e9), [b, value]);
});

test("windows: each run has its own state and its own blocks", async () => {
  const events = [...madeEvents(4000, { rare: false })], whole = encodeTrack({ events, addresses: false });
  const made = encodeTrack({ events, windows: [[100, 500], [2000, 300], [3500, 500]], addresses: false, chunk: 128, level: "windows" });
  const full = await decodeExact(whole.meta, (id) => whole.blocks[id]), x = await decodeExact(made.meta, (id) => made.blocks[id]);
  assert.equal(x.runs.length, 3);
  let seen = 0;
  for (const run of x.runs) {
    assert.equal(x.kind[run.op0], K_START);
    for (let op = run.op0 + 1; op < run.op1; op++, seen++) {
      const same = upperBound(full.event, x.event[op]) - 1;
      // A window's edge may part a request from its completion.
      if (x.kind[op] !== full.kind[same] && (op === run.op0 + 1 || op === run.op1 - 1)) continue;
      assert.equal(x.kind[op], full.kind[same]);
      assert.equal(x.total[op], full.total[same]);
      assert.ok(Math.abs(x.tick[op] - full.tick[same]) <= 200);
      if (x.kind[op] === K_ALLOC) assert.equal(x.bSize[x.ref[op]], full.bSize[full.ref[same]]);
    }
    let bytes = 0;
    for (let b = run.block0; b < run.blockBorn; b++) bytes += x.bSize[b];
    assert.equal(bytes, run.live0);
  }
  assert.ok(seen > 600);
});

test("numbers up to 2^53, and none beyond", () => {
  const b = new Bytes(), values = [0, 127, 128, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 35 - 1, 2 ** 42, Number.MAX_SAFE_INTEGER];
  values.forEach((v) => b.u(v));
  assert.deepEqual([...allVars(b.done())], values);
  const r = new VarReader(column([0, 1, -1, 2 ** 52 - 1, -(2 ** 51), 63, -64], true));
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(() => r.zig()), [0, 1, -1, 2 ** 52 - 1, -(2 ** 51), 63, -64]);
  for (const bad of [[0x80], [255, 255, 255, 255], [255, 255, 255, 255, 255, 255, 255, 255, 1], [255, 255, 255, 255, 255, 255, 255, 127], []]) {
    assert.throws(() => new VarReader(Uint8Array.from(bad)).next(), /damaged/);
  }
});

test("streams that are cut, forged or too large are refused", async () => {
  const good = deflateSync(Buffer.alloc(1 << 20, 7));
  assert.equal((await inflate(good)).length, 1 << 20);
  await assert.rejects(inflate(good, 1000), /larger than any/);
  await assert.rejects(inflate(good.subarray(0, good.length - 3)), /decompressed/);
  await assert.rejects(inflate(Uint8Array.from([1, 2, 3, 4])), /decompressed/);
  await assert.rejects(inflate(new Uint8Array(0)), /decompressed/);
  assert.throws(() => fromBase64("!!!"), /base64/);
  assert.throws(() => columns(Uint8Array.from([2, 5, 5, 1]), 2), /longer than its block/);
  assert.throws(() => columns(column([2 ** 40]), 2), /too many/);
  assert.deepEqual(columns(column([0]), 3).map((c) => c.length), [0, 0, 0]);
});

test("a browser without DecompressionStream is told so", async () => {
  const { DecompressionStream } = globalThis;
  try {
    globalThis.DecompressionStream = undefined;
    await assert.rejects(inflate(new Uint8Array(1)), /too old/);
  } finally {
    globalThis.DecompressionStream = DecompressionStream;
  }
});

test("numbers of two bytes, and larger ones", () => {
  const all = [0, 1, 255, 256, 65279, 65280, 65535, 65536, 2 ** 28, 2 ** 31, 2 ** 32 - 2], larger = [2 ** 32 - 1, 2 ** 32, 2 ** 51], long = [];
  assert.deepEqual([...wideVars(wide(all), 0, new Uint32Array(20))], all);
  assert.deepEqual([...wideVars(wide([...larger, 7]), 0, new Uint32Array(4), long)], [NONE, NONE, NONE, 7]);
  assert.deepEqual(long, larger);
  assert.throws(() => wideVars(wide(larger), 0, new Uint32Array(4)), /too large/);
  assert.throws(() => wideVars(wide(all), 0, new Uint32Array(4)), /differ in length/);
  assert.throws(() => wideVars([...wide([5]).slice(0, 2), column([1])], 0, new Uint32Array(4)), /differ in length/);
});

test("addresses beyond those that the track has a list of", async () => {
  const events = [...madeEvents(3000)], few = encodeTrack({ events, old, chunk: 500, places: 20 }), all = encodeTrack({ events, old, chunk: 500 });
  const [x, y] = await Promise.all([few, all].map((m) => decodeExact(m.meta, (id) => m.blocks[id])));
  assert.ok(new Set(y.bAddr).size > 100);
  assert.deepEqual(x.bAddr, y.bAddr);
  assert.deepEqual([...y.bAddr], all.known.map((b) => b.addr));
  await assert.rejects(decodeExact(few.meta, (id) => id.endsWith("-d") ? packed([column([2], true)]) : few.blocks[id]), /points to nothing/);
});

test("operations that contradict each other are refused", async () => {
  const code = (codes, more = [], sites = [], sizes = []) => packed([...wide(codes), ...wide(sites), ...wide(sizes), column(more)]);
  const times = (/** @type {number} */ n) => packed([new Uint8Array(n), column([])]);
  const frame = (first = 0, n = 1) => packed([column([first, 0, 1, 512, 0, 0, n, 1]), column([0]), column([0]), column([1]), column([0]), column([0]), column([0]), column([]), column([]), column([]), column([])]);
  const meta = (events) => ({ ...encodeTrack({ events: [] }).meta, runs: [{ first: 0, events, chunks: 1 }], chunks: [{ m: 0, a: 0 }] });
  const run = (events, c, r = frame(), t = times(2)) => decodeExact(meta(events), (id) => ({ "mt-t0-r0": r, "mt-t0-c0": c, "mt-t0-t0": t })[id]);
  assert.equal((await run(2, code([2]))).total[1], 0);
  await assert.rejects(run(4, code([2, 2])), /freed twice/);
  await assert.rejects(run(2, code([3])), /not there/);
  await assert.rejects(run(2, code([2 ** 50])), /too large/);
  await assert.rejects(run(2, code([2 ** 31])), /not there/);
  await assert.rejects(run(1, code([0])), /differ in length/);
  await assert.rejects(run(1, code([], [], [0], [1])), /differ in length/);
  await assert.rejects(run(1, packed([[0, 0], [0], [], [0], [0], [], [1], [0], [], []].map((c) => Uint8Array.from(c)))), /differ in length/);
  await assert.rejects(run(1, packed([[0], [255], [], [], [], [], [], [], [], []].map((c) => Uint8Array.from(c)))), /ends inside a number/);
  await assert.rejects(run(1, code([1], [13])), /unknown kind/);
  await assert.rejects(run(1, code([1], [0])), /unknown kind/);
  await assert.rejects(run(2, code([1, 1], [1, 1, 1, 1])), /requested twice/);
  await assert.rejects(run(1, code([1], [11, 4])), /differ in length/);
  await assert.rejects(run(2, code([2]), frame(), times(0)), /too few times/);
  await assert.rejects(run(2, code([2]), frame(), packed([Uint8Array.of(255), column([2 ** 40])])), /time is out of range/);
  await assert.rejects(run(1, code([2])), /more events/);
  await assert.rejects(run(3, code([2])), /fewer events/);
  await assert.rejects(run(0, code([]), frame(5)), /elsewhere/);
  await assert.rejects(run(0, code([]), frame(0, 2 ** 40)), /cut/);
  await assert.rejects(run(1, packed([new Uint8Array(2 ** 23)])), /larger than any/);
  await assert.rejects(decodeExact(meta(2), () => null), /missing/);
  await assert.rejects(decodeExact({ ...meta(2), chunks: [] }, (id) => id.endsWith("r0") ? frame() : id.endsWith("-t0") ? times(1) : code([2])), /more chunks/);
});

test("a page with any byte changed never hangs, and never gives a state that is impossible", async () => {
  const made = encodeTrack({ events: [...madeEvents(400)], old, chunk: 200 }), ids = exactBlocks(made.meta), d = dice(11);
  let refused = 0;
  for (let i = 0; i < 600; i++) {
    const id = ids[d(ids.length)], raw = inflateSync(Buffer.from(made.blocks[id], "base64"));
    raw[d(raw.length)] ^= 1 << d(8);
    const changed = { ...made.blocks, [id]: deflateSync(raw).toString("base64") };
    try {
      const x = await decodeExact(made.meta, (k) => changed[k]);
      assert.ok(x.nOps <= made.expect.length * 2 && x.nBlocks <= x.nOps + 3);
      for (let op = 0; op < x.nOps; op++) if (x.kind[op] < K_FREE_UNKNOWN) assert.ok(x.ref[op] < x.nBlocks);
    } catch (error) {
      assert.match(error.message, /damaged/);
      refused++;
    }
  }
  assert.ok(refused > 100);
});

test("every buffer is handed over, each once", async () => {
  const made = encodeTrack({ events: [...madeEvents(50)] }), x = await decodeExact(made.meta, (id) => made.blocks[id]), all = exactBuffers(x);
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.includes(x.kind.buffer) && all.includes(x.special.size.buffer) && all.includes(x.runs[0].segments.addr.buffer));
  const copy = structuredClone(x, { transfer: all });
  assert.equal(x.kind.length, 0);
  assert.equal(copy.nOps, copy.kind.length);
  assert.equal(joined([]).length, 1);
});

test("completions without any request (skip_actions) leave nothing waiting, and not less", async () => {
  const events = [0, 1, 2].flatMap((block) => [{ op: "alloc", tick: 2 * block, site: 1, size: 1 << 20, addr: block << 21 }, { op: "free_completed", tick: 2 * block + 1, block }]);
  const made = encodeTrack({ events }), x = await decodeExact(made.meta, (id) => made.blocks[id]);
  assert.deepEqual([...x.pending.bytes], [0]);
  assert.deepEqual([...x.total], [0, 1, 0, 1, 0, 1, 0].map((n) => n << 20));
});
