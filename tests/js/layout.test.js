// Where things are: axes, and that no column hides a state.
import { lowerBound } from "../../templates/js/math.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketsOf, byteAxis, columnsOf, eventOfX, NO_OP, runOfX, spanTicks, stepsOf, widen, xOfEvent } from "../../templates/js/layout.js";
import { clampSpan, View } from "../../templates/js/view.js";
import { openTrack } from "./tools/open.js";
import { madeEvents } from "./tools/encode.js";

test("the axis of bytes: binary, from 0, never below the maximum", () => {
  for (const max of [0, 1, 700, 1024, 1536, 2 ** 20, 3.7 * 2 ** 30, 141 * 2 ** 30, 5 * 2 ** 40]) {
    const a = byteAxis(max, 8), step = a.ticks[1].at;
    assert.ok(a.top >= max && a.top - max < step + 1e-6, `${max}`);
    assert.ok(a.ticks.length <= 10 && a.ticks[0].at === 0);
  }
  assert.deepEqual(byteAxis(3.7 * 2 ** 30, 8).ticks.map((t) => t.label), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0"]);
  assert.equal(byteAxis(141 * 2 ** 30, 8).unit, "GiB");
  assert.equal(byteAxis(900, 4).unit, "B");
});

test("ticks of time and events lie inside and are told apart", () => {
  for (const [lo, hi] of [[0, 100], [12.3456, 12.3461], [1e5, 1e5 + 0.001], [0, 86400]]) {
    const t = spanTicks(lo, hi, 1, 8, true);
    assert.ok(t.length >= 2 && t.length <= 9, `${lo} ${hi} ${t.length}`);
    assert.ok(t.every((x) => x.at >= lo && x.at <= hi && x.label.endsWith(" s")));
    assert.equal(new Set(t.map((x) => x.label)).size, t.length);
  }
  assert.deepEqual(spanTicks(0, 2000, 1, 4, false).map((t) => t.label), ["0", "500", "1,000", "1,500", "2,000"]);
  assert.deepEqual(spanTicks(5, 5, 1, 8, true), []);
  assert.ok(spanTicks(3, 7, 1, 50, false).every((t) => Number.isInteger(t.at)), "there is no half event");
});

test("times below a second are in ms or \u00b5s, all of an axis in one unit, no two with the same words", () => {
  const words = (lo, hi, n = 8) => spanTicks(lo, hi, 1, n, true).map((t) => t.label);
  assert.deepEqual(words(0, 2e-4, 5), ["0 \u00b5s", "50 \u00b5s", "100 \u00b5s", "150 \u00b5s", "200 \u00b5s"]);
  assert.deepEqual(words(0, 0.8, 4), ["0 ms", "200 ms", "400 ms", "600 ms", "800 ms"]);
  assert.deepEqual(words(0.4, 0.4004, 2), ["400.0 ms", "400.2 ms", "400.4 ms"]);
  assert.deepEqual(words(0, 1.2, 3), ["0.0 s", "0.5 s", "1.0 s"]);
  assert.deepEqual(words(0.9, 1, 2), ["0.90 s", "0.95 s", "1.00 s"], "1000 ms are a second");
  for (const tick of [1e-6, 1e-9]) { // 1 s is 1 / tick long on the axis; a view is at least 10 ticks wide
    for (const at of [0, 1e-7, 3.3e-5, 9.995e-4, 0.0123, 0.99999, 1, 59.9, 3600.5, 1e5]) {
      for (let w = 10 * tick; w < 1e6; w *= 3.7) {
        for (const n of [1, 3, 8, 30]) {
          const lo = at / tick, hi = lo + w / tick, ticks = spanTicks(lo, hi, 1 / tick, n, true), labels = ticks.map((t) => t.label), name = `${lo} ${hi} ${n}: ${labels}`;
          assert.ok(ticks.length <= n + 1 && ticks.every((t) => t.at >= lo && t.at <= hi) && (n < 3 || ticks.length > 0), name);
          assert.equal(new Set(labels).size, labels.length, name);
          assert.equal(new Set(labels.map((l) => l.replace(/^[\d.]+ /, ""))).size, Math.min(labels.length, 1), name);
          assert.equal(new Set(labels.map((l) => l.replace(/^\d+/, "").length)).size, Math.min(labels.length, 1), `as many digits: ${name}`);
          // each says where it is
          for (const t of ticks) {
            const [, v, unit] = /^([\d.]+) (s|ms|\u00b5s)$/.exec(t.label), s = v / { s: 1, ms: 1e3, "\u00b5s": 1e6 }[unit], far = hi * tick;
            assert.ok(Math.abs(s - t.at * tick) <= w * 2e-6 + Math.abs(s) * 1e-14, `${t.label} at ${t.at}`);
            assert.equal(unit, far >= 1 ? "s" : far >= 1e-3 ? "ms" : "\u00b5s", name);
          }
        }
      }
    }
  }
});

test("lowerBound", () => {
  assert.deepEqual([0, 1, 2, 3, 9].map((v) => lowerBound([1, 1, 3, 5], v)), [0, 0, 2, 2, 4]);
  assert.equal(lowerBound([1, 1, 3, 5], 3, 3, 4), 3);
});

/** The highest state that holds in a column, the slow way. */
function slowTop(track, axis, lo, hi, last) {
  const e = track.exact, xs = axis === "e" ? e.event : e.xs.t;
  let top = -1, before = e.total[0];
  for (let i = 0; i < e.nOps; i++) {
    if (xs[i] < lo) before = e.total[i];
    else if (xs[i] < hi || (last && xs[i] <= hi)) top = Math.max(top, e.total[i]);
  }
  return Math.max(top, before);
}

for (const axis of ["t", "e"]) {
  test(`every column shows its highest state (${axis})`, async () => {
    const { track } = await openTrack({ events: [...madeEvents(3000, { old: 5 })], old: Array.from({ length: 5 }, (_, i) => ({ site: i, size: 1000 * i, addr: 512 * i })) });
    const e = track.exact, [min, max] = track.axisRange(axis);
    for (const [lo, hi, n] of [[min, max, 97], [min, max, 3], [min + (max - min) * 0.4, min + (max - min) * 0.6, 211], [max * 0.5, max * 0.5 + 3, 40]]) {
      const c = columnsOf(track, axis, lo, hi, n), w = (hi - lo) / n;
      assert.equal(c.exact, true);
      let most = 0;
      for (let x = 0; x < n; x++) {
        const want = slowTop(track, axis, lo + x * w, x === n - 1 ? hi : lo + (x + 1) * w, x === n - 1);
        assert.equal(e.total[c.op[x]], want, `${axis} column ${x} of ${n}`);
        most = Math.max(most, want);
      }
      assert.equal(c.most, most);
    }
    assert.equal(columnsOf(track, axis, min, max, 50).events, track.meta.events);
  });
}

test("columns outside of the exact windows are left to the overview", async () => {
  const events = [...madeEvents(4000)], { track } = await openTrack({ events, windows: [[500, 300], [2000, 1000]] });
  const c = columnsOf(track, "e", 0, 4000, 400);
  assert.equal(c.exact, false);
  for (let x = 0; x < 400; x++) {
    const inside = (x >= 50 && x < 79) || (x >= 200 && x < 299);
    if (inside) assert.notEqual(c.op[x], NO_OP, `column ${x}`);
    if (x < 49 || (x > 80 && x < 199) || x > 300) assert.equal(c.op[x], NO_OP, `column ${x}`);
  }
  assert.equal(runOfX(track, 600, "e"), track.exact.runs[0]);
  assert.equal(runOfX(track, 1500, "e"), undefined);
  const r = stepsOf(track.exact.reserved, c);
  for (let x = 0; x < 400; x++) assert.equal(Number.isNaN(r[x]), c.op[x] === NO_OP);
});

test("reserved: the highest in the column", async () => {
  const events = [{ op: "segment_alloc", tick: 10, size: 100, addr: 512, lane: 0 }, { op: "segment_alloc", tick: 20, size: 50, addr: 5120, lane: 0 },
    { op: "segment_free", tick: 21, size: 50, addr: 5120, lane: 0 }, { op: "other", tick: 100 }];
  const { track } = await openTrack({ events, reserved0: 7 });
  assert.deepEqual([...stepsOf(track.exact.reserved, columnsOf(track, "t", 0, 100, 10))], [7, 107, 157, 107, 107, 107, 107, 107, 107, 107]);
});

test("events to places and back", async () => {
  const { track } = await openTrack({ events: [...madeEvents(2000)] });
  for (const axis of ["t", "e"]) {
    for (const ev of [0, 1, 17, 999, track.meta.events - 1]) {
      const op = track.opOfEvent(ev), back = eventOfX(track, xOfEvent(track, ev, axis), axis);
      // Several events may share a tick: the last of them holds.
      assert.ok(axis === "e" ? back === ev : track.exact.xs.t[track.opOfEvent(back)] === track.exact.xs.t[op] && back >= track.exact.event[op], `${axis} ${ev} ${back}`);
    }
  }
  assert.equal(eventOfX(track, -5, "e"), -1);
  assert.equal(eventOfX(track, 1e9, "e"), track.meta.events - 1);
});

test("without the exact events, places come from the overview", async () => {
  const { track } = await openTrack({ events: [...madeEvents(2000)], exact: false });
  const o = track.overview.t, step = (o.x1 - o.x0) / o.n;
  let before = -1;
  for (let ev = 0; ev < 2000; ev += 50) {
    const x = xOfEvent(track, ev, "t");
    assert.ok(x >= before && x <= o.x1 + step);
    before = x;
    assert.ok(Math.abs(eventOfX(track, x, "t") - ev) < 400);
  }
});

test("bucketsOf finds the highest bucket of a column", () => {
  const o = { n: 8, x0: 0, x1: 80, high: [1, 9, 3, 3, 2, 7, 1, 0] };
  assert.deepEqual([...bucketsOf(o, 0, 80, 4)], [1, 2, 5, 6]);
  assert.deepEqual([...bucketsOf(o, 0, 80, 1)], [1]);
  assert.deepEqual([...bucketsOf(o, 12, 18, 3)], [1, 1, 1]);
  assert.deepEqual([...bucketsOf(o, 100, 120, 2)], [7, 7], "outside: the nearest");
});

test("what matters is wide enough to be seen, and hides nothing that is higher", () => {
  const high = [3, 1, 9, 2, 2, 8, 4], after = (x, wide, cells = [0, 1, 2, 3, 4, 5, 6]) => { widen(cells, high, x, wide); return cells.join(""); };
  assert.equal(after(2, 3), "0222456");
  assert.equal(after(2, 1), "0123456");
  assert.equal(after(2, 99), "2222222");
  assert.equal(after(5, 3), "0123555");
  assert.equal(after(6, 3), "0123456", "its neighbour is higher");
  assert.equal(after(5, 4), "0125555", "what one side has no room for, the other takes");
  assert.equal(after(5, 99), "0125555");
  assert.equal(after(2, 3, [0, 1, 2, 2, 2, 5, 6]), "0122256", "wide enough as it is");
  for (const x of [-1, 7, NaN]) assert.equal(after(x, 3), "0123456", "out of sight");
  assert.equal(after(2, 5, [-1, -1, -1, 3, 4, 5, 6]), "-1-1-13456", "only the overview knows that column");
});

test("a view stays inside, whatever is asked for", async () => {
  assert.deepEqual(clampSpan(-5, 5, 0, 100, 1), [0, 10]);
  assert.deepEqual(clampSpan(95, 115, 0, 100, 1), [80, 100]);
  assert.deepEqual(clampSpan(50, 50, 0, 100, 4), [48, 52]);
  assert.deepEqual(clampSpan(NaN, 5, 0, 100, 4), [0, 100]);
  assert.deepEqual(clampSpan(60, 20, 0, 100, 4), [20, 60]);
  const { track } = await openTrack({ events: [...madeEvents(500)] }), v = new View(track), heard = [];
  v.set({ axis: "t" });
  v.on((changed) => heard.push([...changed].sort().join()));
  v.set({ lo: 1e12, hi: 1e12 + 50 });
  assert.ok(v.lo >= 0 && v.hi <= track.axisRange("t")[1] && v.hi > v.lo);
  v.set({ cursor: 1e9, mark: -7, range: [90, 20] });
  assert.deepEqual([v.cursor, v.mark, v.range], [track.meta.events - 1, -1, [20, 90]]);
  v.set({ range: [4, 4] });
  assert.equal(v.range, null);
  v.set({ range: null });
  assert.equal(heard.length, 3, "what does not change is not told");
  const part = [v.lo, v.hi].map((x) => eventOfX(track, x, "t"));
  v.set({ axis: "e" });
  assert.ok(v.lo <= part[0] && part[0] - v.lo < 5 && v.hi === part[1] && v.hi > 490, `${v.lo} ${v.hi}: the same part on the other axis, not ${part}`);
  for (const axis of ["e", "t"]) v.set({ axis, lo: -Infinity, hi: Infinity });
  v.set({ axis: "e" });
  assert.deepEqual([v.lo, v.hi], track.axisRange("e"), "all of it stays all of it");
  let again = 0;
  v.on((changed) => { if (changed.has("query") && v.query === "a") { again++; v.set({ query: "b" }); } });
  v.set({ query: "a" });
  assert.deepEqual([again, v.query, heard.at(-1)], [1, "b", "query"]);
});
