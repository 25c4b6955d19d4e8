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

/** What blocks whose stack is called `label` hold after event `last`, by the dump. */
function heldBy(dump, label, last) {
  const name = ([f, file, line]) => `${file.split("/").slice(-2).join("/")}:${line} ${f}`, live = new Map();
  const ids = new Set(dump.filter((r) => r.type === "stack" && r.frames.some((f) => name(f) === label)).map((r) => r.id));
  for (const e of dump.filter((r) => r.type === "event" && r.n <= last)) {
    if (e.action === "alloc" && ids.has(e.stack)) live.set(e.addr, e.size);
    else if (e.action === "free_completed") live.delete(e.addr);
  }
  return [...live.values()].reduce((a, b) => a + b, 0);
}

test("where memory grows, the last whole step lies over the one before: sentence and picture hold what the dump says", async () => {
  const { json: { devices: [{ growth: [grows], steps }] } } = reports.get("leak"), dump = kit.dumpOf(join(kit.scratch, "leak.pickle"));
  const two = steps.filter((s) => s.last_event <= grows.last_event).slice(-2), held = two.map((s) => heldBy(dump, grows.label, s.last_event));
  assert.equal(held[1], grows.last_bytes);
  assert.ok(held[0] > 0 && held[0] < held[1], String(held));
  for (const options of [{}, { js: false }, { width: 390, height: 844, scheme: "dark" }]) {
    const { page, seen, done } = await pageOf("leak", options), words = (await page.locator("#steps .lap").textContent()).trim();
    assert.ok(words.startsWith(`${grows.label} holds `), words);
    const [, first, before, second, after] = /holds (\S+\s\S+) at the end of (step \d+) \(dashed\) and (\S+\s\S+) at the end of (step \d+)\.$/.exec(words);
    assert.deepEqual([before, after], two.map((s) => `step ${steps.indexOf(s) + 1}`));
    assert.ok(kit.saysBytes(first, held[0]) && kit.saysBytes(second, held[1]), `${words}: ${held}`);
    const picture = await page.evaluate(() => {
      const box = document.querySelector("#steps .laps"), rows = [...box.querySelectorAll("g[text-anchor=end] text")].filter((t) => /^\d/.test(t.textContent)).map((t) => [Number(t.textContent), t.getAttribute("y") - 4]);
      const ends = [...box.querySelectorAll("path[stroke-dasharray='6 4'], path[fill-opacity='.7']")].map((p) => p.getAttribute("d").replace(/V\d+H\d+z$/, "").match(/(?:V|M\d+ )(\d+)/g).at(-1).match(/\d+$/)[0]);
      return { rows, ends: ends.map(Number), unit: [...box.querySelectorAll("text")].find((t) => /iB$/.test(t.textContent)).textContent };
    });
    const [[v0, y0], [v1, y1]] = [picture.rows[0], picture.rows.at(-1)], unit = 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(picture.unit);
    for (const [i, y] of picture.ends.reverse().entries()) // the dashed one is drawn last; the last column is at its end's height here
      assert.ok(Math.abs(y - (y0 + (held[i] / unit - v0) * (y1 - y0) / (v1 - v0))) <= 1.5, `${JSON.stringify(picture)}: ${held}`);
    assert.equal(picture.ends.length, 2);
    assert.deepEqual(seen, []);
    await done();
  }
  assert.equal(await pageOf("capacity").then(async ({ page, done }) => { const n = await page.locator(".laps, .lap").count(); await done(); return n; }), 0, "nothing grows there");
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

/** Boxes that can be seen: [label, stop of the tabulator, whether there is something to scroll, whether it is the contents]. */
const boxesOf = (page) => page.evaluate(() => [...document.querySelectorAll(".scroll")].filter((b) => b.clientWidth > 0)
  .map((b) => [b.getAttribute("aria-label"), b.tabIndex === 0, b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight, Boolean(b.closest("nav"))]));

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

test("without the script every box is one, but the contents: their links are", async () => {
  const { page, done } = await pageOf("capacity", { js: false });
  const boxes = await boxesOf(page);
  assert.ok(boxes.length > 8 && boxes.every(([, stop, , contents]) => stop !== contents), JSON.stringify(boxes));
  await done();
});
