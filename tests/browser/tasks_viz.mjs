// The tasks of tasks.mjs on the page of PyTorch's memory_viz, where it can tell: hovers over blocks, a part chosen in its strip, a second page for a second rank.
// A block is found by its bytes, as a reader finds it by its height; what is read is the text that the page then shows. One that is drawn less than four pixels
// wide is enlarged first, as nobody hits it. What the page has no words for is not counted: what a reader concludes takes no gestures.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { peerPage } from "../bench/peer/page.mjs";
import * as kit from "./kit.mjs";

const KEY = 0.28, POINT = 1.1, BUTTON = 0.1, DECIDE = 1.35;

/** The blocks of the picture: their bytes, the sum that they begin with, whether they reach its end, and how many pixels wide they are. */
const blocksOf = (page) => page.evaluate(() => {
  const all = [...document.querySelectorAll("polygon")].filter((p) => p.__data__?.elem >= 0), end = Math.max(...all.map((p) => p.__data__.timesteps.at(-1)));
  return all.map((p) => {
    const { size, offsets, elem, timesteps } = p.__data__;
    return { elem, size, sum: size + offsets[0], last: timesteps.at(-1) >= end - 4, wide: p.getBoundingClientRect().width };
  });
});

/** A point where that block, and no other, is under the pointer. */
const pointOf = (page, elem) => page.evaluate((e) => {
  const p = [...document.querySelectorAll("polygon")].find((q) => q.__data__?.elem === e), b = p.getBoundingClientRect();
  for (let fx = 0.95; fx > 0; fx -= 0.1) {
    for (let fy = 0.5; fy < 1; fy += 0.07) {
      const x = b.left + b.width * fx, y = b.top + b.height * fy;
      if (x < innerWidth && document.elementFromPoint(x, y) === p) return [x, y];
    }
  }
  return null;
}, elem);

class Reader {
  gestures = 0;
  seconds = 0;
  read = "";
  constructor(page) { this.page = page; }
  do(seconds, decided = true) {
    this.gestures++;
    this.seconds += seconds + (decided ? DECIDE : 0);
  }
  /** The last part of the run, in the strip below the picture. */
  async enlarge(share) {
    const b = await this.page.locator("svg").nth(1).boundingBox(), y = b.y + b.height / 2;
    await this.page.mouse.move(b.x + b.width * (1 - share), y);
    await this.page.mouse.down();
    await this.page.mouse.move(b.x + b.width + 6, y, { steps: 8 }); // to the very end
    await this.page.mouse.up();
    await this.page.waitForTimeout(200);
    this.do(2 * POINT + 2 * BUTTON);
  }
  async hover({ elem, wide }, decided = true) {
    if (wide < 4) await this.enlarge(0.03);
    const at = await pointOf(this.page, elem);
    if (!at) return false;
    await this.page.mouse.move(...at);
    await this.page.waitForTimeout(60);
    this.do(POINT, decided);
    this.read += `${await this.page.locator("pre").first().textContent()}\n`;
    return true;
  }
}

/** "6.96GiB", as that page writes bytes, within what its digit can say. */
const says = (text, bytes) => [...text.matchAll(/([\d.]+)(B|KiB|MiB|GiB)/g)].some(([, n, u]) => Math.abs(n * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(u) - bytes) <= 0.051 * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(u));

/** @param {string} viz folder of PyTorch's files @param {{sample: string, ranks: string, holder: any, big: any, bigLabel: string, peaks: number[], stripe: number}} of
 *  @returns {Promise<string[]>} a cell for each task */
export async function vizCells(viz, { sample, ranks, holder, big, bigLabel, peaks, stripe }) {
  let n = 0;
  const opened = async (snapshot) => {
    const html = join(kit.scratch, `viz${n++}.html`);
    peerPage(viz, snapshot, html);
    const { page, done } = await kit.open(html);
    await kit.until(page, "the plot of memory_viz", () => document.querySelectorAll("polygon").length > 2);
    return { page, done };
  };
  const cell = (r, what) => `${r.gestures}, ${r.seconds.toFixed(1)} s: ${what}`, cells = [];
  const one = await opened(sample);
  const fresh = async () => { await one.page.reload(); await kit.until(one.page, "the plot", () => document.querySelectorAll("polygon").length > 2); return new Reader(one.page); };

  let r = await fresh(), named = 0;
  const parts = (await blocksOf(one.page)).filter((b) => b.size === stripe && b.last);
  for (const [i, b] of parts.entries()) named += await r.hover(b, i === 0);
  cells.push(cell(r, `names the line at ${named} of ${parts.length} blocks (${r.read.includes(holder.label.split(" ").at(-1)) ? "with it" : "without it"}); their sum: no`));

  r = await fresh();
  await r.hover((await blocksOf(one.page)).find((b) => b.size === big.size));
  cells.push(cell(r, `${says(r.read, big.size) && r.read.includes(bigLabel) ? "the largest that came, with its line" : "nothing"}; what came and went as a table: no`));

  const folder = join(kit.scratch, "ranks");
  execFileSync("sh", ["-c", `mkdir -p "$1" && tar -xzf "$2" -C "$1"`, "sh", folder, ranks]);
  const snapshots = readdirSync(folder, { recursive: true }).filter((f) => f.endsWith(".pickle")).sort(), seen = [];
  r = new Reader(null);
  for (const [i, name] of snapshots.entries()) {
    const { page, done } = await opened(join(folder, name));
    r.page = page;
    r.read = "";
    if (i) r.do(2 * KEY); // to the other page
    await r.hover((await blocksOf(page)).reduce((a, b) => (b.sum > a.sum ? b : a)));
    seen.push(peaks.some((p) => says(r.read, p)));
    await done();
  }
  cells.push(cell(r, `${seen.filter(Boolean).length} of ${peaks.length} peaks read, on pages of their own`));

  r = await fresh();
  await r.hover((await blocksOf(one.page)).find((b) => b.size === big.size));
  cells.push(cell(r, /timestamp/.test(r.read) ? "its time of day" : "no time"));
  await one.done();
  return [...cells, "a shape to judge; no", "no"];
}
