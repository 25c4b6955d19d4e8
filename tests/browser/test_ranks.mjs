// test_ranks.mjs: ranks below each other on one clock and one scale: who failed first, who differs next, equal ones in one row, the failure through all of them, a click
// switches; of a job with many ranks. Numbers against `--format json`. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const RANKS = 120, folder = join(kit.scratch, "many");
mkdirSync(folder);
execFileSync("tar", ["xzf", join(kit.samples, "verl_two_ranks.tar.gz"), "-C", folder]);
for (let r = 2; r < RANKS; r++) copyFileSync(join(folder, "step5/torch_memory_rank0_pid4321.pickle"), join(folder, `step5/torch_memory_rank${r}_pid${5000 + r}.pickle`));
const { html, json } = kit.reportOf([join(folder, "step5")], "many", "--capacity", "24GiB", "--full");

test(`${RANKS} ranks are two rows: the one that failed, and the others that are alike`, async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  const rows = await page.evaluate(() => [...document.querySelectorAll("#ranks .rows li")].map((li) => {
    const svg = li.querySelector("svg").getBoundingClientRect(), of = (s) => li.querySelector(s)?.getBoundingClientRect(), area = of("path"), when = of(".when");
    return { place: li.dataset.place, bytes: li.querySelector("b").textContent, like: Number(/and ([\d,]+) like/.exec(li.textContent)?.[1].replace(",", "") ?? 0), oom: Boolean(li.querySelector(".oom")),
      tall: svg.height, share: area.height / svg.height, end: (area.right - svg.left) / svg.width, when: (when.left + when.width / 2 - svg.left) / svg.width };
  }));
  const [failed, alike] = rows;
  assert.equal(json.devices.length, RANKS);
  assert.deepEqual(rows.map((r) => [r.place, r.oom, r.like]), [["rank 1, device 0", true, 0], ["rank 0, device 0", false, RANKS - 2]]);
  for (const r of rows) {
    const d = json.devices.find((v) => `rank ${v.rank}, device ${v.device}` === r.place);
    assert.ok(kit.saysBytes(r.bytes, d.live_peak_bytes), `${r.place}: ${r.bytes}`);
    assert.ok(Math.abs(r.share - d.live_peak_bytes / (24 * 2 ** 30)) < 0.03, `${r.place}: ${r.share} of the card, one scale for all`);
    assert.equal(Math.round(r.tall), 40);
  }
  assert.ok(Math.abs(failed.when - alike.when) < 0.002, "the failure at the same place in every row");
  assert.ok(failed.when > 0.9 && failed.end < alike.end && alike.end > 0.999, `one clock: ${failed.when} ${failed.end} ${alike.end}`);
  assert.deepEqual(seen, []);
  await done();
});

test("a click on a row shows that rank in the timeline, and Back the one before", async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  const shown = () => page.evaluate(() => document.querySelector(".tl-track").selectedOptions[0].textContent);
  assert.equal(await shown(), "rank 1, device 0");
  await page.locator("#ranks .rows [data-place=\"rank 0, device 0\"] button").click();
  await kit.until(page, "rank 0", () => document.querySelector(".tl-track").selectedOptions[0].textContent === "rank 0, device 0");
  await kit.settled(page);
  await page.goBack();
  await kit.settled(page);
  assert.equal(await shown(), "rank 1, device 0");
  assert.deepEqual(seen, []);
  await done();
});

for (const width of [1024, 390]) {
  test(`rows at ${width} pixels, dark, without the script: nothing is wider than the page`, async () => {
    const { page, done } = await kit.open(html, { js: false, width, scheme: "dark" });
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, ...[...document.querySelectorAll("#ranks .rows *")].map((e) => e.getBoundingClientRect().right)]);
    assert.ok(Math.max(...wide) <= width, `${Math.max(...wide)}`);
    await done();
  });
}
