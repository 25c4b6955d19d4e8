// test_narrow.mjs: what a narrow window shows of the open tables: at 1,024 pixels all of them, on a phone the names and the bytes that count, by `--format json`; the words
// of the page explained; what is not one of the five screens folded, of a recorded job too. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const reports = new Map([["verl_grpo_oom_logprob.pickle", "80GiB"], ["verl_two_ranks.tar.gz", "24GiB"], ["driver_v1.trace.gz", "1GiB"], ["torch/ring.pickle.gz", "24GiB"]]
  .map(([name, capacity]) => [name, kit.reportOf([join(kit.samples, name)], name.replace("/", "_"), "--capacity", capacity)]));
const deviceOf = ({ devices, verdict }) => devices.find((d) => d.rank === verdict.rank && d.device === verdict.device);
/** Cells of the tables that are open: by part, heads and rows, each as [text, wholly in sight]. */
const tablesOf = (page) => page.evaluate(() => Object.fromEntries(["phases", "owners"].map((id) => [id, [...document.querySelectorAll(`#${id} table`)].filter((t) => t.clientWidth && !t.closest(".more, .cursor")).map((t) => {
  const box = t.closest(".scroll").getBoundingClientRect();
  const cell = (c) => { const r = document.createRange(); r.selectNodeContents(c); const b = r.getBoundingClientRect(); return [c.innerText.replace(/\s+/g, " ").trim(), b.left >= box.left - 1 && b.right <= box.right + 1]; };
  return { heads: [...t.tHead.rows[0].cells].map(cell), rows: [...t.tBodies[0].rows].map((r) => [...r.cells].map(cell)) };
})])));

for (const [name, { html, json }] of reports) {
  for (const width of [1024, 390]) {
    test(`${name}: the open tables in ${width} pixels`, async () => {
      const { page, seen, done } = await kit.open(html, { width, height: 844 }), d = deviceOf(json);
      await kit.exact(page);
      await kit.settled(page);
      const { phases: [phases], owners: [owners] } = await tablesOf(page);
      const at = phases.heads.findIndex(([h]) => /^Live at the /.test(h)), bytes = owners.heads.findIndex(([h]) => h === "Bytes");
      for (const t of [phases, owners]) assert.deepEqual(width === 390 ? [] : [t.heads, ...t.rows].flat().filter(([text, whole]) => text && !whole), [], "all of it is in sight");
      const want = json.phases.filter((p) => p.rank === d.rank && p.device === d.device && p.at_focus_bytes > 0).map((p) => p.at_focus_bytes).sort((a, b) => b - a);
      const shown = phases.rows.slice(0, -1).map((r) => r[at]).filter(([text]) => text !== "0 B"), said = shown.map(([text]) => kit.bytesIn(text)).sort(([a], [b]) => b - a);
      assert.ok(want.length && shown.every(([, whole]) => whole), JSON.stringify(shown));
      said.forEach(([v, off], i) => assert.ok(Math.abs(v - want[i]) <= off, `${v}, ${want[i]} by JSON`));
      for (const [i, o] of json.owners.slice(0, owners.rows.length).entries()) {
        const [text, whole] = owners.rows[i][bytes];
        assert.ok(whole && kit.saysBytes(text, o.bytes), `${text}, ${o.bytes} by JSON`);
      }
      assert.deepEqual(seen, []);
      await done();
    });
  }

  test(`${name}: what is asked for later is folded, and a link opens it`, async () => {
    const { page, done } = await kit.open(html);
    await kit.exact(page);
    const open = await page.evaluate(() => [...document.querySelectorAll("main > section")].filter((s) => !s.querySelector(":scope > .part:not([open])")).map((s) => s.id));
    const d = deviceOf(json), five = ["timeline", "phases", "owners", ...json.devices.length > 1 ? ["ranks"] : [], ...d.growth.length ? ["steps"] : [], ...json.job?.ledgers?.length ? ["ledger"] : []];
    assert.deepEqual(open.filter((id) => id !== "lint").sort(), five.sort());
    for (const id of ["ranks", "ledger"]) { // what the picture above says too
      const tables = await page.evaluate((i) => [...document.querySelectorAll(`#${i} .more table`)].map((t) => t.checkVisibility()), id);
      assert.ok(!five.includes(id) || (tables.length && tables.every((shown) => !shown)), `${id}: ${tables}`);
    }
    if (json.job?.failures?.length) {
      await page.locator("nav a[href='#failures'], a[href='#failures']").first().click();
      assert.ok(kit.saysBytes(await page.locator("#failures tbody td").nth(2).innerText(), json.job.failures[0].request_bytes ?? json.job.failures[0].bytes));
    }
    await done();
  });
}

test("the words are explained where they first stand, those that the page uses", async () => {
  const { html } = reports.get("verl_grpo_oom_logprob.pickle"), { page, done } = await kit.open(html);
  await page.locator(".meant summary").click();
  const words = await page.locator(".meant dt").allInnerTexts(), text = (await page.locator("main").textContent()).toLowerCase();
  assert.ok(words.length > 8, words.join());
  for (const w of words.flatMap((v) => v.split(", "))) assert.ok(text.split(w.toLowerCase()).length > 2, `${w} is explained, and stands nowhere else`);
  assert.ok((await page.locator(".meant").boundingBox()).y < 400);
  const tiny = kit.reportOf([join(kit.samples, "cards.log")], "cards"), other = await kit.open(tiny.html);
  assert.equal(await other.page.locator(".meant").count(), 0, "a log alone speaks of no segment");
  await other.done();
  await done();
});
