// What the timeline says: of a block, of a moment, of itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blockFacts, eventWords, foldFrames, noStackWords } from "../../templates/js/detail.js";
import { groupsOf } from "../../templates/js/groups.js";
import { altWords, levelWords, stateWords } from "../../templates/js/words.js";
import { madeEvents } from "./tools/encode.js";
import { openTrack } from "./tools/open.js";

const events = [
  { op: "alloc", tick: 1024, site: 1, size: 3 << 20, addr: 0x7f0000000000 }, { op: "alloc", tick: 2048, site: 4, size: 700, addr: 0x7f0000800000 },
  { op: "free_requested", tick: 4096, block: 1 }, { op: "free_completed", tick: 4097, block: 1 }, { op: "free_requested", tick: 6145, block: 2 },
  { op: "oom", tick: 8193, size: 1 << 30, free: 1 << 20, site: 1 },
];
const { track } = await openTrack({ events, old: [{ site: 0, size: 4096, addr: 512 }] });
track.meta.marks = [{ id: "peak", kind: "peak", from: 1, to: 1, text: "peak 3.0 MiB" }, { id: "oom", kind: "oom", from: 5, to: 5, text: "out of memory: asked for 1.00 GiB" }];
track.meta.peak = { event: 1, live: (3 << 20) + 4796, tick: 2048 };

test("an allocation: born, freed, or why that is not known", () => {
  const facts = [0, 1, 2].map((b) => Object.fromEntries(blockFacts(track, b)));
  assert.equal(facts[0].Size, "4.0 KiB");
  assert.equal(facts[0].Born, "before the recording began");
  assert.equal(facts[0].Freed, "not by the end of the recording");
  assert.match(facts[0].Lives, /^at least 8\.2 ms$/);
  assert.deepEqual([facts[1].Size, facts[1].Role, facts[1]["Phase of birth"]], ["3.0 MiB", "kv cache", "update phase (rollout phase)"]);
  assert.equal(facts[1].Born, "event 0 at 1.0 ms");
  assert.equal(facts[1].Freed, "event 3 at 4.1 ms", "completed");
  assert.equal(facts[1].Lives, "3.1 ms");
  assert.equal(facts[1].Address, "0x7f0000000000");
  assert.match(facts[2].Freed, /^requested by event 4 at 6\.1 ms, not completed/);
  assert.deepEqual(blockFacts(track, 99), [], "a link may name a block that is not there");
  assert.match(noStackWords(track, 0), /before the recording/);
  assert.match(noStackWords(track, 2), /_record_memory_history/);
});

test("a stack: the job's own frames one by one, machinery folded with what it is of", () => {
  const f = (name, file, how = "") => ({ name, file, line: 1, python: how !== "c", internal: how === "i" });
  const all = [f("at::empty", "", "c"), f("torch::relu", "", "c"), f("relu", "nn/functional.py", "i"), f("forward", "job/model.py"), f("_call_impl", "modules/module.py", "i"),
    f("step", "job/torchtune.py"), f("<module>", "train.py"), f("_run_code", "<frozen runpy>", "i"), f("run", "python3.11/threading.py", "i"), f("run", "distributed/run.py", "i"), f("_start", "", "c")];
  const seen = (list) => foldFrames(list).map((r) => (r.of.size ? `${r.frames.length} ${[...r.of]}` : r.frames[0].name));
  assert.deepEqual(seen(all), ["3 C++,torch", "forward", "1 torch", "step", "<module>", "4 Python,torch,C++"]);
  assert.deepEqual(foldFrames(all).map((r) => r.at), [0, 3, 4, 5, 6, 7]);
  assert.deepEqual(foldFrames(all).flatMap((r) => r.frames), all, "none is lost, none moves");
  for (const only of [all.slice(0, 3), all.slice(0, 2), all.slice(7), []]) {
    assert.deepEqual(seen(only), only.map((q) => q.name), "machinery alone is all that there is to read");
  }
});

test("a moment", () => {
  const view = /** @type {any} */ ({ track });
  assert.equal(stateWords(view, 1), "3.0 MiB live at event 1 at 2.0 ms, in rollout phase, 3 allocations");
  assert.equal(stateWords(view, 3), "4.7 KiB live at event 3 at 4.1 ms, in rollout phase, 2 allocations");
  assert.equal(stateWords(view, -1), "4.0 KiB live at the start, before the first event, 1 allocation");
  assert.equal(eventWords(track, 5), "event 5 at 8.2 ms");
});

test("where there is only the overview, a time is that of a bucket, and is called so", async () => {
  const bare = await openTrack({ events: [...madeEvents(300)], exact: false });
  assert.match(eventWords(bare.track, 3), /^event 3 at about [\d.]+ (\u00b5s|ms|s)$/);
});

test("the picture in words", () => {
  assert.equal(altWords(track), "Memory of rank 0 over time: 6 events over 8.2 ms. Live memory starts at 4.0 KiB." +
    " peak 3.0 MiB (event 1 at 2.0 ms). out of memory: asked for 1.00 GiB (event 5 at 8.2 ms). Press ? for the keys.");
});

test("how true the picture is", () => {
  const words = (t, frame, by = "role") => levelWords(/** @type {any} */ ({ track: t, by }), frame);
  const fake = (more) => ({ exact: {}, errors: [], hasExact: true, progress: 0, meta: { level: "exact", lost: 0 }, ...more }), drawn = (exact, events) => ({ rough: false, c: { exact, events } });
  assert.equal(words(fake({ exact: null, progress: 0.427 }), null), "Overview. Decoding every event: 42 %.");
  assert.equal(words(fake({ exact: null, hasExact: false }), drawn(false, 0)), "Overview. The exact events are not in this page.");
  assert.equal(words(fake({ exact: null, errors: ["Broken."] }), null), "Overview. Broken.");
  assert.equal(words(fake({}), { ...drawn(true, 9), rough: true }), "Overview.");
  assert.equal(words(fake({}), drawn(true, 1234)), "Exact: 1,234 events in view.");
  assert.equal(words(fake({}), drawn(true, 1)), "Exact: 1 event in view.");
  assert.equal(words(fake({}), drawn(false, 3)), "Exact in part, overview elsewhere.");
  assert.equal(words(fake({}), drawn(false, 0)), "Overview. The exact events of this part are not in this page.");
  assert.match(words(fake({}), drawn(false, 0), "owner"), /^Overview\.$/);
  assert.match(words(fake({ meta: { level: "exact", lost: 2 }, errors: ["No stacks."] }), drawn(true, 1)), /2 frees are missing in the recording\. No stacks\./);
});

test("groups: the eight roles and the rest, phases and stacks by weight", async () => {
  const made = await openTrack({ events: [...madeEvents(3000)] }), role = groupsOf(made.track, "role");
  assert.deepEqual([role.names, role.keys], [["kv cache", "other"], ["role:kv_cache"]]);
  assert.deepEqual([...role.of].slice(0, 4), [1, 0, 1, 1]);
  for (const by of ["phase", "stack"]) {
    const g = groupsOf(made.track, by);
    assert.equal(g.names.at(-1), "other");
    assert.equal(new Set(g.names).size, g.names.length);
    assert.ok(g.names.length >= 3 && g.names.length <= 10);
    assert.ok([...g.of].every((v) => v < g.names.length));
  }
  assert.ok(groupsOf(made.track, "stack").names.includes("no stack recorded"));
  const bare = await openTrack({ events: [...madeEvents(300)], exact: false });
  assert.deepEqual(groupsOf(bare.track, "stack").names, ["other"], "without the events nothing is known of stacks");
});
