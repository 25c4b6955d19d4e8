// The whole run in a strip, with the part in view as a brush.
import { bucketsOf, clamp, overviewOf } from "./layout.js";
import { showSpan } from "./marks.js";

/** @typedef {import("./view.js").View} View */

/** The picture of the strip: an area, the highest of each stretch. @param {View} view @returns {string} the path */
function stripPath(view) {
  const o = overviewOf(view.track, view.axis), n = 480;
  if (!o) return "";
  const top = o.high.reduce((m, v) => Math.max(m, v), 1);
  return `M0 100${[...bucketsOf(o, o.x0, o.x1, n)].map((i) => `V${(100 - (o.high[i] / top) * 92).toFixed(1)}h1`).join("")}V100`;
}

/** @param {View} view @param {HTMLElement} strip */
export function initMinimap(view, strip) {
  const field = /** @type {HTMLElement} */ (strip.firstElementChild), brush = /** @type {HTMLElement} */ (field.lastElementChild);
  /** In the axis, and how many of it a pixel is. @param {PointerEvent} e */
  const at = (e) => {
    const [min, max] = view.span(), { left, width } = field.getBoundingClientRect(), per = (max - min) / width;
    return { x: clamp(min + (e.clientX - left) * per, min, max), per };
  };
  let drag = /** @type {{from: number, lo: number, hi: number, kind: string}|null} */ (null);
  view.on((changed) => {
    if (changed.has("track") || changed.has("axis")) strip.querySelector("path")?.setAttribute("d", stripPath(view));
    showSpan(brush, view.span(), view.lo, view.hi);
  });
  strip.addEventListener("pointerdown", (e) => {
    if (!e.isPrimary || e.button !== 0) return;
    const { x, per } = at(e), { lo, hi } = view, edge = /** @type {const} */ (["lo", "hi"]).find((k) => Math.abs(x - view[k]) < 8 * per);
    drag = { from: x, lo, hi, kind: edge || (view.isWhole() || x < lo || x > hi ? "new" : "move") };
    strip.setPointerCapture(e.pointerId);
  });
  strip.addEventListener("pointermove", (e) => {
    if (!drag || !e.isPrimary) return;
    const { kind, from, lo, hi } = drag, { x, per } = at(e);
    if (kind === "move") view.set({ lo: lo + x - from, hi: hi + x - from });
    else if (kind !== "new" || Math.abs(x - from) > 3 * per) view.set({ lo: x, hi: kind === "lo" ? hi : kind === "hi" ? lo : from }); // the view puts them in order
  });
  strip.addEventListener("pointerup", (e) => { // a click outside the brush brings it there
    const { x, per } = at(e), w = drag ? (drag.hi - drag.lo) / 2 : 0, [min, max] = view.span();
    if (drag?.kind === "new" && Math.abs(x - drag.from) <= 3 * per && w * 2 < max - min) view.set({ lo: x - w, hi: x + w });
    drag = null;
  });
  strip.addEventListener("pointercancel", () => { drag = null; });
}
