// What the panels are built of. Text goes in as text nodes: names come from the input.

import { fmtBytes, fmtCount } from "./format.js";
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** @typedef {{index: any, tracks: Track[], view: View, root: Document}} PanelCtx */

/** An element: attributes (a function is a listener, true an empty attribute, false, null and "" none), then children.
 * @param {string} tag @param {Record<string, any>} [attrs] @param {...(Node|string)} kids @returns {any} */
export function pEl(tag, attrs = {}, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (typeof v === "function") e.addEventListener(k, v);
    else if (v || v === 0) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...kids);
  return e;
}

/** @param {string} text @param {() => void} on @param {Record<string, any>} [attrs] @returns {HTMLButtonElement} */
export function pButton(text, on, attrs = {}) {
  return pEl("button", { type: "button", click: on, ...attrs }, text);
}

/** A small square of a colour. @param {string} color @returns {HTMLElement} */
export function pSwatch(color) {
  const s = pEl("i", { class: "swatch", "aria-hidden": "true" });
  s.style.background = color;
  return s;
}

/** The place of the page's own buttons. @returns {HTMLElement} */
export function pTools() {
  const bar = /** @type {HTMLElement} */ (document.querySelector(".bar"));
  return bar.querySelector(".tools") || bar.appendChild(pEl("span", { class: "tools" }));
}

/** What C wrote for the script alone, in the template of a section, in the template's place. @param {string} id @returns {any} null: there is none */
export function pTake(id) {
  const t = /** @type {HTMLTemplateElement|null} */ (document.querySelector(`#${id} template`)), box = t && t.content.firstElementChild;
  if (box) t.replaceWith(box);
  return box;
}

/** Buttons written by C of which one of each name is pressed. @param {HTMLElement} box @param {(name: string, value: string) => void} on
 * @returns {(name: string, value: string) => void} presses one */
export function pPick(box, on) {
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    for (const b of /** @type {NodeListOf<HTMLButtonElement>} */ (box.querySelectorAll(`[name=${name}]`))) b.setAttribute("aria-pressed", String(b.value === value));
    on(name, value);
  };
  box.addEventListener("click", e => {
    const b = /** @type {HTMLButtonElement} */ (e.target);
    if (b.name) set(b.name, b.value);
  });
  return set;
}

/** Calls f once after the last of many calls. @template T @param {number} ms @param {() => T} f @returns {() => void} */
export function pLater(ms, f) {
  let t = 0;
  return () => { clearTimeout(t); t = setTimeout(f, ms); };
}

/** Makes a canvas as fine as the screen, and empty. @param {HTMLCanvasElement} c @param {number} w @param {number} h in CSS pixels
 * @returns {CanvasRenderingContext2D|null} that draws in CSS pixels */
export function pCanvas(c, w = c.clientWidth, h = c.clientHeight) {
  const dpr = devicePixelRatio || 1, g = c.getContext("2d"), x = Math.round(w * dpr), y = Math.round(h * dpr);
  if (c.width !== x || c.height !== y) {
    c.width = x;
    c.height = y;
  }
  g?.setTransform(dpr, 0, 0, dpr, 0, 0);
  g?.clearRect(0, 0, w, h);
  return g;
}

/** @type {ResizeObserver|undefined} */
let scrolling;
/** A box that scrolls is a tab stop while there is something to scroll. @template {Element} T @param {T} box @returns {T} */
export function pScroll(box) {
  scrolling ||= new ResizeObserver(all => {
    for (const { target } of all) {
      const b = /** @type {HTMLElement|null} */ (target.closest(".scroll"));
      if (b) b.tabIndex = b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight ? 0 : -1;
    }
  });
  for (const e of [box, ...box.children]) scrolling.observe(e);
  return box;
}

export function initScroll() {
  for (const b of document.querySelectorAll(".scroll")) pScroll(b);
}

/** A table that scrolls by itself. @param {string} label @param {string} cls @param {string[]} heads the first names rows @param {Node[]} rows */
export function pTable(label, cls, heads, rows) {
  return pScroll(pEl("div", { class: `scroll ${cls}`, tabindex: 0, role: "group", "aria-label": label }, pEl("table", {},
    pEl("thead", {}, pEl("tr", {}, ...heads.map((h, i) => pEl("th", { scope: "col", class: i && "n" }, h)))), pEl("tbody", {}, ...rows))));
}

/** Groups as rows of a table; those after the first few are one together. @template {{label: string, color: string}} T
 * @param {string} label @param {string} cls @param {string[]} heads @param {T[]} groups @param {number} most @param {(g: T) => Node[]} cells */
export function pGroups(label, cls, heads, groups, most, cells) {
  const row = (/** @type {T} */ g, /** @type {(Node|string)[]} */ ...name) => pEl("tr", {}, pEl("th", { scope: "row" }, ...name), ...cells(g));
  const rows = groups.slice(0, most).map(g => row(g, pSwatch(g.color), pEl("bdi", {}, g.label))), rest = /** @type {any[]} */ (groups.slice(most));
  if (rest.length) {
    const sum = { ...rest[0] };
    for (const g of rest.slice(1)) for (const k in g) sum[k] += g[k];
    rows.push(row(sum, `${fmtCount(rest.length)} more`));
  }
  return pTable(label, cls, heads, rows);
}

/** A cell with a number. @param {string} text @param {string} [title] */
export function pNumber(text, title) { return pEl("td", { class: "n", title }, text); }

/** A cell with bytes, the exact number behind it. @param {number} n */
export function pBytes(n) { return pNumber(fmtBytes(n), `${fmtCount(n)} bytes`); }

/** Shows what is at the cursor: when something that it depends on changes, and the box is in sight. Once, when the events are there, it is filled unseen:
 * so that what lies below does not move when it comes into sight. @param {HTMLElement} box @param {View} view @param {number} ms to wait for more
 * @param {string[]} keys @param {() => boolean} fill whether it has what it shows @returns {() => void} asks for it */
export function pFollow(box, view, ms, keys, fill) {
  let seen = false, stale = true, filled = false;
  const update = () => {
    stale = !seen && filled;
    if (!stale) filled = fill();
  };
  const later = pLater(ms, update), load = () => { filled = false; view.track.loadExact().then(later); };
  view.on(changed => {
    if (changed.has("track")) load();
    if (keys.some(k => changed.has(k))) later();
  });
  new IntersectionObserver(entries => {
    seen = entries[entries.length - 1].isIntersecting;
    if (seen && stale) update();
  }, { rootMargin: "400px" }).observe(box);
  load();
  return later;
}
