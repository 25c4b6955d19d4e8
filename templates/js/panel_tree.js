// A tree of stacks as an icicle (width = bytes, callers above) and as a table that unfolds.

import { fileWords } from "./detail.js";
import { fmtBytes, fmtCount, fmtMany, fmtPercent, fmtSigned } from "./format.js";
import { min } from "./math.js";
import { pAll, pButton, pEl, pFill, pFind, pNumber, pSet, pTable } from "./panel_dom.js";
import { sortHeads, sortOrder } from "./panel_sort.js";
import { paleOf } from "./draw.js";

/** @typedef {import("./query.js").TreeNode} TreeNode */
/** @typedef {{node: TreeNode, row: TreeNode[], up: number, depth: number, x: number, w: number}} IcicleBox row: what it stands for, its node
 *  last; up: index of the parent, -1 */

const ICICLE_BOXES = 1500;

/** Where the boxes of a tree stand, in parts of the whole width; parents come before children. What is narrower than `least` is
 * left out, and so is all below it. Frames that hold all there is, one in the other, share a box where there are three or more:
 * they tell nothing apart. @param {TreeNode[]} path from the root to what is on top as wide as the picture @param {number} depth below that
 * @param {number} least @param {Set<TreeNode>} [apart] frames that a reader wants to see one by one @returns {IcicleBox[]} */
export const icicleBoxes = (path, depth, least, apart) => {
  const out = /** @type {IcicleBox[]} */ ([]), [root] = path;
  const isDull = (/** @type {TreeNode} */ n) => n !== root && n.bytes === root.bytes && n.children.length === 1 && n.children[0].bytes === n.bytes && !apart?.has(n);
  /** @param {TreeNode} n @param {number} up @param {number} y @param {number} x @param {number} w */
  const put = (n, up, y, x, w) => {
    const row = [n];
    for (let k = n; isDull(k) && isDull(k.children[0]);) row.push(k = k.children[0]);
    if (row.length < 3) row.length = 1;
    return out.push({ node: row[row.length - 1], row, up, depth: y, x, w });
  };
  for (let i = 0, n = 0; i < path.length; i += out[n++].row.length) put(path[i], n - 1, n, 0, 1);
  const lead = out.length - 1;
  for (let i = lead; i < out.length; i++) {
    const b = out[i];
    if (b.depth + 1 >= lead + depth) break;
    let x = b.x;
    for (const c of b.node.children) {
      const w = b.w * c.bytes / b.node.bytes;
      if (w >= least && out.length < ICICLE_BOXES) put(c, i, b.depth + 1, x, w);
      x += w;
    }
  }
  return out;
};

/** "model.py:12". @param {TreeNode} n @returns {string} */
const placeWords = ({ file, line }) => fileWords({ file: file.replace(/.*\//, ""), line });

/** What a node holds, or grew by. @param {TreeNode} n @param {boolean} [signed] */
const holds = (n, signed) => signed ? fmtSigned(n.net) : fmtBytes(n.bytes);

/** Draws the icicle of root into box; a click (or Enter) on a frame makes it the top, arrow keys go from frame to frame.
 * @param {HTMLElement} box @param {TreeNode} root @param {(text: string) => void} say @param {boolean} signed it is one of changes */
export const drawIcicle = (box, root, say, signed) => {
  const apart = /** @type {Set<TreeNode>} */ (new Set());
  /** @param {TreeNode[]} path from the root to the top @param {boolean} focus */
  const draw = (path, focus) => {
    const boxes = icicleBoxes(path, 24, 0.002, apart), top = boxes.findLastIndex((b) => b.w === 1 && path.includes(b.node));
    const open = (/** @type {number} */ i) => {
      const way = /** @type {TreeNode[]} */ ([]);
      for (let k = i; k >= 0; k = boxes[k].up) way.unshift(...boxes[k].row);
      if (boxes[i]?.row.length > 1) {
        for (const n of boxes[i].row) apart.add(n);
        draw(path, true);
      } else if (way.length && boxes[i].node.children.length) draw(way, true);
    };
    const buttons = boxes.map(({ node: n, row, depth, x, w }, i) => {
      const whole = `${holds(n, signed)}, ${fmtPercent(n.bytes, root.bytes)}${signed ? " of all changes" : `, ${fmtMany(n.count, "block")}`}`;
      const named = (/** @type {TreeNode} */ k) => `${k.name}  ${placeWords(k)}`, on = () => say(title), many = row.length > 1 && `${row.length} frames: ${named(row[0])} \u2026 ${named(n)}`;
      const title = `${many || `${n.name}${n.file && ` (${fileWords(n)})`}`}: ${whole}`;
      return pButton(w < 0.02 ? "" : many || `${w < 0.12 ? n.name : named(n)}${signed ? ` ${holds(n, true)}` : ""}`, () => open(i), { title, tabindex: i === top ? 0 : -1,
        class: i < top ? "ib lead" : "ib", style: `background:${paleOf(n.color)};left:${x * 100}%;width:${w * 100}%;top:${depth * 22}px`, focus: on, mouseenter: on });
    });
    box.style.height = `${(boxes[boxes.length - 1].depth + 1) * 22}px`;
    pSet(box, ...buttons);
    if (focus) buttons[top].focus();
    box.onkeydown = e => {
      const i = buttons.indexOf(/** @type {any} */ (document.activeElement)), { up, depth } = boxes[i] ?? {}, beside = e.key === "ArrowRight" ? i + 1 : i - 1;
      if (i < 0 || !/^Arrow|^Escape|^Home/.test(e.key)) return;
      e.preventDefault();
      e.stopPropagation();
      if (e.key === "Escape") return open(top - 1);
      const to = e.key === "Home" ? 0 : e.key === "ArrowUp" ? up : e.key === "ArrowDown" ? boxes.findIndex(b => b.up === i) : boxes[beside]?.depth === depth ? beside : i;
      buttons[i].tabIndex = -1;
      const at = buttons[to] ?? buttons[i];
      at.tabIndex = 0;
      at.focus();
    };
  };
  draw([root], box.contains(document.activeElement));
};

/** The tree as a table: rows unfold, headings sort among siblings.
 * @param {TreeNode} root @param {boolean} [signed] it is one of changes @returns {HTMLElement} */
export const treeTable = (root, signed) => {
  const open = new Set([root]), table = pTable("Live memory by stack", "tree", ["Frame", signed ? "Net" : "Bytes", "Share", "Blocks"], []), body = pFind("tbody", table);
  let column = -1, falling = true;
  const sorted = (/** @type {TreeNode[]} */ list) => column < 0 ? list
    : sortOrder(list.map(n => ({ n: [NaN, n.net, n.bytes, n.count][column], text: n.name })), falling).map(i => list[i]);
  /** @param {TreeNode|null} at whose button keeps the focus */
  const fill = at => {
    pSet(body);
    /** @param {TreeNode} n @param {number} level */
    const put = (n, level) => {
      const there = open.has(n), twist = { class: "twist", "aria-expanded": String(there), "aria-label": `${there ? "Fold" : "Unfold"} ${n.name}` };
      const b = n.children.length ? pButton(there ? "\u25be" : "\u25b8", () => { if (!open.delete(n)) open.add(n); fill(n); }, twist) : pEl("span.twist");
      const th = pEl("th", { scope: "row" }, b, pEl("bdi", n.name), " ", pEl("small", placeWords(n)));
      th.style.paddingLeft = `calc(${min(level, 30)} * var(--step))`;
      body.append(pEl("tr", th, pNumber(holds(n, signed), `${fmtCount(n.net)} bytes`), pNumber(fmtPercent(n.bytes, root.bytes)), pNumber(fmtCount(n.count))));
      if (n === at) b.focus();
      if (there) for (const c of sorted(n.children).slice(0, 100)) put(c, level + 1);
    };
    put(root, 0);
  };
  const heads = pAll("th", table);
  pFill(heads[1], { "aria-sort": "descending" });
  sortHeads(heads, (c, f) => {
    column = c;
    falling = f;
    fill(null);
  });
  // The way of the most bytes is open at first, down to where it parts.
  for (let n = root; n.children.length && open.size < 40;) {
    n = n.children[0];
    if (n.bytes < 0.5 * root.bytes) break;
    open.add(n);
  }
  fill(null);
  return table;
};
