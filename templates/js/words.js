// What the timeline says of itself: for people who hear it, and under the picture.
import { eventWords, missingWords } from "./detail.js";
import { fmtBytes, fmtCount, fmtDuration, fmtMany } from "./format.js";
import { phaseWords } from "./groups.js";
import { liveAt } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */

/** @param {View} view @param {number} event @returns {string} "44.60 GiB live at event 12 at 3.1 s, in forward, 89 allocations" */
export const stateWords = ({ track }, event) => {
  const { peak, focus, start } = track.meta, op = track.opOfEvent(event), phase = phaseWords(track, event), at = `t ${eventWords(track, event)}${phase && `, in ${phase}`}`;
  if (track.exact && op >= 0) {
    const n = liveAt(track, op).length;
    return `${fmtBytes(track.exact.total[op])} live a${at}, ${fmtMany(n, "allocation")}`;
  }
  // The overview knows its highest moments.
  const known = [[start.live, -1], [peak.live, peak.event], [focus.live, focus.event]].find((k) => k[1] === event);
  const [live] = [track.overview.e, track.overview.t].flatMap((o) => o && o.event.includes(event) ? [o.high[o.event.indexOf(event)]] : []);
  const bytes = live ?? known?.[0];
  return bytes === undefined ? `A${at}` : `${fmtBytes(bytes)} live a${at}`;
};

/** A finding, and when it was. @param {Track} track @param {{text: string, from: number}} mark */
export const markWords = (track, { text, from }) => `${text} (${eventWords(track, from)})`;

/** The picture in words. @param {Track} track @returns {string} */
export const altWords = (track) => {
  const { label, marks, events, time, start } = track.meta;
  return `Memory of ${label} over time: ${fmtMany(events, "event")}${time ? ` over ${fmtDuration(track.seconds(time.end))}` : ""}. Live memory starts at ${fmtBytes(start.live)}. ` +
    `${marks.filter((m, i) => i < 6 || m.kind === "peak").map((m) => `${markWords(track, m)}. `).join("")}Press ? for the keys.`;
};

/** How true the picture is. @param {View} view @param {import("./timeline.js").Frame|null} frame @returns {string} */
export const levelWords = ({ track, by }, frame) => {
  const { exact, errors, meta: { lost } } = track, c = frame && !frame.rough && frame.c;
  if (exact && (by === "owner" || !c)) return "Overview.";
  if (!c || !(c.exact || c.events)) return `Overview. ${missingWords(track)}`;
  if (!c.exact) return "Exact in part, overview elsewhere.";
  return [`Exact: ${fmtMany(c.events, "event")} in view${lost ? `, ${fmtCount(lost)} frees are missing in the recording` : ""}.`, ...errors].join(" ");
};
