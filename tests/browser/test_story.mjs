// test_story.mjs: a failure in numbered steps: the sentences against `--format json`, their flags on the picture, which begins zoomed to the failure.
// Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const { html, json } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "story", "--capacity", "80GiB"), { owners, devices: [{ ooms: [failed] }] } = json;
const stepsOf = (page) => page.evaluate(() => [...document.querySelectorAll(".story li")].map((li) => [li.textContent.trim(), Number(li.querySelector("a.at")?.dataset.event ?? -1)]));
/** The part of the axis that is in sight: [first, last]. */
const spanOf = (page) => page.evaluate(() => { const b = document.querySelector(".tl-brush").style, n = JSON.parse(document.getElementById("mt-index").textContent).tracks[0].events; return [parseFloat(b.left) * n / 100, (parseFloat(b.left) + parseFloat(b.width)) * n / 100]; });

for (const js of [true, false]) {
  test(`the steps are those of the analysis, in their order, ${js ? "with" : "without"} the script`, async () => {
    const { page, done } = await kit.open(html, { js }), steps = await stepsOf(page), events = steps.map(([, e]) => e);
    assert.ok(steps.length >= 4 && steps.length <= 5, String(steps.length));
    assert.deepEqual(events, [...events].sort((a, b) => a - b));
    for (const o of owners.slice(0, 3)) {
      const step = steps.find(([words, event]) => event === o.first_event && words.includes(o.label));
      assert.ok(step && kit.saysBytes(/takes (.*?):/.exec(step[0])[1], o.bytes), `${o.label}: ${step}`);
    }
    const [last, event] = steps.at(-1), [, asked, free] = /asks for (\S+ \S+) at .*; (\S+ \S+) is free/.exec(last);
    assert.equal(event, failed.event);
    assert.ok(kit.saysBytes(asked, failed.request_bytes) && kit.saysBytes(free, failed.device_free_bytes), last);
    const [begins] = steps.find(([words]) => /begins with/.test(words));
    const idle = Object.entries(json.devices[0].roles?.at_focus_bytes ?? {}).filter(([k]) => /kv_cache|engine_weights/.test(k));
    for (const [, bytes] of idle) assert.ok([...begins.matchAll(/(\d[\d.]* [KMG]iB)/g)].some(([n]) => kit.saysBytes(n, bytes)), begins);
    await done();
  });
}

test("a fresh page looks at the failure from near; 0 shows all, its address says so, and a link to it does too", async () => {
  const { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  await kit.settled(page);
  const [lo, hi] = await spanOf(page);
  assert.ok(lo > failed.event * 0.8 && lo < failed.event && hi > failed.event, `${lo} to ${hi}, it failed at ${failed.event}`);
  assert.equal(await kit.hashOf(page), "");
  await page.keyboard.press("0");
  await kit.settled(page);
  assert.ok((await spanOf(page))[0] < 1);
  assert.equal(await kit.hashOf(page), "#x=e");
  const again = await kit.open(html, { hash: "#x=e" });
  await kit.exact(again.page);
  await kit.settled(again.page);
  assert.ok((await spanOf(again.page))[0] < 1, "a link to all of the run");
  await again.done();
  assert.deepEqual(seen, []);
  await done();
});

test("Enter steps through what a search finds, block by block, and Shift goes back; frames in angle brackets are words", async () => {
  const { page, seen, done } = await kit.open(html, { hash: "#x=e&c=0" });
  await kit.exact(page);
  const field = page.locator(".tl-search"), at = async () => { await kit.settled(page); return new URLSearchParams((await kit.hashOf(page)).slice(1)); }, pins = [], events = [];
  await field.fill("role:logits");
  await kit.settled(page);
  for (const key of ["Enter", "Enter", "Shift+Enter"]) {
    await field.press(key);
    const now = await at();
    pins.push(now.get("a"));
    events.push(Number(now.get("c") ?? failed.event));
    assert.match(await page.locator(".tl-pin").innerText(), /logits and their gradient/);
    assert.match(await page.locator(".tl-found").innerText(), /^\d+ of [\d,]+ that were allocated here$/);
  }
  assert.ok(pins[0] !== pins[1] && pins[2] === pins[0] && events[1] >= events[0] && events[2] === events[0], `${pins} ${events}`);
  await field.fill("<module>");
  await kit.settled(page);
  assert.equal(await field.getAttribute("aria-invalid"), "false");
  assert.match(await page.locator(".tl-found").innerText(), /^[1-9][\d,]* of /);
  await field.fill("size:>1G");
  await kit.settled(page);
  assert.match(await page.locator(".tl-found").innerText(), /nothing is called "size:"/);
  assert.deepEqual(seen, []);
  await done();
});

test("a turn of the wheel that zoomed out to the whole does not throw the page away", async () => {
  const { page, done } = await kit.open(html, { hash: "#e=100-2000" });
  await kit.exact(page);
  await kit.settled(page);
  const box = await page.locator(".tl-over").boundingBox(), top = () => page.evaluate(() => scrollY);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForTimeout(300);
  const before = await top();
  for (let i = 0; i < 10; i++) await page.mouse.wheel(0, 200);
  await kit.settled(page);
  assert.equal(await top(), before);
  assert.ok((await spanOf(page))[0] < 1, "it zoomed out");
  await done();
});

test("the list of keys opens at its beginning, a setting is one box, boxes of the tree print", async () => {
  const { page, done } = await kit.open(html, { width: 390, height: 844 });
  await kit.exact(page);
  const boxes = await page.evaluate(() => [...document.querySelectorAll(".set code, .whatif code")].filter((c) => c.checkVisibility()).map((c) => [c.getClientRects().length, c.getBoundingClientRect().right <= innerWidth]));
  assert.ok(boxes.length > 1 && boxes.every(([n, fits]) => n === 1 && fits), JSON.stringify(boxes));
  await page.evaluate(() => { document.querySelector(".tl-over").focus(); });
  await page.keyboard.press("?");
  assert.equal(await page.evaluate(() => document.querySelector("dialog.keys").scrollTop), 0);
  assert.ok(await page.locator("dialog.keys").evaluate((d) => d.scrollHeight > d.clientHeight), "it has more than there is room for");
  const kept = await page.evaluate(() => [...document.querySelectorAll(".ib, .sw")].map((e) => getComputedStyle(e).printColorAdjust));
  assert.ok(kept.length > 3 && kept.every((v) => v === "exact"), String(new Set(kept)));
  await done();
});

/** README's sample, a recorded job beside its snapshot, two ranks. */
const pages = [["one device", html], ...[["driver_v1.trace.gz", "1GiB"], ["verl_two_ranks.tar.gz", "24GiB"]].map(([name, capacity]) => [name, kit.reportOf([join(kit.samples, name)], name, "--capacity", capacity).html])];
for (const [what, file] of pages) for (const [width, height, most] of [[1440, 900, 5], [390, 844, 8]]) {
  test(`${what}: the page is at most ${most} screens of ${width} by ${height}`, async () => {
    const { page, done } = await kit.open(file, { width, height });
    await kit.exact(page);
    await kit.settled(page);
    const tall = await page.evaluate(() => document.documentElement.scrollHeight), card = await page.locator(".card").boundingBox();
    assert.ok(tall <= most * height, `${tall} px, ${tall / height} screens`);
    assert.ok(card.y + card.height < height, "the first picture of memory is on the first screen");
    await done();
  });
}

test("a flag has its number's sentence, at its moment", async () => {
  const { page, seen, done } = await kit.open(html, { hash: "#x=e" });
  await kit.exact(page);
  await page.locator(".tl-over").scrollIntoViewIfNeeded();
  await kit.settled(page);
  const marks = await page.locator(".tl-marks").boundingBox(), over = await page.locator(".tl-over").boundingBox(), steps = await stepsOf(page), [words, event] = steps[0];
  const { events } = await page.evaluate(() => JSON.parse(document.getElementById("mt-index").textContent).tracks[0]);
  const x = marks.x + marks.width * event / events, y = over.y + 34 + 12;
  await page.mouse.move(x - 3, y);
  await page.mouse.move(x, y);
  await kit.until(page, "the tip", (w) => document.querySelector(".tl-tip").textContent.includes(w), words.slice(0, 40), 5);
  assert.deepEqual(seen, []);
  await done();
});
