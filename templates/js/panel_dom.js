// What the panels are built of. Text goes in as text nodes: names come from the input.

import { fmtBytes, fmtCount } from "./format.js";
import { round } from "./math.js";
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** @typedef {{index: any, tracks: Track[], view: View, near?: (event: number, to: number) => void}} PanelCtx near: shows a part of the picture */

/** The one that a selector finds. @param {string} selector @param {ParentNode} [root] @returns {any} null: there is none */
export const pFind = (selector, root = document) => root.querySelector(selector);

/** All that a selector finds. @param {string} selector @param {ParentNode} [root] @returns {any[]} */
export const pAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Gives an element children, and by objects attributes: a function is a listener, true an empty attribute; false, null and "" none.
 * @template T @param {T} to @param {...(Node|string|false|null|Record<string, any>)} parts @returns {T} */
export const pFill = (to, ...parts) => {
  const e = /** @type {any} */ (to);
  for (const p of parts) {
    if (p instanceof Node || typeof p === "string") e.append(p);
    else for (const [k, v] of Object.entries(p || {})) {
      if (typeof v === "function") e.addEventListener(k, v);
      else if (v || v === 0) e.setAttribute(k, v === true ? "" : v);
    }
  }
  return to;
};

/** Gives an element these children in place of those that it has. @template {Element} T @param {T} e @param {...(Node|string|false|null|Record<string, any>)} parts @returns {T} */
export const pSet = (e, ...parts) => {
  e.replaceChildren();
  return pFill(e, ...parts);
};

/** A new element, "li.fold". @param {string} tag @param {...(Node|string|false|null|Record<string, any>)} parts @returns {any} */
export const pEl = (tag, ...parts) => {
  const [name, cls] = tag.split("."), e = document.createElement(name);
  if (cls) e.className = cls;
  return pFill(e, ...parts);
};

/** @param {string} text @param {() => void} click @param {...any} more @returns {HTMLButtonElement} */
export const pButton = (text, click, ...more) => pEl("button", { type: "button", click }, text, ...more);

/** A small square of a colour. @param {string} color @returns {HTMLElement} */
export const pSwatch = (color) => pEl("i.swatch", { "aria-hidden": "true", style: `background:${color}` });

/** What C wrote for the script alone, in the template of a section, in the template's place. @param {string} id @returns {any} null: there is none */
export const pTake = (id) => {
  const t = pFind(`#${id} template`), box = t?.content.firstElementChild;
  if (box) t.replaceWith(box);
  return box;
};

/** Buttons written by C of which one of each name is pressed. @param {HTMLElement} box @param {(name: string, value: string) => void} on hears which is clicked
 * @returns {(name: string, value: string) => void} shows one as pressed */
export const pPick = (box, on) => {
  pFill(box, { click: (/** @type {any} */ { target: b }) => { if (b.name) on(b.name, b.value); } });
  return (name, value) => {
    for (const b of pAll(`[name=${name}]`, box)) pFill(b, { "aria-pressed": `${b.value === value}` });
  };
};

/** Calls f once after the last of many calls. @template T @param {number} ms @param {() => T} f @returns {() => void} */
export const pLater = (ms, f) => {
  let t = 0;
  return () => { clearTimeout(t); t = setTimeout(f, ms); };
};

/** Makes a canvas as fine as the screen, and empty. @param {HTMLCanvasElement} c @param {number} w @param {number} h in CSS pixels
 * @returns {CanvasRenderingContext2D|null} that draws in CSS pixels */
export const pCanvas = (c, w = c.clientWidth, h = c.clientHeight) => {
  const dpr = devicePixelRatio || 1, g = c.getContext("2d"), x = round(w * dpr), y = round(h * dpr);
  if (c.width !== x || c.height !== y) {
    c.width = x;
    c.height = y;
  }
  g?.setTransform(dpr, 0, 0, dpr, 0, 0);
  g?.clearRect(0, 0, w, h);
  return g;
};

/** @type {ResizeObserver|undefined} */
let scrolling;
/** A box that scrolls is a tab stop while there is something to scroll. @template {Element} T @param {T} box @returns {T} */
export const pScroll = (box) => {
  scrolling ||= new ResizeObserver(all => {
    for (const { target } of all) {
      const b = /** @type {HTMLElement|null} */ (target.closest(".scroll"));
      if (b) b.tabIndex = b.scrollWidth > b.clientWidth || b.scrollHeight > b.clientHeight ? 0 : -1;
    }
  });
  for (const e of [box, ...box.children]) scrolling.observe(e);
  return box;
};

export const initScroll = () => {
  pAll(".scroll").forEach(pScroll);
};

/** A table that scrolls by itself. @param {string} label @param {string} cls @param {string[]} heads the first names rows @param {Node[]} rows */
export const pTable = (label, cls, heads, rows) => pScroll(pEl(`div.scroll ${cls}`, { tabindex: 0, role: "group", "aria-label": label },
  pEl("table", pEl("thead", pEl("tr", ...heads.map((h, i) => pEl(i ? "th.n" : "th", { scope: "col" }, h)))), pEl("tbody", ...rows))));

/** A name that breaks behind what parts its words, as those that C writes. @param {string} text */
export const pName = (text) => pEl("bdi", ...text.split(/(?<=[^/._=\s][/._=])(?=[^/._=\s])/).flatMap((t) => [t, pEl("wbr")]));

/** Groups as rows of a table; those after the first few are one together. @template {{label: string, color: string}} T
 * @param {string} label @param {string} cls @param {string[]} heads @param {T[]} groups @param {number} most @param {(g: T) => Node[]} cells */
export const pGroups = (label, cls, heads, groups, most, cells) => {
  const row = (/** @type {T} */ g, /** @type {(Node|string)[]} */ ...name) => pEl("tr", pEl("th", { scope: "row" }, ...name), ...cells(g));
  const rows = groups.slice(0, most).map(g => row(g, pSwatch(g.color), pName(g.label))), rest = /** @type {any[]} */ (groups.slice(most));
  if (rest.length) {
    const sum = { ...rest[0] };
    for (const g of rest.slice(1)) for (const k in g) sum[k] += g[k];
    rows.push(row(sum, `${fmtCount(rest.length)} more`));
  }
  return pTable(label, cls, heads, rows);
};

/** A cell with a number. @param {string} text @param {string} [title] */
export const pNumber = (text, title) => pEl("td.n", { title }, text);

/** A cell with bytes, the exact number behind it. @param {number} n */
export const pBytes = (n) => pNumber(fmtBytes(n), `${fmtCount(n)} bytes`);

/** Shows what is at the cursor: when something that it depends on changes, and the box is in sight. Once, when the events are there, it is filled unseen:
 * so that what lies below does not move when it comes into sight. @param {HTMLElement} box @param {View} view @param {number} ms to wait for more
 * @param {string[]} keys @param {() => boolean} fill whether it has what it shows @returns {() => void} asks for it */
export const pFollow = (box, view, ms, keys, fill) => {
  let seen = false, stale = true, filled = false;
  const update = () => {
    stale = !seen && filled;
    if (!stale) filled = fill();
  };
  const later = pLater(ms, update);
  view.on(changed => {
    if (changed.has("data")) filled = false;
    if (["data", ...keys].some(k => changed.has(k))) later();
  });
  new IntersectionObserver(entries => {
    seen = entries[entries.length - 1].isIntersecting;
    if (seen && stale) update();
  }, { rootMargin: "400px" }).observe(box);
  return later;
};
