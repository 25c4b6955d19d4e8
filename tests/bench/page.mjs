// page.mjs -- a report's page against the page of PyTorch's memory_viz, in one run, on the same snapshots.
//
//   (cd ../web && npm ci); (cd peer && npm ci)
//   node page.mjs --memtrace ../../build/memtrace --viz FOLDER [--kinds loop,random] [--events 100000,1000000] [--runs 3] [--dir SCRATCH]
//                 [--max-size N] [--peer-runs N] [--peer-limit EVENTS]
//
// FOLDER holds torch/utils/viz/MemoryViz.js and torch/cuda/_memory_viz.py of PyTorch as they are, without it only ours is measured. The
// peer's page imports its script and d3 from the network: here both are bundled into the page, and nothing else of it is changed.
// Prints a Markdown table; medians over the runs, each in a browser of its own, alternating; in brackets the
// lowest, which says more on a machine that does other things as well.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "../web/node_modules/playwright-core/index.mjs";
import { peerPage } from "./peer/page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { values: opt } = parseArgs({ options: {
  memtrace: { type: "string", default: join(here, "../../build/memtrace") }, viz: { type: "string" },
  events: { type: "string", default: "100000" }, kinds: { type: "string", default: "loop,random" }, runs: { type: "string", default: "3" }, dir: { type: "string" },
  "max-size": { type: "string" }, "peer-limit": { type: "string", default: "1500000" }, "peer-runs": { type: "string" }, chromium: { type: "string", default: "/usr/bin/chromium" },
} });
const scratch = opt.dir ? resolve(opt.dir) : mkdtempSync(join(tmpdir(), "page-bench-"));
mkdirSync(scratch, { recursive: true });
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
const MIB = 1 << 20;

function run(command, args, options = {}) {
  const t0 = process.hrtime.bigint();
  const done = spawnSync(command, args, { encoding: "utf8", maxBuffer: 1 << 28, ...options });
  if (done.status !== 0 && done.status !== 3) throw new Error(`${command} ${args.join(" ")}: ${done.error ?? done.stderr}`);
  return Number(process.hrtime.bigint() - t0) / 1e9;
}

/** How a page is told to be ready, and where its wheel is turned. */
const sides = {
  memtrace: { ready: () => ["exact", "windows", "failed"].includes(document.querySelector("#timeline")?.dataset.level),
    target: "#timeline .tl-over", hit: ".tl-over, .tl-over *" },
  memory_viz: { ready: () => document.querySelectorAll("svg path, svg polygon").length > 50, target: "svg", hit: "path, polygon" },
};

async function measure(side, file) {
  const browser = await chromium.launch({ executablePath: opt.chromium,
    args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info", "--js-flags=--expose-gc"] });
  try {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Performance.enable");
    const t0 = Date.now();
    await page.goto(`file://${file}`, { waitUntil: "commit", timeout: 300000 });
    let ready = NaN;
    while (Date.now() - t0 < 240000) {
      const at = await page.evaluate(side.ready).then((ok) => (ok ? page.evaluate(() => performance.now()) : null), () => null);
      if (at !== null) { ready = at; break; }
      await new Promise((r) => setTimeout(r, 5));
    }
    const exact = await page.evaluate(() => performance.getEntriesByName("memtrace-exact")[0]?.startTime ?? null);
    const metricsNow = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
    const cpu = (await metricsNow()).ProcessTime * 1000;
    await new Promise((r) => setTimeout(r, 1500)); // what was begun is drawn to its end
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
    const before = (await metricsNow()).ThreadTime;
    const frames = await page.evaluate(async ({ target: selector, hit }) => {
      const plot = document.querySelector(selector), took = [];
      if (!plot) return [];
      plot.scrollIntoView({ block: "center" });
      await new Promise((r) => setTimeout(r, 500)); // a page that was just scrolled takes the wheel for more of it
      const box = plot.getBoundingClientRect();
      // The wheel turns over something that is drawn: what lies there hears it.
      const x = box.left + box.width * 0.6;
      let y = 0, target = null;
      for (let i = 50; i < 100 && !target?.matches(hit); i++) target = document.elementFromPoint(x, y = box.top + box.height * i / 100);
      if (!target?.matches(hit)) return [];
      for (let i = 0; i < 24; i++) {
        const begun = performance.now();
        target.dispatchEvent(new WheelEvent("wheel", { deltaY: i < 14 ? -120 : 120, clientX: x, clientY: y,
          bubbles: true, cancelable: true }));
        await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
        took.push(performance.now() - begun);
      }
      return took;
    }, { target: side.target, hit: side.hit });
    const metrics = await metricsNow();
    const whole = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? NaN);
    const level = await page.evaluate(() => document.querySelector("#timeline")?.dataset.level ?? "-");
    return { paint, level, cpu, frameCpu: (metrics.ThreadTime - before) * 1000 / frames.length, ready: exact ?? ready, p50: frames.length ? quantile(frames, 0.5) : NaN, p95: frames.length ? quantile(frames, 0.95) : NaN,
      heap: Math.max(metrics.JSHeapUsedSize ?? 0, whole) };
  } finally {
    await browser.close();
  }
}

const show = (v, digits = 0) => (Number.isFinite(v) ? v.toFixed(digits) : "-");
console.log("| trace | events | page | written in s (of it the page) | file, MB | holds | first paint, ms | exact (peer: plot), ms | CPU until then, ms | zoom frame p50 / p95, ms | CPU per frame, ms | JS heap, MiB |");
console.log("|---|---:|---|---:|---:|---|---:|---:|---:|---:|---:|---:|");
for (const kind of opt.kinds.split(",")) for (const events of opt.events.split(",").map(Number)) {
  const snapshot = join(scratch, `${kind}-${events}.pickle`), limit = opt["max-size"] ? ["--max-size", opt["max-size"]] : [];
  if (!existsSync(snapshot)) run("python3", ["-B", join(here, "gen.py"), String(events), snapshot, ...(kind === "loop" ? ["--loop"] : [])]);
  const pages = {}, results = {}, written = {}, times = [[], []];
  pages.memtrace = join(scratch, `${kind}-${events}.html`);
  // What writing the page adds: against the same analysis written as JSON, alternating.
  for (let i = 0; i < Number(opt.runs); i++) {
    times[0].push(run(opt.memtrace, ["report", snapshot, "-o", pages.memtrace, "--force", "-q", ...limit]));
    times[1].push(run(opt.memtrace, ["report", snapshot, "--format", "json", "-o", "/dev/null", "--force", "-q"]));
  }
  written.memtrace = `${show(median(times[0]), 2)} (${show(median(times[0].map((t, i) => t - times[1][i])), 2)})`;
  if (opt.viz && events <= Number(opt["peer-limit"])) {
    pages.memory_viz = join(scratch, `${kind}-${events}.viz.html`);
    written.memory_viz = show(peerPage(opt.viz, snapshot, pages.memory_viz), 2);
  }
  for (let i = 0; i < Number(opt.runs); i++)
    for (const name of Object.keys(pages))
      if (name === "memtrace" || i < Number(opt["peer-runs"] ?? opt.runs)) (results[name] ??= []).push(await measure(sides[name], pages[name]));
  for (const name of Object.keys(pages)) {
    const all = (key) => results[name].map((r) => r[key]), of = (key) => median(all(key));
    const both = (key) => `${show(of(key))}${all(key).length > 1 ? ` (${show(Math.min(...all(key)))})` : ""}`;
    console.log(`| ${kind} | ${events.toLocaleString("en")} | ${name} | ${written[name]} | ${show(statSync(pages[name]).size / 1e6, 2)} | ${results[name][0].level} | ` +
      `${both("paint")} | ${both("ready")} | ${show(of("cpu"))} | ${show(of("p50"), 1)} / ${show(of("p95"), 1)}${all("p50").length > 1 ? ` (${show(Math.min(...all("p50")), 1)} / ${show(Math.min(...all("p95")), 1)})` : ""} | ${show(of("frameCpu"), 1)} | ${show(of("heap") / MIB)} |`);
  }
}
if (!opt.dir) rmSync(scratch, { recursive: true });
