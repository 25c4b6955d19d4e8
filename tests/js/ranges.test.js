// Annotations of a snapshot and NVTX ranges of the recording, as one set of lanes.
import { test } from "node:test";
import assert from "node:assert/strict";
import { bothRanges, decodeRanges } from "../../templates/js/tables.js";

/** @param {[string, number, number, number][]} list name, begin, end, lane */
const ranges = (list) => ({ n: list.length, name: list.map((r) => r[0]), t0: Float64Array.from(list, (r) => r[1]),
  t1: Float64Array.from(list, (r) => r[2]), lane: Float64Array.from(list, (r) => r[3]) });

test("the second set lies below the first, and all are in order of time", () => {
  const both = bothRanges(ranges([["a", 5, 9, 0], ["b", 6, 7, 1]]), ranges([["c", 0, 20, 0], ["d", 6, 8, 1]]));
  assert.deepEqual(both.name, ["c", "a", "b", "d"]);
  assert.deepEqual([...both.t0], [0, 5, 6, 6]);
  assert.deepEqual([...both.t1], [20, 9, 7, 8]);
  assert.deepEqual([...both.lane], [2, 0, 1, 3]);
});

test("with nothing above, the lanes stay", () => {
  assert.deepEqual([...bothRanges(ranges([]), ranges([["c", 0, 20, 0], ["d", 6, 8, 1]])).lane], [0, 1]);
});

test("a block is read, and a broken one refused", () => {
  const bytes = (/** @type {number[]} */ ...b) => b, columns = [bytes(1, 0), bytes(3, 4), bytes(10, 1), bytes(0, 1), bytes(1, 2), [...Buffer.from("xyz")]];
  const pack = (/** @type {number[][]} */ c) => Uint8Array.from([c.length, ...c.map((one) => one.length), ...c.flat()]);
  const r = decodeRanges(pack(columns));
  assert.deepEqual([r.n, r.name, [...r.t0], [...r.t1], [...r.lane]], [2, ["yz", "x"], [3, 7], [13, 8], [0, 1]]);
  assert.throws(() => decodeRanges(pack([[7, 0], ...columns.slice(1)])), "a name that is not there");
  assert.throws(() => decodeRanges(pack([...columns.slice(0, 3), [0], ...columns.slice(4)])), "a lane is missing");
  assert.throws(() => decodeRanges(Uint8Array.of(6, 200)));
});
