// The whole run in a strip, with the part in view as a brush.
import { bucketsOf } from "./layout.js";
import { showSpan } from "./marks.js";
import { pFill, pFind } from "./panel_dom.js";
import { abs, clamp, max } from "./math.js";

/** @typedef {import("./view.js").View} View */

/** The picture of the strip: an area, the highest of each stretch. @param {View} view @returns {string} the path */
const stripPath = (view) => {
  const o = view.track.overview[view.axis], n = 480;
  if (!o) return "M0 0"; // that of another track goes
  const top = o.high.reduce((m, v) => max(m, v), 1);
  return `M0 100${[...bucketsOf(o, o.x0, o.x1, n)].map((i) => `V${(100 - (o.high[i] / top) * 92).toFixed(1)}h1`).join("")}V100`;
};

/** @param {View} view @param {HTMLElement} strip */
export const initMinimap = (view, strip) => {
  const field = /** @type {HTMLElement} */ (strip.firstElementChild), brush = /** @type {HTMLElement} */ (field.lastElementChild);
  /** In the axis, and how many of it a pixel is. @param {PointerEvent} e */
  const at = (e) => {
    const [first, last] = view.span(), { left, width } = field.getBoundingClientRect(), per = (last - first) / width;
    return { x: clamp(first + (e.clientX - left) * per, first, last), per };
  };
  let drag = /** @type {{from: number, lo: number, hi: number, kind: string}|null} */ (null);
  view.on((changed) => {
    if (changed.has("track") || changed.has("axis")) pFill(pFind("path", strip), { d: stripPath(view) });
    showSpan(brush, view.span(), view.lo, view.hi);
  });
  /** @typedef {PointerEvent} Press */
  pFill(strip, {
    pointerdown: (/** @type {Press} */ e) => {
      if (!e.isPrimary || e.button !== 0) return;
      const { x, per } = at(e), { lo, hi } = view, edge = /** @type {const} */ (["lo", "hi"]).find((k) => abs(x - view[k]) < 8 * per);
      drag = { from: x, lo, hi, kind: edge || (view.isWhole() || x < lo || x > hi ? "new" : "move") };
      strip.setPointerCapture(e.pointerId);
    },
    pointermove: (/** @type {Press} */ e) => {
      if (!drag || !e.isPrimary) return;
      const { kind, from, lo, hi } = drag, { x, per } = at(e);
      if (kind === "move") view.set({ lo: lo + x - from, hi: hi + x - from });
      else if (kind !== "new" || abs(x - from) > 3 * per) view.set({ lo: x, hi: kind === "lo" ? hi : kind === "hi" ? lo : from }); // the view puts them in order
    },
    pointerup: (/** @type {Press} */ e) => { // a click outside the brush brings it there
      const { x, per } = at(e), w = drag ? (drag.hi - drag.lo) / 2 : 0, [first, last] = view.span();
      if (drag?.kind === "new" && abs(x - drag.from) <= 3 * per && w * 2 < last - first) view.set({ lo: x - w, hi: x + w });
      drag = null;
    },
    pointercancel: () => { drag = null; },
  });
};
