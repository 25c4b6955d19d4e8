// joined.mjs: the page's script as the program writes it: it is what the modules give, it parses, it is as small as docs/architecture.md says, it
// cannot end its element, and the page's policy names its hash. In: MEMTRACE, MT_SOURCE_DIR.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { Script } from "node:vm";

const { MEMTRACE, MT_SOURCE_DIR } = process.env;
const pageOf = (inputs) => execFileSync(MEMTRACE, ["report", ...inputs.map((name) => `${MT_SOURCE_DIR}/samples/${name}`), "--format", "html", "-o", "-", "-q"],
  { encoding: "utf8", maxBuffer: 1 << 28 });
const page = pageOf(["tiny.pickle"]);
const script = /<script>([^]*?)<\/script>/.exec(page)?.[1] ?? "";
const worker = /<script id="mt-worker"[^>]*>([^]*?)<\/script>/.exec(page)?.[1] ?? "";
const LIMIT = 80000; // both scripts together: a wish, not a law of browsers

test("both scripts are in the page whole, and parse", () => {
  assert.equal(script, readFileSync(`${MT_SOURCE_DIR}/templates/page.js`, "utf8"));
  assert.equal(worker.trim(), readFileSync(`${MT_SOURCE_DIR}/templates/worker.js`, "utf8").trim());
  new Script(script);
  new Script(worker);
});

const tools = ["esbuild", "terser"].every((name) => existsSync(`${MT_SOURCE_DIR}/tests/web/node_modules/${name}`));
test("they are what the modules give", { skip: tools ? false : "'npm ci' was not run in tests/web" }, () => {
  const done = spawnSync(process.execPath, [`${MT_SOURCE_DIR}/tests/web/bundle.mjs`, "--check"], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stdout + done.stderr);
});

test("the policy names the hashes of both scripts, and allows no other", () => {
  const hashes = [script, worker].map((s) => `'sha256-${createHash("sha256").update(s).digest("base64")}'`);
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.deepEqual([...policy.matchAll(/script-src ([^;]*)/g)].map((m) => m[1]), [hashes.join(" ")]);
});

test(`both scripts together stay below ${LIMIT} bytes`, () => {
  assert.ok(script.length + worker.length < LIMIT, `${script.length} + ${worker.length} bytes`);
});

test("the worker begins before anything is drawn, where there are operations to decode", () => {
  assert.ok(page.indexOf('<script id="mt-worker" data-now="1">') > 0 && page.indexOf('id="mt-worker"') < page.indexOf("<header"));
});
