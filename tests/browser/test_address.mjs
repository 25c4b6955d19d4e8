// test_address.mjs: the address while the view is moving: what is typed or followed then is what counts, and Back comes to the view that was left.
// Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const { html } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "address", "--capacity", "80GiB");

async function opened(hash) {
  const all = await kit.open(html, { hash });
  await kit.exact(all.page);
  await kit.settled(all.page);
  return all;
}
/** Presses keys and goes to an address in the same breath, as a script that is fast enough: nothing of the page runs between. */
const pressAndGo = (page, keys, to) => page.evaluate(([list, hash]) => {
  document.querySelector(".tl-over").focus();
  for (const key of list) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  location.hash = hash;
}, [keys, to]);
const event = (page, n) => page.evaluate((want) => document.querySelector(".tl-said").textContent.replace(/,/g, "").includes(`event ${want} `), n);

test("an address typed right after a change, or in the middle of a glide, is where the page ends", async () => {
  const { page, seen, done } = await opened("#x=e");
  for (const [keys, hash] of [[["w"], "#e=500-900&c=600"], [["p"], "#e=100-300&c=200"], [[".", "."], "#c=700"], [["0"], "#e=40-90&c=50"], [["n", "n"], "#e=500-900&c=600"]]) {
    await pressAndGo(page, keys, hash);
    await kit.settled(page);
    await kit.settled(page);
    assert.equal(await kit.hashOf(page), hash, String(keys));
    assert.ok(await event(page, /c=(\d+)/.exec(hash)[1]), `${keys} ${hash}`);
  }
  // while it glides
  await page.evaluate(() => { document.querySelector(".tl-over").dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true })); setTimeout(() => { location.hash = "#e=10-60&c=30"; }, 60); });
  await kit.settled(page);
  await kit.settled(page);
  assert.equal(await kit.hashOf(page), "#e=10-60&c=30");
  assert.deepEqual(seen, []);
  await done();
});

test("a link to a moment shows it, one of the page comes back by Back, and one to a folded section opens it", async () => {
  const { page, seen, done } = await opened("#c=300"), top = () => page.evaluate(() => document.querySelector("#timeline").getBoundingClientRect().top);
  assert.ok(Math.abs(await top()) < 2, `the picture is ${await top()} px down`);
  await page.evaluate(() => { document.querySelector("nav a[href='#cause']").click(); });
  await kit.settled(page);
  assert.deepEqual(await page.evaluate(() => [location.hash, document.querySelector("#cause > .part").open, document.querySelector("#settings > .part").open]), ["#cause", true, false]);
  await page.evaluate(() => { document.querySelector("#cause a.at, .where a.at").click(); });
  await kit.settled(page);
  assert.match(await kit.hashOf(page), /^#[a-z]+=/);
  await page.goBack();
  await kit.settled(page);
  assert.equal(await kit.hashOf(page), "#cause", "the report, and where the reader was in it");
  await page.evaluate(() => { dispatchEvent(new Event("beforeprint")); });
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(".part")].filter((d) => !d.open).length), 0);
  assert.deepEqual(seen, []);
  await done();
});

test("a section followed right after a change stays in the address, and Back comes to the view", async () => {
  const { page, seen, done } = await opened("#c=300");
  await page.evaluate(() => {
    document.querySelector(".tl-over").dispatchEvent(new KeyboardEvent("keydown", { key: ".", bubbles: true }));
    document.querySelector("nav a[href='#phases']").click();
  });
  await kit.settled(page);
  assert.equal(await kit.hashOf(page), "#phases");
  const words = await kit.said(page);
  await page.goBack();
  await kit.settled(page);
  assert.equal(await kit.said(page), words);
  assert.match(await kit.hashOf(page), /[#&]c=30[1-9]/, "the view that was left, not the one before it");
  assert.deepEqual(seen, []);
  await done();
});

test("a key to a far moment glides there, and no other way", async () => {
  const { page, seen, done } = await opened("#e=10-60&c=30");
  await page.evaluate(() => {
    const set = history.replaceState.bind(history);
    globalThis.written = [];
    history.replaceState = (a, b, to) => { globalThis.written.push(to); set(a, b, to); };
    document.querySelector(".tl-over").dispatchEvent(new KeyboardEvent("keydown", { key: "o", bubbles: true }));
  });
  await kit.settled(page);
  await kit.settled(page);
  const [lo, hi] = /[#&]e=([\d.]+)-([\d.]+)/.exec(await kit.hashOf(page)).slice(1).map(Number), at = Number(/event ([\d,]+)/.exec(await kit.said(page))[1].replace(/,/g, ""));
  assert.ok(Math.abs(hi - lo - 50) < 0.1 && lo < at && at <= hi, `${lo} ${hi} ${at}`);
  assert.equal((await page.evaluate(() => globalThis.written)).length, 1, "the address is written once");
  assert.deepEqual(seen, []);
  await done();
});
