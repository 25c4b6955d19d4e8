// The whole run in a strip, with the part in view as a brush.
import { bucketsOf, overviewOf } from "./layout.js";
import { pCanvas, pEl } from "./panel_dom.js";

/** @typedef {import("./view.js").View} View */

/** @param {View} view @param {() => import("./marks.js").Theme} theme
 *  @returns {{canvas: HTMLCanvasElement, draw: () => void}} */
export function makeMinimap(view, theme) {
  const canvas = /** @type {HTMLCanvasElement} */ (pEl("canvas", { class: "tl-mini", "aria-hidden": "true" }));
  const left = 58, right = 12;
  /** @type {{from: number, lo: number, hi: number, kind: string}|null} */
  let drag = null;
  const span = () => view.track.axisRange(view.axis);
  /** @param {number} x in the axis */
  const px = (x) => left + ((x - span()[0]) / (span()[1] - span()[0] || 1)) * (canvas.clientWidth - left - right);
  /** @param {PointerEvent} e */
  const at = (e) => {
    const [min, max] = span(), x = (e.offsetX - left) / (canvas.clientWidth - left - right);
    return min + Math.min(Math.max(x, 0), 1) * (max - min);
  };

  const draw = () => {
    const o = overviewOf(view.track, view.axis), c = theme(), w = canvas.clientWidth, h = canvas.clientHeight;
    const g = w < left + right + 10 ? null : pCanvas(canvas);
    if (!g || !o) return;
    const n = w - left - right, of = bucketsOf(o, o.x0, o.x1, n);
    let top = 1;
    for (const v of o.high) top = Math.max(top, v);
    g.fillStyle = c.fill;
    g.fillRect(left, 0, n, h);
    g.fillStyle = c.soft;
    g.globalAlpha = 0.55;
    g.beginPath();
    g.moveTo(left, h);
    for (let i = 0; i < n; i++) {
      const y = h - (o.high[of[i]] / top) * (h - 3);
      g.lineTo(left + i, y);
      g.lineTo(left + i + 1, y);
    }
    g.lineTo(left + n, h);
    g.fill();
    g.globalAlpha = 1;
    const a = px(view.lo), b = Math.max(px(view.hi), a + 3);
    g.fillStyle = c.page;
    g.globalAlpha = 0.65;
    g.fillRect(left, 0, a - left, h);
    g.fillRect(b, 0, left + n - b, h);
    g.globalAlpha = 1;
    g.strokeStyle = c.edge;
    g.lineWidth = 1.5;
    g.strokeRect(a, 0.75, b - a, h - 1.5);
    g.fillStyle = c.edge;
    g.fillRect(a - 1.5, h / 2 - 6, 3, 12);
    g.fillRect(b - 1.5, h / 2 - 6, 3, 12);
  };

  /** The edge of the brush that is near. @param {PointerEvent} e */
  const edge = (e) => /** @type {const} */ (["lo", "hi"]).find((k) => Math.abs(e.offsetX - px(view[k])) < 8);
  canvas.addEventListener("pointerdown", (e) => {
    if (!e.isPrimary || e.button !== 0) return;
    const x = at(e), { lo, hi } = view, [min, max] = span();
    drag = { from: x, lo, hi, kind: edge(e) || ((lo <= min && hi >= max) || x < lo || x > hi ? "new" : "move") };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    canvas.style.cursor = edge(e) ? "ew-resize" : "grab";
    if (!drag || !e.isPrimary) return;
    const { kind, from, lo, hi } = drag, x = at(e);
    if (kind === "move") view.set({ lo: lo + x - from, hi: hi + x - from });
    else if (kind !== "new" || Math.abs(px(x) - px(from)) > 3) view.set({ lo: x, hi: kind === "lo" ? hi : kind === "hi" ? lo : from }); // the view puts them in order
  });
  canvas.addEventListener("pointerup", (e) => { // a click outside the brush brings it there
    const x = at(e), w = drag ? drag.hi - drag.lo : 0, [min, max] = span();
    if (drag && drag.kind === "new" && Math.abs(px(x) - px(drag.from)) <= 3 && w < max - min) view.set({ lo: x - w / 2, hi: x + w / 2 });
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  return { canvas, draw };
}
