// The timeline's buttons, keys, legend and search, around its picture. What of them is always the same stands in report.timeline.html; C leaves out
// what this recording has nothing for.
import { initClocks } from "./clocks.js";
import { copyMarkdown, copyText, saveCsv } from "./copy.js";
import { blockText, fillChanges, fillPin, isCalls, missingWords } from "./detail.js";
import { NONE } from "./decode.js";
import { fmtBytes, fmtCount } from "./format.js";
import { isField, keyAction } from "./keys.js";
import { max, min, upperBound } from "./math.js";
import { initMinimap } from "./minimap.js";
import { pAll, pButton, pEl, pFill, pFind, pLater, pPick, pSet, pSwatch } from "./panel_dom.js";
import { pointerOn } from "./pointer.js";
import { bytesOf, liveAt, nextEvent } from "./query.js";
import { cycleTheme } from "./theme.js";
import { beginTimeline, bytesAtCursor, draw, drawOver, found, frame, groups, match, measure, paint, pointed, recolor, reset, search, xAt } from "./timeline.js";
import { altWords, levelWords, stateWords } from "./words.js";

/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @param {PanelCtx} ctx */
export const initTimeline = (ctx) => {
  const { tracks, view } = ctx, section = pFind("#timeline"), first = pFind("#timeline .scroll"), primary = view.track;
  if (!first) return;
  if (!primary.overview.e && !primary.overview.t) {
    if (primary.errors.length) section.append(pEl("p.note", primary.errors[0]));
    return;
  }
  const asleep = pFind("#tl-page");
  asleep.replaceWith(asleep.content);
  /** @param {string} name @returns {any} */
  const part = (name) => pFind(name, section);
  const host = part(".tl"), said = part(".tl-said"), state = part(".tl-state"), legend = part(".tl-legend > span"), field = part(".tl-search"), choose = part(".tl-track"), help = part("dialog"), over = part(".tl-over");
  const lineKeys = pAll(".tl-lines > span", host), rows = pAll("[data-keys]", help).map((r) => r.dataset), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let jump = 0, gliding = false;

  /** @param {number} x0 @param {number} x1 a short glide, so that one sees where it went */
  const glide = (x0, x1) => {
    const { lo, hi } = view, t0 = performance.now(), me = ++jump;
    const go = () => {
      if (me !== jump) return;
      const f = still ? 1 : min(1, (performance.now() - t0) / 140), s = f * (2 - f);
      gliding = true;
      view.set({ lo: lo + (x0 - lo) * s, hi: hi + (x1 - hi) * s });
      gliding = false;
      if (f < 1) requestAnimationFrame(go);
    };
    go();
  };
  /** @param {number} factor @param {number} at */
  const zoom = (factor, at) => view.set({ lo: at - (at - view.lo) * factor, hi: at + (view.hi - at) * factor });
  /** About the pointer, else the cursor, else the middle. @param {number} factor */
  const zoomKey = (factor) => {
    const x = pointed.hover ? xAt(pointed.hover.x) : view.xOf(view.cursor);
    zoom(factor, x >= view.lo && x <= view.hi ? x : (view.lo + view.hi) / 2);
  };
  /** @param {number} share */
  const pan = (share) => view.shift((view.hi - view.lo) * share);
  /** Goes near enough to see an event, or a range. @param {number} event @param {number} to */
  const near = (ctx.near = (event, to) => {
    const x = view.xOf(event), z = view.xOf(to), [begin, end] = view.span(), w = max(min(view.hi - view.lo, (end - begin) / 8), (z - x) * 1.4) / 2;
    glide((x + z) / 2 - w, (x + z) / 2 + w);
  });
  /** Sets the cursor, and goes there. @param {number} event @param {number} [to] */
  const goTo = (event, to = event) => {
    view.set({ cursor: event });
    near(event, to);
  };
  /** @param {number} dir @param {string} [kind] of any, else */
  const finding = (dir, kind = "") => {
    const list = view.track.meta.marks.filter((m) => m.kind.startsWith(kind)), f = (dir > 0 ? list : list.reverse()).find((m) => (m.from - view.cursor) * dir > 0) || list[0];
    if (f) goTo(f.from, f.to);
    pSet(said, f ? (kind ? "" : `${f.text}. `) + stateWords(view, f.from) : kind === "oom" ? "No out-of-memory error in this recording." : "No finding in this recording.");
  };
  /** Where coarse phases begin: the one that holds at an event, and its neighbours. @param {number} event @returns {[number, number[]]} */
  const phaseAt = (event) => {
    const s = view.track.phases?.stretches, from = s ? [...s.event].filter((_, i) => s.phase[i] !== s.phase[i - 1]) : [];
    return [upperBound(from, event) - 1, from];
  };
  /** @param {number} dir */
  const stretch = (dir) => {
    const [i, from] = phaseAt(view.cursor), to = from[max(i + dir, 0)];
    if (to !== undefined) goTo(to);
  };
  /** The stretch of the coarse phase at an event. @param {number} event */
  const fitPhase = (event) => {
    const [i, from] = phaseAt(event);
    if (i >= 0) glide(view.xOf(from[i]), i + 1 < from.length ? view.xOf(from[i + 1]) : view.span()[1]);
  };
  /** @param {number} dir */
  const step = (dir) => view.set({ cursor: nextEvent(view.track, view.cursor, dir) });
  /** @type {Record<string, () => void>} */
  const actions = {
    left: () => pan(-0.2), right: () => pan(0.2), in: () => zoomKey(0.6), out: () => zoomKey(1 / 0.6),
    fit: () => { if (view.range) glide(view.xOf(view.range[0]), view.xOf(view.range[1])); },
    whole: () => glide(...view.span()),
    peak: () => finding(1, "peak"), oom: () => finding(1, "oom"), next: () => finding(1), previous: () => finding(-1),
    step: () => step(1), back: () => step(-1), phaseNext: () => stretch(1), phaseBack: () => stretch(-1),
    mark: () => view.set({ mark: view.mark === null ? view.cursor : null }),
    pin: () => {
      const e = view.track.exact, op = view.track.opOfEvent(view.cursor);
      if (e && op >= 0 && (e.kind[op] < 4 || e.kind[op] === 12)) view.set({ pin: e.ref[op] });
    },
    life: () => {
      const { track: { exact: e }, pin, axis } = view, end = e && pin !== null ? e.bEnd[pin] : NONE;
      if (!e || pin === null) return;
      const a = view.xOf(max(e.bEvent[pin] - 1, 0)), z = end === NONE ? view.span()[1] : view.track.xOf(end, axis);
      glide(a - (z - a) * 0.1, z + (z - a) * 0.1);
    },
    copyPin: () => { if (view.pin !== null) copyText(blockText(view.track, view.pin)); },
    csv: () => saveCsv(view), unpin: () => view.set({ pin: null }), unselect: () => view.set({ range: null }),
    flame: () => pFind(".cursor").scrollIntoView(),
    search: () => { section.scrollIntoView({ block: "nearest" }); field.focus(); field.select(); },
    help: () => { help.showModal(); help.scrollTop = 0; }, // what has the focus stands at its end
    clear: () => { // of a search that is being typed, the search alone
      view.set(document.activeElement === field ? { query: "" } : { pin: null, range: null, mark: null, query: "" });
      field.value = "";
      field.blur();
    },
    theme: cycleTheme,
    markdown: async () => { pSet(said, await copyMarkdown() ? "Copied as Markdown" : "Could not copy"); },
  };

  const press = pPick(section, (name, value) => { if (name === "do") actions[value](); else view.set({ [name]: value }); });
  const legendNow = () => {
    const { query } = view, bytes = bytesAtCursor();
    pSet(legend, ...groups.names.map((name, i) => {
      const words = bytes ? fmtBytes(bytes[i]) : "", key = groups.keys[i], parts = [{ title: `${name} ${words}` }, pSwatch(groups.colors[i]), pEl("bdi", name), words];
      return bytes && bytes[i] === 0 && name === "other" ? "" : key ? pButton("", () => view.set({ query: query === key ? "" : key }), { "aria-pressed": `${query === key}` }, ...parts) : pEl("span", ...parts);
    }));
  };
  const foundNow = () => {
    const { error, blocks } = found, { track, query, cursor } = view, op = track.opOfEvent(cursor), hits = match;
    pFill(field, { "aria-invalid": `${Boolean(error)}` });
    pSet(part(".tl-found"), error || (hits ? `${fmtCount(blocks)} of ${fmtCount(hits.length)} allocations${track.meta.level === "exact" ? "" : " of the exact parts"}` +
      (op >= 0 ? `, ${fmtBytes(bytesOf(track, liveAt(track, op).filter((b) => hits[b])))} at the cursor` : "")
      : query && !track.exact ? missingWords(track) : ""));
  };
  /** The largest that the search finds: each leads to its birth. */
  const hitsNow = () => {
    const { track: { exact: e, sites } } = view, hits = match, list = part(".tl-hits"), top = /** @type {number[]} */ ([]);
    for (let b = 0, least = -1; e && hits && b < hits.length; b++) {
      if (!hits[b] || (top.length === 8 && e.bSize[b] <= least)) continue;
      top.push(b);
      top.sort((p, q) => e.bSize[q] - e.bSize[p] || p - q).splice(8);
      least = e.bSize[top[top.length - 1]];
    }
    list.hidden = !top.length;
    if (e) pSet(list, ...top.map((b) => pButton(`${fmtBytes(e.bSize[b])} ${sites?.label(e.bSite[b]) || "no stack"}`, () => {
      view.set({ pin: b });
      goTo(max(e.bEvent[b] - 1, 0));
    })));
  };
  const stateNow = () => {
    const { track } = view, left = track.meta.left_out;
    part(".tl-stuck").hidden = !track.stuck || track.exact || track.errors.length;
    pSet(state, levelWords(view, frame));
    state.title = left.length ? `Left out: ${left.join("; ")}` : "";
  };
  const framed = () => {
    const { track, exact: e } = view, cap = track.meta.capacity;
    if (!frame) return;
    const { top, reserved, used } = frame, above = (/** @type {number} */ v) => (v > top ? `, up to ${fmtBytes(v)}: above the picture` : "");
    const lines = /** @type {[any, string?][]} */ ([[view.by !== "owner" && reserved, above(reserved)], [e && e.pending.op.length > e.runs.length], [used, above(used)], [cap && cap <= top, ` ${fmtBytes(cap)}`], [match], [track.meta.marks.some((m) => m.request)]]);
    lineKeys.forEach((el, i) => {
      el.hidden = !lines[i][0];
      el.lastChild.lastChild.textContent = lines[i][1] || "";
    });
    stateNow();
    clocks();
    host.dataset.frame = frame.ms.toFixed(2);
    section.dataset.level = track.exact ? track.meta.level : track.errors.length ? "failed" : "overview";
    const now = track.exact && !frame.rough ? "exact" : "overview";
    if (host.dataset.state !== now) performance.mark(`memtrace-${host.dataset.state = now}`);
  };

  /** @param {Set<string>} changed */
  const refresh = (changed) => {
    const has = (/** @type {string} */ keys) => keys.split(" ").some((k) => changed.has(k)), { track, cursor, query } = view;
    if (has("track by data axis")) reset();
    else if (has("query")) search();
    if (has("track")) {
      const calls = isCalls(track);
      pSet(pFind("[value=role]", host), calls ? "Owner" : "Role");
      for (const el of pAll("[value=owner]", host)) el.hidden = calls; // the one that its picture has anyway
      if (choose) {
        choose.value = track.meta.id;
        for (const el of pAll("bdi.whose")) pSet(el, track.meta.label);
      }
      document.body.classList.toggle("other", track !== primary);
    }
    if (has("track data")) pFill(over, { "aria-label": altWords(track) });
    if (has("lo hi") && !gliding) jump++; // who moves the view ends a glide
    if (has("cursor") && !has("lo")) {
      const x = view.xOf(cursor), w = (view.hi - view.lo) / 2, me = jump;
      if (x < view.lo || x > view.hi) queueMicrotask(() => { if (me === jump) view.set({ lo: x - w, hi: x + w }); });
    }
    press("axis", view.axis);
    press("by", host.dataset.by = view.by);
    if (has("track by data query pin axis lo hi")) draw(has("lo hi"));
    else drawOver();
    if (has("track by data query cursor axis")) legendNow();
    if (has("query") && field.value.trim() !== query) field.value = query; // else what is being typed would go
    if (has("track query data cursor")) foundNow();
    if (has("track query data")) hitsNow();
    if (has("track cursor data")) pSet(said, stateWords(view, cursor));
    if (has("track range pin data axis")) {
      fillChanges(part(".tl-changes"), view);
      fillPin(part(".tl-pin"), view);
    }
  };

  const clocks = initClocks(view, host);
  beginTimeline(view, host, framed);
  /** The next block that the search finds, or the one before, by birth: pinned, and in sight. @param {number} dir */
  const hit = (dir) => {
    const { exact: e, cursor } = view, hits = match;
    if (!e || !hits) return;
    const births = e.bBegin.reduce((list, op, b) => { if (hits[b] && op !== NONE) list.push([e.event[op], b]); return list; }, /** @type {number[][]} */ ([])).sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    const at = births.findIndex(([, b]) => b === view.pin), n = births.length, from = births.findIndex(([ev]) => ev > cursor);
    const i = at >= 0 ? (at + dir + n) % n : dir > 0 ? max(from, 0) : ((from < 0 ? n : from) - 1 + n) % n;
    if (!n) return;
    view.set({ pin: births[i][1] });
    goTo(births[i][0]);
    pSet(part(".tl-found"), `${fmtCount(i + 1)} of ${fmtCount(n)} that were allocated here`);
  };
  const typed = () => view.set({ query: field.value.trim() });
  pFill(field, { input: pLater(150, typed), change: typed, keydown: (/** @type {KeyboardEvent} */ e) => {
    if (e.key !== "Enter") return;
    typed();
    hit(e.shiftKey ? -1 : 1);
  } });
  if (choose) pFill(choose, { change: () => view.set({ track: tracks[choose.value] }) });
  for (const track of tracks) track.onProgress = stateNow;
  view.on(refresh);
  pointerOn(view, host, { zoom, fitPhase, stop: () => { jump++; } });
  initMinimap(view, part(".tl-mini"));
  const recolored = () => { recolor(); draw(); };
  pFill(matchMedia("(prefers-color-scheme: dark)"), { change: recolored });
  pFill(document, {
    "mt-theme": recolored,
    keydown: (/** @type {KeyboardEvent} */ e) => {
      const on = e.target === over, action = help.open || e.defaultPrevented ? null : keyAction(rows, e, on, isField(e.target));
      if (!action || (action === "pin" && !on)) return;
      e.preventDefault();
      actions[action]();
    },
  });
  new ResizeObserver(() => { measure(); draw(); }).observe(over);
  view.tell(new Set(["track", "data"]));
  paint();
};
