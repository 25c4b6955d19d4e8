// test_interact.mjs: reports in a real browser, driven as a person does: every number on screen against `--format json` and `memtrace dump`,
// every key, the address, the search, ranges; no error, no request; and the same page without its script.
// Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const oomSample = join(kit.samples, "verl_grpo_oom_logprob.pickle");
const oom = kit.reportOf([oomSample], "oom", "--capacity", "80GiB");
const device = oom.json.devices[0];
const press = (page, key) => page.keyboard.press(key);
const rest = kit.settled; // the glide and the address follow with a delay

async function pageOf(html, options) {
  const opened = await kit.open(html, options);
  await kit.exact(opened.page);
  return opened;
}
/** The event that the words under the picture speak of. */
const eventOf = (text) => (/before the first event/.test(text) ? -1 : Number(/event ([\d,]+)/.exec(text)?.[1].replace(/,/g, "")));

test("the numbers on screen are those of the analysis", async () => {
  const { page, seen, done } = await pageOf(oom.html);
  assert.ok(kit.saysBytes(await kit.said(page), device.ooms[0].live_bytes), await kit.said(page));
  assert.equal(eventOf(await kit.said(page)), device.ooms[0].event);
  await press(page, "p");
  await rest(page);
  assert.equal(eventOf(await kit.said(page)), device.peak_event);
  // the legend holds the roles at the cursor
  await press(page, "o");
  await rest(page);
  const legend = await page.evaluate(() => document.querySelector(".tl-legend").textContent);
  const names = new Map(await page.evaluate(() => JSON.parse(document.getElementById("mt-index").textContent).roles.map((r) => [r.id, r.name])));
  const roles = device.roles.filter((r) => r.bytes > 0);
  assert.ok(roles.length > 3, JSON.stringify(device.roles[0]));
  for (const r of roles.sort((a, b) => b.bytes - a.bytes).slice(0, 4)) {
    const at = legend.indexOf(names.get(r.role));
    assert.ok(at >= 0 && kit.saysBytes(legend.slice(at + names.get(r.role).length), r.bytes), `${r.role} ${r.bytes}: ${legend}`);
  }
  assert.deepEqual(seen, []);
  await done();
});

test("the card of the answer has the bytes of the analysis, part by part, and its picture the same widths", async () => {
  const { page, seen, done } = await pageOf(oom.html), failed = device.ooms[0];
  const rows = await page.evaluate(() => [...document.querySelectorAll(".card .key li")].map((li) => [li.firstChild.nextSibling.textContent.trim(), li.querySelector("b").textContent]));
  const said = new Map(rows), names = new Map(await page.evaluate(() => JSON.parse(document.getElementById("mt-index").textContent).roles.map((r) => [r.id, r.name])));
  const roles = device.roles.filter((r) => r.bytes > 0);
  assert.ok(roles.length > 3);
  for (const r of roles) assert.ok(kit.saysBytes(said.get(names.get(r.role)), r.bytes), `${r.role} ${r.bytes}: ${JSON.stringify(rows)}`);
  const held = failed.reserved_bytes - failed.live_bytes, foreign = device.capacity_bytes - failed.reserved_bytes - failed.device_free_bytes;
  for (const [name, n] of [["reserved but free", held], ["outside PyTorch", foreign], ["asked for", failed.request_bytes], ["free on the device", failed.device_free_bytes],
    ["end of the card", device.capacity_bytes]]) assert.ok(kit.saysBytes(said.get(name), n), `${name} ${n}: ${JSON.stringify(rows)}`);
  const widths = await page.evaluate(() => [...document.querySelectorAll(".card rect")].map((e) => [e.querySelector("title")?.textContent.split(":")[0], Number(e.getAttribute("width"))]));
  const whole = failed.reserved_bytes + foreign + failed.request_bytes;
  for (const [name, n] of [["the request that failed", failed.request_bytes], ...roles.map((r) => [names.get(r.role), r.bytes])]) {
    assert.ok(Math.abs(new Map(widths).get(name) - (n / whole) * 2000) < 2, `${name}: ${JSON.stringify(widths)}`);
  }
  assert.deepEqual(seen, []);
  await done();
});

test("scrolling through it moves nothing, and what prints is what is at the cursor", async () => {
  const watch = "globalThis.moved = []; new PerformanceObserver((l) => { for (const e of l.getEntries()) moved.push(e.value); }).observe({ type: 'layout-shift' });";
  const { page, seen, done } = await pageOf(oom.html, { init: watch }), height = () => page.evaluate(() => document.documentElement.scrollHeight);
  await kit.until(page, "the panels at the cursor", () => document.documentElement.classList.contains("js-exact") && document.querySelector(".cursor .ib") !== null);
  await rest(page);
  await rest(page);
  const before = await height();
  for (let y = 0; y < before; y += 500) {
    await page.evaluate((to) => scrollTo(0, to), y);
    await page.waitForTimeout(120);
  }
  assert.equal(await height(), before);
  assert.deepEqual(await page.evaluate(() => globalThis.moved), []);
  await page.evaluate(() => scrollTo(0, 0));
  await rest(page);
  await page.evaluate(() => { location.hash = "#c=300"; });
  await kit.until(page, "event 300", () => document.querySelector(".tl-said").textContent.includes("event 300 "));
  await page.evaluate(() => { dispatchEvent(new Event("beforeprint")); });
  assert.match(await page.locator(".cursor .moment").textContent(), /^Event 300 at /);
  assert.ok(await page.locator(".cursor .ib").count());
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator(".bar .name").isVisible(), "what prints says of which input it is");
  assert.ok(!await page.locator("nav").isVisible());
  assert.deepEqual(seen, []);
  await done();
});

test("event by event, live bytes are those of the dump", async () => {
  const events = kit.dumpOf(oomSample).filter((l) => l.type === "event" && l.device === 0);
  let live = device.live_start_bytes;
  const after = events.map((e) => (live += e.action === "alloc" ? e.size : e.action === "free_completed" ? -e.size : 0));
  const { page, seen, done } = await pageOf(oom.html, { hash: "#c=300" });
  for (let i = 0; i < 25; i++) {
    const text = await kit.said(page), at = eventOf(text);
    assert.ok(kit.saysBytes(text, after[at]), `${text}; the dump has ${after[at]}`);
    await press(page, ".");
    assert.ok(eventOf(await kit.said(page)) > at);
  }
  // Also between a free's request and its completion, which the page keeps as one.
  for (let ev = 1690; ev < 1715; ev++) {
    await page.evaluate((to) => { location.hash = to; }, `#c=${ev}`);
    await kit.until(page, `event ${ev}`, (n) => document.querySelector(".tl-said").textContent.replace(/,/g, "").includes(`event ${n} `), ev, 5);
    assert.ok(kit.saysBytes(await kit.said(page), after[ev]), `${await kit.said(page)}; the dump has ${after[ev]}`);
  }
  const forward = eventOf(await kit.said(page));
  await press(page, ",");
  assert.ok(eventOf(await kit.said(page)) < forward);
  assert.deepEqual(seen, []);
  await done();
});

test("every key does what the help says", async () => {
  const { page, seen, done } = await pageOf(oom.html);
  const view = async () => { await rest(page); return kit.hashOf(page); };
  await press(page, "0");
  const whole = await view();
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  await press(page, "w");
  const zoomed = await view();
  assert.match(zoomed, /[#&][te]=[\d.]+-[\d.]+/);
  await press(page, "a");
  const left = await view();
  assert.notEqual(left, zoomed);
  await press(page, "d");
  assert.notEqual(await view(), left);
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "-", "s"]) {
    const before = await view();
    await press(page, "w");
    await press(page, key);
    await press(page, key);
    assert.notEqual(await view(), before, key);
  }
  await press(page, "0");
  assert.equal(await view(), whole);
  await press(page, "n");
  const found = eventOf(await kit.said(page));
  assert.ok(Number.isInteger(found), await kit.said(page));
  await press(page, "b");
  assert.match(await view(), /[#&]b=\d+/);
  await press(page, "b");
  assert.doesNotMatch(await view(), /[#&]b=\d+/);
  await press(page, "?");
  assert.ok(await page.evaluate(() => document.querySelector("dialog.keys").open));
  await press(page, "Escape");
  assert.ok(!(await page.evaluate(() => document.querySelector("dialog.keys").open)));
  await press(page, "/");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".tl-search")));
  await page.keyboard.type("w0pn");
  assert.equal(await page.evaluate(() => document.activeElement.value), "w0pn", "letters in the field are text");
  await press(page, "Escape");
  await press(page, "[");
  await press(page, "]");
  await rest(page);
  assert.deepEqual(seen, []);
  await done();
});

test("the address holds the whole view", async () => {
  const { page, seen, done } = await pageOf(oom.html);
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  await press(page, "w");
  await press(page, "w");
  await page.getByRole("radio", { name: "Phase" }).or(page.getByRole("button", { name: "Phase", exact: true })).first().click();
  await page.fill(".tl-search", ">64M");
  await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent));
  await rest(page);
  const hash = await kit.hashOf(page), words = await kit.said(page), found = await page.evaluate(() => document.querySelector(".tl-found").textContent);
  for (const part of [/[te]=/, /by=phase/, /q=%3E64M/]) assert.match(hash, part);
  const again = await pageOf(oom.html, { hash });
  await rest(again.page);
  assert.equal(await kit.hashOf(again.page), hash);
  assert.equal(await kit.said(again.page), words);
  assert.equal(await again.page.evaluate(() => document.querySelector(".tl-found").textContent), found);
  assert.deepEqual([...seen, ...again.seen], []);
  await again.done();
  await done();
});

test("addresses that nobody wrote break nothing", async () => {
  for (const hash of ["#e=NaN-5&c=1e99", "#r=99999&t=5--7&by=__proto__&q=%E0%A4%A", "#c=-5&a=999999999&s=7-3&b=-1", "#t=1-2&t=3-4&x=q&q=role%3A", "#verdict", "#__proto__=1", "#e=9-1"]) {
    const { page, seen, done } = await pageOf(oom.html, { hash });
    assert.match(await kit.said(page), /live at|At /, hash);
    assert.deepEqual(seen, [], hash);
    await done();
  }
});

test("a search counts what the dump holds", async () => {
  const events = kit.dumpOf(oomSample), { page, seen, done } = await pageOf(oom.html);
  const large = events.filter((l) => l.type === "event" && l.device === 0 && l.action === "alloc" && l.size > 64 * 2 ** 20).length;
  await page.fill(".tl-search", ">64MiB");
  await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent));
  const text = await page.evaluate(() => document.querySelector(".tl-found").textContent);
  assert.equal(Number(/^([\d,]+) of/.exec(text)[1].replace(/,/g, "")), large, text);
  await page.fill(".tl-search", "role:no_such_role");
  await rest(page);
  assert.match(await page.evaluate(() => document.querySelector(".tl-found").textContent), /^0 of|no role|unknown/i);
  await page.fill(".tl-search", "role:kv_cache never-freed");
  await rest(page);
  const kv = device.roles.find((r) => r.role === "kv_cache");
  const now = await page.evaluate(() => document.querySelector(".tl-found").textContent);
  assert.ok(kit.saysBytes(now.slice(now.indexOf(",") + 1), kv.bytes), `${now}; ${kv.bytes}`);
  assert.deepEqual(seen, []);
  await done();
});

test("where a page has but one part exactly, a search says that it counted there, and the tree has room on a phone", async () => {
  let seed = 1, time = 1700000000000000, next = 2 ** 40;
  const die = (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n, live = new Map(), events = [];
  const stack = Array.from({ length: 21 }, (_, i) => ({ name: `layer_${i}`, filename: `/x/m${i % 7}.py`, line: i + 1 }));
  const put = (action, addr, size) => events.push({ action, addr, size, stream: 0, time_us: time += 1 + die(90), frames: action === "alloc" ? stack : [] });
  for (let i = 0; i < 60000; i++) {
    const old = [...live.keys()].at(-1 - die(40));
    if (die(100) < 52 || old === undefined) {
      const size = 512 * (1 + die(4000));
      live.set(next, size);
      put("alloc", next, size);
      next += 2 ** 21;
    } else {
      for (const action of ["free_requested", "free_completed"]) put(action, old, live.get(old));
      live.delete(old);
    }
  }
  const blocks = [...live].map(([address, size]) => ({ address, size, requested_size: size, state: "active_allocated", frames: [] }));
  const input = join(kit.scratch, "parts.json"), born = events.filter((e) => e.action === "alloc").length;
  writeFileSync(input, JSON.stringify({ segments: [{ device: 0, address: 2 ** 40, total_size: next - 2 ** 40, stream: 0, segment_type: "large", blocks }], device_traces: [events] }));
  const full = statSync(kit.reportOf([input], "whole").html).size, level = (html) => /"level":"(\w+)"/.exec(readFileSync(html, "utf8"))[1];
  const html = [0.97, 0.94, 0.9, 0.86, 0.82].map((k) => kit.reportOf([input], `part${k}`, "--max-size", String(Math.floor(full * k))).html).find((f) => level(f) === "windows");
  assert.ok(html, `none of the pages below ${full} bytes has a part exactly`);
  for (const [file, words] of [[html, / of the exact parts/], [join(kit.scratch, "whole.html"), /^[\d,]+ of [\d,]+ allocations, /]]) {
    const { page, seen, done } = await pageOf(file, { hash: "#q=layer_3", width: 390, height: 844 });
    await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent));
    const text = await page.evaluate(() => document.querySelector(".tl-found").textContent), n = Number(/of ([\d,]+)/.exec(text)[1].replace(/,/g, ""));
    assert.match(text, words);
    assert.equal(n === born, file !== html, `${text}; ${born} allocations`);
    await page.evaluate(() => { for (const d of document.querySelectorAll("#owners details")) d.open = true; });
    await kit.until(page, "the tree", () => document.querySelectorAll(".tree tbody tr").length > 20);
    const room = await page.evaluate(() => ({ page: document.documentElement.scrollWidth, rows: [...document.querySelectorAll(".tree tbody th")].map((th) => {
      const { paddingLeft, paddingRight } = getComputedStyle(th);
      return [th.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), parseFloat(paddingLeft)];
    }) }));
    assert.ok(room.rows.every(([w]) => w >= 145) && room.rows.at(-1)[1] > room.rows[0][1] && room.page <= 390, JSON.stringify(room));
    assert.deepEqual(seen, []);
    await done();
  }
});

test("a browser that cannot mix colours shows the selected range and the brush", async () => {
  const old = join(kit.scratch, "unmixed.html");
  writeFileSync(old, readFileSync(oom.html, "utf8").replaceAll("color-mix(", "no-such-mix("));
  for (const file of [oom.html, old]) {
    const { page, seen, done } = await pageOf(file, { hash: "#e=100-900&s=300-600" });
    const [range, brush] = await page.evaluate(() => [getComputedStyle(document.querySelector(".tl-range")).backgroundColor, getComputedStyle(document.querySelector(".tl-brush")).boxShadow]);
    assert.ok(!/transparent|rgba\(0, 0, 0, 0\)/.test(range) && /9999px/.test(brush), `${range}; ${brush}`);
    assert.deepEqual(seen, []);
    await done();
  }
});

test("what is being typed stays while the cursor moves and data arrive", async () => {
  const { page, seen, done } = await pageOf(oom.html), text = await page.evaluate(() => {
    const field = document.querySelector(".tl-search");
    field.value = "kv_cache";
    field.dispatchEvent(new Event("input"));
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: ",", bubbles: true }));
    return `${field.value} ${document.querySelector(".tl-found").textContent}`;
  });
  assert.equal(text, "kv_cache ");
  await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent));
  await page.evaluate(() => { location.hash = "c=5"; });
  await kit.until(page, "an address without a search to empty the field", () => document.querySelector(".tl-search").value === "");
  assert.deepEqual(seen, []);
  await done();
});

test("shift and drag select a range, and say what changed in it", async () => {
  const { page, seen, done } = await pageOf(oom.html, { hash: "#x=e" });
  await page.locator(".tl-over").scrollIntoViewIfNeeded();
  const box = await page.locator(".tl-marks").boundingBox(), y = box.y + box.height / 2, at = (event) => box.x + (box.width * event) / oom.json.devices[0].events;
  await page.keyboard.down("Shift");
  await page.mouse.move(at(630), y);
  await page.mouse.down();
  await page.mouse.move(at(1137), y, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await rest(page);
  const [, a, b] = /[#&]s=(\d+)-(\d+)/.exec(await kit.hashOf(page)).map(Number);
  const events = kit.dumpOf(oomSample).filter((l) => l.type === "event" && l.device === 0);
  // The oracle: what is live after one event and not after the other, by address, from the dump alone.
  const liveAfter = (/** @type {number} */ to) => {
    const live = new Map(); // address -> [size, event of its birth]; what was there before the trace has none
    events.slice(0, to + 1).forEach((e, i) => {
      if (e.action === "alloc") live.set(e.addr, [e.size, i]);
      else if (e.action === "free_completed") live.delete(e.addr) || live.set(`old ${e.addr} ${i}`, [-e.size, i]);
    });
    return live;
  };
  const [before, after] = [liveAfter(a), liveAfter(b)], bytes = (from, other) => [...from].reduce((sum, [k, [size, at]]) => sum + (other.get(k)?.[1] === at ? 0 : size), 0);
  const old = bytes(new Map([...after].filter(([k]) => String(k).startsWith("old"))), before); // freed in the range, there before the trace
  const born = bytes(after, before) - old, gone = bytes(before, after) - old;
  assert.ok(born > 0 && gone > 0, `${born} ${gone}: the range shows neither`);
  const tables = await page.evaluate(() => [...document.querySelectorAll(".tl-changes table")].map((t) =>
    [...t.querySelectorAll("tbody tr")].map((row) => [...row.cells].slice(-3).map((c) => c.textContent))));
  assert.equal(tables.length, 3);
  for (const [i, rows] of tables.entries()) {
    assert.ok(rows.length > 1, JSON.stringify(rows));
    const sums = [0, 0, 0], slack = [1, 1, 1];
    for (const row of rows) row.forEach((cell, k) => { const [v, off] = kit.bytesIn(cell); sums[k] += v; slack[k] += off; });
    [born - gone, born, -gone].forEach((v, k) => assert.ok(Math.abs(sums[k] - v) <= slack[k], `table ${i}, column ${k}: ${sums[k]}, the dump has ${v}: ${JSON.stringify(rows)}`));
  }
  await press(page, "f");
  await rest(page);
  assert.match(await kit.hashOf(page), /[#&][te]=/);
  await press(page, "Escape");
  await rest(page);
  assert.doesNotMatch(await kit.hashOf(page), /[#&]s=/);
  assert.deepEqual(seen, []);
  await done();
});

test("wheel, drag, hover and click", async () => {
  const { page, seen, done } = await pageOf(oom.html);
  await page.locator(".tl-over").scrollIntoViewIfNeeded();
  await rest(page);
  const box = await page.locator(".tl-over").boundingBox(), x = box.x + box.width / 2, y = box.y + box.height * 0.7;
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -400);
  await rest(page);
  const zoomed = await kit.hashOf(page);
  assert.match(zoomed, /[#&][te]=/);
  await page.mouse.down();
  await page.mouse.move(x - 80, y, { steps: 4 });
  await page.mouse.up();
  await rest(page);
  assert.notEqual(await kit.hashOf(page), zoomed);
  await page.mouse.move(x + 3, y);
  await kit.until(page, "the tip", () => !document.querySelector(".tl-tip").hidden);
  assert.match(await page.evaluate(() => document.querySelector(".tl-tip").textContent), /GiB|MiB|KiB/);
  await page.mouse.click(x + 3, y);
  await rest(page);
  assert.match(await kit.hashOf(page), /[#&]a=\d+/);
  assert.match(await page.evaluate(() => document.querySelector(".tl-below").textContent), /KV cache|parameters|weights|logits/);
  assert.deepEqual(seen, []);
  await done();
});

test("a failure that takes a thousandth of the run is wide enough to be pointed at", async () => {
  const { page, seen, done } = await pageOf(oom.html, { hash: "#x=t" });
  await page.locator(".tl-over").scrollIntoViewIfNeeded();
  const marks = await page.locator(".tl-marks").boundingBox();
  await page.mouse.move(marks.x + marks.width - 4, marks.y + marks.height * 0.35); // the last pixel is all of the failure's phase
  await kit.until(page, "the logits", () => /logits/.test(document.querySelector(".tl-tip").textContent));
  await page.mouse.move(marks.x + marks.width - 20, marks.y + marks.height * 0.35);
  await kit.until(page, "no block so high before it", () => !/logits/.test(document.querySelector(".tl-tip").textContent));
  assert.deepEqual(seen, []);
  await done();
});

test("a double click on the last phase shows it to its end", async () => {
  const { time } = JSON.parse(/<script[^>]*id="mt-index"[^>]*>(.*?)<\/script>/s.exec(readFileSync(oom.html, "utf8"))[1]).tracks[0], end = time.end * time.tick_ns / 1e9;
  const { page, seen, done } = await pageOf(oom.html, { hash: `#t=${(end - 0.0001).toFixed(6)}-${end.toFixed(6)}` });
  const { width } = await page.locator(".tl-over").boundingBox();
  await page.locator(".tl-over").dblclick({ position: { x: width - 20, y: 150 } });
  await rest(page);
  const [, from, to] = /[#&]t=([\d.]+)-([\d.]+)/.exec(await kit.hashOf(page));
  assert.ok(Number(from) < end - 0.0002 && Math.abs(Number(to) - end) < 1e-6, `${from} to ${to} of ${end}`);
  assert.deepEqual(seen, []);
  await done();
});

test("an end state without a history has no timeline, and nothing to press", async () => {
  const path = join(kit.scratch, "nothing.json"), blocks = [{ address: 1 << 30, size: 1 << 22, requested_size: 1 << 22, state: "active_allocated", frames: [] }];
  writeFileSync(path, JSON.stringify({ segments: [{ device: 0, address: 1 << 30, total_size: 1 << 22, stream: 0, segment_type: "large", blocks }], device_traces: [[]] }));
  const { page, seen, done } = await kit.open(kit.reportOf([path], "nothing").html);
  assert.equal(await page.locator("#timeline, button, script:not([type])").count(), 0, "nor a script");
  assert.ok(await page.locator("#numbers, #segments").count());
  assert.deepEqual(seen, []);
  await done();
});

test("without its script the page has all that C wrote, and no dead control", async () => {
  const { page, seen, done } = await kit.open(oom.html, { js: false });
  const text = await page.locator("main").innerText();
  assert.ok(text.includes(oom.json.verdict.sentence.slice(0, 60)), "the verdict");
  assert.equal(await page.locator("button, input:not(.whatif input), select, canvas").count(), 0);
  assert.ok(await page.locator("#timeline svg.plot").first().isVisible());
  assert.ok((await page.locator("section").count()) >= 10);
  assert.deepEqual(seen, []);
  await done();
});

test("under the policy of Jenkins, no script and no style, the page reads as it does without its script", async () => {
  const server = createServer((_, reply) => {
    reply.setHeader("Content-Type", "text/html");
    reply.setHeader("Content-Security-Policy", "sandbox; default-src 'none'; img-src 'self'; style-src 'self';");
    reply.end(readFileSync(oom.html));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  server.unref();
  const at = `http://127.0.0.1:${server.address().port}/`;
  const { page, seen, done } = await kit.open(oom.html), plain = await kit.open(oom.html, { js: false });
  seen.length = 0;
  await page.goto(at);
  await page.waitForTimeout(500);
  // what the policy refuses is the style and the scripts of the page; nothing else is asked for
  assert.equal(seen[0], `request: ${at}`);
  assert.ok(seen.slice(1).every((s) => /inline style.*style-src|script execution.*sandboxed/.test(s)), seen.join("\n"));
  const words = (p) => p.evaluate(() => [...document.querySelectorAll("main > *, footer")].map((e) => { e.querySelector(".outcome")?.remove(); return e.innerText; }).join(" ").split(/\s+/).filter(Boolean).sort());
  assert.deepEqual(await words(page), await words(plain.page));
  assert.equal(await page.locator("button, input:not(.whatif input), select, canvas").count(), 0);
  const heights = await page.evaluate(() => [...document.querySelectorAll("svg.plot")].filter((s) => s.checkVisibility()).map((s) => s.getBoundingClientRect().height));
  assert.ok(heights.length >= 1 && heights.every((h) => h > 100), String(heights));
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1440);
  await plain.done();
  await done();
  server.close();
});

test("without DecompressionStream the page stays as C wrote it, and its tables still sort", async () => {
  const { page, seen, done } = await kit.open(oom.html, { init: "delete globalThis.DecompressionStream;" });
  await page.waitForTimeout(500);
  assert.ok(await page.locator("#timeline svg.plot").first().isVisible());
  assert.equal(await page.locator(".tl").count(), 0);
  assert.deepEqual(seen, []);
  await done();
});

for (const [what, init] of [
  ["there is no Worker", "delete globalThis.Worker;"],
  ["a worker cannot be made", "globalThis.Worker = class { constructor() { throw new Error('no'); } };"],
  ["every worker fails", "const W = Worker; globalThis.Worker = class extends W { constructor() { super(URL.createObjectURL(new Blob(['throw 1']))); } };"],
]) test(`where ${what} the page decodes by itself`, async () => {
  const { page, seen, done } = await kit.open(oom.html, { init });
  await kit.exact(page);
  assert.deepEqual(seen.filter((s) => !/Uncaught 1|^error: 1$/.test(s)), []); // a worker's own end, told in the console or, now and then, as the page's
  await done();
});

test("broken data leaves the static page, and says so once", async () => {
  const html = readFileSync(oom.html, "utf8").replace(/(id="mt-t0-c0"[^>]*>)([^<]{40})/, "$1AAAABBBBCCCCDDDDAAAABBBBCCCCDDDDAAAABBBB");
  const path = join(kit.scratch, "broken.html");
  writeFileSync(path, html);
  const { page, done } = await kit.open(path);
  await page.waitForTimeout(1500);
  assert.ok((await page.locator("main").innerText()).includes(oom.json.verdict.sentence.slice(0, 60)));
  assert.notEqual(await page.evaluate(() => document.querySelector(".tl")?.dataset.state), "exact");
  await done();
});

test("hostile names stay text", async () => {
  const evil = "</script><img src=x onerror=alert(1)><b>\u202e&amp;\u2028' onclick=\"alert(2)";
  const data = JSON.parse(readFileSync(join(kit.samples, "tiny.json"), "utf8")), path = join(kit.scratch, "hostile.json");
  const walk = (v) => {
    if (Array.isArray(v)) v.forEach(walk);
    else if (v && typeof v === "object") {
      if (typeof v.name === "string" && typeof v.filename === "string") { v.name = evil + v.name; v.filename = `/${evil}/${v.filename}`; }
      Object.values(v).forEach(walk);
    }
  };
  walk(data);
  writeFileSync(path, JSON.stringify(data));
  const { html } = kit.reportOf([path], "hostile", "--title", evil), { page, seen, done } = await pageOf(html);
  assert.equal(await page.locator("img").count(), 0);
  await press(page, "p");
  await page.fill(".tl-search", "onerror");
  await rest(page);
  const box = await page.locator(".tl-over").boundingBox();
  await page.mouse.click(box.x + box.width * 0.8, box.y + box.height * 0.7);
  await rest(page);
  for (const button of await page.getByRole("button", { name: /Stack|Allocation/ }).all()) if (await button.isVisible()) await button.click();
  await rest(page);
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(seen, []);
  await done();
});

test("64 ranks: the worst one first, every one to choose", async () => {
  const folder = join(kit.scratch, "ranks");
  mkdirSync(folder);
  for (let i = 0; i < 64; i++) cpSync(join(kit.samples, i === 37 ? "fragmentation_oom.pickle" : "tiny.pickle"), join(folder, `rank${i}.pickle`));
  const { html, json } = kit.reportOf([folder], "ranks"), { page, seen, done } = await pageOf(html);
  const options = await page.locator(".tl-track option").allTextContents();
  assert.equal(options.length, 64);
  const strip = await page.locator(".strip li").allInnerTexts();
  assert.equal(strip.length, 9, "eight, and how many more there are");
  assert.match(strip[0], /^rank 37\b.*out of memory/s);
  assert.equal(strip[8], "56 more");
  const chosen = await page.evaluate(() => document.querySelector(".tl-track").selectedOptions[0].textContent);
  assert.match(chosen, new RegExp(`\\b${json.verdict.rank}\\b`));
  await page.locator(".tl-track").selectOption({ index: 5 });
  await rest(page);
  assert.match(await kit.hashOf(page), /[#&]r=\d+/);
  await kit.exact(page);
  const note = await page.locator(".tl-other").innerText();
  assert.ok(note.includes(options[5]) && note.includes(chosen), note);
  const heading = () => page.locator("#h-phases").innerText();
  assert.ok((await heading()).includes(`of ${chosen}`), "a section of one rank says which while another is looked at");
  for (const at of [".cursor", ".segmap"]) assert.ok((await page.locator(`${at} h3`).textContent()).endsWith(` of ${options[5]}`), "what is at the cursor says of which rank it is");
  assert.doesNotMatch(await page.locator("#h-owners").innerText(), /rank/, "no other rank is named above it");
  assert.ok((await page.locator("#owners > .note").innerText()).includes(`of ${chosen}`));
  await page.locator(".tl-other a").click();
  await rest(page);
  assert.equal(await page.evaluate(() => document.querySelector(".tl-track").selectedOptions[0].textContent), chosen, "a link leads back");
  assert.equal(await page.locator(".tl-other").innerText(), "");
  assert.equal(await heading(), "Phases");
  assert.deepEqual(seen, []);
  await done();
});

test("a driver's trace beside a snapshot", async () => {
  const { html } = kit.reportOf([join(kit.samples, "driver_v1.trace.gz"), join(kit.samples, "expandable_segments.pickle")], "driver");
  const { page, seen, done } = await pageOf(html);
  assert.ok(await page.locator("#ledger").count());
  assert.deepEqual(seen, []);
  await done();
});

test("a real snapshot", { skip: existsSync(join(kit.MEMTRACE_SHARED_DATA, "torch")) ? false : "the shared data is not here" }, async () => {
  const { html, json } = kit.reportOf([join(kit.MEMTRACE_SHARED_DATA, "torch/cs336_silmont_small_torch2.6.pickle")], "real"), { page, seen, done } = await pageOf(html);
  await press(page, "p");
  await rest(page);
  const d = json.devices.find((q) => q.device === json.verdict.device) ?? json.devices[0];
  assert.equal(eventOf(await kit.said(page)), d.peak_event);
  assert.deepEqual(seen, []);
  await done();
});

test("nothing is wider than the page, light and dark, wide and narrow", async () => {
  for (const width of [1440, 390]) {
    for (const scheme of ["light", "dark"]) {
      const { page, seen, done } = await pageOf(oom.html, { width, scheme });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width} ${scheme}`);
      const [words, next] = await page.evaluate(() => [document.querySelector(".tl-words").getBoundingClientRect().bottom, document.querySelector("#timeline > .help, #timeline > .csv").getBoundingClientRect().top]);
      assert.ok(words <= next, `${width}: the words end at ${words}, what follows begins at ${next}`);
      assert.deepEqual(seen, []);
      await done();
    }
  }
});
