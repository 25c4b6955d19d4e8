// The timeline's buttons, keys, legend and search, around its picture. What of them is always the same stands in report.timeline.html.
import { copyMarkdown } from "./copy.js";
import { changesBox, pinBox } from "./detail.js";
import { fmtBytes, fmtCount } from "./format.js";
import { stretchAt } from "./groups.js";
import { isField, keyAction } from "./keys.js";
import { clamp } from "./layout.js";
import { initMinimap } from "./minimap.js";
import { pButton, pEl, pLater, pSwatch } from "./panel_dom.js";
import { pointerOn } from "./pointer.js";
import { liveAt, nextEvent } from "./query.js";
import { cycleTheme } from "./theme.js";
import { beginTimeline, bytesAtCursor, draw, drawOver, found, frame, groups, match, owners, paint, pointed, recolor, reset, search, xAt } from "./timeline.js";
import { altWords, levelWords, stateWords } from "./words.js";

/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */

/** @param {PanelCtx} ctx @returns {((done: number) => void)|null} what is told how much is decoded */
export function initTimeline(ctx) {
  const section = document.getElementById("timeline"), first = section?.querySelector(".scroll"), { view } = ctx;
  if (!section || !first) return null;
  if (!view.track.overviewEvent && !view.track.overviewTime) {
    if (view.track.errors.length) section.append(pEl("p", { class: "note" }, view.track.errors[0]));
    return null;
  }
  for (const el of section.querySelectorAll(":scope > .scroll, :scope > .note, :scope > .more")) el.classList.add("tl-static");
  first.before(/** @type {HTMLTemplateElement} */ (document.getElementById("tl-page")).content);
  /** @param {string} name @returns {any} */
  const part = (name) => section.querySelector(name);
  const host = part(".tl"), said = part(".tl-said"), state = part(".tl-state"), legend = part(".tl-legend > span"), field = part(".tl-search"), choose = part(".tl-track"), help = part("dialog");
  const rows = [...help.querySelectorAll("[data-keys]")].map((r) => r.dataset);
  const tracks = ctx.tracks.filter((t) => t.meta.level !== "withheld"), primary = ctx.tracks.find((t) => t.meta.primary);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let jump = 0, gliding = false, progress = 0;

  /** @param {number} x0 @param {number} x1 a short glide, so that one sees where it went */
  const glide = (x0, x1) => {
    const { lo, hi } = view, t0 = performance.now(), me = ++jump;
    const go = () => {
      if (me !== jump) return;
      const f = still ? 1 : Math.min(1, (performance.now() - t0) / 140), s = f * (2 - f);
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
  const pan = (share) => view.set({ lo: view.lo + (view.hi - view.lo) * share, hi: view.hi + (view.hi - view.lo) * share });
  /** Sets the cursor, near enough to see it. @param {number} event @param {number} [to] */
  const goTo = (event, to = event) => {
    const x = view.xOf(event), z = view.xOf(to), [min, max] = view.span(), w = Math.max(Math.min(view.hi - view.lo, (max - min) / 8), (z - x) * 1.4) / 2;
    view.set({ cursor: event });
    glide((x + z) / 2 - w, (x + z) / 2 + w);
  };
  /** @param {number} dir */
  const finding = (dir) => {
    const { marks } = view.track.meta, list = dir > 0 ? marks : [...marks].reverse(), f = list.find((q) => (q.from - view.cursor) * dir > 0) || list[0];
    if (!f) return;
    goTo(f.from, f.to);
    said.textContent = `${f.text}. ${stateWords(view, f.from)}`;
  };
  /** How far in a direction the coarse phase of an event goes: its last stretch `k`, of `n`; `at`: where one begins. @param {number} event @param {number} dir */
  const phaseEnd = (event, dir) => {
    const s = view.track.phases?.stretches, n = s ? s.n : 0;
    let k = stretchAt(view.track, event);
    while (s && k in s.phase && s.phase[k + dir] === s.phase[k]) k += dir;
    return { k, n, at: (/** @type {number} */ i) => s ? s.event[clamp(i, 0, n - 1)] : 0 };
  };
  /** @param {number} dir */
  const stretch = (dir) => {
    const { k, n, at } = phaseEnd(view.cursor, dir);
    if (n && k + dir > -2) goTo(at(k + dir));
  };
  /** The stretch of the coarse phase at an event. @param {number} event */
  const fitPhase = (event) => {
    const { k, n, at } = phaseEnd(event, 1);
    if (k >= 0) glide(view.xOf(at(phaseEnd(event, -1).k)), k + 1 < n ? view.xOf(at(k + 1)) : view.span()[1]);
  };
  /** @param {number} dir */
  const step = (dir) => view.set({ cursor: nextEvent(view.track, view.cursor, dir) });
  /** @type {Record<string, () => void>} */
  const actions = {
    left: () => pan(-0.2), right: () => pan(0.2), in: () => zoomKey(0.6), out: () => zoomKey(1 / 0.6),
    fit: () => { if (view.range) glide(view.xOf(view.range[0]), view.xOf(view.range[1])); },
    whole: () => glide(...view.span()),
    peak: () => goTo(view.track.meta.peak.event),
    oom: () => {
      const all = view.track.meta.ooms, o = all.find((q) => q.event > view.cursor) || all[0];
      if (o) goTo(o.event);
      else said.textContent = "No out-of-memory error in this recording.";
    },
    next: () => finding(1), previous: () => finding(-1), step: () => step(1), back: () => step(-1), phaseNext: () => stretch(1), phaseBack: () => stretch(-1),
    mark: () => view.set({ mark: view.mark === null ? view.cursor : null }),
    pin: () => {
      const e = view.track.exact, op = view.track.opOfEvent(view.cursor);
      if (e && op >= 0 && (e.kind[op] < 4 || e.kind[op] === 12)) view.set({ pin: e.ref[op] });
    },
    search: () => { section.scrollIntoView({ block: "nearest" }); field.focus(); field.select(); },
    help: () => help.showModal(),
    clear: () => { field.value = ""; view.set({ pin: null, range: null, mark: null, query: "" }); field.blur(); },
    theme: cycleTheme,
    markdown: () => { copyMarkdown().then((ok) => { said.textContent = ok ? "The report was copied as Markdown." : "The browser did not allow copying."; }); },
  };

  const legendNow = () => {
    const { track } = view, e = track.exact, bytes = bytesAtCursor();
    legend.replaceChildren(...groups.names.map((name, i) => {
      const words = bytes ? `${name} ${fmtBytes(bytes[i])}` : name, key = groups.keys[i];
      const b = key ? pButton("", () => view.set({ query: view.query === key ? "" : key }), { "aria-pressed": view.query === key }) : pEl("span");
      b.append(pSwatch(groups.colors[i]), pEl("bdi", {}, words));
      b.title = words;
      return bytes && bytes[i] === 0 && name === "other" ? "" : b;
    }));
    const { top = 0, reserved = 0, used = 0 } = frame || {}, cap = track.meta.capacity, above = (/** @type {number} */ v) => (v > top ? `, up to ${fmtBytes(v)}: above the picture` : "");
    const lines = [[!owners, above(reserved)], [!owners && e && e.pending.op.length > e.runs.length], [used, above(used)], [cap && cap <= top, ` ${fmtBytes(cap)}`], [match]];
    part(".tl-lines").querySelectorAll(":scope > span").forEach((/** @type {any} */ el, /** @type {number} */ i) => {
      el.hidden = !lines[i][0];
      el.lastChild.lastChild.textContent = lines[i][1] || "";
    });
  };
  const foundNow = () => {
    const { error, blocks } = found, { track, query } = view, e = track.exact;
    field.setAttribute("aria-invalid", Boolean(error));
    let text = error || "";
    if (match && e) {
      const op = track.opOfEvent(view.cursor);
      let bytes = 0;
      for (const b of op >= 0 ? liveAt(track, op) : []) if (match[b]) bytes += e.bSize[b];
      text = `${fmtCount(blocks)} of ${fmtCount(e.nBlocks)} allocations${track.meta.level === "exact" ? "" : " of the exact parts"}${op >= 0 ? `, ${fmtBytes(bytes)} at the cursor` : ""}`;
    } else if (query && !error) text = track.hasExact ? "searching needs the exact events: decoding" : "this page has no exact events to search";
    part(".tl-found").textContent = text;
  };
  const stateNow = () => {
    const { track } = view, left = track.meta.left_out;
    state.textContent = levelWords(track, frame, owners, progress);
    state.title = left.length ? `Left out to keep the page small: ${left.join("; ")}` : "";
  };
  let linesNow = "";
  const framed = () => {
    const { track } = view;
    if (!frame) return;
    const lines = [frame.reserved > frame.top, frame.used > frame.top, frame.used > 0, track.meta.capacity <= frame.top].join();
    if (lines !== linesNow) legendNow();
    linesNow = lines;
    stateNow();
    host.dataset.frame = frame.ms.toFixed(2);
    host.dataset.state = track.exact && !frame.rough ? "exact" : "overview";
    section.dataset.level = track.exact ? track.meta.level : track.errors.length ? "failed" : "overview";
    for (const mark of ["memtrace-overview", ...(track.exact ? ["memtrace-exact"] : [])]) if (!performance.getEntriesByName(mark).length) performance.mark(mark);
  };

  /** @param {Set<string>} changed */
  const refresh = (changed) => {
    const has = (/** @type {string} */ keys) => keys.split(" ").some((k) => changed.has(k)), { track, cursor } = view;
    if (has("track by data axis")) reset();
    else if (has("query")) search();
    if (has("track")) {
      choose.selectedIndex = tracks.indexOf(track);
      part(".tl-other > *").hidden = !primary || track === primary;
      section.querySelectorAll(".tl-other bdi").forEach((el, i) => { el.textContent = (i ? primary || track : track).meta.label; });
      part(".tl-over").setAttribute("aria-label", altWords(track));
    }
    if (has("lo hi") && !gliding) jump++; // who moves the view ends a glide
    if (has("cursor") && !has("lo")) {
      const x = view.xOf(cursor), w = (view.hi - view.lo) / 2, me = jump;
      if (x < view.lo || x > view.hi) queueMicrotask(() => { if (me === jump) view.set({ lo: x - w, hi: x + w }); });
    }
    for (const b of host.querySelectorAll("[data-set] button")) b.setAttribute("aria-pressed", b.value === (b.parentNode.dataset.set === "axis" ? view.axis : view.by === "owner" && !owners ? "role" : view.by));
    if (has("track by data query pin axis lo hi")) draw(has("lo hi"));
    else drawOver();
    if (has("track by data query cursor axis")) legendNow();
    if (has("query") && field.value.trim() !== view.query) field.value = view.query; // else what is being typed would go
    if (has("track query data cursor")) foundNow();
    if (has("track cursor data")) said.textContent = stateWords(view, cursor);
    if (has("track range pin data axis")) part(".tl-below").replaceChildren(...[changesBox(view), pinBox(view, track.index)].filter((x) => x !== null));
  };

  beginTimeline(view, host, framed);
  choose.append(...tracks.map((t) => pEl("option", {}, t.meta.label)));
  choose.addEventListener("change", () => view.set({ track: tracks[choose.selectedIndex] }));
  host.addEventListener("click", (/** @type {any} */ e) => {
    const b = e.target.closest("button");
    if (b?.dataset.do) actions[b.dataset.do]();
    else if (b?.value) view.set({ [b.parentNode.dataset.set]: b.value });
  });
  const typed = () => view.set({ query: field.value.trim() });
  field.addEventListener("input", pLater(150, typed));
  field.addEventListener("change", typed);
  document.addEventListener("keydown", (e) => {
    const on = e.target === part(".tl-over"), action = help.open || e.defaultPrevented ? null : keyAction(rows, e, on, isField(e.target));
    if (!action || (action === "pin" && !on)) return;
    e.preventDefault();
    actions[action]();
  });
  view.on(refresh);
  pointerOn(view, host, { zoom, fitPhase, stop: () => { jump++; } });
  initMinimap(view, part(".tl-mini"));
  const recolored = () => { recolor(); draw(); };
  document.addEventListener("mt-theme", recolored);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolored);
  new ResizeObserver(() => draw()).observe(part(".tl-over"));
  view.tell(new Set(["track", "data"]));
  // What this recording has nothing for is not there.
  const has = (/** @type {(t: import("./track.js").TrackMeta) => any} */ f) => tracks.some((t) => f(t.meta));
  for (const [is, name] of /** @type {[any, string][]} */ ([[tracks.length > 1, ".tl-track"], [has((t) => t.ledger !== undefined && t.time), "[value=owner]"], [view.track.meta.time, "[data-set=axis]"],
    [has((t) => t.ooms.length), "[data-do=oom]"], [view.track.meta.marks.length > 1, "[data-do=next]"]])) if (!is) host.querySelector(name).remove();
  paint();
  return (v) => { progress = v; stateNow(); };
}
