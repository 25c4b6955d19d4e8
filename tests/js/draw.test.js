// The pixels: each column against the blocks that are live, one by one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blockAt, inkOf, inksOf, matchedIn, paintExact, paintOverview, paintRequest, rgbOf, Stack } from "../../templates/js/draw.js";
import { groupsOf, phaseWords, stretchAt } from "../../templates/js/groups.js";
import { bucketsOf, columnsOf, NO_OP } from "../../templates/js/layout.js";
import { liveAt } from "../../templates/js/query.js";
import { dice, madeEvents } from "./tools/encode.js";
import { openTrack } from "./tools/open.js";

const old = Array.from({ length: 8 }, (_, i) => ({ site: i, size: 5e6 + i, addr: 512 * i }));
const spec = { events: [...madeEvents(6000, { old: 8, live: 60 })], old };

/** A column as it should be: blocks of the groups in order, oldest first, heights rounded on the sum. */
function slowColumn(track, groups, op, h, scale, ink, line) {
  const e = track.exact, out = new Array(h).fill(0), of = (b) => groups.single ? 0 : groups.of[e.bSite[b]];
  const list = [...liveAt(track, op)].sort((a, b) => of(a) - of(b) || a - b);
  let sum = 0, y = h;
  for (const b of list) {
    sum += e.bSize[b];
    const to = Math.max(0, h - Math.round(sum * scale)), tall = y - to;
    for (let i = to; i < y; i++) out[i] = ink(b);
    if (tall > 3) out[to] = line(b);
    y = Math.min(y, to);
  }
  return out;
}

for (const by of ["role", "phase", "stack", "alloc"]) {
  test(`every pixel by ${by}`, async () => {
    const { track, index } = await openTrack(spec), e = track.exact, groups = groupsOf(track, by);
    const inks = inksOf(groups, track.sites.stack, [255, 255, 255], [0, 0, 0]), stack = new Stack(track, groups);
    for (const [axis, from, to, w, h] of [["e", 0, 1, 61, 97], ["t", 0, 1, 40, 33], ["e", 0.3, 0.31, 50, 80]]) {
      const [min, max] = track.axisRange(axis), c = columnsOf(track, axis, min + (max - min) * from, min + (max - min) * to, w);
      const px = new Uint32Array(w * h), scale = h / c.most, ink = (b) => b & 1 ? inks.second[e.bSite[b]] : inks.site[e.bSite[b]];
      paintExact(stack, c, px, h, scale, inks, null, null);
      for (let x = 0; x < w; x++) {
        const want = slowColumn(track, groups, c.op[x], h, scale, ink, (b) => inks.line[e.bSite[b]]);
        for (let y = 0; y < h; y++) assert.equal(px[y * w + x], want[y], `${axis} ${x},${y}`);
      }
    }
  });
}

test("a search fades the rest, and its line is the most that it matched in the column", async () => {
  const { track, index } = await openTrack(spec), e = track.exact, groups = groupsOf(track, "role");
  const inks = inksOf(groups, track.sites.stack, [255, 255, 255], [0, 0, 0]), c = columnsOf(track, "e", 0, track.meta.events, 37);
  const match = Uint8Array.from({ length: e.nBlocks }, (_, b) => b % 3 === 0), px = new Uint32Array(37 * 50);
  paintExact(new Stack(track, groups), c, px, 50, 50 / c.most, inks, match, null);
  const seen = new Set(px);
  assert.ok([...inks.faded].some((v) => seen.has(v)) && [...inks.site].some((v) => seen.has(v)));
  const got = matchedIn(track, c, match);
  for (let x = 0; x < 37; x++) {
    let most = 0;
    for (let op = Math.max(c.from[x] - 1, 0); op < c.to[x]; op++) {
      let sum = 0;
      for (const b of liveAt(track, op)) sum += match[b] ? e.bSize[b] : 0;
      most = Math.max(most, sum);
    }
    assert.equal(got[x], most, `column ${x}`);
  }
});

test("a pinned block has the colour of the ink", async () => {
  const { track, index } = await openTrack(spec), groups = groupsOf(track, "role"), inks = inksOf(groups, track.sites.stack, [255, 255, 255], [1, 2, 3]);
  const c = columnsOf(track, "e", 0, track.meta.events, 20), px = new Uint32Array(20 * 200), big = liveAt(track, c.op[3]).reduce((a, b) => track.exact.bSize[a] > track.exact.bSize[b] ? a : b);
  paintExact(new Stack(track, groups), c, px, 200, 200 / c.most, inks, null, big);
  assert.ok(px.includes(inks.pin));
});

test("what is under the pointer is what was painted there", async () => {
  const { track, index } = await openTrack(spec), e = track.exact, d = dice(2);
  for (const by of ["role", "alloc"]) {
    const groups = groupsOf(track, by), stack = new Stack(track, groups), of = (b) => groups.single ? 0 : groups.of[e.bSite[b]];
    for (let i = 0; i < 200; i++) {
      const op = d(e.nOps), list = [...liveAt(track, op)].sort((a, b) => of(a) - of(b) || a - b), at = d(e.total[op] + 1000);
      let sum = 0;
      const want = list.find((b) => (sum += e.bSize[b]) > at) ?? null;
      assert.equal(blockAt(stack, op, at), want);
    }
    assert.equal(blockAt(stack, 5, -1), null);
  }
});

test("with very many blocks the small ones are a band, and the height stays exact", async () => {
  const events = Array.from({ length: 9000 }, (_, i) => ({ op: "alloc", tick: i, site: i % 20, size: i % 100 === 0 ? 60000 : 600, addr: 512 * i }));
  const { track, index } = await openTrack({ events }), groups = groupsOf(track, "role"), inks = inksOf(groups, track.sites.stack, [255, 255, 255], [0, 0, 0]);
  const w = 400, c = columnsOf(track, "e", 0, 9000, w), h = 120, px = new Uint32Array(w * h), stack = new Stack(track, groups);
  paintExact(stack, c, px, h, h / c.most, inks, null, null);
  assert.ok(stack.least > 0 && stack.small.some((v) => v > 0));
  // Every height names one block: small ones first, in their group, in the order of their birth.
  const e = track.exact, op = c.op[w - 1], d = dice(4), list = [...liveAt(track, op)], small = (b) => e.bSize[b] < stack.least ? 0 : 1;
  list.sort((a, b) => groups.of[e.bSite[a]] - groups.of[e.bSite[b]] || small(a) - small(b) || a - b);
  for (let i = 0; i < 50; i++) {
    const at = d(e.total[op]);
    let sum = 0;
    assert.equal(blockAt(stack, op, at), list.find((b) => (sum += e.bSize[b]) > at) ?? null);
  }
  // A search keeps the colour of the small ones that it finds.
  const match = Uint8Array.from({ length: e.nBlocks }, (_, b) => b % 2), found = new Uint32Array(w * h);
  paintExact(stack, c, found, h, h / c.most, inks, match, null);
  const count = (ink) => found.reduce((n, v) => n + (v === ink ? 1 : 0), 0);
  assert.ok(count(inks.fade) > 1000 && inks.group.some((ink) => count(ink) > 1000));
  for (let x = 0; x < w; x++) {
    let tall = 0;
    for (let y = 0; y < h; y++) tall += px[y * w + x] !== 0 ? 1 : 0;
    assert.equal(tall, Math.round((track.exact.total[c.op[x]] * h) / c.most), `column ${x}`);
  }
});

test("several windows, with the overview between them", async () => {
  const { track, index } = await openTrack({ events: [...madeEvents(4000)], windows: [[500, 300], [2000, 1000]] }), groups = groupsOf(track, "role");
  const inks = inksOf(groups, track.sites.stack, [255, 255, 255], [0, 0, 0]), o = track.overview.e, w = 100, h = 64, c = columnsOf(track, "e", 0, 4000, w);
  const px = new Uint32Array(w * h), top = Math.max(c.most, ...o.high), of = bucketsOf(o, 0, 4000, w), colors = Uint32Array.of(0xff0000ff, 0xff00ff00);
  paintOverview({ of, bytes: o.groups, colors }, c, px, h, h / top);
  paintExact(new Stack(track, groups), c, px, h, h / top, inks, null, null);
  for (let x = 0; x < w; x++) {
    let tall = 0;
    for (let y = 0; y < h; y++) tall += px[y * w + x] !== 0 ? 1 : 0;
    const bytes = c.op[x] === NO_OP ? o.high[of[x]] : track.exact.total[c.op[x]];
    assert.equal(tall, Math.round((bytes * h) / top), `column ${x}`);
  }
});

test("a failed request: what it met, from below; nothing that is there is painted over", () => {
  const w = 40, h = 100, inks = [9, 8, 7, 6];
  /** @param {number} x @param {number[]} request @param {(px: Uint32Array) => void} [before] */
  const painted = (x, request, before = () => {}) => {
    const px = new Uint32Array(w * h);
    before(px);
    paintRequest(request, x, 11, px, w, h, 1, inks);
    return { px, at: (col, bytes) => px[(h - 1 - bytes) * w + col], wide: [...Array(w).keys()].filter((col) => [...Array(h).keys()].some((y) => px[y * w + col])) };
  };
  const p = painted(20, [30, 40, 60, 90, 80]), rows = (from, to) => Array.from({ length: to - from }, (_, i) => [...Array(11).keys()].map((k) => p.at(15 + k, from + i))).flat();
  assert.deepEqual(p.wide, [...Array(11).keys()].map((i) => 15 + i));
  assert.ok(rows(30, 40).every((v) => v === 8), "held and free: full");
  assert.deepEqual([new Set(rows(40, 60)), rows(40, 60).filter(Boolean).length], [new Set([0, 7]), 44], "what others hold: every fifth line");
  assert.ok(rows(60, 80).every((v) => v === 0 || v === 6) && Math.abs(rows(60, 80).filter(Boolean).length - 132) < 6, "asked for: hatched, three of five");
  assert.ok(rows(80, 82).every((v) => v === 9), "the end of the device");
  assert.ok(rows(82, 90).some(Boolean) && !rows(90, 100).some(Boolean) && !rows(0, 30).some(Boolean));
  for (const x of [0, w - 1, w]) assert.equal(painted(x, [30, 40, 60, 90, 80]).wide.length, 11, "as wide at the edges");
  const beside = painted(20, [30, 40, 60, 90, 80], (px) => { for (let y = 20; y < h; y++) px[y * w + 17] = 5; });
  assert.ok([...Array(80).keys()].every((bytes) => beside.at(17, bytes) === 5), "a higher column beside it");
  assert.ok(painted(20, [30, 40, 60, 1e9, 80]).at(20, h - 1) !== undefined, "one that does not fit is cut at the top");
});

test("colours and phases", async () => {
  assert.deepEqual(rgbOf("#102030"), [16, 32, 48]);
  assert.deepEqual(rgbOf("nonsense"), [0, 0, 0]);
  assert.equal(inkOf([16, 32, 48], [0, 0, 0], 1, 1), 0xff302010);
  assert.equal(inkOf([255, 0, 0], [255, 255, 255], 0, 9), 0xffffffff);
  const { track, index } = await openTrack(spec);
  assert.deepEqual([0, 99, 100, 5000].map((ev) => stretchAt(track, ev)), [0, 0, 1, 2]);
  assert.equal(stretchAt(track, -1), -1);
  assert.equal(phaseWords(track, 100), "update phase (forward phase)");
  assert.equal(phaseWords(track, 5), "rollout phase");
});
