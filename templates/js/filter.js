// The words of the search field: which blocks they match.
import { NONE } from "./decode.js";

/** @typedef {import("./track.js").Track} Track */
/** @typedef {import("./track.js").Exact} Exact */
/** @typedef {(x: Exact, track: Track) => Uint8Array|((block: number) => boolean)} BlockTest by site, or by block */
/** @typedef {{error: string|null, mask: ((track: Track) => Uint8Array)|null}} Filter mask: 1 for every block that matches, not to be changed; null: nothing is searched for */

export const UNITS_OF_TIME = /** @type {Record<string, number>} */ ({ us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, "": 1, s: 1, min: 60, m: 60, h: 3600 });

/** "64M", "64MiB", "1.5g": all binary. @param {string} text @returns {number} NaN = not a size */
export const parseSize = (text) => {
  const m = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text);
  return m ? +m[1] * 1024 ** " kmgt".indexOf(m[2].toLowerCase() || " ") : NaN;
};

/** "10s", "5ms", "2min". @param {string} text @returns {number} seconds; NaN = not a time */
export const parseTime = (text) => {
  const m = /^(\d+(?:\.\d+)?)([a-z\u00b5]*)$/i.exec(text);
  return m ? +m[1] * (UNITS_OF_TIME[m[2].toLowerCase()] ?? NaN) : NaN;
};

/** @param {string} word @returns {BlockTest|string} or what is wrong with it */
const filterWord = (word) => {
  const [, life, sign, value] = /^<.*>$/.test(word) ? [] : /^(life:)?([<>]=?)(.*)$/i.exec(word) ?? [], [, kind, name] = /^(file|role|phase|lane):(.*)$/is.exec(word) ?? [];
  if (!word) return "\"!\" needs a word behind it";
  if (/^0x[0-9a-f]+$/i.test(word)) return ({ bAddr }) => (b) => bAddr?.[b] === +word;
  if (/^never-freed$/i.test(word)) return ({ bEnd }) => (b) => bEnd[b] === NONE;
  if (sign) {
    const v = (life ? parseTime : parseSize)(value), above = sign[0] === ">", equal = sign.length > 1, fits = (/** @type {number} */ x) => (above ? x > v : x < v) || (equal && x === v);
    if (Number.isNaN(v)) return `"${word}" is no ${life ? "time: write life:>10s, life:<5ms" : "size: write >64M, <1MiB"}`;
    if (!life) return ({ bSize }) => (b) => fits(bSize[b]);
    // What was there before, or is there still, lived at least so long.
    return (_, track) => (b) => { const l = lifeOf(track, b); return (above || l.exact) && fits(l.s); };
  }
  if (/^life:/i.test(word)) return `"${word}" needs < or >: life:>10s`;
  const [, other] = /^([a-z]+):(?!:)/i.exec(kind ? "" : word) ?? [];
  if (other) return `nothing is called "${other}:": file: role: phase: lane: life:`;
  if (kind && !name) return `"${word}" needs a name behind it`;
  return (_, track) => siteHits(track, kind?.toLowerCase(), (kind ? name : word).toLowerCase());
};

/** Which sites a word matches. @param {Track} track @param {string|undefined} kind of what: anything @param {string} text @returns {Uint8Array} */
const siteHits = (track, kind, text) => {
  const s = /** @type {import("./tables.js").Sites} */ (track.sites), { index } = track, all = !kind;
  const has = (/** @type {string} */ t) => t.toLowerCase().includes(text);
  const named = (/** @type {import("./track.js").Named[]} */ list) => list.map((x) => has(x.id) || has(x.name));
  const role = all || kind === "role" ? named(index.roles) : [], phase = all || kind === "phase" ? named(index.phases) : [];
  const lane = kind === "lane" ? s.lanes.map(has) : [], string = all || kind === "file" ? Array.from({ length: s.nStrings }, (_, i) => has(s.string(i))) : [];
  // A stack matches when its own frame does or its caller, which comes earlier, matched.
  const stacks = new Uint8Array(s.nStacks);
  for (let i = 1, f; string.length && i < s.nStacks; i++) {
    f = s.sFrame[i - 1];
    stacks[i] = Number(string[s.fFile[f]] || (all && string[s.fName[f]]) || stacks[i - s.sUp[i - 1]]);
  }
  return Uint8Array.from(s.stack, (k, i) => Number(stacks[k] || role[s.role[i]] || phase[s.phase[i]] || phase[s.sub[i] - 1] || lane[s.lane[i]] || (all && string[s.labels[i]])));
};

/** Why a search finds nothing: the first word that names no role, phase or lane of this page. @param {Track} track @param {string} text @returns {string|null} */
export const unknownWord = ({ index, sites }, text) => {
  for (const [, kind, quoted, bare] of text.matchAll(/\b(role|phase|lane):(?:"([^"]*)"?|([^\s"]+))/gi)) {
    const name = quoted ?? bare, lists = /** @type {Record<string, {id: string, name: string}[]>} */ ({ role: index.roles, phase: index.phases, lane: (sites?.lanes ?? []).map((n) => ({ id: "", name: n })) });
    const list = lists[kind.toLowerCase()], has = (/** @type {string} */ t) => t.toLowerCase().includes(name.toLowerCase());
    if (!list.some((x) => has(x.id) || has(x.name))) return `no ${kind.toLowerCase()} is called "${name}": ${list.slice(0, 4).map((x) => x.id || x.name).join(", ")} ...`;
  }
  return /\||\.\./.test(text) ? "every word has to be found: there is no \"or\" and no range; write >64M <1G" : null;
};

/** How long a block lived, in seconds. @param {Track} track @param {number} b @returns {{s: number, exact: boolean}} exact: both ends seen */
export const lifeOf = (track, b) => {
  const { xs: { t: tick }, runs, bBegin, bEnd } = /** @type {Exact} */ (track.exact), begin = bBegin[b], end = bEnd[b];
  let r = runs.length - 1;
  while (r > 0 && runs[r].block0 > b) r--;
  const run = runs[r];
  return { s: tick ? track.seconds(tick[end === NONE ? run.op1 - 1 : end] - tick[begin === NONE ? run.op0 : begin]) : NaN, exact: begin !== NONE && end !== NONE };
};

let last = /** @type {Filter & {text?: string}} */ ({});

/** @param {string} text words separated by spaces, "..." keeps them together @returns {Filter} every word has to match; with an error, nothing is filtered */
export const parseFilter = (text) => {
  if (last.text === text) return last;
  /** @type {[BlockTest, boolean][]} */
  const words = [];
  /** @type {string|null} */
  let error = null;
  for (const [quoted] of text.matchAll(/(?:"[^"]*(?:"|$)|[^\s"])+/g)) {
    const raw = quoted.replaceAll("\"", ""), not = raw[0] === "!", w = filterWord(not ? raw.slice(1) : raw);
    if (!raw) continue;
    if (typeof w === "string") error ??= w;
    else words.push([w, not]);
  }
  /** @type {Track|undefined} */
  let of;
  /** @type {Uint8Array} */
  let mask;
  last = {
    text, error,
    // The timeline and the panels ask one after the other, and at every move of the cursor.
    mask: error || !words.length ? null : (track) => {
      if (of === track) return mask;
      const x = /** @type {Exact} */ (track.exact), n = x.nBlocks, out = new Uint8Array(n).fill(1);
      for (const [word, not] of words) {
        const test = word(x, track), { bSite } = x, flip = +not;
        if (test instanceof Uint8Array) for (let b = 0; b < n; b++) out[b] &= test[bSite[b]] ^ flip;
        else for (let b = 0; b < n; b++) if (test(b) === not) out[b] = 0;
      }
      of = track;
      return mask = out;
    },
  };
  return last;
};
