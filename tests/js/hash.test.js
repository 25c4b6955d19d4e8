// The address: there and back, and whatever else people put there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatHash, initHash, isViewHash, parseHash } from "../../templates/js/hash.js";
import { Track } from "../../templates/js/track.js";
import { View } from "../../templates/js/view.js";
import { dice, madeEvents } from "./tools/encode.js";
import { openTrack } from "./tools/open.js";

const { track } = await openTrack({ events: [...madeEvents(3000)] });

test("a fresh view has no hash", () => {
  assert.equal(formatHash(new View(track), 0), "");
  assert.equal(formatHash(new View(track), 3), "r=0", "another track than the page shows by itself");
});

test("every state comes back", () => {
  const d = dice(11), [, max] = track.axisRange("t");
  for (let i = 0; i < 300; i++) {
    const v = new View(track);
    v.set({
      axis: d(2) ? "t" : "e", by: ["role", "phase", "stack", "alloc"][d(4)], cursor: d(3000) - 1, mark: d(2) ? d(3000) : null,
      pin: d(2) ? d(500) : null, range: d(2) ? [d(1000), 1000 + d(1000)] : null, query: ["", "role:kv_cache >64M", "a&b=c #%+\u00e9<", "!x"][d(4)],
    });
    if (d(2)) v.set({ lo: d(max), hi: d(max) });
    const back = new View(track), hash = formatHash(v, 0), patch = parseHash(`#${hash}`, [track], track);
    if (patch) back.set(patch);
    else assert.equal(hash, "");
    for (const key of ["axis", "by", "cursor", "mark", "pin", "range", "query"]) assert.deepEqual(back[key], v[key], `${key} of ${hash}`);
    const near = (v.axis === "t" ? 1e-6 / track.seconds(1) : 0.01) + 1e-9;
    assert.ok(Math.abs(back.lo - v.lo) <= near && Math.abs(back.hi - v.hi) <= near, hash);
  }
});

test("links to sections are not views", () => {
  for (const h of ["", "#", "#phases", "#h-timeline", "#mt-index", "#=3"]) {
    assert.equal(isViewHash(h), false, h);
    assert.equal(parseHash(h, [track], track), null);
  }
  assert.equal(isViewHash("#t=1-2"), true);
});

test("hostile hashes give a whole view", () => {
  const bad = ["#t=a-b", "#t=1e999-2", "#t=-", "#t=5-5", "#e=99999999999999999999-1", "#t=2-1&c=--5&a=-3&b=1.5&s=9", "#by=__proto__&x=e", "#r=77&q=%E0%A4%A", "#a=999999999999",
    "#q=" + "x".repeat(1e6), "#c=999999999999999&s=5-99999999", "#t=0.1.2-3&by=<script>"];
  for (const h of bad) {
    const v = new View(track), patch = parseHash(h, [track], track);
    v.set(patch);
    const [min, max] = track.axisRange(v.axis);
    assert.ok(v.lo >= min && v.hi <= max && v.hi > v.lo, h.slice(0, 40));
    assert.ok(v.cursor >= -1 && v.cursor < track.meta.events, h.slice(0, 40));
    assert.ok(["role", "phase", "stack", "alloc"].includes(v.by) && v.query.length <= 200);
    assert.ok(v.pin === null || v.pin >= 0);
  }
});

test("another track is shown when its tables say how far its axes go, and the last one asked for wins", async () => {
  const [early, late] = [0, 1].map(() => new Track(track.index, track.meta, track.io)), v = new View(track), seen = [];
  v.on((changed, { track: t, lo, hi, axis }) => { if (changed.has("track")) seen.push([t, lo, hi, axis]); });
  v.set({ track: early });
  v.set({ track: late, cursor: 5 });
  assert.equal(v.track, track);
  await Promise.all([early.load(), late.load()]);
  await new Promise((go) => setTimeout(go));
  const axis = track.meta.axis;
  assert.deepEqual(seen, [[late, ...track.axisRange(axis), axis]]);
  assert.equal(v.cursor, 5);
  const third = new Track(track.index, track.meta, track.io);
  v.set({ track: third });
  v.set({ track: late });
  await third.load();
  await new Promise((go) => setTimeout(go));
  assert.equal(v.track, late, "asked back before the other was there");
});

test("owners are drawn over time only, and of tracks that have a ledger", async () => {
  const made = async (/** @type {any} */ ledger) => {
    const t = new Track(track.index, track.meta, track.io);
    await t.load();
    return Object.assign(t, { ledger });
  };
  const v = new View(await made(track.overview.t)), other = await made(track.overview.t), bare = await made(null);
  v.set({ by: "owner", axis: "t" });
  assert.equal(v.overview, v.track.ledger);
  v.set({ track: other });
  assert.deepEqual([v.by, v.axis], ["owner", "t"]);
  v.set({ axis: "e" });
  assert.deepEqual([v.by, v.axis], ["role", "e"]);
  v.set(parseHash("#x=e&by=owner", [other], other));
  assert.deepEqual([v.by, v.axis], ["role", "e"]);
  v.set({ by: "owner" });
  assert.deepEqual([v.by, v.axis], ["owner", "t"]);
  v.set({ track: bare });
  assert.equal(v.by, "role");
  v.set({ by: "owner" });
  assert.equal(v.by, "role");
  assert.equal(v.overview, bare.overview[v.axis]);
});

/** A window as far as the address needs one: an address changed is heard of a moment later, as in a browser. */
function fakeWindow(hash = "") {
  const heard = /** @type {Record<string, Function>} */ ({}), replaced = /** @type {string[]} */ ([]);
  let now = hash;
  const place = { get hash() { return now; }, set hash(to) {
    const h = to.startsWith("#") ? to : `#${to}`;
    if (h === now) return;
    now = h;
    setTimeout(() => heard.hashchange(), place.late);
  }, late: 0 };
  Object.assign(globalThis, { location: place, history: { replaceState: (_a, _b, to) => { replaced.push(to); now = to === "#" ? "" : to; } },
    addEventListener: (type, f) => { heard[type] = f; }, document: { addEventListener: (type, f) => { heard[type] = f; } } });
  return { place, replaced, click: () => heard.click() };
}
const pause = (ms) => new Promise((r) => setTimeout(r, ms));

test("the address follows the view, and what is typed or followed meanwhile is not overwritten", async () => {
  const { place, replaced, click } = fakeWindow("#c=300"), v = new View(track), n = () => replaced.length;
  await initHash(v, [track], track);
  assert.equal(v.cursor, 300);
  await pause(350);
  assert.deepEqual([place.hash, n()], ["#c=300", n()]);
  v.set({ cursor: 301 });
  v.set({ cursor: 302 });
  assert.equal(place.hash, "#c=300");
  await pause(350);
  assert.equal(place.hash, "#c=302");
  // a view
  v.set({ cursor: 303 });
  await pause(100);
  place.hash = "#c=5";
  await pause(400);
  assert.deepEqual([place.hash, v.cursor], ["#c=5", 5]);
  // at the very moment when the view is to be written: heard of later
  v.set({ cursor: 304 });
  place.late = 150;
  await pause(200);
  place.hash = "#c=6";
  await pause(500);
  assert.deepEqual([place.hash, v.cursor], ["#c=6", 6]);
  place.late = 0;
  // a section; the next change of the view takes the address again
  v.set({ cursor: 305 });
  place.hash = "#phases";
  await pause(400);
  assert.deepEqual([place.hash, v.cursor], ["#phases", 305]);
  v.tell(new Set(["data"]));
  await pause(350);
  assert.equal(place.hash, "#phases", "events that were decoded are no change of the view");
  v.set({ cursor: 306 });
  await pause(350);
  assert.equal(place.hash, "#c=306");
  // a link to where the address still is
  v.set({ cursor: 307 });
  click();
  assert.equal(place.hash, "#c=307", "written before the link is followed");
  place.hash = "#c=306";
  await pause(350);
  assert.deepEqual([place.hash, v.cursor], ["#c=306", 306]);
  const count = n();
  click();
  assert.equal(n(), count, "nothing to write");
});

test("a link to another rank is followed though its tables take their time", async () => {
  const { place } = fakeWindow(), other = new Track(track.index, { ...track.meta, id: 7 }, track.io), v = new View(track), load = other.load.bind(other);
  other.load = async () => { await pause(500); return load(); };
  await initHash(v, [track, other], track);
  v.set({ cursor: 8 });
  place.hash = "#r=7&c=9";
  await pause(100);
  v.set({ cursor: 10 });
  await pause(900);
  assert.equal(place.hash, "#r=7&c=9");
  assert.deepEqual([v.track, v.cursor], [other, 9]);
});
