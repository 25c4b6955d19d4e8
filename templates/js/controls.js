// The timeline's buttons, keys, legend and search, around its picture.
import { copyMarkdown } from "./copy.js";
import { changesBox, pinBox } from "./detail.js";
import { fmtBytes, fmtCount } from "./format.js";
import { stretchAt } from "./groups.js";
import { helpDialog, isField, keyAction } from "./keys.js";
import { eventOfX, hasExact, xOfEvent } from "./layout.js";
import { makeMinimap } from "./minimap.js";
import { pButton, pChoice, pEl, pSwatch } from "./panel_dom.js";
import { pointerOn } from "./pointer.js";
import { liveAt, nextEvent } from "./query.js";
import { cycleTheme } from "./theme.js";
import { Timeline } from "./timeline.js";
import { altWords, levelWords, stateWords } from "./words.js";

/** @typedef {import("./panel_dom.js").PanelCtx} PanelCtx */
/** @typedef {import("./view.js").View} View */

/** @param {PanelCtx} ctx @returns {Timeline|null} */
export function initTimeline(ctx) {
  const section = document.getElementById("timeline"), { view, index } = ctx;
  const first = section && section.querySelector(".scroll");
  if (!section || !first) return null;
  if (!view.track.overviewEvent && !view.track.overviewTime) {
    if (view.track.errors.length) section.append(pEl("p", { class: "note" }, view.track.errors[0]));
    return null;
  }
  const statics = [...section.querySelectorAll(":scope > .scroll, :scope > .note, :scope > .more")];
  const tl = new Timeline(view, index), mini = makeMinimap(view, () => tl.theme);
  const tip = pEl("div", { class: "tl-tip", hidden: true }), said = pEl("p", { class: "tl-said", id: "tl-said", "aria-live": "polite" });
  const state = pEl("p", { class: "tl-state" }), legend = pEl("div", { class: "tl-legend", role: "group", "aria-label": "Legend: press to search for it" });
  const field = pEl("input", { type: "search", class: "tl-search", placeholder: "Search: forward  file:actor.py  role:kv_cache  >64M", "aria-label": "Search allocations" });
  const found = pEl("span", { class: "tl-found", "aria-live": "polite" }), below = pEl("div", { class: "tl-below" }), help = helpDialog();
  const by = pChoice("Stack by", [["role", "Role"], ["phase", "Phase"], ["stack", "Stack"], ["alloc", "Allocation"],
    ...(ctx.tracks.some((t) => t.meta.ledger !== undefined && t.meta.time) ? [/** @type {[string, string]} */ (["owner", "Owner"])] : [])], view.by,
  (v) => view.set(v === "owner" ? { by: v, axis: "t" } : { by: /** @type {any} */ (v) }));
  const axis = pChoice("Horizontal axis", [["t", "Time"], ["e", "Events"]], view.axis, (v) => {
    const a = eventOfX(view.track, view.lo, view.axis), b = eventOfX(view.track, view.hi, view.axis), to = /** @type {"t"|"e"} */ (v), [min, max] = view.track.axisRange(view.axis);
    const whole = view.lo <= min && view.hi >= max;
    if (to === "e" && view.by === "owner") view.set({ by: "role" }); // the driver's calls are known by time
    view.set(whole ? { axis: to } : { axis: to, lo: xOfEvent(view.track, a, to), hi: xOfEvent(view.track, b, to) });
  });
  const tracks = ctx.tracks.filter((t) => t.meta.level !== "withheld");
  const choose = pEl("select", { class: "tl-track", "aria-label": "Rank and device", change: () => view.set({ track: tracks[choose.selectedIndex] }) },
    ...tracks.map((t) => pEl("option", {}, t.meta.label)));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let jump = 0, gliding = false;

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
  /** @param {number} share */
  const pan = (share) => view.set({ lo: view.lo + (view.hi - view.lo) * share, hi: view.hi + (view.hi - view.lo) * share });
  /** Sets the cursor, near enough to see it. @param {number} event @param {number} [to] */
  const goTo = (event, to = event) => {
    const x = xOfEvent(view.track, event, view.axis), z = xOfEvent(view.track, to, view.axis), [min, max] = view.track.axisRange(view.axis);
    const w = Math.max(Math.min(view.hi - view.lo, (max - min) / 8), (z - x) * 1.4);
    view.set({ cursor: event });
    glide((x + z) / 2 - w / 2, (x + z) / 2 + w / 2);
  };
  /** @param {number} dir */
  const finding = (dir) => {
    const list = dir > 0 ? tl.flags : [...tl.flags].reverse(), f = list.find((q) => (q.event - view.cursor) * dir > 0) || list[0];
    if (!f) return;
    goTo(f.event, f.to);
    said.textContent = `${f.text}. ${stateWords(view, index, f.event)}`;
  };
  /** @param {number} dir */
  const stretch = (dir) => {
    const p = view.track.phases, i = stretchAt(view.track, view.cursor), n = p ? p.stretches.n : 0;
    let k = i + dir;
    while (p && k > 0 && k < n - 1 && p.stretches.phase[k] === p.stretches.phase[i]) k += dir;
    if (p && k >= 0 && k < n) goTo(p.stretches.event[k]);
  };
  /** The stretch of the coarse phase at an event. @param {number} event */
  const fitPhase = (event) => {
    const { track } = view, p = track.phases, i = stretchAt(track, event);
    if (!p || i < 0) return;
    let a = i, b = i + 1;
    while (a > 0 && p.stretches.phase[a - 1] === p.stretches.phase[i]) a--;
    while (b < p.stretches.n && p.stretches.phase[b] === p.stretches.phase[i]) b++;
    glide(xOfEvent(track, p.stretches.event[a], view.axis), b < p.stretches.n ? xOfEvent(track, p.stretches.event[b], view.axis) : track.axisRange(view.axis)[1]);
  };
  /** @type {Record<string, () => void>} */
  const actions = {
    left: () => pan(-0.2), right: () => pan(0.2),
    in: () => zoom(0.6, zoomAt()), out: () => zoom(1 / 0.6, zoomAt()),
    fit: () => { if (view.range) glide(xOfEvent(view.track, view.range[0], view.axis), xOfEvent(view.track, view.range[1], view.axis)); },
    whole: () => { const [min, max] = view.track.axisRange(view.axis); glide(min, max); },
    peak: () => goTo(view.track.meta.peak.event),
    oom: () => {
      const all = view.track.meta.ooms, o = all.find((q) => q.event > view.cursor) || all[0];
      if (o) goTo(o.event);
      else said.textContent = "No out-of-memory error in this recording.";
    },
    next: () => finding(1), previous: () => finding(-1),
    step: () => view.set({ cursor: nextEvent(view.track, view.cursor, 1) }), back: () => view.set({ cursor: nextEvent(view.track, view.cursor, -1) }),
    phaseNext: () => stretch(1), phaseBack: () => stretch(-1),
    mark: () => view.set({ mark: view.mark === null ? view.cursor : null }),
    pin: () => {
      const e = view.track.exact, op = e && hasExact(view.track, view.cursor) ? view.track.opOfEvent(view.cursor) : -1;
      if (e && op >= 0 && (e.kind[op] < 4 || e.kind[op] === 12)) view.set({ pin: e.ref[op] });
    },
    search: () => { section.scrollIntoView({ block: "nearest" }); field.focus(); field.select(); },
    help: () => { if (help.open) help.close(); else help.showModal(); },
    clear: () => { view.set({ pin: null, range: null, mark: null, query: "" }); field.blur(); },
    theme: cycleTheme,
    markdown: () => { copyMarkdown().then((ok) => { said.textContent = ok ? "The report was copied as Markdown." : "The browser did not allow copying."; }); },
  };
  const zoomAt = () => {
    const x = tl.hover ? tl.xAt(tl.hover.x) : xOfEvent(view.track, view.cursor, view.axis);
    return x >= view.lo && x <= view.hi ? x : (view.lo + view.hi) / 2;
  };
  const tool = (/** @type {string} */ text, /** @type {string} */ action, /** @type {string} */ title) => pButton(text, () => actions[action](), { title, "aria-label": title });
  const host = pEl("div", { class: "tl" },
    pEl("div", { class: "tl-bar" }, ...(tracks.length > 1 ? [choose] : []), by.box, ...(view.track.meta.time ? [axis.box] : []),
      pEl("span", { class: "choice" }, tool("\u2212", "out", "Zoom out (S)"), tool("+", "in", "Zoom in (W)"), tool("Whole run", "whole", "Show the whole run (0)"), tool("?", "help", "Keys and mouse (?)")),
      pEl("span", { class: "choice" }, tool("Peak", "peak", "Go to the peak (P)"), ...(tracks.some((t) => t.meta.ooms.length) ? [tool("OOM", "oom", "Go to the out-of-memory error (O)")] : []),
        ...(tl.flags.length > 1 ? [tool("Next finding", "next", "Next finding (N)")] : [])),
      field, found),
    pEl("div", { class: "tl-plot" }, tl.base, tl.over, tip), mini.canvas, legend, pEl("div", { class: "tl-words" }, said, state));
  first.before(host);
  host.after(below);
  const primary = ctx.tracks.find((t) => t.meta.primary), other = pEl("p", { class: "tl-other", "aria-live": "polite" });
  if (tracks.length > 1) host.prepend(other);
  section.append(help);
  for (const el of statics) el.classList.add("tl-static");

  const legendNow = () => {
    const { groups } = tl, { track } = view, e = track.exact, bytes = tl.bytesAtCursor();
    legend.replaceChildren(...groups.names.map((name, i) => {
      const words = bytes ? `${name} ${fmtBytes(bytes[i])}` : name, key = groups.keys[i];
      const b = key ? pButton("", () => view.set({ query: view.query === key ? "" : key }), { "aria-pressed": String(view.query === key) }) : pEl("span");
      b.append(pSwatch(groups.colors[i]), pEl("bdi", {}, words));
      b.title = words;
      return bytes && bytes[i] === 0 && name === "other" ? "" : b;
    }));
    const line = (/** @type {string} */ cls, /** @type {string} */ text) => legend.append(pEl("span", {}, pEl("i", { class: `tl-key ${cls}`, "aria-hidden": "true" }), text));
    const f = tl.frame, above = (/** @type {number} */ v) => (f && v > f.top ? `, up to ${fmtBytes(v)}: above the picture` : "");
    if (!tl.owners) line("reserved", `reserved${f ? above(f.reserved) : ""}`);
    if (!tl.owners && e && e.pending.op.length > e.runs.length) line("pending", "free requested, not completed");
    if (f && f.used) line("used", `used on the device${above(f.used)}`);
    if (track.meta.capacity && f && track.meta.capacity <= f.top) line("capacity", `capacity ${fmtBytes(track.meta.capacity)}`);
    if (tl.match) line("matched", "found by the search");
  };
  const foundNow = () => {
    const { error, blocks } = tl.found, e = view.track.exact;
    if (field.value !== view.query) field.value = view.query;
    field.setAttribute("aria-invalid", String(Boolean(error)));
    let text = "";
    if (error) text = error;
    else if (tl.match && e) {
      const op = hasExact(view.track, view.cursor) ? view.track.opOfEvent(view.cursor) : -1;
      let bytes = 0;
      for (const b of op >= 0 ? liveAt(view.track, op) : []) if (tl.match[b]) bytes += e.bSize[b];
      text = `${fmtCount(blocks)} of ${fmtCount(e.nBlocks)} allocations${e.runs.length > 1 ? " of the exact parts" : ""}${op >= 0 ? `, ${fmtBytes(bytes)} at the cursor` : ""}`;
    } else if (view.query) text = view.track.hasExact ? "searching needs the exact events: decoding" : "this page has no exact events to search";
    found.textContent = text;
  };
  let progress = 0;
  const stateNow = () => {
    const { meta } = view.track;
    state.textContent = levelWords(tl, progress);
    state.title = meta.left_out.length ? `Left out to keep the page small: ${meta.left_out.join("; ")}` : "";
  };
  const belowNow = () => { below.replaceChildren(...[changesBox(view), pinBox(view, index)].filter((x) => x !== null)); };
  const marked = new Set();
  let linesNow = "";
  tl.after.push(() => {
    const { track } = view, f = /** @type {import("./timeline.js").Frame} */ (tl.frame);
    const lines = [f.reserved > f.top, f.used > f.top, f.used > 0, track.meta.capacity <= f.top].join();
    if (lines !== linesNow) legendNow();
    linesNow = lines;
    stateNow();
    mini.draw();
    host.dataset.frame = f.ms.toFixed(2);
    host.dataset.state = track.exact && !f.rough ? "exact" : "overview";
    section.dataset.level = track.exact ? track.meta.level : track.errors.length ? "failed" : "overview";
    for (const mark of track.exact ? ["overview", "exact"] : ["overview"]) {
      if (!marked.has(mark)) performance.mark(`memtrace-${mark}`);
      marked.add(mark);
    }
  });

  /** @param {Set<string>} changed */
  const refresh = (changed) => {
    const has = (/** @type {string[]} */ ...keys) => keys.some((k) => changed.has(k));
    if (has("track", "by", "data", "axis")) tl.reset();
    else if (has("query")) tl.search();
    if (has("track")) {
      choose.selectedIndex = tracks.indexOf(view.track);
      other.textContent = !primary || view.track === primary ? "" : `You look at ${view.track.meta.label}: here, in \u201cAt the cursor\u201d and in \u201cSegments at the cursor\u201d. ` +
        `The other sections are of ${primary.meta.label}, which the verdict is about, or of all ranks where they say so.`;
    }
    if (has("lo", "hi") && !gliding) jump++; // who moves the view ends a glide
    if (has("cursor") && !changed.has("lo")) {
      const x = xOfEvent(view.track, view.cursor, view.axis), w = view.hi - view.lo, me = jump;
      if (x < view.lo || x > view.hi) queueMicrotask(() => { if (me === jump) view.set({ lo: x - w / 2, hi: x + w / 2 }); });
    }
    by.set(view.by === "owner" && !tl.owners ? "role" : view.by);
    axis.set(view.axis);
    if (has("track", "by", "data", "query", "pin", "axis", "lo", "hi")) tl.draw(has("lo", "hi"));
    else tl.drawOver();
    if (has("track", "by", "data", "query", "cursor", "axis")) legendNow();
    if (has("track", "query", "data", "cursor")) foundNow();
    if (has("track")) tl.over.setAttribute("aria-label", altWords(view.track));
    if (has("track", "cursor", "data")) said.textContent = stateWords(view, index, view.cursor);
    if (has("track", "range", "pin", "data", "axis")) belowNow();
  };
  view.on(refresh);

  let typing = 0;
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => view.set({ query: field.value.trim() }), 150);
  });
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter") { clearTimeout(typing); view.set({ query: field.value.trim() }); } });
  document.addEventListener("keydown", (e) => {
    const action = help.open ? null : keyAction(e, e.target === tl.over, isField(e.target));
    if (!action || !(action in actions) || e.defaultPrevented || (action === "pin" && e.target !== tl.over)) return;
    e.preventDefault();
    actions[action]();
  });
  pointerOn(tl, view, { zoom, fitPhase, tip, index, stop: () => { jump++; } });
  const recolor = () => { tl.recolor(); tl.draw(); };
  document.addEventListener("mt-theme", recolor);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  new ResizeObserver(() => tl.draw()).observe(tl.over);
  refresh(new Set(["track", "data"]));
  tl.paint();
  return Object.assign(tl, { progress: (/** @type {number} */ v) => { progress = v; stateNow(); } });
}
