// test_links.mjs: what a reader follows or reads on the page beside the timeline: every moment that is named leads to it, long keys break
// between their parts on a phone and are copied whole, and only boxes that scroll are stops of the tabulator.
// Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

/** A job that keeps a tensor of each step: evidence of a stretch. */
function leak() {
  const path = join(kit.scratch, "leak.pickle"), code = "import sys; sys.path.insert(0, sys.argv[1]); import test_forecast as t; sys.stdout.buffer.write(t.build(t.LEAK).data)";
  writeFileSync(path, execFileSync("python3", ["-B", "-c", code, join(kit.MT_SOURCE_DIR, "tests/scenarios")], { maxBuffer: 1 << 28 }));
  return path;
}
const reports = new Map([["capacity", join(kit.samples, "verl_grpo_oom_logprob.pickle")], ["fragmentation", join(kit.samples, "fragmentation_oom.pickle")], ["leak", leak()]]
  .map(([name, path]) => [name, kit.reportOf([path], name, "--capacity", "80GiB")]));

const started = (page) => kit.until(page, "the script's part of the page", () => document.documentElement.classList.contains("js-exact"));
async function pageOf(name, options) {
  const opened = await kit.open(reports.get(name).html, options);
  if (options?.js !== false) await started(opened.page);
  return opened;
}
const unfold = (page) => page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });

/** What the JSON says of the moments that the panels link to: pairs of first and last event. */
function moments({ cause, devices: [device] }) {
  const of = (e) => [e.first_event ?? e.event, e.event], known = (e) => e.event !== null;
  const others = cause.evidence.filter(known).map(of).filter(([a, b]) => a !== cause.event || b !== cause.event);
  return {
    cause: [[cause.event, cause.event], ...others],
    audits: [...device.audits.filter((a) => a.finding), ...device.audits.filter((a) => !a.finding)].filter(known).map(of),
  };
}

test("every moment that a sentence names leads to it", async () => {
  let stretches = 0, pins = 0, grows = 0;
  for (const [name, { json }] of reports) {
    const { page, seen, done } = await pageOf(name), want = moments(json);
    await page.emulateMedia({ reducedMotion: "reduce" }); // a click in the middle of a long glide meets another place
    await unfold(page);
    const linksOf = (selector) => page.evaluate((s) => [...document.querySelectorAll(s)].map((a) => [Number(a.dataset.event), Number(a.dataset.to ?? a.dataset.event)]), selector);
    assert.deepEqual(await linksOf("#cause a.at"), want.cause, name);
    assert.deepEqual(await linksOf("#audits a.at"), want.audits, name);
    assert.equal((await linksOf(".where a.at"))[0][0], json.verdict.event);
    const born = json.cause.pins.map((p) => p.event), growth = json.devices[0].growth;
    for (const [event] of await linksOf("#pins a.at")) {
      assert.ok(born.includes(event), `${name}: ${event}`);
      pins++;
    }
    const inTable = (await linksOf('#steps .scroll[aria-label="What grows from step to step"] td[data-event]')).map(([e]) => e);
    assert.deepEqual(inTable, growth.flatMap((g) => [g.first_event, g.last_event]), name);
    grows += growth.length;
    const links = page.locator(".where a.at, #cause a.at, #audits a.at, #pins a.at");
    for (let i = 0; i < await links.count(); i++) {
      const [from, to] = await links.nth(i).evaluate((a) => [Number(a.dataset.event), Number(a.dataset.to ?? a.dataset.event)]);
      await page.keyboard.press("Home");
      await links.nth(i).click();
      await kit.until(page, `event ${to}`, (n) => document.querySelector(".tl-said").textContent.includes(`event ${n}`), to.toLocaleString("en-US"), 10);
      await kit.settled(page);
      const said = await kit.said(page);
      assert.match(said, new RegExp(`event ${to.toLocaleString("en-US")}\\b`), `${name}, ${from} to ${to}`);
      assert.equal(new URLSearchParams((await kit.hashOf(page)).slice(1)).get("s"), from < to ? `${from}-${to}` : null, `${name}, ${from} to ${to}`);
      const near = await page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("e") ?? new URLSearchParams(location.hash.slice(1)).get("t"));
      assert.ok(near, `${name}, ${from} to ${to}: it is seen from near`);
      stretches += from < to;
    }
    assert.deepEqual(seen, []);
    await done();
  }
  assert.ok(stretches > 0 && pins > 0 && grows > 0, `${stretches} stretches, ${pins} pins, ${grows} that grow`);
});

test("on a phone a long key breaks between its parts", async () => {
  for (const name of ["capacity", "fragmentation"]) {
    const { page, done } = await pageOf(name, { width: 390, height: 844 });
    await unfold(page);
    const { seen, torn } = await page.evaluate(() => {
      const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), torn = [], range = document.createRange();
      let seen = 0;
      for (let n = walk.nextNode(); n; n = walk.nextNode()) {
        if (n.parentElement.closest("pre, svg, #owners")) continue; // a tree of frames is as narrow as it is deep
        let top = null;
        for (let i = 0; i < n.data.length; i++) {
          range.setStart(n, i);
          range.setEnd(n, i + 1);
          const box = range.getBoundingClientRect();
          if (!box.height) continue;
          seen++;
          if (top !== null && box.top > top + 6 && /[a-z0-9]/i.test(n.data[i]) && /[a-z0-9]/i.test(n.data[i - 1])) torn.push(`${n.data.slice(Math.max(0, i - 30), i)}|${n.data.slice(i, i + 20)}`);
          ({ top } = box);
        }
      }
      return { seen, torn };
    });
    assert.ok(seen > 5000, `${name}: ${seen} characters were looked at`);
    assert.deepEqual(torn, [], name);
    await done();
  }
});

test("what changed names its places in parts that a line may end behind", async () => {
  const { page, done } = await pageOf("capacity", { width: 390, height: 844, hash: "#s=100-2000" });
  await kit.until(page, "the changes", () => document.querySelectorAll(".tl-tables .by-stack tbody tr").length > 2);
  const torn = await page.evaluate(() => [...document.querySelectorAll(".tl-tables bdi, .cursor bdi")].map((b) => [...b.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data))
    .filter((parts) => parts.some((t) => /[a-z0-9][/_.=][a-z0-9]/i.test(t))));
  assert.deepEqual(torn, []);
  await done();
});

test("a setting is copied as it is typed; it breaks at dots, its module is pale, its value strong", async () => {
  const { json } = reports.get("capacity"), { page, done } = await pageOf("capacity", { width: 390, height: 844 });
  const lines = json.advice.flatMap((a) => a.set);
  await unfold(page);
  const chosen = await page.evaluate(() => [...document.querySelectorAll(".set code, .whatif label code")].map((c) => {
    getSelection().selectAllChildren(c);
    const tops = [...c.querySelectorAll(".p")].map((p) => [p.textContent, p.getClientRects().length, p.clientHeight / parseFloat(getComputedStyle(p).lineHeight)]);
    return [getSelection().toString(), tops, [...c.querySelectorAll(".pale")].map((p) => p.textContent).join(""), [...c.querySelectorAll("b")].map((p) => p.textContent).join(" ")];
  }));
  assert.ok(chosen.length > 1 && chosen.some(([, parts]) => parts.length > 2), JSON.stringify(chosen));
  for (const [text, parts, pale, strong] of chosen) {
    const { key, value } = lines.find((l) => l.text === text) ?? assert.fail(`${JSON.stringify(text)} is none of ${JSON.stringify(lines)}`);
    for (const [part, boxes, tall] of parts) assert.ok(boxes === 1 && (tall < 1.5 || part.length > 30), `${part} is on one line, of ${text}`);
    if (!text.endsWith(`${key}=${value}`) || !value || /[(\s]/.test(key)) continue;
    assert.equal(strong, value);
    assert.equal(pale, key.slice(0, key.lastIndexOf(".") + 1));
  }
  assert.ok(chosen.some(([, , pale, strong]) => pale && strong));
  await done();
});

/** Boxes that can be seen: [label, stop of the tabulator, whether there is something to scroll]. */
const boxesOf = (page) => page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((b) => b.clientWidth > 0)
  .map((b) => [b.getAttribute("aria-label"), b.tabIndex === 0, b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight]));

test("a box is a stop of the tabulator while it scrolls", async () => {
  const { page, seen, done } = await pageOf("capacity");
  await unfold(page);
  let stops = 0;
  for (const width of [1440, 390, 1440]) {
    await page.setViewportSize({ width, height: 844 });
    await kit.settled(page);
    const boxes = await boxesOf(page), now = boxes.filter((b) => b[1]).length;
    assert.deepEqual(boxes.filter(([, stop, scrolls]) => stop !== scrolls), [], `${width} pixels`);
    assert.ok(boxes.length > 8 && (width === 390 ? now > 3 : now < boxes.length / 2), `${now} of ${boxes.length} at ${width} pixels`);
    stops += now;
  }
  assert.ok(stops > 0);
  assert.deepEqual(seen, []);
  await done();
});

test("without the script every box is one", async () => {
  const { page, done } = await pageOf("capacity", { js: false });
  const boxes = await boxesOf(page);
  assert.ok(boxes.length > 8 && boxes.every(([, stop]) => stop), JSON.stringify(boxes));
  await done();
});
