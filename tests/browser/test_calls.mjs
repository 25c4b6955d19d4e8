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

/** The most that the processes of one machine had resident at once, by the samples of `memtrace dump`. */
const mostResident = (lines) => {
  const processes = lines.filter((l) => l.type === "process"), last = new Map();
  const ends = processes.map((p) => ({ time_ns: p.last_ns + 1, process: p.process, rss: 0 }));
  let most = 0;
  for (const { process, rss } of [...lines.filter((l) => l.type === "host_sample"), ...ends].sort((a, b) => a.time_ns - b.time_ns)) {
    last.set(process, rss);
    most = Math.max(most, [...last.values()].reduce((a, b) => a + b));
  }
  return most;
};

for (const name of ["driver_v1.trace.gz", "real/h100_loop_oom.trace.gz"]) {
  test(`${name}: below the owners, on their clock: PyTorch's view and host memory, without the script too`, async () => {
    const path = join(kit.samples, name), { html, json } = name === "driver_v1.trace.gz" ? both : kit.reportOf([path], "h100"), { page, seen, done } = await kit.open(html, { js: false });
    const words = await page.locator("#ledger .one-clock text").allTextContents(), torch = words.filter((w) => w.startsWith("PyTorch inside")), [host] = words.filter((w) => w.startsWith("Host memory"));
    const size = (text, before) => text.slice(text.indexOf(before) + before.length), top = (key) => Math.max(...json.devices.map((d) => d[key]));
    assert.equal(torch.length, 1, words.join("; "));
    assert.ok(kit.saysBytes(size(torch[0], "at most "), top("live_peak_bytes")), torch[0]);
    assert.ok(kit.saysBytes(size(torch[0], "live, "), top("reserved_peak_bytes")), torch[0]);
    assert.ok(kit.saysBytes(size(host, "at most "), mostResident(kit.dumpOf(path))), host);
    const lines = await page.evaluate(() => [...document.querySelectorAll("#ledger svg")].slice(0, 2).map((s) => [...s.querySelectorAll("path[stroke='#e5484d'][stroke-width='2']")].map((l) => Math.round(l.getBoundingClientRect().left))));
    assert.equal(lines[0].at(0), lines[1].at(0), `the failure lies on one line: ${JSON.stringify(lines)}`);
    assert.deepEqual(seen, []);
    await done();
  });
}

test("where the picture is of calls, host memory lies below it, and nothing where none was recorded", async () => {
  const path = join(kit.samples, "real/h100_captures.trace.gz"), { html } = kit.reportOf([path], "captures");
  for (const js of [true, false]) {
    const { page, seen, done } = await kit.open(html, { js });
    if (js) await kit.exact(page);
    const words = await page.locator("#timeline .one-clock text").allTextContents();
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
