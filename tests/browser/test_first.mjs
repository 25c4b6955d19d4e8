// test_first.mjs: the first screen: a headline of two lines, the card as a bar, what to change beside the failure in the timeline, ranks as one strip;
// at 1440 by 900, on a phone, without the script. Numbers against `--format json`. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const SAMPLES = [["verl_grpo_oom_logprob.pickle", "80GiB"], ["verl_two_ranks.tar.gz", "24GiB"], ["fragmentation_oom.pickle", "24GiB"], ["expandable_segments.pickle", "80GiB"]];
const reports = new Map(SAMPLES.map(([name, capacity]) => [name, kit.reportOf([join(kit.samples, name)], name, "--capacity", capacity)]));
const lines = (page, selector) => page.locator(selector).evaluate((e) => { const r = document.createRange(); r.selectNodeContents(e); return new Set([...r.getClientRects()].map((b) => Math.round(b.bottom / 8))).size; });
const below = async (page, selector) => { const b = await page.locator(selector).first().boundingBox(); return b.y + b.height; };

for (const [name] of SAMPLES) {
  const { html, json } = reports.get(name), { verdict } = json, device = json.devices.find((d) => d.rank === verdict.rank && d.device === verdict.device), [oom] = device.ooms;
  test(`${name}: at 1440 by 900 it says what, where and when, and shows it`, async () => {
    const { page, seen, done } = await kit.open(html);
    await kit.exact(page);
    await kit.settled(page);
    const head = await page.locator("h1").innerText();
    assert.ok(await lines(page, "h1") <= 2, head);
    const [, asked] = /asked for (\S+ \S+)/.exec(head), [, at] = / (?:at|in autograd) (\S+)/.exec(head.replace(asked, ""));
    assert.ok(kit.saysBytes(asked, oom.request_bytes), `${head}, ${oom.request_bytes} by JSON`);
    assert.match(at, /^\S+\.\w+:\d+$|Backward\d,?$/);
    assert.ok(head.startsWith(verdict.rank === null ? `Device ${verdict.device} ` : `Rank ${verdict.rank}, device ${verdict.device} `), head);
    for (const [what, selector] of [["the bar", ".card"], ["the timeline", ".tl-plot"], ["the card to change first", ".first > li:first-child"]]) {
      const y = await below(page, selector);
      assert.ok(y <= 900, `${what} ends at ${y}`);
    }
    const { left, width } = await page.locator(".tl-brush").evaluate((b) => ({ left: parseFloat(b.style.left), width: parseFloat(b.style.width) })), share = (oom.event / device.events) * 100;
    assert.ok(left <= share && left + width >= share, "the failure is in the picture");
    assert.ok(device.events < 1000 || width < 40, `zoomed to it: ${width} %`);
    const [card] = await page.locator(".first > li").allInnerTexts(), [first] = json.advice.filter((a) => a.top);
    if (first.saving_bytes) assert.ok(kit.saysBytes(/Frees about (\S+ \S+)/.exec(card)[1], first.saving_bytes), card);
    assert.deepEqual(seen, []);
    await done();
  });
}

test("a change that is enough alone says so on the first screen, and no second card stands beside it", async () => {
  const { html, json } = reports.get("verl_grpo_oom_logprob.pickle"), { page, done } = await kit.open(html, { js: false });
  const tops = json.advice.filter((a) => a.top), alone = json.after.choices.find((c) => c.rules.join() === tops[0].id);
  assert.deepEqual([tops.length, alone.lacking_bytes], [1, 0]);
  assert.deepEqual((await page.locator(".first > li").allInnerTexts()).map((t) => /enough alone/.test(t)), [true]);
  assert.ok(await below(page, ".first > li") <= 900);
  assert.ok(await page.locator(".whatif label").count() > 1, "the others are behind it, to tick");
  await done();
});

test("ranks are one strip, the failed one first, each as long as what it held; a click shows another one", async () => {
  const { html, json } = reports.get("verl_two_ranks.tar.gz"), { page, seen, done } = await kit.open(html);
  await kit.exact(page);
  const strip = await page.evaluate(() => [...document.querySelectorAll(".strip li")].map((li) => ({ place: li.dataset.place, bytes: li.querySelector("b").textContent, oom: Boolean(li.querySelector(".oom")),
    share: li.querySelector("rect").getBoundingClientRect().width / li.querySelector("svg").getBoundingClientRect().width })));
  assert.equal(strip.length, json.devices.length);
  assert.deepEqual(strip.map((s) => s.oom), [true, false]);
  for (const { place, bytes, share, oom } of strip) {
    const d = json.devices.find((v) => `rank ${v.rank}, device ${v.device}` === place);
    assert.ok(kit.saysBytes(bytes, d.live_peak_bytes) && oom === d.ooms.length > 0, `${place}: ${bytes}`);
    assert.ok(Math.abs(share - d.live_peak_bytes / (24 * 2 ** 30)) < 0.01, `${place}: ${share} of the card`);
  }
  assert.ok(await below(page, ".strip") <= 900);
  await page.locator(`.strip [data-place="${strip[1].place}"] button`).click();
  await kit.settled(page);
  assert.equal(await page.evaluate(() => document.querySelector(".tl-track").selectedOptions[0].textContent), strip[1].place);
  assert.deepEqual(seen, []);
  await done();
});

test("on a phone the headline and the bar are on the first screen, what to change begins on it or right below", async () => {
  const { html } = reports.get("verl_grpo_oom_logprob.pickle"), { page, done } = await kit.open(html, { width: 390, height: 844 });
  await kit.exact(page);
  assert.ok(await below(page, ".card") <= 844);
  assert.ok((await page.locator("#first").boundingBox()).y <= 844);
  await done();
});

test("behind a card that is enough the others wait, with their names and bytes, and open", async () => {
  const { html, json } = kit.reportOf([join(kit.samples, "verl_two_ranks.tar.gz")], "folded", "--capacity", "24GiB"), tops = json.advice.filter((a) => a.top);
  assert.ok(tops.length > 2 && tops[0].lacking_bytes === 0, JSON.stringify(tops[0]));
  for (const js of [true, false]) {
    const { page, seen, done } = await kit.open(html, { js }), cards = page.locator(".first > li");
    assert.equal(await cards.count(), tops.length);
    for (const [i, a] of tops.entries()) {
      const card = cards.nth(i), setting = card.locator("code").first();
      assert.ok((await card.locator("h3").innerText()).includes(a.title), a.title);
      assert.equal(await setting.isVisible(), i === 0);
      if (i === 0) continue;
      assert.ok(kit.saysBytes(await card.locator("summary small").innerText(), a.saving_bytes), a.title);
      await card.locator("summary").click();
      assert.equal((await setting.innerText()).replace(/\s/g, ""), a.set[0].text.replace(/\s/g, ""));
    }
    assert.deepEqual(seen, []);
    await done();
  }
});
