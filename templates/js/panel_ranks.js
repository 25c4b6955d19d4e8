// Rows that stand for a rank open its timeline.

import { pButton } from "./panel_dom.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @param {PanelCtx} ctx */
export function initRanks(ctx) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#ranks tr[data-place]")]);
  const places = new Map(ctx.tracks.map(t => [String(t.meta.label), t]));
  /** @type {[HTMLButtonElement, any][]} */
  const buttons = [];
  for (const row of rows) {
    const track = places.get(row.dataset.place || ""), head = row.querySelector("th");
    if (!track || !head) continue;
    const b = pButton(head.textContent || "", () => {
      ctx.view.set({ track });
      document.getElementById("timeline")?.scrollIntoView({ block: "start" });
    }, { class: "plain", title: "Show it in the timeline" });
    head.replaceChildren(b);
    buttons.push([b, track]);
  }
  const mark = () => { for (const [b, t] of buttons) b.setAttribute("aria-pressed", String(t === ctx.view.track)); };
  mark();
  ctx.view.on(changed => { if (changed.has("track")) mark(); });
}
