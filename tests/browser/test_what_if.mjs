// test_what_if.mjs: boxes to tick, and what the card would hold then: every set of them against `--format json`, with the script and without it, as
// numbers and as the length of the bar. Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

/** What is to be seen behind the boxes. */
const outcome = (page) => page.evaluate(() => {
  const endOf = (/** @type {Element} */ bar) => bar.querySelector("rect[fill=currentColor]:not([fill-opacity])")?.getAttribute("x") ?? null; // where the card ends
  const shown = [...document.querySelectorAll(".outcome > div")].filter((d) => d.getClientRects().length), [first] = shown, card = document.querySelector(".card .stackbar");
  const bar = first?.querySelector(".stackbar"), part = bar?.querySelector("rect").getBoundingClientRect();
  return { n: shown.length, words: first?.querySelector("b").textContent, kind: first?.querySelector("b").className, bar: bar && { width: part.width / bar.getBoundingClientRect().width, end: endOf(bar), cardEnd: endOf(card), room: bar.getBoundingClientRect().width } };
});

for (const [sample, capacity] of [["verl_grpo_oom_logprob.pickle", "80GiB"], ["fragmentation_oom.pickle", "24GiB"], ["fsdp_finetune.pickle", "24GiB"]]) {
  const { html, json } = kit.reportOf([join(kit.samples, sample)], sample, "--capacity", capacity), { needed_bytes: needed, choices } = json.after;
  for (const js of [true, false]) {
    test(`${sample}: every set of settings, ${js ? "with" : "without"} the script`, async () => {
      const { page, seen, done } = await kit.open(html, { js });
      const boxes = page.locator(".whatif input"), n = await boxes.count(), tops = json.advice.filter((a) => a.top && a.saving_bytes).map((a) => a.id);
      assert.equal(choices.length, 2 ** n, "a choice for every set of boxes");
      const first = choices.find((c) => c.rules.join() === tops.join());
      assert.equal(first.saving_bytes, json.after.saving_bytes, "what is ticked at first is what is to be changed first");
      for (const { rules, saving_bytes, lacking_bytes, saving_high_bytes, needed_bytes: left } of [first, ...choices]) {
        const all = choices.at(-1).rules;
        for (let i = 0; i < n; i++) await boxes.nth(i).setChecked(rules.includes(all[i]));
        const { n: shown, words, kind, bar } = await outcome(page), what = `${sample} ${rules}: ${words}`;
        assert.equal(shown, 1, what);
        const [, lacks, holds, less] = /^(?:lacks ([^:]+): |(?:probably )?fits: )?(\S+ \S+) (?:needed|live)(?:, (\S+ \S+) freed.*)?$/.exec(words) ?? assert.fail(what);
        assert.ok(kit.saysBytes(holds, left), `${what}, ${left} by JSON`);
        assert.equal(Boolean(lacks), Boolean(lacking_bytes), what);
        if (lacks) assert.ok(kit.saysBytes(lacks, lacking_bytes), `${what}, ${lacking_bytes} by JSON`);
        if (saving_high_bytes) assert.ok(kit.saysBytes(less, saving_bytes), `${what}, ${saving_bytes} by JSON`);
        assert.equal(kind, lacking_bytes === null ? "" : lacking_bytes ? "lacks" : "fits", what);
        if (!bar) continue;
        assert.ok(bar.end === bar.cardEnd && bar.room > 300, `${what}: on the scale of the card, ${bar.end} and ${bar.cardEnd}`);
        if (json.verdict.kind === "oom_capacity") assert.ok(Math.abs(bar.width - left / (needed + 2.80 * 2 ** 30 + 73.5 * 2 ** 20)) < 0.01, `${what}: ${bar.width}`);
      }
      assert.deepEqual(seen, []);
      await done();
    });
  }
}

test("two that shrink the same are not counted twice", () => {
  const { json } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "twice", "--capacity", "80GiB"), { choices } = json.after;
  const alone = (id) => choices.find((c) => c.rules.join() === id).saving_bytes, pairs = choices.filter((c) => c.rules.length === 2);
  for (const { rules: [a, b], saving_bytes } of pairs) {
    assert.ok(saving_bytes <= alone(a) + alone(b) && saving_bytes >= Math.max(alone(a), alone(b)), `${a} and ${b}: ${saving_bytes}`);
  }
  assert.ok(pairs.some(({ rules: [a, b], saving_bytes }) => saving_bytes < alone(a) + alone(b)), "some of them overlap");
  assert.ok(choices.every((c) => c.saving_bytes <= json.after.needed_bytes));
});

test("cache that is given back was no part of what is needed", () => {
  const { json } = kit.reportOf([join(kit.samples, "fragmentation_oom.pickle")], "cache", "--capacity", "24GiB"), { needed_bytes: needed, choices } = json.after;
  assert.equal(choices[0].needed_bytes, needed);
  assert.ok(choices.some((c) => c.saving_bytes > needed - c.needed_bytes), "some of it is cache");
  assert.ok(choices.every((c) => c.needed_bytes > 0 && c.needed_bytes >= needed - c.saving_bytes));
});
