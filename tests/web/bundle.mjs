// bundle.mjs [--check]: makes templates/page.js and templates/worker.js out of the modules of templates/js/. They are kept in the repository, so that
// building memtrace needs neither node nor a network. --check: 1 and a word where they are not what the modules give now.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";

const templates = join(dirname(fileURLToPath(import.meta.url)), "../../templates");
const check = process.argv.includes("--check"), { outputFiles } = await build({
  entryPoints: { page: join(templates, "js/main.js"), worker: join(templates, "js/worker.js") }, outdir: templates, bundle: true, minify: true, format: "iife",
  charset: "ascii", target: ["chrome100", "firefox113", "safari16.4"], legalComments: "none",
  write: false, logLevel: "warning" });
let stale = 0;
for (const { path, text: joined } of outputFiles) {
  // What esbuild has joined, terser writes with fewer and more even words: a twentieth less once it is deflated. `unsafe` is its word for: nobody
  // replaced String, Array and the like, and what is put into a text is no object with a value of its own. Both hold here.
  const { code = "" } = await minify(joined, { ecma: 2020, compress: { ecma: 2020, passes: 3, pure_getters: true, unsafe: true }, format: { ecma: 2020, ascii_only: true } }), text = `${code}\n`;
  let old = "";
  try { old = readFileSync(path, "utf8"); } catch { /* the first time */ }
  if (old === text) continue;
  if (check) {
    console.log(`templates/${basename(path)} is not what templates/js/ gives: run 'node tests/web/bundle.mjs'`);
    stale = 1;
  } else {
    writeFileSync(path, text);
    console.log(`templates/${basename(path)}: ${text.length} bytes`);
  }
}
process.exit(stale);
