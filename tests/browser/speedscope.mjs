// speedscope.mjs FOLDER [INPUT...]: `memtrace export --to speedscope` in speedscope itself, of which FOLDER has the npm package
// (`npm install --prefix FOLDER speedscope`). Each export is loaded by #profileURL= from 127.0.0.1, one also by the Import button and by
// a drop. Compared: names and totals of the profiles with `report --format json`, the rows of its third view with sums over the file, and
// what its Export button writes, stack by stack, with the file; so too `--to folded`, which it reads as well. Without INPUTs: the
// samples, real snapshots where there are some, hostile names, deep stacks, an empty trace, a big one.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, extname, join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
const [folder, ...given] = process.argv.slice(2), root = [join(folder ?? "", "node_modules/speedscope/dist/release"), join(folder ?? "", "dist/release")].find((p) => existsSync(join(p, "index.html")));
if (!root) {
  console.log("# usage: speedscope.mjs FOLDER [INPUT...]; 'npm install --prefix FOLDER speedscope' puts it there");
  process.exit(77);
}
const { chromium } = await import(join(kit.MT_SOURCE_DIR, "tests/web/node_modules/playwright-core/index.mjs"));

/* ---- inputs ---------------------------------------------------------------------------------------------------------------------- */

const write = (name, value) => { const path = join(kit.scratch, name); writeFileSync(path, JSON.stringify(value)); return path; };
const alloc = (addr, size, frames) => ({ action: "alloc", addr, size, stream: 0, frames, time_us: addr });
function snapshot(name, events) {
  const blocks = events.map((e) => ({ size: e.size, requested_size: e.size, address: e.addr, state: "active_allocated", frames: e.frames }));
  const total = events.reduce((n, e) => n + e.size, 0);
  return write(name, { device_traces: [events], segments: !total ? [] : [{ device: 0, address: events[0].addr, total_size: total, allocated_size: total, active_size: total,
    requested_size: total, stream: 0, segment_type: "large", blocks }] });
}
function hostile() {
  const names = ["a;b\nc \"d\" </script><img src=x onerror=alert(1)>\x1b[31m\u2028 \0 \u00e4", "__proto__", "constructor", "toString", "", " ", "(speedscope root)",
    "\u202egnp.exe", "x".repeat(5000), "_ZN2at5emptyEv", "\ud83d\ude80", "?", "null"];
  let addr = 4096;
  const at = (size, frames) => { addr += size; return alloc(addr - size, size, frames); };
  const frame = (name, line = 1, filename = `${name}.py`) => ({ name, filename, line });
  return snapshot("hostile.json", [...names.flatMap((n, i) => [at(512 * (i + 1), [frame(n), frame("outer")]), at(1024, [frame("inner"), frame(n, 2), frame(n, 2), frame(n, 3)])]),
    at(4096, []), at(2048, [frame("", 0, "")]), at(512, [frame("same", 1, "a.py"), frame("same", 2, "a.py"), frame("same", 1, "b.py")])]);
}
const deep = () => snapshot("deep.json", [400, 511, 512, 513, 2000].map((depth, i) => alloc(4096 * (i + 1), 4096,
  Array.from({ length: depth }, (_, k) => ({ name: i % 2 ? "recursion" : `f${k}`, filename: "deep.py", line: i % 2 ? 7 : k + 1 })))));
function big() {
  const path = join(kit.scratch, "big.pickle");
  const done = spawnSync("python3", ["-B", join(kit.MT_SOURCE_DIR, "tests/bench/gen.py"), "300000", path], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return path;
}
function inputs() {
  if (given.length) return given;
  const real = join(kit.MEMTRACE_SHARED_DATA, "torch"), list = (dir) => readdirSync(dir).filter((n) => /\.(pickle|tar\.gz)$/.test(n)).sort().map((n) => join(dir, n));
  return [...list(kit.samples).filter((p) => !p.includes("truncated")), ...(kit.MEMTRACE_SHARED_DATA && existsSync(real) ? list(real) : []), hostile(), deep(),
    snapshot("one byte.json", [alloc(4096, 1, [{ name: "f", filename: "f.py", line: 1 }])]), snapshot("nothing live.json", [{ action: "alloc", addr: 4096, size: 0, stream: 0, frames: [] }]), big()];
}

/* ---- what is expected ------------------------------------------------------------------------------------------------------------ */

function run(...args) {
  const done = spawnSync(kit.MEMTRACE, args, { encoding: "utf8", maxBuffer: 1 << 29 });
  assert.ok(done.status === 0 || done.status === 3, `${args.join(" ")}: ${done.status}: ${done.stderr}`);
  return done.stdout;
}
/** speedscope's units are powers of 1024, under the names of those of 1000; from GB on with two decimals. */
function saysBytes(text, n) {
  const m = /^([\d.]+) (B|KB|MB|GB|TB)\b/.exec(text);
  if (!m) return false;
  const unit = 1024 ** ["B", "KB", "MB", "GB", "TB"].indexOf(m[2]), digits = (m[1].split(".")[1] ?? "").length;
  return Math.abs(Number(m[1]) - n / unit) <= 0.5001 / 10 ** digits;
}
const demangled = (name) => (name === "_ZN2at5emptyEv" ? "at::empty()" : name); // speedscope does that itself
const frameKey = (f) => JSON.stringify([demangled(f.name), f.file ?? null, f.line ?? null]);
/** Bytes by stack, of a file of speedscope's format in which every profile is sampled or, as it exports them, evented. */
function stacksOf(file) {
  return file.profiles.map((p) => {
    const stacks = new Map(), add = (stack, bytes) => { const key = stack.map((i) => frameKey(file.shared.frames[i])).join("\n"); stacks.set(key, (stacks.get(key) ?? 0) + bytes); };
    if (p.type === "sampled") p.samples.forEach((s, i) => add(s, p.weights[i]));
    else {
      const open = [];
      let at = p.startValue;
      for (const e of p.events) {
        if (e.at > at) add(open, e.at - at);
        at = e.at;
        if (e.type === "O") open.push(e.frame);
        else assert.equal(open.pop(), e.frame);
      }
    }
    return { name: p.name, total: [...stacks.values()].reduce((a, b) => a + b, 0), stacks };
  });
}
/** Of each frame the bytes of stacks that have it, and of those that end in it. */
function framesOf(profile, frames) {
  const sums = new Map();
  profile.samples.forEach((stack, i) => {
    for (const f of new Set(stack)) {
      const sum = sums.get(f) ?? sums.set(f, { name: demangled(frames[f].name), total: 0, self: 0 }).get(f);
      sum.total += profile.weights[i];
      if (f === stack.at(-1)) sum.self += profile.weights[i];
    }
  });
  return [...sums.values()].sort((a, b) => b.self - a.self);
}
/** Moments of the export of which the report gives the bytes. Returns how many. */
function compareWithReport(path, file) {
  const { devices, phases } = JSON.parse(run("report", path, "-q", "--format", "json", "-o", "-")), said = new Map(file.profiles.map((p) => [p.name, p.endValue]));
  let compared = 0;
  const same = (name, bytes) => {
    if (!said.has(name)) return;
    assert.equal(said.get(name), bytes, name);
    compared++;
  };
  for (const d of devices) {
    const name = `${d.rank === null ? "" : `rank ${d.rank}, `}GPU ${d.device}`, highest = new Map(), of = file.profiles.filter((p) => p.name.startsWith(`${name}: peak of `));
    same(`${name}: live at the peak`, d.live_peak_bytes);
    same(`${name}: live at the dump`, d.live_end_bytes);
    same(`${name}: live when memory ran out`, d.ooms[0]?.live_bytes);
    // each phase by its highest occurrence, in the order in which they begin
    for (const p of phases.filter((row) => row.rank === d.rank && row.device === d.device && row.phase !== "unattributed")) highest.set(p.phase, Math.max(highest.get(p.phase) ?? 0, p.peak_inside_bytes ?? 0));
    [...highest.values()].slice(0, of.length).forEach((bytes, i) => same(of[i].name, bytes));
  }
  return compared;
}

/* ---- speedscope ------------------------------------------------------------------------------------------------------------------ */

let served = "";
const types = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".json": "application/json", ".wasm": "application/wasm", ".txt": "text/plain" };
const server = createServer((q, r) => {
  const { pathname } = new URL(q.url, "http://host"), path = pathname.startsWith("/input/") ? served : join(root, pathname);
  if (!existsSync(path) || !statSync(path).isFile()) return void r.writeHead(404).end();
  r.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
}).listen(0, "127.0.0.1");
await new Promise((r) => server.on("listening", r));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: kit.browserPath, args: ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"] });

async function opened(hash) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true }), page = await context.newPage(), seen = [];
  page.on("console", (m) => { if (m.type() === "error" || (m.type() === "warning" && !/GL Driver Message/.test(m.text()))) seen.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => seen.push(`error: ${e.stack}`));
  page.on("dialog", (d) => { seen.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => { if (!r.url().startsWith(origin) && !/^(blob:|data:)/.test(r.url())) seen.push(`request: ${r.url().slice(0, 200)}`); });
  await page.goto(`${origin}/index.html${hash}`);
  return { page, seen, context };
}
const loaded = (page, title) => kit.until(page, `speedscope shows ${title}`, (t) => document.body.innerText.includes(t), title, 120);
/** The list of profiles, which is in the page before it is opened; it has none where there is one. */
const profilesShown = (page) => page.evaluate(() => [...document.querySelectorAll("tr[title]")].map((r) => ({ name: r.title, total: r.lastElementChild.textContent })));
const tableRows = (page) => page.evaluate(() => [...document.querySelectorAll("tr:not([title])")].map((r) => [...r.querySelectorAll("td")].map((c) => c.textContent)).filter((r) => r.length === 3));

async function check(path) {
  const title = basename(path);
  const out = join(kit.scratch, `export of ${title}.json`.replace(/[^\w. -]/g, "_"));
  run("export", path, "--to", "speedscope", "-o", out, "--force");
  const file = JSON.parse(readFileSync(out, "utf8")), compared = compareWithReport(path, file), [first] = file.profiles;
  served = out;
  const { page, seen, context } = await opened("#profileURL=/input/export.json"), t0 = Date.now();
  await loaded(page, first.name);
  const ms = Date.now() - t0;
  if (file.profiles.length > 1) {
    const shown = await profilesShown(page);
    assert.deepEqual(shown.map((r) => r.name), file.profiles.map((p) => p.name));
    shown.forEach((r, i) => assert.ok(saysBytes(r.total, file.profiles[i].endValue), `${r.name}: ${r.total}; ${file.profiles[i].endValue}`));
  }
  // every profile: its table of frames, heaviest by their own bytes first, as far as it is in view
  let rows = 0;
  for (const [i, profile] of file.profiles.entries()) {
    if (i) await page.keyboard.press("n");
    await loaded(page, profile.name);
    await page.keyboard.press("3");
    await kit.until(page, "the table", () => /Symbol Name/.test(document.body.innerText));
    await page.waitForTimeout(150);
    const left = framesOf(profile, file.shared.frames), table = await tableRows(page);
    if (profile.endValue) assert.ok(table.length >= Math.min(left.length, 20), `${table.length} rows of ${left.length}`);
    for (const [total, self, name] of table) {
      const at = left.findIndex((f) => f.name === name && saysBytes(total, f.total) && saysBytes(self, f.self));
      assert.ok(at >= 0, `${profile.name}: nothing of the file is '${name}' with ${total}, ${self}`);
      left.splice(at, 1);
      rows++;
    }
  }
  // what it writes is what it read
  await page.keyboard.press("1");
  const ours = stacksOf(file), theirs = stacksOf(await exported(page));
  assert.deepEqual(theirs.map((p) => [p.name, p.total]), ours.map((p) => [p.name, p.total]));
  ours.forEach((p, i) => assert.deepEqual([...theirs[i].stacks].sort(), [...p.stacks].sort(), p.name));
  assert.deepEqual(seen, [], title);
  await context.close();
  const lines = await folded(path, first.endValue && file.profiles.length ? out.replace(/json$/, "txt") : "");
  console.log(`ok: ${title}: ${file.profiles.length} profiles, ${compared} totals of the report, ${rows} rows, ${ours.reduce((n, p) => n + p.stacks.size, 0)} stacks, ${lines} folded ones, ${(statSync(out).size / 1e6).toFixed(2)} MB, shown after ${ms} ms`);
  return { out, first };
}
async function exported(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Export").last().click()]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}
/** Folded stacks are read as one profile. Returns how many there were. */
async function folded(path, out) {
  if (!out) return 0; // nothing is live, and an empty file is no profile
  run("export", path, "--to", "folded", "-o", out, "--force");
  const ours = new Map();
  for (const line of readFileSync(out, "utf8").split("\n").filter(Boolean)) {
    const at = line.lastIndexOf(" "), stack = line.slice(0, at).split(";").map(demangled).join("\n");
    ours.set(stack, (ours.get(stack) ?? 0) + Number(line.slice(at + 1)));
  }
  served = out;
  const { page, seen, context } = await opened("#profileURL=/input/export.txt");
  await kit.until(page, "the folded stacks", () => document.body.innerText.includes("export.txt"), undefined, 120);
  const file = await exported(page), [only] = file.profiles, theirs = new Map();
  assert.equal(file.profiles.length, 1);
  for (const [key, bytes] of stacksOf({ ...file, profiles: [only] })[0].stacks) theirs.set(key.split("\n").map((k) => JSON.parse(k)[0]).join("\n"), bytes);
  assert.deepEqual([...theirs].sort(), [...ours].sort(), `${path}, folded`);
  assert.deepEqual(seen, [], `${path}, folded`);
  await context.close();
  return ours.size;
}
/** Its other ways in. */
async function otherWays({ out, first }) {
  for (const way of ["the Import button", "a drop"]) {
    const { page, seen, context } = await opened("");
    await loaded(page, "Hi there!");
    if (way === "a drop") {
      await page.evaluate(([text, name]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name, { type: "application/json" }));
        document.querySelector("body > div, body > *:not(script)").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
      }, [readFileSync(out, "utf8"), basename(out)]);
    } else await page.setInputFiles("input[type=file]", out);
    await loaded(page, first.name);
    assert.deepEqual(seen, [], way);
    await context.close();
    console.log(`ok: by ${way}`);
  }
}

let failed = 0, last = null;
for (const path of inputs()) {
  try {
    const done = await check(path);
    last ??= done;
  } catch (e) {
    failed++;
    console.log(`not ok: ${path}: ${e.stack}`);
  }
}
if (last) await otherWays(last);
await browser.close();
server.close();
console.log(failed ? `${failed} failed` : "all passed");
process.exitCode = failed ? 1 : 0;
