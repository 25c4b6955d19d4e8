// test_static.mjs: a report without its script: nothing wider than the page at 1440 and 390 pixels, every section there and every picture drawn, the
// same in dark colours and without the style sheet (as a mail or a ticket shows it). Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

/** What is drawn. */
const measure = (page) => page.evaluate(() => {
  const tall = (list) => [...list].map((e) => e.getBoundingClientRect().height);
  const wide = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg")).map((e) => `${e.tagName}.${e.className}`);
  return {
    width: document.documentElement.scrollWidth, wide: wide.slice(0, 3), sections: tall(document.querySelectorAll("section")),
    plots: tall(document.querySelectorAll("svg.plot")), hidden: document.querySelectorAll("details:not([open]) svg.plot").length,
    empty: [...document.querySelectorAll("section")].filter((s) => !s.textContent.trim()).length, page: getComputedStyle(document.body).backgroundColor,
  };
});

for (const sample of ["verl_grpo_oom_logprob.pickle", "verl_two_ranks.tar.gz"]) {
  const { html } = kit.reportOf([join(kit.samples, sample)], sample), text = readFileSync(html, "utf8"), bare = `${html}.bare.html`;
  const sections = text.split("<section ").length - 1;
  assert.ok(text.includes("style-src 'unsafe-inline'") && sections > 3);
  writeFileSync(bare, text.replace("style-src 'unsafe-inline'", "style-src 'none'"));
  const seen = new Map();
  for (const look of ["light", "dark", "bare"]) {
    for (const width of [1440, 390]) {
      test(`${sample}, ${look}, ${width} pixels wide`, async () => {
        const { page, done } = await kit.open(look === "bare" ? bare : html, { js: false, width, scheme: look === "dark" ? "dark" : "light" });
        const m = await measure(page);
        // Without CSS a table or a picture may be as wide as it has to be.
        if (look !== "bare") assert.deepEqual([m.width <= width, m.wide], [true, []], `${m.width} pixels wide: ${m.wide}`);
        assert.equal(m.sections.length, sections);
        assert.ok(m.sections.every((h) => h > 20) && m.empty === 0, `heights of the sections: ${m.sections}`);
        assert.ok(m.plots.length > 0 && m.plots.filter((h) => h > 50).length >= m.plots.length - m.hidden, `heights of the pictures: ${m.plots}`);
        if (look === "light" && width > 1000) {
          await page.setViewportSize({ width: 700, height: 1000 }); // A4 with its margins
          await page.emulateMedia({ media: "print" });
          const over = await page.evaluate(() => [...document.querySelectorAll("table, svg.plot")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.closest("section").id));
          assert.deepEqual(over, [], "what prints is on the paper");
        }
        seen.set(look, m.page);
        await done();
      });
    }
  }
  test(`${sample}: the three looks differ`, () => assert.equal(new Set(seen.values()).size, 3, [...seen].join("; ")));
}

test("a folded line of another rank says what that section has of it", async () => {
  const { html } = kit.reportOf([0, 1].map((i) => join(kit.samples, `torch/fsdp2_rank${i}.pickle.gz`)), "folded"), { page, done } = await kit.open(html, { js: false });
  const lines = await page.evaluate(() => Object.fromEntries(["occurrences", "roles", "steps", "audits"].map((id) => [id, document.querySelector(`:is(#${id}, #${id} > .part) > details.more:last-of-type > summary`).textContent])));
  assert.match(lines.occurrences, /^rank 0, device 0: at most [\d.]+ MiB$/);
  assert.match(lines.roles, /^rank 0, device 0: live at the peak .*parameters/);
  assert.match(lines.steps, /^rank 0, device 0: \d+ steps$/);
  assert.match(lines.audits, /^rank 0, device 0: (nothing to act on|to act on: .+)$/);
  await done();
});

test("a page with nothing to drive has no script, its policy allows none, and it still says what the report says", async () => {
  const { html, json } = kit.reportOf([join(kit.samples, "cards.log")], "log"), text = readFileSync(html, "utf8");
  const scripts = [...text.matchAll(/<script[^>]*>/g)].map((m) => m[0]);
  assert.deepEqual(scripts, ["<script type=\"text/plain\" id=\"mt-report\" data-digits=\"85\">"], "the report, to be read back");
  assert.ok(!/script-src|worker-src/.test(text) && text.includes("default-src 'none'"));
  assert.ok(text.length < 100000, `${text.length} bytes`);
  const { page, seen, done } = await kit.open(html);
  assert.equal(await page.locator("button:visible").count(), 0);
  assert.equal((await page.locator("h1").innerText()).replace(/\s+/g, " "), json.verdict.sentence.replace(/\s+/g, " "));
  assert.deepEqual(seen, []);
  await done();
});

for (const print of [false, true]) {
  test(`${print ? "on paper" : "without the script"} the picture is by role: legend, names in the layers, and how thick each is where memory ran out`, async () => {
    const { html, json } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "by-role", "--capacity", "80GiB"), { page, done } = await kit.open(html, { js: false }), [device] = json.devices;
    if (print) await page.emulateMedia({ media: "print" });
    const seen = await page.evaluate(() => {
      const svg = document.querySelector("#timeline svg.plot"), texts = [...svg.querySelectorAll("text")], num = (/** @type {Element} */ e, /** @type {string} */ k) => Number(e.getAttribute(k));
      const layers = [...svg.querySelectorAll("path > title")].map((t) => ({ name: t.textContent, path: /** @type {SVGPathElement} */ (t.parentElement) }));
      const legend = texts.filter((t) => t.previousElementSibling?.matches("rect[rx]") && /^\d+ /.test(t.textContent)).map((t) => ({ number: parseInt(t.textContent, 10), name: t.textContent.replace(/^\d+ /, ""), bytes: t.nextElementSibling.textContent, fill: t.previousElementSibling.getAttribute("fill") }));
      const axis = texts.filter((t) => /^\d+$/.test(t.textContent) && t.parentElement.getAttribute("text-anchor") === "end"), [y0, y1] = [axis[0], axis.at(-1)], gib = Number(y1.textContent) / (num(y0, "y") - num(y1, "y"));
      const thick = Object.fromEntries(layers.map((l) => [l.name, 0])), p = svg.createSVGPoint();
      p.x = 58 + 1106 - 3; // the last column but some: the failure
      for (p.y = 30; p.y < 340; p.y += 0.25) {
        const top = layers.filter((l) => l.path.isPointInFill(p)).at(-1); // what is drawn later covers what is below
        if (top) thick[top.name] += 0.25 * gib;
      }
      return { thick, gib, legend, fills: Object.fromEntries(layers.map((l) => [l.name, l.path.getAttribute("fill")])), written: texts.filter((t) => t.getAttribute("text-anchor") === "middle" && t.hasAttribute("fill")).map((t) => t.textContent) };
    });
    const held = device.roles.filter((r) => r.bytes), names = new Map(seen.legend.map((l) => [l.name, l]));
    assert.equal(seen.legend.length, Object.keys(seen.thick).length);
    assert.deepEqual(seen.legend.map((l) => l.number), seen.legend.map((_, i) => i + 1));
    for (const r of held) {
      const l = seen.legend.find((e) => kit.saysBytes(e.bytes, r.bytes)) ?? assert.fail(`${r.role}: ${r.bytes} is not in the legend`);
      assert.equal(seen.fills[l.name], l.fill, r.role);
      assert.ok(Math.abs(seen.thick[l.name] - r.bytes / 2 ** 30) <= 1.6 * seen.gib, `${l.name}: ${seen.thick[l.name]} GiB drawn, ${r.bytes / 2 ** 30}`);
      assert.ok(seen.written.includes(l.name) || seen.written.includes(String(l.number)), `${l.name} is not told without its colour: ${seen.written}`);
    }
    assert.ok(held.length > 3 && names.size === seen.legend.length);
    await done();
  });
}
