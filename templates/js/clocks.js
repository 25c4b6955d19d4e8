// What else was recorded on the clock of a GPU's calls: C drew it for the whole run, here it goes where the picture goes.
import { isCalls } from "./detail.js";
import { eventOfX } from "./layout.js";
import { clamp } from "./math.js";
import { pAll, pFill, pFind } from "./panel_dom.js";

/** @param {import("./view.js").View} view @param {HTMLElement} host the picture, below which they go where they stand elsewhere
 *  @returns {() => void} draws them for the part in view, where that is of their GPU's calls */
export const initClocks = (view, host) => {
  const here = pFind("#timeline .one-clock"), box = here || pFind(".one-clock")?.cloneNode(true);
  if (!box) return () => {};
  if (!here) host.after(box);
  box.className += " live";
  const [, , span] = pFind("svg", box).getAttribute("viewBox").split(" "), paths = pAll("path", box).map((p) => [p, p.getAttribute("d")]);
  return () => {
    const { track, axis, lo, hi, by } = view, l = track.ledger;
    box.hidden = !l || box.dataset.gpu !== `${track.meta.ledger}` || !(by === "owner" || isCalls(track));
    if (l && !box.hidden) for (const [path, d] of paths) {
      let t = 0;
      pFill(path, { d: d.replace(/([Mh])(\d+)/g, (/** @type {string} */ _, /** @type {string} */ c, /** @type {string} */ n) => {
        t = +n + (c === "h" ? t : 0); // a step from the one before
        const x = l.x0 + (l.x1 - l.x0) * t / span;
        return (c === "h" ? "H" : c) + clamp(((axis === "t" ? x : eventOfX(track, x, "t")) - lo) / (hi - lo), -1, 2) * span;
      }) });
    }
  };
};
