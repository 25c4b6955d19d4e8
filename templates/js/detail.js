// An allocation in words, and what a selected range changed.
import { NONE } from "./decode.js";
import { K_LOST } from "./kinds.js";
import { lifeOf } from "./filter.js";
import { fmtBytes, fmtCount, fmtDuration, fmtMany, fmtSigned } from "./format.js";
import { pairWords } from "./groups.js";
import { xOfEvent } from "./layout.js";
import { abs, floor, max } from "./math.js";
import { pEl, pGroups, pNumber, pSet } from "./panel_dom.js";
import { bytesOf, diffBetween, GROUPS, groupLive } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./tables.js").Frame} Frame */

/** "event 1,234 at 4.250 s", "at about" where only its bucket of the overview is known. @param {Track} track @param {number} event @returns {string} */
export const eventWords = (track, event) => {
  if (event < 0) return "the start, before the first event";
  return `event ${fmtCount(event)}${track.meta.time ? ` at ${track.opOfEvent(event) < 0 ? "about " : ""}${fmtDuration(track.seconds(xOfEvent(track, event, "t")))}` : ""}`;
};

/** Why there is nothing exact to say of a moment or a range. @param {Track} track */
export const missingWords = ({ exact, hasExact, errors: [error], progress }) => exact || !hasExact ? `The exact events${exact ? " of this part" : ""} are not in this page.`
  : error || `Decoding every event: ${floor(progress * 100)} %.`;

/** "2.0 GiB in 12 blocks". @param {Track} track @param {Uint32Array} blocks */
export const sumWords = (track, blocks) => `${fmtBytes(bytesOf(track, blocks))} in ${fmtMany(blocks.length, "block")}`;

/** Whether its blocks are allocations of the driver. @param {Track} track */
export const isCalls = ({ meta }) => meta.kind === "driver";

/** What groups of blocks are called. @param {Track} track @param {import("./query.js").GroupBy} by */
export const headOf = (track, by) => by === "role" && isCalls(track) ? "Owner" : GROUPS[by];

/** What is known of a block. @param {Track} track @param {number} b @returns {[string, string][]} */
export const blockFacts = (track, b) => {
  const { exact: e, sites: s, index } = track;
  if (!e || !s || b >= e.nBlocks) return [];
  const site = e.bSite[b], end = e.bEnd[b], req = e.bReq?.[b] ?? NONE, run = e.runs.find((r) => b < r.block1), life = lifeOf(track, b);
  return /** @type {[string, string][]} */ ([
    ["Size", fmtBytes(e.bSize[b])],
    [headOf(track, "role"), index.roles[s.role[site]].name],
    ["Phase of birth", pairWords(index, s.phase[site], s.sub[site])],
    ["Born", e.bEvent[b] ? eventWords(track, e.bEvent[b] - 1) : "before the recording began"],
    ["Freed", end !== NONE ? `${eventWords(track, e.event[end])}${e.kind[end] === K_LOST ? ": its free is missing, another took its place" : ""}`
      : req !== NONE ? `requested by ${eventWords(track, e.event[req])}, not completed: another stream may still use it`
        : run && run.first + run.events < track.meta.events ? "not within the exact events of this page" : "not by the end of the recording"],
    life.s >= 0 && ["Lives", `${life.exact ? "" : "at least "}${fmtDuration(life.s)}`],
    e.bAddr && ["Address", `0x${e.bAddr[b].toString(16)}`],
    s.lane[site] && [isCalls(track) ? "Call" : "Stream and pool", s.lanes[s.lane[site]]],
  ].filter(Boolean));
};

/** Why a block has no stack. @param {Track} track @param {number} b @returns {string} */
export const noStackWords = (track, b) => isCalls(track) ? "No stack was recorded of this call." : track.exact?.bEvent[b] === 0
  ? "No stack: allocated before the recording began."
  : "No stack was recorded: _record_memory_history(stacks=\"all\") does.";

/** A frame that says little: machinery, or the interpreter's own. @param {import("./tables.js").Frame} f @param {boolean} python there are others
 *  @returns {boolean} */
const isDull = (f, python) => f.internal || (python && !f.python);

/** @param {Track} track @param {number} b @returns {Frame[]} innermost first */
const framesOf = ({ exact, sites }, b) => exact && sites ? sites.frames(sites.stack[exact.bSite[b]]) : [];

/** "verl/model.py:12". @param {{file: string, line: number}} f */
export const fileWords = ({ file, line }) => line && file ? `${file}:${line}` : file;

/** @param {Frame} f */
const frameWords = (f) => `${f.name}  ${fileWords(f)}`.trim();

/** The frames of a stack in runs: the job's own each by itself, machinery together with what it is of. Where there is nothing else,
 *  machinery is all that there is to read. What is internal and not one of Python's relays is torch; of a path there are its last two parts.
 *  @param {Frame[]} frames innermost first @returns {{at: number, frames: Frame[], of: Set<string>}[]} */
export const foldFrames = (frames) => {
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
};

/** @param {Frame[]} frames */
const stackList = (frames) => {
  const item = (/** @type {Frame} */ f, /** @type {number} */ at) => pEl("li", { value: at + 1 }, pEl("bdi", f.name, " ", pEl("small", fileWords(f))));
  return pEl("ol.stack", ...foldFrames(frames).map(({ at, frames: [f, ...more], of }) => !of.size ? item(f, at)
    : pEl("li.fold", { value: at + 1 }, pEl("details", pEl("summary", `${more.length + 1} frame${more.length ? "s" : ""} of ${[...of].join(" and ")}`),
      pEl("ol", ...[f, ...more].map((q, i) => item(q, at + i)))))));
};

/** A few lines for the tooltip. @param {HTMLElement} box @param {Track} track @param {number} b */
export const fillTip = (box, track, b) => {
  const facts = blockFacts(track, b), all = framesOf(track, b), frames = foldFrames(all).filter((f) => !f.of.size).map((f) => f.frames[0]);
  pSet(box, pEl("b", `${facts[0][1]} ${facts[1][1]}`), ...[...facts.slice(2, 6), ...isCalls(track) ? facts.slice(-1) : []].map(([k, v]) => pEl("div", pEl("span", `${k}: `), v)),
    ...frames.slice(0, 4).map((f) => pEl("code", frameWords(f))), all.length ? "" : pEl("div", noStackWords(track, b)));
};

/** Shows the pinned allocation. @param {any} box of the template @param {View} view */
export const fillPin = (box, { track, pin }) => {
  const facts = blockFacts(track, pin ?? NONE), [, fields, stack] = box.children;
  box.hidden = !facts.length;
  if (pin === null || box.hidden) return;
  const frames = framesOf(track, pin);
  pSet(fields, ...facts.flatMap(([k, v]) => [pEl("dt", k), pEl("dd", v)]));
  pSet(stack, frames.length ? stackList(frames) : pEl("p.note", noStackWords(track, pin)));
};

/** An allocation as text. @param {Track} track @param {number} b */
export const blockText = (track, b) => [...blockFacts(track, b).map((f) => f.join(": ")), ...framesOf(track, b).map((f) => `  ${frameWords(f)}`)].join("\n");

/** What came and what went, by group: the largest changes first. @param {Track} track @param {Uint32Array} born @param {Uint32Array} gone
 *  @param {import("./query.js").GroupBy} by @param {number} most */
export const changesTable = (track, born, gone, by, most) => {
  /** @type {Map<number, {label: string, color: string, born: number, gone: number}>} */
  const rows = new Map(), head = headOf(track, by);
  for (const [list, side] of /** @type {const} */ ([[born, "born"], [gone, "gone"]])) {
    for (const { key, label, color, bytes } of groupLive(track, list, by)) rows.set(key, { born: 0, gone: 0, label, color, ...rows.get(key), [side]: bytes });
  }
  return pGroups(`Changes by ${head}`, `by-${by}`, [head, "Net", "New", "Gone"],
    [...rows.values()].sort((p, q) => abs(q.born - q.gone) - abs(p.born - p.gone) || q.born - p.born), most,
    (r) => [r.born - r.gone, r.born, -r.gone].map((v) => pNumber(v ? fmtSigned(v) : "0 B")));
};

/** Shows what is there after the range and was not before it, and the other way round. @param {any} box of the template @param {View} view */
export const fillChanges = (box, { track, range }) => {
  const total = track.exact?.total, [, said, , tables] = box.children;
  box.hidden = !range;
  if (!range) return;
  const [a, b] = range, opA = track.opOfEvent(a), opB = track.opOfEvent(b);
  pSet(said, missingWords(track));
  pSet(tables);
  if (total && opA >= 0 && opB >= 0) {
    const { born, gone } = diffBetween(track, opA, opB), time = track.seconds(xOfEvent(track, b, "t") - xOfEvent(track, a, "t"));
    pSet(said, `From ${eventWords(track, a)} to ${eventWords(track, b)}: ${fmtMany(b - a, "event")}${track.meta.time ? `, ${fmtDuration(time)}` : ""}. ` +
      `Live ${fmtBytes(total[opA])} before, ${fmtBytes(total[opB])} after (${fmtSigned(total[opB] - total[opA])}), at most ${fmtBytes(total.subarray(opA, opB + 1).reduce((m, v) => max(m, v)))} between. ` +
      `New and still there: ${sumWords(track, born)}; gone: ${sumWords(track, gone)}.`);
    pSet(tables, .../** @type {import("./query.js").GroupBy[]} */ (Object.keys(GROUPS)).map((by) => changesTable(track, born, gone, by, 8)));
  }
};
