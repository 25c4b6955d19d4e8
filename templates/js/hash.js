// The view in the address: #t=40.0-45.2&by=phase&c=123 (a ticket can link to it). Everything read from there is hostile.
import { BYS } from "./view.js";

/** @typedef {import("./view.js").ViewState} ViewState */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./track.js").Track} Track */

const HASH_QUERY = 200;

/** @param {string} text @returns {[number, number]|null} two numbers with "-" between; the first may be negative */
const hashPair = (text) => {
  const m = /^(-?\d{1,15}(?:\.\d{1,9})?)-(-?\d{1,15}(?:\.\d{1,9})?)$/.exec(text);
  return m ? [+m[1], +m[2]] : null;
};

/** @param {string|null} text @returns {number|null} */
const hashInt = (text) => /^-?\d{1,15}$/.test(text || "") ? +/** @type {any} */ (text) : null;

/** True where the hash is a view, not the id of a section. @param {string} hash */
export const isViewHash = (hash) => /^#?[a-z]{1,2}=/.test(hash);

/** @param {View} view @param {number} first id of the track that a page shows by itself @returns {string} without # */
export const formatHash = (view, first) => {
  const out = /** @type {string[]} */ ([]), { track, axis } = view;
  /** @param {string} key @param {unknown} value null, "" and false: none */
  const put = (key, value) => { if (value || value === 0) out.push(`${key}=${value}`); };
  if (track.meta.id !== first) put("r", track.meta.id);
  /** @param {number} v */
  const number = (v) => String(+(axis === "t" ? track.seconds(v).toFixed(6) : v.toFixed(2)));
  if (!view.isWhole()) put(axis, `${number(view.lo)}-${number(view.hi)}`);
  else if (axis !== track.meta.axis || track.meta.home) put("x", axis);
  const seen = out.length;
  put("by", view.by !== "role" && view.by);
  if (view.cursor !== track.meta.focus.event) put("c", view.cursor);
  put("b", view.mark);
  put("a", view.pin);
  put("s", view.range?.join("-"));
  put("q", encodeURIComponent(view.query.slice(0, HASH_QUERY)));
  // A fresh page has no address; and what has more to say need not say that it is all of the run.
  if (out.length === seen) return seen === 1 && track.meta.id === first && view.isHome() ? "" : out.join("&");
  return (axis === track.meta.axis ? out.filter((s) => !s.startsWith("x=")) : out).join("&");
};

/** What a hash says of the view: complete, so that what it leaves out is as on a fresh page.
 *  @param {string} hash @param {Track[]} tracks @param {Track} first @returns {Partial<ViewState>|null} */
export const parseHash = (hash, tracks, first) => {
  if (!isViewHash(hash)) return null;
  const p = new URLSearchParams(hash.replace(/^#/, "").slice(0, 2000).replace(/\+/g, "%2B"));
  const id = hashInt(p.get("r")), track = tracks.find((t) => t.meta.id === id) || first;
  /** @type {"t"|"e"} */
  const axis = p.has("e") || p.get("x") === "e" ? "e" : track.meta.time && (p.has("t") || p.get("x") === "t") ? "t" : track.meta.axis;
  let [lo, hi] = track.axisRange(axis);
  const span = hashPair(p.get(axis) || "");
  if (span) [lo, hi] = axis === "t" ? span.map((v) => v / track.seconds(1)) : span;
  const by = BYS.find((b) => b === p.get("by")) || "role", pin = hashInt(p.get("a"));
  return {
    track, axis, lo, hi, by,
    cursor: hashInt(p.get("c")) ?? track.meta.focus.event,
    mark: hashInt(p.get("b")),
    pin: (pin ?? -1) < 0 ? null : pin,
    range: hashPair(p.get("s") || ""),
    query: (p.get("q") || "").slice(0, HASH_QUERY),
  };
};

/** @param {Track} track @returns {Partial<ViewState>} what a page without an address shows */
const homeOf = (track) => {
  const { axis, focus } = track.meta, [lo, hi] = track.home(axis);
  return { track, axis, lo, hi, by: "role", cursor: focus.event, mark: null, pin: null, range: null, query: "" };
};

/** Keeps the address and the view the same, both ways. A link to a section (#phases) is left alone until the view changes.
 *  @param {View} view @param {Track[]} tracks @param {Track} first @returns {Promise<void>} when the address was read */
export const initHash = (view, tracks, first) => {
  let timer = 0, reading = 0, known = location.hash;
  const write = () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    // An address that is not known here was typed or followed just now: it is about to be read, and counts.
    if (reading || location.hash !== known) return;
    const mine = formatHash(view, first.meta.id);
    if (mine || isViewHash(known)) history.replaceState(null, "", `#${mine}`);
    known = location.hash;
  };
  /** @param {unknown} [back] to an address without a view: the page as it was opened */
  const read = async (back) => {
    const hash = (known = location.hash);
    clearTimeout(timer);
    timer = 0;
    reading++;
    let patch = back && !hash ? homeOf(first) : parseHash(hash, tracks, first);
    if (patch?.track && !patch.track.loaded) { // what its axes are is not known before
      await patch.track.load();
      patch = location.hash === hash ? parseHash(hash, tracks, first) : null;
    }
    reading--;
    if (patch) view.set(patch);
  };
  const done = read();
  addEventListener("hashchange", read);
  // A link to the address of before is one to somewhere else only once this one is written.
  document.addEventListener("click", write, true);
  view.on((changed) => {
    if (changed.size === 1 && changed.has("data")) return;
    clearTimeout(timer);
    timer = setTimeout(write, 300); // browsers refuse more than about 100 of these in 30 s
  });
  return done;
};
