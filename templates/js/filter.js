// The words of the search field: which blocks they match.

/** @typedef {import("./track.js").Track} Track */
/** @typedef {{not: boolean, kind: "text"|"file"|"role"|"phase"|"lane"|"size"|"life"|"never", text: string, min: number, max: number}} FilterWord */
/** @typedef {{words: FilterWord[], error: string|null, empty: boolean, match: (track: Track, block: number) => boolean,
 *   mask: (track: Track) => Uint8Array}} Filter mask: 1 for every block that matches */

const FILTER_UNITS = ["", "k", "m", "g", "t"];
const FILTER_TIMES = /** @type {Record<string, number>} */ ({ us: 1e-6, "\u00b5s": 1e-6, ms: 1e-3, "": 1, s: 1, min: 60, m: 60, h: 3600 });

/** "64M", "64MiB", "1.5g": all binary. @param {string} text @returns {number} NaN = not a size */
export function parseSize(text) {
  const m = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text);
  return m ? Number(m[1]) * 1024 ** FILTER_UNITS.indexOf(m[2].toLowerCase()) : NaN;
}

/** "10s", "5ms", "2min". @param {string} text @returns {number} seconds; NaN = not a time */
export function parseTime(text) {
  const m = /^(\d+(?:\.\d+)?)([a-z\u00b5]*)$/i.exec(text);
  return m ? Number(m[1]) * (FILTER_TIMES[m[2].toLowerCase()] ?? NaN) : NaN;
}

/** @param {string} raw @returns {FilterWord|string} the word, or what is wrong with it */
function filterWord(raw) {
  const not = raw.startsWith("!"), word = not ? raw.slice(1) : raw;
  const out = /** @type {FilterWord} */ ({ not, kind: "text", text: word.toLowerCase(), min: -Infinity, max: Infinity });
  const compare = /^(life:)?([<>]=?)(.*)$/i.exec(word), named = /^(file|role|phase|lane):(.*)$/is.exec(word);
  if (!word) return "\"!\" needs a word behind it";
  if (out.text === "never-freed") {
    out.kind = "never";
  } else if (compare) {
    const life = Boolean(compare[1]), v = life ? parseTime(compare[3]) : parseSize(compare[3]);
    if (Number.isNaN(v)) return `"${word}" is no ${life ? "time: write life:>10s, life:<5ms" : "size: write >64M, <1MiB"}`;
    out.kind = life ? "life" : "size";
    // A hair: bounds are inclusive, "<" and ">" are not.
    if (compare[2][0] === ">") out.min = compare[2] === ">" ? v + v * Number.EPSILON + Number.MIN_VALUE : v;
    else out.max = compare[2] === "<" ? v - v * Number.EPSILON - Number.MIN_VALUE : v;
  } else if (/^life:/i.test(word)) {
    return `"${word}" needs < or >: life:>10s`;
  } else if (named) {
    out.kind = /** @type {"file"} */ (named[1].toLowerCase());
    out.text = named[2].toLowerCase();
    if (!out.text) return `"${word}" needs a name behind it`;
  }
  return out;
}

/** Words are separated by spaces; "..." keeps them together. @param {string} text @returns {string[]} */
function splitWords(text) {
  return Array.from(text.matchAll(/(?:"[^"]*(?:"|$)|[^\s"])+/g), (m) => m[0].replaceAll("\"", "")).filter(Boolean);
}

/** Strings of a site that a word of this kind looks at. @param {Track} track @param {number} site @param {FilterWord} w @returns {string[]} */
function siteTexts(track, site, w) {
  const s = track.sites, { roles, phases } = track.index;
  if (!s) return [];
  const role = roles[s.role[site]], phase = phases[s.phase[site]], sub = s.sub[site] ? phases[s.sub[site] - 1] : null;
  const roleNames = [role.id, role.name], phaseNames = [phase.id, phase.name, ...sub ? [sub.id, sub.name] : []], lane = s.lanes[s.lane[site]];
  switch (w.kind) {
    case "role": return roleNames;
    case "phase": return phaseNames;
    case "lane": return [lane.label, `stream ${lane.stream ?? ""}`, lane.pool ?? ""];
    default: return [...roleNames, ...phaseNames, s.label(site)];
  }
}

/** Which frames a word matches. @param {Track} track @param {FilterWord} w @returns {Uint8Array} */
function frameHits(track, w) {
  const s = track.sites, hit = new Uint8Array(s ? s.fName.length : 0);
  /** @type {Map<number, boolean>} */
  const strings = new Map();
  const has = (/** @type {number} */ i) => {
    let v = strings.get(i);
    if (v === undefined && s) strings.set(i, v = s.string(i).toLowerCase().includes(w.text));
    return v;
  };
  for (let f = 0; s && f < hit.length; f++) hit[f] = has(s.fFile[f]) || (w.kind === "text" && has(s.fName[f])) ? 1 : 0;
  return hit;
}

/** Which sites a word matches. @param {Track} track @param {FilterWord} w @returns {Uint8Array} */
function siteHits(track, w) {
  const s = track.sites, out = new Uint8Array(s ? s.nSites : 0);
  if (!s) return out;
  const frames = w.kind === "text" || w.kind === "file" ? frameHits(track, w) : null;
  // A stack matches when its own frame does or its caller, which comes earlier, matched.
  const stacks = new Uint8Array(s.nStacks);
  for (let i = 1; frames && i < s.nStacks; i++) stacks[i] = frames[s.sFrame[i - 1]] | stacks[i - s.sUp[i - 1]];
  for (let i = 0; i < out.length; i++) {
    const own = w.kind !== "file" && siteTexts(track, i, w).some((t) => t.toLowerCase().includes(w.text));
    out[i] = stacks[s.stack[i]] | Number(own);
  }
  return out;
}

/** How long a block lived, in seconds. @param {Track} track @param {number} b @returns {{s: number, exact: boolean}} exact: both ends seen */
export function lifeOf(track, b) {
  const x = track.exact, tick = x?.tickX, NO = 0xffffffff;
  if (!x || !tick) return { s: NaN, exact: false };
  let r = x.runs.length - 1;
  while (r > 0 && x.runs[r].block0 > b) r--;
  const run = x.runs[r], begin = x.bBegin[b] === NO ? run.op0 : x.bBegin[b], end = x.bEnd[b] === NO ? run.op1 - 1 : x.bEnd[b];
  return { s: track.seconds(tick[end] - tick[begin]), exact: x.bBegin[b] !== NO && x.bEnd[b] !== NO };
}

/** @param {Track} track @param {FilterWord} w @param {Uint8Array|null} sites @param {number} b @returns {boolean} */
function wordHits(track, w, sites, b) {
  const x = track.exact;
  if (!x) return false;
  if (sites) return sites[x.bSite[b]] === 1;
  if (w.kind === "never") return x.bEnd[b] === 0xffffffff;
  if (w.kind === "size") return x.bSize[b] >= w.min && x.bSize[b] <= w.max;
  const life = lifeOf(track, b);
  // What was there before, or is there still, lived at least so long.
  return life.s >= w.min && (life.exact || w.max === Infinity) && life.s <= w.max;
}

/** @param {string} text @returns {Filter} every word has to match; with an error, nothing is filtered */
export function parseFilter(text) {
  /** @type {FilterWord[]} */
  const words = [];
  /** @type {string|null} */
  let error = null;
  for (const raw of splitWords(text)) {
    const w = filterWord(raw);
    if (typeof w === "string") error ??= w;
    else words.push(w);
  }
  /** @type {Track|null} */
  let of = null;
  /** @type {(Uint8Array|null)[]} by word */
  let sites = [];
  const prepare = (/** @type {Track} */ track) => {
    if (of === track) return;
    sites = words.map((w) => ["size", "life", "never"].includes(w.kind) ? null : siteHits(track, w));
    of = track;
  };
  return {
    words, error, empty: words.length === 0,
    match: (track, b) => {
      prepare(track);
      for (let i = 0; i < words.length; i++) if (wordHits(track, words[i], sites[i], b) === words[i].not) return false;
      return true;
    },
    mask: (track) => {
      prepare(track);
      const x = track.exact, out = new Uint8Array(x ? x.nBlocks : 0).fill(1);
      words.forEach((w, i) => {
        const hit = sites[i], want = Number(!w.not), bSite = x ? x.bSite : [], size = x ? x.bSize : [], { min, max } = w;
        if (w.kind === "size") for (let b = 0; b < out.length; b++) out[b] &= Number((size[b] >= min && size[b] <= max) !== w.not);
        else if (hit) for (let b = 0; b < out.length; b++) out[b] &= Number(hit[bSite[b]] === want);
        else for (let b = 0; b < out.length; b++) if (out[b] && wordHits(track, w, null, b) === w.not) out[b] = 0;
      });
      return out;
    },
  };
}
