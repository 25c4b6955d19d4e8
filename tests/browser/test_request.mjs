// test_request.mjs: the request that failed, in the picture: with the script at every zoom and dark, without it, and where a worker hangs before it is exact;
// and which rank the sections speak of that stay where they are. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const oom = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "oom", "--capacity", "80GiB"), holes = kit.reportOf([join(kit.samples, "fragmentation_oom.pickle")], "holes");

/** What of the picture is painted above the error, in columns: those with the colour of errors above what was live, and how high that goes, in bytes of the axis. */
const hatch = (page) => page.evaluate(() => {
  const base = document.querySelector(".tl-base"), g = Object.assign(document.createElement("canvas"), { width: base.width, height: base.height }).getContext("2d", { willReadFrequently: true }), dpr = base.width / base.clientWidth, at = getComputedStyle(document.documentElement).getPropertyValue("--oom").trim();
  const red = [1, 3, 5].map((i) => parseInt(at.slice(i, i + 2), 16)), columns = new Set();
  g.drawImage(base, 0, 0);
  const { data } = g.getImageData(0, 0, base.width, base.height);
  let first = Infinity, last = 0;
  for (let y = Math.round(36 * dpr); y < base.height - 24 * dpr; y++) for (let x = Math.round(58 * dpr); x < base.width - 12 * dpr; x++) {
    const i = 4 * (y * base.width + x);
    if (data[i + 3] < 200 || !red.every((v, k) => Math.abs(data[i + k] - v) < 3)) continue;
    columns.add(x);
    first = Math.min(first, y);
    last = Math.max(last, y);
  }
  return { wide: columns.size / dpr, tall: (last - first) / dpr };
});

for (const [look, options] of Object.entries({ light: {}, dark: { scheme: "dark" }, phone: { width: 390, height: 844 } })) {
  test(`it is drawn at every zoom: ${look}`, async () => {
    const { page, seen, done } = await kit.open(oom.html, options);
    await kit.exact(page);
    await kit.settled(page);
    for (const key of ["0", "o", "w", "w", "w", "w"]) {
      await page.keyboard.press(key);
      await kit.settled(page);
      const { wide, tall } = await hatch(page);
      assert.ok(wide >= 5 && wide <= 11, `${key}: ${wide} pixels wide`);
      assert.ok(tall > 15, `${key}: ${tall} pixels tall`);
    }
    assert.ok(await page.locator(".tl-asked").isVisible());
    const { right } = await page.locator(".tl-asked").boundingBox().then((b) => ({ right: b.x + b.width }));
    assert.ok(right <= (options.width ?? 1440), "its key has room");
    assert.deepEqual(seen, []);
    await done();
  });
}

test("pointed at, it says what it met; what is painted beside it says what that is", async () => {
  const { page, seen, done } = await kit.open(holes.html), [failed] = holes.json.devices[0].ooms;
  await kit.exact(page);
  await page.evaluate(() => document.querySelector(".tl").scrollIntoView());
  await kit.settled(page);
  const tip = async (event, bytes) => {
    const { x, y } = await page.evaluate(([ev, b]) => {
      const over = document.querySelector(".tl-over"), { left, top, width, height } = over.getBoundingClientRect(), marks = document.querySelector(".tl-marks").clientWidth;
      const { events } = JSON.parse(document.getElementById("mt-index").textContent).tracks[0];
      return { x: left + 58 + (marks * ev) / events, y: top + 34 + b * (height - 34 - 24 - 26 - 4), width };
    }, [event, bytes]);
    await page.mouse.move(x - 3, y);
    await page.mouse.move(x, y);
    return page.locator(".tl-tip").textContent();
  };
  // The axis ends at 25 GiB: the request lies from 20.5 to 23, below it what was held, from 11.2.
  for (const at of [21.5, 15]) assert.match(await tip(failed.event, 1 - at / 25), /asked for 2\.50 GiB, 1\.50 GiB free on the device, 11\.20 GiB live, 9\.30 GiB reserved but free, by /, `${at} GiB`);
  assert.match(await tip(failed.event, 1 - 2 / 25), /parameters/);
  assert.deepEqual(seen, []);
  await done();
});

for (const [scheme, width] of [["light", 1440], ["dark", 390]]) {
  test(`without the script: ${scheme}, ${width} pixels wide`, async () => {
    const { page, done } = await kit.open(oom.html, { js: false, scheme, width });
    const seen = await page.evaluate(() => {
      const svg = document.querySelector("#timeline svg.plot"), all = [...svg.querySelectorAll("path.asked")].map((p) => p.getBoundingClientRect());
      return { drawn: all.map((r) => [r.width, r.height]), words: svg.textContent, box: [...document.querySelectorAll("#segments .bars rect:first-child")].map((r) => r.getBoundingClientRect().width) };
    });
    assert.equal(seen.drawn.length, 2, "in the picture, and in its key");
    assert.ok(seen.drawn[0][0] >= 6 && seen.drawn[0][1] > 30, JSON.stringify(seen.drawn));
    assert.match(seen.words, /At the OOM:asked for 18\.55 GiBreserved but free 73\.5 MiBoutside PyTorch 2\.80 GiBend of the device/);
    assert.ok(seen.box.length === 4 && seen.box[0] > 20 && seen.box[0] > seen.box[3], "the request beside what there was for it");
    await done();
  });
}

/** A worker that is there and never says anything; and time that goes faster where the page waits long. */
const HUNG = "globalThis.Worker = class { postMessage() {} terminate() {} }; { const real = setTimeout; globalThis.setTimeout = (f, ms, ...of) => real(f, ms > 9999 ? ms / 8 : ms, ...of); }";

test("a worker that hangs: the page says so, and keeps the overview", async () => {
  const { page, seen, done } = await kit.open(oom.html, { init: HUNG });
  await kit.until(page, "the overview", () => document.querySelector(".tl")?.dataset.state === "overview");
  assert.ok(!await page.locator(".tl-stuck").isVisible(), "not at once");
  await kit.until(page, "the words", () => document.querySelector(".tl-stuck")?.hidden === false, null, 20);
  assert.match(await page.locator(".tl-stuck").innerText(), /20 seconds.*stays exact.*Reload/s);
  assert.equal(await page.locator(".tl").getAttribute("data-state"), "overview");
  assert.ok((await hatch(page)).wide >= 5, "the failed request is drawn all the same");
  await page.keyboard.press("p");
  await kit.settled(page);
  assert.match(await kit.said(page), /^66\.26 GiB live at event 2,361/);
  assert.deepEqual(seen, []);
  await done();
});

test("a worker that answers is not called hung", async () => {
  const { page, done } = await kit.open(oom.html, { init: HUNG.replace(/^[^;]*; /, "") });
  await kit.exact(page);
  await new Promise((r) => setTimeout(r, 3500));
  assert.ok(!await page.locator(".tl-stuck").isVisible());
  await done();
});

test("each section that stays says of which rank it is while another one is looked at", async () => {
  const { html } = kit.reportOf([join(kit.samples, "verl_two_ranks.tar.gz")], "two"), { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  const said = () => page.evaluate(() => [...document.querySelectorAll("section")].map((s) => [s.id, [...s.querySelectorAll(".of")].filter((e) => e.getClientRects().length).map((e) => e.textContent).join()]));
  assert.ok((await said()).every(([, of]) => of === ""), "not on a fresh page");
  await page.selectOption(".tl-track", { index: 0 });
  await kit.settled(page);
  const [first, second] = await page.locator(".tl-track option").allTextContents();
  if (await page.evaluate(() => !document.body.classList.contains("other"))) await page.selectOption(".tl-track", { index: 1 });
  await kit.settled(page);
  const own = (await page.evaluate(() => document.querySelector(".tl-track").selectedOptions[0].textContent)) === first ? second : first, of = await said();
  for (const [id, words] of of) {
    if (id === "timeline") continue;
    assert.match(words, new RegExp(`^of (${own}|the whole job)(,|$)`), id);
  }
  assert.deepEqual(["ranks", "provenance", "roles", "advice"].map((id) => new Map(of).get(id)), ["of the whole job", "of the whole job", `of ${own}`, `of ${own}`]);
  assert.deepEqual(seen, []);
  await done();
});
