// What keys do, as data: the help lists the same table.
import { pEl } from "./panel_dom.js";

/** @typedef {{keys: string[], action: string, help: string, focus: boolean}} KeyRow `focus`: only while the timeline has the focus */
/** Keys, what they do, and that in words. @type {KeyRow[]} */
export const KEYS = `
a ArrowLeft|left|pan to the left|focus
d ArrowRight|right|pan to the right|focus
w + = ArrowUp|in|zoom in|focus
s - ArrowDown|out|zoom out|focus
f|fit|fit the selected range
p|peak|go to the peak
o|oom|go to the (next) out-of-memory error
n|next|next finding
N|previous|previous finding
0|whole|show the whole run
.|step|cursor to the next event
,|back|cursor to the previous event
]|phaseNext|next stretch of a phase
[|phaseBack|previous stretch of a phase
b|mark|set a second cursor to compare with, or remove it
Enter|pin|pin the allocation of the event at the cursor|focus
/|search|search
m|markdown|copy the report as Markdown, for a ticket
t|theme|light, dark, or as the system has it
?|help|this list
Escape|clear|clear pin, selection and search`.trim().split("\n").map((row) => {
  const [keys, action, help, focus] = row.split("|");
  return { keys: keys.split(" "), action, help, focus: Boolean(focus) };
});

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
      row(["finger"], "pan; two: zoom; tap: click; long press: what is under it"),
      row(["search"], "words of frames; file:modeling.py  role:kv_cache  phase:rollout  >64M  <1GiB  life:>10s  never-freed  !word. Sizes count in 1024.")),
    pEl("form", { method: "dialog" }, pEl("button", {}, "Close")));
}
