// Who holds memory at the cursor: composition, icicle and tree of what is live, or of what differs between two moments.

import { changesTable, eventWords, headOf, missingWords, sumWords } from "./detail.js";
import { parseFilter } from "./filter.js";
import { fmtBytes, fmtCount, fmtMany, fmtPercent, fmtSigned } from "./format.js";
import { max, min } from "./math.js";
import { pBytes, pEl, pFill, pFollow, pGroups, pNumber, pPick, pSet, pSwatch, pTake } from "./panel_dom.js";
import { drawIcicle, treeTable } from "./panel_tree.js";
import { bytesOf, diffBetween, GREW, groupLive, liveAt, SHRANK, treeOf } from "./query.js";
/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */

/** A moment as the beginning of a sentence. @param {Track} track @param {number} event */
export const momentStart = (track, event) => eventWords(track, event).replace(/^./, (c) => c.toUpperCase());

/** The blocks to speak of, and of which moments: the cursor alone, or a second one (or a range) before it. null: not in the page.
 * @param {View} view @param {string} what "live", "net" (the changes), "new" or "gone" */
const blocksOf = (view, what) => {
  const { track, range, mark, cursor, query } = view, [a, b] = range ?? [mark ?? cursor, cursor], first = min(a, b), last = max(a, b);
  const opA = track.opOfEvent(first), opB = track.opOfEvent(last);
  if (opB < 0 || opA < 0) return null;
  const diff = range || mark !== null ? diffBetween(track, opA, opB) : null, hit = parseFilter(query).mask?.(track);
  const of = (/** @type {Uint32Array} */ list) => hit ? list.filter(x => hit[x]) : list;
  const list = of(!diff || what === "live" ? liveAt(track, opB) : what === "gone" ? diff.gone : diff.born);
  return { list, gone: diff && what === "net" ? of(diff.gone) : null, diff, first, last, filtered: hit };
};

/** The largest owners at the cursor, for the Markdown; null where the events are not in the page.
 * @param {View} view @param {number} n */
export const cursorOwners = (view, n) => {
  const now = blocksOf(view, "live");
  if (!now) return null;
  const live = bytesOf(view.track, now.list);
  return { title: `Live${view.track.index.tracks.length > 1 ? ` on ${view.track.meta.label}` : ""} at ${eventWords(view.track, now.last)}: ${fmtBytes(live)}`, live, rows: groupLive(view.track, now.list, "stack").slice(0, n) };
};

/** @param {{label: string, color: string, bytes: number}[]} groups @param {number} whole */
const compositionBar = (groups, whole) => pEl("div.composition", { "aria-hidden": "true" },
  ...groups.slice(0, 40).map(g => pEl("i", { title: `${g.label}: ${fmtBytes(g.bytes)}`, style: `width:${g.bytes / whole * 100}%;background:${g.color}` })));

/** @param {PanelCtx} ctx */
export const initCursor = ({ view }) => {
  const box = pTake("owners") || pTake("ledger");
  if (!box) return;
  const how = /** @type {Record<string, string>} */ ({ what: "live", by: "role", up: "", all: "" }), [, words, controls, parts, icicle, said, tree] = box.children;
  const compare = controls.firstElementChild, whats = compare.nextElementSibling;
  let drawing = 0;
  whats.hidden = true;
  box.hidden = !view.track.hasExact;
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    how[name] = value;
    press(name, value);
    later();
  }, press = pPick(controls, set);
  compare.onclick = () => view.set(view.mark === null && !view.range ? { mark: view.cursor } : { mark: null, range: null });

  /** @param {boolean} [all] at once */
  const fill = all => {
    const { track } = view, two = view.mark !== null || view.range;
    if (whats.hidden === Boolean(two)) { // what two moments differ by is asked for first
      whats.hidden = !two;
      press("what", how.what = two ? "net" : "live");
    }
    const now = blocksOf(view, how.what), list = now ? now.list : new Uint32Array(0), gone = now?.gone ?? null, came = now ? bytesOf(track, list) : 0;
    const went = gone ? bytesOf(track, gone) : 0, whole = came + went;
    box.hidden = !track.hasExact;
    pSet(compare, two ? "End the comparison" : "Set A here, to compare");
    clearTimeout(drawing);
    tree.hidden = !whole;
    if (!now) {
      pSet(words, missingWords(track));
    } else {
      const { diff, first, last } = now;
      pSet(words, (diff ? `A: ${eventWords(track, first)}. B: ${eventWords(track, last)}. New: ${sumWords(track, diff.born)}, gone: ${sumWords(track, diff.gone)}. Shown: ` : `${momentStart(track, last)}: `) +
        (gone ? `the change, ${fmtSigned(came - went)}` : `${fmtBytes(whole)} in ${fmtMany(list.length, "block")}`) + (now.filtered ? `, of those that match \u201c${view.query}\u201d.` : "."));
    }
    if (!whole) {
      pSet(parts);
      pSet(icicle);
      icicle.style.height = 0;
      return Boolean(track.exact);
    }
    const by = /** @type {import("./query.js").GroupBy} */ (how.by), groups = groupLive(track, list, by), head = headOf(track, by);
    if (gone) pSet(parts, changesTable(track, list, gone, by, 12), pEl("p.legend", pEl("span", pSwatch(GREW), "more than at A"), pEl("span", pSwatch(SHRANK), "less than at A")));
    else pSet(parts, compositionBar(groups, whole), pGroups(`Live memory by ${head}`, "", [head, "Bytes", "Share", "Blocks"], groups, 12,
      g => [pBytes(g.bytes), pNumber(fmtPercent(g.bytes, whole)), pNumber(fmtCount(g.count))]));
    // The tree takes as long again: the page answers in between.
    const grow = () => {
      const root = treeOf(track, list, { bottomUp: Boolean(how.up), foldInternal: !how.all, gone });
      pSet(said, "");
      drawIcicle(icicle, root, text => { pSet(said, text); }, Boolean(gone));
      tree.ontoggle = () => { if (tree.open) pSet(tree, tree.firstChild, treeTable(root, Boolean(gone))); };
      tree.ontoggle();
    };
    if (all) grow();
    else drawing = setTimeout(grow);
    return true;
  };
  pFill(window, { beforeprint: () => fill(true) });
  const later = pFollow(box, view, 60, ["track", "cursor", "mark", "range", "query"], fill);
};
