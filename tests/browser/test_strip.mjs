// test_strip.mjs: the strip of segments below the timeline: what is reserved and live at the cursor, in words and in pixels, moment by moment against a replay of
// `memtrace dump`; a segment under the pointer and by keys. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

/** Segments and live bytes after an event, by the dump; both samples begin with nothing. */
function stateAt(dump, last) {
  const segments = new Map(), live = new Map();
  for (const e of dump.filter((l) => l.type === "event" && l.n <= last)) {
    if (e.action === "segment_alloc") segments.set(e.addr, e.size);
    else if (e.action === "segment_free") segments.delete(e.addr);
    else if (e.action === "alloc") live.set(e.addr, e.size);
    else if (e.action === "free_completed") live.delete(e.addr);
  }
  const sum = (m) => [...m.values()].reduce((a, b) => a + b, 0);
  return { segments, reserved: sum(segments), live: sum(live) };
}

/** The words, and how much of the strip has a role's colour, is not pale, is there at all: pixels that two share have a colour of neither. */
const stripOf = (page) => page.evaluate(() => {
  const c = document.querySelector(".tl-strip canvas"), roles = JSON.parse(document.getElementById("mt-index").textContent).roles.map((r) => r.color);
  const row = c.getContext("2d").getImageData(0, Math.round(c.height * 0.3), c.width, 1).data, hex = (i) => `#${[...row.subarray(i, i + 3)].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
  const pale = getComputedStyle(document.documentElement).getPropertyValue("--fill").trim();
  let colored = 0, there = 0, full = 0;
  for (let i = 0; i < row.length; i += 4) {
    there += row[i + 3] > 0;
    colored += roles.includes(hex(i));
    full += row[i + 3] > 0 && hex(i) !== pale;
  }
  return { words: document.querySelector(".tl-strip p").textContent, colored: colored / c.width, full: full / c.width, there: there / c.width };
});

for (const [sample, capacity] of [["verl_grpo_oom_logprob.pickle", "80GiB"], ["fragmentation_oom.pickle", "24GiB"]]) {
  test(`${sample}: the strip follows the cursor`, async () => {
    const path = join(kit.samples, sample), { html, json } = kit.reportOf([path], sample, "--capacity", capacity), dump = kit.dumpOf(path), [d] = json.devices;
    assert.equal(dump.find((l) => l.type === "event").n, 0);
    const top = Math.max(...dump.filter((l) => l.action === "segment_alloc").map((l) => stateAt(dump, l.n).reserved)), free = [];
    assert.equal(top, d.reserved_peak_bytes);
    const { page, seen, done } = await kit.open(html);
    await kit.exact(page);
    // Before the first event nothing is held and no strip is there; what comes after that is drawn again.
    await page.evaluate(() => { location.hash = "#c=-1"; });
    await kit.settled(page);
    assert.equal(await page.locator(".tl-strip").isVisible(), false);
    for (const event of [d.focus.event, Math.round(d.events / 3), Math.round(d.events / 2), d.peak_event]) {
      await page.evaluate((n) => { location.hash = `#c=${n}`; }, event);
      await kit.settled(page);
      const { segments, reserved, live } = stateAt(dump, event), { words, colored, full, there } = await stripOf(page), at = `${sample}, event ${event}: ${words}`;
      const [, held, n, loose] = /^Segments: (\S+ \S+) in ([\d,]+) segments?, (\S+ \S+) of it \(.*\) not in use\.$/.exec(words) ?? assert.fail(at);
      assert.ok(kit.saysBytes(held, reserved) && kit.saysBytes(loose, reserved - live) && Number(n.replace(/,/g, "")) === segments.size, `${at}; ${reserved} in ${segments.size}, ${live} live by the dump`);
      assert.ok(Math.abs(there - reserved / top) < 0.01, `${at}: ${there} of the strip is held, ${reserved / top} by the dump`);
      assert.ok(colored > 0 && colored <= live / top + 0.01 && full >= live / top - 0.01 && (reserved - live < 0.1 * top || full < there - 0.02), `${at}: ${colored} to ${full} of the strip is live, ${live / top} by the dump`);
      free.push(`${reserved} ${live}`);
    }
    const at = stateAt(dump, d.focus.event);
    assert.equal(at.reserved, d.focus.reserved_bytes);
    assert.ok(new Set(free).size > 2, "they are different moments");
    assert.deepEqual(seen, []);
    await done();
  });
}

test("a segment of the strip says what it is, under the pointer and by keys", async () => {
  const path = join(kit.samples, "verl_grpo_oom_logprob.pickle"), { html, json } = kit.reportOf([path], "one", "--capacity", "80GiB"), { segments } = stateAt(kit.dumpOf(path), json.devices[0].focus.event);
  const { page, seen, done } = await kit.open(html), said = () => page.locator(".tl-strip p").innerText();
  await kit.exact(page);
  await kit.settled(page);
  const says = async () => {
    const [, address, size] = /^Segment at (0x[0-9a-f]+), .*?: (\S+ \S+), /.exec(await said()) ?? assert.fail(await said());
    assert.ok(kit.saysBytes(size, segments.get(Number(address))), await said());
    return Number(address);
  };
  const box = await page.locator(".tl-strip canvas").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 5);
  const first = await says(), largest = Math.max(...segments.values());
  assert.equal(segments.get(first), largest, "the largest comes first");
  await page.locator(".tl-strip canvas").focus();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await says(), first);
  assert.ok(box.y + box.height <= 900, "on the first screen");
  assert.deepEqual(seen, []);
  await done();
});
