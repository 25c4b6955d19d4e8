// The pointer on the timeline: wheel, drag, hover, click.
import { fillTip, missingWords } from "./detail.js";
import { fmtBytes } from "./format.js";
import { NO_OP } from "./layout.js";
import { abs, clamp, max } from "./math.js";
import { pEl, pFill, pFind, pSet } from "./panel_dom.js";
import { box, drawOver, frame, hit, LEFT, pointed, size, TOP, xAt } from "./timeline.js";
import { markWords, stateWords } from "./words.js";

/** @typedef {{x: number, y: number}} Point on the picture */

const LONG_PRESS = 450;

/** Where a movement began: x and y between the fingers, and how far apart those are (0: one). `reads`: shows what is under it.
 *  @typedef {{x: number, y: number, apart: number, lo: number, hi: number, from: number, select: boolean, moved: boolean, tap: boolean, reads: boolean}} Drag */

/** Wheel, drag, hover, click; a finger pans, two zoom about their middle, a long press hovers, and selects where it moves on. Up and down
 *  a finger scrolls the page: the style sheet says so (touch-action), and the browser cancels the pointer.
 *  @param {import("./view.js").View} view @param {HTMLElement} host
 *  @param {{zoom: (f: number, at: number) => void, fitPhase: (event: number) => void, stop: () => void}} act */
export const pointerOn = (view, host, act) => {
  const over = pFind(".tl-over", host), tip = pFind(".tl-tip", host);
  /** What is held down, and where. @type {Map<number, Point>} */
  const down = new Map();
  let drag = /** @type {Drag|null} */ (null);
  let turned = -1e9, scrolled = -1e9, holding = 0;
  const place = (/** @type {MouseEvent} */ e) => ({ x: e.offsetX - LEFT, y: e.offsetY - TOP });
  const middle = () => {
    const [a, b = a] = down.values();
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.hypot(a.x - b.x, a.y - b.y) };
  };
  /** A movement begins, or goes on with another number of fingers. @returns {Drag} */
  const begin = (select = false) => {
    const m = middle(), more = drag !== null;
    pointed.range = null;
    return (drag = { ...m, lo: view.lo, hi: view.hi, from: xAt(m.x), select, moved: more, tap: !more, reads: false });
  };
  const hide = () => { pointed.hover = null; tip.hidden = true; };
  addEventListener("scroll", () => { scrolled = performance.now(); });
  addEventListener("pointerdown", hide, true);
  /** @param {PointerEvent} e @returns {Drag|null} the movement that ended */
  const lift = (e) => {
    const d = drag;
    clearTimeout(holding);
    down.delete(e.pointerId);
    pointed.range = null;
    drawOver();
    if (down.size) begin();
    else drag = null;
    return drag ? null : d;
  };
  /** What a flag stands for, where nothing else is. @param {Point} p @param {ReturnType<typeof hit>} h */
  const flagAt = (p, h) => !h?.name && (h?.block ?? -1) < 0 ? frame?.seen.find((f) => p.y < f.y && abs(f.x - p.x) < 10) : undefined;
  /** @param {Point} p */
  const hoverAt = (p, touch = false) => {
    const h = hit(p.x, p.y), flag = flagAt(p, h), { track } = view, shown = h || flag;
    pointed.hover = shown ? p : null;
    drawOver();
    tip.hidden = !shown;
    over.style.cursor = flag ? "pointer" : "";
    if (flag) pSet(tip, markWords(track, flag));
    else if (h && h.block !== null) fillTip(tip, track, h.block);
    else if (h) {
      const named = frame?.named.find((r) => p.y >= r.y && p.y < r.y + 14 && p.x >= r.x && p.x < r.x + r.w);
      pSet(tip, named ? pEl("b", named.text) : null, h.name ? pEl("b", `${fmtBytes(h.bytes)} ${h.name}`) : null, pEl("div", stateWords(view, h.event)));
      if (h.op === NO_OP && h.name && view.by !== "owner") tip.append(missingWords(track));
    }
    if (tip.hidden) return;
    // How large it is the style sheet's 100 % knows, and to ask for it would lay out the page once more. Left of the pointer in the right half;
    // above a finger, which hides what is below it.
    const x = p.x + LEFT + 16, y = p.y + TOP + 14, [w, tall] = size;
    tip.style.transform = `translate(${x}px, ${y}px) translate(max(${4 - x}px, ${x > w / 2 ? "-100% - 32px" : `min(0px, ${w - x}px - 100%)`}), ` +
      `${touch ? `max(${-y - over.getBoundingClientRect().top}px, -100% - 44px)` : `clamp(${-y}px, ${tall + 40 - y}px - 100%, 0px)`})`;
  };
  pFill(over, {
    wheel: (/** @type {WheelEvent} */ e) => {
      const side = e.shiftKey || abs(e.deltaX) > abs(e.deltaY);
      const d = ((side && e.deltaX) || e.deltaY) * [1, 16, 400][e.deltaMode];
      // A page that is being scrolled past goes on scrolling, and so it does over one that cannot zoom out further; a turn that zoomed does not scroll before it rests.
      const now = performance.now(), zooms = now - turned < 250;
      if (now - scrolled < 200 || (!zooms && !side && d > 0 && view.isWhole())) return;
      turned = now;
      e.preventDefault();
      if (side) view.shift(xAt(d) - view.lo);
      else act.zoom(Math.exp(clamp(d, -400, 400) * 0.0022), xAt(clamp(place(e).x, 0, box.w)));
    },
    pointerdown: (/** @type {PointerEvent} */ e) => {
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
        d.reads = d.select = true;
        d.tap = false;
        hoverAt(p, true);
      }, LONG_PRESS);
    },
    pointermove: (/** @type {PointerEvent} */ e) => {
      const p = place(e), touch = e.pointerType === "touch", far = touch ? 10 : 3;
      if (!drag && !touch) hoverAt(p);
      if (!drag || !down.has(e.pointerId)) return;
      down.set(e.pointerId, p);
      if (drag.reads) hoverAt(p, true);
      const m = middle(), dx = abs(m.x - drag.x), dy = touch && !drag.reads ? abs(m.y - drag.y) : 0;
      if (max(dx, dy) > far) {
        drag.tap = false;
        clearTimeout(holding);
      }
      if (dx > far && dx > dy) drag.moved = true;
      if (!drag.moved) return;
      if (drag.select) {
        pointed.range = [drag.from, xAt(p.x)].sort((a, b) => a - b);
        drawOver();
      } else { // what was under the middle stays there
        const w = ((drag.hi - drag.lo) * max(drag.apart, 20)) / max(m.apart, 20), lo = drag.from - (m.x / box.w) * w;
        view.set({ lo, hi: lo + w });
      }
    },
    pointerup: (/** @type {PointerEvent} */ e) => {
      const p = place(e), { range } = pointed, d = lift(e);
      if (d && range) {
        const [a, b] = range.map((x) => view.eventAt(x));
        view.set({ range: [a, b], cursor: b });
      } else if (d?.tap) {
        const h = hit(p.x, p.y), flag = flagAt(p, h);
        if (flag) view.set({ cursor: flag.from, range: flag.to > flag.from ? [flag.from, flag.to] : view.range });
        else if (h) view.set({ cursor: h.event, pin: h.block });
      }
    },
    pointercancel: lift,
    // Two fingers, and one that pans or reads, keep the page from scrolling; a long press has no menu.
    touchmove: (/** @type {TouchEvent} */ e) => { if (drag && (drag.moved || drag.reads) && e.cancelable) e.preventDefault(); },
    contextmenu: (/** @type {MouseEvent} */ e) => { if (down.size) e.preventDefault(); },
    dblclick: (/** @type {MouseEvent} */ e) => act.fitPhase(view.eventAt(xAt(place(e).x))),
    pointerleave: (/** @type {PointerEvent} */ e) => {
      if (e.pointerType === "touch") return; // a finger that is lifted leaves its words to be read
      hide();
      drawOver();
    },
  });
};
