// What the browser tests share: a report made with $MEMTRACE, opened in Chromium, watched for errors and requests.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const { MEMTRACE = "", MT_SOURCE_DIR = "", MEMTRACE_SHARED_DATA = "" } = process.env;
export const samples = join(MT_SOURCE_DIR, "samples");
const web = join(MT_SOURCE_DIR, "tests/web/node_modules");

export const browserPath = ["chromium", "chromium-browser", "google-chrome"].map((name) => process.env.CHROMIUM || `/usr/bin/${name}`).find((path) => existsSync(path));

export function skipUnlessPossible() {
  const why = !browserPath ? "there is no Chromium (CHROMIUM names one)" : !existsSync(join(web, "playwright-core")) ? "'npm ci' was not run in tests/web" : "";
  if (!why) return;
  console.log(`# skipped: ${why}`);
  process.exit(77);
}

export const scratch = mkdtempSync(join(tmpdir(), "mt-browser-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** @returns {{html: string, json: any}} the page of an input and what `--format json` says of it */
export function reportOf(input, name, ...args) {
  const html = join(scratch, `${name}.html`);
  const run = (...more) => {
    const done = spawnSync(MEMTRACE, ["report", ...input, ...args, "-q", ...more], { encoding: "utf8", maxBuffer: 1 << 29 });
    assert.ok(done.status === 0 || done.status === 3, `${done.status}: ${done.stderr}`);
    return done.stdout;
  };
  run("-o", html, "--force");
  return { html, json: JSON.parse(run("--format", "json", "-o", "-")) };
}

/** The events of a device as `memtrace dump` prints them. */
export function dumpOf(input) {
  return execFileSync(MEMTRACE, ["dump", input], { encoding: "utf8", maxBuffer: 1 << 30 }).split("\n").filter(Boolean).map((l) => JSON.parse(l));
}

let browser = null;
export async function closeBrowser() { if (browser) await browser.close(); }

/** Opens a page. `seen` collects what must not happen. @returns {Promise<{page: any, seen: string[], done: () => Promise<void>}>} */
export async function open(html, { hash = "", js = true, width = 1440, height = 900, scheme = "light", init = "", touch = false } = {}) {
  const { chromium } = await import(join(web, "playwright-core/index.mjs"));
  browser ??= await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu"] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, javaScriptEnabled: js, hasTouch: touch });
  const page = await context.newPage(), seen = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") seen.push(`console: ${m.text()}`); });
  page.on("pageerror", (e) => seen.push(`error: ${e.stack || e.message}`));
  page.on("dialog", (d) => { seen.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => { if (r.url() !== `file://${html}` && !/^(blob:|data:)/.test(r.url())) seen.push(`request: ${r.url().slice(0, 200)}`); });
  if (init) await page.addInitScript(init);
  await page.goto(`file://${html}${hash}`);
  return { page, seen, done: async () => { await context.close(); } };
}

/** Waits for something in the page; the page's policy forbids evaluating strings, so functions only. */
export async function until(page, what, f, arg, seconds = 60) {
  for (let i = 0; i < seconds * 20; i++) {
    if (await page.evaluate(f, arg)) return;
    await new Promise((r) => setTimeout(r, 50));
  }
  assert.fail(`${what}: not within ${seconds} s`);
}
export const exact = (page) => until(page, "the exact picture", () => document.querySelector(".tl")?.dataset.state === "exact");
/** Until a glide has ended and the address is written, by the page's own clock: the machine may be busy. */
export const settled = (page) => page.evaluate(async () => {
  const timer = (ms) => new Promise((r) => setTimeout(r, ms)), frame = () => new Promise((r) => requestAnimationFrame(r));
  await timer(220); // the glide takes 140, typing waits for 150
  await frame();
  await frame();
  await timer(380); // the address follows 300 after the last change
  await frame();
});
export const said = (page) => page.evaluate(() => document.querySelector(".tl-said").textContent);
export const hashOf = (page) => page.evaluate(() => location.hash);

/** True where a text begins with a size that is n bytes, as far as its digits say. */
export function saysBytes(text, n) {
  const m = /([\d.,]+) (B|KiB|MiB|GiB|TiB)/.exec(text);
  if (!m) return false;
  const unit = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(m[2]), v = Number(m[1].replace(/,/g, "")), digits = (m[1].split(".")[1] ?? "").length;
  return Math.abs(v - n / unit) <= 0.5001 / 10 ** digits;
}

/** A cell of bytes: what it says, and how far rounding may have moved it. An empty one is 0; anything else that is no size fails. */
export function bytesIn(text) {
  const m = /^([+\u2212-]?)([\d.,]+) (B|KiB|MiB|GiB|TiB)$/.exec(text.trim());
  assert.ok(m || text.trim() === "", `no size: ${text}`);
  if (!m) return [0, 0];
  const unit = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(m[3]), digits = (m[2].split(".")[1] ?? "").length;
  return [(m[1] === "" || m[1] === "+" ? 1 : -1) * Number(m[2].replace(/,/g, "")) * unit, (0.5001 * unit) / 10 ** digits];
}
