// joined.mjs: the modules of templates/js/, joined by the program into one script: it parses, no two modules define the same name, it is as
// small as promised, it cannot end its element, and the page's policy names its hash. In: MEMTRACE, MT_SOURCE_DIR.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { Script } from "node:vm";

const { MEMTRACE, MT_SOURCE_DIR } = process.env;
const page = execFileSync(MEMTRACE, ["report", `${MT_SOURCE_DIR}/samples/tiny.pickle`, "--format", "html", "-o", "-", "-q"],
  { encoding: "utf8", maxBuffer: 1 << 28 });
const script = /<script>([^]*?)<\/script>/.exec(page)?.[1] ?? "";
const worker = /<script type="text\/plain" id="mt-worker">\n([^]*?)<\/script>/.exec(page)?.[1] ?? "";
const LIMIT = 48 * 1024;

test("both scripts parse", () => {
  assert.ok(script.length > 100 && worker.length > 100);
  new Script(script);
  new Script(worker);
});

test("the policy names the hash of the script, and allows no other", () => {
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.deepEqual([...policy.matchAll(/script-src ([^;]*)/g)].map((m) => m[1]), [`'sha256-${hash}'`]);
});

test("no two modules define the same name", () => {
  const seen = new Map();
  for (const file of readdirSync(`${MT_SOURCE_DIR}/templates/js`).filter((f) => f.endsWith(".js"))) {
    const text = readFileSync(`${MT_SOURCE_DIR}/templates/js/${file}`, "utf8");
    const names = [...text.matchAll(/^(?:export )?(?:async )?(?:function\*?|class) +([\w$]+)/gm)].map((m) => m[1]);
    for (const m of text.matchAll(/^(?:export )?(?:const|let) +([^;]*?(?:;|\n(?=\S)))/gms))
      names.push(...m[1].replace(/\/\/.*$/gm, "").split(/,(?![^([{]*[)\]}])/).map((part) => /^\s*([\w$]+)\s*(?==|,|;|$)/.exec(part)?.[1]).filter(Boolean));
    for (const name of new Set(names)) {
      assert.ok(!seen.has(name), `${name} is defined by ${seen.get(name)} and by ${file}`);
      seen.set(name, file);
    }
  }
  assert.ok(seen.size > 5);
});

test("every module is part of the page or of the worker", () => {
  const table = readFileSync(`${MT_SOURCE_DIR}/render/scripts.def`, "utf8");
  const listed = [...table.matchAll(/^MT_SCRIPT\((\w+), [01], [01]\)/gm)].map((m) => `${m[1]}.js`).sort();
  assert.deepEqual(readdirSync(`${MT_SOURCE_DIR}/templates/js`).filter((f) => f.endsWith(".js")).sort(), listed);
});

test(`the page's own code stays below ${LIMIT} bytes`, () => {
  assert.ok(script.length < LIMIT, `${script.length} bytes`);
});
