// bundle.mjs [--check]: makes templates/page.js and templates/worker.js out of the modules of templates/js/. They are kept in the repository, so that
// building memtrace needs neither node nor a network. --check: 1 and a word where they are not what the modules give now.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const templates = join(dirname(fileURLToPath(import.meta.url)), "../../templates");
let stale = 0;
for (const [entry, out] of [["main", "page"], ["worker", "worker"]]) {
  const result = await build({ entryPoints: [join(templates, `js/${entry}.js`)], bundle: true, minify: true, format: "iife", charset: "ascii",
    target: ["chrome100", "firefox113", "safari16.4"], legalComments: "none", write: false, logLevel: "warning" });
  const text = result.outputFiles[0].text, file = join(templates, `${out}.js`);
  let old = "";
  try { old = readFileSync(file, "utf8"); } catch { /* the first time */ }
  if (old === text) continue;
  if (process.argv.includes("--check")) {
    console.log(`templates/${out}.js is not what templates/js/ gives: run 'node tests/web/bundle.mjs'`);
    stale = 1;
  } else {
    writeFileSync(file, text);
    console.log(`templates/${out}.js: ${text.length} bytes`);
  }
}
process.exit(stale);
