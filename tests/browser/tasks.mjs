// tasks.mjs [OTHER]: six tasks of a reader on the page, done by a script: how many gestures, how many pages down, and the seconds that the keystroke-level model
// (Card, Moran, Newell 1980: a key 0.28 s, pointing 1.1 s, a button 0.1 s, a decision before each gesture 1.35 s) makes of them. A task is done when its answer, which
// `--format json` or `memtrace dump` knows, can be read in the window of 1440 by 900. OTHER: another memtrace, whose page is measured beside. No people are timed.
// MT_VIZ: a folder with PyTorch's memory_viz (tests/bench/peer/page.mjs), whose page is asked the same (tasks_viz.mjs).
//   [MT_VIZ=FOLDER] MEMTRACE=build/memtrace MT_SOURCE_DIR=$PWD node tests/browser/tasks.mjs [OTHER]
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
const KEY = 0.28, POINT = 1.1, BUTTON = 0.1, DECIDE = 1.35, MOST = 14;
const sample = join(kit.samples, "verl_grpo_oom_logprob.pickle"), ranks = join(kit.samples, "verl_two_ranks.tar.gz"), leak = join(kit.scratch, "leak.pickle");
writeFileSync(leak, execFileSync("python3", ["-B", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import test_forecast as t; sys.stdout.buffer.write(t.build(t.LEAK).data)", join(kit.MT_SOURCE_DIR, "tests/scenarios")], { maxBuffer: 1 << 28 }));
const factsOf = (path, capacity) => JSON.parse(execFileSync(kit.MEMTRACE, ["report", path, "--capacity", capacity, "--format", "json", "-q", "-o", "-"], { encoding: "utf8", maxBuffer: 1 << 28 }));
const oom = factsOf(sample, "80GiB"), two = factsOf(ranks, "24GiB"), grown = factsOf(leak, "80GiB");
const gib = (n) => `${(n / 2 ** 30).toFixed(2)} GiB`, dump = kit.dumpOf(sample), big = dump.filter((e) => e.action === "alloc").reduce((a, b) => (b.size > a.size ? b : a));
const last = oom.owners.find((o) => o.first_event === big.n);

/** What a gesture takes, and how it is made. */
const press = (key) => ({ seconds: KEY, make: async (page) => { await page.evaluate(() => document.querySelector(".tl-over")?.focus()); await page.keyboard.press(key); } });
/** A click on what a reader sees; where it is drawn the script feels for. */
const clickOn = (size) => ({ seconds: POINT + BUTTON, make: async (page) => {
  const b = await page.locator(".tl-over").boundingBox();
  for (let fx = 0.99; fx > 0.5; fx -= 0.01) {
    for (let fy = 0.15; fy < 0.8; fy += 0.08) {
      const x = b.x + 58 + (b.width - 70) * fx, y = b.y + b.height * fy;
      await page.mouse.move(x, y);
      await page.waitForTimeout(12);
      if ((await page.evaluate(() => document.querySelector(".tl-tip:not([hidden])")?.textContent ?? "")).startsWith(size)) return page.mouse.click(x, y);
    }
  }
  return undefined;
} });
/** From the left part of the picture to the cursor, which stands at the failure. */
const rangeTo = (from) => ({ seconds: 2 * POINT + 2 * BUTTON + KEY, make: async (page) => {
  const b = await page.locator(".tl-over").boundingBox(), x = (f) => b.x + 58 + (b.width - 70) * f, y = b.y + b.height * 0.5;
  const end = await page.evaluate(() => [...document.querySelectorAll(".tl-at")].map((e) => e.getBoundingClientRect()).filter((r) => r.width || r.height).at(-1)?.left);
  await page.keyboard.down("Shift");
  await page.mouse.move(x(from), y);
  await page.mouse.down();
  await page.mouse.move(end ?? x(0.98), y, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
} });
/** The picture is looked for first, where it is not in the window. */
const toPicture = { seconds: KEY, make: async (page) => { await page.evaluate(() => document.querySelector(".tl-over").scrollIntoView({ block: "center" })); } };

const setting = oom.advice.find((a) => a.top).set[0].text;
/** Question, input, capacity, ways to the answer with the shortest first, what has to be read, where. */
const TASKS = [
  ["who held the memory at the failure?", sample, "80GiB", [[]], [gib(oom.owners[0].bytes), oom.owners[0].label.split(" ").at(-1)]],
  ["what changed just before it? (the table)", sample, "80GiB", [[toPicture, rangeTo(0.6)], [toPicture, press("o"), rangeTo(0.6)]], [`+${gib(last.bytes)}`, last.label.split(" ").at(-1)], ".tl-tables"],
  ["which rank differs?", ranks, "24GiB", [[]], two.devices.map((d) => gib(d.live_peak_bytes))],
  ["when was the largest block born?", sample, "80GiB", [[toPicture, clickOn(gib(big.size))], [toPicture, press("o"), clickOn(gib(big.size))]], [`event ${big.n.toLocaleString("en")}`, gib(big.size)], ".tl-pin"],
  ["is it a leak?", leak, "80GiB", [[]], [grown.devices[0].growth[0].label.split(" ").at(-1), "step"]],
  ["what do I type?", sample, "80GiB", [[]], [setting]],
];

/** Words in the window, without blanks. */
const readable = (page, within) => page.evaluate((s) => {
  const root = s ? document.querySelector(s) : document.body, walk = document.createTreeWalker(root ?? document.createElement("i"), NodeFilter.SHOW_TEXT), r = document.createRange();
  let text = "";
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (n.parentElement.closest("script, style, template")) continue;
    r.selectNodeContents(n);
    const b = r.getBoundingClientRect();
    if (b.height && b.top >= 0 && b.bottom <= innerHeight) text += n.data;
  }
  return text.replace(/\s/g, "");
}, within);

async function run(program, [, input, capacity, , answer, within], gestures) {
  const html = join(kit.scratch, "task.html");
  const made = spawnSync(program, ["report", input, "--capacity", capacity, "-q", "-o", html, "--force"], { encoding: "utf8" });
  if (made.status) throw new Error(made.stderr);
  const { page, done } = await kit.open(html), ready = Date.now();
  await kit.exact(page);
  const wait = (Date.now() - ready) / 1000, has = async () => { const text = await readable(page, within); return answer.every((a) => text.includes(a.replace(/\s/g, ""))); };
  let seconds = 0, count = 0, pages = 0;
  for (const g of gestures) {
    if (g === toPicture && await page.locator(".tl-over").evaluate((e) => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; })) continue;
    await g.make(page);
    await kit.settled(page);
    seconds += g.seconds + DECIDE;
    count++;
  }
  await page.waitForTimeout(300);
  while (!(await has()) && pages < MOST) {
    await page.evaluate(() => scrollBy(0, innerHeight * 0.9));
    await page.waitForTimeout(60);
    pages++;
  }
  const found = await has();
  await done();
  return { found, count, pages, seconds: seconds + pages * (KEY + DECIDE), wait };
}

try {
  const stripe = dump.find((e) => e.n === oom.owners[0].first_event).size, peaks = two.devices.map((d) => d.live_peak_bytes);
  const peer = process.env.MT_VIZ ? await (await import("./tasks_viz.mjs")).vizCells(process.env.MT_VIZ, { sample, ranks, holder: oom.owners[0], big, bigLabel: last.label.split(" ").at(-1), peaks, stripe }) : [];
  for (const [i, task] of TASKS.entries()) {
    const cells = peer.slice(i, i + 1);
    for (const program of [process.argv[2], kit.MEMTRACE].filter(Boolean)) {
      let r = await run(program, task, task[3][0]);
      for (const more of task[3].slice(1)) if (!r.found) r = await run(program, task, more);
      cells.push(r.found ? `${r.count} + ${r.pages} | ${r.seconds.toFixed(1)}` : `not to be found in ${MOST} pages | -`);
    }
    console.log(`| ${task[0]} | ${cells.join(" | ")} |`);
  }
} finally {
  await kit.closeBrowser();
}
