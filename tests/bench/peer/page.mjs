// The page of PyTorch's memory_viz with its imports inside: it asks the network for its script and for d3, and nothing else of it is changed. FOLDER holds
// torch/utils/viz/MemoryViz.js and torch/cuda/_memory_viz.py of PyTorch as they are (its source has both, for example `apt-get source pytorch`).
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const modules = join(dirname(fileURLToPath(import.meta.url)), "node_modules"); // npm ci in this folder

/** @param {string} viz the FOLDER @param {string} snapshot @param {string} out the page @returns {number} seconds that writing it took */
export function peerPage(viz, snapshot, out) {
  const source = readFileSync(join(viz, "torch/utils/viz/MemoryViz.js"), "utf8").replace(/https:\/\/cdn\.skypack\.dev\/(d3[\w-]*)@\d+/g, "$1");
  writeFileSync(join(modules, "MemoryViz.js"), source);
  execFileSync(join(modules, ".bin/esbuild"), [join(modules, "MemoryViz.js"), "--bundle", "--format=iife", "--global-name=MemoryViz", `--outfile=${out}.js`, "--log-level=error"]);
  const begun = process.hrtime.bigint();
  execFileSync("python3", [join(viz, "torch/cuda/_memory_viz.py"), "trace_plot", snapshot, "-o", `${out}.cdn`], { stdio: ["ignore", "ignore", "inherit"] });
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9, page = readFileSync(`${out}.cdn`, "utf8");
  const changed = page.replace(/<script type="module">\s*import \{add_local_files\} from "[^"]*"/,
    () => `<script>${readFileSync(`${out}.js`, "utf8")}</script>\n<script type="module">\nconst {add_local_files} = MemoryViz`);
  if (changed === page) throw new Error("the peer's page has another form than expected");
  writeFileSync(out, changed);
  rmSync(`${out}.cdn`);
  return seconds;
}
