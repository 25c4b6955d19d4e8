// An allocation in words, and what a selected range changed.
import { copyText } from "./copy.js";
import { NONE } from "./decode.js";
import { lifeOf } from "./filter.js";
import { fmtBytes, fmtCount, fmtDuration, fmtTime } from "./format.js";
import { pairWords } from "./groups.js";
import { hasExact, xOfEvent } from "./layout.js";
import { pButton, pEl, pNumber, pSwatch, pTable } from "./panel_dom.js";
import { diffBetween } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./track.js").Index} Index */
/** @typedef {import("./tables.js").Frame} Frame */

/** "event 1,234 at 4.250 s". @param {Track} track @param {number} event @returns {string} */
export function eventWords(track, event) {
  if (event < 0) return "the start, before the first event";
  return `event ${fmtCount(event)}${track.meta.time ? ` at ${fmtTime(track.seconds(xOfEvent(track, event, "t")))}` : ""}`;
}

/** When a block was freed, or why that is not known. @param {Track} track @param {number} b @returns {string} */
function freedWords(track, b) {
  const e = track.exact, req = e && e.bReq ? e.bReq[b] : NONE;
  if (!e) return "";
  if (e.bEnd[b] !== NONE) return `${eventWords(track, e.event[e.bEnd[b]])}${e.kind[e.bEnd[b]] === 12 ? ": its free is missing, another took its place" : ""}`;
  if (req !== NONE) return `requested by ${eventWords(track, e.event[req])}, not completed: another stream may still use it`;
  const run = e.runs.find((r) => b < r.block1);
  return run && run.first + run.events < track.meta.events ? "not within the exact events of this page" : "not by the end of the recording";
}

/** What is known of a block. @param {Track} track @param {Index} index @param {number} b @returns {[string, string][]} */
export function blockFacts(track, index, b) {
  const e = track.exact, s = track.sites;
  if (!e || !s || b >= e.nBlocks) return [];
  const site = e.bSite[b], lane = s.lanes[s.lane[site]], life = lifeOf(track, b);
  /** @type {[string, string][]} */
  const out = [
    ["Size", fmtBytes(e.bSize[b])],
    ["Role", index.roles[s.role[site]].name],
    ["Phase of birth", pairWords(index, s.phase[site], s.sub[site])],
    ["Born", e.bEvent[b] > 0 ? eventWords(track, e.bEvent[b] - 1) : "before the recording began"],
    ["Freed", freedWords(track, b)],
  ];
  if (!Number.isNaN(life.s)) out.push(["Lives", `${life.exact ? "" : "at least "}${fmtDuration(life.s)}`]);
  if (e.bAddr) out.push(["Address", `0x${BigInt(e.bAddr[b]).toString(16)}`]);
  if (lane && lane.label) out.push(["Stream and pool", lane.label]);
  return out;
}

/** Why a block has no stack. @param {Track} track @param {number} b @returns {string} */
export function noStackWords(track, b) {
  return track.exact && track.exact.bEvent[b] === 0
    ? "No stack: allocated before the recording began."
    : "No stack: the recording has none for this allocation (stacks=\"python\" or \"all\" of _record_memory_history records them).";
}

/** A frame that says little: machinery, or the interpreter's own. @param {import("./tables.js").Frame} f @param {boolean} python there are others
 *  @returns {boolean} */
function isDull(f, python) { return f.internal || (python && !f.python); }

/** @param {Track} track @param {number} b @returns {import("./tables.js").Frame[]} innermost first */
function framesOf(track, b) {
  return track.exact && track.sites ? track.sites.frames(track.sites.stack[track.exact.bSite[b]]) : [];
}

/** @param {Frame} f */
function fileWords(f) { return f.line && f.file ? `${f.file}:${f.line}` : f.file; }

/** @param {Frame} f */
function frameWords(f) { return `${f.name}  ${fileWords(f)}`.trim(); }

/** The frames of a stack in runs: the job's own each by itself, machinery together with what it is of. Where there is nothing else,
 *  machinery is all that there is to read. What is internal and not one of Python's relays is torch; of a path there are its last two parts.
 *  @param {Frame[]} frames innermost first @returns {{at: number, frames: Frame[], of: Set<string>}[]} */
export function foldFrames(frames) {
  const python = frames.some((f) => f.python), any = frames.some((f) => !isDull(f, python));
  const out = /** @type {{at: number, frames: Frame[], of: Set<string>}[]} */ ([]);
  frames.forEach((f, at) => {
    const own = !any || !isDull(f, python), last = out[out.length - 1];
    const of = !f.python ? "C++" : /^<frozen |^(python[\d.]*|lib)\//i.test(f.file) ? "Python" : "torch";
    if (!own && last && last.of.size) {
      last.frames.push(f);
      last.of.add(of);
    } else out.push({ at, frames: [f], of: new Set(own ? [] : [of]) });
  });
  return out;
}

/** @param {Frame[]} frames */
function stackList(frames) {
  const item = (/** @type {Frame} */ f, /** @type {number} */ at) => pEl("li", { value: at + 1 }, pEl("bdi", {}, f.name, " ", pEl("small", {}, fileWords(f))));
  return pEl("ol", { class: "stack" }, ...foldFrames(frames).map(({ at, frames: [f, ...more], of }) => !of.size ? item(f, at)
    : pEl("li", { class: "fold", value: at + 1 }, pEl("details", {}, pEl("summary", {}, `${more.length + 1} frame${more.length ? "s" : ""} of ${[...of].join(" and ")}`),
      pEl("ol", {}, ...[f, ...more].map((q, i) => item(q, at + i)))))));
}

/** A few lines for the tooltip. @param {HTMLElement} box @param {Track} track @param {Index} index @param {number} b */
export function fillTip(box, track, index, b) {
  const facts = blockFacts(track, index, b), all = framesOf(track, b), python = all.some((f) => f.python), frames = all.filter((f) => !isDull(f, python));
  box.replaceChildren(pEl("b", {}, `${facts[0][1]} ${facts[1][1]}`), ...facts.slice(2, 6).map(([k, v]) => pEl("div", {}, pEl("span", {}, `${k}: `), v)));
  for (const f of (frames.length ? frames : all).slice(0, 4)) box.append(pEl("code", {}, frameWords(f)));
  if (!all.length) box.append(pEl("div", {}, noStackWords(track, b)));
}

/** The pinned allocation. @param {View} view @param {Index} index @returns {HTMLElement|null} */
export function pinBox(view, index) {
  const { track, pin } = view;
  if (pin === null || !track.exact || !track.sites || pin >= track.exact.nBlocks) return null;
  const facts = blockFacts(track, index, pin), frames = framesOf(track, pin), born = track.exact.bEvent[pin] - 1;
  const end = track.exact.bEnd[pin];
  const text = () => [...facts.map(([k, v]) => `${k}: ${v}`), ...frames.map((f) => `  ${frameWords(f)}`)].join("\n");
  return pEl("div", { class: "tl-pin" },
    pEl("h3", {}, "Pinned allocation"),
    pEl("dl", { class: "fields" }, ...facts.flatMap(([k, v]) => [pEl("dt", {}, k), pEl("dd", {}, v)])),
    frames.length ? stackList(frames) : pEl("p", { class: "note" }, noStackWords(track, pin)),
    pEl("p", { class: "tl-buttons" },
      pButton("Show its life", () => {
        const a = xOfEvent(track, Math.max(born, 0), view.axis), z = end === NONE ? track.axisRange(view.axis)[1] : track.xOf(end, view.axis);
        view.set({ lo: a - (z - a) * 0.1, hi: z + (z - a) * 0.1 });
      }),
      pButton("Copy", () => { copyText(text()); }),
      pButton("Unpin", () => view.set({ pin: null }))));
}

/** What is there after the range and was not before it, and the other way round. @param {View} view @returns {HTMLElement|null} */
export function changesBox(view) {
  const { track, range } = view;
  if (!range) return null;
  const [a, b] = range, e = track.exact, box = pEl("div", { class: "tl-changes" });
  const span = view.track.meta.time ? `, ${fmtDuration(track.seconds(xOfEvent(track, b, "t") - xOfEvent(track, a, "t")))}` : "";
  box.append(pEl("h3", {}, "What changed here"));
  const buttons = pEl("p", { class: "tl-buttons" },
    pButton("Zoom to it (F)", () => view.set({ lo: xOfEvent(track, a, view.axis), hi: xOfEvent(track, b, view.axis) })),
    pButton("Clear (Esc)", () => view.set({ range: null })));
  if (!e || !hasExact(track, a) || !hasExact(track, b)) {
    box.append(pEl("p", { class: "note" }, e || !track.hasExact ? "The exact events of this range are not in this page." : "The exact events are being decoded."), buttons);
    return box;
  }
  const opA = track.opOfEvent(a), opB = track.opOfEvent(b), diff = diffBetween(track, opA, opB), net = e.total[opB] - e.total[opA];
  let top = opA;
  for (let i = opA + 1; i <= opB; i++) if (e.total[i] > e.total[top]) top = i;
  box.append(pEl("p", {}, `From ${eventWords(track, a)} to ${eventWords(track, b)}: ${fmtCount(b - a)} events${span}. Live ${fmtBytes(e.total[opA])} before, ` +
    `${fmtBytes(e.total[opB])} after (${net < 0 ? "\u2212" : "+"}${fmtBytes(Math.abs(net))}), at most ${fmtBytes(e.total[top])} between. ` +
    `New and still there: ${fmtBytes(diff.born.bytes)} in ${fmtCount(diff.born.count)} blocks; gone: ${fmtBytes(diff.gone.bytes)} in ${fmtCount(diff.gone.count)}.`), buttons);
  const tables = pEl("div", { class: "tl-tables" });
  for (const [by, words] of /** @type {[import("./query.js").GroupBy, string][]} */ ([["role", "Role"], ["phase", "Phase of birth"], ["stack", "Allocated by"]])) {
    /** @type {Map<number, {label: string, color: string, born: number, gone: number}>} */
    const rows = new Map();
    for (const side of /** @type {const} */ (["born", "gone"])) {
      for (const g of diff[side].by(by)) {
        const r = rows.get(g.key) || { label: g.label, color: g.color, born: 0, gone: 0 };
        r[side] += g.bytes;
        rows.set(g.key, r);
      }
    }
    const all = [...rows.values()].sort((p, q) => Math.abs(q.born - q.gone) - Math.abs(p.born - p.gone) || q.born - p.born), shown = all.slice(0, 8);
    const sum = (/** @type {"born"|"gone"} */ side) => all.slice(8).reduce((n, r) => n + r[side], 0);
    if (all.length > 8) shown.push({ label: `${fmtCount(all.length - 8)} more`, color: "", born: sum("born"), gone: sum("gone") });
    const cell = (/** @type {number} */ v, /** @type {string} */ sign) => pNumber(v ? `${sign}${fmtBytes(Math.abs(v))}` : "");
    tables.append(pTable(`Changes by ${words}`, {}, [words, "Net", "New", "Gone"],
      shown.map((r) => pEl("tr", {}, pEl("th", { scope: "row" }, ...(r.color ? [pSwatch(r.color), " "] : []), pEl("bdi", {}, r.label)),
        cell(r.born - r.gone, r.born < r.gone ? "\u2212" : "+"), cell(r.born, "+"), cell(r.gone, "\u2212"))), `by-${by}`));
  }
  box.append(tables);
  return box;
}
