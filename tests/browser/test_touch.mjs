// test_touch.mjs: the timeline under fingers, with Chromium's own touch events: one pans, two zoom about their middle, a tap clicks, a long
// press hovers and, where it moves on, selects a range, and up and down the page scrolls. And the mouse beside them.
// Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const { html } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "touch", "--capacity", "80GiB");
const wait = (ms) => new Promise((r) => setTimeout(r, ms));

/** A page on a phone, its axis in events, the timeline in sight; `at` is a point of the picture in shares of it. */
async function phone(hash = "#x=e&c=300") {
  const opened = await kit.open(html, { hash, touch: true, width: 390, height: 800 }), { page } = opened;
  await kit.exact(page);
  await page.evaluate(() => { document.querySelector(".tl-plot").scrollIntoView({ block: "center", behavior: "instant" }); });
  await kit.settled(page);
  const { left, top, width, height } = await page.evaluate(() => document.querySelector(".tl-over").getBoundingClientRect().toJSON());
  const cdp = await page.context().newCDPSession(page);
  const send = (type, ...points) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y, name], id) => ({ x, y, id: name ?? id })) });
  const at = (x, y) => [Math.round(left + width * x), Math.round(top + height * y)];
  // fingers go from one place to another, in steps as they do
  const slide = async (from, to, steps = 12) => {
    await send("touchStart", ...from);
    for (let i = 1; i <= steps; i++) await send("touchMove", ...from.map(([x, y], k) => [x + ((to[k][0] - x) * i) / steps, y + ((to[k][1] - y) * i) / steps]));
    await send("touchEnd");
    await kit.settled(page);
  };
  const scrolled = () => page.evaluate(() => scrollY);
  const tip = () => page.evaluate(() => ((t) => (t.hidden ? "" : t.textContent))(document.querySelector(".tl-tip")));
  return { ...opened, at, send, slide, scrolled, tip, plot: { left: left + 58, width: width - 70 } };
}
const spanOf = (hash) => (/[#&]e=([\d.]+)-([\d.]+)/.exec(hash) ?? []).slice(1).map(Number);
const clear = (seen) => assert.deepEqual(seen, []);

test("one finger pans and the page stays; the view is as wide as before", async () => {
  const { page, seen, done, at, slide, scrolled, plot } = await phone("#e=500-1500&c=900");
  const y = await scrolled(), [from, to] = [at(0.7, 0.5), at(0.4, 0.53)];
  await slide([from], [to]);
  const [lo, hi] = spanOf(await kit.hashOf(page));
  assert.ok(Math.abs(hi - lo - 1000) < 0.1, `${lo} ${hi}`);
  assert.ok(Math.abs(lo - 500 - ((from[0] - to[0]) / plot.width) * 1000) < 1, `${lo}`);
  assert.equal(await scrolled(), y);
  assert.doesNotMatch(await kit.hashOf(page), /[#&]a=/, "no click");
  clear(seen);
  await done();
});

test("up and down the page scrolls, and the view stays", async () => {
  const { page, seen, done, at, slide, scrolled } = await phone("#e=500-1500&c=900");
  const y = await scrolled(), hash = await kit.hashOf(page);
  await slide([at(0.5, 0.9)], [at(0.53, 0.1)]);
  assert.ok((await scrolled()) > y + 60, `${y} ${await scrolled()}`);
  assert.equal(await kit.hashOf(page), hash);
  // also over the strip below
  const mini = await page.evaluate(() => { const r = document.querySelector(".tl-mini").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; });
  const before = await scrolled();
  await slide([mini], [[mini[0], mini[1] - 150]]);
  assert.ok((await scrolled()) > before + 60);
  assert.equal(await kit.hashOf(page), hash);
  clear(seen);
  await done();
});

test("two fingers zoom about their middle, in and out, and pan on with one", async () => {
  const { page, seen, done, at, slide, send, scrolled, plot } = await phone("#e=500-1500&c=900");
  const y = await scrolled(), under = (px) => 500 + ((px - plot.left) / plot.width) * 1000, mid = (at(0.4, 0.5)[0] + at(0.6, 0.5)[0]) / 2;
  await slide([at(0.4, 0.5), at(0.6, 0.5)], [at(0.2, 0.45), at(0.8, 0.4)]);
  let [lo, hi] = spanOf(await kit.hashOf(page));
  assert.ok(hi - lo < 400 && hi - lo > 280, `${lo} ${hi}: a third as wide`);
  assert.ok(Math.abs(lo + ((mid - plot.left) / plot.width) * (hi - lo) - under(mid)) < 3, `${lo} ${hi}: ${under(mid)} stays where it was`);
  await slide([at(0.2, 0.5), at(0.8, 0.5)], [at(0.4, 0.5), at(0.6, 0.5)]);
  [lo, hi] = spanOf(await kit.hashOf(page));
  assert.ok(Math.abs(hi - lo - 1000) < 60, `${lo} ${hi}: and back`);
  // one of the two is lifted, the other goes on from where the view is
  const [a, b, c, d] = [at(0.4, 0.5), at(0.6, 0.5), at(0.8, 0.5), at(0.6, 0.5)];
  await send("touchStart", a, b);
  for (let x = b[0]; x <= c[0]; x += 5) await send("touchMove", a, [x, b[1]]);
  await send("touchEnd", [...c, 1]); // only this one
  await kit.settled(page);
  const between = spanOf(await kit.hashOf(page));
  assert.ok(between[1] - between[0] < 700, String(between));
  for (let x = a[0]; x <= d[0]; x += 5) await send("touchMove", [x, a[1]]);
  await send("touchEnd");
  await kit.settled(page);
  const end = spanOf(await kit.hashOf(page));
  assert.ok(Math.abs(end[1] - end[0] - (between[1] - between[0])) < 0.1 && end[0] < between[0] - 20, `${between}, then ${end}`);
  assert.doesNotMatch(await kit.hashOf(page), /[#&]a=/, "no click");
  assert.equal(await scrolled(), y);
  assert.equal(await page.evaluate(() => visualViewport.scale), 1);
  clear(seen);
  await done();
});

test("a tap sets the cursor and pins, as a click does", async () => {
  const { page, seen, done, at, send } = await phone();
  const [x, y] = at(0.6, 0.7);
  await send("touchStart", [x, y]);
  await send("touchMove", [x + 4, y + 3]); // fingers are not still
  await send("touchEnd");
  await kit.settled(page);
  const touched = await kit.hashOf(page), words = await kit.said(page);
  assert.match(touched, /[#&]a=\d+/);
  assert.doesNotMatch(touched, /[#&]c=300(&|$)/);
  assert.match(await page.evaluate(() => document.querySelector(".tl-pin").textContent), /Size.*Role/);
  // of its stack the job's own frames are seen, machinery opens; no frame is lost and each has its number
  const [numbers, runs, shut] = await page.evaluate(() => [[...document.querySelectorAll(".tl-pin .stack li:not(.fold)")].map((li) => li.value),
    [...document.querySelectorAll(".tl-pin .fold")].map((li) => [li.querySelector("summary").textContent, li.querySelectorAll("li").length]), document.querySelector(".tl-pin .fold li").checkVisibility()]);
  assert.deepEqual(numbers, numbers.map((_, i) => i + 1));
  assert.ok(runs.length && runs.every(([text, n]) => text.startsWith(`${n} frame${n === 1 ? "" : "s"} of `)), JSON.stringify(runs));
  assert.equal(shut, false);
  await page.evaluate(() => document.querySelector(".tl-pin summary").click());
  assert.ok(await page.locator(".tl-pin .fold li").first().isVisible());
  await page.keyboard.press("Escape");
  await page.evaluate(() => { location.hash = "#x=e&c=300"; });
  await kit.settled(page);
  await page.mouse.click(x + 4, y + 3);
  await kit.settled(page);
  assert.equal(await kit.hashOf(page), touched);
  assert.equal(await kit.said(page), words);
  clear(seen);
  await done();
});

test("a long press says what is there, follows the finger, leaves the words, and where it moves on a range", async () => {
  const { page, seen, done, at, send, scrolled, tip, plot } = await phone();
  const y = await scrolled(), [a, b] = [at(0.6, 0.7), at(0.75, 0.2)];
  await send("touchStart", a);
  assert.equal(await tip(), "");
  await kit.until(page, "the words", () => !document.querySelector(".tl-tip").hidden, null, 5);
  const first = await tip(), { bottom } = await page.evaluate(() => document.querySelector(".tl-tip").getBoundingClientRect().toJSON());
  assert.match(first, /[KMG]iB/);
  assert.ok(bottom < a[1] || (await page.evaluate(() => document.querySelector(".tl-tip").getBoundingClientRect().top)) <= 0.5, "above the finger");
  for (let i = 1; i <= 20; i++) await send("touchMove", [a[0] + ((b[0] - a[0]) * i) / 20, a[1] + ((b[1] - a[1]) * i) / 20]);
  const second = await tip();
  assert.match(second, /[KMG]iB/);
  assert.notEqual(second, first);
  await send("touchEnd");
  await kit.settled(page);
  assert.equal(await tip(), second);
  const range = /[#&]s=(\d+)-(\d+)/.exec(await kit.hashOf(page)).slice(1).map(Number), last = 2376;
  const under = [a, b].map(([px]) => ((px - plot.left) / plot.width) * last);
  assert.ok(range.every((ev, i) => Math.abs(ev - under[i]) < 8), `${range}, not ${under}`);
  assert.match(await page.locator(".tl-changes").textContent(), /From event .* to event .*: [\d,]+ events/);
  assert.match(await kit.hashOf(page), new RegExp(`[#&]c=${range[1]}(&|$)`), "the cursor is where it ends");
  assert.doesNotMatch(await kit.hashOf(page), /[#&]([et]|a)=\d/, "neither pan nor click");
  assert.equal(await scrolled(), y);
  // one that does not move reads, and changes nothing
  await page.keyboard.press("Escape");
  await page.evaluate(() => { location.hash = "#x=e&c=300"; });
  await kit.settled(page);
  await send("touchStart", a);
  await kit.until(page, "the words", () => !document.querySelector(".tl-tip").hidden, null, 5);
  await send("touchMove", [a[0] + 5, a[1] + 3]);
  await send("touchEnd");
  await kit.settled(page);
  assert.match(await kit.hashOf(page), /^#(x=e&)?c=300$/);
  await send("touchStart", [200, 20]); // elsewhere
  await send("touchEnd");
  assert.equal(await tip(), "");
  clear(seen);
  await done();
});

test("the strip below: its edges, its middle, a new part, a click; by mouse and by finger", async () => {
  const { page, seen, done, send } = await phone("#e=500-1500&c=900"), last = 2376;
  const strip = await page.evaluate(() => document.querySelector(".tl-mini").getBoundingClientRect().toJSON()), y = Math.round(strip.top + strip.height / 2);
  const px = (event) => strip.left + 58 + (event / last) * (strip.width - 70), per = last / (strip.width - 70); // events per pixel
  const mouse = async (a, b) => {
    await page.mouse.move(px(a), y);
    await page.mouse.down();
    await page.mouse.move(px(b), y, { steps: 4 });
    await page.mouse.up();
  };
  const finger = async (a, b) => {
    await send("touchStart", [px(a), y]);
    for (let i = 1; i <= 8; i++) await send("touchMove", [px(a + ((b - a) * i) / 8), y + i / 4]);
    await send("touchEnd");
  };
  for (const go of [mouse, finger]) {
    for (const [from, to, lo, hi] of [[500, 300, 300, 1500], [1500, 1700, 500, 1700], [1000, 800, 300, 1300], [1500, 400, 400, 500], [1700, 2100, 1700, 2100], [1750, 1750, 1250, 2250]]) {
      await page.evaluate(() => { location.hash = "#e=500-1500&c=900"; });
      await kit.settled(page);
      await go(from, to);
      await kit.settled(page);
      const [a, b] = spanOf(await kit.hashOf(page)), slack = 2.5 * per;
      assert.ok(Math.abs(a - lo) < slack && (Math.abs(b - hi) < slack), `${go.name} ${from} to ${to}: ${a} ${b}, not ${lo} ${hi}`);
    }
  }
  clear(seen);
  await done();
});

test("what the browser takes back is no click, and the mouse works after it", async () => {
  const { page, seen, done, at, send, tip } = await phone("#e=500-1500&c=900"), hash = await kit.hashOf(page);
  await send("touchStart", at(0.5, 0.5));
  await send("touchCancel");
  await wait(700);
  assert.equal(await tip(), "", "no long press is left over");
  await kit.settled(page);
  assert.equal(await kit.hashOf(page), hash);
  const [x, y] = at(0.5, 0.6);
  await page.mouse.move(x, y);
  await kit.until(page, "the words", () => !document.querySelector(".tl-tip").hidden, null, 5);
  await page.mouse.down();
  await page.mouse.move(x + 60, y, { steps: 5 });
  await page.mouse.up();
  await kit.settled(page);
  const [lo, hi] = spanOf(await kit.hashOf(page));
  assert.ok(lo < 495 && Math.abs(hi - lo - 1000) < 0.1, `${lo} ${hi}`);
  clear(seen);
  await done();
});
