// What the panels are built of. Text goes in as text nodes: names come from the input.

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** @typedef {{index: any, tracks: Track[], view: View, root: Document}} PanelCtx */

/** An element: attributes (a function is a listener, true an empty attribute, false and null none), then children.
 * @param {string} tag @param {Record<string, any>} [attrs] @param {...(Node|string)} kids @returns {any} */
export function pEl(tag, attrs = {}, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (typeof v === "function") e.addEventListener(k, v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v !== null && v !== undefined) e.setAttribute(k, String(v));
  }
  e.append(...kids);
  return e;
}

/** @param {string} text @param {() => void} on @param {Record<string, any>} [attrs] @returns {HTMLButtonElement} */
export function pButton(text, on, attrs = {}) {
  return pEl("button", { type: "button", click: on, ...attrs }, text);
}

/** A group of buttons of which one is pressed.
 * @param {string} label @param {[string, string][]} options value and words @param {string} value @param {(v: string) => void} on
 * @returns {{box: HTMLElement, set: (v: string) => void}} */
export function pChoice(label, options, value, on) {
  const box = pEl("span", { class: "choice", role: "group", "aria-label": label });
  const set = (/** @type {string} */ v) => {
    for (const b of box.children) b.setAttribute("aria-pressed", String(b.dataset.value === v));
  };
  for (const [v, words] of options) {
    box.append(pButton(words, () => { set(v); on(v); }, { "data-value": v }));
  }
  set(value);
  return { box, set };
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

/** What a picture means, folded. @param {string} text @returns {HTMLElement} */
export function pHelp(text) {
  return pEl("details", { class: "help" }, pEl("summary", {}, "What this picture means"), pEl("p", {}, text));
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

/** A table that scrolls by itself. @param {string} label @param {Record<string, any>} attrs of the table @param {(string|Node)[]} heads the first names rows
 * @param {Node[]|Node} rows or a body of them @param {string} [cls] */
export function pTable(label, attrs, heads, rows, cls = "") {
  return pScroll(pEl("div", { class: `scroll ${cls}`, tabindex: 0, role: "region", "aria-label": label }, pEl("table", attrs,
    pEl("thead", {}, pEl("tr", {}, ...heads.map((h, i) => h instanceof Node ? h : pEl("th", { scope: "col", class: i ? "n" : null }, h)))),
    rows instanceof Node ? rows : pEl("tbody", {}, ...rows))));
}

/** A cell with a number. @param {string} text @param {string} [title] */
export function pNumber(text, title) { return pEl("td", { class: "n", title }, text); }
