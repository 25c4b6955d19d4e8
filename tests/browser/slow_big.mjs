// slow_big.mjs: pages of a million generated events, and of ten million where MT_BROWSER_10M is set (making those takes minutes): the
// numbers on screen against `--format json` and `memtrace dump`, every key, exact where the page says so, no error, no request.
// Prints the heap. MT_BROWSER_DIR keeps the generated snapshots for the next time.
// Ends with 77 where there is no Chromium or `npm ci` was not run in tests/web.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const help = readFileSync(join(kit.MT_SOURCE_DIR, "templates/report.timeline.html"), "utf8");
const KEYS = [...help.matchAll(/data-keys="([^"]+)" data-do="([^"]+)"/g)].map(([, keys, action]) => ({ keys: keys.split(" "), action }));
assert.ok(KEYS.length > 20);
const big = Boolean(process.env.MT_BROWSER_10M), keep = process.env.MT_BROWSER_DIR ?? kit.scratch, seconds = big ? 240 : 90;
mkdirSync(keep, { recursive: true });

/** A snapshot of tests/bench/gen.py with two failed allocations in it, at a third and at three quarters. */
function snapshot(kind, events) {
  const path = join(keep, `${kind}-oom-${events}.pickle`), script = `
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import gen
module, name = (gen.loop if sys.argv[2] == "loop" else gen), "events"
made = getattr(module, name)
def with_failures(count, *rest):
    for i, event in enumerate(made(count - 2, *rest)):
        yield event
        if i in (count // 3, count * 3 // 4):
            yield "oom", 0, 3 << 30, None, 1
class Writer(gen.Pickle4):
    failed = False
    def string(self, text):
        self.failed = self.failed or text == "oom"
        super().string(text)
    def pairs(self, pairs):  # a failure has no address; it has what was free on the device
        super().pairs((("device_free", 1 << 30),) + tuple(pairs[1:]) if self.failed else pairs)
        self.failed = False
setattr(module, name, with_failures)
gen.Pickle4 = Writer
gen.generate(int(sys.argv[3]), sys.argv[4], repeats=sys.argv[2] == "loop")
`;
  if (existsSync(path)) return path;
  const done = spawnSync("python3", ["-B", "-c", script, join(kit.MT_SOURCE_DIR, "tests/bench"), kind, String(events), `${path}.part`], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  renameSync(`${path}.part`, path);
  return path;
}

/** Live bytes after each of the events wanted, and how many allocations are larger than a size, as the dump has them. */
async function dumped(path, start, wanted, larger) {
  const child = spawn(kit.MEMTRACE, ["dump", path], { stdio: ["ignore", "pipe", "inherit"] }), live = new Map();
  let now = start, event = 0, many = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const m = /^\{"type":"event","device":0,"n":\d+,"action":"(\w+)".*?"size":(\d+)/.exec(line);
    if (!m) continue;
    if (m[1] === "alloc") {
      now += Number(m[2]);
      many += Number(m[2]) > larger ? 1 : 0;
    } else if (m[1] === "free_completed") now -= Number(m[2]);
    if (wanted.has(event)) live.set(event, now);
    event++;
  }
  return { live, many, events: event };
}

const eventOf = (text) => (/before the first event/.test(text) ? -1 : Number(/event ([\d,]+)/.exec(text)?.[1].replace(/,/g, "")));
const rest = async (page) => { await kit.settled(page); await page.waitForTimeout(big ? 1500 : 100); }; // the glide, the address and the exact frame follow with a delay
/** Goes to an address, once nothing is under way that would still write its own. */
async function goTo(page, hash) {
  await rest(page);
  await page.evaluate((h) => { location.hash = h; }, hash);
  await rest(page);
}

/** What a key may be seen to do; before and now are of look(). `from`: the address to press it at. */
function effects(device, last) {
  const ooms = device.ooms.map((o) => o.event).sort((a, b) => a - b), view = (hash) => /(?:^|[#&])[te]=([\d.]+)-([\d.]+)/.exec(hash)?.slice(1).map(Number) ?? [NaN, NaN];
  const width = (hash) => ((v) => (Number.isNaN(v[0]) ? Infinity : v[1] - v[0]))(view(hash));
  const at = (share) => Math.round(last * share), mid = `#e=${at(0.3)}-${at(0.5)}&c=${at(0.4)}`;
  const jumped = (before, now) => Number.isInteger(now.event) && now.event !== before.event;
  return {
    left: { from: mid, ok: (b, n) => view(n.hash)[0] < view(b.hash)[0] }, right: { from: mid, ok: (b, n) => view(n.hash)[0] > view(b.hash)[0] },
    in: { from: mid, ok: (b, n) => width(n.hash) < width(b.hash) * 0.7 }, out: { from: mid, ok: (b, n) => width(n.hash) > width(b.hash) * 1.3 },
    fit: { from: `${mid}&s=${at(0.38)}-${at(0.4)}`, ok: (b, n) => Math.abs(width(n.hash) - last * 0.02) < last * 0.002 },
    peak: { from: mid, ok: (b, n) => n.event === device.peak_event },
    oom: { from: mid, ok: (b, n) => n.event === (ooms.find((e) => e > b.event) ?? ooms[0]) },
    next: { from: mid, ok: jumped }, previous: { from: mid, ok: jumped },
    whole: { from: mid, ok: (b, n) => width(n.hash) === Infinity },
    step: { from: mid, ok: (b, n) => n.event > b.event && n.event < b.event + 10 }, back: { from: mid, ok: (b, n) => n.event < b.event && n.event > b.event - 10 },
    phaseNext: { from: mid, ok: (b, n) => n.event > b.event }, phaseBack: { from: mid, ok: (b, n) => n.event < b.event },
    mark: { from: mid, ok: (b, n) => n.hash.includes(`&b=${b.event}`) },
    pin: { from: mid, ok: (b, n) => /&a=\d+/.test(n.hash) && n.pinned },
    search: { from: mid, ok: (b, n) => n.focus.includes("tl-search") },
    markdown: { from: mid, ok: (b, n) => /Copied as Markdown|Could not copy/.test(n.said) },
    theme: { from: mid, ok: (b, n) => n.theme !== b.theme },
    help: { from: mid, ok: (b, n) => n.help && !b.help },
    clear: { from: `${mid}&b=5&s=10-20&q=role%3Aactivation`, ok: (b, n) => !/&q=/.test(n.hash) && /&b=5&s=10-20/.test(n.hash) && /&b=5&s=10-20&q=/.test(b.hash) },
  };
}
const look = (page) => page.evaluate(() => {
  const text = document.querySelector(".tl-said").textContent;
  return { hash: location.hash, said: text, focus: document.activeElement?.className ?? "", help: document.querySelector("dialog.keys").open,
    theme: [...document.querySelectorAll("button")].find((b) => b.textContent.startsWith("Theme"))?.textContent, pinned: Boolean(document.querySelector(".tl-pin:not([hidden])")) };
}).then((s) => ({ ...s, event: eventOf(s.said) }));

const ready = (page, level) => kit.until(page, `the level ${level}`, (l) => document.querySelector("#timeline")?.dataset.level === l, level, seconds);
/** The words beside the picture once it is at rest. */
async function stateOf(page) {
  await rest(page);
  return page.evaluate(() => document.querySelector(".tl-state").textContent);
}

async function check(t, kind, events, ...args) {
  const path = snapshot(kind, events), { html, json } = kit.reportOf([path], `${kind}-${events}-${args.length}`, ...args), [device] = json.devices;
  assert.equal(device.events, events);
  assert.equal(device.ooms.length, 2);
  const [track] = JSON.parse(/<script[^>]*id="mt-index"[^>]*>(.*?)<\/script>/s.exec(readFileSync(html, "utf8"))[1]).tracks, { level } = track;
  const limit = args.length ? Number(args[1]) : 10e6, { size } = statSync(html), larger = 8 << 20;
  assert.ok(size <= limit, `${size} bytes`);
  assert.ok(args.length ? level === "windows" : level === "exact" || events > 1000000, level);
  const around = (e) => Array.from({ length: 13 }, (_, i) => e - 6 + i), places = [device.peak_event, ...device.ooms.map((o) => o.event)];
  const truth = await dumped(path, device.live_start_bytes, new Set(places.flatMap(around)), larger);
  assert.equal(truth.events, events);
  assert.equal(truth.live.get(device.peak_event), device.live_peak_bytes);

  const { page, seen, done } = await kit.open(html);
  await ready(page, level);
  const times = await page.evaluate(() => ["memtrace-overview", "memtrace-exact"].map((n) => Math.round(performance.getEntriesByName(n)[0]?.startTime ?? NaN)));
  const cdp = await page.context().newCDPSession(page), { usedSize, backingStorageSize = NaN } = await cdp.send("Runtime.getHeapUsage");
  const heap = usedSize + backingStorageSize; // objects, and what typed arrays stand on
  t.diagnostic(`${kind} ${events}: ${(size / 1e6).toFixed(2)} MB, level ${level}; overview after ${times[0]} ms, all after ${times[1]} ms; heap ${(heap / 2 ** 20).toFixed(0)} MiB`);

  // the whole run holds every event, on both axes
  for (const axis of level === "exact" ? ["e", "t"] : []) {
    await goTo(page, `#x=${axis}`);
    await kit.until(page, `all events on the axis ${axis}`, ([a, text]) => document.querySelector(".tl-state").textContent === text &&
      [...document.querySelectorAll(".tl-bar [aria-pressed=true]")].some((b) => b.textContent === a),
    [axis === "e" ? "Events" : "Time", `Exact: ${events.toLocaleString("en")} events in view.`], 30);
  }
  // the failure that matters first, and both of them by key; then the peak
  const says = async (event, bytes) => {
    await rest(page);
    const text = await kit.said(page);
    assert.equal(eventOf(text), event);
    assert.ok(kit.saysBytes(text, bytes), `${text}; ${bytes}`);
  };
  const focus = device.ooms.find((o) => o.event === track.focus.event);
  assert.ok(focus, `the page begins at event ${track.focus.event}, not at a failure`);
  await says(focus.event, focus.live_bytes);
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  await page.keyboard.press("o");
  const inOrder = [...device.ooms].sort((a, b) => a.event - b.event); // the report has the one that counts first
  const other = inOrder.find((o) => o.event > focus.event) ?? inOrder[0];
  await says(other.event, other.live_bytes);
  await page.keyboard.press("p");
  await says(device.peak_event, device.live_peak_bytes);

  // near each of them the picture is exact, and event by event it is the dump
  for (const [key, from] of [["p", ""], ["o", "#c=-1"], ["o", `#c=${device.ooms[0].event}`]]) {
    if (from) await goTo(page, from);
    await page.keyboard.press(key);
    await rest(page);
    for (let i = 0; i < 60 && !/^Exact: \d{1,3} events/.test(await page.evaluate(() => document.querySelector(".tl-state").textContent)); i++) {
      await page.keyboard.press("w");
      await page.waitForTimeout(120);
    }
    assert.match(await stateOf(page), /^Exact: \d{1,3} events? in view/);
    assert.equal(await page.evaluate(() => document.querySelector(".tl").dataset.state), "exact");
    let compared = 0;
    for (let i = 0; i < 5; i++) {
      const text = await kit.said(page), at = eventOf(text);
      if (truth.live.has(at)) {
        assert.ok(kit.saysBytes(text, truth.live.get(at)), `${text}; the dump has ${truth.live.get(at)}`);
        compared++;
      }
      await page.keyboard.press(i < 4 ? "." : ",");
    }
    assert.ok(compared >= 3, `${compared} events near ${await kit.said(page)}`);
  }

  // every key of the list, at the same place: all names of each once, one of each where the page knows parts alone; what they do hangs on nothing else
  const table = effects(device, events - 1);
  for (const row of KEYS) for (const key of kind === "random" && level === "exact" ? [] : row.keys.slice(0, level === "exact" ? Infinity : 1)) {
    const { from, ok } = table[row.action] ?? assert.fail(`no effect is written here for the key ${key}`);
    let place = from; // pins and steps need exact events, which a smaller page has only near what it found
    if (level !== "exact" && ["pin", "step", "back"].includes(row.action)) place = `#e=${device.peak_event - 20}-${device.peak_event + 20}&c=${device.peak_event}`;
    await goTo(page, place);
    await page.evaluate((field) => {
      const dialog = document.querySelector("dialog.keys");
      if (dialog.open) dialog.close();
      document.querySelector(field ? ".tl-search" : ".tl-over").focus();
    }, row.action === "clear");
    const before = await look(page);
    await page.keyboard.press(key === " " ? "Space" : key);
    await rest(page);
    const now = await look(page);
    assert.ok(ok(before, now), `${key} (${row.action}): ${JSON.stringify(before)} -> ${JSON.stringify(now)}`);
  }

  // a search over every allocation counts what the dump counts
  if (level === "exact") {
    await page.fill(".tl-search", `>${larger / 2 ** 20}MiB`);
    await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent), undefined, seconds);
    const text = await page.evaluate(() => document.querySelector(".tl-found").textContent);
    assert.equal(Number(/^([\d,]+) of/.exec(text)[1].replace(/,/g, "")), truth.many, text);
  }
  assert.deepEqual(seen, []);
  await done();
}

/** The longest tasks of the page's main thread after its first paint, ms of CPU: how long one took by the clock says how busy the machine was. */
function longest(trace) {
  const events = JSON.parse(trace).traceEvents, paint = events.filter((e) => e.name === "firstContentfulPaint").at(-1);
  const main = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain" && e.pid === paint.pid).map((e) => e.tid));
  return events.filter((e) => /RunTask$/.test(e.name) && e.pid === paint.pid && main.has(e.tid) && e.ts > paint.ts && e.tdur).map((e) => e.tdur / 1000).sort((a, b) => b - a).slice(0, 5);
}

test("a million events: no task after the first paint takes 100 ms, while they are read, searched, moved through", async (t) => {
  const { html } = kit.reportOf([snapshot("loop", 1000000)], "tasks"), { page, seen, done } = await kit.open(html), browser = page.context().browser();
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "loading"] });
  await page.reload();
  await kit.exact(page);
  await page.waitForTimeout(1500);
  await page.fill(".tl-search", "forward");
  await kit.until(page, "the search", () => /^[\d,]+ of/.test(document.querySelector(".tl-found").textContent), undefined, seconds);
  await page.evaluate(() => document.querySelector(".tl-over").focus());
  for (const key of ["o", "p", "w", "w", "d", "s", "0", "]", "b", "o"]) {
    await page.keyboard.press(key);
    await rest(page);
  }
  const tasks = longest((await browser.stopTracing()).toString());
  t.diagnostic(`the longest, ms of CPU: ${tasks.map((ms) => ms.toFixed(0)).join(", ")}`);
  assert.ok(tasks.length === 5 && tasks[0] > 1, "tasks were seen");
  assert.ok(tasks[0] <= 100, `${tasks[0]} ms`);
  assert.deepEqual(seen, []);
  await done();
});

test("a million events of a training loop", (t) => check(t, "loop", 1000000));
test("a million events without any pattern", (t) => check(t, "random", 1000000));
test("a million events that do not fit into the page", (t) => check(t, "random", 1000000, "--max-size", "3000000"));
test("ten million events", { skip: big ? false : "MT_BROWSER_10M is not set" }, (t) => check(t, "loop", 10000000));
test("ten million events without any pattern", { skip: big ? false : "MT_BROWSER_10M is not set" }, (t) => check(t, "random", 10000000));
