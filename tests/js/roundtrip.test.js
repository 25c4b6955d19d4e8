// What the page decodes is what `memtrace dump` says of the same file: order, sizes, places, totals, peaks; times within 0.2 ms.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Script } from "node:vm";
import { Worker } from "node:worker_threads";
import { fromBase64, inflate } from "../../templates/js/decode.js";
import { decodeBeside } from "../../templates/js/beside.js";
import { bucketsOf, columnsOf, eventOfX } from "../../templates/js/layout.js";
import { decodeLedger, readTables } from "../../templates/js/tables.js";
import { Track } from "../../templates/js/track.js";
import { both } from "./tools/compare.js";
import { dice } from "./tools/encode.js";
import { openReport } from "./tools/page.js";

const samples = join(process.env.MT_SOURCE_DIR ?? ".", "samples"), shared = join(process.env.MEMTRACE_SHARED_DATA ?? "", "torch");
const pickles = (folder) => existsSync(folder) ? readdirSync(folder).filter((f) => f.endsWith(".pickle") && !f.startsWith("bad_")).map((f) => join(folder, f)) : [];

test("samples", async (t) => {
  for (const file of pickles(samples)) await t.test(file.split("/").at(-1), async () => {
    const { compared, page } = await both(file);
    assert.ok(page.tracks.length > 0 && compared > 0);
  });
});

test("real snapshots", { skip: pickles(shared).length === 0 && "no real snapshots here" }, async (t) => {
  let all = 0;
  for (const file of [...pickles(shared), ...pickles(join(shared, "derived"))]) await t.test(file.split("/").at(-1), async () => { all += (await both(file)).compared; });
  assert.ok(all > 10000, `${all} operations were compared`);
});

test("what reads the same is one string: the rows of a grouping have different names", async (t) => {
  // Names that are cut, and bytes that are shown alike.
  const long = "n".repeat(400), names = [`${long}1`, `${long}2`, "a\u0001b", "a\u0002b", "f"], folder = mkdtempSync(join(tmpdir(), "mt-js-")), file = join(folder, "s.json");
  const events = names.flatMap((name, i) => ["/x/a.py", "/y/a.py"].map((filename, k) => ({ action: "alloc", addr: (2 * i + k + 1) * 4096, size: 512, stream: 0, frames: [{ name, filename, line: 3 }] })));
  const blocks = events.map(({ addr, size }) => ({ address: addr, size, requested_size: size, state: "active_allocated", frames: [] }));
  writeFileSync(file, JSON.stringify({ segments: [{ device: 0, address: 0, total_size: 1 << 20, stream: 0, segment_type: "small", blocks }], device_traces: [events] }));
  const inputs = [...pickles(samples), ...pickles(shared), file];
  for (const input of inputs) await t.test(input.split("/").at(-1), async () => {
    for (const track of openReport(input).tracks) {
      await track.load();
      const s = track.sites, all = s ? Array.from({ length: s.nStrings }, (_, i) => s.string(i)) : [];
      assert.equal(new Set(all).size, all.length, "a text is there twice");
      if (input === file) assert.ok(new Set(s.labels).size < names.length * 2 && new Set(s.labels).size > 1, "labels that read the same have one number");
    }
  });
  rmSync(folder, { recursive: true });
});

/** A snapshot nobody would record: lost and doubled events, sizes that do not fit, a clock that jumps, requests without an answer. */
function oddSnapshot(seed) {
  const d = dice(seed), events = [], live = new Map(), times = d(4) > 0, kinds = ["segment_map", "segment_unmap", "segment_alloc", "segment_free", "snapshot", "oom", "new_action"];
  const waiting = [], frames = () => Array.from({ length: d(4) }, () => ({ name: `f${d(9)}`, filename: d(2) ? `/x/site-packages/verl/m${d(3)}.py` : "??", line: d(90) }));
  const huge = seed % 5 === 0 ? 2 ** 41 : 2 ** 24;
  let time = 1700000000000000, end = [0, 0, 0];
  const put = (action, addr, size) => {
    time += d(50) ? d(400) : d(9) ? d(2000000) : -d(5000);
    const e = { action, addr, size, stream: d(3), frames: frames() };
    if (times) e.time_us = time;
    events.push(e);
    const sign = { alloc: [1, 0, 0], free_requested: [0, 1, 0], free_completed: [-1, -1, 0], segment_alloc: [0, 0, 1], segment_map: [0, 0, 1], segment_free: [0, 0, -1], segment_unmap: [0, 0, -1] }[action] ?? [0, 0, 0];
    end = end.map((v, i) => v + sign[i] * size);
  };
  for (let i = 0; i < 400; i++) {
    const roll = d(100), any = [...live.keys()], addr = 2 ** 40 + 512 * d(seed % 3 ? 60 : 4000);
    if (roll < 45) { const size = 1 + d(d(3) ? 4096 : 2 ** 20) + (d(20) ? 0 : Math.floor(huge / (1 + d(9)))); put("alloc", addr, size); live.set(addr, size); }
    else if (roll < 70 && any.length) { const a = any[d(any.length)], size = live.get(a); live.delete(a); put("free_requested", a, size); put("free_completed", a, size); }
    else if (roll < 78 && any.length) { const a = any[d(any.length)]; waiting.push([a, live.get(a)]); live.delete(a); put("free_requested", a, waiting.at(-1)[1]); }
    else if (roll < 84 && waiting.length) put("free_completed", ...waiting.splice(d(waiting.length), 1)[0]);
    else if (roll < 88) { put("free_requested", addr, 512 * d(9)); if (d(2)) put("free_completed", addr, 512 * d(9)); }
    else if (roll < 90 && any.length) { const a = any[d(any.length)]; put("free_requested", a, 77); put("free_completed", a, 77); live.delete(a); }
    else put(kinds[d(kinds.length)], 2 ** 40 + 2097152 * d(40), 2097152 * (1 + d(3)));
  }
  // An end state from which the start is not negative.
  const blocks = [...live].map(([address, size]) => ({ address, size: Math.ceil(size / 512) * 512, requested_size: size, state: "active_allocated", frames: [] })).sort((a, b) => a.address - b.address);
  const more = Math.max(0, ...events.reduce((m, e) => (m.push((m.at(-1) ?? 0) + (e.action === "alloc" ? e.size : e.action === "free_completed" ? -e.size : 0)), m), []).map((v) => end[0] - v)) + 2 ** 30;
  const segment = (address, size, list) => ({ device: 0, address, total_size: size, allocated_size: 0, active_size: 0, requested_size: 0, stream: 0, segment_type: "large", segment_pool_id: [0, 0], is_expandable: false, blocks: list, frames: [] });
  blocks.push({ address: 2 ** 42, size: more, requested_size: more, state: "active_allocated", frames: [] });
  return { segments: [segment(2 ** 40, 2 ** 36, blocks.slice(0, -1)), segment(2 ** 42, more, blocks.slice(-1))], device_traces: [events] };
}

test("snapshots that contradict themselves", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mt-odd-")), levels = new Map();
  try {
    for (let seed = 1; seed <= 25; seed++) {
      const file = join(folder, `${seed}.json`);
      writeFileSync(file, JSON.stringify(oddSnapshot(seed)));
      const { page, compared } = await both(file).catch((error) => { throw new Error(`seed ${seed}: ${error.message}`, { cause: error }); });
      assert.equal(compared > 0, page.tracks.some((t) => t.hasExact));
      for (const t of page.tracks) levels.set(t.meta.level, (levels.get(t.meta.level) ?? 0) + 1);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.ok(levels.get("exact") >= 15, `levels: ${[...levels].join("; ")}`);
});

/** A worker of node that looks like one of a browser. */
function workerOf(code) {
  const shim = "const { parentPort: port } = require('node:worker_threads'); globalThis.postMessage = (m, t) => port.postMessage(m, t);"
    + "globalThis.onmessage = null; port.on('message', (data) => globalThis.onmessage({ data }));";
  const w = new Worker(shim + code, { eval: true }), out = { postMessage: (m) => w.postMessage(m), terminate: () => w.terminate(), onmessage: null, onerror: null };
  w.on("message", (data) => out.onmessage({ data }));
  w.on("error", (error) => out.onerror(error));
  return out;
}

test("the page's scripts are scripts, and its worker decodes what the page itself would", async () => {
  const page = openReport(join(samples, "verl_grpo_oom_logprob.pickle")), code = /<script id="mt-worker"[^>]*>([^]*?)<\/script>/.exec(page.html)?.[1];
  assert.ok(code);
  for (const m of page.html.matchAll(/<script(?: id="mt-worker"[^>]*)?>([^]*?)<\/script>/g)) new Script(m[1]);
  const here = page.tracks[0], text = here.io.text;
  await here.loadExact();
  const open = async (worker, change = {}) => {
    const t = new Track(page.index, here.meta, { text: (id) => change[id] ?? text(id), tables: readTables, decode: (...of) => decodeBeside(worker, ...of) }), steps = [];
    t.onProgress = () => steps.push(t.progress);
    await t.loadExact();
    return { t, steps };
  };
  const { t, steps } = await open(() => workerOf(code));
  assert.deepEqual(t.errors, []);
  assert.deepEqual(t.exact, here.exact);
  assert.ok(steps.length > 0 && steps.every((s) => s >= 0 && s <= 1) && steps.some((s) => s > 0));
  const bad = await open(() => workerOf(code), { "mt-t0-c0": "eJwDAAAAAAE=" });
  assert.equal(bad.t.exact, null);
  assert.match(bad.t.errors.join(), /damaged/);
  const broken = await open(() => workerOf("throw new Error('no worker here')"));
  assert.deepEqual(broken.t.exact, here.exact, "without a worker the page decodes by itself");
});

test("the last event is as wide as the others, in the picture and in the strip", async () => {
  const [track] = openReport(join(samples, "tiny.pickle")).tracks, n = track.meta.events;
  await track.loadExact();
  const o = track.overview.e, c = columnsOf(track, "e", 0, n, n * 10), b = bucketsOf(o, 0, n, n * 10);
  assert.deepEqual([track.axisRange("e"), o.n], [[0, n], n]);
  for (let x = 5; x < n * 10; x += 10) assert.equal(o.high[b[x]], track.exact.total[c.op[x]], `column ${x}`);
  assert.equal(eventOfX(track, n - 0.01, "e"), n - 1);
});

test("several ranks, and a recorded job with its ledger", async () => {
  const ranks = openReport(join(samples, "verl_two_ranks.tar.gz"));
  assert.equal(ranks.tracks.length, 2);
  for (const t of ranks.tracks) {
    assert.ok(await t.loadExact(), t.errors.join());
    assert.equal(t.exact.total.reduce((a, b) => Math.max(a, b)), t.meta.peak.live);
  }
  const job = openReport(join(samples, "driver_v1.trace.gz"));
  assert.ok(job.index.ledgers.length > 0);
  assert.equal(job.tracks[0].meta.ledger, job.index.ledgers[0].id);
  const mixed = openReport([join(samples, "driver_v1.trace.gz"), join(samples, "expandable_segments.pickle")]);
  assert.deepEqual(mixed.tracks.map((t) => t.meta.ledger), [0, undefined, 0], "a snapshot of another job has no ledger; the calls have theirs");
  for (const l of job.index.ledgers) {
    const d = decodeLedger(await inflate(fromBase64(job.blocks[`mt-g${l.id}`])), job.index.holders.length);
    assert.equal(d.named.reduce((a, b) => Math.max(a, b)), l.peak);
    for (let i = 0; i < d.n; i++) assert.equal(d.holders.reduce((s, h) => s + h[i], 0), d.used[i], "the holders add up to what is used");
    // The calls, one by one, add up to what was held by them, at the highest and in the end.
    const calls = job.tracks.find((t) => t.meta.kind === "driver" && t.meta.ledger === l.id);
    job.index.roles.push(...job.index.holders); // as the page does
    assert.ok(await calls.loadExact(), calls.errors.join());
    const { total, kind, bEnd } = calls.exact;
    assert.equal(total.reduce((a, b) => Math.max(a, b)), l.peak);
    assert.equal(calls.meta.peak.live, l.peak);
    assert.equal(total.at(-1), 0, "both processes have ended");
    assert.equal(kind.filter((k) => k === 0).length, bEnd.length);
  }
});
