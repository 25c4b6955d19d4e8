// test_difference.mjs: two moments, by a dragged range or by A and B: a flame graph of what grew and what shrank, and a table of it. Every number against
// what `memtrace dump` has alive after the one event and after the other. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";
import { changesOf } from "./changes.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const input = join(kit.samples, "verl_grpo_oom_logprob.pickle"), { html, json } = kit.reportOf([input], "difference", "--capacity", "80GiB");
const changeOf = changesOf(kit.dumpOf(input));
const pick = (page, name, value) => page.locator(`.cursor [name=${name}][value="${value}"]`).click();
const boxes = (page) => page.evaluate(() => [...document.querySelectorAll(".icicle .ib")].map((b) => [b.title, b.style.top, b.style.background, parseFloat(b.style.width)]));
const cells = (page, where) => page.evaluate((s) => [...document.querySelectorAll(`${s} tbody tr`)].map((tr) => [...tr.cells].map((c) => c.textContent)), where);
const slackOf = (text) => kit.bytesIn(/^[+\u2212]?[\d.,]+ \w+/.exec(text)[0]);

for (const [what, hash, a, b] of [["a range", "#s=1136-1643", 1136, 1643], ["A and B, up to the failure", "#b=640&c=2368", 640, 2368], ["B before A", "#b=1643&c=1136", 1136, 1643]]) {
  test(`${what}: boxes and cells have the changes of the dump`, async () => {
    const { page, seen, done } = await kit.open(html, { hash });
    await kit.exact(page);
    await page.locator(".icicle").scrollIntoViewIfNeeded();
    await kit.until(page, "the change", () => document.querySelector(".cursor [name=what][value=net]").getAttribute("aria-pressed") === "true" && document.querySelectorAll(".icicle .ib").length > 2);
    const net = changeOf(a, b), sum = [...net.values()].reduce((x, y) => x + y, 0), moved = [...net.values()].reduce((x, y) => x + Math.abs(y), 0);
    assert.ok(moved > 0 && new Set([...net.values()].map(Math.sign)).size > 1, "something grew and something shrank");
    const words = await page.locator(".cursor .moment").textContent(), total = /the change, ([+\u2212][\d.]+ \w+)/.exec(words)?.[1];
    const [said, slack] = kit.bytesIn(total ?? "nothing");
    assert.ok(Math.abs(said - sum) <= slack, `${words}: ${sum}`);
    // The table: net = new less gone in each row, and all rows together are the change.
    const rows = await cells(page, ".cursor table");
    let all = 0, off = 0;
    for (const [name, ...numbers] of rows.slice(0, 12)) {
      if (numbers.length !== 3) continue;
      const [[n, sn], [born, sb], [gone, sg]] = numbers.map(kit.bytesIn);
      assert.ok(Math.abs(n - born - gone) <= sn + sb + sg, `${name}: ${numbers}`);
      all += n;
      off += sn;
    }
    assert.ok(off > 0 && Math.abs(all - sum) <= off, `rows: ${all}, the dump: ${sum}`);
    // Boxes of the places that allocate: each with what it grew by, in its colour, as wide as it is of all changes.
    await pick(page, "up", "1");
    await kit.until(page, "the places that allocate", (n) => [...document.querySelectorAll(".icicle .ib")].filter((b) => b.style.top === "22px").length === n, [...net.values()].filter(Boolean).length);
    const drawn = await boxes(page), [root] = drawn;
    const [grew, s] = slackOf(/: ([+\u2212].*)/.exec(root[0])[1]);
    assert.ok(Math.abs(grew - sum) <= s, `${root[0]}: ${sum}`);
    const first = drawn.filter(([, top]) => top === "22px");
    for (const [title, , color, width] of first) {
      const [, name, line] = /^(\S+) \(.*:(\d+)\): /.exec(title), is = net.get(`${name}:${line}`), [v, e] = slackOf(/: ([+\u2212][^:]*)$/.exec(title)[1]);
      assert.ok(Math.abs(v - is) <= e, `${title}: ${is}`);
      assert.equal(color, is > 0 ? "rgb(236, 149, 149)" : "rgb(149, 183, 236)", title);
      assert.ok(Math.abs(width - 100 * Math.abs(is) / moved) < 0.1, `${title}: ${width} %`);
    }
    // The same as a table.
    await page.locator(".cursor > details > summary").first().click();
    await kit.until(page, "the table of the tree", () => document.querySelector(".tree thead")?.textContent.includes("Net"));
    const [[, n1, share]] = await cells(page, ".tree");
    assert.ok(Math.abs(kit.bytesIn(n1)[0] - sum) <= kit.bytesIn(n1)[1] && share === "100.0 %", `${n1} ${share}`);
    await page.locator(".cursor .controls > button").click();
    await kit.until(page, "the cursor alone", () => document.querySelector(".cursor .choice").hidden && !/the change/.test(document.querySelector(".moment").textContent));
    assert.deepEqual(seen, []);
    await done();
  });
}

test("a range leads to its flame graph; frames that all have in common share a row, and part where one asks", async () => {
  const { page, seen, done } = await kit.open(html, { hash: "#s=1136-2368" });
  await kit.exact(page);
  await page.locator(".tl-changes [value=flame]").click();
  await kit.until(page, "the flame graph in sight", () => {
    const { top, bottom } = document.querySelector(".icicle").getBoundingClientRect();
    return bottom > 0 && top < innerHeight && document.querySelectorAll(".icicle .ib").length > 3;
  });
  await page.locator(".cursor [name=what][value=live]").click();
  await kit.until(page, "what is live", () => !/the change/.test(document.querySelector(".moment").textContent));
  const many = page.locator(".icicle .ib", { hasText: /^\d+ frames: / }), before = (await boxes(page)).length, [, count] = /^(\d+) frames/.exec(await many.first().textContent());
  assert.ok(Number(count) >= 3);
  await many.first().click();
  await kit.until(page, "the frames one by one", (n) => document.querySelectorAll(".icicle .ib").length >= n, Number(count));
  assert.equal(await many.count(), 0);
  assert.ok((await boxes(page)).length >= Math.min(before, Number(count)));
  assert.ok(json.devices[0].ooms.length);
  assert.deepEqual(seen, []);
  await done();
});
