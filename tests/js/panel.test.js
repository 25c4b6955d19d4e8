// The parts of the panels that need no page: keys of sorting, boxes of the icicle, pieces of the segment map, Markdown and CSV.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { mdText } from "../../templates/js/markdown.js";
import { curveCsv, markdownText, overridesOf } from "../../templates/js/copy.js";
import { cursorOwners } from "../../templates/js/panel_cursor.js";
import { segmentPieces, segmentUse } from "../../templates/js/panel_segmap.js";
import { sortKey, sortOrder } from "../../templates/js/panel_sort.js";
import { icicleBoxes } from "../../templates/js/panel_tree.js";
import { liveAt, nameColor } from "../../templates/js/query.js";
import { Track } from "../../templates/js/track.js";
import { View } from "../../templates/js/view.js";
import { dice, encodeOverview, encodeSites, encodeTrack, ioOf, madeEvents } from "./tools/encode.js";

const roles = ["parameters", "kv_cache"].map((id, i) => ({ id, name: id, color: `#00000${i}` }));
const phases = ["rollout", "update"].map((id, i) => ({ id, name: id, color: `#10000${i}` }));
const sites = Array.from({ length: 20 }, (_, i) => ({ stack: i % 3, role: i % 2, phase: i % 2, sub: 0, lane: 0, label: i % 3 ? `a|b*${i % 3}` : "" }));
const frames = [{ name: "forward", file: "m.py", line: 7 }, { name: "main", file: "main.py", line: 1 }];

async function open(spec, more = {}) {
  const made = encodeTrack(spec);
  const index = { v: 1, title: "t", version: "0", roles, phases, holders: [], tracks: [made.meta], ledgers: [] };
  const track = new Track(index, made.meta, ioOf(made.blocks, {
    "mt-t0-s": encodeSites({ frames, stacks: [[1, 0], [0, 1]], sites }), ...more,
  }));
  return { track, made };
}

test("what a cell is sorted by", () => {
  for (const [text, title, n] of [["1.5 GiB", "1,610,612,736 bytes", 1610612736], ["1.5 GiB", "", 1.5 * 1024 ** 3], ["+1.20 GiB", "", 1.2 * 1024 ** 3],
    ["-3 MiB", "", -3 * 1024 ** 2], ["\u22123 MiB", "", -3 * 1024 ** 2], ["12.3 %", "", 12.3], ["1,234", "", 1234], ["event 3,737", "", 3737], ["1.204 s", "", 1.204],
    ["250 ms", "", 0.25], ["12 min 05 s", "", 725], ["-", "", -Infinity], ["", "", -Infinity], ["-5 bytes", "-5 bytes", -5]]) {
    assert.ok(Math.abs(sortKey(text, title) - n) < 1e-6 || sortKey(text, title) === n, text);
  }
  for (const text of ["rollout", "3 blocks", "1, asking for 6.96 GiB in rollout", "7B model", "v1.2"]) assert.ok(Number.isNaN(sortKey(text)), text);
});

test("sorting keeps equal rows in their order, numbers as numbers, mixed columns as text", () => {
  const keys = (...a) => a.map((t) => ({ n: sortKey(t), text: t }));
  assert.deepEqual(sortOrder(keys("10 MiB", "9 GiB", "-", "10 MiB"), true), [1, 0, 3, 2]);
  assert.deepEqual(sortOrder(keys("10 MiB", "9 GiB", "-", "10 MiB"), false), [2, 0, 3, 1]);
  assert.deepEqual(sortOrder(keys("b", "10", "a"), false), [1, 2, 0]);
});

test("boxes of an icicle lie inside their callers, in proportion, and there is an end to them", () => {
  const leaf = (name, bytes) => ({ name, file: "", line: 0, internal: false, bytes, count: 1, children: [] });
  const root = { name: "all", bytes: 100, count: 3, children: [{ name: "big", bytes: 90, count: 2, children: [leaf("x", 60), leaf("y", 30)] }, leaf("small", 10)] };
  const boxes = icicleBoxes([root], 10, 0.001);
  assert.deepEqual(boxes.map((b) => [b.node.name, b.depth, b.x, +b.w.toFixed(6)]), [["all", 0, 0, 1], ["big", 1, 0, 0.9], ["small", 1, 0.9, 0.1], ["x", 2, 0, 0.6], ["y", 2, 0.6, 0.3]]);
  assert.deepEqual(icicleBoxes([root], 2, 0.2).map((b) => b.node.name), ["all", "big"]);
  assert.deepEqual(icicleBoxes([root, root.children[0]], 10, 0).map((b) => [b.node.name, b.up, b.depth, b.x]), [["all", -1, 0, 0], ["big", 0, 1, 0], ["x", 1, 2, 0], ["y", 1, 2, 60 / 90]]);
  const many = { name: "all", bytes: 1e6, count: 1, children: Array.from({ length: 1e5 }, () => leaf("z", 10)) };
  assert.ok(icicleBoxes([many], 10, 0).length <= 1500);
  let deep = leaf("end", 1);
  for (let i = 0; i < 5000; i++) deep = { name: "f", bytes: 1, count: 1, children: [deep] };
  // What all is in, one frame in the other, is one box; a reader may have them apart, and then there is an end to them.
  assert.deepEqual(icicleBoxes([deep], 24, 0).map((b) => [b.node.name, b.row.length]), [["f", 1], ["f", 4999], ["end", 1]]);
  assert.equal(icicleBoxes([deep], 24, 0, new Set(icicleBoxes([deep], 24, 0)[1].row)).length, 24);
  const two = { ...root, children: [{ name: "a", bytes: 100, count: 3, children: [{ ...root, name: "b" }] }] };
  assert.deepEqual(icicleBoxes([two], 10, 0).map((b) => b.row.length), [1, 1, 1, 1, 1, 1, 1], "two are not many");
  assert.deepEqual(icicleBoxes([leaf("nothing", 0)], 5, 0).length, 1);
  for (const name of ["", "forward", "<img>", "\ud800"]) assert.match(nameColor(name), /^hsl\(\d{1,3} 55% 79%\)$/);
  assert.notEqual(nameColor("forward"), nameColor("backward"));
});

test("segments are drawn to scale, in order, inside the lines, once", () => {
  const d = dice(3);
  for (const width of [200, 333, 1100]) {
    const sizes = Array.from({ length: 300 }, () => (1 + d(500)) * 2 ** 20), per = sizes.reduce((a, b) => a + b) / (width * 20);
    const drawn = sizes.map(() => 0);
    let last = [-1, 0];
    for (const p of segmentPieces(sizes, width, per)) {
      assert.ok(p.x >= 0 && p.x + p.w <= width + 1e-6);
      assert.ok(p.line > last[0] || (p.line === last[0] && p.x >= last[1]), "no two overlap");
      assert.ok(Math.abs(p.from - drawn[p.seg] * per) < 1);
      last = [p.line, p.x + p.w];
      drawn[p.seg] += p.w;
    }
    sizes.forEach((s, i) => assert.ok(Math.abs(drawn[i] - Math.max(s / per, 2)) < 1e-6));
  }
  assert.deepEqual(segmentPieces([], 100, 1), []);
  assert.ok(segmentPieces([2 ** 50], 100, 1).length <= 400, "an impossible size is not drawn for ever");
});

test("what keeps a segment: its largest block, where half of it or more is free", () => {
  const sizes = Float64Array.of(10, 30, 20);
  assert.deepEqual(segmentUse({ addr: 0, size: 100, lane: 0, blocks: [0, 1] }, sizes), { live: 40, pin: 1 });
  assert.deepEqual(segmentUse({ addr: 0, size: 100, lane: 0, blocks: [0, 1, 2] }, sizes), { live: 60, pin: -1 });
  assert.deepEqual(segmentUse({ addr: 0, size: 100, lane: 0, blocks: [] }, sizes), { live: 0, pin: -1 });
});

test("Markdown: the report, the owners at the cursor, the link; nothing in a name is markup", () => {
  const now = { title: "Live at event 3: 2.0 KiB", live: 2048, rows: [{ label: "a|b*c`<img>\n", bytes: 1024, count: 1 }] };
  const text = markdownText("### memtrace\n\nbody\n", now, "#c=3&q=`x y`");
  assert.ok(text.startsWith("### memtrace\n\nbody\n\n**Live at event 3: 2.0 KiB**\n"));
  assert.ok(text.includes("| 1.0 KiB | 50.0 % | 1 | a\\|b\\*c\\`&lt;img&gt;  |\n"));
  assert.ok(text.includes("`#c=3&q=xy`"));
  assert.equal(markdownText(" x ", null, ""), "x\n");
});

test("Markdown: the escaping of the program", () => {
  const rows = readFileSync(new URL("../golden/markdown.tsv", import.meta.url), "utf8").split("\n").filter((l) => l && !l.startsWith("# ")).map((l) => l.split("\t"));
  assert.ok(rows.length > 40);
  for (const [name, want] of rows) assert.equal(mdText(name), want, name);
});

test("owners at the cursor add up to the live bytes", async () => {
  const { track } = await open({ events: [...madeEvents(3000)] });
  const view = new View(track);
  assert.equal(cursorOwners(view, 5), null, "not decoded yet");
  assert.ok(await track.loadExact(), track.errors.join());
  view.set({ cursor: 1500 });
  const now = cursorOwners(view, 99), op = track.opOfEvent(1500);
  assert.equal(now.live, track.exact.total[op]);
  assert.equal(now.rows.reduce((s, r) => s + r.bytes, 0), now.live);
  assert.equal(now.rows.reduce((s, r) => s + r.count, 0), liveAt(track, op).length);
  assert.match(now.title, /^Live at event 1,500.*: /);
});

test("CSV: every operation of what is visible, with its total", async () => {
  const { track } = await open({ events: [...madeEvents(3000)] });
  await track.loadExact();
  const view = new View(track), x = track.exact;
  const rows = (v) => curveCsv(v).trimEnd().split("\n").slice(1).map((l) => l.split(","));
  view.set({ axis: "e" });
  const all = rows(view);
  assert.equal(all.length, x.nOps);
  all.forEach((r, i) => assert.equal(Number(r[2]), x.total[i]));
  assert.equal(all[0][0], "-1", "the state before the first event");
  view.set({ lo: 100, hi: 200 });
  for (const r of rows(view)) assert.ok(Number(r[0]) >= 100 && Number(r[0]) <= 200);
  assert.ok(rows(view).length > 40);
});

test("one line of settings: whole overrides of one program, the first of each key", () => {
  assert.deepEqual(overridesOf(["a.b=1", "+a.c=x", "a.b=2", "f(x=1)", "a.d=g(1)", "a.e=<n>", "a.f=1 or 2"]), ["a.b=1", "+a.c=x"]);
  assert.deepEqual(overridesOf(["--one 1", "--two=2", "--three", "--four 4 in the launcher", "--five <n>", "--six ...", "--one 3"]), ["--one 1", "--two=2", "--three"]);
  assert.deepEqual(overridesOf(["--one 1", "a.b=2", "a.c=3"]), []);
  assert.deepEqual(overridesOf(["a.b=1", "a.b=2"]), []);
});
