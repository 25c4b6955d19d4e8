// A tree of stacks as an icicle (width = bytes, callers above) and as a table that unfolds.

import { fmtBytes, fmtCount, fmtPercent } from "./format.js";
import { pButton, pEl, pNumber, pTable } from "./panel_dom.js";

/** @typedef {import("./query.js").TreeNode} TreeNode */
/** @typedef {{node: TreeNode, up: number, depth: number, x: number, w: number}} IcicleBox up: index of the parent, -1 */

const ICICLE_BOXES = 1500;

/** Where the boxes of a tree stand, in parts of the whole width; parents come before children. What is narrower than `least` is
 * left out, and so is all below it.
 * @param {TreeNode} root @param {number} depth @param {number} least @returns {IcicleBox[]} */
export function icicleBoxes(root, depth, least) {
  /** @type {IcicleBox[]} */
  const out = [{ node: root, up: -1, depth: 0, x: 0, w: 1 }];
  for (let i = 0; i < out.length; i++) {
    const b = out[i];
    if (b.depth + 1 >= depth || b.node.bytes <= 0) continue;
    let x = b.x;
    for (const c of [...b.node.children].sort((p, q) => q.bytes - p.bytes)) {
      const w = b.w * c.bytes / b.node.bytes;
      if (w >= least && out.length < ICICLE_BOXES) out.push({ node: c, up: i, depth: b.depth + 1, x, w });
      x += w;
    }
  }
  return out;
}

/** The same colour for the same name in every picture; the style sheet has them. @param {string} name @returns {number} */
export function nameShade(name) {
  let h = 7;
  for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) >>> 0;
  return h % 6;
}

/** "model.py:12". @param {TreeNode} n @returns {string} */
function placeWords(n) {
  return n.file ? `${n.file.slice(n.file.lastIndexOf("/") + 1)}${n.line ? `:${n.line}` : ""}` : "";
}

/** @param {TreeNode} n @param {number} whole @returns {string} */
function nodeWords(n, whole) {
  return `${n.name}${n.file ? ` (${n.file}${n.line ? `:${n.line}` : ""})` : ""}: ${fmtBytes(n.bytes)}, ${fmtPercent(n.bytes, whole)}, ${fmtCount(n.count)} block${n.count === 1 ? "" : "s"}`;
}

/** Draws the icicle of root into box; a click (or Enter) on a frame makes it the top, arrow keys go from frame to frame.
 * @param {HTMLElement} box @param {TreeNode} root @param {(text: string) => void} say */
export function drawIcicle(box, root, say) {
  const whole = root.bytes;
  /** @param {TreeNode[]} path from the root to the top @param {boolean} focus */
  const draw = (path, focus) => {
    const top = path[path.length - 1], boxes = icicleBoxes(top, 24, 0.002), lead = path.slice(0, -1);
    const rows = Math.max(...boxes.map(b => b.depth)) + 1 + lead.length;
    /** @type {HTMLButtonElement[]} */
    const buttons = [];
    /** @param {TreeNode} n @param {number} row @param {number} x @param {number} w @param {() => void} on */
    const put = (n, row, x, w, on) => {
      const b = pButton(w < 0.02 ? "" : w < 0.12 ? n.name : `${n.name}  ${placeWords(n)}`, on, { title: nodeWords(n, whole), "aria-label": nodeWords(n, whole), tabindex: -1,
        class: `ib c${nameShade(n.name)}${row < lead.length ? " lead" : ""}`, focus: () => say(nodeWords(n, whole)), mouseenter: () => say(nodeWords(n, whole)) });
      b.style.left = `${x * 100}%`;
      b.style.width = `${w * 100}%`;
      b.style.top = `${row * 22}px`;
      buttons.push(b);
    };
    lead.forEach((n, i) => put(n, i, 0, 1, () => draw(path.slice(0, i + 1), true)));
    boxes.forEach((b, i) => put(b.node, lead.length + b.depth, b.x, b.w, () => {
      const way = [];
      for (let k = i; k > 0; k = boxes[k].up) way.unshift(boxes[k].node);
      if (way.length && b.node.children.length) draw([...path, ...way], true);
    }));
    box.style.height = `${rows * 22}px`;
    box.replaceChildren(...buttons);
    const at = buttons[lead.length];
    at.tabIndex = 0;
    if (focus) at.focus();
    box.onkeydown = e => {
      const i = buttons.indexOf(/** @type {any} */ (document.activeElement)), k = i - lead.length;
      if (i < 0 || !/^Arrow|^Escape|^Home/.test(e.key)) return;
      let to = i;
      if (e.key === "Escape" && lead.length) { draw(path.slice(0, -1), true); to = -1; }
      else if (e.key === "Home") to = 0;
      else if (e.key === "ArrowUp") to = k > 0 ? lead.length + boxes[k].up : Math.max(i - 1, 0);
      else if (e.key === "ArrowDown") {
        const below = boxes.findIndex(b => b.up === k);
        if (k < 0) to = i + 1;
        else if (below > 0) to = lead.length + below;
      }
      else if (k >= 0) {
        const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
        if (boxes[k + step]?.depth === boxes[k].depth) to = i + step;
      }
      e.preventDefault();
      e.stopPropagation();
      if (to < 0) return;
      for (const o of buttons) o.tabIndex = -1;
      buttons[to].tabIndex = 0;
      buttons[to].focus();
    };
  };
  draw([root], box.contains(document.activeElement));
}

/** The tree as a table: rows unfold, headings sort among siblings.
 * @param {TreeNode} root @returns {HTMLElement} */
export function treeTable(root) {
  let by = "bytes", falling = true;
  const body = pEl("tbody"), open = new Set([root]);
  const heads = /** @type {[string, string][]} */ ([["name", "Frame"], ["bytes", "Bytes"], ["share", "Share"], ["count", "Blocks"]]);
  /** @param {TreeNode} a @param {TreeNode} b */
  const order = (a, b) => (by === "name" ? (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) : by === "count" ? a.count - b.count : a.bytes - b.bytes) * (falling ? -1 : 1);
  /** @param {TreeNode} n @param {number} level @param {any[]} out */
  const rows = (n, level, out) => {
    const has = n.children.length > 0, th = pEl("th", { scope: "row" });
    th.style.paddingLeft = `${Math.min(level, 30) * 14}px`;
    th.append(has ? pButton(open.has(n) ? "\u25be" : "\u25b8", () => { if (!open.delete(n)) open.add(n); fill(n); },
      { class: "twist", "aria-expanded": String(open.has(n)), "aria-label": `${open.has(n) ? "Fold" : "Unfold"} ${n.name}` }) : pEl("span", { class: "twist" }), pEl("bdi", {}, n.name), " ", pEl("small", {}, placeWords(n)));
    const tr = pEl("tr", {}, th, pNumber(fmtBytes(n.bytes), `${fmtCount(n.bytes)} bytes`), pNumber(fmtPercent(n.bytes, root.bytes)), pNumber(fmtCount(n.count)));
    tr.node = n;
    out.push(tr);
    if (has && open.has(n)) for (const c of [...n.children].sort(order).slice(0, 100)) rows(c, level + 1, out);
    return out;
  };
  /** @param {TreeNode} [at] whose button keeps the focus */
  const fill = at => {
    const list = rows(root, 0, []);
    body.replaceChildren(...list);
    if (at) list.find(r => r.node === at)?.querySelector("button")?.focus();
  };
  const head = /** @type {HTMLElement[]} */ ([]);
  for (const [key, words] of heads) {
    const th = pEl("th", { scope: "col", class: key === "name" ? null : "n", "aria-sort": key === by ? "descending" : null });
    th.append(pButton(words, () => {
      falling = by === key ? !falling : key !== "name";
      by = key;
      for (const h of head) h.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", falling ? "descending" : "ascending");
      fill();
    }, { class: "sort" }));
    head.push(th);
  }
  // The way of the most bytes is open at first, down to where it parts.
  for (let n = root, i = 0; n.children.length && i < 40; i++) {
    n = n.children.reduce((a, b) => b.bytes > a.bytes ? b : a);
    if (n.bytes < 0.5 * root.bytes) break;
    open.add(n);
  }
  fill();
  return pTable("Live memory by stack", { class: "tree" }, head, body);
}
