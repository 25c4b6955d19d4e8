// The pointer on the timeline: wheel, drag, hover, click.
import { eventWords, fillTip } from "./detail.js";
import { fmtBytes } from "./format.js";
import { eventOfX, lowerBound, NO_OP, xOfEvent } from "./layout.js";
import { pEl } from "./panel_dom.js";
import { stateWords } from "./words.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./timeline.js").Timeline} Timeline */

/** Wheel, drag, hover, click. @param {Timeline} tl @param {View} view
 *  @param {{zoom: (f: number, at: number) => void, fitPhase: (event: number) => void, tip: HTMLElement, index: any, stop: () => void}} act */
export function pointerOn(tl, view, act) {
  const { over } = tl, { tip } = act;
  /** @type {{x: number, lo: number, hi: number, from: number, select: boolean, moved: boolean}|null} */
  let drag = null;
  let scrolled = -1e9;
  const place = (/** @type {MouseEvent} */ e) => {
    const r = over.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  };
  addEventListener("scroll", () => { scrolled = performance.now(); }, { passive: true });
  over.addEventListener("wheel", (e) => {
    const [min, max] = view.track.axisRange(view.axis), side = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
    const d = (side && !e.deltaX ? e.deltaY : side ? e.deltaX : e.deltaY) * (e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1);
    // A page that is being scrolled past, and one that cannot zoom out further, goes on scrolling.
    if (performance.now() - scrolled < 200 || (!side && d > 0 && view.lo <= min && view.hi >= max)) return;
    e.preventDefault();
    act.stop();
    const w = view.hi - view.lo, x = tl.xAt(Math.min(Math.max(place(e).x, tl.box.left), tl.box.left + tl.box.width));
    if (side) view.set({ lo: view.lo + (d / tl.box.width) * w, hi: view.hi + (d / tl.box.width) * w });
    else act.zoom(Math.exp(Math.min(Math.max(d, -400), 400) * 0.0022), x);
  }, { passive: false });
  over.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    act.stop();
    const p = place(e);
    drag = { x: p.x, lo: view.lo, hi: view.hi, from: tl.xAt(p.x), select: e.shiftKey, moved: false };
    over.setPointerCapture(e.pointerId);
    tip.hidden = true;
  });
  over.addEventListener("pointermove", (e) => {
    const p = place(e);
    if (!drag) {
      if (e.pointerType !== "touch") hoverAt(p);
      return;
    }
    if (Math.abs(p.x - drag.x) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.select) {
      tl.select = [drag.from, tl.xAt(p.x)];
      tl.drawOver();
    } else {
      const dx = ((p.x - drag.x) / tl.box.width) * (drag.hi - drag.lo);
      view.set({ lo: drag.lo - dx, hi: drag.hi - dx });
    }
  });
  over.addEventListener("pointerup", (e) => {
    const p = place(e), d = drag;
    drag = null;
    tl.select = null;
    if (!d) return;
    if (d.moved && d.select) {
      const a = eventOfX(view.track, Math.min(d.from, tl.xAt(p.x)), view.axis), b = eventOfX(view.track, Math.max(d.from, tl.xAt(p.x)), view.axis);
      view.set({ range: [a, b], cursor: b });
    } else if (!d.moved) {
      const flag = flagAt(p), h = tl.hit(p.x, p.y);
      if (flag) view.set({ cursor: flag.event, range: flag.to > flag.event ? [flag.event, flag.to] : view.range });
      else if (h) view.set({ cursor: h.event, pin: h.block });
    }
    tl.drawOver();
  });
  over.addEventListener("pointercancel", () => { drag = null; tl.select = null; tl.drawOver(); });
  over.addEventListener("dblclick", (e) => act.fitPhase(eventOfX(view.track, tl.xAt(place(e).x), view.axis)));
  over.addEventListener("pointerleave", () => { tl.hover = null; tip.hidden = true; tl.drawOver(); });

  const flagAt = (/** @type {{x: number, y: number}} */ p) => p.y < tl.box.top ? tl.seen.find((f) => Math.abs(f.x - p.x) < 8) : undefined;
  /** @param {{x: number, y: number}} p */
  const hoverAt = (p) => {
    const flag = flagAt(p), h = flag ? null : tl.hit(p.x, p.y), { track } = view;
    tl.hover = h || flag ? p : null;
    tl.drawOver();
    tip.hidden = !h && !flag;
    over.style.cursor = flag ? "pointer" : "";
    if (flag) tip.replaceChildren(`${flag.text} (${eventWords(track, flag.event)})`);
    if (h && h.block !== null) fillTip(tip, track, act.index, h.block);
    else if (h) {
      tip.replaceChildren(...(h.name ? [pEl("b", {}, `${fmtBytes(h.bytes)} ${h.name}`)] : []), pEl("div", {}, stateWords(view, act.index, h.event)));
      const range = rangeAt(p);
      if (range) tip.prepend(pEl("b", {}, range));
      if (h.op === NO_OP && h.name && !tl.owners) tip.append(pEl("div", {}, track.exact || !track.hasExact ? "Overview: the exact events here are not in the page." : "The exact events are being decoded."));
    }
    if (tip.hidden) return;
    const w = tip.offsetWidth, room = over.clientWidth;
    tip.style.left = `${p.x + 16 + w < room ? p.x + 16 : Math.max(4, p.x - w - 16)}px`;
    tip.style.top = `${Math.max(0, Math.min(p.y + 14, over.clientHeight - tip.offsetHeight + 40))}px`;
  };
  /** The name of the annotation at a point. @param {{x: number, y: number}} p */
  const rangeAt = (p) => {
    const r = view.track.phases && view.track.phases.ranges, lane = Math.floor((p.y - tl.box.laneAt) / 14), time = view.track.meta.time;
    if (!r || !time || p.y < tl.box.laneAt || lane >= tl.box.lanes) return "";
    const x = tl.xAt(p.x), t = view.axis === "t" ? x : xOfEvent(view.track, Math.floor(x), "t");
    for (let i = lowerBound(r.t0, t + 1) - 1; i >= 0; i--) if (r.lane[i] === lane) return r.t1[i] >= t ? r.name[i] : "";
    return "";
  };
}
