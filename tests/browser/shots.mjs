// shots.mjs [FOLDER]: the screenshots of docs/ (FOLDER: elsewhere), made again from the sample, each as large as a window:
//   page-wide.png     the top of the page, 1440 wide, light      page-dark.png     the timeline zoomed to the failure, dark
//   page-narrow.png   the timeline as a phone shows it           page-noscript.png the timeline where scripts are blocked
//   ledger.png        of a job recorded on an H100 (samples/real), the device's memory by owner
// $MEMTRACE names the program, tests/web has to have its packages (npm ci). Look at them before they are committed.
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
process.env.MT_SOURCE_DIR ||= root;
process.env.MEMTRACE ||= join(root, "build/memtrace");
const kit = await import("./kit.mjs");
kit.skipUnlessPossible();

const { html } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "shots", "--capacity", "80GiB"), job = kit.reportOf([join(kit.samples, "real/h100_loop_oom.trace.gz")], "job");
const out = process.argv[2] ?? join(root, "docs"), LIMIT = 250000;

/** Puts a part of the page below the upper edge of the window. */
const showAt = (page, selector, gap) => page.evaluate(([s, g]) => {
  const el = document.querySelector(s);
  scrollTo(0, el.getBoundingClientRect().top + scrollY - g);
}, [selector, gap]);

async function shot(name, options, prepare) {
  const { page, seen, done } = await kit.open(options.html ?? html, options), path = join(out, `${name}.png`);
  if (options.js !== false) await kit.exact(page);
  await prepare(page);
  await page.waitForTimeout(700); // the glide has ended, and no button is just changing its colour
  await page.screenshot({ path });
  if (seen.length) throw new Error(`${name}: ${seen.join("; ")}`);
  const { size } = statSync(path);
  if (size > LIMIT) throw new Error(`${path}: ${size} bytes, more than ${LIMIT}`);
  console.log(`${path}: ${options.width} x ${options.height}, ${size} bytes`);
  await done();
}

try {
  await shot("page-wide", { width: 1440, height: 1000 }, (page) => showAt(page, "body", 0));
  await shot("page-dark", { width: 1200, height: 900, scheme: "dark" }, async (page) => {
    await page.keyboard.press("o");
    await showAt(page, "#timeline", 16);
    await page.waitForTimeout(500);
    const box = await page.locator(".tl-over").boundingBox();
    await page.mouse.click(box.x + box.width * 0.955, box.y + box.height * 0.36); // the logits, the highest thing there: pinned
    await page.mouse.move(box.x + box.width * 0.955, box.y + box.height * 0.38); // and named
  });
  await shot("page-narrow", { width: 390, height: 844 }, (page) => showAt(page, "#timeline", 8));
  await shot("page-noscript", { width: 1440, height: 1000, js: false }, (page) => showAt(page, "#timeline", 16));
  await shot("ledger", { html: job.html, width: 1240, height: 760 }, (page) => showAt(page, "#ledger", 16));
} finally {
  await kit.closeBrowser();
}
