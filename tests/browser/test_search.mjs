// test_search.mjs: what a search finds as a list, the largest first, each leading to its birth; what it does not know is said; the address that a pin shows is found.
// Numbers against `memtrace dump`. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const sample = join(kit.samples, "verl_grpo_oom_logprob.pickle"), { html } = kit.reportOf([sample], "search", "--capacity", "80GiB");
const born = kit.dumpOf(sample).filter((l) => l.action === "alloc");
const find = async (page, text) => {
  await page.fill(".tl-search", text);
  await page.locator(".tl-search").press("Tab");
  await kit.settled(page);
  return page.locator(".tl-found").innerText();
};

test("the largest that are found are a list; one of them leads to its birth, and its address finds it again", async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  assert.equal(await page.locator(".tl-hits").isVisible(), false);
  const said = await find(page, ">64MiB"), sizes = born.map((b) => b.size).filter((n) => n > 64 * 2 ** 20).sort((a, b) => b - a);
  assert.equal(Number(/^[\d,]+/.exec(said)[0].replace(/,/g, "")), sizes.length);
  const hits = await page.locator(".tl-hits button").allInnerTexts();
  assert.equal(hits.length, Math.min(8, sizes.length));
  hits.forEach((h, i) => assert.ok(kit.saysBytes(h, sizes[i]), `${h}: ${sizes[i]}`));
  await page.locator(".tl-hits button").first().click();
  await kit.settled(page);
  const pin = await page.locator(".tl-pin").innerText(), [first] = born.filter((b) => b.size === sizes[0]);
  assert.ok(kit.saysBytes(/Size\s+(.*)/.exec(pin)[1], sizes[0]), pin);
  assert.match(pin, new RegExp(`Born\\s+event ${first.n.toLocaleString("en")}\\b`));
  const address = /0x[0-9a-f]+/.exec(pin)[0], again = await find(page, address);
  const same = born.filter((b) => Number(b.addr) === Number(address)).length;
  assert.equal(Number(/^[\d,]+/.exec(again)[0].replace(/,/g, "")), same);
  assert.deepEqual(seen, []);
  await done();
});

test("Enter goes from hit to hit in the order of birth, Shift and Enter back; Escape ends the search and leaves what is pinned and compared", async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  await find(page, ">64MiB");
  await page.locator(".tl-search").focus();
  const hits = born.filter((b) => b.size > 64 * 2 ** 20), view = async () => new URLSearchParams((await kit.hashOf(page)).slice(1));
  const step = async (key) => {
    await page.keyboard.press(key);
    await kit.settled(page);
    return Number((await view()).get("c"));
  };
  const there = [await step("Enter"), await step("Enter"), await step("Enter")], from = hits.findIndex((h) => h.n === there[0]);
  assert.ok(from >= 0, `${there} by the page, ${hits.map((h) => h.n)} by the dump`);
  assert.deepEqual(there, hits.slice(from, from + 3).map((h) => h.n));
  assert.equal(await step("Shift+Enter"), hits[from + 1].n);
  assert.ok(kit.saysBytes(/Size\s+(.*)/.exec(await page.locator(".tl-pin").innerText())[1], hits[from + 1].size));
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  await page.keyboard.press("b");
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await kit.settled(page);
  const left = await view();
  assert.deepEqual([left.get("q"), left.get("b"), left.has("a")], [null, String(hits[from + 1].n), true]);
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  await page.keyboard.press("Escape");
  await kit.settled(page);
  const bare = await view();
  assert.deepEqual([bare.has("b"), bare.has("a")], [false, false]);
  assert.deepEqual(seen, []);
  await done();
});

test("what the search does not know is said, with what there is", async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  assert.match(await find(page, "role:nonsense"), /no role is called "nonsense": \w+, /);
  assert.match(await find(page, "phase:nonsense"), /no phase is called "nonsense": \w+, /);
  assert.match(await find(page, "lane:nonsense"), /no lane is called "nonsense"/);
  assert.match(await find(page, "event:12"), /nothing is called "event:"/);
  assert.match(await find(page, "softmaxx|logitss"), /there is no "or"/);
  assert.match(await find(page, "role:kv_cache"), /^\d+ of/);
  assert.deepEqual(seen, []);
  await done();
});
