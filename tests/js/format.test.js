// The page's words for numbers are those of the static report.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fmtBytes, fmtCount, fmtDuration, fmtPercent } from "../../templates/js/format.js";

test("bytes", () => {
  const cases = [[0, "0 B"], [1, "1 B"], [1023, "1023 B"], [1024, "1.0 KiB"], [1536, "1.5 KiB"], [1048575, "1.0 MiB"], [1048576, "1.0 MiB"],
    [1073741823, "1.00 GiB"], [25483614352, "23.73 GiB"], [2 ** 40, "1.00 TiB"], [2 ** 53, "8.00 PiB"], [-2048, "-2.0 KiB"]];
  for (const [n, text] of cases) assert.equal(fmtBytes(n), text);
});

test("counts and shares", () => {
  for (const [n, text] of [[0, "0"], [999, "999"], [1000, "1,000"], [1234567, "1,234,567"]]) assert.equal(fmtCount(n), text);
  for (const [a, b, text] of [[0, 0, "-"], [0, 5, "0.0 %"], [1, 100000, "< 0.1 %"], [1, 3, "33.3 %"], [99999, 100000, "99.9 %"], [5, 5, "100.0 %"], [9, 3, "300.0 %"]]) assert.equal(fmtPercent(a, b), text);
});

test("times", () => {
  const cases = [[0, "0 s"], [5e-7, "500 ns"], [1.5e-6, "1.5 \u00b5s"], [0.0123, "12.3 ms"], [4.25, "4.250 s"], [599.5, "599.500 s"], [725, "12 min 05 s"], [7384, "2 h 03 min 04 s"]];
  for (const [s, text] of cases) assert.equal(fmtDuration(s), text);
  assert.equal(fmtDuration(-2), "-2.000 s");
});
