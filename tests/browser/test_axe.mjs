// test_axe.mjs: whole pages under axe-core (names, roles, contrast, headings, sizes of targets), in light, in dark and on a phone; then
// every stop of the Tab key. Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);
const source = join(kit.MT_SOURCE_DIR, "tests/web/node_modules/axe-core/axe.min.js"), axe = existsSync(source) ? readFileSync(source, "utf8") : "";
if (!axe) {
  console.log("# skipped: 'npm ci' was not run in tests/web");
  process.exit(77);
}
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const pages = [
  ["an out-of-memory error", [join(kit.samples, "verl_grpo_oom_logprob.pickle")], "--capacity", "80GiB"],
  ["a trace of the driver", [join(kit.samples, "driver_v1.trace.gz")]],
  ["ranks, one of them cut off", [join(kit.samples, "verl_two_ranks_truncated.tar.gz")]],
];

/** What axe finds, a line each. The page's policy refuses scripts, so axe comes through the debugger. */
async function violations(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, ${JSON.stringify({ runOnly: { type: "tag", values: TAGS } })}).then((r) => JSON.stringify([r.passes.length,
      ...r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary))]))`,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.ok(!exceptionDetails, exceptionDetails?.text);
  const [passes, ...found] = JSON.parse(result.value);
  assert.ok(passes > 20, `only ${passes} rules had something to look at`);
  return found;
}

for (const [what, input, ...args] of pages) {
  test(`axe: ${what}`, async () => {
    const { html } = kit.reportOf(input, "axe", ...args);
    for (const look of [{}, { scheme: "dark" }, { width: 390, height: 844 }]) {
      const { page, seen, done } = await kit.open(html, look);
      await kit.exact(page);
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      await kit.settled(page);
      assert.deepEqual(await violations(page), [], JSON.stringify(look));
      assert.deepEqual(seen, []);
      await done();
    }
  });
}

test("axe finds what is wrong", async () => {
  const { html } = kit.reportOf(pages[0][1], "axe");
  const { page, done } = await kit.open(html);
  await page.evaluate(() => {
    for (const d of document.querySelectorAll("details")) d.open = true;
    document.querySelector("h1").style.color = "#ddd";
    document.querySelector("table th").textContent = "";
  });
  const rules = new Set((await violations(page)).map((v) => v.split(":")[0]));
  assert.ok(rules.has("color-contrast") && rules.has("empty-table-header"), [...rules].join(" "));
  await done();
});

test("every stop of the Tab key is seen, has a name and an outline, and the last one ends the page", async () => {
  const { html } = kit.reportOf(pages[0][1], "axe");
  const { page, done } = await kit.open(html);
  await kit.exact(page);
  let stops = 0;
  for (; stops < 600; stops++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const r = e.getBoundingClientRect(), s = getComputedStyle(e);
      return {
        what: e.outerHTML.slice(0, 120),
        inView: r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth,
        outline: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0,
        name: (e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent || "").trim() !== "",
      };
    });
    if (!at) break;
    assert.ok(at.inView && at.outline && at.name, JSON.stringify(at));
  }
  assert.ok(stops > 50 && stops < 600, `${stops} stops`);
  await done();
});
