// The pointer on the timeline: wheel, drag, hover, click.
import { eventWords, fillTip } from "./detail.js";
import { fmtBytes } from "./format.js";
import { eventOfX, lowerBound, NO_OP, xOfEvent } from "./layout.js";
import { pEl } from "./panel_dom.js";
import { stateWords } from "./words.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./timeline.js").Timeline} Timeline */

const LONG_PRESS = 450;

/** Where a movement began: x and y between the fingers, and how far apart those are (0: one). `reads`: shows what is under it.
 *  @typedef {{x: number, y: number, apart: number, lo: number, hi: number, from: number, select: boolean, moved: boolean, tap: boolean, reads: boolean}} Drag */

/** Wheel, drag, hover, click; a finger pans, two zoom about their middle, a long press hovers. Up and down a finger scrolls the page: the
 *  style sheet says so (touch-action), and the browser cancels the pointer.
 *  @param {Timeline} tl @param {View} view
 *  @param {{zoom: (f: number, at: number) => void, fitPhase: (event: number) => void, tip: HTMLElement, index: any, stop: () => void}} act */
export function pointerOn(tl, view, act) {
  const { over } = tl, { tip } = act;
  /** What is held down, and where. @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let drag = /** @type {Drag|null} */ (null);
  let scrolled = -1e9, holding = 0;
  const place = (/** @type {MouseEvent} */ e) => ({ x: e.offsetX, y: e.offsetY });
  /** @template {keyof HTMLElementEventMap} K @param {K} type @param {(e: HTMLElementEventMap[K]) => void} f */
  const on = (type, f) => over.addEventListener(type, f, { passive: false });
  const middle = () => {
    const [a, b = a] = down.values();
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
  };
  /** A movement begins, or goes on with another number of fingers. @returns {Drag} */
  const begin = (select = false) => {
    const m = middle(), more = drag !== null;
    return (drag = { ...m, lo: view.lo, hi: view.hi, from: tl.xAt(m.x), select, moved: more, tap: !more, reads: false });
  };
  const hide = () => { tl.hover = null; tip.hidden = true; };
  addEventListener("scroll", () => { scrolled = performance.now(); }, { passive: true });
  addEventListener("pointerdown", hide, true);
  on("wheel", (e) => {
    const [min, max] = view.track.axisRange(view.axis), side = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
    const d = ((side && e.deltaX) || e.deltaY) * (e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1);
    // A page that is being scrolled past, and one that cannot zoom out further, goes on scrolling.
    if (performance.now() - scrolled < 200 || (!side && d > 0 && view.lo <= min && view.hi >= max)) return;
    e.preventDefault();
    const w = view.hi - view.lo, x = tl.xAt(Math.min(Math.max(place(e).x, tl.box.left), tl.box.left + tl.box.width));
    if (side) view.set({ lo: view.lo + (d / tl.box.width) * w, hi: view.hi + (d / tl.box.width) * w });
    else act.zoom(Math.exp(Math.min(Math.max(d, -400), 400) * 0.0022), x);
  });
  on("pointerdown", (e) => {
    if (e.button !== 0) return;
    act.stop();
    clearTimeout(holding);
    if (e.isPrimary) { // whatever was held before is not any more
      down.clear();
      drag = null;
    }
    const p = place(e);
    down.set(e.pointerId, p);
    const d = begin(e.shiftKey);
    over.setPointerCapture(e.pointerId);
    if (e.pointerType === "touch" && d.tap) holding = setTimeout(() => {
      d.reads = true;
      d.tap = false;
      hoverAt(p, true);
    }, LONG_PRESS);
  });
  on("pointermove", (e) => {
    const p = place(e), touch = e.pointerType === "touch", far = touch ? 10 : 3;
    if (!drag && !touch) hoverAt(p);
    if (!drag || !down.has(e.pointerId)) return;
    down.set(e.pointerId, p);
    if (drag.reads) {
      hoverAt(p, true);
      return;
    }
    const m = middle(), dx = Math.abs(m.x - drag.x), dy = touch ? Math.abs(m.y - drag.y) : 0;
    if (Math.max(dx, dy) > far) {
      drag.tap = false;
      clearTimeout(holding);
    }
    if (dx > far && dx > dy) drag.moved = true;
    if (!drag.moved) return;
    if (drag.select) {
      tl.select = [drag.from, tl.xAt(p.x)];
      tl.drawOver();
    } else { // what was under the middle stays there
      const w = ((drag.hi - drag.lo) * Math.max(drag.apart, 20)) / Math.max(m.apart, 20), lo = drag.from - ((m.x - tl.box.left) / tl.box.width) * w;
      view.set({ lo, hi: lo + w });
    }
  });
  /** @param {PointerEvent} e @returns {Drag|null} the movement that ended */
  const lift = (e) => {
    const d = drag;
    clearTimeout(holding);
    down.delete(e.pointerId);
    tl.select = null;
    tl.drawOver();
    if (down.size) begin();
    else drag = null;
    return drag ? null : d;
  };
  on("pointerup", (e) => {
    const p = place(e), d = lift(e);
    if (d && d.moved && d.select) {
      const [a, b] = [d.from, tl.xAt(p.x)].sort((q, r) => q - r).map((x) => eventOfX(view.track, x, view.axis));
      view.set({ range: [a, b], cursor: b });
    } else if (d && d.tap) {
      const flag = flagAt(p), h = tl.hit(p.x, p.y);
      if (flag) view.set({ cursor: flag.event, range: flag.to > flag.event ? [flag.event, flag.to] : view.range });
      else if (h) view.set({ cursor: h.event, pin: h.block });
    }
  });
  on("pointercancel", lift);
  // Two fingers, and one that pans or reads, keep the page from scrolling; a long press has no menu.
  on("touchmove", (e) => { if (drag && (drag.moved || drag.reads) && e.cancelable) e.preventDefault(); });
  on("contextmenu", (e) => { if (down.size) e.preventDefault(); });
  on("dblclick", (e) => act.fitPhase(eventOfX(view.track, tl.xAt(place(e).x), view.axis)));
  on("pointerleave", (e) => {
    if (e.pointerType === "touch") return; // a finger that is lifted leaves its words to be read
    hide();
    tl.drawOver();
  });

  const flagAt = (/** @type {{x: number, y: number}} */ p) => p.y < tl.box.top ? tl.seen.find((f) => Math.abs(f.x - p.x) < 10) : undefined;
  /** @param {{x: number, y: number}} p */
  const hoverAt = (p, touch = false) => {
    const flag = flagAt(p), h = flag ? null : tl.hit(p.x, p.y), { track } = view;
    tl.hover = h || flag ? p : null;
    tl.drawOver();
    tip.hidden = !h && !flag;
    over.style.cursor = flag ? "pointer" : "";
    if (flag) tip.replaceChildren(`${flag.text} (${eventWords(track, flag.event)})`);
    else if (h && h.block !== null) fillTip(tip, track, act.index, h.block);
    else if (h) {
      tip.replaceChildren(...[rangeAt(p), h.name && `${fmtBytes(h.bytes)} ${h.name}`].filter(Boolean).map((text) => pEl("b", {}, text)), pEl("div", {}, stateWords(view, act.index, h.event)));
      if (h.op === NO_OP && h.name && !tl.owners) tip.append(track.exact || !track.hasExact ? "Overview: the exact events here are not in the page." : "The exact events are being decoded.");
    }
    if (tip.hidden) return;
    const w = tip.offsetWidth, tall = tip.offsetHeight, room = over.clientWidth;
    tip.style.left = `${p.x + 16 + w < room ? p.x + 16 : Math.max(4, p.x - w - 16)}px`;
    // above the finger, which hides what is below it
    tip.style.top = `${touch ? Math.max(p.y - tall - 30, -over.getBoundingClientRect().top) : Math.max(0, Math.min(p.y + 14, over.clientHeight - tall + 40))}px`;
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
