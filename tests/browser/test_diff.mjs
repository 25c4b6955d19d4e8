// test_diff.mjs: the page of `memtrace diff`: the numbers in its cells and boxes are those of --format json, both curves are drawn on one axis,
// nothing is wider than the page, in light and dark, without a script. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const job = (name, ...args) => {
  const file = join(kit.scratch, name);
  execFileSync("python3", ["-B", join(kit.samples, "gate/job.py"), file, ...args]);
  return file;
};
const run = (...args) => execFileSync(kit.MEMTRACE, args, { encoding: "utf8", maxBuffer: 1 << 28 });
const first = job("first.pickle"), second = job("second.pickle", "--keep-outputs", "--tokens", "6144");
const pairs = [["two jobs", first, second], ["one of two ranks beside another job", join(kit.samples, "verl_two_ranks.tar.gz"), join(kit.samples, "verl_grpo_oom_logprob.pickle")]];

const tables = (page) => page.evaluate(() => [...document.querySelectorAll("h2 + .scroll > table")].map((table) => ({
  heading: table.parentElement?.previousElementSibling?.textContent,
  rows: [...table.querySelectorAll("tbody tr")].map((tr) => [...tr.children].map((td) => [td.textContent, td.getAttribute("title")])),
})));
const bytes = (n) => n === null ? null : `${n} bytes`;

for (const [what, a, b] of pairs) {
  const html = join(kit.scratch, `${what.replaceAll(" ", "-")}.html`), json = JSON.parse(run("diff", a, b, "--format", "json"));
  run("diff", a, b, "-q", "-o", html, "--threshold", "0%");
  test(`${what}: cells are those of the JSON`, async () => {
    const { page, seen, done } = await kit.open(html, { js: false });
    const list = await tables(page);
    for (const [key, heading] of [["roles", "What the memory is for"], ["phases", "Live bytes while a phase"], ["owners", "Who holds it"], ["ranks", "Live bytes of each"]]) {
      const wanted = json[key].filter((r) => r.change_bytes !== 0).slice(0, 20), got = list.find((t) => t.heading?.startsWith(heading));
      assert.ok(wanted.length > 0 && got, `${key}: ${heading}`);
      assert.deepEqual(got.rows.map((r) => r.slice(1).map((c) => c[1])), wanted.map((r) => [bytes(r.first_bytes), bytes(r.second_bytes), bytes(r.change_bytes)]), key);
    }
    assert.equal(await page.locator("h1").textContent(), `${a.split("/").pop()} beside ${b.split("/").pop()}`);
    assert.equal(await page.title(), `${a.split("/").pop()} beside ${b.split("/").pop()} - memtrace`);
    assert.deepEqual(seen, []);
    await done();
  });
  test(`${what}: boxes add up, and say their bytes`, async () => {
    const { page, done } = await kit.open(html, { js: false });
    const boxes = await page.evaluate(() => [...document.querySelectorAll("svg[aria-labelledby=flame] g > rect")].map((r) => ({
      x: Number(r.getAttribute("x")), y: Number(r.getAttribute("y")), width: Number(r.getAttribute("width")), fill: r.getAttribute("fill"), title: r.parentElement?.querySelector("title")?.textContent || "",
    })));
    const numbers = boxes.map(({ title }) => (/: first ([\d,]+) bytes, second ([\d,]+) bytes \(/.exec(title) || []).slice(1).map((n) => Number(n.replaceAll(",", ""))));
    assert.ok(boxes.length > 3 && numbers.every((n) => n.length === 2), JSON.stringify(boxes[0]));
    const sum = (side) => json.owners.reduce((n, r) => n + (r[side] ?? 0), 0);
    assert.deepEqual(numbers[0], [sum("first_bytes"), sum("second_bytes")]);
    for (const [i, box] of boxes.entries()) { // each as wide as its bytes, inside the one above it
      const [was, is] = numbers[i], share = (was + is) / (numbers[0][0] + numbers[0][1]);
      assert.ok(Math.abs(box.width - share * boxes[0].width) <= 2, box.title);
      assert.ok(i === 0 || boxes.some((p) => p.y === box.y - 20 && p.x <= box.x && p.x + p.width >= box.x + box.width), box.title);
    }
    const hue = (fill) => [fill.slice(1, 3), fill.slice(5, 7)].map((n) => parseInt(n, 16));
    for (const [i, { fill, title }] of boxes.entries()) {
      const [was, is] = numbers[i], [red, blue] = hue(fill);
      if (Math.abs(is - was) > 0.02 * Math.max(is, was)) assert.equal(red > blue, is > was, `${title}: ${fill}`);
    }
    await done();
  });
  test(`${what}: both curves on one axis`, async () => {
    const { page, done } = await kit.open(html, { js: false });
    const drawn = await page.evaluate(() => [...document.querySelectorAll("svg[aria-labelledby=two] > path[fill-opacity]")].slice(0, 2).map((p) => p.getBBox()).map(({ x, y, width, height }) => ({ x, y, width, height })));
    assert.equal(drawn.length, 2);
    assert.ok(drawn.every((b) => b.x === 58 && b.width > 300), JSON.stringify(drawn));
    const tops = drawn.map((b) => b.y);
    assert.equal(tops[0] > tops[1], json.first.peak_bytes < json.second.peak_bytes, `${tops}`);
    await done();
  });
  for (const scheme of ["light", "dark"])
    for (const width of [1440, 1024, 390])
      test(`${what}: ${scheme}, ${width} pixels wide`, async () => {
        const { page, done } = await kit.open(html, { js: false, width, scheme });
        const wide = await page.evaluate(() => [document.documentElement.scrollWidth, ...[...document.body.querySelectorAll("*")]
          .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg")).map((e) => e.tagName)]);
        assert.deepEqual(wide, [width]);
        const gaps = await page.evaluate(() => [...document.querySelectorAll("main > h2")].map((h) => h.getBoundingClientRect().top - (h.previousElementSibling?.getBoundingClientRect().bottom ?? 0)));
        assert.ok(gaps.every((g) => g >= 20), `room above the headings: ${gaps}`);
        await done();
      });
}
