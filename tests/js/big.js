// A million generated events against their dump: as a whole, without addresses, with times in steps, as windows around the findings, and as an overview.
// Says how long decoding took. Run by slow_big.sh.
import assert from "node:assert/strict";
import { both } from "./tools/compare.js";

const [file, ...sizes] = process.argv.slice(2), levels = new Set();
for (const size of sizes) {
  const { page, compared } = await both(file, ["--max-size", size]), { meta, io } = page.tracks[0];
  const again = new page.tracks[0].constructor(page.index, meta, io), begin = performance.now();
  await again.loadExact();
  console.log(`${size}: ${meta.level}, ${page.html.length} bytes, ${compared} operations compared, decoded in ${(performance.now() - begin).toFixed(0)} ms`);
  assert.ok(page.html.length <= Number(size));
  assert.equal(compared > 0, meta.level !== "overview");
  levels.add(meta.time.step > 1 ? "steps" : meta.level);
}
assert.deepEqual([...levels], ["exact", "steps", "windows", "overview"]);
