// test_frames.mjs: what a frame costs: one layout while the wheel turns, the pointer moves, a drag pans; what is under the pointer stays in sight at every corner of the picture.
// Ends with 77 where there is no Chromium.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import * as kit from "./kit.mjs";

kit.skipUnlessPossible();
after(kit.closeBrowser);

const { html } = kit.reportOf([join(kit.samples, "verl_grpo_oom_logprob.pickle")], "frames", "--capacity", "80GiB"), FRAMES = 24;

/** Makes one gesture's events, one a frame. */
const gesture = (page, what) => page.evaluate(async ([kind, n]) => {
  const over = document.querySelector(".tl-over"), b = over.getBoundingClientRect(), tell = (C, type, x, more) => over.dispatchEvent(new C(type, { clientX: x, clientY: b.y + b.height * 0.45, bubbles: true, cancelable: true, pointerId: 1, pointerType: "mouse", isPrimary: true, ...more }));
  over.setPointerCapture = () => {};
  if (kind === "drag") tell(PointerEvent, "pointerdown", b.x + b.width * 0.6, { buttons: 1 });
  for (let i = 0; i < n; i++) {
    const x = b.x + b.width * (0.6 + (kind === "wheel" ? 0 : i / 100));
    if (kind === "wheel") tell(WheelEvent, "wheel", x, { deltaY: i < n / 2 ? -60 : 60 });
    else tell(PointerEvent, "pointermove", x, { buttons: kind === "drag" ? 1 : 0 });
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
  }
  if (kind === "drag") tell(PointerEvent, "pointerup", b.x + b.width * 0.8);
}, [what, FRAMES]);

for (const what of ["wheel", "hover", "drag"]) {
  test(`${what}: one layout a frame`, async () => {
    const { page, seen, done } = await kit.open(html), cdp = await page.context().newCDPSession(page);
    await kit.exact(page);
    await page.keyboard.press("w");
    await kit.settled(page);
    await page.waitForTimeout(400); // what follows the cursor is filled
    await cdp.send("Performance.enable");
    const now = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "LayoutCount").value, before = await now();
    await gesture(page, what);
    const layouts = (await now()) - before;
    assert.ok(layouts >= FRAMES / 3, `${layouts}: something moved`);
    assert.ok(layouts <= FRAMES + 4, `${layouts} layouts in ${FRAMES} frames`);
    assert.deepEqual(seen, []);
    await done();
  });
}

for (const [width, height] of [[1440, 900], [390, 844]]) {
  test(`what is under the pointer is told beside it, inside the window: ${width} pixels`, async () => {
    const { page, seen, done } = await kit.open(html, { width, height });
    await kit.exact(page);
    await kit.settled(page);
    await page.locator(".tl-over").scrollIntoViewIfNeeded();
    await page.waitForTimeout(250); // a page that was just scrolled
    const box = await page.locator(".tl-over").boundingBox();
    for (const fx of [0.2, 0.5, 0.75, 0.95]) {
      for (const fy of [0.3, 0.6]) {
        const x = box.x + 58 + (box.width - 70) * fx, y = box.y + 34 + (box.height - 90) * fy;
        await page.mouse.move(x, y);
        await page.waitForTimeout(60);
        const tip = await page.evaluate(() => { const t = document.querySelector(".tl-tip"); return t.hidden ? null : t.getBoundingClientRect().toJSON(); });
        if (!tip) continue;
        assert.ok(tip.left >= 0 && tip.right <= width, `${fx} ${fy}: ${JSON.stringify(tip)}`);
        if (width === 1440) assert.ok(tip.left > x || tip.right < x, `beside ${x}: ${JSON.stringify(tip)}`);
        assert.ok(tip.top >= box.y - 1 && tip.bottom <= box.y + Math.max(box.height, tip.height) + 41, `${fx} ${fy}: ${JSON.stringify(tip)}`);
      }
    }
    assert.deepEqual(seen, []);
    await done();
  });
}
