// test_calls.mjs: a recorded job: the driver's calls by owner in the same picture as a snapshot's events, zoomed to the failure, each with its call, process, stack and phase;
// search, link, the tables at the cursor; a snapshot beside it on one clock. Numbers against `--format json` and samples/nsys/truth.json. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const nsys = kit.reportOf([join(kit.samples, "nsys/job.sqlite")], "nsys"), both = kit.reportOf([join(kit.samples, "driver_v1.trace.gz")], "both");
const truth = JSON.parse(readFileSync(join(kit.samples, "nsys/truth.json"), "utf8"))["job.sqlite"].peak;
const of = { trainer: truth["device 0 of 4711"], engine: truth["device 1 of 4800"] };
const legend = (page) => page.evaluate(() => document.querySelector(".tl-legend > span").textContent);
const brush = (page) => page.locator(".tl-brush").evaluate((b) => [parseFloat(b.style.left), parseFloat(b.style.width)]);

test("a recorded job opens on its failure, on the first screen, with what its calls held there", async () => {
  const { page, seen, done } = await kit.open(nsys.html), [ledger] = nsys.json.job.ledgers;
  await kit.exact(page);
  await kit.settled(page);
  assert.equal(ledger.focus.recorded_bytes, of.trainer + of.engine);
  assert.ok(kit.saysBytes(await kit.said(page), of.trainer + of.engine), await kit.said(page));
  assert.match(await kit.said(page), /in backward/);
  assert.ok(kit.saysBytes((await legend(page)).replace(/^.*stack/, ""), of.trainer + of.engine), await legend(page));
  const plot = await page.locator(".tl-plot").boundingBox(), [left, width] = await brush(page);
  assert.ok(plot.y + plot.height <= 900, `the picture ends at ${plot.y + plot.height}`);
  assert.ok(width < 60 && left > 5, `zoomed to the failure: ${left} ${width}`);
  assert.equal(await page.locator("[value=role]").first().innerText(), "Owner");
  await page.keyboard.press("p");
  await kit.settled(page);
  assert.ok(kit.saysBytes(await kit.said(page), ledger.recorded_peak_bytes), await kit.said(page));
  assert.deepEqual(seen, []);
  await done();
});

test("the tables at the cursor have the bytes of the failure by owner, and a search those of one process", async () => {
  const { page, seen, done } = await kit.open(nsys.html);
  await kit.exact(page);
  await kit.settled(page);
  await kit.until(page, "the table at the cursor", () => document.querySelector("#ledger .cursor table"));
  const cells = await page.evaluate(() => [...document.querySelectorAll("#ledger .cursor table tr")].map((r) => [...r.cells].map((c) => c.textContent)));
  assert.deepEqual(cells[0], ["Owner", "Bytes", "Share", "Blocks"]);
  const rows = nsys.json.job.ledgers[0].focus.rows, blocks = rows.reduce((n, r) => n + r.live_allocations, 0);
  assert.ok(kit.saysBytes(cells[1][1], of.trainer + of.engine) && Number(cells[1][3]) === blocks, cells[1].join());
  for (const [pid, bytes] of [["4711", of.trainer], ["4800", of.engine]]) {
    await page.locator(".tl-search").fill(`lane:${pid}`);
    await kit.settled(page);
    const found = await page.locator(".tl-found").innerText();
    assert.ok(kit.saysBytes(found.replace(/^.*allocations, /, ""), bytes), found);
  }
  assert.deepEqual(seen, []);
  await done();
});

test("under the pointer is a call: its size, process, phase and lifetime; the wheel zooms, and a link keeps all of it", async () => {
  const { page, seen, done } = await kit.open(nsys.html);
  await kit.exact(page);
  await kit.settled(page);
  const box = await page.locator(".tl-over").boundingBox(), over = [box.x + box.width * 0.6, box.y + box.height * 0.5];
  await page.mouse.move(...over);
  await kit.until(page, "what is under the pointer", () => !document.querySelector(".tl-tip").hidden);
  const tip = await page.locator(".tl-tip").innerText();
  assert.match(tip, /Call: cuMemAlloc \(cudaMalloc\) by .+, pid (4711|4800)/);
  assert.match(tip, /Phase of birth: \w+/);
  assert.match(tip, /No stack was recorded of this call/);
  const [, before] = await brush(page);
  await page.mouse.wheel(0, -300);
  await kit.settled(page);
  const [, zoomed] = await brush(page);
  assert.ok(zoomed < before * 0.9, `${before} to ${zoomed}`);
  await page.mouse.click(...over);
  await kit.settled(page);
  const words = await kit.said(page), pin = await page.locator(".tl-pin dl").innerText(), hash = await kit.hashOf(page);
  assert.match(pin, /Call\s+cuMemAlloc/);
  await done();
  const again = await kit.open(nsys.html, { hash });
  await kit.exact(again.page);
  await kit.settled(again.page);
  assert.equal(await kit.said(again.page), words);
  assert.equal(await again.page.locator(".tl-pin dl").innerText(), pin);
  assert.ok(Math.abs((await brush(again.page))[1] - zoomed) < 0.5);
  assert.deepEqual([...seen, ...again.seen], []);
  await again.done();
});

test("beside a snapshot: the GPU's calls by owner are those of the ledger, with their native stacks", async () => {
  const { page, seen, done } = await kit.open(both.html), [ledger] = both.json.job.ledgers;
  await kit.exact(page);
  await page.locator(".tl-track").selectOption({ label: "GPU 0 of node7: calls of the driver" });
  await kit.settled(page);
  assert.ok(kit.saysBytes(await kit.said(page), ledger.focus.recorded_bytes), await kit.said(page));
  const names = new Map(await page.evaluate(() => JSON.parse(document.getElementById("mt-index").textContent).holders.map((h) => [h.id, h.name]))), text = await legend(page);
  const rows = ledger.focus.rows.filter((r) => r.process !== null);
  assert.ok(rows.length > 4);
  for (const r of rows) assert.ok(kit.saysBytes(text.slice(text.indexOf(names.get(r.holder)) + names.get(r.holder).length), r.bytes), `${r.holder} ${r.bytes}: ${text}`);
  await page.locator(".tl-search").fill("role:nccl");
  await page.keyboard.press("Enter");
  await kit.settled(page);
  const pin = await page.locator(".tl-pin").innerText(), nccl = rows.find((r) => r.holder === "nccl");
  assert.ok(kit.saysBytes(/Size\s+(.*)/.exec(pin)[1], nccl.bytes), pin);
  assert.match(pin, /ncclCudaMalloc<char>/);
  assert.match(pin, /Call\s+cuMemAlloc/);
  assert.deepEqual(seen, []);
  await done();
});

test("all settings of the first card are copied as one line of overrides", async () => {
  const { page, seen, done } = await kit.open(both.html, { init: "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (t) => { document.body.dataset.copied = t; } } })" });
  await kit.exact(page);
  const lines = both.json.advice.filter((a) => a.top).flatMap((a) => a.set.map((l) => l.text ?? l)).filter((t) => /^[a-z][\w.]*=\S+$/.test(t));
  assert.ok(lines.length > 1, JSON.stringify(both.json.advice[0].set));
  await page.getByRole("button", { name: `Copy all ${lines.length} as one line` }).click();
  await kit.until(page, "what was copied", () => document.body.dataset.copied);
  assert.equal(await page.evaluate(() => document.body.dataset.copied), lines.join(" "));
  assert.deepEqual(seen, []);
  await done();
});

/** What the processes of one machine had resident together, from moment to moment, by the samples of `memtrace dump`. */
const residentOf = (lines) => {
  const processes = lines.filter((l) => l.type === "process"), last = new Map();
  const ends = processes.map((p) => ({ time_ns: p.last_ns + 1, process: p.process, rss: 0 }));
  const out = [];
  for (const { time_ns, process, rss } of [...lines.filter((l) => l.type === "host_sample"), ...ends].sort((a, b) => a.time_ns - b.time_ns)) {
    last.set(process, rss);
    out.push([time_ns, [...last.values()].reduce((a, b) => a + b)]);
  }
  return out;
};
const mostResident = (lines) => Math.max(...residentOf(lines).map(([, sum]) => sum));

for (const name of ["driver_v1.trace.gz", "real/h100_loop_oom.trace.gz"]) {
  test(`${name}: below the owners, on their clock: PyTorch's view and host memory, without the script too`, async () => {
    const path = join(kit.samples, name), { html, json } = name === "driver_v1.trace.gz" ? both : kit.reportOf([path], "h100"), { page, seen, done } = await kit.open(html, { js: false });
    const words = await page.locator("#ledger .one-clock p").allTextContents(), torch = words.filter((w) => w.startsWith("PyTorch inside")), [host] = words.filter((w) => w.startsWith("Host memory"));
    const size = (text, before) => text.slice(text.indexOf(before) + before.length), top = (key) => Math.max(...json.devices.map((d) => d[key]));
    assert.equal(torch.length, 1, words.join("; "));
    assert.ok(kit.saysBytes(size(torch[0], "at most "), top("live_peak_bytes")), torch[0]);
    assert.ok(kit.saysBytes(size(torch[0], "live, "), top("reserved_peak_bytes")), torch[0]);
    assert.ok(kit.saysBytes(size(host, "at most "), mostResident(kit.dumpOf(path))), host);
    const lines = await page.evaluate(() => [...document.querySelectorAll("#ledger svg path[stroke='#e5484d'][stroke-width='2']")].map((l) => l.getBoundingClientRect()).map((r) => (r.left + r.right) / 2));
    assert.ok(lines.length === 3 && lines.every((x) => Math.abs(x - lines[0]) < 1.5), `the failure lies on one line: ${JSON.stringify(lines)}`);
    assert.deepEqual(seen, []);
    await done();
  });
}

test("where the picture is of calls, host memory lies below it, and nothing where none was recorded", async () => {
  const path = join(kit.samples, "real/h100_captures.trace.gz"), { html } = kit.reportOf([path], "captures");
  for (const js of [true, false]) {
    const { page, seen, done } = await kit.open(html, { js });
    if (js) await kit.exact(page);
    const words = await page.locator("#timeline .one-clock p").allTextContents();
    assert.equal(words.length, 1, words.join("; "));
    assert.ok(kit.saysBytes(words[0].slice(words[0].indexOf("at most ") + 8), mostResident(kit.dumpOf(path))), words[0]);
    assert.ok(await page.locator("#timeline .one-clock").isVisible());
    assert.deepEqual(seen, []);
    await done();
  }
  const { page, done } = await kit.open(nsys.html);
  await kit.exact(page);
  assert.equal(await page.locator(".one-clock, #timeline .scroll:empty").count(), 0);
  await done();
});

/** The curves below the picture as they are drawn: where each lies, its steps in pixels, where the failure is; and the cursor and the view above them. */
const drawn = (page) => page.evaluate(() => {
  const at = document.querySelector(".tl-marks .tl-range + .tl-at + .tl-at").getBoundingClientRect(), plot = document.querySelector(".tl-marks").getBoundingClientRect();
  return { cursor: (at.left + at.right) / 2 - plot.left, width: plot.width, curves: [...document.querySelectorAll("#timeline .one-clock svg")].map((svg) => {
    const box = svg.getBoundingClientRect(), scale = box.width / Number(svg.getAttribute("viewBox").split(" ")[2]), [line] = svg.querySelectorAll("path[stroke-width='2']"), steps = [];
    let x = 0, y = 0;
    for (const [, c, a, b] of svg.querySelector("path[fill^='#']").getAttribute("d").matchAll(/([MHvV])(-?[\d.e+]+)(?: (\d+))?/g)) {
      if (c === "M") [x, y] = [Number(a), Number(b)];
      else if (c === "H") steps.push([x * scale, (x = Number(a)) * scale, 32 - y]);
      else y = c === "V" ? Number(a) : y + Number(a);
    }
    return { left: box.left - plot.left, width: box.width, visible: svg.checkVisibility(), steps, failed: line ? Number(/M(-?[\d.e+]+)/.exec(line.getAttribute("d"))[1]) * scale : NaN };
  }) };
});
const heightAt = (steps, x) => steps.find(([from, to]) => from <= x && x < to)?.[2];

test("the curves below the owners follow every gesture: each sample lies where it was taken, PyTorch's bytes where they were live", async () => {
  const path = join(kit.samples, "real/h100_loop_oom.trace.gz"), { html, json } = kit.reportOf([path], "follow"), lines = kit.dumpOf(path), resident = residentOf(lines), most = mostResident(lines);
  const { page, seen, done } = await kit.open(html), top = json.devices[0].reserved_peak_bytes;
  await kit.exact(page);
  assert.equal(await page.locator("#timeline .one-clock").isVisible(), false, "nothing where the picture is not of owners");
  await page.locator("[value=owner]").click();
  await page.locator(".tl-over").focus();
  const t0 = BigInt(await page.evaluate(() => JSON.parse(document.getElementById("mt-index").textContent).tracks.find((t) => t.primary).time.t0_ns));
  let live = json.devices[0].live_start_bytes;
  const events = lines.filter((l) => l.type === "event" && l.device === 0), end = events.findIndex(({ n }, i) => i > 0 && n <= events[i - 1].n); // each snapshot that the process left has them
  const lived = events.slice(0, end < 0 ? events.length : end).map(({ action, size, time_ns }) => [time_ns, live += action === "alloc" ? size : action === "free_completed" ? -size : 0]);
  assert.equal(lived.length, json.devices[0].events);
  const views = new Set();
  for (const [name, gesture] of /** @type {[string, () => Promise<void>][]} */ ([
    ["the view that Owner begins with", async () => {}],
    ["the whole run", () => page.keyboard.press("0")],
    ["the failure", async () => { await page.keyboard.press("o"); for (let i = 0; i < 4; i++) await page.keyboard.press("w"); }],
    ["the wheel", async () => { const b = await page.locator(".tl-over").boundingBox(); await page.mouse.move(b.x + b.width * 0.3, b.y + b.height * 0.5); await page.mouse.wheel(0, 300); }],
    ["a drag", async () => { const b = await page.locator(".tl-over").boundingBox(); await page.mouse.move(b.x + 300, b.y + 100); await page.mouse.down(); await page.mouse.move(b.x + 420, b.y + 100, { steps: 4 }); await page.mouse.up(); }],
    ["the brush", async () => { const b = await page.locator(".tl-mini > div").boundingBox(); await page.mouse.move(b.x + b.width * 0.8, b.y + 10); await page.mouse.down(); await page.mouse.move(b.x + b.width * 0.6, b.y + 10, { steps: 4 }); await page.mouse.up(); }],
    ["a key", () => page.keyboard.press("d")],
  ])) {
    await gesture();
    await kit.settled(page);
    const apart = ({ curves, cursor, width }) => cursor >= 0 && cursor <= width && curves.some((c) => Math.abs(c.failed - cursor) >= 2.5);
    let now = await drawn(page);
    for (let i = 0; i < 20 && apart(now); i++) { // on a busy machine the picture is a frame behind the curves
      await page.waitForTimeout(100);
      now = await drawn(page);
    }
    const hash = await kit.hashOf(page), view = /[#&]t=([\d.]+)-([\d.]+)/.exec(hash), { curves: [torch, host], width, cursor } = now;
    const [from, to] = view ? view.slice(1).map(Number) : [0, (lived.at(-1)[0] - Number(t0)) / 1e9], px = (ns) => (Number(BigInt(ns) - t0) / 1e9 - from) / (to - from) * width;
    views.add(`${from} ${to}`);
    assert.ok(torch.visible && host.visible, name);
    for (const c of [torch, host]) {
      assert.ok(Math.abs(c.left) < 1 && Math.abs(c.width - width) < 1, `${name}: they lie below the picture: ${c.left} ${c.width} ${width}`);
      if (cursor >= 0 && cursor <= width) assert.ok(Math.abs(c.failed - cursor) < 2.5, `${name}: the failure at ${c.failed}, the cursor at ${cursor}`);
    }
    let compared = 0;
    resident.forEach(([t, sum], i) => {
      const x = px(t), end = Math.min(i + 1 < resident.length ? px(resident[i + 1][0]) : x, width);
      if (end - Math.max(x, 0) < 4) return;
      const tall = heightAt(host.steps, (Math.max(x, 0) + end) / 2);
      assert.ok(Math.abs(tall - sum / most * 32) <= 1, `${name}: sample ${i} of ${sum} bytes is ${tall} pixels`);
      compared++;
    });
    assert.ok(compared > 0, `${name}: samples in view`);
    // Each stretch has its highest: no event is above the curve, and the highest that is in view is on it.
    const inView = lived.map(([t, bytes]) => [px(t), bytes / top * 32]).filter(([x]) => x > 3 && x < width - 3);
    for (const [x, tall] of inView) {
      const around = [x - 2, x, x + 2].map((at) => heightAt(torch.steps, at) ?? -1);
      assert.ok(Math.max(...around) >= tall - 1, `${name}: ${tall} pixels live at ${x}, drawn ${around}`);
    }
    if (inView.length) {
      const highest = Math.max(...inView.map(([, tall]) => tall)), edge = Math.max(...lived.filter(([t]) => px(t) <= 3).slice(-1).map(([, b]) => b / top * 32), 0);
      assert.ok(Math.max(...torch.steps.filter(([a, b]) => b > 3 && a < width - 3).map(([, , y]) => y)) <= Math.max(highest, edge) + 1.5, `${name}: nothing is drawn that was not live`);
    }
  }
  assert.ok(views.size > 5, [...views].join("; "));
  // Calls as a track of its own, by event: the clock is another one, and the failure is still where the cursor is.
  await page.locator(".tl-track").selectOption({ index: await page.locator(".tl-track option").count() - 1 });
  for (const axis of ["e", "t"]) {
    await page.locator(`[value=${axis}]`).click();
    await page.locator(".tl-over").focus();
    if (axis === "e") await page.keyboard.press("o"); // the other axis keeps the place
    await kit.settled(page);
    const { curves, cursor, width } = await drawn(page);
    assert.ok(cursor > 0 && cursor < width && curves.every((c) => c.visible && Math.abs(c.failed - cursor) < 3), `${axis}: ${JSON.stringify(curves.map((c) => c.failed))} ${cursor} ${await kit.said(page)} ${await kit.hashOf(page)}`);
  }
  assert.deepEqual(seen, []);
  await done();
});
