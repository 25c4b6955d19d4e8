// Moments named on the page lead into the timeline, and so do the rows of ranks.

import { pAll, pEl, pFill, pFind } from "./panel_dom.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @param {PanelCtx} ctx */
export const initLinks = ({ tracks, view, near }) => {
  const box = pFind("#timeline");
  if (!box) return;
  const trackOf = (/** @type {Element} */ e) => tracks.find(t => t.meta.label === /** @type {HTMLElement|null} */ (e.closest("[data-place]"))?.dataset.place);
  /** @type {HTMLElement[]} */
  const ranks = [];
  // A cell that stands for a moment or a track is no control without a script; a link to the section is.
  for (const cell of pAll("[data-event]:not(a), [data-place] > :is(th, .rank)")) {
    const track = trackOf(cell);
    if (cell.matches("th, .rank") && !track) continue;
    const b = pEl("button.plain", { type: "button", title: "Show it in the timeline" }, ...cell.childNodes);
    if (track) ranks.push(b);
    cell.append(b);
  }
  const mark = () => { for (const b of ranks) pFill(b, { "aria-pressed": `${trackOf(b) === view.track}` }); };
  mark();
  view.on(mark);
  pFill(document, { click: (/** @type {any} */ e) => {
    const a = e.target.closest("[data-event], [data-place] button");
    if (!a) return;
    const { event, to = event } = a.dataset, from = +event, end = +to;
    e.preventDefault();
    history.pushState(null, "", location.href); // Back comes to where the reader was
    if (event) {
      view.set({ track: tracks.find(t => t.meta.primary) || view.track, cursor: end, range: end > from ? [from, end] : null });
      near?.(from, end);
    } else view.set({ track: trackOf(a) });
    box.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
    pFind(".tl-over")?.focus({ preventScroll: true });
  } });
};
