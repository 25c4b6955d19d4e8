// What the timeline says of itself: for people who hear it, and under the picture.
import { eventWords } from "./detail.js";
import { fmtBytes, fmtCount, fmtDuration } from "./format.js";
import { phaseWords } from "./groups.js";
import { hasExact } from "./layout.js";
import { liveAt } from "./query.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("./timeline.js").Timeline} Timeline */

/** What is at an event, from the exact history or the overview. @param {View} view @param {number} event
 *  @returns {{live: number, blocks: number}} NaN: not known */
function stateAt(view, event) {
  const { track } = view, e = track.exact, op = e && hasExact(track, event) ? track.opOfEvent(event) : -1;
  if (e && op >= 0) return { live: e.total[op], blocks: liveAt(track, op).length };
  const { peak, focus, start } = track.meta;
  let live = event < 0 ? start.live : event === peak.event ? peak.live : event === focus.event ? focus.live : NaN;
  for (const o of [track.overviewTime, track.overviewEvent]) {
    const i = o ? o.event.indexOf(event) : -1;
    if (o && i >= 0) live = o.high[i];
  }
  return { live, blocks: NaN };
}

/** @param {View} view @param {any} index @param {number} event @returns {string} "44.60 GiB at event 12 at 3.1 s, in forward, 89 blocks" */
export function stateWords(view, index, event) {
  const { live, blocks } = stateAt(view, event), phase = phaseWords(view.track, index, event);
  return (Number.isNaN(live) ? `At ${eventWords(view.track, event)}` : `${fmtBytes(live)} live at ${eventWords(view.track, event)}`) +
    (phase ? `, in ${phase}` : "") + (Number.isNaN(blocks) ? "" : `, ${fmtCount(blocks)} allocation${blocks === 1 ? "" : "s"}`);
}

/** The picture in words. @param {import("./track.js").Track} track @returns {string} */
export function altWords(track) {
  const { meta } = track, span = meta.time ? ` over ${fmtDuration(track.seconds(meta.time.end))}` : "";
  const ooms = meta.ooms.slice(0, 3).map((o) => ` Out of memory at ${eventWords(track, o.event)}, asking for ${fmtBytes(o.request)}.`);
  return `Memory of ${meta.label} over time: ${fmtCount(meta.events)} events${span}. Live memory starts at ${fmtBytes(meta.start.live)} ` +
    `and is highest with ${fmtBytes(meta.peak.live)} at ${eventWords(track, meta.peak.event)}.${ooms.join("")} Press ? for the keys.`;
}

/** How true the picture is. @param {Timeline} tl @param {number} progress 0 to 1 @returns {string} */
export function levelWords(tl, progress) {
  const { track } = tl.view, { meta } = track, f = tl.frame;
  if (!track.exact) return track.errors.length ? track.errors[0] : track.hasExact ? `decoding every event: ${Math.floor(progress * 100)} %` : "overview only: this page has no exact events";
  if (tl.owners) return "device memory by owner, from the driver's calls";
  if (!f || f.rough) return "overview";
  if (!f.c.exact) return f.c.events ? "exact in part, overview elsewhere" : "overview: no exact events here";
  const lost = meta.lost ? `, ${fmtCount(meta.lost)} frees are missing in the recording` : "";
  return `exact: ${fmtCount(f.c.events)} events in view${lost}${track.errors.length ? `. ${track.errors[0]}` : ""}`;
}
