// What keys do, as data: the help lists the same table.
import { pEl } from "./panel_dom.js";

/** @typedef {{keys: string[], action: string, help: string, focus?: boolean}} KeyRow `focus`: only while the timeline has the focus */
/** @type {KeyRow[]} */
export const KEYS = [
  { keys: ["a", "ArrowLeft"], action: "left", help: "pan to the left", focus: true },
  { keys: ["d", "ArrowRight"], action: "right", help: "pan to the right", focus: true },
  { keys: ["w", "+", "=", "ArrowUp"], action: "in", help: "zoom in", focus: true },
  { keys: ["s", "-", "ArrowDown"], action: "out", help: "zoom out", focus: true },
  { keys: ["f"], action: "fit", help: "fit the selected range" },
  { keys: ["p"], action: "peak", help: "go to the peak" },
  { keys: ["o"], action: "oom", help: "go to the (next) out-of-memory error" },
  { keys: ["n"], action: "next", help: "next finding" },
  { keys: ["N"], action: "previous", help: "previous finding" },
  { keys: ["0"], action: "whole", help: "show the whole run" },
  { keys: ["."], action: "step", help: "cursor to the next event" },
  { keys: [","], action: "back", help: "cursor to the previous event" },
  { keys: ["]"], action: "phaseNext", help: "next stretch of a phase" },
  { keys: ["["], action: "phaseBack", help: "previous stretch of a phase" },
  { keys: ["b"], action: "mark", help: "set a second cursor here, to compare with (again: remove it)" },
  { keys: ["Enter"], action: "pin", help: "pin the allocation of the event at the cursor", focus: true },
  { keys: ["/"], action: "search", help: "search" },
  { keys: ["m"], action: "markdown", help: "copy the report as Markdown, for a ticket" },
  { keys: ["t"], action: "theme", help: "light, dark, or as the system has it" },
  { keys: ["?"], action: "help", help: "this list" },
  { keys: ["Escape"], action: "clear", help: "clear pin, selection and search" },
];

/** Keys that scroll the page or activate something are taken only from the timeline itself; letters work anywhere but in a field.
 *  @param {{key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean}} e
 *  @param {boolean} onTimeline @param {boolean} inField @returns {string|null} */
export function keyAction(e, onTimeline, inField) {
  if (e.ctrlKey || e.metaKey || e.altKey) return null;
  if (inField) return e.key === "Escape" ? "clear" : null;
  const row = KEYS.find((r) => r.keys.includes(e.key)) || KEYS.find((r) => r.keys.includes(e.key.toLowerCase()));
  if (!row || (row.focus && !onTimeline && !/^[wasd]$/i.test(e.key))) return null;
  return row.action;
}

/** @param {EventTarget|null} target @returns {boolean} where typing means text, or keys choose among options */
export function isField(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** @returns {HTMLDialogElement} */
export function helpDialog() {
  const row = (/** @type {string[]} */ names, /** @type {string} */ text) => pEl("div", {},
    pEl("dt", {}, ...names.flatMap((name) => [pEl("kbd", {}, name.replace("Arrow", "").replace("Escape", "Esc")), " "])), pEl("dd", {}, text));
  return pEl("dialog", { class: "keys", "aria-label": "Keys" }, pEl("h2", {}, "Keys and mouse"),
    pEl("dl", {}, ...KEYS.map((k) => row(k.keys.filter((name) => name !== "="), k.help)),
      row(["wheel"], "zoom at the pointer; with Shift: pan"),
      row(["drag"], "pan; with Shift: select a range"),
      row(["click"], "set the cursor, pin the allocation under it"),
      row(["double click"], "zoom to the phase under the pointer"),
      row(["search"], "words of frames; file:modeling.py  role:kv_cache  phase:rollout  >64M  <1GiB  life:>10s  never-freed  !word. Sizes count in 1024.")),
    pEl("form", { method: "dialog" }, pEl("button", {}, "Close")));
}
