// Moments named on the page lead into the timeline.

import { pButton } from "./panel_dom.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @param {PanelCtx} ctx */
export function initLinks(ctx) {
  const box = document.getElementById("timeline");
  if (!box) return;
  // A cell that stands for a moment is no control without a script; a link to the section is.
  for (const cell of document.querySelectorAll("[data-event]:not(a)")) {
    const b = pButton("", () => {}, { class: "plain", title: "Show it in the timeline" });
    b.append(...cell.childNodes);
    cell.append(b);
  }
  document.addEventListener("click", e => {
    const a = e.target instanceof Element ? e.target.closest("[data-event]") : null;
    if (!(a instanceof HTMLElement)) return;
    e.preventDefault();
    const from = Number(a.dataset.event), to = a.dataset.to === undefined ? from : Number(a.dataset.to);
    ctx.view.set({ track: ctx.tracks.find(t => t.meta.primary) || ctx.view.track, cursor: to, range: to > from ? [from, to] : null });
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    box.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
    /** @type {HTMLElement|null} */ (box.querySelector(".tl-over"))?.focus({ preventScroll: true });
  });
}
